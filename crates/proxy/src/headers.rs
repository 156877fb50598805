//! Headers that end with a connection.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Concern one connection whatever `Connection` says.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The protocol a message wants to change over to, if it does.
pub(crate) fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let wanted = named_by_connection(headers).any(|name| name.eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| wanted).cloned()
}

/// Takes off what concerns this connection only; a change of protocol is put back on.
pub(crate) fn pass_on(headers: &mut HeaderMap, upgrade: Option<&HeaderValue>) {
    // An announced wish for trailers may pass, nothing else of `TE`.
    let trailers = headers.get_all(header::TE).iter().any(|value| {
        let text = value.to_str().unwrap_or_default();
        text.split(',').any(|part| part.trim().eq_ignore_ascii_case("trailers"))
    });
    let named: Vec<_> = named_by_connection(headers).filter_map(|name| name.parse().ok()).collect();
    for name in named.iter().chain(&HOP_BY_HOP).chain([&header::TE]) {
        while headers.remove(name).is_some() {}
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    if let Some(protocol) = upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, protocol.clone());
    }
}

fn named_by_connection(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::CONNECTION).iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn what_concerns_one_connection_stays_behind() {
        let mut headers = headers(&[
            ("connection", "close, X-Private"),
            ("x-private", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("te", "gzip, trailers"),
            ("upgrade", "h2c"),
            ("accept", "*/*"),
        ]);
        let upgrade = upgrade_of(&headers);
        assert_eq!(upgrade, None, "an upgrade that Connection does not name is none");
        pass_on(&mut headers, upgrade.as_ref());
        let left: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value)).collect();
        assert_eq!(
            left,
            [
                ("accept", &HeaderValue::from_static("*/*")),
                ("te", &HeaderValue::from_static("trailers"))
            ]
        );
    }

    #[test]
    fn a_change_of_protocol_passes() {
        let mut headers =
            headers(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]);
        let upgrade = upgrade_of(&headers);
        pass_on(&mut headers, upgrade.as_ref());
        assert_eq!(headers[header::CONNECTION], "upgrade");
        assert_eq!(headers[header::UPGRADE], "websocket");
    }
}
