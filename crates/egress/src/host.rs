//! What a client asks for: a name or an address, and a port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Characters of a name, as DNS has it.
const NAME: usize = 253;

/// A name, in small letters and without the dot at its end, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// To be resolved.
    Name(String),
    /// Given as such; an IPv4 address in the clothes of IPv6 is the IPv4 address.
    Address(IpAddr),
}

impl Host {
    /// Reads one; brackets round an IPv6 address are optional. `None` for what cannot be either.
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(bare) = bare {
            return bare.parse::<Ipv6Addr>().ok().map(|address| Self::of(address.into()));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::of(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let sound = !name.is_empty() && name.len() <= NAME && name.bytes().all(fits);
        let whole = !name.starts_with('.') && !name.ends_with('.') && !name.contains("..");
        (sound && whole).then(|| Self::Name(name.to_ascii_lowercase()))
    }

    fn of(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }

    /// Whether this means this machine itself, whatever a resolver says.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(address) => is_loopback(*address),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// `host:port`, where the port may be missing. Splits only; neither part is looked at.
pub(crate) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        // Colons of an IPv6 address are no beginning of a port.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// Whether connecting there stays on this machine: the unspecified address means it too.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

/// The IPv4 address that an IPv6 address stands for behind a translator, where it does.
pub(crate) fn translated(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(address) = address else {
        return None;
    };
    let octets = address.octets();
    let [a, b, c, d] = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => [octets[12], octets[13], octets[14], octets[15]],
        [0x2002, ..] => [octets[2], octets[3], octets[4], octets[5]],
        _ => return None,
    };
    Some(Ipv4Addr::new(a, b, c, d).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_apart() {
        let name = |text: &str| Some(Host::Name(text.to_owned()));
        assert_eq!(Host::parse("Example.COM."), name("example.com"));
        assert_eq!(Host::parse("a_b-c.test"), name("a_b-c.test"));
        let address = |text: &str| Some(Host::Address(text.parse().unwrap()));
        assert_eq!(Host::parse("10.0.0.1"), address("10.0.0.1"));
        assert_eq!(Host::parse("[::1]"), address("::1"));
        assert_eq!(Host::parse("::ffff:169.254.169.254"), address("169.254.169.254"));
    }

    #[test]
    fn what_is_neither_is_refused() {
        let long = "a".repeat(254);
        for text in ["", ".", "a b", "a/b", "a@b", "[10.0.0.1]", "a..b", ".a", "ä.test", &long] {
            assert_eq!(Host::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_port_is_split_off_and_an_ipv6_address_stays_whole() {
        assert_eq!(split_port("a:80"), ("a", Some("80")));
        assert_eq!(split_port("a"), ("a", None));
        assert_eq!(split_port("::1"), ("::1", None));
        assert_eq!(split_port("[::1]:80"), ("[::1]", Some("80")));
        assert_eq!(split_port(":80"), ("", Some("80")));
    }

    #[test]
    fn addresses_behind_translators_are_known() {
        let of = |text: &str| translated(text.parse().unwrap()).map(|found| found.to_string());
        assert_eq!(of("64:ff9b::a9fe:a9fe").as_deref(), Some("169.254.169.254"));
        assert_eq!(of("2002:a9fe:a9fe::1").as_deref(), Some("169.254.169.254"));
        assert_eq!(of("fd00:ec2::254"), None);
        assert_eq!(of("10.0.0.1"), None);
    }
}
