//! The mouse.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::element::ElementError;
use crate::{Point, Result, Tab};

/// How long a page may take to handle one event of the mouse.
const HANDLED: Duration = Duration::from_secs(30);
/// Presses that can be told apart from one another as one gesture.
const CLICKS: u32 = 3;

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// The usual one.
    Left,
    /// The one for menus.
    Right,
    /// The wheel.
    Middle,
}

impl Button {
    /// Reads its name.
    pub fn parse(name: &str) -> Result<Self, ElementError> {
        match name.to_ascii_lowercase().as_str() {
            "left" | "" => Ok(Self::Left),
            "right" => Ok(Self::Right),
            "middle" | "center" => Ok(Self::Middle),
            _ => Err(ElementError::UnknownWord {
                what: "mouse button",
                given: name.to_owned(),
                choices: "left, right or middle",
            }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Middle => "middle",
        }
    }

    /// Its bit among the buttons that are down.
    fn bit(self) -> u8 {
        match self {
            Self::Left => 1,
            Self::Right => 2,
            Self::Middle => 4,
        }
    }
}

impl Tab {
    /// Moves the mouse to a place.
    pub async fn move_mouse(self: &Arc<Self>, point: Point) -> Result<()> {
        self.command("Input.dispatchMouseEvent", moved(point)).await.map(drop)
    }

    /// Presses a button as often as told, ever faster than a double click must be. All events are sent at once: the
    /// browser hands them over in order, and a press does not wait for the move before it to be drawn.
    pub async fn press_mouse(
        self: &Arc<Self>,
        point: Point,
        button: Button,
        count: u32,
    ) -> Result<()> {
        let session = self.session();
        let method = "Input.dispatchMouseEvent";
        let mut replies = vec![session.start(method, moved(point))?];
        for click in 1..=count.clamp(1, CLICKS) {
            for (kind, down) in [("mousePressed", button.bit()), ("mouseReleased", 0)] {
                let event = json!({
                    "type": kind, "x": point.x, "y": point.y, "button": button.name(),
                    "buttons": down, "clickCount": click,
                });
                replies.push(session.start(method, event)?);
            }
        }
        for reply in replies {
            reply.within(HANDLED).await.map_err(|error| self.explain(error))?;
        }
        Ok(())
    }
}

fn moved(point: Point) -> Value {
    json!({ "type": "mouseMoved", "x": point.x, "y": point.y, "button": "none", "buttons": 0 })
}
