//! Why something cannot be watched, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Which list a pattern stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternList {
    /// What to leave out.
    Exclude,
    /// What to restrict to.
    Include,
}

/// A watch that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing at this path.
    #[error("{} does not exist; create it first, or wait for it", path.display())]
    Missing {
        /// What was to be watched.
        path: PathBuf,
    },
    /// It cannot be watched without permission to read it.
    #[error("{} cannot be watched: reading this directory is not permitted", path.display())]
    Denied {
        /// The directory that may not be read.
        path: PathBuf,
    },
    /// The path cannot name what is to be watched.
    #[error("{} cannot be watched: {reason}", path.display())]
    Path {
        /// What was to be watched.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A pattern cannot be understood.
    #[error("{pattern:?}: {reason}")]
    Pattern {
        /// Where it stands.
        list: PatternList,
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernel watches no more directories for this user.
    #[error(
        "the kernel watches at most {limit} directories for one user, and all are in use; leave out large directories, \
         stop other watchers, or raise the number: sysctl -w fs.inotify.max_user_watches={}",
        limit.saturating_mul(2)
    )]
    Directories {
        /// The number now.
        limit: u64,
    },
    /// The kernel has no more watchers for this user.
    #[error(
        "the kernel allows one user {limit} watchers, and all are in use, here or in other programs; stop some, or \
         raise the number: sysctl -w fs.inotify.max_user_instances={}",
        limit.saturating_mul(2)
    )]
    Instances {
        /// The number now.
        limit: u64,
    },
    /// The server may open no more files, or start no more threads.
    #[error(
        "the server cannot start another watcher: {0}; stop some, or raise its limits (ulimit -n, ulimit -u)"
    )]
    Resources(#[source] io::Error),
    /// Something else went wrong.
    #[error("{} cannot be watched: {source}", path.display())]
    System {
        /// What was to be watched.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// What it means that a directory on the way to `path`, or it itself, could not be watched.
    pub(crate) fn of(path: &Path, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::Missing { path },
            Errno::ACCESS | Errno::PERM => Self::Denied { path },
            Errno::NOSPC => Self::Directories { limit: limit("max_user_watches") },
            Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL => {
                Self::Path { path, reason: io::Error::from(errno).to_string() }
            }
            _ => Self::System { path, source: errno.into() },
        }
    }

    /// What it means that a file system call on `path` failed.
    pub(crate) fn from_io(path: &Path, error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => Self::of(path, errno),
            None if error.kind() == io::ErrorKind::InvalidInput => {
                Self::Path { path: path.to_owned(), reason: error.to_string() }
            }
            None => Self::System { path: path.to_owned(), source: error },
        }
    }

    /// What it means that there is no new inotify instance.
    pub(crate) fn of_instance(errno: Errno) -> Self {
        match errno {
            Errno::MFILE => Self::Instances { limit: limit("max_user_instances") },
            other => Self::Resources(other.into()),
        }
    }
}

/// One of the kernel's numbers for inotify; 0 when it is not to be read.
pub(crate) fn limit(name: &str) -> u64 {
    std::fs::read_to_string(Path::new("/proc/sys/fs/inotify").join(name))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_limits_are_named_with_their_number_and_the_cure() {
        let watches = Error::of(Path::new("/x"), Errno::NOSPC).to_string();
        assert!(watches.contains("sysctl -w fs.inotify.max_user_watches="), "{watches}");
        assert!(watches.contains(&limit("max_user_watches").to_string()), "{watches}");
        let instances = Error::of_instance(Errno::MFILE).to_string();
        assert!(instances.contains("sysctl -w fs.inotify.max_user_instances="), "{instances}");
        assert!(limit("max_user_watches") > 0 && limit("max_user_instances") > 0);
    }
}
