//! Which tools a client gets to see, by what it asks for in the address: `?profile=`, `?servers=`, `?search=`.

use super::tool::{Sets, Tool};

/// The profiles there are.
const PROFILES: &str = "default, aio, deep-agent, all";

/// What a client asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    profile: Option<Sets>,
    servers: Vec<String>,
    search: Option<String>,
}

impl Selection {
    /// What a query asks for.
    pub(crate) fn of_query(query: Option<&str>) -> Result<Self, String> {
        let mut selection = Self::default();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            match name.as_ref() {
                "profile" => {
                    selection.profile = Some(match value.to_ascii_lowercase().as_str() {
                        "default" => Sets::DEFAULT,
                        "aio" => Sets::AIO,
                        "deep-agent" | "deep_agent" => Sets::AGENT,
                        "all" => Sets::ALL,
                        _ => return Err(format!("profile {value:?} is not one of {PROFILES}")),
                    });
                }
                "servers" => {
                    let names = value.split(',').map(|name| name.trim().to_ascii_lowercase());
                    selection.servers.extend(names.filter(|name| !name.is_empty()));
                }
                "search" => selection.search = Some(value.to_ascii_lowercase()),
                _ => {}
            }
        }
        Ok(selection)
    }

    /// Whether one of our own tools is listed.
    pub(crate) fn lists(&self, tool: &Tool) -> bool {
        // Who names servers or words wants what they have, not only what everybody gets.
        let narrowed = !self.servers.is_empty() || self.search.is_some();
        let profile = self.profile.unwrap_or(if narrowed { Sets::ALL } else { Sets::DEFAULT });
        tool.sets.meets(profile) && self.wants(tool.server, &tool.definition.name)
    }

    /// Whether a tool of a server is listed; those of `hidden` servers only when they are asked for.
    pub(crate) fn lists_foreign(&self, server: &str, tool: &str, hidden: bool) -> bool {
        let named = !self.servers.is_empty() || self.search.is_some();
        (!hidden || named) && self.wants(server, tool)
    }

    /// Whether a server may have anything this selection lists.
    pub(crate) fn may_want(&self, server: &str) -> bool {
        let server = server.to_ascii_lowercase();
        self.servers.is_empty() || self.servers.contains(&server)
    }

    fn wants(&self, server: &str, tool: &str) -> bool {
        let (server, tool) = (server.to_ascii_lowercase(), tool.to_ascii_lowercase());
        let found = self
            .search
            .as_ref()
            .is_none_or(|text| server.contains(text.as_str()) || tool.contains(text.as_str()));
        found && (self.servers.is_empty() || self.servers.contains(&server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Selection {
        Selection::of_query(Some(query)).unwrap()
    }

    #[test]
    fn other_servers_are_listed_unless_something_else_is_asked_for() {
        assert!(of("").lists_foreign("everything", "echo", false));
        assert!(!of("").lists_foreign("everything", "echo", true));
        assert!(of("search=every").lists_foreign("everything", "echo", true));
        assert!(of("search=ECHO").lists_foreign("everything", "echo", false));
        assert!(!of("search=x").lists_foreign("everything", "echo", false));
        assert!(of("servers=sandbox,Everything").lists_foreign("everything", "echo", false));
        assert!(!of("servers=sandbox").lists_foreign("everything", "echo", false));
        assert!(!of("servers=sandbox").may_want("everything"));
    }

    #[test]
    fn a_profile_that_does_not_exist_is_named_with_those_that_do() {
        let error = Selection::of_query(Some("profile=best")).unwrap_err();
        assert!(error.contains("\"best\"") && error.contains("deep-agent"), "{error}");
        assert!(Selection::of_query(Some("profile=&ticket=x")).is_ok());
    }
}
