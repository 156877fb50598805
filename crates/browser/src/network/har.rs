//! The log as HTTP Archive 1.2, as browsers' developer tools write and read it.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::exchange::{Exchange, HeaderList, Response};
use super::log::Page;

/// A body to go with an exchange.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) text: String,
    pub(super) base64: bool,
}

/// The archive of these exchanges; bodies by position.
pub(super) fn archive(
    exchanges: &[Exchange],
    pages: &BTreeMap<u64, Page>,
    bodies: &HashMap<usize, Body>,
    browser: &str,
) -> Value {
    let used = |number: &u64| exchanges.iter().any(|exchange| exchange.page == Some(*number));
    let shown = pages.iter().filter(|(number, _)| used(number));
    let pages: Vec<_> = shown.map(|(number, shown)| page(*number, shown)).collect();
    let entries: Vec<_> = exchanges
        .iter()
        .enumerate()
        .map(|(place, exchange)| entry(exchange, bodies.get(&place), &pages))
        .collect();
    json!({"log": {
        "version": "1.2",
        "creator": {"name": "Atoll", "version": env!("CARGO_PKG_VERSION")},
        "browser": {"name": "Chromium", "version": browser},
        "pages": pages,
        "entries": entries,
    }})
}

fn page_id(number: u64) -> String {
    format!("page_{number}")
}

fn page(number: u64, page: &Page) -> Value {
    json!({
        "startedDateTime": time(page.started),
        "id": page_id(number),
        "title": page.url,
        "pageTimings": {"onContentLoad": -1, "onLoad": -1},
    })
}

fn entry(exchange: &Exchange, body: Option<&Body>, pages: &[Value]) -> Value {
    let (timings, total) = timings(exchange);
    let mut entry = json!({
        "startedDateTime": time(exchange.started),
        "time": total,
        "request": request(exchange),
        "response": response(exchange, body),
        "cache": {},
        "timings": timings,
        "_resourceType": exchange.resource_type,
    });
    // A reference to a page that is not there would make the whole archive wrong.
    let reference = exchange.page.map(page_id);
    if let Some(reference) = reference.filter(|id| pages.iter().any(|page| page["id"] == **id)) {
        entry["pageref"] = json!(reference);
    }
    if let Some(server) = exchange.response.as_ref().and_then(|response| response.server.as_ref()) {
        entry["serverIPAddress"] = json!(server.trim_matches(['[', ']']));
    }
    if let Some(route) = &exchange.route {
        entry["comment"] = json!(format!("answered by the route {route}"));
    }
    entry
}

fn request(exchange: &Exchange) -> Value {
    let mut request = json!({
        "method": exchange.method,
        "url": exchange.url,
        "httpVersion": version(exchange.response.as_ref()),
        "cookies": sent_cookies(&exchange.headers),
        "headers": list(&exchange.headers),
        "queryString": query(&exchange.url),
        "headersSize": -1,
        "bodySize": exchange.sent.as_ref().map_or(0, String::len),
    });
    if let Some(sent) = &exchange.sent {
        let kind = value_of(&exchange.headers, "content-type").unwrap_or_default();
        request["postData"] = json!({"mimeType": kind, "text": sent});
    }
    request
}

fn response(exchange: &Exchange, body: Option<&Body>) -> Value {
    let none = Response::default();
    let response = exchange.response.as_ref().unwrap_or(&none);
    let mime_type = if response.mime_type.is_empty() { "x-unknown" } else { &response.mime_type };
    let mut content = json!({"size": exchange.body_bytes, "mimeType": mime_type});
    if let Some(body) = body {
        content["text"] = json!(body.text);
        if body.base64 {
            content["encoding"] = json!("base64");
        }
    }
    let transferred = exchange.end.as_ref().map(|end| end.transferred);
    let mut answer = json!({
        "status": response.status,
        "statusText": response.status_text,
        "httpVersion": version(Some(response)),
        "cookies": set_cookies(&response.headers),
        "headers": list(&response.headers),
        "content": content,
        "redirectURL": value_of(&response.headers, "location").unwrap_or_default(),
        "headersSize": -1,
        "bodySize": if response.from_cache { 0 } else { -1 },
        "_transferSize": transferred.unwrap_or_default(),
    });
    if let Some(error) = exchange.end.as_ref().and_then(|end| end.error.as_ref()) {
        answer["_error"] = json!(error);
    }
    answer
}

/// The phases of an exchange in milliseconds, and their sum. -1 is a phase that there was not.
fn timings(exchange: &Exchange) -> (Value, f64) {
    let took = exchange.end.as_ref().map_or(0.0, |end| end.took.as_secs_f64() * 1000.0);
    let timing = exchange.response.as_ref().and_then(|response| response.timing.as_ref());
    let phases = timing.and_then(|timing| Phases::read(timing, exchange.clock, took));
    let phases = phases.unwrap_or(Phases { wait: took, ..Phases::default() });
    let known = |phase: Option<f64>| phase.unwrap_or(-1.0);
    let timings = json!({
        "blocked": known(phases.blocked),
        "dns": known(phases.dns),
        "connect": known(phases.connect),
        "ssl": known(phases.ssl),
        "send": phases.send,
        "wait": phases.wait,
        "receive": phases.receive,
    });
    // Setting up encryption is part of connecting.
    let parts = [phases.blocked, phases.dns, phases.connect].map(Option::unwrap_or_default);
    (timings, parts.iter().sum::<f64>() + phases.send + phases.wait + phases.receive)
}

#[derive(Debug, Default)]
struct Phases {
    blocked: Option<f64>,
    dns: Option<f64>,
    connect: Option<f64>,
    ssl: Option<f64>,
    send: f64,
    wait: f64,
    receive: f64,
}

impl Phases {
    /// The browser's marks are milliseconds from a time of its clock, -1 for what there was not.
    fn read(timing: &Map<String, Value>, began: f64, took: f64) -> Option<Self> {
        let mark = |name: &str| timing.get(name)?.as_f64().filter(|mark| *mark >= 0.0);
        let between = |from: &str, to: &str| Some((mark(to)? - mark(from)?).max(0.0));
        let queued = (timing.get("requestTime")?.as_f64()? - began).max(0.0) * 1000.0;
        let first = ["dnsStart", "connectStart", "sendStart"].into_iter().find_map(mark)?;
        let headers = mark("receiveHeadersEnd")?;
        Some(Self {
            blocked: Some(queued + first),
            dns: between("dnsStart", "dnsEnd"),
            connect: between("connectStart", "connectEnd"),
            ssl: between("sslStart", "sslEnd"),
            send: between("sendStart", "sendEnd").unwrap_or_default(),
            wait: between("sendEnd", "receiveHeadersEnd").unwrap_or_default(),
            receive: (took - queued - headers).max(0.0),
        })
    }
}

fn version(response: Option<&Response>) -> String {
    match response.map_or("", |response| response.protocol.as_str()) {
        "" => "HTTP/1.1".to_owned(),
        "h2" => "HTTP/2".to_owned(),
        "h3" => "HTTP/3".to_owned(),
        other => other.to_uppercase(),
    }
}

fn list(headers: &HeaderList) -> Value {
    headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn value_of<'a>(headers: &'a HeaderList, name: &str) -> Option<&'a str> {
    let mut entries = headers.iter();
    entries.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

fn query(url: &str) -> Value {
    let query = url.split('#').next().unwrap_or_default().split_once('?');
    let pairs = query.map_or("", |(_, query)| query).split('&').filter(|pair| !pair.is_empty());
    let entry = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({"name": unescape(name), "value": unescape(value)})
    };
    pairs.map(entry).collect()
}

/// The text an escaped query means.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| after.get(..2)).flatten();
        let digits = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        let meant = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let plain = if byte == b'+' { b' ' } else { byte };
        bytes.push(meant.unwrap_or(plain));
        rest = if meant.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn sent_cookies(headers: &HeaderList) -> Value {
    let cookies = value_of(headers, "cookie").unwrap_or_default().split(';');
    let pairs = cookies.filter_map(|cookie| cookie.trim().split_once('='));
    pairs.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn set_cookies(headers: &HeaderList) -> Value {
    let lines = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let cookie = |line: &str| {
        let mut parts = line.split(';').map(str::trim);
        let (name, value) = parts.next()?.split_once('=')?;
        let mut cookie = json!({"name": name, "value": value, "httpOnly": false, "secure": false});
        for part in parts {
            let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
            match attribute.to_ascii_lowercase().as_str() {
                "path" => cookie["path"] = json!(value),
                "domain" => cookie["domain"] = json!(value),
                "httponly" => cookie["httpOnly"] = json!(true),
                "secure" => cookie["secure"] = json!(true),
                _ => {}
            }
        }
        Some(cookie)
    };
    lines.filter_map(|(_, line)| cookie(line)).collect()
}

/// Seconds since 1970 as the text archives and answers have.
pub(super) fn time(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates; a date far from now is refused"
    )]
    let milliseconds = (seconds * 1000.0) as i64;
    jiff::Timestamp::from_millisecond(milliseconds)
        .map(|time| format!("{time:.3}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_phases_of_an_exchange_add_up_to_its_time() {
        let timing = json!({
            "requestTime": 10.005, "dnsStart": 1.0, "dnsEnd": 3.0, "connectStart": 3.0,
            "connectEnd": 9.0, "sslStart": 5.0, "sslEnd": 9.0, "sendStart": 9.5, "sendEnd": 10.0,
            "receiveHeadersEnd": 30.0,
        });
        let exchange = Exchange {
            clock: 10.0,
            response: Some(Response { timing: timing.as_object().cloned(), ..Response::default() }),
            end: Some(super::super::exchange::End {
                took: Duration::from_millis(50),
                transferred: 1,
                error: None,
            }),
            ..Exchange::default()
        };
        let (timings, total) = timings(&exchange);
        let phase = |name: &str| timings[name].as_f64().unwrap();
        assert!((phase("blocked") - 6.0).abs() < 0.01, "{timings}");
        assert_eq!((phase("dns"), phase("connect"), phase("ssl")), (2.0, 6.0, 4.0));
        assert_eq!((phase("send"), phase("wait")), (0.5, 20.0));
        assert!((phase("receive") - 15.0).abs() < 0.01, "{timings}");
        assert!((total - 49.5).abs() < 0.01, "{total}");
    }

    #[test]
    fn queries_and_cookies_are_taken_apart() {
        let expected = json!([{"name": "a b", "value": "ä"}, {"name": "c", "value": ""}, {"name": "%", "value": "1"}]);
        assert_eq!(query("http://h/?a+b=%C3%A4&c&%=1#x"), expected);
        let headers = vec![("Cookie".to_owned(), "a=1; b=x=y".to_owned())];
        let expected = json!([{"name": "a", "value": "1"}, {"name": "b", "value": "x=y"}]);
        assert_eq!(sent_cookies(&headers), expected);
        let headers = vec![("set-cookie".to_owned(), "a=1; Path=/x; HttpOnly".to_owned())];
        assert_eq!(
            set_cookies(&headers),
            json!([{"name": "a", "value": "1", "httpOnly": true, "secure": false, "path": "/x"}])
        );
    }

    #[test]
    fn a_time_is_a_date_with_milliseconds() {
        assert_eq!(time(1_000_000_000.25), "2001-09-09T01:46:40.250Z");
    }
}
