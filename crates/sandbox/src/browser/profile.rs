//! Where the browser keeps what it remembers.
//!
//! A profile can serve one browser at a time. Servers that share a home directory are told apart by a lock: the first
//! has the profile in the home, which outlives it; the others make do with one of their own.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// A directory for a profile, ours until this is dropped.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) directory: PathBuf,
    _lock: Option<File>,
}

impl Profile {
    /// The profile of this home, or one in the runtime directory when another server uses it or it cannot be used.
    pub(super) fn choose(home: &Path, runtime_dir: &Path) -> Self {
        let lasting = home.join(".config/atoll/browser");
        match lock(&lasting) {
            Ok(lock) => Self { directory: lasting, _lock: Some(lock) },
            Err(error) => {
                let directory = runtime_dir.join("browser-profile");
                tracing::warn!(%error, profile = %lasting.display(), "the browser's profile cannot be used; what it remembers ends with this server");
                Self { directory, _lock: None }
            }
        }
    }
}

fn lock(directory: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(directory)?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("atoll.lock"))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_serves_one_server_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let runtime = tempfile::tempdir().unwrap();
        let first = Profile::choose(home.path(), runtime.path());
        assert!(first.directory.starts_with(home.path()));
        let second = Profile::choose(home.path(), runtime.path());
        assert!(second.directory.starts_with(runtime.path()));
        drop(first);
        assert!(Profile::choose(home.path(), runtime.path()).directory.starts_with(home.path()));
    }

    #[test]
    fn a_home_that_cannot_be_written_to_is_no_reason_to_fail() {
        let runtime = tempfile::tempdir().unwrap();
        let profile = Profile::choose(Path::new("/dev/null"), runtime.path());
        assert!(profile.directory.starts_with(runtime.path()));
    }
}
