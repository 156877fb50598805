//! One conversation over the connection: with the browser itself, a page, a frame of another site, or a worker.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::connection::{Inner, Waiting};
use crate::error::CdpError;
use crate::event::{Subscribers, Subscription};

/// How long the browser may take for a command whose sender sets no time of its own.
const ANSWER: Duration = Duration::from_secs(30);

/// A conversation. Clones share it.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) connection: Arc<Inner>,
    pub(crate) id: Arc<str>,
}

/// An answer under way. Dropping it forgets the answer, not the command.
#[derive(Debug)]
pub struct Reply {
    method: String,
    answer: oneshot::Receiver<Result<Value, CdpError>>,
    _waiting: Waiting,
}

impl Session {
    /// The browser's name for it; empty for the browser itself.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends a command and waits for its answer.
    pub async fn command(&self, method: &str, params: Value) -> Result<Value, CdpError> {
        self.command_within(method, params, ANSWER).await
    }

    /// The same, with this much time.
    pub async fn command_within(
        &self,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Result<Value, CdpError> {
        self.start(method, params)?.within(within).await
    }

    /// Sends a command now; its answer can be waited for later. Commands are carried out in the order they were
    /// started, so several can be under way at once.
    pub fn start(&self, method: &str, params: Value) -> Result<Reply, CdpError> {
        let (waiting, answer) = self.connection.send(&self.id, method, params)?;
        Ok(Reply { method: method.to_owned(), answer, _waiting: waiting })
    }

    /// Events of this session with these names, from now on.
    pub fn subscribe(&self, methods: &[&str]) -> Subscription {
        Subscribers::add(&self.connection.subscribers, Some(self.id.clone()), methods)
    }
}

impl Reply {
    /// Waits for the answer.
    pub async fn answer(self) -> Result<Value, CdpError> {
        self.within(ANSWER).await
    }

    /// Waits this long for the answer.
    pub async fn within(self, within: Duration) -> Result<Value, CdpError> {
        match tokio::time::timeout(within, self.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CdpError::Closed { why: "the connection was given up".to_owned() }),
            Err(_) => Err(CdpError::Timeout { method: self.method, after: within }),
        }
    }
}
