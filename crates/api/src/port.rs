//! Ports: what listens in the sandbox, and where its pages can be seen.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[Declaration::of::<ListPorts>()];

/// List the TCP ports that programs listen on in this sandbox, with the address at which each can be seen from outside.
///
/// Asked for as a stream, an event `ports` brings the whole list now and whenever it changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListPorts {
    /// Whether the sandbox's own ports, which nobody is let in to, and those of Jupyter kernels are listed too.
    #[serde(default)]
    pub internal: bool,
}

impl Operation for ListPorts {
    type Output = PortList;
    const SPEC: Spec =
        Spec::get("ports_list", "/v1/ports", "preview:read").mcp(Mcp::ReadOnly).streaming().quiet();
}

/// What listens in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortList {
    /// The ports, in rising order.
    pub ports: Vec<ListeningPort>,
}

/// A port that a program listens on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListeningPort {
    /// The port.
    pub port: u16,
    /// The address it listens on: `0.0.0.0` and `::` mean every one.
    pub address: String,
    /// The process, where it can be seen whose the port is.
    pub pid: Option<i32>,
    /// Name of that process.
    pub process: Option<String>,
    /// Whether the port is the sandbox's own.
    pub internal: bool,
    /// Where the app on it can be seen; none for ports of the sandbox itself and of kernels, and where it cannot be reached.
    pub url: Option<String>,
}
