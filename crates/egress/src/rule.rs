//! Patterns of hosts and ports: `example.com`, `.example.com`, `*.example.com`, `10.0.0.0/8`, each perhaps with a port or a
//! range of ports behind a colon; or ports alone.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

use crate::host::{Host, split_port};

/// Characters of one pattern.
const LONGEST: usize = 300;

/// A pattern that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text:?} is no pattern: write a domain (example.com, .example.com, *.example.com), an address or range (10.0.0.0/8), \
     with :port or :from-to behind it or alone"
)]
pub struct RuleError {
    /// What was written, shortened.
    pub text: String,
}

/// Hosts and ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    hosts: Hosts,
    ports: Option<RangeInclusive<u16>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    Any,
    /// This name.
    Exact(String),
    /// This name and every name below it.
    Suffix(String),
    /// Names in which `*` stands for any text.
    Wild(String),
    Net(Net),
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Net {
    address: IpAddr,
    bits: u8,
}

impl Rule {
    /// What was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it speaks of some ports only.
    pub(crate) fn has_ports(&self) -> bool {
        self.ports.is_some()
    }

    /// Whether a host as the client named it, and a port, fit. A range of addresses fits no name.
    pub fn fits(&self, host: &Host, port: u16) -> bool {
        let host = match (&self.hosts, host) {
            (Hosts::Any, _) => true,
            (Hosts::Net(net), Host::Address(address)) => net.holds(*address),
            (Hosts::Exact(name), Host::Name(asked)) => name == asked,
            (Hosts::Suffix(name), Host::Name(asked)) => {
                let above = asked.strip_suffix(name.as_str());
                above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            (Hosts::Wild(pattern), host) => wild(pattern, &host.to_string()),
            _ => false,
        };
        host && self.fits_port(port)
    }

    /// Whether an address that a name turned out to have fits. Only ranges of addresses do.
    pub fn fits_resolved(&self, address: IpAddr, port: u16) -> bool {
        match self.hosts {
            Hosts::Net(net) => net.holds(address) && self.fits_port(port),
            _ => false,
        }
    }

    fn fits_port(&self, port: u16) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports.contains(&port))
    }

    /// Its hosts as a condition of JavaScript over `host`, as a browser has it.
    pub(crate) fn script(&self) -> String {
        let quoted = |text: &str| text.replace(['"', '\\'], "");
        match &self.hosts {
            Hosts::Any => "true".to_owned(),
            Hosts::Exact(name) => format!("host == \"{}\"", quoted(name)),
            Hosts::Suffix(name) => {
                let name = quoted(name);
                format!("(host == \"{name}\" || dnsDomainIs(host, \".{name}\"))")
            }
            Hosts::Wild(pattern) => format!("shExpMatch(host, \"{}\")", quoted(pattern)),
            Hosts::Net(net) => net.script(),
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = || RuleError { text: text.chars().take(LONGEST).collect() };
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.len() > LONGEST {
            return Err(wrong());
        }
        let (hosts, ports) = split_port(trimmed);
        let ports = ports.map(|ports| parse_ports(ports).ok_or_else(wrong)).transpose()?;
        let hosts = parse_hosts(hosts, ports.is_some()).ok_or_else(wrong)?;
        Ok(Self { text: trimmed.to_owned(), hosts, ports })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse_ports(text: &str) -> Option<RangeInclusive<u16>> {
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    match text.split_once('-') {
        None if text == "*" => Some(1..=u16::MAX),
        None => port(text).map(|port| port..=port),
        Some((from, to)) => Some(port(from)?..=port(to)?).filter(|range| !range.is_empty()),
    }
}

fn parse_hosts(text: &str, has_port: bool) -> Option<Hosts> {
    if text == "*" || (text.is_empty() && has_port) {
        return Some(Hosts::Any);
    }
    if let Some((address, bits)) = text.split_once('/') {
        return Net::parse(address, Some(bits)).map(Hosts::Net);
    }
    if let Some(net) = Net::parse(text, None) {
        return Some(Hosts::Net(net));
    }
    let name = |text: &str| match Host::parse(text) {
        Some(Host::Name(name)) => Some(name),
        _ => None,
    };
    if let Some(suffix) = text.strip_prefix('.') {
        return name(suffix).map(Hosts::Suffix);
    }
    if text.contains('*') {
        // Without its stars it must be made of what names are made of.
        let plain = text.replace('*', "x");
        return name(&plain).map(|_| Hosts::Wild(text.to_ascii_lowercase()));
    }
    name(text).map(Hosts::Exact)
}

impl Net {
    fn parse(address: &str, bits: Option<&str>) -> Option<Self> {
        let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let address: IpAddr = bare.unwrap_or(address).parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        (bits <= most).then_some(Self { address, bits })
    }

    fn holds(self, other: IpAddr) -> bool {
        let bits = u32::from(self.bits);
        match (self.address, other.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            _ => false,
        }
    }

    fn script(self) -> String {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                let mask = std::net::Ipv4Addr::from_bits(mask);
                format!("(isAddress(host) && isInNet(host, \"{address}\", \"{mask}\"))")
            }
            IpAddr::V6(address) if self.bits == 128 => {
                format!("(host == \"{address}\" || host == \"[{address}]\")")
            }
            // The language has no word for it; whoever is asked then decides.
            IpAddr::V6(_) => "false".to_owned(),
        }
    }
}

/// Whether a text fits a pattern in which `*` stands for any text. Linear but for going back to the last star.
pub(crate) fn wild(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    let mut star = None;
    while from < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, from));
            at += 1;
        } else if pattern.get(at) == Some(&text[from]) {
            at += 1;
            from += 1;
        } else if let Some((after, start)) = star {
            star = Some((after, start + 1));
            at = after + 1;
            from = start + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(rule: &str, host: &str, port: u16) -> bool {
        rule.parse::<Rule>().unwrap().fits(&Host::parse(host).unwrap(), port)
    }

    #[test]
    fn a_bare_domain_is_itself_a_dot_takes_in_all_below_and_a_star_only_these() {
        assert!(fits("example.com", "EXAMPLE.com", 1) && !fits("example.com", "a.example.com", 1));
        assert!(
            fits(".example.com", "example.com", 1) && fits(".example.com", "a.b.example.com", 1)
        );
        assert!(!fits(".example.com", "badexample.com", 1));
        assert!(fits("*.example.com", "a.b.example.com", 1));
        assert!(!fits("*.example.com", "example.com", 1));
        assert!(fits("api-*.test", "api-7.test", 1) && !fits("api-*.test", "api.test", 1));
        assert!(fits("*", "anything", 1) && fits("*", "10.0.0.1", 1));
    }

    #[test]
    fn ranges_of_addresses_fit_addresses_only() {
        assert!(fits("10.0.0.0/8", "10.255.0.1", 1) && !fits("10.0.0.0/8", "11.0.0.1", 1));
        assert!(fits("0.0.0.0/0", "1.2.3.4", 1) && !fits("0.0.0.0/0", "::2", 1));
        assert!(fits("fd00::/8", "fdff::1", 1) && fits("::1", "[::1]", 1));
        assert!(!fits("10.0.0.0/8", "ten.example", 1));
        let rule: Rule = "10.0.0.0/8:22".parse().unwrap();
        assert!(rule.fits_resolved("10.1.1.1".parse().unwrap(), 22));
        assert!(!rule.fits_resolved("10.1.1.1".parse().unwrap(), 23));
        assert!(!"*".parse::<Rule>().unwrap().fits_resolved("10.1.1.1".parse().unwrap(), 22));
    }

    #[test]
    fn ports_can_be_one_several_or_alone() {
        assert!(fits("a.test:443", "a.test", 443) && !fits("a.test:443", "a.test", 80));
        assert!(fits(":8000-9000", "b", 8500) && !fits(":8000-9000", "b", 80));
        assert!(fits(":25", "10.0.0.1", 25) && fits("[::1]:80", "::1", 80));
    }

    #[test]
    fn what_is_no_pattern_is_refused_by_what_was_written() {
        let long = "a".repeat(400);
        for text in ["", " ", "10.0.0.0/33", "a b", "a:0", "a:9-8", "http://a", "a:x", &long, "..a"]
        {
            assert!(text.parse::<Rule>().is_err(), "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn stars_match_as_a_regular_expression_would(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            fn slow(pattern: &[u8], text: &[u8]) -> bool {
                match pattern.first() {
                    None => text.is_empty(),
                    Some(b'*') => (0..=text.len()).any(|skip| slow(&pattern[1..], &text[skip..])),
                    Some(byte) => text.first() == Some(byte) && slow(&pattern[1..], &text[1..]),
                }
            }
            proptest::prop_assert_eq!(
                wild(&pattern, &text),
                slow(pattern.as_bytes(), text.as_bytes())
            );
        }

        #[test]
        fn no_text_makes_a_pattern_fail_otherwise_than_by_its_error(text in ".{0,60}") {
            let _outcome = text.parse::<Rule>();
        }
    }
}
