//! Windows: programs with pages of their own, each started on the first visit and again when it died; and the apps that
//! users run on ports.

mod code_server;
mod host;
mod internal;
mod lab;
mod ports;
mod preview;
mod resident;

pub(crate) use code_server::CodeServer;
pub use code_server::CodeServerSettings;
pub(crate) use host::{Guest, Host};
pub use internal::InternalPorts;
pub(crate) use lab::Lab;
pub use ports::Ports;
pub use preview::Previews;
pub(crate) use resident::{ResidentState, Standing};
