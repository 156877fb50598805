//! What a tab remembers of its elements: which number each index of the latest listing stands for, and what earlier
//! snapshots said, so that a later one can tell what changed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::element::ElementError;

/// Snapshots a tab remembers.
const SNAPSHOTS: usize = 8;
/// Characters they may have together.
const CHARACTERS: usize = 8 << 20;

/// An element wherever it is: the frame, the document in it, and its number there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) frame: String,
    pub(crate) epoch: String,
    pub(crate) number: u64,
}

/// What a snapshot said.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// Lines of text, of this kind.
    Lines(&'static str, Vec<String>),
    /// Elements, by index.
    Elements(Vec<(usize, Key, Value)>),
}

impl Said {
    fn characters(&self) -> usize {
        match self {
            Self::Lines(_, lines) => lines.iter().map(String::len).sum(),
            // An element takes a few hundred characters; counting them all would cost more than it tells.
            Self::Elements(elements) => elements.len() * 500,
        }
    }
}

/// What a tab remembers of its elements.
#[derive(Debug, Default)]
pub struct Elements {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By index; none where an element of an earlier listing is gone.
    listed: Vec<Option<Key>>,
    /// Whether the page has moved on since.
    moved_on: bool,
    said: VecDeque<(u64, Said)>,
    last_token: u64,
}

impl Elements {
    /// The main frame shows another document.
    pub fn navigated(&self) {
        let mut state = self.state();
        state.moved_on = !state.listed.is_empty();
        state.listed.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The element an index stands for.
    pub(crate) fn at(&self, index: usize) -> Result<Key, ElementError> {
        let state = self.state();
        let why = match state.listed.get(index) {
            Some(Some(key)) => return Ok(key.clone()),
            Some(None) => "it is no longer in the page".to_owned(),
            None if state.moved_on => "the page has moved on since it was listed".to_owned(),
            None if state.listed.is_empty() => "no elements have been listed yet".to_owned(),
            None => format!("the latest listing has {}, numbered from 0", state.listed.len()),
        };
        Err(ElementError::Stale { index, why })
    }

    /// Takes a new listing; from now on indices are of this one.
    pub(crate) fn list(&self, listed: Vec<Option<Key>>) {
        let mut state = self.state();
        state.listed = listed;
        state.moved_on = false;
    }

    /// Remembers what was said and returns the word it is found by.
    pub(crate) fn remember(&self, said: Said) -> String {
        let mut state = self.state();
        state.last_token += 1;
        let token = state.last_token;
        state.said.push_back((token, said));
        let mut characters: usize = state.said.iter().map(|(_, said)| said.characters()).sum();
        while state.said.len() > SNAPSHOTS || characters > CHARACTERS && state.said.len() > 1 {
            if let Some((_, said)) = state.said.pop_front() {
                characters -= said.characters();
            }
        }
        format!("s{token}")
    }

    /// What a snapshot said, if it is still remembered.
    pub(crate) fn recall(&self, token: &str) -> Option<Said> {
        let token: u64 = token.strip_prefix('s')?.parse().ok()?;
        let state = self.state();
        state.said.iter().find(|(each, _)| *each == token).map(|(_, said)| said.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        Key { frame: "f".to_owned(), epoch: "e".to_owned(), number }
    }

    fn why(elements: &Elements, index: usize) -> String {
        elements.at(index).unwrap_err().to_string()
    }

    #[test]
    fn an_index_is_of_the_latest_listing_and_stale_after_a_navigation() {
        let elements = Elements::default();
        assert!(why(&elements, 0).contains("no elements have been listed"));
        elements.list(vec![Some(key(7)), None]);
        assert_eq!(elements.at(0).unwrap(), key(7));
        assert!(why(&elements, 1).contains("no longer in the page"));
        assert!(why(&elements, 2).contains("has 2, numbered from 0"));
        elements.navigated();
        let stale = why(&elements, 0);
        assert!(stale.contains("moved on") && stale.contains("list the page's elements again"));
    }

    #[test]
    fn snapshots_are_remembered_up_to_a_bound() {
        let elements = Elements::default();
        let tokens: Vec<String> = (0..20)
            .map(|at| elements.remember(Said::Lines("text", vec![at.to_string()])))
            .collect();
        assert!(elements.recall(&tokens[0]).is_none());
        assert!(elements.recall("nonsense").is_none());
        let Some(Said::Lines("text", lines)) = elements.recall(&tokens[19]) else {
            panic!("the latest snapshot is forgotten");
        };
        assert_eq!(lines, ["19"]);
        let huge = "x".repeat(CHARACTERS);
        let token = elements.remember(Said::Lines("text", vec![huge.clone()]));
        let next = elements.remember(Said::Lines("text", vec![huge]));
        assert!(elements.recall(&token).is_none() && elements.recall(&next).is_some());
    }
}
