//! Mappings: what is asked for under one name is answered by another address, usually a port of this machine.
//!
//! A path can only be told apart in plain HTTP. Behind TLS, and in any tunnel, only host and port are seen: mappings with
//! a path do not count there, and the bytes go to the target as they are, so it must speak TLS itself.

use std::fmt;

use thiserror::Error;

use crate::host::{Host, split_port};
use crate::rule::wild;

/// Characters of a source or a target.
const LONGEST: usize = 2000;

/// A mapping that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MappingError {
    /// Of its source.
    #[error(
        "the source {0:?} cannot be used: write [http:// or https://]host[:port][/path], where a * may stand in the host and \
         at the end of the path"
    )]
    Source(String),
    /// Of its target.
    #[error(
        "the target {0:?} cannot be used: write [host:]port[/path], as in 3000, 127.0.0.1:3000 or :8081/v1/"
    )]
    Target(String),
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked<'a> {
    /// The host.
    pub(crate) host: &'a Host,
    /// The port.
    pub(crate) port: u16,
    /// The path with the query, where it is seen.
    pub(crate) path: Option<&'a str>,
}

/// One mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// As it was written, without white space round it.
    pub source: String,
    /// The same of the target.
    pub target: String,
    key: Source,
    to: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    secure: Option<bool>,
    host: String,
    port: Option<u16>,
    path: String,
    /// Whether the path ends with a star, which takes in any text; whole segments otherwise.
    open: bool,
}

/// Where a mapping leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: Host,
    pub(crate) port: u16,
    path: Option<String>,
}

impl Mapping {
    /// Reads one.
    pub fn parse(source: &str, target: &str) -> Result<Self, MappingError> {
        let (source, target) = (source.trim(), target.trim());
        let key = Source::parse(source).ok_or_else(|| MappingError::Source(short(source)))?;
        let to = Target::parse(target).ok_or_else(|| MappingError::Target(short(target)))?;
        Ok(Self { source: source.to_owned(), target: target.to_owned(), key, to })
    }

    /// The host of the source, with its stars.
    pub fn source_host(&self) -> &str {
        &self.key.host
    }

    /// The path of the source, `/` for all.
    pub fn source_path(&self) -> String {
        let star = if self.key.open && self.key.path != "/" { "*" } else { "" };
        format!("{}{star}", self.key.path)
    }

    /// Whether both are about the same requests, however they are written.
    pub fn is_for(&self, source: &str) -> bool {
        Source::parse(source.trim()).is_some_and(|key| key == self.key)
    }

    /// Whether this is what is asked for.
    pub(crate) fn fits(&self, asked: Asked<'_>) -> bool {
        let host = match asked.host {
            Host::Name(name) => wild(&self.key.host, name),
            address @ Host::Address(_) => wild(&self.key.host, &address.to_string()),
        };
        let port = self.key.port.is_none_or(|port| port == asked.port);
        // In a tunnel only the port tells.
        let secure = match asked.path {
            Some(_) => Some(false),
            None => (asked.port == 80 || asked.port == 443).then_some(asked.port == 443),
        };
        let scheme = self.key.secure.is_none_or(|own| secure.is_none_or(|asked| asked == own));
        let path = asked.path.map_or(self.key.path == "/", |path| self.key.holds(path));
        host && port && scheme && path
    }

    /// How exact it is: of several that fit, the most exact counts.
    pub(crate) fn exactness(&self) -> (bool, usize, usize, bool, bool) {
        let Source { host, path, port, secure, .. } = &self.key;
        let plain = host.bytes().filter(|byte| *byte != b'*').count();
        (!host.contains('*'), plain, path.len(), port.is_some(), secure.is_some())
    }

    pub(crate) fn to(&self) -> &Target {
        &self.to
    }

    /// What to ask the target for in place of this path.
    pub(crate) fn path(&self, asked: &str) -> String {
        let Some(base) = &self.to.path else {
            return asked.to_owned();
        };
        let rest = asked.strip_prefix(self.key.path.as_str()).unwrap_or_default();
        if rest.is_empty() || rest.starts_with('?') {
            return format!("{base}{rest}");
        }
        format!("{}/{}", base.trim_end_matches('/'), rest.trim_start_matches('/'))
    }

    /// The target with its path.
    pub(crate) fn resolved(&self, asked: Option<&str>) -> String {
        let path = asked
            .filter(|path| *path != "/")
            .map_or_else(|| self.to.path.clone().unwrap_or_default(), |path| self.path(path));
        format!("{}:{}{path}", self.to.host, self.to.port)
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.source, self.target)
    }
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

fn is_path(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_graphic() && !b"#?\\\"<>".contains(&byte))
}

impl Source {
    fn parse(text: &str) -> Option<Self> {
        let (secure, rest) = match text.split_once("://") {
            None => (None, text),
            Some((scheme, rest)) => match scheme.to_ascii_lowercase().as_str() {
                "http" | "ws" => (Some(false), rest),
                "https" | "wss" => (Some(true), rest),
                _ => return None,
            },
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (host, port) = split_port(authority);
        let port = port.map(port_number).map_or(Some(None), |port| port.map(Some))?;
        // Stars stand for what names are made of.
        Host::parse(&host.replace('*', "x"))?;
        let host = match Host::parse(host) {
            Some(host) => host.to_string(),
            None => host.to_ascii_lowercase(),
        };
        let open = path.ends_with('*');
        let path = path.strip_suffix('*').unwrap_or(path);
        let fits = text.len() <= LONGEST && is_path(path) && !path.contains('*');
        fits.then(|| Self { secure, host, port, path: path.to_owned(), open: open || path == "/" })
    }

    fn holds(&self, asked: &str) -> bool {
        let Some(rest) = asked.strip_prefix(self.path.as_str()) else {
            return false;
        };
        self.open || self.path.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?'])
    }
}

impl Target {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("http://").unwrap_or(text);
        let (authority, path) = match text.find('/') {
            Some(at) => (&text[..at], Some(&text[at..])),
            None => (text, None),
        };
        let (host, port) = match split_port(authority) {
            (host, Some(port)) => (host, port),
            (port, None) => ("", port),
        };
        let host = Host::parse(if host.is_empty() { "127.0.0.1" } else { host })?;
        let port = port_number(port)?;
        let fits =
            text.len() <= LONGEST && path.is_none_or(|path| is_path(path) && !path.contains('*'));
        fits.then(|| Self { host, port, path: path.map(str::to_owned) })
    }
}

fn port_number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(source: &str, host: &str, port: u16, path: Option<&str>) -> bool {
        let host = Host::parse(host).unwrap();
        Mapping::parse(source, "3000").unwrap().fits(Asked { host: &host, port, path })
    }

    #[test]
    fn a_source_takes_in_what_it_names() {
        assert!(fits("myapp.test", "MyApp.test", 80, Some("/x")));
        assert!(fits("myapp.test", "myapp.test", 443, None));
        assert!(!fits("myapp.test", "www.myapp.test", 80, Some("/")));
        assert!(fits("*.myapp.test", "www.myapp.test", 80, Some("/")));
        assert!(fits("myapp.test:8080", "myapp.test", 8080, None));
        assert!(!fits("myapp.test:8080", "myapp.test", 80, None));
        assert!(fits("https://myapp.test", "myapp.test", 443, None));
        assert!(!fits("https://myapp.test", "myapp.test", 80, Some("/")));
        assert!(!fits("http://myapp.test", "myapp.test", 443, None));
        assert!(fits("1.2.3.4", "1.2.3.4", 80, Some("/")));
    }

    #[test]
    fn paths_are_told_apart_by_segments_unless_they_end_with_a_star() {
        assert!(fits("a.test/v1", "a.test", 80, Some("/v1")));
        assert!(fits("a.test/v1", "a.test", 80, Some("/v1?x=1")));
        assert!(fits("a.test/v1", "a.test", 80, Some("/v1/x")));
        assert!(!fits("a.test/v1", "a.test", 80, Some("/v12")));
        assert!(fits("a.test/v1*", "a.test", 80, Some("/v12")));
        assert!(fits("a.test/v1/*", "a.test", 80, Some("/v1/x")));
        assert!(!fits("a.test/v1/*", "a.test", 80, Some("/v2")));
        assert!(!fits("a.test/v1/*", "a.test", 443, None), "a tunnel shows no path");
    }

    #[test]
    fn a_targets_path_takes_the_place_of_the_sources() {
        let path = |source: &str, target: &str, asked: &str| {
            Mapping::parse(source, target).unwrap().path(asked)
        };
        assert_eq!(path("a.test", ":3000", "/x?y=1"), "/x?y=1");
        assert_eq!(path("a.test/v1/*", ":3000", "/v1/x"), "/v1/x");
        assert_eq!(path("a.test/v1/*", "127.0.0.1:8081/v1/", "/v1/x?y"), "/v1/x?y");
        assert_eq!(path("a.test/v1/*", ":8081/", "/v1/x"), "/x");
        assert_eq!(path("a.test/v1", ":8081/api", "/v1"), "/api");
        assert_eq!(path("a.test/v1", ":8081/api", "/v1?x"), "/api?x");
        assert_eq!(path("a.test", ":8081/base/", "/x"), "/base/x");
    }

    #[test]
    fn the_same_source_is_known_however_it_is_written() {
        let mapping = Mapping::parse("MyApp.test", "3000").unwrap();
        assert!(mapping.is_for("myapp.TEST/") && mapping.is_for(" myapp.test. "));
        assert!(mapping.is_for("myapp.test/*") && !mapping.is_for("myapp.test/x"));
        assert!(!mapping.is_for("http://myapp.test"));
        let exact = Mapping::parse("a.x.test", "1").unwrap().exactness();
        assert!(exact > Mapping::parse("*.x.test/longer/path", "1").unwrap().exactness());
    }

    #[test]
    fn targets_are_ports_of_this_machine_unless_they_name_another() {
        let target = |text: &str| Mapping::parse("a.test", text).unwrap().resolved(None);
        assert_eq!(target("3000"), "127.0.0.1:3000");
        assert_eq!(target(":3000/x/"), "127.0.0.1:3000/x/");
        assert_eq!(target("192.168.1.5:3000"), "192.168.1.5:3000");
        assert_eq!(target("http://localhost:3000"), "localhost:3000");
        assert_eq!(target("[::1]:3000"), "[::1]:3000");
    }

    #[test]
    fn what_cannot_be_a_mapping_is_refused() {
        let long = format!("a.test/{}", "x".repeat(3000));
        for source in ["", "ftp://a", "a b", "a.test:0", "a.test:99999", "a/*/b", "a?x", &long] {
            assert!(Mapping::parse(source, "3000").is_err(), "{source:?}");
        }
        for target in ["", ":", "0", "70000", "a.test", "a.test:", "3000/a b", "3000/*"] {
            assert!(Mapping::parse("a.test", target).is_err(), "{target:?}");
        }
    }
}
