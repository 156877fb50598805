//! The log: to standard error always, and to a file when a directory is given. Our own messages from the chosen level
//! on; of the libraries below only warnings.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::config::{Config, LogFormat, LogLevel};

const FILE_NAME: &str = "atoll.log";
/// At this size the file is set aside as `atoll.log.1`, so that the log never takes more than twice as much.
const FILE_BYTES: u64 = 64 << 20;

/// Starts the log of this process.
pub(crate) fn start(config: &Config) -> io::Result<()> {
    let filter = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("atoll", level(config.log_level));
    let mut layers = vec![form(config.log_format, io::stderr)];
    if let Some(directory) = &config.log_dir {
        let file = LogFile::open(directory, FILE_BYTES)?;
        layers.push(form(config.log_format, SharedFile(Arc::new(Mutex::new(file)))));
    }
    tracing_subscriber::registry().with(layers.with_filter(filter)).init();
    // A panic in a task is caught and answered as an internal error; the log must show it in its own form.
    std::panic::set_hook(Box::new(|panic| tracing::error!(target: "atoll", %panic, "panicked")));
    Ok(())
}

fn level(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

fn form<W>(format: LogFormat, writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Text => layer.with_ansi(false).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    }
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    largest: u64,
}

impl LogFile {
    fn open(directory: &Path, largest: u64) -> io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let path = directory.join(FILE_NAME);
        let file = append(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size, largest })
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl Write for LogFile {
    /// Writes one message; messages arrive whole.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        if self.size >= self.largest {
            std::fs::rename(&self.path, self.path.with_extension("log.1"))?;
            self.file = append(&self.path)?;
            self.size = 0;
        }
        let written = self.file.write(message)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[derive(Debug, Clone)]
struct SharedFile(Arc<Mutex<LogFile>>);

struct Held<'a>(MutexGuard<'a, LogFile>);

impl<'a> MakeWriter<'a> for SharedFile {
    type Writer = Held<'a>;

    fn make_writer(&'a self) -> Held<'a> {
        Held(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Held<'_> {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        self.0.write(message)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_file_grows_to_its_bound_and_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        let mut file = LogFile::open(directory.path(), 10).unwrap();
        for message in ["first message\n", "second message\n", "third\n"] {
            file.write_all(message.as_bytes()).unwrap();
        }
        assert_eq!(read("atoll.log.1"), "second message\n");
        assert_eq!(read("atoll.log"), "third\n");
        drop(file);
        let mut again = LogFile::open(directory.path(), 100).unwrap();
        again.write_all(b"fourth\n").unwrap();
        assert_eq!(read("atoll.log"), "third\nfourth\n");
    }
}
