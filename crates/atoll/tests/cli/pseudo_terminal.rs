//! A terminal for the program to run at, of which the test is the person before it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};

use atoll_testkit::{LONG, eventually, eventually_some};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// A program at a terminal.
pub(crate) struct PseudoTerminal {
    master: Arc<OwnedFd>,
    child: Child,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl PseudoTerminal {
    /// Starts a program at a terminal of this size.
    pub(crate) fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).expect("a terminal of our own");
        unlockpt(&master).expect("a terminal to be opened");
        let name = ptsname(&master, Vec::new()).expect("a terminal's name");
        let name = name.to_str().expect("a path of text").to_owned();
        resize(&master, columns, rows);
        let open = || File::options().read(true).write(true).open(&name).expect("a terminal");
        let child = command.stdin(open()).stdout(open()).stderr(open());
        let child = child.env("TERM", "xterm").spawn().expect("the program to start");
        // The command holds the other end until it is dropped.
        drop(command);
        let master = Arc::new(master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (reading, collected) = (Arc::clone(&master), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut file =
                File::from(reading.as_fd().try_clone_to_owned().expect("a second handle"));
            let mut buffer = [0; 4096];
            // The other end of a terminal that nobody holds any more is an error, not an end.
            while let Ok(count @ 1..) = file.read(&mut buffer) {
                let mut shown = collected.lock().unwrap_or_else(PoisonError::into_inner);
                shown.extend_from_slice(&buffer[..count]);
            }
        });
        Self { master, child, shown }
    }

    /// Presses keys.
    pub(crate) fn press(&self, keys: &str) {
        let mut file =
            File::from(self.master.as_fd().try_clone_to_owned().expect("a second handle"));
        file.write_all(keys.as_bytes()).expect("a terminal to type into");
    }

    /// Makes the window another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        resize(&self.master, columns, rows);
        // Without a controlling terminal the kernel tells nobody.
        kill_process(Pid::from_child(&self.child), Signal::WINCH).expect("a program to tell");
    }

    /// Everything shown so far.
    pub(crate) fn shown(&self) -> String {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Waits until this is shown.
    pub(crate) async fn shows(&self, text: &str) {
        let mut last = String::new();
        let seen = tokio::time::timeout(
            LONG,
            eventually(LONG * 2, || {
                last = self.shown();
                last.contains(text)
            }),
        );
        assert!(seen.await.is_ok(), "{text:?} is not in {last:?}");
    }

    /// Whether keys are echoed and lines edited here, as before a program changed that.
    pub(crate) fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&*self.master).expect("a terminal").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits until the program has ended.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        eventually_some(LONG, async || self.child.try_wait().expect("a child to ask")).await
    }
}

fn resize(master: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).expect("a terminal to be resized");
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
