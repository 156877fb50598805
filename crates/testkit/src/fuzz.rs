//! What seeded tests with generated input share: numbers that are the same on every run, and how long to go on.
//!
//! `ATOLL_FUZZ_ROUNDS` asks for a longer run, `ATOLL_FUZZ_SEED` for another one.

use std::env;

/// A generator of numbers (xorshift64*): the same for the same name and seed.
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of this name.
    pub fn new(name: &str) -> Self {
        let seed = variable("ATOLL_FUZZ_SEED").unwrap_or(0);
        let start = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // Zero would stay zero.
        Self(start | 1)
    }

    /// A number below this one, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap_or_default() % bound.max(1)
    }

    /// One of several.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// One of several words.
    ///
    /// # Panics
    /// When there are none.
    pub fn word<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// A place in a list, unless it is empty.
    pub fn place<T>(&mut self, list: &[T]) -> Option<usize> {
        (!list.is_empty()).then(|| self.below(list.len()))
    }
}

/// How many rounds to run: as many as asked for, else as many as fit into an ordinary run of the tests.
pub fn rounds(ordinary: u64) -> u64 {
    variable("ATOLL_FUZZ_ROUNDS").unwrap_or(ordinary)
}

fn variable(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_on_every_run_and_differ_by_name() {
        let some = |name: &str| {
            let mut numbers = Numbers::new(name);
            (0..100).map(|_| numbers.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(some("a"), some("a"));
        assert_ne!(some("a"), some("b"));
        assert!(some("a").iter().any(|number| *number > 500));
    }
}
