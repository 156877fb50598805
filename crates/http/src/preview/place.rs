//! Where in a window a request is: the path the window has for this caller, and what it says of the server behind it.

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::{Value, json};

use super::named::Named;
use crate::dialect::Failure;

/// A place of a window's parameters in its path.
const PORT: &str = "/{port}";

/// The place a request was sent to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The window's path with its parameters filled in; empty where it has none.
    pub(crate) base: Cow<'static, str>,
    /// The window's input.
    pub(crate) input: Value,
}

impl Place {
    /// The place of a request to the window with this path.
    pub(crate) fn of(path: &'static str, parts: &mut Parts) -> Result<Self, Failure> {
        if let Some(Named(port)) = parts.extensions.remove::<Named>() {
            return Ok(Self { base: Cow::Borrowed(""), input: json!({"port": read(&port)?}) });
        }
        let Some(above) = path.strip_suffix(PORT) else {
            return Ok(Self { base: Cow::Borrowed(path), input: Value::Null });
        };
        let below = parts.uri.path().strip_prefix(above).and_then(|below| below.strip_prefix('/'));
        let port = below.and_then(|below| below.split('/').next()).unwrap_or_default();
        let input = json!({"port": read(port)?});
        Ok(Self { base: Cow::Owned(format!("{above}/{port}")), input })
    }
}

fn read(port: &str) -> Result<u16, Failure> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let read = port.parse().ok().filter(|port| digits && *port > 0);
    read.ok_or_else(|| {
        Failure::new(
            StatusCode::BAD_REQUEST,
            "preview.port",
            format!("{port:?} is no port; name one with digits, 1 to 65535"),
        )
    })
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;

    use super::*;

    fn place(path: &'static str, target: &str) -> Result<Place, Failure> {
        let request = Request::get(target).body(()).unwrap();
        Place::of(path, &mut request.into_parts().0)
    }

    #[test]
    fn the_port_is_read_from_the_path() {
        for (target, base) in [
            ("/proxy/5173", "/proxy/5173"),
            ("/proxy/5173/", "/proxy/5173"),
            ("/proxy/05173//a/b?c", "/proxy/05173"),
        ] {
            let found = place("/proxy/{port}", target).unwrap();
            assert_eq!((&*found.base, &found.input), (base, &json!({"port": 5173})));
        }
        let plain = place("/lab", "/lab/x").unwrap();
        assert_eq!((&*plain.base, plain.input), ("/lab", Value::Null));
    }

    #[test]
    fn what_is_no_port_is_refused() {
        for wrong in ["0", "65536", "99999999999", "-1", "+80", "80x", "%38%30", "80;x", "80:80"] {
            let refused = place("/proxy/{port}", &format!("/proxy/{wrong}/x")).unwrap_err();
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
            assert!(refused.error.message().contains(wrong));
        }
    }

    #[test]
    fn a_port_beside_the_path_leaves_the_path_alone() {
        let mut parts = Request::get("/absproxy/1/x").body(()).unwrap().into_parts().0;
        parts.extensions.insert(Named("3000".to_owned()));
        let found = Place::of("/absproxy/{port}", &mut parts).unwrap();
        assert_eq!((&*found.base, found.input), ("", json!({"port": 3000})));
    }
}
