//! Files of any size over HTTP: forms and bare bodies in, whole files and parts of them out.
//!
//! Bytes pass through in pieces whatever their number; nothing here holds a whole file. What a download is sent as, and
//! whether at all, follows from HTTP's conditional and range requests, which services know nothing of.

mod ahead;
mod boundary;
mod condition;
mod date;
mod disposition;
mod download;
mod form;
mod upload;

pub(crate) mod sendfile;
pub(crate) mod siphon;
pub(crate) mod wire;

pub(crate) use date::days as civil_days;
pub(crate) use download::respond;
pub(crate) use upload::receive;
