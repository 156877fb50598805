//! The X server: one `Xvnc` on a display number of its own choosing, which nobody else can have, closed to everybody
//! who does not know its key. It listens on unix sockets only.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atoll_process::{Command, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};
use rustix::process::Signal;

use crate::error::Error;
use crate::link::Address;
use crate::options::{Options, Size};

/// How long it may take to come up on a machine that is busy.
const START: Duration = Duration::from_mins(1);
/// How long it may take to end when it is asked to.
const PARTING: Duration = Duration::from_secs(2);
/// What it prints is only of interest when it does not come up.
const PRINTED_BYTES: u64 = 1 << 20;
/// Bytes of its complaints that an error repeats.
const LAST_WORDS: u64 = 600;

/// A running X server.
#[derive(Debug)]
pub(crate) struct Server {
    piped: Piped,
    pub(crate) address: Address,
    /// The file with the key.
    pub(crate) authority: PathBuf,
    /// Where it speaks RFB.
    pub(crate) rfb: PathBuf,
}

impl Server {
    /// Starts it and waits until it can be talked to.
    pub(crate) async fn launch(
        spawner: &Spawner,
        options: &Options,
        size: Size,
    ) -> Result<Self, Error> {
        const NAME: &str = "Xvnc";
        let program = options.find(NAME).ok_or(Error::NotInstalled { program: NAME })?;
        let key = *uuid::Uuid::new_v4().as_bytes();
        let authority = options.directory.join("desktop.key");
        let rfb = options.directory.join("desktop.rfb");
        write_private(&authority, &Address::authority(&key))?;
        // What a server that was killed left behind would refuse the next one.
        let _none = std::fs::remove_file(&rfb);
        let command = Command {
            program,
            arguments: arguments(&authority, &rfb, size),
            environment: options.environment.clone(),
            directory: PathBuf::from("/"),
        };
        let piped = Piped::start(spawner, &command, &piped_settings(options)).await?;
        let reason = match tokio::time::timeout(START, number(&piped)).await {
            Ok(Ok(number)) => {
                return Ok(Self { piped, address: Address { number, key }, authority, rfb });
            }
            Ok(Err(reason)) => reason,
            Err(_) => "it gave no sign of life".to_owned(),
        };
        piped.child().kill_all().await;
        Err(Error::NotReady { program: NAME, reason })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.piped.child().pid()
    }

    /// Waits until it has ended, and says how.
    pub(crate) async fn ended(&self) -> String {
        self.piped.wait().await.to_string()
    }

    /// Ends it, and waits until nothing is left of it.
    pub(crate) async fn kill(&self) {
        let child = self.piped.child();
        if self.piped.ended().is_none() {
            // Asked to end, it gives its number back itself.
            child.signal_all(Signal::TERM.as_raw()).await;
            // One that does not end is killed.
            let _ended = tokio::time::timeout(PARTING, self.piped.wait()).await;
        }
        child.kill_all().await;
        self.give_number_back();
    }

    /// Removes what a server that was killed left behind, unless another one has the number by now.
    fn give_number_back(&self) {
        let lock = format!("/tmp/.X{}-lock", self.address.number);
        let held = std::fs::read_to_string(&lock).unwrap_or_default();
        if held.trim().parse() == Ok(self.pid()) {
            for left in [format!("/tmp/.X11-unix/X{}", self.address.number), lock] {
                // Gone already is as good.
                let _gone = std::fs::remove_file(left);
            }
        }
    }
}

fn arguments(authority: &Path, rfb: &Path, size: Size) -> Vec<String> {
    let fixed = [
        // It looks for a free number and prints it once it listens.
        "-displayfd",
        "1",
        "-depth",
        "24",
        "-nolisten",
        "tcp",
        "-noreset",
        // Viewers come through us, who know who they are.
        "-rfbport",
        "-1",
        "-rfbunixmode",
        "0600",
        "-SecurityTypes",
        "None",
        "-AlwaysShared",
        "-MaxCutText",
        "8388608",
        "-desktop",
        "Atoll",
    ];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
    arguments.extend(["-geometry".to_owned(), size.to_string()]);
    arguments.extend(["-auth".to_owned(), authority.display().to_string()]);
    arguments.extend(["-rfbunixpath".to_owned(), rfb.display().to_string()]);
    arguments
}

/// How much of what a program of the desktop prints is kept.
pub(crate) fn piped_settings(options: &Options) -> PipedSettings {
    let log = LogSettings {
        directory: options.directory.clone(),
        kept_bytes: PRINTED_BYTES,
        budget: SpillBudget::new(2 * PRINTED_BYTES),
    };
    PipedSettings { log, input_queue_bytes: 1 }
}

/// Waits for the number of the display.
async fn number(piped: &Piped) -> Result<u32, String> {
    let printed = piped.stdout();
    loop {
        let chunk = printed.read_text(0, 64);
        if let Some((number, _)) = chunk.text.split_once('\n') {
            return number.trim().parse().map_err(|_| format!("it printed {number:?}"));
        }
        if piped.ended().is_some() {
            return Err(format!("{}: {}", piped.wait().await, last_words(piped)));
        }
        tokio::select! {
            () = printed.wait_past(chunk.next) => {}
            _ = piped.wait() => {}
        }
    }
}

/// The last a program had to say.
pub(crate) fn last_words(piped: &Piped) -> String {
    let log = piped.stderr();
    let from = log.progress().end.saturating_sub(LAST_WORDS);
    let said = log.read_text(from, usize::try_from(LAST_WORDS).unwrap_or_default()).text;
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    use std::io::Write;
    let failed = |source| Error::Write { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content)).map_err(failed)
}
