//! Changes of what was chosen: each is whole or not at all, and counts for every request that comes after it.

use thiserror::Error;

use crate::egress::Egress;
use crate::mapping::{Mapping, MappingError};
use crate::policy::Policy;
use crate::rule::{Rule, RuleError};
use crate::setup::Setup;
use crate::upstream::{Upstream, UpstreamError};

/// Something that cannot be chosen. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// A mapping.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// A pattern.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The upstream.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// There are as many as there may be.
    #[error("there may be {most} {what} at most; remove some first")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        most: usize,
    },
}

impl Egress {
    /// Adds a mapping, or replaces the one for the same source.
    pub fn add_mapping(&self, source: &str, target: &str) -> Result<Mapping, ChangeError> {
        let mapping = Mapping::parse(source, target)?;
        let most = self.limits().mappings;
        self.change(|setup| {
            setup.mappings.retain(|known| !known.is_for(source));
            if setup.mappings.len() >= most {
                return Err(ChangeError::TooMany { what: "mappings", most });
            }
            setup.mappings.push(mapping.clone());
            Ok(mapping)
        })
    }

    /// Removes a mapping; says whether there was one.
    pub fn remove_mapping(&self, source: &str) -> bool {
        self.remove(|setup| &mut setup.mappings, |mapping| mapping.is_for(source))
    }

    /// Adds an exclude; one that is there stays as it is.
    pub fn add_exclude(&self, pattern: &str) -> Result<(), ChangeError> {
        let rule: Rule = pattern.parse()?;
        let most = self.limits().patterns;
        self.change(|setup| {
            if setup.excludes.contains(&rule) {
                return Ok(());
            }
            if setup.excludes.len() >= most {
                return Err(ChangeError::TooMany { what: "excludes", most });
            }
            setup.excludes.push(rule);
            Ok(())
        })
    }

    /// Removes an exclude; says whether there was one.
    pub fn remove_exclude(&self, pattern: &str) -> bool {
        self.remove(|setup| &mut setup.excludes, |rule| rule.text() == pattern.trim())
    }

    /// Replaces the includes.
    pub fn set_includes(&self, patterns: &[String]) -> Result<(), ChangeError> {
        let rules = self.rules("includes", patterns)?;
        self.change(|setup| {
            setup.includes = rules;
            Ok(())
        })
    }

    /// Reads a list of patterns.
    pub fn rules(&self, what: &'static str, patterns: &[String]) -> Result<Vec<Rule>, ChangeError> {
        let most = self.limits().patterns;
        if patterns.len() > most {
            return Err(ChangeError::TooMany { what, most });
        }
        Ok(patterns.iter().map(|pattern| pattern.parse()).collect::<Result<_, _>>()?)
    }

    /// Sets the upstream. A command that tells its credentials is run first: one that fails changes nothing.
    pub async fn set_upstream(
        &self,
        server: &str,
        command: Option<&str>,
    ) -> Result<(), ChangeError> {
        let upstream = Upstream::parse(server, command)?;
        upstream.credentials(&*self.means().commands).await?;
        self.change(|setup| {
            setup.upstream = Some(upstream);
            Ok(())
        })
    }

    /// Connects directly from now on; says whether there was an upstream.
    pub fn remove_upstream(&self) -> bool {
        let removed = self.change(|setup| Ok(setup.upstream.take().is_some()));
        removed.unwrap_or_default()
    }

    /// Replaces the policy. Connections that are open stay open.
    pub fn set_policy(&self, policy: Policy) {
        let _always = self.change(|setup| {
            setup.policy = policy;
            Ok(())
        });
    }

    fn remove<T>(
        &self,
        list: impl FnOnce(&mut Setup) -> &mut Vec<T>,
        unwanted: impl Fn(&T) -> bool,
    ) -> bool {
        let removed = self.change(|setup| {
            let list = list(setup);
            let before = list.len();
            list.retain(|item| !unwanted(item));
            Ok(list.len() < before)
        });
        removed.unwrap_or_default()
    }
}
