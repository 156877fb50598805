//! A program on three pipes: what it writes by exact offset, what it reads, how it ended.
//!
//! It has ended when the program itself has, although children it left behind may hold its pipes: what was in the
//! pipes at that moment belongs to it, what comes later is still logged.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::Interest;
use tokio::sync::{oneshot, watch};

use crate::child::{Child, Exit, Life};
use crate::command::{Command, SpawnError};
use crate::descriptor::Descriptor;
use crate::input::Input;
use crate::log::{Log, LogSettings};
use crate::spawner::Spawner;

/// Bytes read from a pipe at once: what a pipe holds.
const BUFFER: usize = 64 << 10;

/// How much a piped program may keep.
#[derive(Debug, Clone)]
pub struct PipedSettings {
    /// For each of its output streams.
    pub log: LogSettings,
    /// Bytes of input that may wait.
    pub input_queue_bytes: usize,
}

/// A program on pipes.
#[derive(Debug)]
pub struct Piped {
    child: Child,
    stdin: Input,
    stdout: Log,
    stderr: Log,
    ended: watch::Receiver<Option<Exit>>,
}

impl Piped {
    /// Starts a command.
    pub async fn start(
        spawner: &Spawner,
        command: &Command,
        settings: &PipedSettings,
    ) -> Result<Self, SpawnError> {
        let pipe =
            || pipe_with(PipeFlags::CLOEXEC).map_err(|error| SpawnError::Streams(error.into()));
        let (stdin_read, stdin_write) = pipe()?;
        let (stdout_read, stdout_write) = pipe()?;
        let (stderr_read, stderr_write) = pipe()?;
        // Everything of ours is made ready before the command starts: it may have ended before we run again.
        let ours = |fd, interest| Descriptor::new(fd, interest).map_err(SpawnError::Streams);
        let stdin_write = ours(stdin_write, Interest::WRITABLE)?;
        let stdout_read = ours(stdout_read, Interest::READABLE)?;
        let stderr_read = ours(stderr_read, Interest::READABLE)?;
        let stdout = Log::new(settings.log.clone());
        let stderr = Log::new(settings.log.clone());
        let streams = [stdin_read.as_fd(), stdout_write.as_fd(), stderr_write.as_fd()];
        let child = Child::start(spawner, command, streams, false).await?;
        drop((stdin_read, stdout_write, stderr_write));
        let stdin = Input::new(Arc::new(stdin_write), settings.input_queue_bytes, spawner.tasks());
        let settled_stdout = pump(spawner, stdout_read, stdout.clone(), child.life());
        let settled_stderr = pump(spawner, stderr_read, stderr.clone(), child.life());
        let (ended_sender, ended) = watch::channel(None);
        let mut life = child.life();
        spawner.tasks().spawn(async move {
            let exit = match life.wait_for(|life| life.exit.is_some()).await {
                Ok(life) => life.exit,
                Err(_) => Some(Exit::Lost),
            };
            // A pump that ended before has drained its pipe to the end.
            let _ended = settled_stdout.await;
            let _ended = settled_stderr.await;
            ended_sender.send_replace(exit);
        });
        Ok(Self { child, stdin, stdout, stderr, ended })
    }

    /// The process.
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// The way in.
    pub fn stdin(&self) -> &Input {
        &self.stdin
    }

    /// Its standard output.
    pub fn stdout(&self) -> &Log {
        &self.stdout
    }

    /// Its standard error.
    pub fn stderr(&self) -> &Log {
        &self.stderr
    }

    /// How it ended, once it has and its output up to then is logged.
    pub fn ended(&self) -> Option<Exit> {
        *self.ended.borrow()
    }

    /// Waits until it has ended and its output up to then is logged.
    pub async fn wait(&self) -> Exit {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or(Exit::Lost),
            Err(_) => Exit::Lost,
        }
    }
}

/// Carries a pipe into a log. The receiver hears when everything written before the program's exit is in.
fn pump(
    spawner: &Spawner,
    pipe: Descriptor,
    log: Log,
    mut life: watch::Receiver<Life>,
) -> oneshot::Receiver<()> {
    let (settled, receiver) = oneshot::channel();
    let mut settled = Some(settled);
    spawner.tasks().spawn(async move {
        let mut buffer = vec![0; BUFFER];
        loop {
            let seen = *life.borrow_and_update();
            if seen.exit.is_some()
                && let Some(settled) = settled.take()
            {
                drain(&pipe, &log, &mut buffer);
                let _nobody_waits = settled.send(());
            }
            if seen.gone {
                drain(&pipe, &log, &mut buffer);
                break;
            }
            tokio::select! {
                count = pipe.read(&mut buffer) => match count {
                    Ok(0) | Err(_) => break,
                    Ok(count) => log.append(buffer.get(..count).unwrap_or_default()),
                },
                changed = life.changed() => if changed.is_err() { break },
            }
        }
        log.close();
    });
    receiver
}

/// Reads what is in the pipe at this moment, and no more: a background child may write for ever.
fn drain(pipe: &Descriptor, log: &Log, buffer: &mut [u8]) {
    let mut left = usize::try_from(pipe.available()).unwrap_or(0);
    while left > 0 {
        let room = left.min(buffer.len());
        let count = pipe.read_available(buffer.get_mut(..room).unwrap_or_default());
        if count == 0 {
            return;
        }
        log.append(buffer.get(..count).unwrap_or_default());
        left -= count.min(left);
    }
}
