//! Reading the terminal: output to the log, marks to changes of mode.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tokio::time::Instant;

use super::{Driver, Mode, PROMPT_PAUSE};
use crate::terminal::marker::{Kind, Mark, Piece};
use crate::terminal::screen;

/// Times a job's line is typed again when something else read it.
pub(super) const TYPING_ATTEMPTS: u32 = 5;
/// Bytes held while it is open whether a line was ours or typed by hand.
const UNDECIDED: usize = 4096;
/// Characters of a command shown in the log.
const SHOWN_COMMAND: usize = 4096;

impl Driver {
    pub(super) async fn receive(&mut self, bytes: &[u8]) {
        if self.filter.passes(bytes) {
            return self.record(bytes);
        }
        let mut filter = std::mem::take(&mut self.filter);
        let mut pieces = Vec::new();
        let (session, job) = (self.token.as_str(), self.job_token.as_str());
        let is_ours = |mark: &Mark| match mark.kind {
            Kind::Prompt | Kind::Entered => mark.token == session,
            Kind::Start | Kind::End => mark.token == job,
        };
        filter.feed(bytes, is_ours, |piece| {
            pieces.push(match piece {
                Piece::Bytes(bytes) => Err(bytes.to_vec()),
                Piece::Mark(mark) => Ok(mark),
            });
        });
        self.filter = filter;
        for piece in pieces {
            match piece {
                Ok(mark) => self.obey(&mark).await,
                Err(bytes) => self.record(&bytes),
            }
        }
    }

    /// Writes output to the log, unless it is the echo of a line of ours.
    pub(super) fn record(&mut self, bytes: &[u8]) {
        match &mut self.mode {
            Mode::Typed { undecided: None, .. } => return,
            Mode::Typed { undecided: Some(held), .. } => {
                held.extend_from_slice(bytes);
                if held.len() > UNDECIDED {
                    self.typed_by_hand();
                }
                return;
            }
            _ => self.log.append(bytes),
        }
        if self.viewers.load(Ordering::Relaxed) == 0 && memchr::memchr(0x1b, bytes).is_some() {
            self.answer(bytes);
        }
    }

    /// Answers a program's questions to its terminal when none is attached.
    pub(super) fn answer(&self, fresh: &[u8]) {
        let end = self.log.progress().end;
        let recent = self.log.read(end.saturating_sub(screen::REPLAY as u64), screen::REPLAY);
        let size = *self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = screen::answers(fresh, &recent.bytes, size);
        if !answer.is_empty() {
            let _not_reading =
                self.input.lock().unwrap_or_else(PoisonError::into_inner).write(&answer);
        }
    }

    /// The line that was entered after ours was typed was not ours: a person was faster, and what runs may have read
    /// ours. It is typed again at the next prompt.
    pub(super) fn typed_by_hand(&mut self) {
        if let Mode::Typed { undecided: Some(held), .. } = &mut self.mode {
            let held = std::mem::take(held);
            self.log.append(&held);
        }
    }

    pub(super) async fn obey(&mut self, mark: &Mark) {
        if matches!(mark.kind, Kind::Start | Kind::Entered) {
            self.shell.keep_size(*self.size.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let mode = std::mem::replace(&mut self.mode, Mode::Starting);
        self.mode = match (mark.kind, mode) {
            (Kind::Prompt, mode) => self.prompted(mode, mark.number).await,
            (Kind::Entered, Mode::Idle) => {
                self.publish_typed(true);
                Mode::ByHand
            }
            (Kind::Entered, Mode::Typed { job, undecided: None, attempts }) => {
                Mode::Typed { job, undecided: Some(Vec::new()), attempts }
            }
            (Kind::Start, Mode::Typed { job, .. }) => {
                self.log.append(&shown(job.command()));
                job.start(self.log.progress().end);
                let waiting = self.queue.len();
                self.activity.send_modify(|activity| {
                    activity.current = Some(Arc::clone(&job));
                    activity.waiting = waiting;
                });
                Mode::Running(job)
            }
            (Kind::End, Mode::Running(job)) => {
                self.note_directory();
                self.finish(job, mark.number).await;
                Mode::Ending { until: Instant::now() + PROMPT_PAUSE }
            }
            (_, mode) => mode,
        };
        if matches!(self.mode, Mode::Idle) {
            self.next_job();
        }
    }

    pub(super) async fn prompted(&mut self, mode: Mode, status: Option<i32>) -> Mode {
        self.fruitless = 0;
        match mode {
            Mode::Typed { job, undecided, attempts } => {
                if let Some(held) = undecided {
                    self.log.append(&held);
                }
                if attempts < TYPING_ATTEMPTS {
                    self.type_line(&job);
                    return Mode::Typed { job, undecided: None, attempts: attempts + 1 };
                }
                self.finish(job, None).await;
            }
            // Interrupted: the rest of the script was skipped.
            Mode::Running(job) => {
                self.note_directory();
                self.finish(job, status).await;
            }
            Mode::ByHand => {
                self.note_directory();
                self.publish_typed(false);
                self.killed(None);
            }
            Mode::Starting | Mode::Idle | Mode::Ending { .. } => {}
        }
        Mode::Idle
    }
}

/// A command as a person would have typed it, in place of the prompt's line.
fn shown(command: &str) -> Vec<u8> {
    let mut text: String =
        command.chars().take(SHOWN_COMMAND).filter(|c| !c.is_control() || *c == '\n').collect();
    if text.len() < command.len() && command.chars().nth(SHOWN_COMMAND).is_some() {
        text.push('…');
    }
    format!("\r\x1b[K$ {}\r\n", text.trim_end().replace('\n', "\r\n> ")).into_bytes()
}
