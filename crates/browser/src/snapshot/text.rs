//! Source, text and Markdown, with what frames hold in its place.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::element::engine::{DEPTH, ask, enter, explain};
use crate::element::{ElementError, Said};
use crate::snapshot::Scope;
use crate::snapshot::changes::{changed_lines, cut};
use crate::{Error, Frame, Result, Tab};

/// How long a frame within the page may take; the page goes without one that takes longer.
const FRAME: Duration = Duration::from_secs(5);
/// Frames that are read into one snapshot.
const FRAMES: usize = 100;

/// A page as text of some kind.
#[derive(Debug, Clone)]
pub struct TextSnapshot {
    /// The text, or what changed in it: lines with `+ ` or `- ` before them.
    pub text: String,
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What to give as `since` the next time.
    pub snapshot: String,
    /// How long all of it is.
    pub total_chars: usize,
    /// How much of it was left out for being too long.
    pub left_out_chars: usize,
    /// Whether only changes are told.
    pub is_delta: bool,
}

impl TextSnapshot {
    /// What a reader should know about it.
    pub fn note(&self) -> Option<String> {
        let mut note = Vec::new();
        if self.is_delta {
            let changes =
                if self.text.is_empty() { "nothing has changed" } else { "only changes are shown" };
            note.push(format!("{changes} since the snapshot that was named"));
        }
        if self.left_out_chars > 0 {
            note.push(format!(
                "{} of {} characters were left out; raise max_chars or narrow it with a selector",
                self.left_out_chars, self.total_chars
            ));
        }
        (!note.is_empty()).then(|| note.join("; "))
    }
}

impl Tab {
    /// The source as it stands now: what is in the root element, or that element too.
    pub async fn html(self: &Arc<Self>, outer: bool, scope: &Scope) -> Result<TextSnapshot> {
        let request = json!({ "outer": outer });
        let (_, told) = self.read("html", request, scope.selector.as_deref()).await?;
        let text = told["text"].as_str().unwrap_or_default().to_owned();
        let title = String::new();
        Ok(self.snapshot("html", text, (title, self.url()), scope))
    }

    /// All visible text, that in frames included.
    pub async fn text(self: &Arc<Self>, scope: &Scope) -> Result<TextSnapshot> {
        self.reading("text", "visibleText", scope).await
    }

    /// What there is to read, as Markdown: the main content when nothing else is asked for.
    pub async fn markdown(self: &Arc<Self>, scope: &Scope) -> Result<TextSnapshot> {
        self.reading("markdown", "markdown", scope).await
    }

    async fn reading(
        self: &Arc<Self>,
        kind: &'static str,
        operation: &'static str,
        scope: &Scope,
    ) -> Result<TextSnapshot> {
        let (frame, told) = self.read(operation, json!({}), scope.selector.as_deref()).await?;
        let text = told["text"].as_str().unwrap_or_default();
        let mut frames = FRAMES;
        let text = with_frames(&frame, operation, text, DEPTH, &mut frames).await;
        let about = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        Ok(self.snapshot(kind, text, (about("title"), about("url")), scope))
    }

    /// Asks the frame that has what the selector finds; without one, the main frame.
    pub(super) async fn read(
        self: &Arc<Self>,
        operation: &str,
        request: Value,
        selector: Option<&str>,
    ) -> Result<(Arc<Frame>, Value)> {
        let frames = match selector {
            Some(_) => self.frames(),
            None => vec![self.main_frame()],
        };
        for (at, mut frame) in frames.iter().cloned().enumerate() {
            let mut request = request.clone();
            request["selector"] = Value::from(selector);
            for _ in 0..DEPTH {
                let told = match ask(&frame, operation, &request, FRAME).await {
                    Ok(Ok(told)) => told.with_epoch(),
                    Ok(Err(refused)) => return Err(explain(refused, Duration::ZERO).into()),
                    // Another frame may still have it.
                    Err(Error::FrameGone | Error::Navigated | Error::Timeout { .. }) if at > 0 => {
                        break;
                    }
                    Err(error) => return Err(error),
                };
                if told["missing"] == true {
                    break;
                }
                let Some(number) = told.get("frame") else { return Ok((frame, told)) };
                request["selector"] = told["rest"].clone();
                frame = enter(&frame, number).await?;
            }
        }
        let count = frames.len();
        let frames =
            if count == 1 { "the page".to_owned() } else { format!("the page's {count} frames") };
        let selector = selector.unwrap_or_default().to_owned();
        Err(ElementError::NotFound { selector, frames, after: Duration::ZERO }.into())
    }

    /// Remembers what a page says, and tells as much of it as is wanted.
    pub(super) fn snapshot(
        &self,
        kind: &'static str,
        text: String,
        (title, url): (String, String),
        scope: &Scope,
    ) -> TextSnapshot {
        let total_chars = text.chars().count();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let before = scope.since.as_deref().and_then(|token| self.elements().recall(token));
        let (text, is_delta) = match before {
            Some(Said::Lines(earlier, before)) if earlier == kind => {
                (changed_lines(&before, &lines), true)
            }
            _ => (text, false),
        };
        let (text, left_out_chars) = cut(text, scope.max_chars);
        let snapshot = self.elements().remember(Said::Lines(kind, lines));
        TextSnapshot { text, title, url, snapshot, total_chars, left_out_chars, is_delta }
    }
}

/// A text with each frame's own text where the frame is. A frame that cannot be read leaves its place empty.
fn with_frames<'a>(
    frame: &'a Arc<Frame>,
    operation: &'a str,
    text: &'a str,
    depth: usize,
    frames: &'a mut usize,
) -> BoxFuture<'a, String> {
    Box::pin(async move {
        let mut whole = String::with_capacity(text.len());
        // Places are marked by zeros on both sides, so every second piece is one.
        for (at, piece) in text.split('\0').enumerate() {
            if at % 2 == 0 {
                whole.push_str(piece);
                continue;
            }
            let Ok(number) = piece.parse::<u64>() else { continue };
            if depth == 0 || *frames == 0 {
                continue;
            }
            *frames -= 1;
            let Ok((inner, told)) = read_frame(frame, number, operation, &json!({})).await else {
                continue;
            };
            let inner_text = told["text"].as_str().unwrap_or_default();
            whole.push_str(&with_frames(&inner, operation, inner_text, depth - 1, frames).await);
        }
        whole
    })
}

/// What is in a frame's element, unless that takes too long.
pub(super) async fn read_frame(
    frame: &Arc<Frame>,
    number: u64,
    operation: &str,
    request: &Value,
) -> Result<(Arc<Frame>, Value)> {
    let read = async {
        let inner = enter(frame, &Value::from(number)).await?;
        match ask(&inner, operation, request, Duration::ZERO).await? {
            Ok(told) => Ok((inner, told.with_epoch())),
            Err(refused) => Err(explain(refused, Duration::ZERO).into()),
        }
    };
    match tokio::time::timeout(FRAME, read).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::FrameGone),
    }
}
