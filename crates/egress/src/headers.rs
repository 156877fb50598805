//! Headers that end with a connection, and those that are for this proxy alone.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Concern one connection whatever `Connection` says. A change of protocol is not passed on: clients that want one open
/// a tunnel.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Takes them off.
pub(crate) fn pass_on(headers: &mut HeaderMap) {
    let values = || headers.get_all(header::CONNECTION).iter();
    let named: Vec<HeaderName> = values()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // What frames the body is not a client's to name.
        .filter(|name| *name != header::CONTENT_LENGTH && *name != header::HOST)
        .collect();
    let trailers = headers.get_all(header::TE).iter().any(|value| {
        let text = value.to_str().unwrap_or_default();
        text.split(',').any(|part| part.trim().eq_ignore_ascii_case("trailers"))
    });
    for name in named.iter().chain(&HOP_BY_HOP) {
        while headers.remove(name).is_some() {}
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_this_connection_or_this_proxy_stays_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Private, Content-Length"),
            ("x-private", "1"),
            ("content-length", "3"),
            ("proxy-authorization", "Basic eDp5"),
            ("proxy-connection", "keep-alive"),
            ("te", "gzip, trailers"),
            ("upgrade", "h2c"),
            ("accept", "*/*"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        pass_on(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "content-length", "te"]);
        assert_eq!(headers[header::TE], "trailers");
    }
}
