//! The way out of the sandbox: a forward proxy on this machine that a browser and every program can use, and the same
//! decisions for this program's own connections.
//!
//! [`Egress`] knows what was chosen — mappings of hosts to other addresses, who meets the proxy behind this one and who
//! does not, what may be reached at all — and all of it can be changed while connections are open. [`Egress::listen`]
//! opens one port that speaks HTTP (tunnels and plain requests) and SOCKS5; [`Egress::connect`] gives a part of this
//! program a connection that went the same way.
//!
//! A name is resolved here, each of its addresses is judged, and the connection goes to exactly an address that was
//! judged. Nothing here knows operations, and nothing shows a password.

mod activity;
mod changes;
mod dial;
mod egress;
mod error;
mod forward;
mod handshake;
mod headers;
mod host;
mod http;
mod inquiry;
mod limits;
mod listener;
mod mapping;
mod pac;
mod policy;
mod refusals;
mod rule;
mod setup;
mod socks;
mod tunnel;
mod upstream;

pub use changes::ChangeError;
pub use egress::{Egress, Means, OwnPorts, WeakEgress};
pub use error::{DialError, Refusal, Way};
pub use host::Host;
pub use inquiry::{Diagnosis, Health, UrlError};
pub use limits::Limits;
pub use mapping::{Mapping, MappingError};
pub use policy::Policy;
pub use rule::{Rule, RuleError};
pub use setup::Setup;
pub use upstream::{Credentials, MASK, Protocol, RunCommand, Upstream, UpstreamError};
