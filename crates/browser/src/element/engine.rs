//! Asking the engine in a frame, and finding the frame to ask.
//!
//! A selector is tried in the main frame first. Only when nothing matches there, and there are other frames, are these
//! asked too; the wait itself happens inside the frames, each watching its own document, and the first one that has
//! the element answers for all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::{FuturesOrdered, FuturesUnordered};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::element::ElementError;
use crate::{Argument, Error, Frame, Result, Tab, World};

/// What the page itself may take beyond the time it was given to wait.
const SLACK: Duration = Duration::from_secs(10);
/// How long a frame that is asked beside others may hold them up.
const GLANCE: Duration = Duration::from_secs(2);
/// How deep frames within frames are followed.
pub(crate) const DEPTH: usize = 8;

static TICKETS: AtomicU64 = AtomicU64::new(1);

/// What the engine refused, as it tells it.
#[derive(Debug, Deserialize)]
pub(crate) struct Refused {
    pub(crate) kind: String,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) condition: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    ok: Value,
    #[serde(default)]
    refused: Option<Refused>,
    #[serde(default)]
    epoch: String,
}

/// A frame's answer.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) value: Value,
    /// Tells the document from one that replaces it.
    pub(crate) epoch: String,
}

impl Told {
    /// The answer with the mark of its document in it.
    pub(crate) fn with_epoch(mut self) -> Value {
        if let Some(fields) = self.value.as_object_mut() {
            fields.insert("epoch".to_owned(), Value::from(self.epoch));
        }
        self.value
    }
}

/// Asks the engine of one frame. The outer error is that it could not be asked, the inner one that it refused.
pub(crate) async fn ask(
    frame: &Arc<Frame>,
    operation: &str,
    request: &Value,
    timeout: Duration,
) -> Result<Result<Told, Refused>> {
    let arguments = [Argument::from(Value::from(operation)), Argument::from(request.clone())];
    let call = "(operation, request) => atoll.run(operation, request)";
    let within = timeout.saturating_add(SLACK);
    let value = frame.call(call, &arguments, World::Utility, within).await?;
    let answer: Answer = serde_json::from_value(value).map_err(|error| Error::Script {
        name: "EngineError".to_owned(),
        message: format!("the page's engine did not answer {operation} as expected: {error}"),
        stack: String::new(),
    })?;
    Ok(match answer.refused {
        Some(refused) => Err(refused),
        None => Ok(Told { value: answer.ok, epoch: answer.epoch }),
    })
}

/// The frame inside an element the engine numbered.
pub(crate) async fn enter(frame: &Arc<Frame>, number: &Value) -> Result<Arc<Frame>> {
    let arguments = [Argument::from(number.clone())];
    let call = "(number) => atoll.element(number)";
    let element = frame.call_handle(call, &arguments, World::Utility, GLANCE).await?;
    frame.child_frame(&element).await
}

/// The number of the element a frame is in.
pub(crate) async fn number_of_frame(parent: &Arc<Frame>, frame: &Arc<Frame>) -> Result<Value> {
    let told = match ask(parent, "frames", &json!({}), GLANCE).await? {
        Ok(told) => told,
        Err(refused) => return Err(explain(refused, GLANCE).into()),
    };
    let numbers = told.value.as_array().cloned().unwrap_or_default();
    let inner = join_all(numbers.iter().map(|number| enter(parent, number))).await;
    let mut found = numbers.iter().zip(inner);
    let found = found.find(|(_, inner)| inner.as_ref().is_ok_and(|inner| inner.id() == frame.id()));
    found.map(|(number, _)| number.clone()).ok_or(Error::FrameGone)
}

/// A selector on its way to an element, until its time is up.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    tab: &'a Arc<Tab>,
    selector: &'a str,
    started: Instant,
    timeout: Duration,
}

impl<'a> Search<'a> {
    pub(crate) fn new(tab: &'a Arc<Tab>, selector: &'a str, timeout: Duration) -> Self {
        Self { tab, selector, started: Instant::now(), timeout }
    }

    fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.started.elapsed())
    }

    /// Carries an operation out in the frame that has the element, once one has.
    pub(crate) async fn run(&self, operation: &str, request: &Value) -> Result<(Arc<Frame>, Told)> {
        let mut frame = self.tab.main_frame();
        let mut selector = self.selector.to_owned();
        let mut changes = self.tab.changes();
        loop {
            changes.mark_unchanged();
            let alone = !frame.is_main() || self.tab.frames().len() == 1;
            let wait = if alone { self.left() } else { Duration::ZERO };
            let mut asked = request.clone();
            asked["selector"] = Value::from(selector.as_str());
            asked["timeout"] = milliseconds(wait);
            match ask(&frame, operation, &asked, wait).await {
                Ok(Ok(told)) if told.value.get("frame").is_some() => {
                    match enter(&frame, &told.value["frame"]).await {
                        Ok(inner) => {
                            frame = inner;
                            told.value["rest"].as_str().unwrap_or("").clone_into(&mut selector);
                        }
                        // The element is there, what is in it is still to come.
                        Err(Error::FrameGone | Error::Navigated) if !self.left().is_zero() => {
                            drop(tokio::time::timeout(self.left(), changes.changed()).await);
                            frame = self.tab.main_frame();
                            self.selector.clone_into(&mut selector);
                        }
                        Err(error) => return Err(error),
                    }
                }
                Ok(Ok(told)) => return Ok((frame, told)),
                Ok(Err(refused)) if !alone && refused.kind == "timeout" => {
                    // It is here, but not ready; or it is nowhere yet, or in another frame.
                    if refused.condition.as_deref() != Some("attached") {
                        asked["timeout"] = milliseconds(self.left());
                        return match ask(&frame, operation, &asked, self.left()).await {
                            Ok(Ok(told)) => Ok((frame, told)),
                            Ok(Err(refused)) => Err(self.refusal(refused)),
                            Err(error) => Err(error),
                        };
                    }
                    frame = self.frame_with(&selector).await?;
                    if frame.is_main() && self.left().is_zero() {
                        return Err(self.refusal(refused));
                    }
                }
                Ok(Err(refused)) => return Err(self.refusal(refused)),
                Err(Error::Navigated | Error::FrameGone) if !self.left().is_zero() => {
                    frame = self.tab.main_frame();
                    self.selector.clone_into(&mut selector);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The first frame in which the selector matches something, as soon as there is one.
    async fn frame_with(&self, selector: &str) -> Result<Arc<Frame>> {
        let mut changes = self.tab.changes();
        loop {
            changes.mark_unchanged();
            let frames = self.tab.frames();
            let shown = documents(&frames);
            let mut glances: FuturesOrdered<_> = frames
                .iter()
                .map(|frame| attached(frame.clone(), selector, Duration::ZERO, None))
                .collect();
            while let Some((frame, found)) = glances.next().await {
                if found? {
                    return Ok(frame);
                }
            }
            drop(glances);
            let left = self.left();
            if left.is_zero() {
                return Err(self.not_found().into());
            }
            let tickets: Vec<u64> =
                frames.iter().map(|_| TICKETS.fetch_add(1, Ordering::Relaxed)).collect();
            let mut waits: FuturesUnordered<_> = frames
                .iter()
                .zip(&tickets)
                .map(|(frame, ticket)| attached(frame.clone(), selector, left, Some(*ticket)))
                .collect();
            let found = loop {
                tokio::select! {
                    next = waits.next() => match next {
                        Some((frame, Ok(true))) => break Some(frame),
                        Some((_, Ok(false))) => {}
                        Some((_, Err(error))) => return Err(error),
                        None => break None,
                    },
                    changed = changes.changed() => match changed {
                        // Another frame has come, or one of these shows another document.
                        Ok(()) if documents(&self.tab.frames()) != shown => break None,
                        Ok(()) => {}
                        Err(_) => return Err(Error::TabClosed),
                    },
                }
            };
            drop(waits);
            self.cancel(frames.iter().zip(&tickets));
            if let Some(frame) = found {
                return Ok(frame);
            }
        }
    }

    /// Tells frames that were asked in vain that nobody waits any more.
    fn cancel<'b>(&self, frames: impl Iterator<Item = (&'b Arc<Frame>, &'b u64)>) {
        for (frame, ticket) in frames {
            let (frame, request) = (frame.clone(), json!({ "ticket": ticket }));
            self.tab.tasks().spawn(async move {
                // A frame that cannot be told any more has forgotten by itself.
                drop(ask(&frame, "cancel", &request, Duration::ZERO).await);
            });
        }
    }

    pub(crate) fn refusal(&self, refused: Refused) -> Error {
        if refused.kind == "timeout" && refused.condition.as_deref() == Some("attached") {
            return self.not_found().into();
        }
        explain(refused, self.timeout).into()
    }

    fn not_found(&self) -> ElementError {
        let count = self.tab.frames().len();
        let frames = match count {
            1 => "the page".to_owned(),
            _ => format!("the page's {count} frames"),
        };
        ElementError::NotFound { selector: self.selector.to_owned(), frames, after: self.timeout }
    }
}

/// Which document each frame shows.
fn documents(frames: &[Arc<Frame>]) -> Vec<(String, String)> {
    frames.iter().map(|frame| (frame.id().to_owned(), frame.state().loader.clone())).collect()
}

/// Whether a selector matches something in a frame, waiting for it if there is time.
async fn attached(
    frame: Arc<Frame>,
    selector: &str,
    wait: Duration,
    ticket: Option<u64>,
) -> (Arc<Frame>, Result<bool>) {
    let request = json!({
        "selector": selector, "state": "attached", "timeout": milliseconds(wait), "ticket": ticket,
    });
    let asked = ask(&frame, "waitForState", &request, wait);
    let limit = if wait.is_zero() { GLANCE } else { wait.saturating_add(SLACK) };
    let found = match tokio::time::timeout(limit, asked).await {
        Ok(Ok(Ok(_))) => Ok(true),
        Ok(Ok(Err(refused))) => match refused.kind.as_str() {
            "timeout" | "cancelled" => Ok(false),
            _ => Err(explain(refused, wait).into()),
        },
        // A frame that hangs or goes away does not have it; the page as a whole may go on.
        Ok(Err(Error::BrowserGone { why })) => Err(Error::BrowserGone { why }),
        Ok(Err(Error::TabCrashed { why })) => Err(Error::TabCrashed { why }),
        Ok(Err(Error::TabClosed)) => Err(Error::TabClosed),
        Ok(Err(_)) | Err(_) => Ok(false),
    };
    (frame, found)
}

/// A refusal as an error.
pub(crate) fn explain(refused: Refused, after: Duration) -> ElementError {
    let Refused { kind, message, condition } = refused;
    match kind.as_str() {
        "selector" => ElementError::Selector { message },
        "timeout" => {
            let condition = match condition.as_deref() {
                Some("receives events") => "able to receive pointer events".to_owned(),
                Some("option") => "one with that option".to_owned(),
                Some(other) => other.to_owned(),
                None => "ready".to_owned(),
            };
            ElementError::NotActionable { condition, message, after }
        }
        _ => ElementError::Unsuitable { message },
    }
}

/// A duration as the engine takes it.
pub(crate) fn milliseconds(duration: Duration) -> Value {
    Value::from(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2))
}
