//! Requests for an app whose path says nothing of it: the host, or a gateway's header, names the port.

use axum::http::header::{HeaderMap, HeaderName};

/// Set by a gateway that knows by other means which app is meant.
pub(super) static PORT: HeaderName = HeaderName::from_static("x-aio-proxy-port");

/// In the extensions of a request for an app that is named beside its path: the port, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named(pub(super) String);

impl Named {
    /// The app a request names in its headers; `in_host` is the one its host names.
    pub(crate) fn of(headers: &HeaderMap, in_host: impl FnOnce() -> Option<u16>) -> Option<Self> {
        let mut sent = headers.get_all(&PORT).iter();
        match (sent.next(), sent.next()) {
            (None, _) => in_host().map(|port| Self(port.to_string())),
            (Some(port), None) => Some(Self(String::from_utf8_lossy(port.as_bytes()).into_owned())),
            // Which of them is meant cannot be known.
            (Some(_), Some(_)) => Some(Self("several".to_owned())),
        }
    }
}

/// The port in a host name that stands for an app, and what comes behind it: `5173-box.example` → 5173, `box.example`.
pub(crate) fn named_port(name: &str) -> Option<(u16, &str)> {
    let (port, rest) = name.split_once('-')?;
    let digits = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| digits && *port > 0)?;
    (!rest.is_empty()).then_some((port, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_names_an_app_by_digits_and_a_dash() {
        assert_eq!(named_port("5173-localhost"), Some((5173, "localhost")));
        assert_eq!(named_port("1-a-b.example"), Some((1, "a-b.example")));
        for other in [
            "localhost",
            "127.0.0.1",
            "-box",
            "5173-",
            "5173",
            "0-box",
            "65536-box",
            "000005-box",
            "+51-box",
            "x5173-box",
            "box-5173",
            "51.73-box",
        ] {
            assert_eq!(named_port(other), None, "{other}");
        }
    }

    #[test]
    fn a_gateways_header_is_stronger_than_the_host() {
        let mut headers = HeaderMap::new();
        assert_eq!(Named::of(&headers, || None), None);
        assert_eq!(Named::of(&headers, || Some(1)), Some(Named("1".to_owned())));
        headers.insert(&PORT, "3000".parse().unwrap());
        assert_eq!(Named::of(&headers, || Some(1)), Some(Named("3000".to_owned())));
        headers.append(&PORT, "3000".parse().unwrap());
        assert_ne!(Named::of(&headers, || None), Some(Named("3000".to_owned())));
    }
}
