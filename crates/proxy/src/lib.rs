//! A reverse proxy for HTTP/1.1: passes one request on to another server and its answer back, WebSockets included.
//!
//! Bodies stream both ways at the pace of the slower side. Headers that concern one connection only are taken off, as
//! RFC 9110 asks; everything else passes as it came. Connections to the other server are kept and reused. What the
//! request's path and `Host` shall be is the caller's decision, made before it hands the request over.

mod connect;
mod forward;
mod headers;
mod line;
mod pool;

pub use connect::Address;
pub use forward::{Forwarded, Proxy, ProxyError, Switch};
pub use line::{Carried, Payload};
