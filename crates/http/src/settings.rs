//! What the program tells this face at start.

use std::fmt;
use std::sync::Arc;

use atoll_api::system::Limits;
use atoll_auth::{AuditLog, Authenticator};
use tokio::sync::oneshot;

use crate::listen::{BoundAddress, Listen};
use crate::mount::Mount;

/// How to serve.
#[derive(Debug)]
pub struct Settings {
    /// Where to listen.
    pub listen: Listen,
    /// Version of the program.
    pub version: &'static str,
    /// The bounds to keep.
    pub limits: Arc<Limits>,
    /// Host names besides loopback ones by which this server may be addressed: `name`, `name:port`, or `*` for any.
    pub allowed_hosts: Vec<String>,
    /// Origins of other web pages that may call this server: `https://name:port`, or `*` for any.
    pub allowed_origins: Vec<String>,
    /// Knows who may come in.
    pub authenticator: Arc<Authenticator>,
    /// Where every request is recorded, but for those anybody may send.
    pub audit: Option<Arc<AuditLog>>,
    /// Figures of the program for `/metrics`.
    pub gauges: Vec<Gauge>,
    /// Other faces, each below a path of its own.
    pub mounts: Vec<Mount>,
    /// Told where the server listens, once it does.
    pub ready: Option<oneshot::Sender<BoundAddress>>,
}

/// A figure that is read whenever metrics are asked for.
pub struct Gauge {
    /// Its Prometheus name.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// Reads it; must be quick.
    pub read: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauge").field("name", &self.name).finish_non_exhaustive()
    }
}
