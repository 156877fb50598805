//! Captchas: known by what their makers put into pages, and waited for until somebody has solved them.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::error::Error;
use crate::frame::{Frame, World};
use crate::tab::Tab;
use crate::{Argument, Rect, Result};

/// A function that names the captcha of a document, if it has one.
const DETECT: &str = include_str!("detect.js");
/// A function that ends with the next change of a document, or after some time.
const NEXT_CHANGE: &str = include_str!("change.js");
/// How long one frame may take.
const FRAME: Duration = Duration::from_secs(5);

/// A captcha on a page.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Captcha {
    /// Whose it is.
    pub kind: String,
    /// Whether it is solved.
    pub solved: bool,
    /// The key by which its maker knows the site.
    pub site_key: Option<String>,
    /// Where it is, in pixels of the visible page.
    pub area: Option<Rect>,
}

impl Tab {
    /// The captcha of its page or of a frame in it: one that is not solved before one that is.
    pub async fn captcha(&self) -> Result<Option<Captcha>> {
        let frames = self.frames();
        let looks = frames.iter().map(look);
        let mut found = Vec::new();
        for (frame, seen) in frames.iter().zip(futures::future::join_all(looks).await) {
            match seen {
                Ok(seen) => found.extend(seen),
                // The page itself must answer; a frame that has just gone need not.
                Err(Error::FrameGone | Error::Navigated) => {}
                Err(error) if frame.is_main() => return Err(error),
                Err(_) => {}
            }
        }
        found.sort_by_key(|captcha| captcha.solved);
        Ok(found.into_iter().next())
    }

    /// Waits until no captcha is left to solve; false when time is up. Changes of the page are noticed at once, what
    /// happens in frames after this pause at most.
    pub async fn wait_captcha(&self, within: Duration, pause: Duration) -> Result<bool> {
        let deadline = Instant::now() + within;
        loop {
            if self.captcha().await?.is_none_or(|captcha| captcha.solved) {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let pause = left.min(pause.max(Duration::from_millis(10)));
            let milliseconds = [Argument::from(json!(pause.as_secs_f64() * 1000.0))];
            let change = self.main_frame();
            let changed = change.call(NEXT_CHANGE, &milliseconds, World::Utility, pause + FRAME);
            match tokio::time::timeout(left, changed).await {
                Ok(Ok(_) | Err(Error::Navigated | Error::FrameGone | Error::Timeout { .. }))
                | Err(_) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
    }
}

async fn look(frame: &Arc<Frame>) -> Result<Option<Captcha>> {
    let seen = frame.call(DETECT, &[], World::Utility, FRAME).await?;
    let Ok(Some(mut captcha)) = serde_json::from_value::<Option<Captcha>>(seen) else {
        return Ok(None);
    };
    if let Some(area) = &mut captcha.area
        && !frame.is_main()
    {
        let offset = frame.offset().await?;
        area.x += offset.x;
        area.y += offset.y;
    }
    Ok(Some(captcha))
}
