//! How the caller reached us: the address its links must carry.
//!
//! Behind proxies the address comes from `X-Forwarded-*`. Those headers end up in links handed to agents, so only
//! plain characters are taken from them; anything else is as if it had not been sent.

use std::borrow::Cow;

use atoll_operation::{Context, InputShape};
use axum::http::Uri;
use axum::http::header::{self, HeaderMap};

use crate::credential::is_key;

/// What a capability may know about this request.
pub(crate) fn context(
    request_id: &str,
    headers: &HeaderMap,
    uri: &Uri,
    shape: &InputShape,
) -> Context {
    let resume_after = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    Context::new(request_id)
        .through("rest")
        .reached_at(reached_at(headers), kept_query(uri, shape))
        .resuming_after(resume_after.map(str::to_owned))
}

pub(crate) fn reached_at(headers: &HeaderMap) -> String {
    format!("{}://{}{}", protocol(headers), host(headers), prefix(headers))
}

/// `http` or `https`.
pub(crate) fn protocol(headers: &HeaderMap) -> &'static str {
    match first(headers, "x-forwarded-proto") {
        Some("https" | "wss") => "https",
        _ => "http",
    }
}

/// The host the caller asked for.
pub(crate) fn host(headers: &HeaderMap) -> &str {
    let plain = |host: &&str| is_plain(host, ".-_:[]");
    first(headers, "x-forwarded-host")
        .filter(plain)
        .or_else(|| first(headers, header::HOST.as_str()).filter(plain))
        .unwrap_or("localhost")
}

/// The path a proxy in front took off, without a slash at its end; empty when there is none.
pub(crate) fn prefix(headers: &HeaderMap) -> &str {
    first(headers, "x-forwarded-prefix")
        .map(|prefix| prefix.trim_end_matches('/'))
        .filter(|prefix| {
            prefix.starts_with('/') && !prefix.starts_with("//") && is_plain(prefix, "/.-_~%")
        })
        .unwrap_or_default()
}

/// The value the proxy nearest to the caller set.
fn first<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().ok()?;
    value.split(',').next().map(str::trim)
}

fn is_plain(text: &str, besides: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|char| char.is_ascii_alphanumeric() || besides.contains(char))
}

/// The query without the operation's own parameters: tickets and routing hints that links must keep.
fn kept_query(uri: &Uri, shape: &InputShape) -> String {
    let Some(query) = uri.query() else {
        return String::new();
    };
    let foreign = |part: &&str| {
        let name = form_urlencoded::parse(part.as_bytes()).next();
        let name = name.map_or(Cow::Borrowed(""), |(name, _)| name);
        // A key would outlive the page the link leads to; tickets are made for links.
        !part.is_empty() && !shape.declares(&name) && !is_key(part)
    };
    query.split('&').filter(foreign).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use atoll_api::bash::AttachBash;
    use atoll_operation::Declaration;

    fn link(headers: &[(&'static str, &str)], uri: &str) -> String {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let shape = InputShape::of(&Declaration::of_conversation::<AttachBash>());
        context("id", &headers, &uri.parse().unwrap(), &shape).link("/terminal", &[])
    }

    #[test]
    fn links_lead_back_the_way_the_request_came() {
        let host = ("host", "localhost:8080");
        assert_eq!(link(&[host], "/x"), "http://localhost:8080/terminal");
        assert_eq!(link(&[], "/x"), "http://localhost/terminal");
        let proxied = [
            host,
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "box.example, inner"),
            ("x-forwarded-prefix", "/sandbox/one/"),
        ];
        assert_eq!(link(&proxied, "/x"), "https://box.example/sandbox/one/terminal");
    }

    #[test]
    fn forwarded_headers_cannot_smuggle_text_into_links() {
        let hostile = [
            ("host", "localhost"),
            ("x-forwarded-proto", "javascript"),
            ("x-forwarded-host", "evil.test/\"><script>"),
            ("x-forwarded-prefix", "//evil.test"),
        ];
        assert_eq!(link(&hostile, "/x"), "http://localhost/terminal");
    }

    #[test]
    fn links_keep_the_query_but_not_the_operations_own_parameters() {
        let host = ("host", "h");
        assert_eq!(
            link(&[host], "/x?ticket=a%20b&session%5Fid=s&&route=r&api_key=k"),
            "http://h/terminal?ticket=a%20b&route=r"
        );
    }
}
