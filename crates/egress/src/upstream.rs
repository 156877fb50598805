//! The proxy behind this one: where it is, and what it is told about who asks.
//!
//! A password is never shown: not by `Debug`, not in an error, not by [`Upstream::credentials_shown`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::future::BoxFuture;
use percent_encoding::percent_decode_str;
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::host::{Host, split_port};

/// What is shown in place of a password.
pub const MASK: &str = "***";
/// How long a command that failed is not run again, so that a page's many connections do not all wait for it.
const AFTER_FAILURE: Duration = Duration::from_secs(2);
/// Characters of an address with all it carries, and of a name or password.
const LONGEST: usize = 4000;

/// Runs the command that tells credentials, within bounds of its own, and returns what it printed.
pub trait RunCommand: fmt::Debug + Send + Sync {
    /// What it printed, or why it could not be run; the text must not hold what it printed.
    fn run(&self, command: String) -> BoxFuture<'_, Result<String, String>>;
}

/// An upstream that cannot be one. What was written is not repeated: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UpstreamError {
    /// Of its address.
    #[error(
        "the upstream proxy cannot be used: write host:port, user:password@host:port, or either behind http://, socks5:// or \
         socks5h://"
    )]
    Address,
    /// Of the command.
    #[error("the command that tells the proxy's credentials failed: {0}")]
    Command(String),
}

/// What a proxy speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP.
    Http,
    /// SOCKS5; names are resolved there.
    Socks,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub username: String,
    pub(crate) password: Option<String>,
}

impl Credentials {
    /// Reads `name:password`. Either may hold anything but a line's end.
    fn parse(text: &str) -> Option<Self> {
        let (username, password) = match text.split_once(':') {
            Some((username, password)) => (username, Some(password.to_owned())),
            None => (text, None),
        };
        let sound = !username.is_empty() && text.len() <= LONGEST;
        let printable = !text.chars().any(char::is_control);
        (sound && printable).then(|| Self { username: username.to_owned(), password })
    }

    /// As HTTP wants them.
    pub(crate) fn header(&self) -> String {
        let password = self.password.as_deref().unwrap_or_default();
        format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{password}", self.username)))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// A proxy behind this one.
#[derive(Clone)]
pub struct Upstream {
    /// What it speaks.
    pub protocol: Protocol,
    /// Where it is.
    pub host: Host,
    /// Its port.
    pub port: u16,
    credentials: Option<Credentials>,
    command: Option<Arc<Command>>,
}

struct Command {
    line: String,
    told: Mutex<Told>,
}

enum Told {
    Nothing,
    Credentials(Credentials),
    Failure { at: Instant, why: String },
}

impl Upstream {
    /// Reads one; `command` prints the credentials and takes the place of those in the address.
    pub fn parse(server: &str, command: Option<&str>) -> Result<Self, UpstreamError> {
        Self::read(server.trim(), command).ok_or(UpstreamError::Address)
    }

    fn read(server: &str, command: Option<&str>) -> Option<Self> {
        if server.len() > LONGEST {
            return None;
        }
        let (scheme, rest) = server.split_once("://").unwrap_or(("http", server));
        let (protocol, usual) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Protocol::Http, 80),
            "socks5" | "socks5h" | "socks" => (Protocol::Socks, 1080),
            _ => return None,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // A password may hold an @ that nobody encoded.
        let (user, address) = match rest.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, rest),
        };
        let (host, port) = split_port(address);
        let port = port.map_or(Some(usual), |port| port.parse().ok().filter(|port| *port > 0))?;
        let host = Host::parse(host)?;
        let credentials = match user {
            None => None,
            Some(user) => {
                let (name, password) = match user.split_once(':') {
                    Some((name, password)) => (name, Some(password)),
                    None => (user, None),
                };
                let decoded =
                    |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
                let text = match password {
                    Some(password) => format!("{}:{}", decoded(name), decoded(password)),
                    None => decoded(name),
                };
                Some(Credentials::parse(&text)?)
            }
        };
        let command = command.map(str::trim).filter(|command| !command.is_empty()).map(|line| {
            Arc::new(Command { line: line.to_owned(), told: Mutex::new(Told::Nothing) })
        });
        Some(Self { protocol, host, port, credentials, command })
    }

    /// Its address: `host:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Whether a command tells the credentials.
    pub fn has_command(&self) -> bool {
        self.command.is_some()
    }

    /// Who asks there, as it may be shown: the name, and a mask where there is a password.
    pub async fn credentials_shown(&self) -> Option<(String, Option<&'static str>)> {
        let told = match &self.command {
            None => self.credentials.clone(),
            Some(command) => match &*command.told.lock().await {
                Told::Credentials(credentials) => Some(credentials.clone()),
                _ => None,
            },
        };
        told.map(|told| (told.username, told.password.map(|_| MASK)))
    }

    /// Who asks. Runs the command if need be; several that ask at once wait for one run.
    pub async fn credentials(
        &self,
        runner: &dyn RunCommand,
    ) -> Result<Option<Credentials>, UpstreamError> {
        let Some(command) = &self.command else {
            return Ok(self.credentials.clone());
        };
        let mut told = command.told.lock().await;
        match &*told {
            Told::Credentials(credentials) => return Ok(Some(credentials.clone())),
            Told::Failure { at, why } if at.elapsed() < AFTER_FAILURE => {
                return Err(UpstreamError::Command(why.clone()));
            }
            _ => {}
        }
        let read = runner.run(command.line.clone()).await.and_then(|printed| {
            let line = printed.trim_matches(['\r', '\n']);
            Credentials::parse(line)
                .filter(|credentials| credentials.password.is_some())
                .ok_or_else(|| "it must print one line, name:password".to_owned())
        });
        match read {
            Ok(credentials) => {
                *told = Told::Credentials(credentials.clone());
                Ok(Some(credentials))
            }
            Err(why) => {
                *told = Told::Failure { at: Instant::now(), why: why.clone() };
                Err(UpstreamError::Command(why))
            }
        }
    }

    /// Forgets what the command told, because the proxy refused exactly that. Says whether asking again can help.
    pub(crate) async fn refused(&self, used: Option<&Credentials>) -> bool {
        let Some(command) = &self.command else {
            return false;
        };
        let mut told = command.told.lock().await;
        if let Told::Credentials(known) = &*told
            && Some(known) == used
        {
            *told = Told::Nothing;
        }
        true
    }
}

/// Neither credentials nor the command, which may hold some.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("protocol", &self.protocol)
            .field("address", &self.address())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Prints another password each time.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    impl RunCommand for Counting {
        fn run(&self, command: String) -> BoxFuture<'_, Result<String, String>> {
            let run = self.0.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                match command.as_str() {
                    "good" => Ok(format!("agent:pass{run}\n")),
                    "two lines" => Ok("agent:secret\nmore".to_owned()),
                    _ => Err("it ended with code 1".to_owned()),
                }
            })
        }
    }

    #[test]
    fn all_usual_spellings_are_read() {
        let read = |text: &str| {
            let upstream = Upstream::parse(text, None).unwrap();
            let user = upstream.credentials.map(|told| (told.username, told.password));
            (upstream.protocol, format!("{}:{}", upstream.host, upstream.port), user)
        };
        let pair = |name: &str, word: &str| Some((name.to_owned(), Some(word.to_owned())));
        assert_eq!(read("p.test:3128"), (Protocol::Http, "p.test:3128".to_owned(), None));
        assert_eq!(read("http://p.test:3128/").1, "p.test:3128");
        assert_eq!(read("p.test").1, "p.test:80");
        assert_eq!(read("u:p@p.test:1"), (Protocol::Http, "p.test:1".to_owned(), pair("u", "p")));
        assert_eq!(read("u:p%40%3a@p.test:1").2, pair("u", "p@:"));
        assert_eq!(read("u:p@ss@p.test:1").2, pair("u", "p@ss"));
        assert_eq!(read("socks5h://[::1]").1, "[::1]:1080");
        assert_eq!(read("SOCKS5://a:1").0, Protocol::Socks);
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_repeating_it() {
        for text in
            ["", "u:hunter2@", "https://u:hunter2@p", "p:0", "p:port", "a b:1", "u:x\ny@p:1"]
        {
            let error = Upstream::parse(text, None).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let shown = format!("{:?}", Upstream::parse("u:hunter2@p.test:1", Some("echo x")).unwrap());
        assert!(!shown.contains("hunter2") && !shown.contains("echo"), "{shown}");
    }

    #[tokio::test]
    async fn a_command_is_run_once_and_again_when_what_it_told_is_refused() {
        let runner = Counting::default();
        let upstream = Upstream::parse("old:word@p.test:1", Some("good")).unwrap();
        assert_eq!(upstream.credentials_shown().await, None);
        let first = upstream.credentials(&runner).await.unwrap().unwrap();
        assert_eq!(first.password.as_deref(), Some("pass0"));
        assert_eq!(upstream.credentials(&runner).await.unwrap().unwrap(), first);
        assert_eq!(upstream.credentials_shown().await, Some(("agent".to_owned(), Some(MASK))));
        assert!(upstream.refused(Some(&first)).await);
        let second = upstream.credentials(&runner).await.unwrap().unwrap();
        assert_eq!(second.password.as_deref(), Some("pass1"));
        upstream.refused(Some(&first)).await;
        assert_eq!(upstream.credentials(&runner).await.unwrap().unwrap(), second);
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_that_fails_says_so_and_is_not_run_at_once_again() {
        let runner = Counting::default();
        for (command, said) in [("bad", "code 1"), ("two lines", "one line")] {
            let upstream = Upstream::parse("p.test:1", Some(command)).unwrap();
            for _ in 0..3 {
                let error = upstream.credentials(&runner).await.unwrap_err().to_string();
                assert!(error.contains(said) && !error.contains("secret"), "{error}");
            }
        }
        assert_eq!(runner.0.load(Ordering::Relaxed), 2);
    }
}
