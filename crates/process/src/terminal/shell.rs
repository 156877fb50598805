//! One run of the shell: a fresh terminal with bash on it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetpgrp, tcgetwinsize, tcsetwinsize};
use tokio::io::Interest;

use super::{TerminalSettings, WindowSize};
use crate::child::Child;
use crate::command::{Command, SpawnError};
use crate::descriptor::Descriptor;
use crate::spawner::Spawner;
use crate::spawner::tree;

/// A running shell.
pub(super) struct Shell {
    pub(super) child: Child,
    pub(super) master: Arc<Descriptor>,
}

impl Shell {
    /// Starts bash in `directory` with this start-up file.
    pub(super) async fn start(
        spawner: &Spawner,
        settings: &TerminalSettings,
        directory: &Path,
        startup: &Path,
        size: WindowSize,
    ) -> Result<Self, SpawnError> {
        let (master, slave) = pair(size).map_err(SpawnError::Streams)?;
        let mut environment = settings.environment.clone();
        environment.insert("TERM".to_owned(), "xterm-256color".to_owned());
        if settings.keep_links {
            environment.insert("PWD".to_owned(), directory.to_string_lossy().into_owned());
        }
        let command = Command {
            program: settings.shell.clone(),
            arguments: vec![
                "--rcfile".to_owned(),
                startup.to_string_lossy().into_owned(),
                "-i".to_owned(),
            ],
            environment,
            directory: directory.to_owned(),
        };
        let stream = slave.as_fd();
        let child = Child::start(spawner, &command, [stream, stream, stream], true).await?;
        let master = Descriptor::new(master, Interest::READABLE | Interest::WRITABLE)
            .map_err(SpawnError::Streams)?;
        Ok(Self { child, master: Arc::new(master) })
    }

    pub(super) fn resize(&self, size: WindowSize) -> io::Result<()> {
        Ok(tcsetwinsize(self.master.as_fd(), winsize(size))?)
    }

    /// Gives the terminal its size again if it was lost: readline reads the size and sets what it read, at every prompt,
    /// and so undoes a change in between.
    pub(super) fn keep_size(&self, size: WindowSize) {
        let kept = tcgetwinsize(self.master.as_fd())
            .is_ok_and(|now| (now.ws_row, now.ws_col) == (size.rows, size.columns));
        if !kept && let Err(error) = self.resize(size) {
            tracing::debug!(%error, "the terminal lost its size");
        }
    }

    /// Has bash collect children whose end it missed, as happens when many end at once; what it has to say of them it
    /// would say in the middle of the next job's output.
    pub(super) fn look_after_children(&self) {
        tree::send(self.child.pid(), libc::SIGCHLD);
    }

    /// Where the shell is now.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        let path = std::fs::read_link(format!("/proc/{}/cwd", self.child.pid())).ok()?;
        path.is_dir().then_some(path)
    }

    /// Interrupts what runs in the foreground, as Ctrl-C does, but without an echo, and the shell itself.
    pub(super) fn interrupt(&self) {
        if let Ok(foreground) = tcgetpgrp(self.master.as_fd()) {
            let group = foreground.as_raw_nonzero().get();
            if group != self.child.pid() {
                tree::send(-group, libc::SIGINT);
            }
        }
        tree::send(self.child.pid(), libc::SIGINT);
    }
}

fn pair(size: WindowSize) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let slave = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    tcsetwinsize(&slave, winsize(size))?;
    Ok((master, slave))
}

fn winsize(size: WindowSize) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
}
