//! What the keys of the keyboard mean, and giving a meaning to keys that have none.
//!
//! A keyboard has a few hundred keys and Unicode has more characters than that: one that is on no key is put on a key
//! that means nothing so far. Such keys are few, so they are used again, the one used longest ago first.

use std::collections::VecDeque;
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, Keycode};
use xkeysym::{Keysym, key};

use crate::error::Error;
use crate::link::Link;

/// The key that a symbol is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) code: Keycode,
    /// Whether it is the upper one of two.
    pub(super) shift: bool,
    /// Whether the key has two, so that caps lock swaps them.
    pub(super) cased: bool,
}

/// What the keys mean.
#[derive(Debug, Default)]
pub(super) struct Keymap {
    first: Keycode,
    per_key: usize,
    symbols: Vec<u32>,
    /// Keys that we gave a meaning, the latest last.
    ours: VecDeque<Keycode>,
}

impl Keymap {
    /// How long programs may take to notice that keys mean something else.
    pub(super) const NOTICE: Duration = Duration::from_millis(60);

    /// Reads it anew: viewers and programs change it too.
    pub(super) fn read(&mut self, link: &Link) -> Result<(), Error> {
        let setup = link.connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let count = last.saturating_sub(first).saturating_add(1);
        let mapping = link.connection.get_keyboard_mapping(first, count)?.reply()?;
        self.first = first;
        self.per_key = usize::from(mapping.keysyms_per_keycode).max(1);
        self.symbols = mapping.keysyms;
        Ok(())
    }

    /// Where a symbol is.
    pub(super) fn find(&self, symbol: Keysym) -> Option<Place> {
        let wanted = symbol.raw();
        let at = |level: usize| {
            self.keys().find_map(|(code, symbols)| {
                let upper = symbols.get(1).copied().unwrap_or_default();
                let cased = upper != 0 && symbols.first() != Some(&upper);
                (symbols.get(level) == Some(&wanted)).then_some(Place {
                    code,
                    shift: level == 1,
                    cased,
                })
            })
        };
        at(0).or_else(|| at(1))
    }

    /// The left shift key.
    pub(super) fn shift(&self) -> Keycode {
        self.find(Keysym::new(key::Shift_L)).map_or(50, |place| place.code)
    }

    /// Sees to it that symbols are on keys: as many of them, from the beginning, as keys can be had for at once. How many,
    /// and whether keys changed their meaning.
    pub(super) fn prepare(
        &mut self,
        link: &Link,
        symbols: &[Keysym],
    ) -> Result<(usize, bool), Error> {
        let mut needed: Vec<u32> = Vec::new();
        // Keys of ours that hold a symbol of this run must keep it.
        let mut kept: Vec<Keycode> = Vec::new();
        let mut free: Vec<Keycode> = self.free();
        let mut count = 0;
        for symbol in symbols {
            if let Some(place) = self.find(*symbol) {
                if self.ours.contains(&place.code) && !kept.contains(&place.code) {
                    kept.push(place.code);
                }
            } else if !needed.contains(&symbol.raw()) {
                let reusable = self.ours.iter().filter(|code| !kept.contains(code)).count();
                if needed.len() >= free.len() + reusable {
                    break;
                }
                needed.push(symbol.raw());
            }
            count += 1;
        }
        for symbol in &needed {
            let code = match free.pop() {
                Some(code) => code,
                None => match self.ours.iter().position(|code| !kept.contains(code)) {
                    Some(oldest) => self.ours.remove(oldest).unwrap_or_default(),
                    None => break,
                },
            };
            self.assign(link, code, *symbol)?;
            kept.push(code);
        }
        Ok((count, !needed.is_empty()))
    }

    fn assign(&mut self, link: &Link, code: Keycode, symbol: u32) -> Result<(), Error> {
        // Twice, since a letter alone on its key would get a capital beside it.
        let per_key = u8::try_from(self.per_key.max(2)).unwrap_or(2);
        let mut meaning = vec![0; usize::from(per_key)];
        for level in meaning.iter_mut().take(2) {
            *level = symbol;
        }
        link.connection.change_keyboard_mapping(1, code, per_key, &meaning)?.check()?;
        let start = usize::from(code.saturating_sub(self.first)) * self.per_key;
        for (level, known) in self.symbols.iter_mut().skip(start).take(self.per_key).enumerate() {
            *known = if level < 2 { symbol } else { 0 };
        }
        self.ours.retain(|known| *known != code);
        self.ours.push_back(code);
        Ok(())
    }

    /// Keys that mean nothing.
    fn free(&self) -> Vec<Keycode> {
        let without = |(code, symbols): (Keycode, &[u32])| {
            symbols.iter().all(|symbol| *symbol == 0).then_some(code)
        };
        self.keys().filter_map(without).collect()
    }

    fn keys(&self) -> impl Iterator<Item = (Keycode, &[u32])> {
        (self.first..=Keycode::MAX).zip(self.symbols.chunks(self.per_key.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_on_both_levels_the_lower_first() {
        let keymap = Keymap {
            first: 8,
            per_key: 2,
            symbols: vec![0, 0, 'A'.into(), 'B'.into(), 'a'.into(), 'A'.into()],
            ours: VecDeque::new(),
        };
        let place = |code, shift| Some(Place { code, shift, cased: true });
        assert_eq!(keymap.find(Keysym::from_char('a')), place(10, false));
        assert_eq!(keymap.find(Keysym::from_char('B')), place(9, true));
        assert_eq!(keymap.find(Keysym::from_char('A')), place(9, false));
        assert_eq!(keymap.find(Keysym::from_char('z')), None);
        assert_eq!(keymap.free(), [8]);
    }
}
