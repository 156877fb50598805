//! What a capability may know about the call it serves, whatever face it came through.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The circumstances of one call. Cheap to clone.
#[derive(Clone, Default)]
pub struct Context(Arc<Inner>);

/// Says whether a scope is granted.
type Permits = Arc<dyn Fn(&str) -> bool + Send + Sync>;

#[derive(Default)]
struct Inner {
    request_id: String,
    face: &'static str,
    origin: String,
    query: String,
    resume_after: Option<String>,
    caller: Option<Arc<dyn Any + Send + Sync>>,
    permits: Option<Permits>,
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

    /// Sets the face the call came through: `rest`, `mcp`, ….
    #[must_use]
    pub fn through(self, face: &'static str) -> Self {
        self.rebuild(|inner| inner.face = face)
    }

    /// The face the call came through; empty when nobody said.
    pub fn face(&self) -> &'static str {
        self.0.face
    }

    /// Sets the id of the last event the caller saw of a stream it resumes.
    #[must_use]
    pub fn resuming_after(self, event_id: Option<String>) -> Self {
        self.rebuild(|inner| inner.resume_after = event_id)
    }

    /// Sets what the caller may do, asked with an operation's scope. For faces behind which one request may call several
    /// operations; where nothing is set everything is allowed.
    #[must_use]
    pub fn permitting(self, permits: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.rebuild(|inner| inner.permits = Some(Arc::new(permits)))
    }

    /// Whether the caller may do what needs this scope.
    pub fn permits(&self, scope: &str) -> bool {
        self.0.permits.as_ref().is_none_or(|permits| permits(scope))
    }

    /// Says who calls, in the terms of the face that let them in.
    #[must_use]
    pub fn called_by(self, caller: Arc<dyn Any + Send + Sync>) -> Self {
        self.rebuild(|inner| inner.caller = Some(caller))
    }

    /// Who calls, for operations that belong to the face that let them in.
    pub fn caller<T: Any>(&self) -> Option<&T> {
        self.0.caller.as_deref().and_then(|caller| caller.downcast_ref())
    }

    fn rebuild(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Inner {
            request_id: self.0.request_id.clone(),
            face: self.0.face,
            origin: self.0.origin.clone(),
            query: self.0.query.clone(),
            resume_after: self.0.resume_after.clone(),
            caller: self.0.caller.clone(),
            permits: self.0.permits.clone(),
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

    #[test]
    fn the_caller_is_known_to_those_who_know_its_type() {
        let cx = Context::new("r").called_by(Arc::new(7_u8)).reached_at("http://h", "");
        assert_eq!(cx.caller::<u8>(), Some(&7));
        assert_eq!(cx.caller::<u16>(), None);
        assert_eq!(Context::new("r").caller::<u8>(), None);
    }
}
