//! What was chosen: mappings, excludes, includes, the upstream, the policy. One value, replaced as a whole, so that a
//! request sees one state of it; and the decision which way something goes.

use crate::host::Host;
use crate::mapping::{Asked, Mapping};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::upstream::Upstream;

/// What was chosen.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// What is answered elsewhere.
    pub mappings: Vec<Mapping>,
    /// What goes directly although there is an upstream.
    pub excludes: Vec<Rule>,
    /// Where there are any: only these go to the upstream.
    pub includes: Vec<Rule>,
    /// The proxy behind this one.
    pub upstream: Option<Upstream>,
    /// What may be reached.
    pub policy: Policy,
}

/// Which way something goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Route<'a> {
    /// To another address.
    Mapping(&'a Mapping),
    /// Through the proxy behind this one.
    Upstream(&'a Upstream),
    /// As it is; `bypass` where there is an upstream that is not used for it.
    Direct { bypass: bool },
}

impl Setup {
    /// Whether programs notice any difference to having no proxy at all.
    pub fn is_configured(&self) -> bool {
        !self.mappings.is_empty() || self.upstream.is_some() || !self.policy.is_default()
    }

    /// Which way this goes.
    pub(crate) fn route(&self, asked: Asked<'_>) -> Route<'_> {
        if let Some(mapping) = self.mapping(asked) {
            return Route::Mapping(mapping);
        }
        let Some(upstream) = &self.upstream else {
            return Route::Direct { bypass: false };
        };
        if self.bypasses(asked.host, asked.port) {
            Route::Direct { bypass: true }
        } else {
            Route::Upstream(upstream)
        }
    }

    /// The most exact mapping for this.
    pub(crate) fn mapping(&self, asked: Asked<'_>) -> Option<&Mapping> {
        let fitting = self.mappings.iter().filter(|mapping| mapping.fits(asked));
        fitting.max_by_key(|mapping| mapping.exactness())
    }

    /// Whether this is none of the upstream's business. This machine never is.
    fn bypasses(&self, host: &Host, port: u16) -> bool {
        let listed = |rules: &[Rule]| rules.iter().any(|rule| rule.fits(host, port));
        let left_out = !self.includes.is_empty() && !listed(&self.includes);
        host.is_local() || left_out || listed(&self.excludes)
    }

    /// What of it contradicts itself, or can never have an effect. `internal` says which ports are this server's own.
    pub(crate) fn contradictions(&self, internal: impl Fn(u16) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        for mapping in &self.mappings {
            let to = mapping.to();
            if to.host.is_local() && internal(to.port) {
                found.push(format!(
                    "the mapping {mapping} leads to a port of this server itself, which is refused"
                ));
            }
        }
        if let Some(upstream) = &self.upstream
            && upstream.host.is_local()
            && internal(upstream.port)
        {
            found.push(format!(
                "the upstream {} is a port of this server itself: requests would go in circles",
                upstream.address()
            ));
        }
        for rule in &self.includes {
            if self.excludes.iter().any(|exclude| exclude.text() == rule.text()) {
                found.push(format!("{rule} is both included and excluded; it goes directly"));
            }
        }
        if self.upstream.is_none() && !self.includes.is_empty() {
            found.push("there are includes, but no upstream that they could go to".to_owned());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn way(setup: &Setup, host: &str, path: Option<&str>) -> String {
        let host = Host::parse(host).unwrap();
        match setup.route(Asked { host: &host, port: 80, path }) {
            Route::Mapping(mapping) => mapping.target.clone(),
            Route::Upstream(_) => "upstream".to_owned(),
            Route::Direct { bypass: true } => "bypass".to_owned(),
            Route::Direct { bypass: false } => "direct".to_owned(),
        }
    }

    #[test]
    fn the_most_exact_mapping_counts() {
        let mapping = |source: &str, target: &str| Mapping::parse(source, target).unwrap();
        let setup = Setup {
            mappings: vec![
                mapping("*.app.test", "1"),
                mapping("a.app.test", "2"),
                mapping("a.app.test/v1/*", "3"),
                mapping("*", "4"),
            ],
            ..Setup::default()
        };
        assert_eq!(way(&setup, "b.app.test", Some("/v1/x")), "1");
        assert_eq!(way(&setup, "a.app.test", Some("/")), "2");
        assert_eq!(way(&setup, "a.app.test", Some("/v1/x")), "3");
        assert_eq!(way(&setup, "a.app.test", None), "2");
        assert_eq!(way(&setup, "other.test", None), "4");
    }

    #[test]
    fn excludes_and_includes_decide_who_meets_the_upstream() {
        let upstream = Upstream::parse("proxy.test:3128", None).ok();
        let mut setup =
            Setup { upstream, excludes: rules(&[".local.test", "10.0.0.0/8"]), ..Setup::default() };
        assert_eq!(way(&setup, "example.com", None), "upstream");
        assert_eq!(way(&setup, "a.local.test", None), "bypass");
        assert_eq!(way(&setup, "10.1.1.1", None), "bypass");
        assert_eq!(way(&setup, "localhost", None), "bypass");
        assert_eq!(way(&setup, "127.0.0.1", None), "bypass");
        setup.includes = rules(&["*.far.test", "b.local.test"]);
        assert_eq!(way(&setup, "a.far.test", None), "upstream");
        assert_eq!(way(&setup, "example.com", None), "bypass");
        assert_eq!(way(&setup, "b.local.test", None), "bypass", "an exclude is stronger");
        setup.upstream = None;
        assert_eq!(way(&setup, "a.far.test", None), "direct");
    }

    #[test]
    fn contradictions_are_named() {
        let setup = Setup {
            mappings: vec![Mapping::parse("a.test", "9999").unwrap()],
            includes: rules(&["x.test"]),
            excludes: rules(&["x.test"]),
            upstream: Upstream::parse("127.0.0.1:9999", None).ok(),
            ..Setup::default()
        };
        let found = setup.contradictions(|port| port == 9999).join("\n");
        assert!(found.contains("a.test to 9999") && found.contains("in circles"), "{found}");
        assert!(found.contains("x.test is both"), "{found}");
        assert!(Setup::default().contradictions(|_| true).is_empty());
    }
}
