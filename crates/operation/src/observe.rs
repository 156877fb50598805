//! Somebody who is told of every call, whatever face it came through. Nobody is by default, which costs nothing.
//!
//! Calls of operations that only look (`Spec::quiet`) and requests through windows are not told.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::context::Context;
use crate::error::Error;
use crate::handle::Event;
use crate::spec::Spec;

/// Is told of calls. Must be quick: it is asked in the middle of them.
pub trait Observer: Send + Sync + 'static {
    /// A call begins; the input has been checked. The number is handed back when it ends.
    fn began(&self, spec: &Spec, cx: &Context, input: &Value) -> u64;

    /// A call ended.
    fn ended(&self, call: u64, ending: Ending<'_>);
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending<'a> {
    /// With a result.
    Done,
    /// With an error of this code.
    Failed(&'a str),
    /// The caller went away before.
    Abandoned,
}

/// Where the observer is put, shared by all operations of a registry.
#[derive(Clone, Default)]
pub(crate) struct Observers(Arc<OnceLock<Arc<dyn Observer>>>);

impl Observers {
    /// Puts it there; the first one stays.
    pub(crate) fn set(&self, observer: Arc<dyn Observer>) {
        self.0.get_or_init(|| observer);
    }

    /// Tells of a call that begins.
    pub(crate) fn begin(&self, spec: &Spec, cx: &Context, input: &Value) -> Observed {
        let observer = self.0.get().filter(|_| !spec.quiet);
        Observed(observer.map(|observer| (Arc::clone(observer), observer.began(spec, cx, input))))
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers").field("set", &self.0.get().is_some()).finish()
    }
}

/// A call that somebody may be told of. Dropped before its end, it was abandoned.
pub(crate) struct Observed(Option<(Arc<dyn Observer>, u64)>);

impl Observed {
    pub(crate) fn end(mut self, ending: Ending<'_>) {
        self.tell(ending);
    }

    /// Ends with an outcome, and hands it on.
    pub(crate) fn end_with<T>(self, outcome: Result<T, Error>) -> Result<T, Error> {
        self.end(match &outcome {
            Ok(_) => Ending::Done,
            Err(error) => Ending::Failed(error.code()),
        });
        outcome
    }

    /// Goes on as long as what the outcome holds: a stream, a conversation. The callers of those leave when they have
    /// seen enough, which is a good end.
    pub(crate) fn lasts<T>(self, outcome: Result<T, Error>) -> Result<(T, Lasting), Error> {
        match outcome {
            Ok(value) => Ok((value, Lasting(self))),
            Err(error) => self.end_with(Err(error)),
        }
    }

    fn tell(&mut self, ending: Ending<'_>) {
        if let Some((observer, call)) = self.0.take() {
            observer.ended(call, ending);
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.tell(Ending::Abandoned);
    }
}

/// A call that goes on until it is dropped.
pub(crate) struct Lasting(Observed);

impl Lasting {
    /// Looks at an event of a stream, which may say how it ended.
    pub(crate) fn pass(&mut self, event: &Event) {
        if event.name == "error" {
            let code = event.data.get("error_code").and_then(Value::as_str);
            self.0.tell(Ending::Failed(code.unwrap_or("stream.failed")));
        } else if ["result", "completed"].contains(&event.name) {
            self.0.tell(Ending::Done);
        }
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        self.0.tell(Ending::Done);
    }
}

#[cfg(test)]
mod tests;
