//! Waiting for an element to come or go, and scrolling.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::element::engine::{DEPTH, Search, ask, enter, explain, milliseconds};
use crate::element::{Direction, ElementError, State, Target};
use crate::{Error, Frame, Result, Tab};

/// Where something stands that was scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
pub struct Scrolled {
    /// How far to the right.
    pub x: f64,
    /// How far down.
    pub y: f64,
    /// How far to the right it can go.
    pub max_x: f64,
    /// How far down it can go.
    pub max_y: f64,
}

impl Tab {
    /// Waits until an element is there, or is not.
    pub async fn wait_selector(
        self: &Arc<Self>,
        selector: &str,
        state: State,
        timeout: Duration,
    ) -> Result<()> {
        if state.is_absence() {
            return self.wait_absence(selector, state, timeout).await;
        }
        let request = json!({ "state": state.name() });
        match Search::new(self, selector, timeout).run("waitForState", &request).await {
            Ok(_) => Ok(()),
            Err(Error::Element(ElementError::NotFound { frames, .. })) => {
                Err(in_vain(selector, state, timeout, &format!("nothing matched in {frames}")))
            }
            Err(Error::Element(ElementError::NotActionable { message, .. })) => {
                Err(in_vain(selector, state, timeout, &message))
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until no frame has such an element: whichever still has one is waited for, then all are asked again.
    async fn wait_absence(
        self: &Arc<Self>,
        selector: &str,
        state: State,
        timeout: Duration,
    ) -> Result<()> {
        let deadline = Instant::now() + timeout;
        loop {
            let frames = self.frames();
            let glances =
                frames.iter().map(|frame| absent(frame.clone(), selector, state, Duration::ZERO));
            let mut holding = None;
            for (frame, outcome) in frames.iter().zip(join_all(glances).await) {
                match outcome {
                    Ok(true) | Err(Error::FrameGone | Error::Navigated) => {}
                    Ok(false) => holding = holding.or(Some(frame)),
                    Err(error) => return Err(error),
                }
            }
            let Some(frame) = holding else { return Ok(()) };
            let left = deadline.saturating_duration_since(Instant::now());
            match absent(frame.clone(), selector, state, left).await {
                Ok(true) | Err(Error::FrameGone | Error::Navigated) => {}
                Ok(false) => {
                    return Err(in_vain(selector, state, timeout, "it still matches something"));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Scrolls by a number of pixels: the page, or what fills it in its place.
    pub async fn scroll(self: &Arc<Self>, direction: Direction, amount: f64) -> Result<Scrolled> {
        let (x, y) = match direction {
            Direction::Up => (0.0, -amount),
            Direction::Down => (0.0, amount),
            Direction::Left => (-amount, 0.0),
            Direction::Right => (amount, 0.0),
        };
        self.scrolled("scrollBy", x, y).await
    }

    /// Scrolls to a place.
    pub async fn scroll_to(self: &Arc<Self>, x: f64, y: f64) -> Result<Scrolled> {
        self.scrolled("scrollTo", x, y).await
    }

    async fn scrolled(self: &Arc<Self>, operation: &str, x: f64, y: f64) -> Result<Scrolled> {
        self.begin_action();
        let request = json!({ "x": x, "y": y });
        match ask(&self.main_frame(), operation, &request, Duration::ZERO).await? {
            Ok(told) => Ok(Scrolled::deserialize(&told.value).unwrap_or_default()),
            Err(refused) => Err(explain(refused, Duration::ZERO).into()),
        }
    }

    /// Scrolls until an element is in the middle of the window.
    pub async fn scroll_to_element(
        self: &Arc<Self>,
        target: &Target,
        timeout: Duration,
    ) -> Result<()> {
        self.begin_action();
        self.on(target, "scrollToElement", json!({}), timeout).await.map(drop)
    }
}

/// A wait that ended without what was waited for.
fn in_vain(selector: &str, state: State, after: Duration, why: &str) -> Error {
    let what = format!("{selector:?} becoming {}", state.name());
    Error::Timeout { what, after, hint: format!("; {why}") }
}

/// Whether a frame has nothing in the way of an absence, waiting for it if there is time.
async fn absent(
    mut frame: Arc<Frame>,
    selector: &str,
    state: State,
    wait: Duration,
) -> Result<bool> {
    let mut selector = selector.to_owned();
    for _ in 0..DEPTH {
        let request = json!({
            "selector": selector, "state": state.name(), "timeout": milliseconds(wait),
        });
        match ask(&frame, "waitForState", &request, wait).await? {
            Ok(told) => match told.value.get("frame") {
                Some(number) => {
                    frame = enter(&frame, number).await?;
                    selector =
                        told.value.get("rest").and_then(Value::as_str).unwrap_or("").to_owned();
                }
                None => return Ok(true),
            },
            Err(refused) if refused.kind == "timeout" => return Ok(false),
            Err(refused) => return Err(explain(refused, wait).into()),
        }
    }
    Ok(true)
}
