//! The MCP face: the sandbox's operations as tools for models, and a hub for the tools of other MCP servers.
//!
//! Tools are made from the operation registry; what clients of other systems call by other names is translated in
//! [`catalogue`], nowhere else. The protocol itself is rmcp's, which no other crate of ours names; in front of it
//! [`transport`] forgives what real clients leave out. [`hub`] keeps other servers. Nothing here carries out anything of
//! its own: every call ends in an operation or in another server.

mod bridge;
mod calls;
mod catalogue;
mod conformance;
mod hub;
mod notices;
mod reply;
mod resources;
mod rest;
mod server;
mod skills;
mod transport;

use std::fmt;
use std::sync::{Arc, OnceLock};

use atoll_api::mcp::{CallMcpTool, ListMcpServers, ListMcpTools};
use atoll_api::system::Limits;
use atoll_operation::{Bound, Registry};
use http::{Request, Response};
use tokio_util::sync::CancellationToken;

pub use bridge::{Bridge, BridgeError};
pub use hub::{HubSettings, ServerConfig, ServerConfigError, read_servers};
pub use transport::Body;

use catalogue::Catalogue;
use hub::Hub;
use notices::Notices;
use transport::Transport;

/// What the face is told at start.
#[derive(Debug)]
pub struct Settings {
    /// Version of the program.
    pub version: &'static str,
    /// The bounds to keep.
    pub limits: Arc<Limits>,
    /// Where files offered as resources lie.
    pub workspace: std::path::PathBuf,
    /// Other servers.
    pub hub: HubSettings,
    /// Offer what the official conformance suite asks for instead of the sandbox's tools.
    pub conformance: bool,
    /// Cancelled when the server begins to stop.
    pub stop: CancellationToken,
}

/// The MCP face.
#[derive(Clone)]
pub struct Mcp(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) version: &'static str,
    pub(crate) limits: Arc<Limits>,
    pub(crate) workspace: std::path::PathBuf,
    pub(crate) conformance: bool,
    operations: OnceLock<Vec<Arc<Bound>>>,
    /// Made when a client first asks for it.
    catalogue: OnceLock<Catalogue>,
    pub(crate) hub: Hub,
    pub(crate) notices: Notices,
    transport: OnceLock<Transport>,
    stop: CancellationToken,
}

impl Mcp {
    /// A face without tools yet; no other server is started. Needs a tokio runtime.
    pub fn new(settings: Settings) -> Self {
        let notices = Notices::default();
        Self(Arc::new(Shared {
            version: settings.version,
            limits: settings.limits,
            workspace: settings.workspace,
            conformance: settings.conformance,
            operations: OnceLock::new(),
            catalogue: OnceLock::new(),
            hub: Hub::new(settings.hub, notices.clone(), &settings.stop),
            notices,
            transport: OnceLock::new(),
            stop: settings.stop,
        }))
    }

    /// Binds the operations by which the tools are reached without MCP.
    pub fn bind(&self, registry: &mut Registry) {
        let service = Arc::new(self.clone());
        registry
            .bind::<ListMcpServers, _>(&service)
            .bind::<ListMcpTools, _>(&service)
            .bind::<CallMcpTool, _>(&service);
    }

    /// Offers tools for these operations, once everything is bound.
    pub fn offer(&self, registry: &Registry) {
        // A second offer would be a mistake in wiring; the first stands.
        let _first = self.0.operations.set(registry.iter().map(Arc::clone).collect());
    }

    /// Answers an HTTP request of the streamable HTTP transport.
    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let transport = self.0.transport.get_or_init(|| Transport::new(self, &self.0.stop));
        transport.answer(request).await
    }

    /// Has clients told that skills have come or gone.
    pub fn skills_changed(&self) {
        self.0.notices.skills_changed();
    }

    /// Sessions of clients that are open.
    pub async fn sessions(&self) -> usize {
        match self.0.transport.get() {
            Some(transport) => transport.sessions().await,
            None => 0,
        }
    }

    /// Ends the other servers with everything they started.
    pub async fn close(&self) {
        self.0.hub.close().await;
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        self.0.catalogue.get_or_init(|| {
            let operations = self.0.operations.get().cloned().unwrap_or_default();
            Catalogue::new(operations)
        })
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").finish_non_exhaustive()
    }
}
