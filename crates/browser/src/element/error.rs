//! Why something could not be done with an element.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why something could not be done with an element. Each message says what to do about it.
#[derive(Debug, Error)]
pub enum ElementError {
    /// A selector that cannot be read.
    #[error("{message}")]
    Selector {
        /// What is wrong with it.
        message: String,
    },
    /// Nothing matched a selector in time.
    #[error(
        "nothing matched {selector:?} in {}{}; look at the page's elements or text for what is there",
        .frames, waited(*.after)
    )]
    NotFound {
        /// The selector.
        selector: String,
        /// Where it was looked for.
        frames: String,
        /// How long.
        after: Duration,
    },
    /// The element was there, but a person could not have done it either.
    #[error("the element did not become {condition}{}: {message}", waited(*.after))]
    NotActionable {
        /// Which condition failed: visible, stable, enabled, editable, able to receive events, …
        condition: String,
        /// What was in the way.
        message: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// An index that means nothing any more.
    #[error("element {index} cannot be used: {why}; list the page's elements again")]
    Stale {
        /// The index.
        index: usize,
        /// What became of it.
        why: String,
    },
    /// An element this cannot be done with.
    #[error("{message}")]
    Unsuitable {
        /// Why.
        message: String,
    },
    /// A place that cannot be pointed at.
    #[error(
        "({x}, {y}) is outside of the viewport, which is {width} × {height}; scroll first, or use a selector"
    )]
    OffScreen {
        /// Where.
        x: f64,
        /// Where.
        y: f64,
        /// How wide the viewport is.
        width: f64,
        /// How high.
        height: f64,
    },
    /// Nothing said what to act on.
    #[error("nothing says where: give a selector, the index of a listed element, or both x and y")]
    NoTarget,
    /// No key is called this.
    #[error(
        "{key:?} is no key: use a character, or a name like Enter, ctrl, ArrowLeft, pageup, F5"
    )]
    UnknownKey {
        /// What was given.
        key: String,
    },
    /// A word that is none of the ones that could stand there.
    #[error("{given:?} is no {what}: use {choices}")]
    UnknownWord {
        /// What it should have been.
        what: &'static str,
        /// What was given.
        given: String,
        /// What there is.
        choices: &'static str,
    },
    /// A file that cannot be given to a page.
    #[error("{} cannot be uploaded: {reason}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A form's item that cannot be read; nothing was filled.
    #[error("item {position} of the form: {reason}")]
    FormItem {
        /// Which, from 0.
        position: usize,
        /// Why.
        reason: String,
    },
    /// A form's item that could not be filled; the ones before it were.
    #[error("item {position} of the form could not be filled ({filled} were): {source}")]
    Form {
        /// Which, from 0.
        position: usize,
        /// How many had been filled.
        filled: usize,
        /// Why.
        source: Box<crate::Error>,
    },
}

/// How long something was waited for, as the end of a clause; nothing when it was not.
fn waited(after: Duration) -> String {
    if after.is_zero() { String::new() } else { format!(" within {} ms", after.as_millis()) }
}
