//! When the shell dies: another takes its place, or the session ends.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::stream::TYPING_ATTEMPTS;
use super::{Driver, Mode, remove};
use crate::child::Exit;
use crate::input::Input;
use crate::terminal::job::Outcome;
use crate::terminal::marker::MarkFilter;
use crate::terminal::shell::Shell;

/// Output of a dead shell that comes later than this is a background job's.
const LAST_OUTPUT: Duration = Duration::from_millis(100);
/// Starts without ever prompting before the session gives up.
const FRUITLESS_STARTS: u32 = 3;
/// Shells that ended with background jobs still running.
const RETIRED: usize = 16;

impl Driver {
    /// The shell has died: its job has ended with it, and another is started in its place.
    pub(super) async fn revive(&mut self, exit: Exit, buffer: &mut [u8]) -> Result<(), String> {
        while let Ok(Ok(count)) =
            tokio::time::timeout(LAST_OUTPUT, self.shell.master.read(buffer)).await
            && count > 0
            && self.shell.child.exit().is_some()
        {
            self.receive(buffer.get(..count).unwrap_or_default()).await;
        }
        self.filter = MarkFilter::default();
        let code = exit.shell_code();
        match std::mem::replace(&mut self.mode, Mode::Starting) {
            // It had not begun: a shell that was about to die was typed it. The next one is.
            Mode::Typed { job, attempts, .. } if !job.is_doomed() && attempts < TYPING_ATTEMPTS => {
                self.mode = Mode::Typed { job, undecided: None, attempts: attempts + 1 };
            }
            Mode::Typed { job, .. } | Mode::Running(job) => self.finish(job, Some(code)).await,
            Mode::ByHand => {
                self.publish_typed(false);
                self.killed(None);
            }
            Mode::Starting => self.fruitless += 1,
            Mode::Idle | Mode::Ending { .. } => {}
        }
        if self.fruitless >= FRUITLESS_STARTS {
            return Err(format!(
                "the shell ended {FRUITLESS_STARTS} times before its first prompt, and at last it {exit}; look at its start-up files"
            ));
        }
        self.log.append(format!("\r\n[the shell {exit}; a new one was started]\r\n").as_bytes());
        let directory = self.activity.borrow().directory.clone();
        let directory = if directory.is_dir() { directory } else { PathBuf::from("/") };
        let size = *self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let shell = Shell::start(&self.spawner, &self.settings, &directory, &self.startup, size)
            .await
            .map_err(|error| format!("the shell ended and could not be started again: {error}"))?;
        self.victims = 0;
        let dead = std::mem::replace(&mut self.shell, shell);
        self.retire(dead);
        let shells = self.retired.iter().chain([&self.shell.child]).cloned().collect();
        self.activity.send_modify(|activity| activity.shells = shells);
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = Input::new(
            Arc::clone(&self.shell.master),
            self.settings.input_queue_bytes,
            self.spawner.tasks(),
        );
        Ok(())
    }

    /// Background jobs of a dead shell live until the session ends, and what they print is logged.
    pub(super) fn retire(&mut self, dead: Shell) {
        self.retired.retain(|child| !child.life().borrow().gone);
        if self.retired.len() == RETIRED {
            self.retired.pop_front();
        }
        let (log, mut life) = (self.log.clone(), dead.child.life());
        self.spawner.tasks().spawn(async move {
            let mut buffer = vec![0; 4096];
            loop {
                tokio::select! {
                    count = dead.master.read(&mut buffer) => match count {
                        Ok(count) if count > 0 => log.append(buffer.get(..count).unwrap_or_default()),
                        _ => break,
                    },
                    _ = life.wait_for(|life| life.gone) => break,
                }
            }
        });
        self.retired.push_back(dead.child);
    }

    pub(super) async fn end(&mut self, reason: &str) {
        self.shell.child.kill_all().await;
        for child in self.retired.drain(..) {
            child.kill_all().await;
        }
        let end = self.log.progress().end;
        if let Mode::Typed { job, .. } | Mode::Running(job) = &self.mode {
            job.doom(Outcome::Killed);
            job.finish(end, None);
        }
        for (job, _) in self.queue.drain(..) {
            job.doom(Outcome::Killed);
            job.finish(end, None);
        }
        self.killing = None;
        self.log.close();
        self.activity.send_modify(|activity| {
            activity.ended = Some(reason.to_owned());
            activity.waiting = 0;
            activity.typed = false;
            activity.shells.clear();
        });
        remove(&self.private);
    }
}
