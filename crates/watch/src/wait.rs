//! Waiting for one thing to happen to one path, which need not exist yet, and neither need the directories it is to
//! lie in.
//!
//! Every directory on the way is watched for the next name on the way. They are watched from the root down, and each is
//! looked for only when the one before is watched: whatever comes or goes in between is noticed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::sync::oneshot;

use crate::error::Error;
use crate::event::{Change, Event, Look, now};
use crate::kernel::{ENTRIES, Inotify, NAMES, Notice, WatchNumber};
use crate::stop::{StopOnDrop, StopSignal};

/// Bytes taken from the kernel in one go.
const BUFFER: usize = 16 << 10;
/// Time given to whoever made or writes the file to finish, and to a move to arrive.
const SETTLE: Duration = Duration::from_millis(100);

const WENT: ReadFlags = ReadFlags::DELETE.union(ReadFlags::MOVED_FROM);

/// Waits until one of these changes happens to the file at an absolute path. A file that exists counts as created.
/// None when the time is over. Dropping the future ends the waiting.
pub async fn wait_for(
    path: &Path,
    wanted: &[Change],
    timeout: Duration,
) -> Result<Option<Event>, Error> {
    let deadline = Instant::now() + timeout;
    let (stop, signal) = StopOnDrop::new()?;
    let (answer, answered) = oneshot::channel();
    let (path, wanted) = (path.to_owned(), wanted.to_owned());
    thread::Builder::new()
        .name("atoll-wait".to_owned())
        .spawn(move || {
            // Whoever asked may have left.
            let _asker_gone = answer.send(wait(&path, &wanted, &signal, deadline));
        })
        .map_err(Error::Resources)?;
    let answer = answered.await;
    drop(stop);
    answer.unwrap_or_else(|broken| Err(Error::Resources(io::Error::other(broken))))
}

fn wait(
    path: &Path,
    wanted: &[Change],
    signal: &StopSignal,
    deadline: Instant,
) -> Result<Option<Event>, Error> {
    let kernel = Inotify::new()?;
    let mut wait = Wait::new(path, wanted)?;
    wait.follow(&kernel)?;
    wait.seen = Sight::at(&wait.path);
    match wait.seen {
        Some(sight) if wanted.contains(&Change::Create) => {
            wait.offer(&[Change::Create], sight.is_dir, Clarity::Final);
        }
        _ => wait.run(&kernel, signal, deadline)?,
    }
    Ok(wait.result())
}

#[derive(Debug)]
struct Wait<'a> {
    /// As it was given.
    shown: &'a Path,
    /// What is looked at: where a symbolic link led at the beginning.
    path: PathBuf,
    wanted: &'a [Change],
    steps: Vec<Step>,
    /// What the file looked like when it was last looked at.
    seen: Option<Sight>,
    /// The latest file that left the directory, for the file that arrives under our name.
    departed: Option<(u32, OsString)>,
    outcome: Option<Outcome>,
}

/// A directory on the way, and the name to be watched for in it.
#[derive(Debug)]
struct Step {
    directory: PathBuf,
    name: OsString,
    number: Option<WatchNumber>,
}

/// What can be seen of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sight {
    is_dir: bool,
    file: (u64, u64),
    content: (u64, i64, i64),
    access: (u32, u32, u32),
}

impl Sight {
    fn at(path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        Some(Self {
            is_dir: found.is_dir(),
            file: (found.dev(), found.ino()),
            content: (found.len(), found.mtime(), found.mtime_nsec()),
            access: (found.mode(), found.uid(), found.gid()),
        })
    }
}

/// Whether more may follow that belongs to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clarity {
    Open,
    Final,
}

/// What happened.
#[derive(Debug)]
struct Outcome {
    change: Change,
    /// When nothing more is waited for that belongs to it.
    due: Instant,
    is_dir: bool,
    seen: f64,
    /// What the arrival of a file that left will have in common with its leaving.
    cookie: Option<u32>,
    old_name: Option<OsString>,
    new_name: Option<OsString>,
}

impl<'a> Wait<'a> {
    fn new(shown: &'a Path, wanted: &'a [Change]) -> Result<Self, Error> {
        let is_link = std::fs::symlink_metadata(shown).is_ok_and(|found| found.is_symlink());
        let target = if is_link { std::fs::canonicalize(shown).ok() } else { None };
        let path = target.unwrap_or_else(|| shown.to_owned());
        let fault =
            |reason: &str| Error::Path { path: shown.to_owned(), reason: reason.to_owned() };
        if !path.is_absolute() || path.file_name().is_none() || shown.file_name().is_none() {
            return Err(fault("the path does not end in the name of a file"));
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(fault("a path cannot contain a NUL byte"));
        }
        let mut steps = Vec::new();
        let mut directory = PathBuf::from("/");
        for part in path.components().skip(1) {
            let name = part.as_os_str().to_owned();
            let next = directory.join(&name);
            steps.push(Step { directory, name, number: None });
            directory = next;
        }
        Ok(Self { shown, path, wanted, steps, seen: None, departed: None, outcome: None })
    }

    /// Watches every directory on the way that exists.
    fn follow(&mut self, kernel: &Inotify) -> Result<(), Error> {
        let last = self.steps.len() - 1;
        let mut missing = false;
        let mut denied = None;
        for (index, step) in self.steps.iter_mut().enumerate() {
            let flags = if index == last { ENTRIES } else { NAMES };
            let added = if missing {
                Err(Errno::NOENT)
            } else {
                // Added to what is watched for, not put in its place: `..` can lead through one directory twice.
                kernel.add(&step.directory, flags | WatchFlags::MASK_ADD)
            };
            let before = step.number.take();
            match added {
                Ok(number) => {
                    step.number = Some(number);
                    denied = None;
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => missing = true,
                // As long as the next one can be watched, this one is not needed.
                Err(Errno::ACCESS | Errno::PERM) => denied = Some(step.directory.clone()),
                Err(errno) => return Err(Error::of(&step.directory, errno)),
            }
            if let Some(before) = before.filter(|before| step.number != Some(*before)) {
                kernel.remove(before);
            }
        }
        denied.map_or(Ok(()), |path| Err(Error::Denied { path }))
    }

    /// Returns when something wanted happened, or the time is over: what has begun to happen by then counts.
    fn run(
        &mut self,
        kernel: &Inotify,
        signal: &StopSignal,
        deadline: Instant,
    ) -> Result<(), Error> {
        let system = |path: &Path, source| Error::System { path: path.to_owned(), source };
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        loop {
            if signal
                .wait(kernel, Some(self.due(deadline)))
                .map_err(|error| system(&self.path, error))?
            {
                return Ok(());
            }
            let mut astray = false;
            kernel
                .read(&mut buffer, |notice| astray |= self.take(notice))
                .map_err(|errno| system(&self.path, errno.into()))?;
            if astray {
                self.follow(kernel)?;
                self.compare();
            }
            if self.due(deadline) <= Instant::now() {
                return Ok(());
            }
        }
    }

    fn due(&self, deadline: Instant) -> Instant {
        self.outcome.as_ref().map_or(deadline, |outcome| outcome.due.min(deadline))
    }

    /// Takes in what the kernel says. Returns whether the way must be followed anew.
    fn take(&mut self, notice: Notice<'_>) -> bool {
        if notice.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return true;
        }
        let last = self.steps.len() - 1;
        let mut astray = false;
        for index in 0..=last {
            let Some(step) = self.steps.get(index) else {
                break;
            };
            if step.number != Some(notice.number) {
                continue;
            }
            match notice.name {
                None => astray |= !notice.flags.contains(ReadFlags::ATTRIB),
                Some(name) if index < last => astray |= name == step.name,
                Some(name) if name == step.name => self.take_file(notice),
                Some(name) => self.take_neighbour(name, notice),
            }
        }
        astray
    }

    /// Something happened to the file.
    fn take_file(&mut self, notice: Notice<'_>) {
        let (flags, is_dir) = (notice.flags, notice.flags.contains(ReadFlags::ISDIR));
        let before = self.seen;
        let existed = before.is_some();
        self.seen = if flags.intersects(WENT) { None } else { Sight::at(&self.path) };
        if flags.contains(ReadFlags::CREATE) {
            let clarity = if is_dir { Clarity::Final } else { Clarity::Open };
            self.offer(&[Change::Create], is_dir, clarity);
        } else if flags.contains(ReadFlags::MOVED_TO) {
            let departed = self.departed.take().filter(|(cookie, _)| *cookie == notice.cookie);
            // A file put in the place of another is new content; where there was none, a new file and its content.
            let changes: &[Change] = if existed {
                &[Change::Write, Change::Rename]
            } else {
                &[Change::Create, Change::Write, Change::Rename]
            };
            if self.offer(changes, is_dir, Clarity::Final)
                && let Some(outcome) = &mut self.outcome
                && outcome.change == Change::Rename
            {
                outcome.old_name = departed.map(|(_, name)| name);
            }
        } else if flags.contains(ReadFlags::MOVED_FROM) {
            let whereto_matters = self.wanted.contains(&Change::Rename);
            let clarity = if whereto_matters { Clarity::Open } else { Clarity::Final };
            if self.offer(&[Change::Rename, Change::Remove], is_dir, clarity)
                && let Some(outcome) = &mut self.outcome
            {
                outcome.cookie = Some(notice.cookie);
            }
        } else if flags.contains(ReadFlags::DELETE) {
            self.offer(&[Change::Remove], is_dir, Clarity::Final);
        } else if flags.contains(ReadFlags::CLOSE_WRITE) {
            // Whoever could have written may not have.
            let content = |sight: Option<Sight>| sight.map(|sight| sight.content);
            let changed = content(before) != content(self.seen);
            let changes: &[Change] = if changed { &[Change::Write] } else { &[] };
            self.offer(changes, is_dir, Clarity::Final);
        } else if flags.contains(ReadFlags::MODIFY) {
            self.offer(&[Change::Write], is_dir, Clarity::Open);
        } else if flags.contains(ReadFlags::ATTRIB) {
            self.offer(&[Change::Chmod], is_dir, Clarity::Open);
        }
    }

    /// Something happened to another file in the same directory.
    fn take_neighbour(&mut self, name: &OsStr, notice: Notice<'_>) {
        if notice.flags.contains(ReadFlags::MOVED_FROM) {
            self.departed = Some((notice.cookie, name.to_owned()));
        } else if notice.flags.contains(ReadFlags::MOVED_TO)
            && let Some(outcome) = &mut self.outcome
            && outcome.cookie == Some(notice.cookie)
        {
            outcome.new_name = Some(name.to_owned());
            outcome.due = Instant::now();
        }
    }

    /// Finds out what happened while the way to the file changed.
    fn compare(&mut self) {
        let before = std::mem::replace(&mut self.seen, Sight::at(&self.path));
        match (before, self.seen) {
            (None, Some(now)) => {
                self.offer(&[Change::Create, Change::Write], now.is_dir, Clarity::Open);
            }
            (Some(before), None) => {
                self.offer(&[Change::Remove, Change::Rename], before.is_dir, Clarity::Final);
            }
            (Some(before), Some(now)) => {
                if (before.file, before.content) != (now.file, now.content) {
                    self.offer(&[Change::Write], now.is_dir, Clarity::Open);
                }
                if before.access != now.access {
                    self.offer(&[Change::Chmod], now.is_dir, Clarity::Open);
                }
            }
            (None, None) => {}
        }
    }

    /// Something happened that can be called any of these. The first that is wanted is the outcome, unless there is
    /// one already: then it may be all that was still to follow. Returns whether it became the outcome.
    fn offer(&mut self, changes: &[Change], is_dir: bool, clarity: Clarity) -> bool {
        let now_or_later = match clarity {
            Clarity::Open => Instant::now() + SETTLE,
            Clarity::Final => Instant::now(),
        };
        let wanted = changes.iter().find(|change| self.wanted.contains(change)).copied();
        if let Some(outcome) = &mut self.outcome {
            outcome.due = outcome.due.min(now_or_later);
            // What sets times along with the content is a writer.
            if outcome.change == Change::Chmod && wanted == Some(Change::Write) {
                outcome.change = Change::Write;
            }
            return false;
        }
        self.outcome = wanted.map(|change| Outcome {
            change,
            due: now_or_later,
            is_dir,
            seen: now(),
            cookie: None,
            old_name: None,
            new_name: None,
        });
        self.outcome.is_some()
    }

    fn result(&mut self) -> Option<Event> {
        let outcome = self.outcome.take()?;
        let neighbour = |name: &OsString| self.shown.with_file_name(name);
        let left = outcome.cookie.is_some();
        let (change, path, old_path) = match (&outcome.new_name, &outcome.old_name) {
            (Some(new), _) => (Change::Rename, neighbour(new), Some(self.shown.to_owned())),
            (None, Some(old)) => (Change::Rename, self.shown.to_owned(), Some(neighbour(old))),
            // It went to where nobody looks.
            (None, None) if left && self.wanted.contains(&Change::Remove) => {
                (Change::Remove, self.shown.to_owned(), None)
            }
            (None, None) => (outcome.change, self.shown.to_owned(), None),
        };
        let look = match &outcome.new_name {
            Some(new) => Look::at(&self.path.with_file_name(new)),
            None if left || change == Change::Remove => Look::default(),
            None => Look::at(&self.path),
        };
        let relative = path.file_name().map(PathBuf::from).unwrap_or_default();
        let Outcome { is_dir, seen: timestamp, .. } = outcome;
        Some(Event { seq: 1, change, path, relative, old_path, is_dir, timestamp, look })
    }
}
