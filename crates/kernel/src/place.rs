//! Where one kernel's sockets and its connection file lie: a directory no other user can enter, gone with the kernel.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::json;

/// Longest path a Unix socket can have.
const LONGEST_SOCKET: usize = 107;

/// A kernel's sockets, by the numbers in its connection file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Socket {
    Shell = 1,
    Published = 2,
    Stdin = 3,
    Control = 4,
    Heartbeat = 5,
}

/// The directory. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// Makes the directory with a connection file that holds this key.
    pub(crate) fn create(parent: &Path, kernel: &str, key: &str) -> io::Result<Self> {
        let unique = uuid::Uuid::new_v4().simple().to_string();
        let path = parent.join(format!("k{}", unique.get(..10).unwrap_or(&unique)));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        let place = Self(path);
        if place.socket(Socket::Shell).as_os_str().len() > LONGEST_SOCKET {
            let message = format!("{} is too long a path for sockets", parent.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let connection = json!({
            "transport": "ipc",
            "ip": place.base(),
            "shell_port": Socket::Shell as u8,
            "iopub_port": Socket::Published as u8,
            "stdin_port": Socket::Stdin as u8,
            "control_port": Socket::Control as u8,
            "hb_port": Socket::Heartbeat as u8,
            "signature_scheme": "hmac-sha256",
            "key": key,
            "kernel_name": kernel,
        });
        std::fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(place.connection_file())?
            .write_all(connection.to_string().as_bytes())?;
        Ok(place)
    }

    pub(crate) fn connection_file(&self) -> PathBuf {
        self.0.join("kernel.json")
    }

    /// Where the kernel binds a socket: Jupyter joins base and number with a hyphen.
    pub(crate) fn socket(&self, socket: Socket) -> PathBuf {
        let mut path = self.base().into_os_string();
        path.push(format!("-{}", socket as u8));
        PathBuf::from(path)
    }

    fn base(&self) -> PathBuf {
        self.0.join("s")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "a kernel's directory stays behind");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn nobody_else_can_enter_it_and_it_goes_with_the_kernel() {
        let parent = tempfile::tempdir().unwrap();
        let place = Place::create(parent.path(), "python3", "secret").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.0), 0o700);
        assert_eq!(mode(&place.connection_file()), 0o600);
        assert!(place.socket(Socket::Control).ends_with("s-4"));
        drop(place);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_too_deep_for_sockets_is_refused_and_left_clean() {
        let parent = tempfile::tempdir().unwrap();
        let deep = parent.path().join("d".repeat(100));
        std::fs::create_dir(&deep).unwrap();
        let error = Place::create(&deep, "python3", "secret").unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
        assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 0);
    }
}
