//! What may be reached. A name is judged before it is resolved, and each address it turns out to have before it is
//! connected to; the connection then goes to exactly that address, so a name cannot change its mind in between.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::host::{Host, is_loopback, translated};
use crate::rule::Rule;

/// Where clouds tell a machine its credentials.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];
/// Names for the same, for when somebody else resolves them.
const METADATA_NAMES: [&str; 4] =
    ["instance-data", "instance-data.ec2.internal", "metadata.google.internal", "metadata.goog"];

/// What may be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// What no rule speaks of is refused. This machine itself is not meant by that.
    pub deny_by_default: bool,
    /// What may be reached where nothing may by default.
    pub allow: Vec<Rule>,
    /// What may not be reached, whatever is allowed.
    pub deny: Vec<Rule>,
    /// The clouds' metadata services may be reached like anything else.
    pub allow_metadata: bool,
}

/// What is said of a host, or of an address of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Somebody may.
    Allowed,
    /// Nothing speaks of it yet; its addresses may be spoken of.
    Open,
    /// Nobody may, and why.
    Denied(String),
}

impl Policy {
    /// Whether it is what holds when nobody chose anything.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Judges a host as the client named it.
    pub(crate) fn judge(&self, host: &Host, port: u16) -> Verdict {
        if let Some(rule) = self.deny.iter().find(|rule| rule.fits(host, port)) {
            return Verdict::Denied(format!("the rule {rule} denies it"));
        }
        if let Host::Name(name) = host
            && !self.allow_metadata
            && METADATA_NAMES.contains(&name.as_str())
        {
            return Verdict::Denied(metadata());
        }
        if let Host::Address(address) = host {
            match self.judge_address(*address, port) {
                Verdict::Open => {}
                settled => return settled,
            }
        }
        let allowed = !self.deny_by_default
            || host.is_local()
            || self.allow.iter().any(|rule| rule.fits(host, port));
        if allowed { Verdict::Allowed } else { Verdict::Open }
    }

    /// Judges an address that is about to be connected to.
    pub(crate) fn judge_address(&self, address: IpAddr, port: u16) -> Verdict {
        let address = address.to_canonical();
        let meant = translated(address);
        let both = || [Some(address), meant].into_iter().flatten();
        if !self.allow_metadata && both().any(|address| METADATA.contains(&address)) {
            return Verdict::Denied(metadata());
        }
        let denies = |rule: &&Rule| both().any(|address| rule.fits_resolved(address, port));
        if let Some(rule) = self.deny.iter().find(denies) {
            return Verdict::Denied(format!("the rule {rule} denies its address {address}"));
        }
        let allowed =
            is_loopback(address) || self.allow.iter().any(|rule| rule.fits_resolved(address, port));
        if allowed { Verdict::Allowed } else { Verdict::Open }
    }

    /// Judges an address of a host that was judged so.
    pub(crate) fn settle(&self, host: &Verdict, address: IpAddr, port: u16) -> Result<(), String> {
        match (&self.judge_address(address, port), host) {
            (Verdict::Denied(why), _) | (_, Verdict::Denied(why)) => Err(why.clone()),
            (Verdict::Allowed, _) | (_, Verdict::Allowed) => Ok(()),
            (Verdict::Open, Verdict::Open) => Err(unlisted()),
        }
    }

    /// Judges a host that somebody else will resolve: what was left open stays closed.
    pub(crate) fn settle_unresolved(host: Verdict) -> Result<(), String> {
        match host {
            Verdict::Allowed => Ok(()),
            Verdict::Open => Err(unlisted()),
            Verdict::Denied(why) => Err(why),
        }
    }
}

fn metadata() -> String {
    "it is a cloud's metadata service".to_owned()
}

fn unlisted() -> String {
    "no rule allows it, and what is not allowed is refused".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn reach(policy: &Policy, host: &str, address: &str, port: u16) -> Result<(), String> {
        let verdict = policy.judge(&Host::parse(host).unwrap(), port);
        policy.settle(&verdict, address.parse().unwrap(), port)
    }

    #[test]
    fn everything_but_metadata_may_be_reached_by_default() {
        let policy = Policy::default();
        reach(&policy, "example.com", "93.184.216.34", 443).unwrap();
        reach(&policy, "localhost", "127.0.0.1", 3000).unwrap();
        for (host, address) in [
            ("169.254.169.254", "169.254.169.254"),
            ("[fd00:ec2::254]", "fd00:ec2::254"),
            ("[::ffff:169.254.169.254]", "169.254.169.254"),
            ("[64:ff9b::a9fe:a9fe]", "64:ff9b::a9fe:a9fe"),
            ("innocent.example", "169.254.169.254"),
            ("metadata.google.internal", "10.0.0.1"),
        ] {
            let refused = reach(&policy, host, address, 80).unwrap_err();
            assert!(refused.contains("metadata"), "{host}: {refused}");
        }
        let open = Policy { allow_metadata: true, ..Policy::default() };
        reach(&open, "169.254.169.254", "169.254.169.254", 80).unwrap();
    }

    #[test]
    fn what_is_denied_stays_denied_whatever_is_allowed() {
        let policy = Policy {
            allow: rules(&["*"]),
            deny: rules(&[".evil.test", "10.0.0.0/8", ":25"]),
            ..Policy::default()
        };
        assert!(reach(&policy, "a.evil.test", "1.2.3.4", 80).is_err());
        assert!(reach(&policy, "rebound.test", "10.1.2.3", 80).is_err());
        assert!(reach(&policy, "mail.test", "1.2.3.4", 25).is_err());
        reach(&policy, "good.test", "1.2.3.4", 80).unwrap();
    }

    #[test]
    fn where_nothing_may_be_reached_by_default_rules_and_this_machine_are_the_exceptions() {
        let policy = Policy {
            deny_by_default: true,
            allow: rules(&["*.good.test:443", "192.168.0.0/16"]),
            ..Policy::default()
        };
        reach(&policy, "a.good.test", "1.2.3.4", 443).unwrap();
        reach(&policy, "anything.test", "192.168.1.1", 80).unwrap();
        reach(&policy, "localhost", "127.0.0.1", 3000).unwrap();
        assert!(reach(&policy, "a.good.test", "1.2.3.4", 80).is_err());
        let refused = reach(&policy, "other.test", "1.2.3.4", 443).unwrap_err();
        assert!(refused.contains("no rule"), "{refused}");
        let unresolved = policy.judge(&Host::parse("other.test").unwrap(), 443);
        assert!(Policy::settle_unresolved(unresolved).is_err());
    }
}
