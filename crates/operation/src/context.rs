//! What a capability may know about the call it serves, whatever face it came through.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The circumstances of one call. Cheap to clone.
#[derive(Clone, Default)]
pub struct Context(Arc<Inner>);

#[derive(Default)]
struct Inner {
    request_id: String,
    origin: String,
    query: String,
    resume_after: Option<String>,
    hint: Mutex<Option<String>>,
}

impl Context {
    /// A context for one call.
    pub fn new(request_id: impl Into<String>) -> Self {
        Self(Arc::new(Inner { request_id: request_id.into(), ..Inner::default() }))
    }

    /// Sets the address by which the caller reaches this server: `origin` without a trailing slash (it may carry a
    /// path prefix) and the query its links must keep, without `?`.
    #[must_use]
    pub fn reached_at(self, origin: impl Into<String>, query: impl Into<String>) -> Self {
        self.rebuild(|inner| {
            inner.origin = origin.into();
            inner.query = query.into();
        })
    }

    /// Sets the id of the last event the caller saw of a stream it resumes.
    #[must_use]
    pub fn resuming_after(self, event_id: Option<String>) -> Self {
        self.rebuild(|inner| inner.resume_after = event_id)
    }

    fn rebuild(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Inner {
            request_id: self.0.request_id.clone(),
            origin: self.0.origin.clone(),
            query: self.0.query.clone(),
            resume_after: self.0.resume_after.clone(),
            hint: Mutex::new(self.take_hint()),
        };
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// The id under which this call is logged.
    pub fn request_id(&self) -> &str {
        &self.0.request_id
    }

    /// An absolute link to a page of this server, as the caller would reach it.
    pub fn link(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let mut link = format!("{}{path}", self.0.origin);
        let own = parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let kept = Some(self.0.query.clone()).filter(|query| !query.is_empty());
        for (position, part) in own.chain(kept).enumerate() {
            link.push(if position == 0 { '?' } else { '&' });
            link.push_str(&part);
        }
        link
    }

    /// The id of the last event the caller saw, when it resumes a stream.
    pub fn resume_after(&self) -> Option<&str> {
        self.0.resume_after.as_deref()
    }

    /// Leaves advice for the agent beside the result.
    pub fn hint(&self, hint: impl Into<String>) {
        *self.0.hint.lock().unwrap_or_else(PoisonError::into_inner) = Some(hint.into());
    }

    /// The advice left, for the face that writes the answer.
    pub fn take_hint(&self) -> Option<String> {
        self.0.hint.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("request_id", &self.0.request_id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_the_prefix_and_keep_the_callers_query() {
        let cx = Context::new("r").reached_at("https://host/box", "ticket=t");
        assert_eq!(
            cx.link("/terminal", &[("session_id", "s")]),
            "https://host/box/terminal?session_id=s&ticket=t"
        );
        assert_eq!(Context::new("r").reached_at("http://h", "").link("/x", &[]), "http://h/x");
    }
}
