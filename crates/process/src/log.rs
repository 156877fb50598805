//! A stream's bytes by exact offset, in bounded memory.
//!
//! The latest part lies in memory, the rest in a file of its own, at the same offsets, up to a bound per stream and one
//! for all streams. Past a bound the oldest bytes are dropped, and a reader is told from where on bytes exist. Whoever
//! appends never waits for a reader; any number of readers follow, each at its own offset.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, fallocate};
use tokio::sync::watch;

use crate::text::complete_prefix;

/// Bytes kept in memory before they move to the file.
const MEMORY: usize = 256 << 10;

/// Disk space all streams share.
#[derive(Debug)]
pub struct SpillBudget {
    left: AtomicU64,
}

impl SpillBudget {
    /// A budget of this many bytes.
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(bytes) })
    }

    fn take(&self, bytes: u64) -> bool {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Where and how much a stream keeps.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// Directory for the file; private to the server.
    pub directory: PathBuf,
    /// Bytes of this stream kept.
    pub kept_bytes: u64,
    /// Shared disk space.
    pub budget: Arc<SpillBudget>,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes so far, which is the offset of the next one.
    pub end: u64,
    /// Whether no more will come.
    pub closed: bool,
}

/// Bytes read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the first byte: later than asked for when older bytes are no longer kept.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How far the stream had come.
    pub progress: Progress,
}

/// Text read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChunk {
    /// The text; bytes that are not UTF-8 show as U+FFFD.
    pub text: String,
    /// Offset to read on from.
    pub next: u64,
    /// Bytes before it that are no longer kept.
    pub skipped: u64,
    /// How far the stream had come.
    pub progress: Progress,
}

/// A stream. Clones share it.
#[derive(Debug, Clone)]
pub struct Log(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
    settings: LogSettings,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes from `memory_start` to the end.
    memory: Vec<u8>,
    memory_start: u64,
    /// First byte that is still kept; `memory_start` when no file holds any.
    first: u64,
    file: Option<(File, PathBuf)>,
}

impl Log {
    /// An empty stream.
    pub fn new(settings: LogSettings) -> Self {
        let (progress, _) = watch::channel(Progress::default());
        Self(Arc::new(Shared { state: Mutex::default(), progress, settings }))
    }

    /// Adds bytes and wakes the readers.
    pub fn append(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        {
            let mut state = self.state();
            state.memory.extend_from_slice(bytes);
            if state.memory.len() > MEMORY {
                // Half stays, so that a reader close to the end finds its bytes in memory.
                let count = state.memory.len() - MEMORY / 2;
                off_the_runtime(|| self.0.spill(&mut state, count));
            }
        }
        self.0.progress.send_modify(|progress| progress.end += bytes.len() as u64);
    }

    /// Says that no more will come.
    pub fn close(&self) {
        self.0.progress.send_modify(|progress| progress.closed = true);
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        *self.0.progress.borrow()
    }

    /// Follows how far it has come.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.0.progress.subscribe()
    }

    /// Waits until there is something past `offset`, or nothing more will come.
    pub async fn wait_past(&self, offset: u64) {
        // The sender lives as long as `self`.
        let mut watch = self.watch();
        let _sender_gone =
            watch.wait_for(|progress| progress.closed || progress.end > offset).await.map(|_| ());
    }

    /// Reads up to `max` bytes from `offset` on.
    pub fn read(&self, offset: u64, max: usize) -> Chunk {
        let progress = self.progress();
        let state = self.state();
        let offset = offset.clamp(state.first, progress.end.max(state.first));
        let length =
            usize::try_from(progress.end - offset.min(progress.end)).unwrap_or(usize::MAX).min(max);
        let mut bytes = Vec::with_capacity(length);
        if offset < state.memory_start {
            let in_file =
                usize::try_from(state.memory_start - offset).unwrap_or(usize::MAX).min(length);
            bytes.resize(in_file, 0);
            let read = state.file.as_ref().map(|(file, _)| file.read_exact_at(&mut bytes, offset));
            if !matches!(read, Some(Ok(()))) {
                // The disk failed us: what it held reads as nothing rather than as wrong bytes.
                bytes.clear();
                return Chunk { offset: state.memory_start, bytes, progress };
            }
        }
        let at = offset + bytes.len() as u64;
        let from = usize::try_from(at - state.memory_start.min(at)).unwrap_or(usize::MAX);
        let rest = state.memory.get(from..).unwrap_or_default();
        bytes.extend_from_slice(rest.get(..length - bytes.len()).unwrap_or(rest));
        Chunk { offset, bytes, progress }
    }

    /// Reads text from `offset` on. A character that is not complete yet is left for the next read, unless no more
    /// will come.
    pub fn read_text(&self, offset: u64, max: usize) -> TextChunk {
        let chunk = self.read(offset, max.max(4));
        let reached_end = chunk.offset + chunk.bytes.len() as u64 >= chunk.progress.end;
        let complete = if chunk.progress.closed && reached_end {
            chunk.bytes.len()
        } else {
            complete_prefix(&chunk.bytes)
        };
        let text =
            String::from_utf8_lossy(chunk.bytes.get(..complete).unwrap_or_default()).into_owned();
        TextChunk {
            text,
            next: chunk.offset + complete as u64,
            skipped: chunk.offset.saturating_sub(offset),
            progress: chunk.progress,
        }
    }

    /// Writes everything kept to the stream's file and names it. The file goes with the stream.
    pub fn materialise(&self) -> io::Result<PathBuf> {
        let mut state = self.state();
        let count = state.memory.len();
        off_the_runtime(|| self.0.spill(&mut state, count));
        match &state.file {
            Some((_, path)) if state.memory.is_empty() => Ok(path.clone()),
            Some(_) | None => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Moves the oldest `count` bytes of memory to the file, or drops them when no space is left for them.
    fn spill(&self, state: &mut State, count: usize) {
        let bytes = count as u64;
        self.make_room(state, bytes);
        let stored = self.settings.budget.take(bytes) && {
            let written = store(&self.settings.directory, state, count);
            if let Err(error) = &written {
                self.settings.budget.give_back(bytes);
                tracing::warn!(%error, "output could not be kept on disk");
            }
            written.is_ok()
        };
        state.memory.drain(..count);
        state.memory_start += bytes;
        if !stored {
            // What lay before is not contiguous any more.
            self.forget(state, state.memory_start);
        }
    }

    /// Drops the oldest bytes of the file so that `bytes` more stay within the stream's bound and the shared one.
    fn make_room(&self, state: &mut State, bytes: u64) {
        let on_disk = state.memory_start - state.first;
        let over_own = (on_disk + bytes).saturating_sub(self.settings.kept_bytes);
        let over_shared = bytes.saturating_sub(self.settings.budget.left.load(Ordering::Relaxed));
        let drop = over_own.max(over_shared).min(on_disk);
        if drop > 0 {
            self.forget(state, state.first + drop);
        }
    }

    /// Lets go of everything before `first`.
    fn forget(&self, state: &mut State, first: u64) {
        let bytes = first - state.first;
        let from_file = first.min(state.memory_start) - state.first;
        if let Some((file, _)) = &state.file {
            // Where holes are not supported the space is only given back with the stream.
            let _unsupported = fallocate(
                file,
                FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                state.first,
                bytes,
            );
            self.settings.budget.give_back(from_file);
        }
        state.first = first;
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, path)) = &state.file {
            let _already_gone = std::fs::remove_file(path);
            self.settings.budget.give_back(state.memory_start - state.first);
        }
    }
}

fn store(directory: &Path, state: &mut State, count: usize) -> io::Result<()> {
    if state.file.is_none() {
        let path = directory.join(format!("{}.log", uuid::Uuid::new_v4().simple()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        state.file = Some((file, path));
    }
    let start = state.memory_start;
    match &state.file {
        Some((file, _)) => file.write_all_at(state.memory.get(..count).unwrap_or_default(), start),
        None => Ok(()),
    }
}

/// Disk writes may wait; on a runtime with several threads the others go on meanwhile.
fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    let several_threads = tokio::runtime::Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread);
    if several_threads { tokio::task::block_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn log(directory: &Path, kept: u64, shared: u64) -> Log {
        Log::new(LogSettings {
            directory: directory.to_owned(),
            kept_bytes: kept,
            budget: SpillBudget::new(shared),
        })
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|position| u8::try_from(position % 251).unwrap()).collect()
    }

    /// Everything from an offset on, read in pieces.
    fn read_all(log: &Log, from: u64, piece: usize) -> (u64, Vec<u8>) {
        let first = log.read(from, piece);
        let (start, mut bytes) = (first.offset, first.bytes);
        loop {
            let chunk = log.read(start + bytes.len() as u64, piece);
            if chunk.bytes.is_empty() {
                return (start, bytes);
            }
            bytes.extend(chunk.bytes);
        }
    }

    #[test]
    fn bytes_past_memory_are_read_back_from_disk() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path(), 1 << 30, 1 << 30);
        let bytes = pattern(3_000_000);
        bytes.chunks(70_001).for_each(|chunk| log.append(chunk));
        assert!(log.state().memory.len() <= MEMORY);
        assert_eq!(read_all(&log, 0, 99_991), (0, bytes.clone()));
        assert_eq!(read_all(&log, 1_234_567, 77), (1_234_567, bytes[1_234_567..].to_vec()));
        assert_eq!(std::fs::read(log.materialise().unwrap()).unwrap(), bytes);
        log.append(b"more");
        assert_eq!(log.read(3_000_000, 10).bytes, b"more");
    }

    #[test]
    fn past_its_bound_a_stream_keeps_the_latest_and_says_from_where() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path(), 1 << 20, 1 << 30);
        let bytes = pattern(5_000_000);
        bytes.chunks(50_000).for_each(|chunk| log.append(chunk));
        let (start, kept) = read_all(&log, 0, 100_000);
        assert!(start >= 5_000_000 - (1 << 20) - MEMORY as u64 && start > 0, "{start}");
        assert_eq!(kept, bytes[usize::try_from(start).unwrap()..]);
        assert_eq!(log.read_text(0, 10).skipped, start);
    }

    #[test]
    fn streams_share_the_disk_and_give_it_back() {
        let directory = tempfile::tempdir().unwrap();
        let budget = SpillBudget::new(1 << 20);
        let settings = LogSettings {
            directory: directory.path().to_owned(),
            kept_bytes: 1 << 30,
            budget: Arc::clone(&budget),
        };
        let (first, second) = (Log::new(settings.clone()), Log::new(settings));
        first.append(&pattern(900_000));
        second.append(&pattern(900_000));
        let (start, kept) = read_all(&second, 0, 1 << 20);
        assert_eq!(start + kept.len() as u64, 900_000);
        drop((first, second));
        assert_eq!(budget.left.load(Ordering::Relaxed), 1 << 20);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_disk_that_takes_nothing_leaves_the_latest_bytes() {
        let log = log(Path::new("/nonexistent/directory"), 1 << 30, 1 << 30);
        let bytes = pattern(1_000_000);
        bytes.chunks(10_000).for_each(|chunk| log.append(chunk));
        let (start, kept) = read_all(&log, 0, 50_000);
        assert!(start > 0 && kept == bytes[usize::try_from(start).unwrap()..]);
        assert!(log.materialise().is_err());
    }

    #[tokio::test]
    async fn readers_wait_for_more_and_for_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path(), 1 << 20, 1 << 20);
        let reader = tokio::spawn({
            let log = log.clone();
            async move {
                log.wait_past(0).await;
                let first = log.read_text(0, 100);
                log.wait_past(first.progress.end).await;
                (first.text, log.progress().closed)
            }
        });
        log.append(b"text");
        tokio::task::yield_now().await;
        log.close();
        assert_eq!(reader.await.unwrap(), ("text".to_owned(), true));
    }

    proptest! {
        #[test]
        fn text_by_offset_is_the_same_at_every_split(
            text in "[a-zé€😀]{0,60}",
            writes in prop::collection::vec(1usize..7, 1..40),
            piece in 1usize..9,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let log = log(directory.path(), 1 << 20, 1 << 20);
            let (mut read, mut offset) = (String::new(), 0);
            let mut rest = text.as_bytes();
            for length in writes {
                let (now, later) = rest.split_at(length.min(rest.len()));
                log.append(now);
                rest = later;
                let chunk = log.read_text(offset, piece);
                let broken = chunk.text.contains(char::REPLACEMENT_CHARACTER);
                prop_assert!(!broken);
                read.push_str(&chunk.text);
                offset = chunk.next;
            }
            log.append(rest);
            log.close();
            while offset < text.len() as u64 {
                let chunk = log.read_text(offset, piece);
                read.push_str(&chunk.text);
                offset = chunk.next;
            }
            prop_assert_eq!(read, text);
        }
    }
}
