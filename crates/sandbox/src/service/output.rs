//! Where a service's output goes: the log that is kept here, and the file or stream that its user named.
//!
//! A file is begun anew when it has grown to its bound, with as many old ones as were asked for kept beside it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atoll_process::Log;
use tokio::sync::Mutex;

use super::definition::Destination;

/// Bytes carried at once.
const CHUNK: usize = 64 << 10;

/// The way out of both streams.
#[derive(Debug, Clone)]
pub(super) struct Outlets {
    pub(super) stdout: Outlet,
    pub(super) stderr: Outlet,
}

impl Outlets {
    pub(super) fn new(stdout: &Destination, stderr: &Destination) -> Self {
        let stdout = Outlet::new(stdout);
        let stderr = match stderr {
            Destination::Together => stdout.clone(),
            other => Outlet::new(other),
        };
        Self { stdout, stderr }
    }
}

/// The way out of a stream beside the log. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Outlet(Option<Arc<Mutex<Sink>>>);

#[derive(Debug)]
enum Sink {
    Output,
    Errors,
    File(Rotating),
}

impl Outlet {
    fn new(destination: &Destination) -> Self {
        let sink = match destination {
            Destination::Nowhere | Destination::Together => None,
            Destination::ServerOutput => Some(Sink::Output),
            Destination::ServerErrors => Some(Sink::Errors),
            Destination::File { path, most_bytes, backups } => {
                Some(Sink::File(Rotating::new(path.clone(), *most_bytes, *backups)))
            }
        };
        Self(sink.map(|sink| Arc::new(Mutex::new(sink))))
    }

    async fn write(&self, bytes: Vec<u8>) {
        let Some(sink) = &self.0 else { return };
        let mut sink = Arc::clone(sink).lock_owned().await;
        // A disk may keep a writer waiting.
        let written = tokio::task::spawn_blocking(move || match &mut *sink {
            Sink::Output => io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush()),
            Sink::Errors => io::stderr().write_all(&bytes),
            Sink::File(file) => file.write(&bytes),
        });
        if let Ok(Err(error)) = written.await {
            tracing::debug!(%error, "output of a service could not be written");
        }
    }
}

/// Carries a stream of a program into the log of its service and to its outlet, until it ends.
pub(super) async fn carry(stream: Log, log: Log, outlet: Outlet) {
    let mut offset = 0;
    loop {
        stream.wait_past(offset).await;
        let chunk = stream.read(offset, CHUNK);
        if chunk.offset > offset {
            let lost = format!("[{} bytes were lost: too many at once]\n", chunk.offset - offset);
            log.append(lost.as_bytes());
        }
        offset = chunk.offset + chunk.bytes.len() as u64;
        if chunk.bytes.is_empty() {
            if chunk.progress.closed && offset >= chunk.progress.end {
                return;
            }
            continue;
        }
        log.append(&chunk.bytes);
        outlet.write(chunk.bytes).await;
    }
}

/// A file that is begun anew when it is full.
#[derive(Debug)]
struct Rotating {
    path: PathBuf,
    most_bytes: u64,
    backups: u32,
    open: Option<(File, u64)>,
    complained: bool,
}

impl Rotating {
    fn new(path: PathBuf, most_bytes: u64, backups: u32) -> Self {
        Self { path, most_bytes, backups, open: None, complained: false }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.try_write(bytes);
        match &written {
            Ok(()) => self.complained = false,
            Err(error) => {
                self.open = None;
                if !self.complained {
                    self.complained = true;
                    let path = self.path.display();
                    tracing::warn!(%path, %error, "a service's log file cannot be written");
                }
            }
        }
        written
    }

    fn try_write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (file, size) = match &mut self.open {
                Some(open) => open,
                None => self.open.insert(open(&self.path)?),
            };
            // 0 stands for no bound.
            let room = match self.most_bytes {
                0 => bytes.len(),
                most => usize::try_from(most.saturating_sub(*size)).unwrap_or(usize::MAX),
            };
            let (now, later) = bytes.split_at(split_point(bytes, room, *size == 0));
            file.write_all(now)?;
            *size += now.len() as u64;
            bytes = later;
            if !bytes.is_empty() {
                self.open = None;
                self.rotate()?;
            }
        }
        Ok(())
    }

    fn rotate(&self) -> io::Result<()> {
        let numbered = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        if self.backups == 0 {
            return std::fs::remove_file(&self.path);
        }
        for number in (1..self.backups).rev() {
            match std::fs::rename(numbered(number), numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, numbered(1))
    }
}

/// Where to cut so that as many whole lines as possible go before; within a line when not one fits a fresh file.
fn split_point(bytes: &[u8], room: usize, fresh: bool) -> usize {
    if bytes.len() <= room {
        return bytes.len();
    }
    let fitting = bytes.get(..room).unwrap_or_default();
    let whole = fitting.iter().rposition(|byte| *byte == b'\n').map(|position| position + 1);
    whole.unwrap_or(if fresh { room } else { 0 })
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let file = File::options().append(true).create(true).open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_begun_anew_and_old_ones_are_kept_up_to_a_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/web.log");
        let mut file = Rotating::new(path.clone(), 10, 2);
        for line in ["one\n", "two\n", "three\n", "four\n", "five\n", "six\n", "seven\n"] {
            file.write(line.as_bytes()).unwrap();
        }
        let read =
            |name: &str| std::fs::read_to_string(directory.path().join("logs").join(name)).unwrap();
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 3);
        for name in ["web.log", "web.log.1", "web.log.2"] {
            assert!(read(name).len() <= 10, "{name}");
        }
        assert!(read("web.log").ends_with("seven\n"));
        // What was there before is written on to.
        drop(file);
        let before = read("web.log");
        Rotating::new(path, 100, 2).write(b"more\n").unwrap();
        assert_eq!(read("web.log"), before + "more\n");
    }

    #[test]
    fn a_line_longer_than_the_file_may_be_is_cut_and_nothing_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut file = Rotating::new(path.clone(), 4, 9);
        file.write(b"0123456789\nab").unwrap();
        let mut all = String::new();
        for number in (0..10).rev() {
            let path =
                if number == 0 { path.clone() } else { path.with_extension(number.to_string()) };
            all += &std::fs::read_to_string(path).unwrap_or_default();
        }
        assert_eq!(all, "0123456789\nab");
    }

    #[test]
    fn without_backups_a_full_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut file = Rotating::new(path.clone(), 4, 0);
        file.write(b"one\ntwo\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let blocked = directory.path().join("log/below");
        assert!(Rotating::new(blocked, 0, 0).write(b"x").is_err());
    }
}
