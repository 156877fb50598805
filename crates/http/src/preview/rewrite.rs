//! Addresses in an app's headers, as the caller must see them.
//!
//! An app that knows nothing of the path above it says `/login`; outside that is `/proxy/5173/login`. An app that was
//! told it is `localhost:5173` says so in whole addresses; outside that is us.

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::credential::COOKIE;

/// Headers that hold an address the caller shall go to or have come from.
static ADDRESSES: [HeaderName; 2] = [header::LOCATION, header::CONTENT_LOCATION];
/// A cookie of this kind must be for the whole host; browsers drop it otherwise.
const WHOLE_HOST: &str = "__Host-";

/// How an app's addresses become the caller's.
#[derive(Debug)]
pub(super) struct Mapping<'a> {
    /// What comes before the app's paths outside; may be empty.
    pub(super) outer: &'a str,
    /// The names by which the app may speak of itself.
    pub(super) names: [&'a str; 2],
    pub(super) port: u16,
}

impl Mapping<'_> {
    /// Puts an answer's headers right.
    pub(super) fn apply(&self, headers: &mut HeaderMap) {
        for name in &ADDRESSES {
            let address = headers.get(name).and_then(|value| value.to_str().ok());
            if let Some(Ok(mapped)) =
                address.and_then(|address| self.address(address)).map(HeaderValue::try_from)
            {
                headers.insert(name, mapped);
            }
        }
        if headers.contains_key(header::SET_COOKIE) {
            let cookies: Vec<_> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
            headers.remove(header::SET_COOKIE);
            for cookie in cookies {
                if let Some(cookie) = self.cookie(cookie) {
                    headers.append(header::SET_COOKIE, cookie);
                }
            }
        }
    }

    /// Whether an answer leads to this path of ours as the app knows it, before anything is put right.
    pub(super) fn leads_to(&self, headers: &HeaderMap, path: &str) -> bool {
        let address = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        let Some(address) = address else { return false };
        let own = ["http://", "https://"].iter().find_map(|scheme| {
            let rest = address.strip_prefix(scheme)?;
            let (host, _) = rest.split_at(rest.find('/')?);
            self.is_own(host).then(|| &rest[host.len()..])
        });
        let target = own.unwrap_or(address);
        target.split(['?', '#']).next() == Some(path)
    }

    /// An address as the caller must see it, if that is another.
    fn address(&self, address: &str) -> Option<String> {
        let whole = ["http://", "https://", "//"].iter().find_map(|scheme| {
            let rest = address.strip_prefix(scheme)?;
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            Some(rest.split_at(end))
        });
        match whole {
            Some((host, rest)) if self.is_own(host) => {
                let slash = if rest.starts_with('/') { "" } else { "/" };
                Some(self.below(&format!("{slash}{rest}")))
            }
            None if address.starts_with('/') && !self.outer.is_empty() => Some(self.below(address)),
            // Others' addresses are theirs; other forms are relative to the page, and as right outside as inside.
            _ => None,
        }
    }

    fn is_own(&self, host: &str) -> bool {
        let local = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"].iter().any(|name| {
            host.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')?.parse().ok())
                == Some(self.port)
        });
        local || self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    /// A path below what comes before it outside, unless the app has put that there itself.
    fn below(&self, path: &str) -> String {
        let rest = path.strip_prefix(self.outer);
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#'])) {
            path.to_owned()
        } else {
            format!("{}{path}", self.outer)
        }
    }

    /// A cookie for the app's place outside. Ours is not for an app to set.
    fn cookie(&self, cookie: HeaderValue) -> Option<HeaderValue> {
        let Ok(text) = cookie.to_str() else {
            // Cannot be searched: bytes beyond ASCII are nothing a path of ours has, and no name of ours.
            return Some(cookie);
        };
        let name = text.split(['=', ';']).next().unwrap_or_default().trim();
        if name == COOKIE {
            return None;
        }
        if self.outer.is_empty() || name.starts_with(WHOLE_HOST) {
            return Some(cookie);
        }
        let parts = text.split(';').enumerate().map(|(position, part)| {
            let path = part
                .split_once('=')
                .filter(|(name, _)| position > 0 && name.trim().eq_ignore_ascii_case("path"));
            match path.map(|(_, path)| path.trim()).filter(|path| path.starts_with('/')) {
                Some(path) => format!(" Path={}", self.below(path)),
                None => part.to_owned(),
            }
        });
        let mapped = parts.collect::<Vec<_>>().join(";");
        Some(HeaderValue::try_from(mapped).unwrap_or(cookie))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPPED: Mapping<'_> =
        Mapping { outer: "/box/proxy/5173", names: ["box:8080", "localhost:5173"], port: 5173 };
    const KEPT: Mapping<'_> =
        Mapping { outer: "", names: ["5173-box.example", "localhost:5173"], port: 5173 };

    #[test]
    fn an_apps_addresses_lead_back_to_it() {
        for (said, meant) in [
            ("/login?next=/", Some("/box/proxy/5173/login?next=/")),
            ("/", Some("/box/proxy/5173/")),
            ("http://box:8080/a", Some("/box/proxy/5173/a")),
            ("https://BOX:8080?a", Some("/box/proxy/5173/?a")),
            ("http://localhost:5173", Some("/box/proxy/5173/")),
            ("http://127.0.0.1:5173/a#b", Some("/box/proxy/5173/a#b")),
            ("http://[::1]:5173/a", Some("/box/proxy/5173/a")),
            ("//localhost:5173/a", Some("/box/proxy/5173/a")),
            ("/box/proxy/5173/a", Some("/box/proxy/5173/a")),
            ("/box/proxy/51730", Some("/box/proxy/5173/box/proxy/51730")),
            ("http://localhost:3000/a", None),
            ("https://elsewhere.example/a", None),
            ("//elsewhere.example/a", None),
            ("a/b", None),
            ("./a", None),
            ("?a", None),
            ("", None),
        ] {
            assert_eq!(STRIPPED.address(said).as_deref(), meant, "{said}");
        }
        for (said, meant) in [
            ("/login", None),
            ("http://localhost:5173/login", Some("/login")),
            ("http://5173-box.example", Some("/")),
            ("http://elsewhere.example/", None),
        ] {
            assert_eq!(KEPT.address(said).as_deref(), meant, "{said}");
        }
    }

    #[test]
    fn an_app_that_leads_to_where_it_is_asked_from_is_told_apart() {
        let leads = |location: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::LOCATION, HeaderValue::from_static(location));
            STRIPPED.leads_to(&headers, "/proxy/5173/")
        };
        assert!(leads("/proxy/5173/") && leads("/proxy/5173/?a"));
        assert!(leads("http://localhost:5173/proxy/5173/"));
        for other in ["/", "/proxy/5173", "/proxy/5173/x", "proxy/5173/", "http://x/proxy/5173/"] {
            assert!(!leads(other), "{other}");
        }
    }

    #[test]
    fn cookies_are_for_the_apps_own_place_and_never_ours() {
        let after = |mapping: &Mapping<'_>, cookie: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(header::SET_COOKIE, HeaderValue::from_static(cookie));
            mapping.apply(&mut headers);
            headers.get(header::SET_COOKIE).map(|value| value.to_str().unwrap().to_owned())
        };
        for (said, meant) in [
            ("a=1; Path=/; HttpOnly", Some("a=1; Path=/box/proxy/5173/; HttpOnly")),
            ("a=1;path=/x;Secure", Some("a=1; Path=/box/proxy/5173/x;Secure")),
            ("a=1; Path=/box/proxy/5173/x", Some("a=1; Path=/box/proxy/5173/x")),
            ("a=1", Some("a=1")),
            ("path=/; HttpOnly", Some("path=/; HttpOnly")),
            ("__Host-a=1; Path=/; Secure", Some("__Host-a=1; Path=/; Secure")),
            ("atoll_page=evil; Path=/", None),
            ("atoll_page", None),
        ] {
            assert_eq!(after(&STRIPPED, said).as_deref(), meant, "{said}");
        }
        assert_eq!(after(&KEPT, "a=1; Path=/").as_deref(), Some("a=1; Path=/"));
        assert_eq!(after(&KEPT, "atoll_page=evil"), None);
    }

    #[test]
    fn every_cookie_is_kept_in_order() {
        let mut headers = HeaderMap::new();
        for cookie in ["a=1; Path=/", "atoll_page=x", "b=2"] {
            headers.append(header::SET_COOKIE, HeaderValue::from_static(cookie));
        }
        STRIPPED.apply(&mut headers);
        let cookies: Vec<_> = headers.get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(cookies, ["a=1; Path=/box/proxy/5173/", "b=2"]);
    }
}
