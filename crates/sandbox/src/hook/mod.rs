//! Hooks: commands of the operator that run while the sandbox starts, and commands of operator and callers that run before
//! it ends; and the init scripts of an image.
//!
//! A hook is a program like any other: started through the spawner, with a built environment, bounded in time, and killed
//! with everything it started. What a start-up hook leaves running lives as long as the server.

mod operate;
mod run;
mod scripts;
mod service;
mod shutdown;

pub use service::{HookSettings, Hooks, ShutdownHook};
pub use shutdown::read_shutdown_hooks;
