//! Pictures of a page.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::error::Error;
use crate::tab::Tab;
use crate::{Point, Rect, Size};

/// How long a picture of a long page may take.
const TAKEN: Duration = Duration::from_mins(1);
/// Pixels along one side; beyond it, the browser repeats what it drew before.
const SIDE: f64 = 16_384.0;

/// What to take a picture of.
#[derive(Debug, Clone, PartialEq)]
pub struct Shot {
    /// All of the page, not only what can be seen.
    pub full_page: bool,
    /// Only this part, in CSS pixels from the upper left of what can be seen.
    pub clip: Option<Rect>,
    /// How it is written.
    pub format: Format,
    /// How well, from 0 to 100; not for PNG.
    pub quality: Option<u8>,
}

impl Default for Shot {
    fn default() -> Self {
        Self { full_page: false, clip: None, format: Format::Png, quality: None }
    }
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Exact.
    Png,
    /// Smaller.
    Jpeg,
    /// Smaller still.
    Webp,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        }
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// The file.
    pub bytes: Bytes,
    /// What it shows, in CSS pixels.
    pub size: Size,
}

impl Tab {
    /// Takes a picture.
    pub async fn screenshot(&self, shot: &Shot) -> Result<Image, Error> {
        self.check()?;
        let mut params = json!({ "format": shot.format.name(), "optimizeForSpeed": true });
        if let Some(quality) = shot.quality.filter(|_| shot.format != Format::Png) {
            params["quality"] = Value::from(quality.min(100));
        }
        let size = if shot.full_page || shot.clip.is_some() {
            let area = self.area(shot).await?;
            params["captureBeyondViewport"] = Value::from(true);
            params["clip"] = json!({
                "x": area.x, "y": area.y, "width": area.width, "height": area.height, "scale": 1,
            });
            Some(Size { width: area.width, height: area.height })
        } else {
            None
        };
        let sent = self.session().command_within("Page.captureScreenshot", params, TAKEN);
        let answer = sent.await.map_err(|error| self.explain(error))?;
        let bytes = decoded(&answer["data"])?;
        let size = match size {
            Some(size) => size,
            None => self.viewport().await?,
        };
        Ok(Image { bytes, size })
    }

    /// The part of the document a picture shows.
    async fn area(&self, shot: &Shot) -> Result<Rect, Error> {
        let metrics = self.command("Page.getLayoutMetrics", json!({})).await?;
        let number = |value: &Value| value.as_f64().unwrap_or_default();
        let view = &metrics["cssVisualViewport"];
        let content = &metrics["cssContentSize"];
        let scrolled = Point { x: number(&view["pageX"]), y: number(&view["pageY"]) };
        let area = match shot.clip {
            Some(clip) => Rect { x: clip.x + scrolled.x, y: clip.y + scrolled.y, ..clip },
            None => Rect {
                x: 0.0,
                y: 0.0,
                width: number(&content["width"]),
                height: number(&content["height"]),
            },
        };
        if !(area.width > 0.0 && area.height > 0.0) {
            let reason = "there is nothing of it to be seen".to_owned();
            return Err(Error::Picture { reason });
        }
        if area.width > SIDE || area.height > SIDE {
            self.hint(format!(
                "the picture was cut: the page is {} × {} pixels, and {SIDE} is the most for a side",
                area.width, area.height
            ));
        }
        Ok(Rect { width: area.width.min(SIDE), height: area.height.min(SIDE), ..area })
    }
}

/// A file the browser sends as text.
pub(super) fn decoded(data: &Value) -> Result<Bytes, Error> {
    let text = data.as_str().unwrap_or_default();
    let bytes =
        STANDARD.decode(text).map_err(|error| Error::Picture { reason: error.to_string() })?;
    Ok(bytes.into())
}
