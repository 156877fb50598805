//! The parts of an address that decide who gets what: its origin, and where cookies go.

/// An address taken apart, as far as headers and cookies need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// In small letters, without the colon.
    pub(crate) scheme: String,
    /// In small letters; an IPv6 address with its brackets.
    pub(crate) host: String,
    /// `None` for the scheme's own.
    pub(crate) port: Option<u16>,
    /// From the first slash on, `/` when there is none; without query and fragment.
    pub(crate) path: String,
}

impl Address {
    /// Takes an absolute address with a host apart.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if scheme.is_empty() || !scheme.bytes().all(valid) {
            return None;
        }
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let (host, port) = split_port(authority)?;
        let path = tail.split(['?', '#']).next().unwrap_or_default();
        let path = if path.is_empty() { "/" } else { path };
        let own = match scheme.as_str() {
            "http" | "ws" => Some(80),
            "https" | "wss" => Some(443),
            _ => None,
        };
        Some(Self {
            scheme,
            host: host.to_ascii_lowercase(),
            port: port.filter(|port| Some(*port) != own),
            path: path.to_owned(),
        })
    }

    /// Scheme, host and port, as the `Origin` header has them.
    pub(crate) fn origin(&self) -> String {
        match self.port {
            Some(port) => format!("{}://{}:{port}", self.scheme, self.host),
            None => format!("{}://{}", self.scheme, self.host),
        }
    }

    /// Whether cookies for safe connections are sent to it.
    pub(crate) fn is_safe(&self) -> bool {
        matches!(self.scheme.as_str(), "https" | "wss")
            || self.host == "localhost"
            || self.host.ends_with(".localhost")
            || self.host.starts_with("127.")
            || self.host == "[::1]"
    }
}

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.rfind(':') {
        Some(colon) if !authority[colon..].contains(']') => {
            (&authority[..colon], &authority[colon + 1..])
        }
        _ => (authority, ""),
    };
    let bad = |byte: u8| byte.is_ascii_whitespace() || byte.is_ascii_control();
    if host.is_empty() || host.bytes().any(bad) {
        return None;
    }
    let port = if port.is_empty() { None } else { Some(port.parse().ok()?) };
    Some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_a_port_of_its_own() {
        for (address, origin) in [
            ("https://Example.com", "https://example.com"),
            ("HTTP://u:p@example.com:80/a?b#c", "http://example.com"),
            ("http://example.com:8080/", "http://example.com:8080"),
            ("https://[::1]:9000/x", "https://[::1]:9000"),
            ("http://[::1]?x", "http://[::1]"),
        ] {
            assert_eq!(Address::parse(address).unwrap().origin(), origin, "{address}");
        }
    }

    #[test]
    fn what_has_no_host_has_no_origin() {
        for address in
            ["", "about:blank", "data:text/html,x", "http://", "example.com", "http://a:x/"]
        {
            assert_eq!(Address::parse(address), None, "{address}");
        }
    }

    #[test]
    fn a_path_ends_before_the_query() {
        for (address, path) in
            [("http://h", "/"), ("http://h?q", "/"), ("http://h/a/b?c/d#e", "/a/b")]
        {
            assert_eq!(Address::parse(address).unwrap().path, path, "{address}");
        }
    }
}
