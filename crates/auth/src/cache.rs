//! Tokens that were verified a moment ago. Verifying a signature costs tens of microseconds; finding it here costs one.
//!
//! Two generations: what is asked for again moves into the younger one, and when that is full the older one is dropped.
//! So the memory is bounded, and what is in use stays.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::fingerprint::Fingerprint;
use crate::principal::Principal;

/// Tokens per generation.
const GENERATION: usize = 1024;

/// Verified tokens by fingerprint.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Fingerprint, Verified>,
    old: HashMap<Fingerprint, Verified>,
}

/// What verifying a token gave.
#[derive(Debug, Clone)]
pub(crate) struct Verified {
    pub(crate) principal: Arc<Principal>,
    /// Seconds since 1970 from which on it is valid no more.
    pub(crate) until: u64,
}

impl Cache {
    /// Who holds this token, if it was verified before and is still valid `now`.
    pub(crate) fn get(&self, token: &Fingerprint, now: u64) -> Option<Arc<Principal>> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = if let Some(known) = generations.young.get(token) {
            known.clone()
        } else {
            let known = generations.old.remove(token)?;
            generations.keep(*token, known.clone());
            known
        };
        if now >= known.until {
            generations.young.remove(token);
            return None;
        }
        Some(known.principal)
    }

    pub(crate) fn put(&self, token: Fingerprint, verified: Verified) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keep(token, verified);
    }
}

impl Generations {
    fn keep(&mut self, token: Fingerprint, verified: Verified) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(token, verified);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(until: u64) -> Verified {
        Verified { principal: Arc::new(Principal::anonymous()), until }
    }

    #[test]
    fn a_token_is_known_until_it_ends() {
        let cache = Cache::default();
        let token = Fingerprint::of(b"t");
        assert!(cache.get(&token, 0).is_none());
        cache.put(token, verified(10));
        assert!(cache.get(&token, 9).is_some());
        assert!(cache.get(&token, 10).is_none());
        assert!(cache.get(&token, 9).is_none(), "forgotten for good");
    }

    #[test]
    fn what_is_in_use_stays_and_the_rest_is_bounded() {
        let cache = Cache::default();
        let used = Fingerprint::of(b"used");
        cache.put(used, verified(10));
        for number in 0..10 * GENERATION {
            cache.put(Fingerprint::of(&number.to_le_bytes()), verified(10));
            assert!(cache.get(&used, 1).is_some(), "{number}");
        }
        let generations = cache.0.lock().unwrap();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
    }
}
