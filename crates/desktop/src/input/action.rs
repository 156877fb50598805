//! What can be done with mouse and keyboard.

use std::time::Duration;

use crate::options::Point;

/// Characters of a text that are typed key by key although the clipboard could carry them: plain ones, which every
/// program takes as keys while not every program pastes.
const TYPED: usize = 512;
/// How long a character may take to type when the machine is busy.
const PER_CHARACTER: Duration = Duration::from_millis(40);

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Button {
    /// The left one.
    Left,
    /// The middle one.
    Middle,
    /// The right one.
    Right,
}

impl Button {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Left => 1,
            Self::Middle => 2,
            Self::Right => 3,
        }
    }
}

/// Something to do with mouse or keyboard. Places are pixels of the screen, counted from its upper left corner.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Move the pointer.
    MoveTo(Point),
    /// Move the pointer by so many pixels.
    MoveBy(Point),
    /// Click, at a place or where the pointer is, so many times.
    Click {
        /// Where.
        at: Option<Point>,
        /// With what.
        button: Button,
        /// How often.
        count: u8,
    },
    /// Press a button and hold it.
    Press(Button),
    /// Let go of a button.
    Release(Button),
    /// Move the pointer with a button down: the one that is, or else the left one for this movement.
    DragTo(Point),
    /// The same by so many pixels.
    DragBy(Point),
    /// Turn the wheel: clicks of it, positive up and to the left. More than 50 are taken as pixels.
    Scroll {
        /// To the left.
        dx: i64,
        /// Up.
        dy: i64,
    },
    /// Write a text. A new line presses Enter.
    Type {
        /// The text.
        text: String,
        /// Whether it may be pasted, which is how text that is on no key arrives everywhere.
        paste: bool,
    },
    /// Press and let go of keys together, in the order given.
    Keys(Vec<String>),
    /// Press a key and hold it.
    KeyDown(String),
    /// Let go of a key.
    KeyUp(String),
    /// Do nothing for a while.
    Wait(Duration),
}

/// What came of an action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Performed {
    /// A text was put on the clipboard and pasted, but no program fetched it.
    pub unpasted: bool,
}

/// An action taken apart: what needs only hands, and what needs the clipboard too.
#[derive(Debug, PartialEq)]
pub(crate) enum Plan {
    Do(Action),
    Paste(String),
}

impl Plan {
    pub(crate) fn of(action: Action) -> Vec<Self> {
        match action {
            Action::Type { text, paste: true } if !is_plain(&text) => by_lines(&text),
            other => vec![Self::Do(other)],
        }
    }
}

/// Text between new lines is pasted where it must be; new lines are keys, since a pasted one does not press Enter.
fn by_lines(text: &str) -> Vec<Plan> {
    let text = text.replace("\r\n", "\n");
    let mut plan = Vec::new();
    let mut keys = String::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            keys.push('\n');
        }
        if is_plain(line) && keys.len() + line.len() <= TYPED {
            keys.push_str(line);
        } else {
            plan.extend(typed(&mut keys));
            plan.push(Plan::Paste(line.to_owned()));
        }
    }
    plan.extend(typed(&mut keys));
    plan
}

fn typed(keys: &mut String) -> Option<Plan> {
    let text = std::mem::take(keys);
    (!text.is_empty()).then_some(Plan::Do(Action::Type { text, paste: false }))
}

fn is_plain(text: &str) -> bool {
    text.len() <= TYPED && text.is_ascii()
}

impl Action {
    /// Whether it is done with buttons of the mouse.
    pub(crate) fn is_of_buttons(&self) -> bool {
        matches!(
            self,
            Self::Click { .. }
                | Self::Press(_)
                | Self::Release(_)
                | Self::DragTo(_)
                | Self::DragBy(_)
        )
    }

    /// How long it may take beside the usual.
    pub(crate) fn duration(&self) -> Duration {
        match self {
            Self::Type { text, .. } => {
                PER_CHARACTER * u32::try_from(text.len()).unwrap_or(u32::MAX / 100)
            }
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_on_no_key_is_pasted_and_new_lines_are_always_keys() {
        let keys = |text: &str| Plan::Do(Action::Type { text: text.to_owned(), paste: false });
        let plan = |text: &str| Plan::of(Action::Type { text: text.to_owned(), paste: true });
        let whole = Action::Type { text: "echo\n".to_owned(), paste: true };
        assert_eq!(plan("echo\n"), [Plan::Do(whole)]);
        let expected = [keys("a\n"), Plan::Paste("世界".to_owned()), keys("\n\nb")];
        assert_eq!(plan("a\n世界\r\n\nb"), expected);
        let long = "x".repeat(TYPED + 1);
        assert_eq!(plan(&long), [Plan::Paste(long)]);
    }
}
