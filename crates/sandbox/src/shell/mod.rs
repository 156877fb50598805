//! Shell: sessions that are one live bash in a terminal each. State persists; stdout and stderr are one stream.

mod attach;
mod exec;
mod follow;
mod keys;
mod plain;
mod service;
mod session;
mod view;

pub use service::Shells;
