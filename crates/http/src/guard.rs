//! Keeps web pages out: those of others must not drive this server by way of a browser.
//!
//! A page in somebody's browser can reach a server on that person's machine: by making its own name resolve here (DNS
//! rebinding, seen in `Host`) or by sending requests across origins (seen in `Origin` and `Sec-Fetch-Site`). Every
//! request is judged here before it is routed, WebSockets included, by its headers and path, never by its query. A
//! unix socket is out of a browser's reach and is not guarded. A server that asks everybody for a credential may be
//! addressed by any name, since a page under another name has none of its cookies; its origins are checked all the same.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode};

use crate::assets;
use crate::dialect::Failure;
use crate::listen::BoundAddress;
use crate::origin::host as reached_host;
use crate::preview::{Named, PATHS, named_port};

/// Seconds a browser may remember that an origin is allowed.
const PREFLIGHT_AGE: &str = "86400";
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
/// What a page may read beside the body.
const EXPOSED: &str = "x-request-id, content-disposition, etag";

/// Decides which requests are let in.
#[derive(Debug)]
pub(crate) struct Guard {
    reach: Reach,
    /// Whether everybody must show a credential.
    locked: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// The port this server listens on.
    port: Option<u16>,
}

/// Who can reach the listener.
#[derive(Debug, PartialEq, Eq)]
enum Reach {
    Unix,
    Loopback,
    Network,
}

/// What becomes of a request.
pub(crate) enum Verdict {
    /// It goes on; these headers are added to its answer. `own` is false when a browser sent it for a page that is
    /// neither ours nor listed: a cookie in it does not count.
    Admitted { headers: HeaderMap, own: bool },
    /// It asked whether it might come, and it may.
    Preflight(HeaderMap),
    /// It ends here.
    Refused(Failure),
}

impl Guard {
    pub(crate) fn new(
        address: &BoundAddress,
        hosts: &[String],
        origins: &[String],
        locked: bool,
    ) -> Self {
        let reach = match address {
            BoundAddress::Unix(_) => Reach::Unix,
            BoundAddress::Tcp(address) if address.ip().is_loopback() => Reach::Loopback,
            BoundAddress::Tcp(_) => Reach::Network,
        };
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let port = match address {
            BoundAddress::Unix(_) => None,
            BoundAddress::Tcp(address) => Some(address.port()),
        };
        Self { reach, locked, hosts: lower(hosts), origins: lower(origins), port }
    }

    /// The port of an app that a request names in its host. This server's own is none, and neither is it where the whole
    /// host is listed as this server's.
    pub(crate) fn named_port(&self, headers: &HeaderMap) -> Option<u16> {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let (name, _) = split_host(host)?;
        let (port, _) = named_port(name)?;
        let listed = |allowed: &String| {
            allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name)
        };
        (self.port != Some(port) && !self.hosts.iter().any(listed)).then_some(port)
    }

    /// Whether this server answers to a host: the whole, and the name alone.
    fn answers_to(&self, host: &str, name: &str) -> bool {
        is_loopback(name)
            || self.hosts.iter().any(|allowed| {
                allowed == "*" || *allowed == host || (*allowed == name && !allowed.contains(':'))
            })
    }

    pub(crate) fn judge<B>(&self, request: &Request<B>) -> Verdict {
        let own = self.is_own(request);
        if self.reach == Reach::Unix {
            return Verdict::Admitted { headers: HeaderMap::new(), own };
        }
        let judged = self.check_host(request);
        let named = request.extensions().get::<Named>().is_some();
        if judged.is_ok() && !named && assets::is_public(request.method(), request.uri().path()) {
            return Verdict::Admitted { headers: assets::for_anybody(), own };
        }
        let judged = judged.and_then(|host| self.check_origin(request, &host));
        match judged {
            Err(failure) => Verdict::Refused(failure),
            Ok(None) => Verdict::Admitted { headers: HeaderMap::new(), own },
            Ok(Some(origin)) => {
                let mut answer = HeaderMap::new();
                answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                answer.insert(header::VARY, HeaderValue::from_static("origin"));
                if is_preflight(request) {
                    permit(&mut answer, request.headers());
                    return Verdict::Preflight(answer);
                }
                let exposed = HeaderValue::from_static(EXPOSED);
                answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
                Verdict::Admitted { headers: answer, own }
            }
        }
    }

    /// Whether a request that a browser may have sent comes from a page of ours or of a listed origin. `*` lists none:
    /// it lets others call, but not with our cookies.
    fn is_own<B>(&self, request: &Request<B>) -> bool {
        let headers = request.headers();
        let Some(origin) = headers.get(header::ORIGIN) else {
            let followed = matches!(*request.method(), Method::GET | Method::HEAD);
            return !is_foreign(headers) || (followed && is_navigation(headers));
        };
        let origin = origin.to_str().map(str::to_ascii_lowercase).unwrap_or_default();
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        is_same(&origin, &host.unwrap_or_default().to_ascii_lowercase())
            || is_same(&origin, &reached_host(headers).to_ascii_lowercase())
            || (origin != "*" && self.origins.contains(&origin))
    }

    /// The host the request was meant for, in lower case, if it is one of ours.
    fn check_host<B>(&self, request: &Request<B>) -> Result<String, Failure> {
        let mut sent = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (sent.next(), sent.next()) else {
            return Err(bad_host("a request must carry exactly one Host header"));
        };
        let Some(host) = host.to_str().ok().map(str::to_ascii_lowercase) else {
            return Err(bad_host("the Host header is not readable"));
        };
        // An absolute request target overrides Host for some servers: two different answers are an attack.
        let target = request.uri().authority();
        if target.is_some_and(|target| !target.as_str().eq_ignore_ascii_case(&host)) {
            return Err(bad_host("the request target and the Host header name different hosts"));
        }
        let Some((name, port)) = split_host(&host) else {
            return Err(bad_host("the Host header is not a host name with an optional port"));
        };
        let checked = (self.reach == Reach::Loopback && !self.locked) || !self.hosts.is_empty();
        // An app is named before a host of ours, or before a name that browsers take for this machine.
        let for_app = named_port(name).is_some_and(|(_, rest)| {
            let behind = host.get(name.len() - rest.len()..).unwrap_or_default();
            self.answers_to(behind, rest) || rest.ends_with(".localhost")
        });
        if checked && !self.answers_to(&host, name) && !for_app {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            let failure = Failure::new(
                StatusCode::FORBIDDEN,
                "guard.host",
                format!(
                    "this server answers only when addressed as localhost{port}, 127.0.0.1{port} or a name it was \
                     given, not as {name}"
                ),
            );
            return Err(
                failure.with_hint("If this is wanted, add the name to the server's allowed hosts.")
            );
        }
        Ok(host)
    }

    /// The value of `Access-Control-Allow-Origin`, if another origin calls and may.
    fn check_origin<B>(
        &self,
        request: &Request<B>,
        host: &str,
    ) -> Result<Option<HeaderValue>, Failure> {
        let headers = request.headers();
        let any = self.origins.iter().any(|allowed| allowed == "*");
        let mut sent = headers.get_all(header::ORIGIN).iter();
        let Some(value) = sent.next() else {
            return if !any && is_foreign_load(request) {
                Err(foreign("another web page"))
            } else {
                Ok(None)
            };
        };
        let origin = value.to_str().map(str::to_ascii_lowercase).unwrap_or_default();
        if sent.next().is_some() || origin.is_empty() {
            return Err(foreign("an unreadable origin"));
        }
        // A page cannot set the second by itself: the browser would ask first, and be refused.
        if is_same(&origin, host) || is_same(&origin, &reached_host(headers).to_ascii_lowercase()) {
            return Ok(None);
        }
        if any || self.origins.contains(&origin) {
            return Ok(Some(value.clone()));
        }
        Err(foreign(&origin))
    }
}

fn bad_host(message: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "guard.host", message)
}

fn foreign(origin: &str) -> Failure {
    let failure = Failure::new(
        StatusCode::FORBIDDEN,
        "guard.origin",
        format!("{origin} may not call this server from a browser"),
    );
    failure.with_hint("If this is wanted, add the origin to the server's allowed origins.")
}

/// Name and port of a host; nothing else may be in it.
fn split_host(host: &str) -> Option<(&str, Option<&str>)> {
    let name_end = if host.starts_with('[') {
        host.find(']')? + 1
    } else {
        host.find(':').unwrap_or(host.len())
    };
    let (name, rest) = host.split_at(name_end);
    let port = match rest.strip_prefix(':') {
        Some(port) if port.parse::<u16>().is_ok() => Some(port),
        None if rest.is_empty() => None,
        _ => return None,
    };
    let inner = name.trim_start_matches('[').trim_end_matches(']');
    let readable = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    (!inner.is_empty() && inner.bytes().all(readable)).then_some((name, port))
}

/// Whether a name always means this machine. A trailing dot makes a name the resolver's business.
fn is_loopback(name: &str) -> bool {
    let bracketed = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name == "localhost"
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || bracketed
            .and_then(|name| name.parse::<Ipv6Addr>().ok())
            .is_some_and(|address| address.is_loopback())
}

/// Whether an origin is the host itself, default ports aside.
fn is_same(origin: &str, host: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    let default = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let plain = |host: &str| host.strip_suffix(default).unwrap_or(host).to_owned();
    plain(authority) == plain(host)
}

/// Whether a page of another origin loads this as an image, script or the like: browsers send no `Origin` then, but
/// newer ones say so in `Sec-Fetch-Site`. Following a link is allowed, and so are the pages' own files.
fn is_foreign_load<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let path = request.uri().path();
    let guarded = path.starts_with("/v1/")
        || request.extensions().get::<Named>().is_some()
        || PATHS.iter().any(|app| path.starts_with(app));
    guarded && is_foreign(headers) && !is_navigation(headers)
}

/// Whether a browser says that a page of another origin made it ask.
fn is_foreign(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    matches!(site, Some(b"cross-site" | b"same-site"))
}

/// Whether a browser says that it goes to another page.
fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode.as_bytes() == b"navigate")
}

fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn permit(answer: &mut HeaderMap, asked: &HeaderMap) {
    answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    if let Some(headers) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, headers.clone());
    }
    let age = HeaderValue::from_static(PREFLIGHT_AGE);
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, age);
}

#[cfg(test)]
mod tests;
