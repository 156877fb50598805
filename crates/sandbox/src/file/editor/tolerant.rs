//! Finding a text that was quoted from memory: nine ways to look for it, from exact to lenient, without a file in sight.
//!
//! The ways are tried in order. The first that finds exactly one place wins. A way that finds several leaves the
//! decision to the stricter ones after it, as far as they choose among the same places; if none does, nothing is
//! replaced and the places are named. New text takes over the indentation of the text it replaces.

mod alike;
mod ways;

use std::ops::Range;

use atoll_api::file::EditMatch;

/// Places named when it is not clear which is meant.
const PLACES_NAMED: usize = 20;

/// Texts replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) text: String,
    pub(super) count: u64,
    pub(super) matched: EditMatch,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    /// It is nowhere to be found, however one looks.
    Missing,
    /// It may be in any of these places.
    Several {
        matched: EditMatch,
        count: usize,
        /// First and last line of each, from 1.
        lines: Vec<(usize, usize)>,
    },
}

/// A place of a text, and what to put there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    range: Range<usize>,
    new: String,
}

/// The text with `old`, or what it seems to mean, replaced by `new`. The text's lines end with `\n` alone.
pub(super) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Replaced, Unclear> {
    let mut several: Option<(EditMatch, Vec<Place>)> = None;
    for way in ways::ORDER {
        let mut places = way.places(text, old, new);
        if let Some((_, earlier)) = &several {
            places.retain(|place| earlier.iter().any(|known| overlap(&known.range, &place.range)));
        }
        let matched = way.matched();
        match places.len() {
            0 => {}
            1 => return Ok(put(text, &places, matched)),
            _ if all && way.may_repeat() => {
                let matched =
                    if matched == EditMatch::Exact { EditMatch::MultiOccurrence } else { matched };
                return Ok(put(text, &places, matched));
            }
            // Exact and yet several: no other way of looking makes it clearer.
            _ if matched == EditMatch::Exact => return Err(unclear(text, matched, &places)),
            _ => several = several.or(Some((matched, places))),
        }
    }
    Err(match several {
        Some((matched, places)) => unclear(text, matched, &places),
        None => Unclear::Missing,
    })
}

fn put(text: &str, places: &[Place], matched: EditMatch) -> Replaced {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for Place { range, new } in places {
        result.push_str(text.get(at..range.start).unwrap_or_default());
        result.push_str(new);
        at = range.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    Replaced { text: result, count: places.len() as u64, matched }
}

fn unclear(text: &str, matched: EditMatch, places: &[Place]) -> Unclear {
    let line_of = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1
    };
    let lines = places.iter().take(PLACES_NAMED).map(|place| {
        let last = place.range.end.saturating_sub(1).max(place.range.start);
        (line_of(place.range.start), line_of(last))
    });
    Unclear::Several { matched, count: places.len(), lines: lines.collect() }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests;
