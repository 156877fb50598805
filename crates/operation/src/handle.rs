//! The traits: what an operation is, and what a service must do to carry it out.

use std::future::Future;

use futures::stream::BoxStream;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::Error;
use crate::spec::Spec;

/// A question with one answer. The implementing type is the input.
pub trait Operation: DeserializeOwned + Serialize + JsonSchema + Send + 'static {
    /// The answer.
    type Output: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// How it is addressed.
    const SPEC: Spec;
}

/// Carries out an operation.
pub trait Handle<O: Operation>: Send + Sync + 'static {
    /// Carries it out once. Dropping the future means that the caller went away.
    fn handle(
        &self,
        cx: &Context,
        input: O,
    ) -> impl Future<Output = Result<O::Output, Error>> + Send;
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What happened: `output`, `completed`, …
    pub name: &'static str,
    /// Where the reader stands after this event; handed back to resume.
    pub id: Option<String>,
    /// The event's body.
    pub data: Value,
}

/// A stream of events.
pub type Stream = BoxStream<'static, Event>;

/// Carries out an operation as a stream of events, for callers that ask for one.
pub trait Streaming<O: Operation>: Send + Sync + 'static {
    /// Starts the stream. Errors before the first event are ordinary errors.
    fn stream(&self, cx: &Context, input: O) -> impl Future<Output = Result<Stream, Error>> + Send;
}

/// Messages both ways. The implementing type is the input that opens it.
pub trait Conversation: DeserializeOwned + Serialize + JsonSchema + Send + 'static {
    /// A message from the caller.
    type Up: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// A message to the caller.
    type Down: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// How it is addressed.
    const SPEC: Spec;
}

/// Holds a conversation.
pub trait Converse<C: Conversation>: Send + Sync + 'static {
    /// Opens it. `up` yields the caller's messages (`Err` holds what was wrong with a message that could not be
    /// read) and ends when the caller leaves; the conversation is over when the returned stream ends. The returned
    /// stream may be polled slowly or not at all: messages in `up` must be served all the same.
    fn converse(
        &self,
        cx: &Context,
        input: C,
        up: BoxStream<'static, Result<C::Up, String>>,
    ) -> impl Future<Output = Result<BoxStream<'static, C::Down>, Error>> + Send;
}
