//! How far a transfer has come, on one line of a terminal that somebody watches; nowhere else.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::render::{shortened, size, visible};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Characters of the bar, and of the name before it.
const BAR: usize = 24;
const NAME: usize = 32;

/// A transfer's line.
#[derive(Debug)]
pub(crate) struct Progress {
    name: String,
    total: Option<u64>,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
    watched: bool,
}

impl Progress {
    /// Of a transfer of this many bytes, where that is known.
    pub(crate) fn new(name: &str, total: Option<u64>) -> Self {
        let name = shortened(&visible(name), NAME);
        let watched = io::stderr().is_terminal();
        Self { name, total, done: 0, started: Instant::now(), shown: None, watched }
    }

    /// Notes bytes that went over.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if self.watched && self.shown.is_none_or(|shown| shown.elapsed() >= PAUSE) {
            self.shown = Some(Instant::now());
            self.draw();
        }
    }

    /// Bytes that went over.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    fn draw(&self) {
        let mut stderr = io::stderr().lock();
        // A terminal that is gone must not end the transfer.
        let _gone = write!(stderr, "\r\x1b[K{}", self.line()).and_then(|()| stderr.flush());
    }

    fn line(&self) -> String {
        let milliseconds = self.started.elapsed().as_millis().max(1);
        let per_second = u128::from(self.done) * 1000 / milliseconds;
        let speed = size(u64::try_from(per_second).unwrap_or(u64::MAX));
        let done = size(self.done);
        match self.total.filter(|total| *total > 0) {
            Some(total) => {
                let share = |whole: u64| {
                    let part =
                        u128::from(self.done.min(total)) * u128::from(whole) / u128::from(total);
                    usize::try_from(part).unwrap_or_default()
                };
                let full = share(BAR as u64);
                let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full.min(BAR)));
                format!("{} {bar} {:3} %  {done}  {speed}/s", self.name, share(100))
            }
            None => format!("{}  {done}  {speed}/s", self.name),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _gone = io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_never_more_than_all() {
        let mut progress = Progress::new("a\u{7}b", Some(1 << 20));
        progress.watched = false;
        progress.add(512 << 10);
        assert!(progress.line().contains(" 50 %") && progress.line().contains("512.0 KiB"));
        progress.add(4 << 20);
        assert!(progress.line().contains("100 %"), "{}", progress.line());
        assert!(!progress.line().contains('\u{7}'));
        let unknown = Progress::new("x", None);
        assert!(unknown.line().starts_with("x  0 B"), "{}", unknown.line());
    }
}
