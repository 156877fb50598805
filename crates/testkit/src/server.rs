//! A real server, started from the built program on a free port, in a temporary home, with an environment that holds
//! nothing of the machine's but `PATH`. It dies with the test; when the test fails, its log is shown.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use atoll_client::Client;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::wait::{LONG, eventually_some};

/// How a server is started.
#[derive(Debug)]
pub struct ServerBuilder {
    binary: PathBuf,
    wrapper: Vec<OsString>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    listen: OsString,
    directory: TempDir,
}

/// A running server. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    url: String,
    home: PathBuf,
    log: PathBuf,
    _directory: TempDir,
}

impl ServerBuilder {
    /// Passes an argument to `atoll serve`.
    #[must_use]
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Sets a variable of the server's environment.
    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let variable = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.environment.push(variable);
        self
    }

    /// Listens elsewhere than on a free port of loopback.
    #[must_use]
    pub fn listen(mut self, address: impl AsRef<OsStr>) -> Self {
        address.as_ref().clone_into(&mut self.listen);
        self
    }

    /// Starts the server through another program, which gets the server's command line as its last arguments.
    #[must_use]
    pub fn wrapper(mut self, command: &[&str]) -> Self {
        self.wrapper = command.iter().map(OsString::from).collect();
        self
    }

    /// The directory that will be the server's home.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// Starts the server and waits until it accepts connections.
    ///
    /// # Panics
    /// When it does not come up.
    pub async fn start(self) -> Server {
        let home = self.home();
        std::fs::create_dir_all(&home).expect("a home for the server");
        let ready = self.directory.path().join("ready");
        let log = self.directory.path().join("log");
        let output = File::create(&log).expect("a log for the server");

        let mut words = self.wrapper.clone();
        words.extend([self.binary.into_os_string(), "serve".into()]);
        words.extend(["--listen".into(), self.listen]);
        words.extend(["--ready-file".into(), ready.clone().into_os_string()]);
        words.extend(self.arguments);
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        let child = command
            .args(words)
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", &home)
            .envs(self.environment)
            .current_dir(&home)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second handle on the log"))
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} could not be started: {error}"));
        let mut server =
            Server { child, url: String::new(), home, log, _directory: self.directory };
        server.url = eventually_some(LONG, async || {
            let ended = server.child.try_wait().expect("a child to ask");
            assert!(ended.is_none(), "the server ended at its start: {ended:?}");
            // Written under another name and renamed: once it is there it is whole.
            std::fs::read_to_string(&ready).ok()
        })
        .await;
        server.url.truncate(server.url.trim_end().len());
        server
    }
}

impl Server {
    /// A server made from this program: `env!("CARGO_BIN_EXE_atoll")` in the program's own tests.
    ///
    /// # Panics
    /// When there is no temporary directory to be had.
    pub fn builder(binary: impl Into<PathBuf>) -> ServerBuilder {
        ServerBuilder {
            binary: binary.into(),
            wrapper: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            listen: "127.0.0.1:0".into(),
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    /// Starts a server with nothing special about it.
    pub async fn start(binary: impl Into<PathBuf>) -> Self {
        Self::builder(binary).start().await
    }

    /// Where it listens: `http://127.0.0.1:port`, or `unix:/path`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client of it.
    ///
    /// # Panics
    /// When its address cannot be one, which would be a mistake of the server's.
    pub fn client(&self) -> Client {
        Client::new(&self.url).expect("an address a client can use")
    }

    /// Its process, or its wrapper's.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it is gone already.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the server to be there");
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// When it has not within the deadline.
    pub async fn ended(&mut self, deadline: Duration) -> ExitStatus {
        eventually_some(deadline, async || self.child.try_wait().expect("a child to ask")).await
    }

    /// Asks it to stop and waits until it has.
    ///
    /// # Panics
    /// When it does not stop.
    pub async fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended(LONG).await
    }
}

/// The machine's own, after the Python that a sandbox has for the code it runs, where that was installed.
fn search_path() -> OsString {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/sandbox-python/bin");
    let mut path = own.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
        if std::thread::panicking() {
            eprintln!("--- log of the server at {} ---\n{}", self.url, self.log());
        }
    }
}
