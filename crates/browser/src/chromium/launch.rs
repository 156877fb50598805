//! Starting the program and knowing when it can be talked to.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use atoll_process::{Command, Exit, LogSettings, Piped, PipedSettings, Spawner, SpillBudget};

use super::{find, flags, policy};
use crate::error::Error;
use crate::options::{Options, Policies};

/// How long it may take to come up on a machine that is busy.
const START: Duration = Duration::from_mins(1);
/// What it prints is only of interest when it does not come up.
const PRINTED_BYTES: u64 = 1 << 20;
const ANNOUNCEMENT: &str = "DevTools listening on ws://";
const NO_SANDBOX: &str = "No usable sandbox";
/// Locks of a browser that was killed, perhaps on a machine of another name.
const LOCKS: &[&str] =
    &["SingletonLock", "SingletonSocket", "SingletonCookie", "DevToolsActivePort"];

/// Where the browser can be talked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Host, always of this machine.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path of the browser's own WebSocket.
    pub path: String,
}

/// A running program.
#[derive(Debug)]
pub(crate) struct Chromium {
    piped: Piped,
    /// Starts what is needed beside it.
    pub(crate) spawner: Spawner,
    pub(crate) endpoint: Endpoint,
    /// What whoever runs it should know.
    pub(crate) warning: Option<String>,
    /// Whether others know where to talk to it, and may have changed what we asked of it.
    pub(crate) shared: AtomicBool,
}

impl Chromium {
    /// Starts it and waits until it can be talked to.
    pub(crate) async fn launch(spawner: &Spawner, options: &Options) -> Result<Self, Error> {
        let program = find::find(options)?;
        match policy::write(options, &program) {
            // Somebody else's, then: no reason to be without a browser.
            Err(error) if options.policies == Policies::default() => {
                tracing::warn!(%error, "the browser obeys policies left behind by another server");
            }
            other => other?,
        }
        let made = |path: &Path| {
            std::fs::create_dir_all(path)
                .map_err(|source| Error::Write { path: path.to_owned(), source })
        };
        made(&options.user_data)?;
        made(&options.downloads)?;
        made(&options.directory)?;
        let root = rustix::process::geteuid().is_root();
        let wanted = options.sandbox.unwrap_or(!root);
        match Self::start(spawner, options, &program, wanted).await {
            Err(Error::NotReady { reason, .. })
                if wanted && options.sandbox.is_none() && reason.contains(NO_SANDBOX) =>
            {
                Self::start(spawner, options, &program, false).await
            }
            other => other,
        }
    }

    /// Writes the policies anew; a running program notices.
    pub(crate) fn write_policies(options: &Options) -> Result<(), Error> {
        policy::write(options, &find::find(options)?)
    }

    /// Takes them away when no program needs them any more.
    pub(crate) fn withdraw_policies(options: &Options) {
        if let Ok(program) = find::find(options) {
            policy::withdraw(options, &program);
        }
    }

    async fn start(
        spawner: &Spawner,
        options: &Options,
        program: &Path,
        sandbox: bool,
    ) -> Result<Self, Error> {
        for lock in LOCKS {
            // Usually there is none.
            let _none = std::fs::remove_file(options.user_data.join(lock));
        }
        let mut environment = options.environment.clone();
        if let Some(display) = &options.display {
            environment.insert("DISPLAY".to_owned(), display.clone());
        }
        if let Some(locale) = &options.locale {
            environment.insert("LANGUAGE".to_owned(), locale.replace('-', "_"));
        }
        let command = Command {
            program: program.to_owned(),
            arguments: flags::arguments(options, sandbox),
            environment,
            directory: PathBuf::from("/"),
        };
        let log = LogSettings {
            directory: options.directory.clone(),
            kept_bytes: PRINTED_BYTES,
            budget: SpillBudget::new(2 * PRINTED_BYTES),
        };
        let settings = PipedSettings { log, input_queue_bytes: 1 };
        let piped = Piped::start(spawner, &command, &settings).await?;
        let waited = tokio::time::timeout(START, announcement(&piped)).await;
        let reason = match waited {
            Ok(Ok(endpoint)) => {
                let warning = (!sandbox).then(|| warning(options));
                if let Some(warning) = &warning {
                    tracing::warn!("{warning}");
                }
                let (spawner, shared) = (spawner.clone(), AtomicBool::default());
                return Ok(Self { piped, spawner, endpoint, warning, shared });
            }
            Ok(Err(reason)) => reason,
            Err(_) => "it gave no sign of life".to_owned(),
        };
        piped.child().kill_all().await;
        Err(Error::NotReady { program: program.to_owned(), reason })
    }

    /// Waits until the program has ended, and says how.
    pub(crate) async fn ended(&self) -> String {
        match self.piped.wait().await {
            Exit::Code(code) => format!("it ended with code {code}"),
            Exit::Signal(signal) => format!("signal {signal} ended it"),
            Exit::OutOfMemory { .. } => "it used more memory than it may".to_owned(),
            Exit::Lost => "it was killed".to_owned(),
        }
    }

    /// Its main process.
    pub(crate) fn pid(&self) -> i32 {
        self.piped.child().pid()
    }

    /// Ends it with everything it started, and waits until nothing is left.
    pub(crate) async fn kill(&self) {
        self.piped.child().kill_all().await;
    }
}

fn warning(options: &Options) -> String {
    let why = if options.sandbox == Some(false) {
        "as configured"
    } else if rustix::process::geteuid().is_root() {
        "because it runs as root"
    } else {
        "because this system does not let it make user namespaces"
    };
    format!(
        "the browser runs without its own sandbox, {why}: a hostile page has only the system around it to break out of"
    )
}

/// Waits for the line in which the browser says where it listens.
async fn announcement(piped: &Piped) -> Result<Endpoint, String> {
    let printed = piped.stderr();
    let mut text = String::new();
    let mut next = 0;
    loop {
        let chunk = printed.read_text(next, 64 << 10);
        next = chunk.next;
        text.push_str(&chunk.text);
        if let Some(endpoint) = endpoint(&text) {
            return Ok(endpoint);
        }
        if chunk.text.is_empty() {
            if chunk.progress.closed || piped.ended().is_some() {
                let exit = piped.wait().await;
                let last: Vec<_> = text.lines().filter(|line| !line.contains("dbus")).collect();
                let from = last.len().saturating_sub(5);
                let said = last.get(from..).unwrap_or_default().join("; ");
                return Err(format!("it ended with code {}: {said}", exit.shell_code()));
            }
            tokio::select! {
                () = printed.wait_past(next) => {}
                _ = piped.wait() => {}
            }
        }
    }
}

fn endpoint(text: &str) -> Option<Endpoint> {
    let (_, after) = text.split_once(ANNOUNCEMENT)?;
    let (address, _) = after.split_once('\n')?;
    let (host_and_port, path) = address.trim().split_once('/')?;
    let (host, port) = host_and_port.rsplit_once(':')?;
    Some(Endpoint { host: host.to_owned(), port: port.parse().ok()?, path: format!("/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announcement_is_read_only_when_it_is_complete() {
        let text = "noise\nDevTools listening on ws://127.0.0.1:4711/devtools/browser/ab-c";
        assert_eq!(endpoint(text), None);
        let found = endpoint(&format!("{text}\n")).unwrap();
        assert_eq!((found.host.as_str(), found.port), ("127.0.0.1", 4711));
        assert_eq!(found.path, "/devtools/browser/ab-c");
    }
}
