//! Windows: programs with pages of their own, each started on the first visit and again when it died; and the apps that
//! users run on ports.

mod code_server;
mod internal;
mod lab;
mod ports;
mod preview;
mod resident;

pub use code_server::{CodeServer, CodeServerSettings};
pub use internal::InternalPorts;
pub use lab::Lab;
pub use ports::Ports;
pub use preview::Previews;
pub use resident::{ResidentState, Standing};
