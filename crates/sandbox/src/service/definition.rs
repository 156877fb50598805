//! What a user has set up: one program and the rules by which it runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

/// A service of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) title: Option<String>,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// Where it runs; the workspace otherwise.
    pub(super) directory: Option<PathBuf>,
    /// Beside what every program gets.
    pub(super) environment: BTreeMap<String, String>,
    /// Whom it runs as; the server's own user otherwise.
    pub(super) user: Option<String>,
    /// Whether it starts with the server.
    pub(super) autostart: bool,
    pub(super) restart: Restart,
    /// Codes with which it ends as it should.
    pub(super) exit_codes: Vec<i32>,
    /// Lower ones start earlier and stop later.
    pub(super) priority: i64,
    /// How long it must run to be taken for up.
    pub(super) start_time: Duration,
    /// How often it is tried again when it does not come up.
    pub(super) start_retries: u32,
    pub(super) stop_signal: i32,
    /// Whether the signal goes to its process group instead of its process.
    pub(super) stop_group: bool,
    /// How long it may take to end.
    pub(super) stop_time: Duration,
    /// Where its output goes beside the log that is kept here.
    pub(super) stdout: Destination,
    pub(super) stderr: Destination,
    /// The port its pages are on.
    pub(super) port: Option<u16>,
}

/// When it is started again by itself, once it was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Restart {
    Always,
    /// When it ended as it should not.
    Unexpected,
    Never,
}

/// Where output goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Destination {
    /// Nowhere else.
    #[default]
    Nowhere,
    /// Where the other stream goes.
    Together,
    /// To the server's own output.
    ServerOutput,
    /// To the server's own errors.
    ServerErrors,
    /// To a file that is begun anew when it has become this large; this many old ones are kept.
    File { path: PathBuf, most_bytes: u64, backups: u32 },
}

/// When nobody says, as supervisord has it.
pub(super) const LOG_BYTES: u64 = 50 << 20;
pub(super) const LOG_BACKUPS: u32 = 10;
/// Old log files that may be kept.
pub(super) const MOST_BACKUPS: u32 = 100;
/// The longest time a file can ask for.
pub(super) const LONGEST: Duration = Duration::from_hours(24);

impl Definition {
    /// A service of which only name and command were said.
    pub(super) fn new(name: String, command: Vec<String>) -> Self {
        Self {
            name,
            title: None,
            command,
            directory: None,
            environment: BTreeMap::new(),
            user: None,
            autostart: true,
            restart: Restart::Unexpected,
            exit_codes: vec![0],
            priority: 999,
            start_time: Duration::from_secs(1),
            start_retries: 3,
            stop_signal: Signal::TERM.as_raw(),
            stop_group: false,
            stop_time: Duration::from_secs(10),
            stdout: Destination::Nowhere,
            stderr: Destination::Nowhere,
            port: None,
        }
    }
}

/// Names become parts of addresses and of files' names.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if starts && name.len() <= 64 && name.bytes().all(valid) {
        return Ok(());
    }
    Err(format!(
        "{name:?} cannot be the name of a service; use up to 64 letters, digits, '.', '_' and '-', beginning with a \
         letter or digit"
    ))
}

/// A signal by its name, with or without `SIG`, or by its number.
pub(super) fn signal(text: &str) -> Result<i32, String> {
    let known = [
        ("TERM", Signal::TERM),
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("KILL", Signal::KILL),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
        ("WINCH", Signal::WINCH),
    ];
    let name = text.trim().to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let by_number = |signal: &Signal| Ok(signal.as_raw()) == name.parse();
    known
        .into_iter()
        .find(|(known, signal)| *known == name || by_number(signal))
        .map(|(_, signal)| signal.as_raw())
        .ok_or_else(|| {
            let names = known.map(|(known, _)| known).join(", ");
            format!("{text:?} is no signal to stop with; use one of {names}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_go_by_name_and_number() {
        assert_eq!(signal("TERM"), Ok(15));
        assert_eq!(signal("sigint"), Ok(2));
        assert_eq!(signal(" 9 "), Ok(9));
        assert!(signal("STOPIT").is_err() && signal("").is_err() && signal("77").is_err());
    }

    #[test]
    fn names_fit_into_addresses() {
        for good in ["web", "a.b-c_9", "9"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "-x", "a b", "a/b", "ä", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
