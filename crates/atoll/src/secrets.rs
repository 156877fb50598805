//! The secrets the server is started with. A process's environment can be read by every process of the same user for as
//! long as it runs, and commands in the sandbox are such processes. So the server reads its secrets and starts itself
//! anew without them, before anything else exists; they travel through memory that no file names.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use atoll_auth::Secret;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Variables that hold a secret of the server.
const NAMES: [&str; 6] = [
    "SANDBOX_API_KEY",
    "AUTH_TOKEN",
    "JWT_SECRET",
    "EXTRA_MCP_SERVERS",
    "PROXY_SERVER",
    "ATOLL_SEARCH_KEY",
];
/// Says that the secrets are on standard input.
const HANDED_OVER: &str = "ATOLL_SECRETS";
/// Bytes the secrets may have together.
const MOST_BYTES: u64 = 1 << 20;

/// Secrets by the name of their variable.
#[derive(Debug, Default)]
pub(crate) struct Secrets(BTreeMap<String, Secret>);

impl Secrets {
    /// The secrets of this process, for `serve`. When they are in its environment it does not return: the program is
    /// started anew in this same process, without them.
    pub(crate) fn take() -> Self {
        if env::args_os().nth(1).is_none_or(|verb| verb != "serve") {
            return Self::default();
        }
        let taken = if env::var_os(HANDED_OVER).is_some_and(|place| place == "stdin") {
            read_handed_over()
        } else {
            hand_over()
        };
        let taken = taken.unwrap_or_else(|error| {
            eprintln!("atoll: the secrets in the environment could not be hidden: {error}");
            Self::from_environment()
        });
        if !taken.0.is_empty() {
            hide_memory();
        }
        taken
    }

    /// The secret a variable held.
    pub(crate) fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    fn from_environment() -> Self {
        let secret = |name: &str| {
            let value = Secret::new(env::var(name).ok()?.as_str());
            (!value.expose().is_empty()).then(|| (name.to_owned(), value))
        };
        Self(NAMES.into_iter().filter_map(secret).collect())
    }

    #[cfg(test)]
    pub(crate) fn of(list: &[(&str, &str)]) -> Self {
        let secret = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(value));
        Self(list.iter().map(secret).collect())
    }
}

/// Keeps other processes of the same user from reading this process's memory, and its memory out of core files.
pub(crate) fn hide_memory() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        eprintln!("atoll: this process's memory cannot be hidden from others of its user: {error}");
    }
}

/// Starts this program anew without its secrets in the environment; returns only when there are none, or on failure.
fn hand_over() -> io::Result<Secrets> {
    let secrets = Secrets::from_environment();
    if secrets.0.is_empty() {
        return Ok(secrets);
    }
    let plain: BTreeMap<_, _> =
        secrets.0.iter().map(|(name, secret)| (name, secret.expose())).collect();
    let mut memory = File::from(memfd_create("atoll-secrets", MemfdFlags::CLOEXEC)?);
    memory.write_all(&serde_json::to_vec(&plain)?)?;
    memory.rewind()?;
    // By its own path the process keeps its name; what was replaced on disk can still be had by the other.
    let program = env::current_exe().ok().filter(|path| path.exists());
    let mut arguments = env::args_os();
    let mut command = Command::new(program.unwrap_or_else(|| PathBuf::from("/proc/self/exe")));
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env(HANDED_OVER, "stdin").stdin(Stdio::from(memory));
    for name in NAMES {
        command.env_remove(name);
    }
    Err(command.exec())
}

/// Reads what was handed over; standard input is nothing from then on.
fn read_handed_over() -> io::Result<Secrets> {
    let mut text = String::new();
    io::stdin().lock().take(MOST_BYTES).read_to_string(&mut text)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let plain: BTreeMap<String, String> = serde_json::from_str(&text)?;
    let secrets = plain.into_iter().map(|(name, value)| (name, Secret::new(&value)));
    Ok(Secrets(secrets.collect()))
}
