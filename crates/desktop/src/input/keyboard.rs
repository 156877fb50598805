//! The keyboard: keys by name, and text.

use std::thread::sleep;
use std::time::Duration;

use x11rb::protocol::xproto::{ConnectionExt as _, KeyButMask};
use xkeysym::{Keysym, key};

use super::hands::Hands;
use super::keymap::{Keymap, Place};
use super::names;
use crate::error::Error;

/// Characters typed before programs get time to follow.
const BATCH: usize = 8;
/// That time.
const BATCH_PAUSE: Duration = Duration::from_millis(3);

impl Hands {
    pub(super) fn key_down(&mut self, name: &str) -> Result<(), Error> {
        let keys = keys_of(&[name.to_owned()])?.into_iter().map(lower_case).collect::<Vec<_>>();
        for place in self.places(&keys)? {
            self.key(place.code, true)?;
        }
        Ok(())
    }

    pub(super) fn key_up(&mut self, name: &str) -> Result<(), Error> {
        let keys = keys_of(&[name.to_owned()])?.into_iter().map(lower_case).collect::<Vec<_>>();
        for place in self.places(&keys)?.into_iter().rev() {
            self.key(place.code, false)?;
        }
        Ok(())
    }

    /// Presses keys together. A capital letter beside others is the key it is written on, not the capital: `Ctrl` `C`
    /// means what a keyboard shows.
    pub(super) fn chord(&mut self, given: &[String]) -> Result<(), Error> {
        let keys = keys_of(given)?;
        let lower = keys.len() > 1;
        let keys: Vec<_> = if lower { keys.into_iter().map(lower_case).collect() } else { keys };
        let places = self.places(&keys)?;
        let before = self.held.keys.clone();
        for place in &places {
            if place.shift && !self.held.keys.contains(&self.keymap.shift()) {
                self.key(self.keymap.shift(), true)?;
            }
            self.key(place.code, true)?;
        }
        let pressed: Vec<_> = self.held.keys.difference(&before).copied().collect();
        // The modifiers, which came first, go last.
        for code in places.iter().rev().map(|place| place.code).chain(pressed) {
            if self.held.keys.contains(&code) {
                self.key(code, false)?;
            }
        }
        Ok(())
    }

    /// Pastes what is on the clipboard: every program that takes text does so for these keys, terminals too.
    pub(crate) fn paste(&mut self) -> Result<(), Error> {
        self.perform(&super::Action::Keys(vec!["Shift_L".to_owned(), "Insert".to_owned()]))
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), Error> {
        let text = text.replace("\r\n", "\n");
        let symbols = text.chars().map(symbol).collect::<Result<Vec<_>, _>>()?;
        let mut rest = symbols.as_slice();
        while !rest.is_empty() {
            self.keymap.read(&self.link)?;
            let (count, changed) = self.keymap.prepare(&self.link, rest)?;
            if changed {
                self.settle()?;
            }
            let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            self.strike(now)?;
            rest = later;
            if !rest.is_empty() {
                // Keys change their meaning next; programs must have read what they meant.
                self.settle()?;
            }
        }
        Ok(())
    }

    fn strike(&mut self, symbols: &[Keysym]) -> Result<(), Error> {
        let pointer = self.link.connection.query_pointer(self.link.root)?.reply()?;
        let capitals = pointer.mask.contains(KeyButMask::LOCK);
        for (index, symbol) in symbols.iter().enumerate() {
            let place = self.keymap.find(*symbol).ok_or_else(|| unknown(*symbol))?;
            let letter = symbol.key_char().is_some_and(char::is_alphabetic);
            let shift = place.shift != (capitals && letter && place.cased);
            let code = self.keymap.shift();
            let press_shift = shift && !self.held.keys.contains(&code);
            if press_shift {
                self.key(code, true)?;
            }
            self.key(place.code, true)?;
            self.key(place.code, false)?;
            if press_shift {
                self.key(code, false)?;
            }
            if (index + 1) % BATCH == 0 {
                self.link.sync()?;
                sleep(BATCH_PAUSE);
            }
        }
        self.link.sync()
    }

    /// Where keys are; some may have to be made first.
    fn places(&mut self, keys: &[Keysym]) -> Result<Vec<Place>, Error> {
        self.keymap.read(&self.link)?;
        let (count, changed) = self.keymap.prepare(&self.link, keys)?;
        if changed {
            self.settle()?;
        }
        if let Some(symbol) = keys.get(count) {
            return Err(unknown(*symbol));
        }
        keys.iter()
            .map(|symbol| self.keymap.find(*symbol).ok_or_else(|| unknown(*symbol)))
            .collect()
    }

    /// Lets programs read what keys mean now.
    fn settle(&self) -> Result<(), Error> {
        self.link.sync()?;
        sleep(Keymap::NOTICE);
        Ok(())
    }
}

/// The keys that names stand for. `a+b` names several.
fn keys_of(given: &[String]) -> Result<Vec<Keysym>, Error> {
    let unknown = |name: &str| Error::UnknownKey { name: name.chars().take(100).collect() };
    let keys = given.iter().flat_map(|name| {
        let parts = names::parts(name).into_iter();
        parts.map(move |part| names::find(part).ok_or_else(|| unknown(name)))
    });
    keys.collect()
}

fn unknown(symbol: Keysym) -> Error {
    let name = symbol.name().map_or_else(|| format!("{:#x}", symbol.raw()), str::to_owned);
    Error::UnknownKey { name }
}

/// The key of a letter, whatever its case.
fn lower_case(symbol: Keysym) -> Keysym {
    let character = symbol.key_char().filter(|character| character.is_uppercase());
    let mut lower = character.into_iter().flat_map(char::to_lowercase);
    match (lower.next(), lower.next()) {
        (Some(lower), None) => Keysym::from_char(lower),
        _ => symbol,
    }
}

/// The symbol for a character of a text.
fn symbol(character: char) -> Result<Keysym, Error> {
    Ok(match character {
        '\n' | '\r' => Keysym::new(key::Return),
        '\t' => Keysym::new(key::Tab),
        '\u{8}' => Keysym::new(key::BackSpace),
        '\u{1b}' => Keysym::new(key::Escape),
        '\u{7f}' => Keysym::new(key::Delete),
        control if control.is_control() => {
            return Err(Error::UnknownKey { name: format!("U+{:04X}", u32::from(control)) });
        }
        other => Keysym::from_char(other),
    })
}
