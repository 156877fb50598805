//! What is acted on: an element by selector or index, or a place.

use crate::Point;
use crate::element::ElementError;

/// An element.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// What a selector finds.
    Selector(String),
    /// The element with this index in the tab's latest listing.
    Index(usize),
}

/// Where a pointer goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Pointer {
    /// To an element.
    Element(Target),
    /// To a place in the viewport.
    At(Point),
}

impl Pointer {
    /// What is meant when several are given: a selector before an index, an index before coordinates.
    pub fn choose(
        selector: Option<String>,
        index: Option<usize>,
        x: Option<f64>,
        y: Option<f64>,
    ) -> Result<Self, ElementError> {
        match (selector, index, x, y) {
            (Some(selector), ..) => Ok(Self::Element(Target::Selector(selector))),
            (None, Some(index), ..) => Ok(Self::Element(Target::Index(index))),
            (None, None, Some(x), Some(y)) => Ok(Self::At(Point { x, y })),
            _ => Err(ElementError::NoTarget),
        }
    }
}

/// What an element is waited to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Part of the page.
    Attached,
    /// No part of the page.
    Detached,
    /// Drawn.
    Visible,
    /// Not drawn, or no part of the page.
    Hidden,
}

impl State {
    /// Reads its name.
    pub fn parse(name: &str) -> Result<Self, ElementError> {
        match name.to_ascii_lowercase().as_str() {
            "attached" => Ok(Self::Attached),
            "detached" => Ok(Self::Detached),
            "visible" => Ok(Self::Visible),
            "hidden" => Ok(Self::Hidden),
            _ => Err(ElementError::UnknownWord {
                what: "state of an element",
                given: name.to_owned(),
                choices: "attached, detached, visible or hidden",
            }),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Detached => "detached",
            Self::Visible => "visible",
            Self::Hidden => "hidden",
        }
    }

    /// Whether it is one that an element which is not there has.
    pub(crate) fn is_absence(self) -> bool {
        matches!(self, Self::Detached | Self::Hidden)
    }
}

/// Which way to scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the start of the page.
    Up,
    /// Towards its end.
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
}

impl Direction {
    /// Reads its name.
    pub fn parse(name: &str) -> Result<Self, ElementError> {
        match name.to_ascii_lowercase().as_str() {
            "up" => Ok(Self::Up),
            "down" => Ok(Self::Down),
            "left" => Ok(Self::Left),
            "right" => Ok(Self::Right),
            _ => Err(ElementError::UnknownWord {
                what: "direction",
                given: name.to_owned(),
                choices: "up, down, left or right",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_goes_before_an_index_and_an_index_before_coordinates() {
        let selector = || Some("a".to_owned());
        let by_selector = Pointer::choose(selector(), Some(1), Some(2.0), Some(3.0)).unwrap();
        assert_eq!(by_selector, Pointer::Element(Target::Selector("a".to_owned())));
        let by_index = Pointer::choose(None, Some(1), Some(2.0), Some(3.0)).unwrap();
        assert_eq!(by_index, Pointer::Element(Target::Index(1)));
        let at = Pointer::choose(None, None, Some(2.0), Some(3.0)).unwrap();
        assert_eq!(at, Pointer::At(Point { x: 2.0, y: 3.0 }));
        assert!(matches!(
            Pointer::choose(None, None, Some(2.0), None),
            Err(ElementError::NoTarget)
        ));
    }
}
