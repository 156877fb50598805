//! What is done with a pointer, and what is put into fields.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::element::engine::{Search, Told, ask, explain, milliseconds, number_of_frame};
use crate::element::settle::Settling;
use crate::element::{ElementError, Pointer, Target};
use crate::input::Button;
use crate::{Error, Frame, Point, Rect, Result, Tab};

/// How long is waited for an element when the caller does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a press that did not arrive is tried.
pub(crate) const PRESSES: usize = 5;

impl Tab {
    /// Presses a mouse button where the pointer is to go, once that is possible. Waits for the page that a press on a
    /// link leads to.
    pub async fn click(
        self: &Arc<Self>,
        pointer: &Pointer,
        button: &str,
        click_count: u32,
        timeout: Duration,
    ) -> Result<()> {
        let button = Button::parse(button)?;
        let settling = Settling::begin(self);
        for _ in 0..PRESSES {
            let (frame, point) = self.point(pointer, true, timeout).await?;
            self.press_mouse(point, button, click_count).await?;
            if arrived(frame).await {
                break;
            }
        }
        settling.end().await;
        Ok(())
    }

    /// Moves the mouse.
    pub async fn hover(self: &Arc<Self>, pointer: &Pointer, timeout: Duration) -> Result<()> {
        self.begin_action();
        let (_, point) = self.point(pointer, false, timeout).await?;
        self.move_mouse(point).await
    }

    /// Puts text into a field in place of what is there, and returns what it holds then.
    pub async fn fill(
        self: &Arc<Self>,
        target: &Target,
        text: &str,
        timeout: Duration,
    ) -> Result<String> {
        self.begin_action();
        let (_, told) = self.on(target, "fill", json!({ "text": text }), timeout).await?;
        if let Some(need) = told.value["need"].as_str() {
            let element = told.value["told"].as_str().unwrap_or("the element");
            let message = match need {
                "check" => format!("{element} holds no text: check or uncheck it instead"),
                _ => format!("{element} holds no text: upload a file to it instead"),
            };
            return Err(ElementError::Unsuitable { message }.into());
        }
        let value = &told.value;
        Ok(value["value"].as_str().or(value["labels"][0].as_str()).unwrap_or("").to_owned())
    }

    /// Scrolls an element into view and returns where it is in the viewport.
    pub async fn element_box(self: &Arc<Self>, target: &Target, timeout: Duration) -> Result<Rect> {
        let (frame, told) = self.on(target, "box", json!({}), timeout).await?;
        let found = Rect::deserialize(&told.value["box"]).unwrap_or_default();
        let offset = frame.offset().await?;
        Ok(Rect { x: found.x + offset.x, y: found.y + offset.y, ..found })
    }

    /// Carries out an operation on an element, once it is there.
    pub(crate) async fn on(
        self: &Arc<Self>,
        target: &Target,
        operation: &str,
        mut request: Value,
        timeout: Duration,
    ) -> Result<(Arc<Frame>, Told)> {
        let index = match target {
            Target::Selector(selector) => {
                let found = Search::new(self, selector, timeout).run(operation, &request).await?;
                self.tell_choice(selector, &found.1.value);
                return Ok(found);
            }
            Target::Index(index) => *index,
        };
        let key = self.elements().at(index)?;
        let stale = |why: &str| ElementError::Stale { index, why: why.to_owned() };
        let gone = || Error::from(stale("the frame it was in is gone"));
        let frame = self.frame(&key.frame).ok_or_else(gone)?;
        request["number"] = Value::from(key.number);
        request["epoch"] = Value::from(key.epoch);
        request["timeout"] = milliseconds(timeout);
        match ask(&frame, operation, &request, timeout).await {
            Ok(Ok(told)) => Ok((frame, told)),
            Ok(Err(refused)) if refused.kind == "stale" => {
                Err(stale(refused.message.trim_end_matches('.')).into())
            }
            Ok(Err(refused)) => Err(explain(refused, timeout).into()),
            Err(Error::FrameGone) => Err(gone()),
            Err(Error::Navigated) => Err(stale("the page it was on has been replaced").into()),
            Err(error) => Err(error),
        }
    }

    /// Says which of several elements was taken: the caller may have meant another.
    fn tell_choice(&self, selector: &str, told: &Value) {
        let (Some(count), Some(taken)) = (told["matched"].as_u64(), told["taken"].as_str()) else {
            return;
        };
        self.hint_once(format!(
            "{selector:?} matches {count} visible elements and the first was taken, {taken}; for another one, make it \
             more precise or add `>> visible=true >> nth=1`"
        ));
    }

    /// Where the pointer is to go, in the viewport, once nothing is in its way, and the frame that is.
    async fn point(
        self: &Arc<Self>,
        pointer: &Pointer,
        enabled: bool,
        timeout: Duration,
    ) -> Result<(Option<Arc<Frame>>, Point)> {
        let started = Instant::now();
        match pointer {
            Pointer::At(point) => Ok((None, self.on_screen(*point).await?)),
            Pointer::Element(target) => {
                let request = json!({ "enabled": enabled });
                let (frame, told) = self.on(target, "aim", request, timeout).await?;
                let left = timeout.saturating_sub(started.elapsed());
                let point = out_of_frames(frame.clone(), &told, left).await?;
                Ok((Some(frame), point))
            }
        }
    }

    /// Refuses a place that is outside of the viewport: nothing would be pressed there.
    async fn on_screen(self: &Arc<Self>, point: Point) -> Result<Point> {
        let size = self.viewport().await?;
        let Point { x, y } = point;
        if (0.0..size.width).contains(&x) && (0.0..size.height).contains(&y) {
            return Ok(point);
        }
        Err(ElementError::OffScreen { x, y, width: size.width, height: size.height }.into())
    }
}

/// Whether a press reached the frame it was for. Only frames of other sites miss one: see the engine.
pub(crate) async fn arrived(frame: Option<Arc<Frame>>) -> bool {
    let Some(frame) = frame.filter(|frame| !frame.is_main()) else { return true };
    match ask(&frame, "pressed", &json!({}), Duration::ZERO).await {
        Ok(Ok(told)) => told.value["pressed"] != false,
        // A frame that is gone was pressed for that.
        _ => true,
    }
}

/// A point of a frame as one of the page. In each frame around it, the frame must be what is drawn there.
pub(crate) async fn out_of_frames(
    mut frame: Arc<Frame>,
    told: &Told,
    timeout: Duration,
) -> Result<Point> {
    let mut point = Point::deserialize(&told.value).unwrap_or_default();
    while let Some(parent) = frame.parent() {
        let number = number_of_frame(&parent, &frame).await?;
        let request = json!({
            "number": number, "x": point.x, "y": point.y, "timeout": milliseconds(timeout),
        });
        match ask(&parent, "pointInFrame", &request, timeout).await? {
            Ok(told) => point = Point::deserialize(&told.value).unwrap_or_default(),
            Err(refused) => return Err(explain(refused, timeout).into()),
        }
        frame = parent;
    }
    Ok(point)
}
