//! What a tool may use while it runs: the operations, as far as its caller may call them, and a way to say how far it is.
//!
//! Owns what cancellation means. A call is cancelled by dropping it, which is not enough where it started a command: the
//! operation that ends the latest command of a call is remembered, and carried out when the call is dropped before it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atoll_api::mcp::CallMcpTool;
use atoll_operation::{Bound, Context, Error, Kind, Method, Operation, Source};
use futures::StreamExt;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

/// Bytes of a picture or document that a reply carries.
const FETCHED: usize = 32 << 20;
/// Characters of output in one notice of progress.
const NOTICE: usize = 2000;

/// Operations that start something which outlives their call, with the one that kills it and the field they share.
const KILLERS: &[(&str, &str, &str)] =
    &[("bash_exec", "bash_kill", "session_id"), ("shell_exec", "shell_kill", "id")];

/// The operations by their ids and by their routes.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    by_id: HashMap<&'static str, Arc<Bound>>,
    by_route: HashMap<(Method, &'static str), &'static str>,
}

impl Operations {
    pub(crate) fn new(operations: Vec<Arc<Bound>>) -> Self {
        let by_route = operations.iter().map(|bound| {
            let spec = bound.spec();
            ((spec.method, spec.path), spec.id)
        });
        let by_route = by_route.collect();
        let by_id = operations.into_iter().map(|bound| (bound.spec().id, bound)).collect();
        Self { by_id, by_route }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Arc<Bound>> {
        self.by_id.get(id)
    }

    /// The id of the operation at a route: for those whose route is fixed by others and whose id is ours.
    pub(crate) fn at(&self, method: Method, path: &'static str) -> Option<&'static str> {
        self.by_route.get(&(method, path)).copied()
    }
}

/// A caller's way to the operations during one call. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Calls(Arc<Inner>);

struct Inner {
    operations: Arc<Operations>,
    cx: Context,
    /// The client's session, if it has one: its shell keeps directory and variables.
    session: Option<String>,
    progress: Option<Progress>,
    /// What ends the command that runs, if one does.
    running: Mutex<Option<Ending>>,
    /// What ends the session that was made for this call alone.
    made: Mutex<Option<Ending>>,
}

/// An operation that ends something, and its input.
type Ending = (&'static str, Value);

impl Drop for Inner {
    fn drop(&mut self) {
        let left = |ending: &mut Mutex<Option<Ending>>| {
            ending.get_mut().unwrap_or_else(PoisonError::into_inner).take()
        };
        let (running, made) = (left(&mut self.running), left(&mut self.made));
        let (Some((id, input)), Ok(runtime)) = (made.or(running), Handle::try_current()) else {
            return;
        };
        let Some(bound) = self.operations.get(id).cloned() else { return };
        let cx = self.cx.clone();
        runtime.spawn(async move {
            if let Err(error) = bound.call(cx, input).await {
                tracing::debug!(%error, "a cancelled command was not ended");
            }
        });
    }
}

/// Where notices of progress go.
pub(crate) struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    count: AtomicU64,
}

impl Progress {
    pub(crate) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token, count: AtomicU64::new(0) }
    }

    /// Tells the client how far it is. A client that has left is none the worse for it.
    pub(crate) async fn tell(&self, message: Option<String>, progress: Option<(f64, Option<f64>)>) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let (done, total) = progress.unwrap_or_else(|| {
            // Calls that tell more than four thousand million times have other problems.
            (f64::from(u32::try_from(count).unwrap_or(u32::MAX)), None)
        });
        let mut notice = ProgressNotificationParam::new(self.token.clone(), done);
        notice.total = total;
        notice.message = message;
        if let Err(error) = self.peer.notify_progress(notice).await {
            tracing::debug!(%error, "progress was not told");
        }
    }
}

impl Calls {
    pub(crate) fn new(
        operations: &Arc<Operations>,
        cx: Context,
        session: Option<String>,
        progress: Option<Progress>,
    ) -> Self {
        let operations = Arc::clone(operations);
        let (running, made) = Default::default();
        Self(Arc::new(Inner { operations, cx, session, progress, running, made }))
    }

    /// A session of commands that belongs to this client.
    pub(crate) fn session(&self) -> &str {
        self.0.session.as_deref().unwrap_or("mcp")
    }

    pub(crate) fn progress(&self) -> Option<&Progress> {
        self.0.progress.as_ref()
    }

    /// Advice that operations left beside their results.
    pub(crate) fn take_hint(&self) -> Option<String> {
        self.0.cx.take_hint()
    }

    /// Has a call of another server's tool told like any other.
    pub(crate) async fn of_member<T>(
        &self,
        server: &str,
        tool: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let input = json!({"server_name": server, "tool_name": tool});
        match self.0.operations.get(CallMcpTool::SPEC.id) {
            Some(bound) => bound.observed(&self.0.cx, &input, work).await,
            None => work.await,
        }
    }

    /// Carries out an operation. One that streams is followed while the client wants to know how far it is.
    pub(crate) async fn ask(&self, id: &str, input: Value) -> Result<Value, Error> {
        let bound = self.find(id)?;
        self.remember(id, &input);
        let outcome = match &self.0.progress {
            Some(progress) if bound.streams() => self.follow(bound, input, progress).await,
            _ => bound.call(self.0.cx.clone(), input).await,
        };
        *lock(&self.0.running) = None;
        outcome
    }

    /// Opens what an operation sends, and reads all of it.
    pub(crate) async fn fetch(&self, id: &str, input: Value) -> Result<(Vec<u8>, String), Error> {
        let bound = self.find(id)?;
        let content = bound.fetch(self.0.cx.clone(), input).await?;
        let too_large = || {
            let message = format!("the result is over {FETCHED} bytes; ask for a part of it");
            Error::new(Kind::TooLarge, "mcp.too_large", message)
        };
        let bytes = match content.source {
            Source::Bytes(bytes) if bytes.len() > FETCHED => return Err(too_large()),
            Source::Bytes(bytes) => bytes.to_vec(),
            Source::File(source) if source.length > FETCHED as u64 => return Err(too_large()),
            Source::File(source) => {
                let read = tokio::task::spawn_blocking(move || read_file(&source.file));
                let read = read.await.map_err(|error| Error::internal("reading failed", error))?;
                read.map_err(|error| Error::internal("the file could not be read", error))?
            }
            Source::Stream(mut stream) => {
                let mut bytes = Vec::new();
                while let Some(part) = stream.next().await {
                    let part = part.map_err(|error| Error::internal("it broke off", error))?;
                    if bytes.len() + part.len() > FETCHED {
                        return Err(too_large());
                    }
                    bytes.extend_from_slice(&part);
                }
                bytes
            }
        };
        Ok((bytes, content.media_type))
    }

    /// Carries out an operation in a session that is made for it alone, and ends the session with it: also when the call
    /// is dropped.
    pub(crate) async fn ask_alone(
        &self,
        id: &str,
        input: Value,
        (close, session): Ending,
    ) -> Result<Value, Error> {
        *lock(&self.0.made) = Some((close, session.clone()));
        let outcome = self.ask(id, input).await;
        // A session that never came to be is closed in vain.
        drop(self.ask(close, session).await);
        *lock(&self.0.made) = None;
        outcome
    }

    fn find(&self, id: &str) -> Result<&Arc<Bound>, Error> {
        let bound = self.0.operations.get(id).ok_or_else(|| {
            let message = format!("this sandbox cannot do that: {id} is not part of it");
            Error::new(Kind::Unsupported, "mcp.unsupported", message)
        })?;
        let scope = bound.spec().scope;
        if self.permits(scope) { Ok(bound) } else { Err(Self::refusal(scope)) }
    }

    /// Whether the caller may do what needs this scope.
    pub(crate) fn permits(&self, scope: &str) -> bool {
        self.0.cx.permits(scope)
    }

    /// What a caller without a scope is told.
    pub(crate) fn refusal(scope: &str) -> Error {
        let message = format!("this needs the scope {scope}, which the client's credential lacks");
        Error::new(Kind::PermissionDenied, "auth.scope", message)
    }

    fn remember(&self, id: &str, input: &Value) {
        let killer = KILLERS.iter().find(|(operation, ..)| *operation == id);
        if let Some((_, killer, field)) = killer
            && let Some(session) = input.get(field).filter(|session| session.is_string())
        {
            *lock(&self.0.running) = Some((killer, json!({ (*field): session })));
        }
    }

    async fn follow(
        &self,
        bound: &Bound,
        input: Value,
        progress: &Progress,
    ) -> Result<Value, Error> {
        let mut events = bound.stream(self.0.cx.clone(), input).await?;
        while let Some(event) = events.next().await {
            match event.name {
                "result" | "completed" => return Ok(event.data),
                "error" => return Err(told(&event.data)),
                _ => progress.tell(Some(notice(&event.data)), None).await,
            }
        }
        Err(Error::new(Kind::Unavailable, "mcp.broken_off", "it broke off without a result"))
    }
}

fn lock(ending: &Mutex<Option<Ending>>) -> MutexGuard<'_, Option<Ending>> {
    ending.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_file(mut file: &std::fs::File) -> std::io::Result<Vec<u8>> {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(FETCHED as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An error that came as an event.
fn told(data: &Value) -> Error {
    let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Error::new(Kind::Unavailable, text("error_code"), text("message"))
}

/// What an event says, for people.
fn notice(data: &Value) -> String {
    let said = ["text", "output", "data", "command", "message"]
        .iter()
        .find_map(|name| data.get(name).and_then(Value::as_str));
    let said = said.map_or_else(|| data.to_string(), str::to_owned);
    said.chars().take(NOTICE).collect()
}

/// An object of the fields that are given.
pub(crate) fn fields(list: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let given = list.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}
