//! The REST face: routes, envelopes, streams, WebSockets, documents and pages, all from the operation registry.
//!
//! This crate carries out nothing itself and knows no capability. What reads like a rule of the product — names,
//! limits, errors — comes from the contract; what reads like a habit of one client family is in [`dialect`].

mod activity;
mod admission;
mod arrival;
mod assets;
mod credential;
mod dashboard;
mod desk;
mod devtools;
mod dialect;
mod endpoint;
mod face;
mod guard;
mod listen;
mod metrics;
mod mount;
mod origin;
mod pages;
mod passage;
mod preview;
mod pulse;
mod request;
mod serve;
mod settings;
mod sse;
mod swagger;
mod transfer;
mod viewer;
mod vnc;
mod websocket;
mod window;

pub use desk::bind;
pub use dialect::aio::openapi;
pub use dialect::other_routes;
pub use listen::{BoundAddress, Listen};
pub use mount::{Mount, MountBody};
pub use serve::serve;
pub use settings::{Gauge, Settings};
