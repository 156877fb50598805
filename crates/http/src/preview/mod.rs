//! Previews: the apps that run in the sandbox, shown through this server.
//!
//! An app is named by its port: in the path (`/proxy/{port}/…`, `/absproxy/{port}/…`, or `/app/…` for the one the operator
//! chose), in the host (`{port}-{name}`), or in a header that a gateway sets. Everything else — who may come, which ports
//! are not for others — is decided before a request comes here. What is done here is only what a page needs so that it
//! does not notice where it is: paths taken off and put back, and a friendly page while nobody listens.

mod absent;
mod knowing;
mod named;
mod pass;
mod place;
mod rewrite;

pub(crate) use knowing::Knowing;
pub(crate) use named::{Named, named_port};
pub(crate) use pass::{App, Visiting, below, lead_on, pass};
pub(crate) use place::Place;

/// The operation that stands for apps which are named beside the path: they know the path as their own.
pub(crate) const BESIDE_THE_PATH: &str = "preview_absproxy";
/// What a caller of an app may do.
pub(crate) const SCOPE: &str = "preview:write";
/// Paths below which apps are shown.
pub(crate) const PATHS: [&str; 3] = ["/proxy/", "/absproxy/", "/app/"];
