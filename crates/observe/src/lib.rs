//! What a sandbox uses: processor time and memory of its control group, disks, processes, and what happened to them.
//!
//! Everything is read from the kernel's files, whichever version of control groups a machine has, or none. Nothing here
//! knows the API; nothing waits, so callers choose a thread where reading files is fine.

mod disk;
mod group;
mod journal;
mod process;
mod report;
mod sampler;

pub use disk::DiskReading;
pub use group::GroupReading;
pub use journal::{Event, Journal};
pub use process::ProcessRow;
pub use report::{Heading, Summary, write as write_report};
pub use sampler::{Sample, Sampler, Scope, Watch};
