//! Windows on other servers: a path below which every request is passed on to a program of the sandbox.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::Error;
use crate::spec::Spec;

/// A path below which another server answers. The implementing type is its input: what the path's parameters say.
pub trait Window: DeserializeOwned + Serialize + JsonSchema + Send + 'static {
    /// How it is addressed: the path without what comes below it.
    const SPEC: Spec;
}

/// Knows the server behind a window.
pub trait Open<W: Window>: Send + Sync + 'static {
    /// Says where the server is, once it answers: it may have to be started for this request.
    fn open(&self, cx: &Context, input: W) -> impl Future<Output = Result<Upstream, Error>> + Send;
}

/// A server behind a window. Where nothing else is said it is asked for the path as it came, and knows that as its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// It listens on a unix socket.
    Unix(PathBuf),
    /// It listens on a TCP address.
    Tcp(SocketAddr),
    /// A browser's DevTools, whose addresses are told as ours.
    DevTools(SocketAddr),
    /// It listens on a unix socket and knows nothing of the window's path, which is taken off.
    Below(PathBuf),
    /// An app that the sandbox's user runs on this port of the machine.
    App {
        /// The port.
        port: u16,
        /// Whether it knows nothing of the window's path, which is taken off then.
        strip: bool,
    },
    /// A desktop that speaks RFB on a unix socket; viewers come with WebSockets.
    Rfb(PathBuf),
}
