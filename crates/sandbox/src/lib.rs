//! What a sandbox can do. Each module implements one group of operations; no module calls another, none knows HTTP.

pub mod bash;
pub mod browser;
pub mod code;
pub mod convert;
pub mod desktop;
pub mod egress;
pub mod environment;
pub mod file;
pub mod foundation;
pub mod hook;
pub mod observe;
pub mod programs;
pub mod sandbox;
pub mod service;
pub mod shell;
pub mod skill;
pub mod system;
pub mod web;
pub mod window;

mod clock;
mod session;

pub use environment::Environment;
pub use foundation::Foundation;
pub use programs::Programs;
pub use sandbox::{Choices, Sandbox};
