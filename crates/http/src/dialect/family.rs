//! Which family of clients a request is from.
//!
//! Two families share paths and differ in what they expect there. A request says whose it is by headers its SDK sends
//! anyway, looked at in one order: a Fern SDK names its language, which only AIO's SDKs are; a session, a workspace or
//! Go's own user agent are deep-agent's. Everybody else is plain and gets what the document promises.

use axum::http::header::{self, HeaderMap};

const FERN: &str = "x-fern-language";
pub(super) const SESSION: &str = "x-session-id";
pub(super) const WORKSPACE: &str = "x-workspace";
const GO: &str = "Go-http-client";

/// A family of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// AIO Sandbox's SDKs.
    Aio,
    /// deep-agent's SDK.
    DeepAgent,
    /// Neither, as far as one can tell: curl, a browser, our own client.
    Plain,
}

impl Family {
    /// The family of whoever sends these headers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if headers.contains_key(FERN) {
            return Self::Aio;
        }
        let agent = headers.get(header::USER_AGENT).map_or(&b""[..], |agent| agent.as_bytes());
        let theirs = [SESSION, WORKSPACE].iter().any(|name| headers.contains_key(*name));
        if theirs || agent.starts_with(GO.as_bytes()) { Self::DeepAgent } else { Self::Plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_by_its_headers_fern_first() {
        use Family::{Aio, DeepAgent, Plain};
        let go = ("user-agent", "Go-http-client/1.1");
        let fern = ("x-fern-language", "Python");
        let table: &[(&[(&'static str, &'static str)], Family)] = &[
            (&[], Plain),
            (&[("user-agent", "curl/8.5.0")], Plain),
            (&[("user-agent", "python-httpx/0.28")], Plain),
            (&[("user-agent", "my-Go-http-client/1.1")], Plain),
            (&[("x-log-id", "1")], Plain),
            (&[("x-request-id", "1")], Plain),
            (&[go], DeepAgent),
            (&[("user-agent", "Go-http-client/2.0")], DeepAgent),
            (&[("x-session-id", "s")], DeepAgent),
            (&[("x-workspace", "/w")], DeepAgent),
            (&[("x-session-id", "s"), ("user-agent", "curl/8.5.0")], DeepAgent),
            (&[fern], Aio),
            (&[fern, go], Aio),
            (&[fern, ("x-session-id", "s"), ("x-workspace", "/w")], Aio),
            (&[("x-fern-language", "Go"), go], Aio),
        ];
        for (headers, family) in table {
            let map = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect();
            assert_eq!(Family::of(&map), *family, "{headers:?}");
        }
    }
}
