//! The program: where it is, how it is started, how it ends.

mod find;
mod flags;
mod launch;
mod policy;

pub use find::is_installed;
pub(crate) use find::program_on_path;
pub(crate) use launch::Chromium;
pub use launch::Endpoint;
pub use policy::PolicyChange;
