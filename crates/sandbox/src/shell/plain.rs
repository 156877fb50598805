//! Terminals without sessions, as deep-agent's page knows them: each socket has a shell of its own, which ends with it.
//!
//! The shell is an ordinary session in every other way, so a person sees it in the list and agents can look at it.

use std::sync::Arc;

use atoll_api::shell::{AttachShell, CreateShell, TerminalInput, TerminalOutput};
use atoll_api::terminal::{
    OpenPageTerminal, OpenTerminal, PlainTerminalInput, PlainTerminalOutput,
};
use atoll_operation::{Context, Converse, Error};
use futures::StreamExt;
use futures::stream::BoxStream;

use super::service::Shells;
use super::session::Session;
use crate::session::Entry;

type Up = BoxStream<'static, Result<PlainTerminalInput, String>>;
type Down = BoxStream<'static, PlainTerminalOutput>;

impl Converse<OpenTerminal> for Shells {
    async fn converse(&self, cx: &Context, _: OpenTerminal, up: Up) -> Result<Down, Error> {
        self.open_plain(cx, up).await
    }
}

impl Converse<OpenPageTerminal> for Shells {
    async fn converse(&self, cx: &Context, _: OpenPageTerminal, up: Up) -> Result<Down, Error> {
        self.open_plain(cx, up).await
    }
}

/// A session that ends with its socket.
struct Lent {
    shells: Shells,
    entry: Arc<Entry<Session>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.shells.table.remove(&self.entry.id, "was closed with its socket");
        let entry = Arc::clone(&self.entry);
        self.shells.programs.tasks().spawn(async move { entry.session.terminal().close().await });
    }
}

impl Shells {
    async fn open_plain(&self, cx: &Context, up: Up) -> Result<Down, Error> {
        let entry = self.make(&CreateShell::default()).await?;
        let lent = Lent { shells: self.clone(), entry };
        let input = AttachShell { session_id: Some(lent.entry.id.clone()), offset: Some(0) };
        let up = up.map(|message| message.map(rich)).boxed();
        let down = Converse::<AttachShell>::converse(self, cx, input, up).await?;
        let down = down.filter_map(move |message| {
            // Held until the stream is dropped, which is when the socket has gone.
            let _lent = &lent;
            std::future::ready(plain(message))
        });
        Ok(down.boxed())
    }
}

fn rich(message: PlainTerminalInput) -> TerminalInput {
    match message {
        PlainTerminalInput::Input { data } => TerminalInput::Input { data },
        PlainTerminalInput::Resize { data } => TerminalInput::Resize { data },
        PlainTerminalInput::Ping {} => TerminalInput::Ping { timestamp: None },
    }
}

/// The same message as these clients know it, if they know it.
fn plain(message: TerminalOutput) -> Option<PlainTerminalOutput> {
    match message {
        TerminalOutput::Output { data, .. } => Some(PlainTerminalOutput::Output { data }),
        TerminalOutput::Pong { .. } => Some(PlainTerminalOutput::Pong {}),
        TerminalOutput::Error { data } => Some(PlainTerminalOutput::Error { data }),
        TerminalOutput::SessionId { .. }
        | TerminalOutput::Ready { .. }
        | TerminalOutput::Ping { .. } => None,
    }
}
