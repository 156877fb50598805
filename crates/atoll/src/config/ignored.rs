//! Variables that existing deployments set and that change nothing here, each with its reason. They are named in the log
//! when they are set: whoever relies on one shall learn that it is in vain.

use super::Variables;

const INTERNAL_PORT: &str =
    "no part of this sandbox listens on a port of its own; everything is behind the one port";
const USER: &str =
    "commands run as the user the server was started as; choose it where the container is started";

/// Name and reason.
pub(super) const IGNORED: &[(&str, &str)] = &[
    ("USER_UID", USER),
    ("USER_GID", USER),
    ("DISPLAY_DEPTH", "the desktop always has 24 bits of colour"),
    (
        "ENABLE_CJK_IME",
        "viewers type with their own input methods; texts of any script can be typed and pasted",
    ),
    ("DNS_OVER_HTTPS_TEMPLATES", "names are resolved by the system, where rules for egress apply"),
    ("DISABLE_NODEJS_REPL", "nothing of Node.js runs before it is used"),
    (
        "AUTOSTART_MCP_BROWSER",
        "the browser starts when it is first used; ATOLL_WARM_BROWSER starts it with the server",
    ),
    ("USERDATA_DIR", "what is to be kept lies below the home directory"),
    ("SANDBOX_SRV_PORT", INTERNAL_PORT),
    ("AUTH_BACKEND_PORT", INTERNAL_PORT),
    ("MCP_HUB_PORT", INTERNAL_PORT),
    ("GEM_SERVER_PORT", INTERNAL_PORT),
    ("MCP_SERVER_BROWSER_PORT", INTERNAL_PORT),
    ("MCP_SERVER_MARKITDOWN_PORT", INTERNAL_PORT),
    ("MCP_SERVER_CHROME_DEVTOOLS_PORT", INTERNAL_PORT),
    ("TINYPROXY_PORT", INTERNAL_PORT),
    ("CODE_SERVER_PORT", INTERNAL_PORT),
    ("JUPYTER_LAB_PORT", INTERNAL_PORT),
    ("BROWSER_REMOTE_DEBUGGING_PORT", INTERNAL_PORT),
    ("VNC_SERVER_PORT", INTERNAL_PORT),
    ("WEBSOCKET_PROXY_PORT", INTERNAL_PORT),
];

impl Variables {
    /// Those that are set although they change nothing, with the reason.
    pub(crate) fn ignored(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        IGNORED.iter().copied().filter(|(name, _)| self.get(name).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_in_vain_is_named() {
        let set = [("USER_UID", "1000"), ("VNC_SERVER_PORT", ""), ("WORKSPACE", "/w")];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let variables: Variables = set.into_iter().map(owned).collect();
        let names: Vec<_> = variables.ignored().map(|(name, _)| name).collect();
        assert_eq!(names, ["USER_UID"]);
    }

    #[test]
    fn each_is_in_the_table_of_the_documentation() {
        let table = include_str!("../../../../docs/environment.md");
        for (name, _) in IGNORED {
            assert!(table.contains(&format!("`{name}`")), "{name}");
        }
    }
}
