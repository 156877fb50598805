//! The pipes of a Node.js process, served together so that their order is known: what the process had printed when it
//! sent a message is recorded before the message counts.

use std::collections::VecDeque;
use std::path::Path;

use rustix::io::ioctl_fionread;
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};

use crate::error::NodeError;
use crate::message::{Lines, Message};
use crate::output::{Channel, Output};
use crate::place::{Place, prepared};
use crate::record::Recording;

/// Bytes read at once: what a pipe holds.
const BUFFER: usize = 64 << 10;

/// Our ends of a process's pipes, and what came out of them.
#[derive(Debug)]
pub(crate) struct Traffic {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    up: Option<Receiver>,
    down: Sender,
    unsent: Vec<u8>,
    sent: usize,
    lines: Lines,
    messages: VecDeque<Message>,
    buffer: Vec<u8>,
    recording: Recording,
    limit: usize,
}

impl Traffic {
    /// Makes the pipes `stdout`, `stderr`, `up` and `down` in a directory and opens our ends.
    pub(crate) fn open(place: &Place, secret: &str, limit: usize) -> Result<Self, NodeError> {
        let receiver = |name: &str| {
            let path = place.pipe(name)?;
            prepared(OpenOptions::new().open_receiver(&path), &path).map(Some)
        };
        let down = place.pipe("down")?;
        Ok(Self {
            stdout: receiver("stdout")?,
            stderr: receiver("stderr")?,
            up: receiver("up")?,
            // Both ends, for nobody reads yet.
            down: prepared(OpenOptions::new().read_write(true).open_sender(&down), &down)?,
            unsent: Vec::new(),
            sent: 0,
            // Every character of a message may take six bytes, and a message holds three texts.
            lines: Lines::new(secret, limit.saturating_mul(18).saturating_add(BUFFER)),
            messages: VecDeque::new(),
            buffer: vec![0; BUFFER],
            recording: Recording::new(limit),
            limit,
        })
    }

    /// How a shell connects them to the process it becomes. `$0` is the directory.
    pub(crate) const CONNECT: &'static str =
        r#"exec "$@" 3<"$0/down" 4>"$0/up" >"$0/stdout" 2>"$0/stderr""#;

    /// Removes the pipes from the directory; those who have them keep them.
    pub(crate) fn hide(directory: &Path) {
        for name in ["stdout", "stderr", "up", "down"] {
            let _already_gone = std::fs::remove_file(directory.join(name));
        }
    }

    /// Queues a line for the process.
    pub(crate) fn send(&mut self, line: &[u8]) {
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.sent = 0;
        }
        self.unsent.extend_from_slice(line);
    }

    /// What is being said now.
    pub(crate) fn recording(&mut self) -> &mut Recording {
        &mut self.recording
    }

    /// Ends what is being said and begins anew.
    pub(crate) fn finish_recording(&mut self) {
        std::mem::replace(&mut self.recording, Recording::new(self.limit)).finish();
    }

    /// Whether the process can send no more messages.
    pub(crate) fn is_mute(&self) -> bool {
        self.up.is_none()
    }

    /// Serves the pipes until a message is there that is more than something to record; `None` when none will come any
    /// more. May be dropped at any time without losing anything.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.pop() {
                return Some(message);
            }
            if self.is_mute() {
                return None;
            }
            self.serve().await;
        }
    }

    /// Serves the pipes once.
    pub(crate) async fn serve(&mut self) {
        let pending = self.sent < self.unsent.len();
        tokio::select! {
            () = readable(self.stdout.as_ref()) => {
                read(&mut self.stdout, &mut self.buffer, |bytes| self.recording.write(Channel::Stdout, bytes));
            }
            () = readable(self.stderr.as_ref()) => {
                read(&mut self.stderr, &mut self.buffer, |bytes| self.recording.write(Channel::Stderr, bytes));
            }
            () = readable(self.up.as_ref()) => {
                let Self { up, buffer, lines, messages, .. } = self;
                read(up, buffer, |bytes| messages.extend(lines.take(bytes)));
            }
            writable = self.down.writable(), if pending => {
                if writable.is_ok()
                    && let Ok(count) = self.down.try_write(self.unsent.get(self.sent..).unwrap_or_default())
                {
                    self.sent += count;
                }
            }
        }
    }

    /// Takes in what is in the pipes at this moment, and no more: children may write for ever.
    pub(crate) fn drain(&mut self) {
        let Self { stdout, stderr, buffer, recording, .. } = self;
        read_available(stdout.as_ref(), buffer, |bytes| recording.write(Channel::Stdout, bytes));
        read_available(stderr.as_ref(), buffer, |bytes| recording.write(Channel::Stderr, bytes));
    }

    /// Takes in everything of a process that has ended.
    pub(crate) fn drain_all(&mut self) {
        let Self { up, buffer, lines, messages, .. } = self;
        read_available(up.as_ref(), buffer, |bytes| messages.extend(lines.take(bytes)));
        self.drain();
        while self.pop().is_some() {}
    }

    /// The next message that is more than something to record, everything said before it being recorded.
    fn pop(&mut self) -> Option<Message> {
        if !self.messages.is_empty() {
            self.drain();
        }
        loop {
            match self.messages.pop_front()? {
                Message::Result { text } => self.recording.say(Output::Result { text }),
                Message::Error { name, message, traceback } => {
                    self.recording.say(Output::Error { name, message, traceback });
                }
                message @ (Message::Ready | Message::Done { .. }) => return Some(message),
            }
        }
    }
}

async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

/// Reads what is in a pipe, whether or not the runtime has noticed yet that it can be read.
fn read_available(pipe: Option<&Receiver>, buffer: &mut [u8], mut take: impl FnMut(&[u8])) {
    let Some(pipe) = pipe else { return };
    let mut left =
        ioctl_fionread(pipe).ok().and_then(|left| usize::try_from(left).ok()).unwrap_or(0);
    while left > 0 {
        let room = left.min(buffer.len());
        let Ok(count @ 1..) =
            rustix::io::read(pipe, &mut *buffer.get_mut(..room).unwrap_or_default())
        else {
            return;
        };
        take(buffer.get(..count).unwrap_or_default());
        left -= count;
    }
}

/// Reads once. A pipe nobody can write to any more is let go of.
fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8], take: impl FnOnce(&[u8])) {
    let Some(open) = pipe.as_ref() else { return };
    match open.try_read(buffer) {
        Ok(count @ 1..) => take(buffer.get(..count).unwrap_or_default()),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
        Ok(_) | Err(_) => *pipe = None,
    }
}
