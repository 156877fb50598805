//! The environment every child gets. It is built here from nothing, never inherited: the server's own variables
//! hold its keys and settings, and whatever runs in the sandbox must not see them (invariant 5).
//!
//! Four sources, in rising strength: names known to be harmless and useful (proxies, package indexes, certificates);
//! names the operator passes on by pattern; our own settings for programs driven by agents; names the operator passes
//! on exactly. What identifies the sandbox (`HOME`, `USER`, `PATH`, `WORKSPACE`) is always ours, and what may be a
//! secret of this server is refused whatever the operator lists.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The server's own secrets and settings. Anything that starts with [`RESERVED_PREFIX`] is reserved as well.
const RESERVED: &[&str] = &[
    "AUTH_TOKEN",
    "EXTRA_MCP_SERVERS",
    "JWT_PUBLIC_KEY",
    "JWT_SECRET",
    "PROXY_SERVER",
    "SANDBOX_API_KEY",
    "SANDBOX_JWT_PUBLIC_KEY",
];
const RESERVED_PREFIX: &str = "ATOLL_";

/// Passed on when the server has them: where tools find their mirrors, certificates, installations and display.
const PASSED: &[&str] = &[
    "*_proxy",
    "*_PROXY",
    "CARGO_HOME",
    "CURL_CA_BUNDLE",
    "DISPLAY",
    "FNM_DIR",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GIT_SSL_CAINFO",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "GOSUMDB",
    "JAVA_HOME",
    "LC_*",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_REGISTRY",
    "NVM_DIR",
    "PIP_CERT",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PYENV_ROOT",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZ",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_PYTHON_INSTALL_DIR",
    "VIRTUAL_ENV",
    "XDG_RUNTIME_DIR",
    "npm_config_registry",
];

/// What says whose sandbox this is.
const IDENTITY: [&str; 4] = ["HOME", "LOGNAME", "USER", "WORKSPACE"];

/// Searched after the server's own `PATH`, so that a server started with a bare one still finds programs.
const DEFAULT_PATH: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The variables every child starts with.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// Builds the children's environment from the server's. `pass` holds names (`FOO`) and patterns (`MY_*`) the
    /// operator wants passed on beyond the usual ones.
    pub fn build(
        server_env: impl Iterator<Item = (String, String)>,
        home: &Path,
        workspace: &Path,
        user: &str,
        pass: &[String],
    ) -> Self {
        let server: BTreeMap<String, String> = server_env
            .filter(|(name, value)| is_valid(name, value) && !is_reserved(name))
            .collect();
        let mut variables = BTreeMap::new();

        let by_pattern = || {
            let usual = PASSED.iter().copied();
            usual.chain(pass.iter().map(String::as_str))
        };
        for (name, value) in &server {
            if by_pattern().any(|pattern| matches(pattern, name)) && !overrides_utf8(name, value) {
                variables.insert(name.clone(), value.clone());
            }
        }

        let lang = server.get("LANG").filter(|lang| is_utf8(lang));
        let settings = [
            ("SHELL", "/bin/bash"),
            ("LANG", lang.map_or("C.UTF-8", String::as_str)),
            ("TERM", "xterm-256color"),
            // A pager waits for a key that no agent presses.
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("MANPAGER", "cat"),
            ("DEBIAN_FRONTEND", "noninteractive"),
        ];
        for (name, value) in settings {
            let asked_for = pass.iter().any(|pattern| pattern == name);
            if !(asked_for && variables.contains_key(name)) {
                variables.insert(name.to_owned(), value.to_owned());
            }
        }

        let home = home.to_string_lossy().into_owned();
        let path = search_path(&home, server.get("PATH").map_or("", String::as_str));
        let workspace = workspace.to_string_lossy().into_owned();
        let identity = [
            ("HOME", home),
            ("LOGNAME", user.to_owned()),
            ("PATH", path),
            ("USER", user.to_owned()),
            ("WORKSPACE", workspace),
        ];
        variables.extend(identity.map(|(name, value)| (name.to_owned(), value)));

        Self { variables }
    }

    /// Exactly these variables, for tests that must not see this machine's programs.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { variables: variables.iter().map(owned).collect() }
    }

    /// The value of one variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Every variable, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// This environment with what the operator's init scripts exported. What identifies the sandbox stays, and secrets of
    /// the server do not come in this way either.
    #[must_use]
    pub fn exporting(&self, exported: BTreeMap<String, String>) -> Self {
        let mut variables = self.variables.clone();
        let allowed = |(name, value): &(String, String)| {
            is_valid(name, value) && !is_reserved(name) && !IDENTITY.contains(&name.as_str())
        };
        variables.extend(exported.into_iter().filter(allowed));
        Self { variables }
    }

    /// This environment with a caller's own variables, which win.
    pub fn with(&self, extra: &BTreeMap<String, String>) -> Vec<(String, String)> {
        let mut variables = self.variables.clone();
        variables.extend(extra.clone());
        variables.into_iter().collect()
    }
}

/// Names only: a proxy's URL may hold a password, and this reaches logs.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// What an environment block can hold at all.
fn is_valid(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.starts_with(RESERVED_PREFIX) || RESERVED.contains(&name.as_str())
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// These two decide the character encoding over `LANG`: `LC_ALL=C` would turn every non-ASCII letter into `?`.
fn overrides_utf8(name: &str, value: &str) -> bool {
    matches!(name, "LC_ALL" | "LC_CTYPE") && !is_utf8(value)
}

/// Whether `name` fits `pattern`, where `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|tail| {
            tail.char_indices()
                .map(|(position, _)| &tail[position..])
                .chain([""])
                .any(|tail| matches(rest, tail))
        }),
    }
}

/// The user's own programs first, then the server's path, then the usual places; each directory once. Relative and
/// empty entries are left out: they would run whatever lies in the current directory.
fn search_path(home: &str, server: &str) -> String {
    let own = [format!("{home}/.local/bin"), format!("{home}/bin")];
    let mut directories: Vec<&str> = Vec::new();
    let all = own.iter().map(String::as_str);
    for directory in all.chain(server.split(':')).chain(DEFAULT_PATH.iter().copied()) {
        if directory.starts_with('/') && !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    directories.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(server: &[(&str, &str)], pass: &[&str]) -> Environment {
        let server = server.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let pass: Vec<String> = pass.iter().map(ToString::to_string).collect();
        Environment::build(server, Path::new("/home/someone"), Path::new("/data"), "someone", &pass)
    }

    #[test]
    fn a_bare_server_still_gives_a_complete_environment() {
        let environment = build(&[], &[]);
        let expected = [
            ("HOME", "/home/someone"),
            ("USER", "someone"),
            ("LOGNAME", "someone"),
            ("WORKSPACE", "/data"),
            ("SHELL", "/bin/bash"),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("MANPAGER", "cat"),
            ("DEBIAN_FRONTEND", "noninteractive"),
        ];
        for (name, value) in expected {
            assert_eq!(environment.get(name), Some(value), "{name}");
        }
        assert_eq!(
            environment.get("PATH"),
            Some(
                "/home/someone/.local/bin:/home/someone/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:\
                 /usr/bin:/sbin:/bin"
            )
        );
    }

    #[test]
    fn unknown_variables_of_the_server_stay_with_the_server() {
        let environment = build(&[("AWS_SECRET_ACCESS_KEY", "x"), ("LD_PRELOAD", "y")], &[]);
        assert_eq!(environment.get("AWS_SECRET_ACCESS_KEY"), None);
        assert_eq!(environment.get("LD_PRELOAD"), None);
    }

    #[test]
    fn secrets_of_the_server_never_pass_whatever_the_operator_lists() {
        let secrets = [
            "JWT_PUBLIC_KEY",
            "SANDBOX_JWT_PUBLIC_KEY",
            "SANDBOX_API_KEY",
            "AUTH_TOKEN",
            "EXTRA_MCP_SERVERS",
            "ATOLL_LISTEN",
            "ATOLL_ANYTHING",
            "auth_token",
        ];
        let server: Vec<_> = secrets.iter().map(|name| (*name, "secret")).collect();
        let mut pass = vec!["*", "*TOKEN", "ATOLL_*"];
        pass.extend(secrets);
        let environment = build(&server, &pass);
        for (name, value) in environment.iter() {
            assert_ne!(value, "secret", "{name}");
        }
    }

    #[test]
    fn tool_settings_and_proxies_pass_when_set() {
        let server = [
            ("http_proxy", "http://p"),
            ("NO_PROXY", "localhost"),
            ("PIP_INDEX_URL", "http://i"),
            ("SSL_CERT_FILE", "/c.pem"),
            ("DISPLAY", ":1"),
            ("TZ", "Europe/Lisbon"),
        ];
        let environment = build(&server, &[]);
        for (name, value) in server {
            assert_eq!(environment.get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn the_operator_passes_names_and_patterns() {
        let server = [("FOO", "1"), ("FOOD", "2"), ("MY_A", "3"), ("OTHER", "4")];
        let environment = build(&server, &["FOO", "MY_*"]);
        assert_eq!(environment.get("FOO"), Some("1"));
        assert_eq!(environment.get("FOOD"), None);
        assert_eq!(environment.get("MY_A"), Some("3"));
        assert_eq!(environment.get("OTHER"), None);
    }

    #[test]
    fn a_setting_of_ours_yields_to_an_exact_name_but_not_to_a_pattern() {
        let server = [("PAGER", "less"), ("HOME", "/elsewhere")];
        assert_eq!(build(&server, &["*"]).get("PAGER"), Some("cat"));
        assert_eq!(build(&server, &["PAGER"]).get("PAGER"), Some("less"));
        assert_eq!(build(&[], &["PAGER"]).get("PAGER"), Some("cat"));
        assert_eq!(build(&server, &["HOME"]).get("HOME"), Some("/home/someone"));
    }

    #[test]
    fn the_locale_is_always_one_of_utf8() {
        assert_eq!(build(&[("LANG", "de_DE.UTF-8")], &[]).get("LANG"), Some("de_DE.UTF-8"));
        assert_eq!(build(&[("LANG", "de_DE")], &[]).get("LANG"), Some("C.UTF-8"));
        let environment = build(&[("LC_ALL", "C"), ("LC_NUMERIC", "C")], &[]);
        assert_eq!(environment.get("LC_ALL"), None);
        assert_eq!(environment.get("LC_NUMERIC"), Some("C"));
    }

    #[test]
    fn the_path_keeps_order_and_drops_what_would_run_from_the_current_directory() {
        let environment = build(&[("PATH", "/opt/x::.:rel:/usr/bin:/opt/x")], &[]);
        assert_eq!(
            environment.get("PATH"),
            Some(
                "/home/someone/.local/bin:/home/someone/bin:/opt/x:/usr/bin:/usr/local/sbin:/usr/local/bin:\
                 /usr/sbin:/sbin:/bin"
            )
        );
    }

    #[test]
    fn a_callers_variables_win() {
        let extra = BTreeMap::from([
            ("PAGER".to_owned(), "less".to_owned()),
            ("NEW".to_owned(), "1".to_owned()),
        ]);
        let variables: BTreeMap<_, _> = build(&[], &[]).with(&extra).into_iter().collect();
        assert_eq!(variables["PAGER"], "less");
        assert_eq!(variables["NEW"], "1");
        assert_eq!(variables["HOME"], "/home/someone");
    }

    #[test]
    fn exports_of_init_scripts_come_in_but_for_identity_and_secrets() {
        let exported =
            [("NEW", "1"), ("PATH", "/p"), ("HOME", "/x"), ("AUTH_TOKEN", "s"), ("A=B", "c")];
        let exported = exported.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = build(&[], &[]).exporting(exported.into());
        assert_eq!(environment.get("NEW"), Some("1"));
        assert_eq!(environment.get("PATH"), Some("/p"));
        assert_eq!(environment.get("HOME"), Some("/home/someone"));
        assert_eq!(environment.get("AUTH_TOKEN"), None);
        assert_eq!(environment.get("A=B"), None);
    }

    #[test]
    fn debug_output_holds_no_values() {
        let environment = build(&[("http_proxy", "http://user:word@proxy")], &[]);
        assert!(!format!("{environment:?}").contains("word"));
    }

    #[test]
    fn patterns_match_anywhere_and_never_by_accident() {
        assert!(matches("*", ""));
        assert!(matches("A*C", "ABBC"));
        assert!(matches("*_proxy", "all_proxy"));
        assert!(!matches("A*C", "ABBCD"));
        assert!(!matches("", "A"));
    }
}
