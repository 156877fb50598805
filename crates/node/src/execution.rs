//! How code ended.

use std::path::PathBuf;

use atoll_process::Exit;

/// What became of code that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It did what it should.
    Ok,
    /// It threw, or ended its process with a code other than 0.
    Error,
    /// Its time was up.
    TimedOut,
    /// Nobody wanted it any more.
    Interrupted,
}

/// How code ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// What became of it.
    pub status: Status,
    /// Exit code of its process; of a session, what a process would have returned.
    pub exit_code: i32,
    /// Where the session is now, if it says.
    pub directory: Option<PathBuf>,
    /// How the process ended, if it did.
    pub exit: Option<Exit>,
}

/// What a shell reports of a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

impl Finish {
    /// The process ended: by itself, or because we ended it for this reason.
    pub(crate) fn ended(exit: Exit, reason: Option<Status>) -> Self {
        let exit_code = exit.shell_code();
        let by_itself = if exit_code == 0 { Status::Ok } else { Status::Error };
        Self { status: reason.unwrap_or(by_itself), exit_code, directory: None, exit: Some(exit) }
    }

    /// The code came to an end and its process lives.
    pub(crate) fn done(status: Status, directory: Option<PathBuf>) -> Self {
        let exit_code = match status {
            Status::Ok => 0,
            Status::Error => 1,
            Status::TimedOut | Status::Interrupted => INTERRUPTED,
        };
        Self { status, exit_code, directory, exit: None }
    }
}
