//! Processes: how they are started, watched, fed, read and ended without anything left behind.
//!
//! Three hard things are hidden here. [`Spawner`] starts programs through a helper process so that every descendant of
//! a command, double-forked or not, can be found and killed, and no exit code is ever stolen. [`Log`] keeps a stream's
//! bytes by exact offset in bounded memory. [`Terminal`] drives a live interactive bash in a PTY and tells for each
//! command where its output begins, where it ends and what it returned. This crate knows nothing of the API.

mod child;
mod command;
mod confinement;
mod descriptor;
mod footprint;
mod input;
mod log;
mod oom;
mod piped;
mod surroundings;
mod terminal;
mod text;

pub mod cgroup;
pub mod init;
pub mod spawner;

pub use cgroup::{Enforcement, machine_memory};
pub use child::{Child, Exit};
pub use command::{Command, SpawnError};
pub use confinement::Confinement;
pub use footprint::give_back_start;
pub use input::{Input, InputError};
pub use log::{Chunk, Log, LogSettings, Progress, SpillBudget, TextChunk};
pub use piped::{Piped, PipedSettings};
pub use spawner::Spawner;
pub use surroundings::Surroundings;
pub use terminal::{
    Job, JobState, Outcome, Submission, Terminal, TerminalError, TerminalSettings, Viewer,
    WindowSize, is_variable_name,
};
pub use text::{cut_middle, size};
