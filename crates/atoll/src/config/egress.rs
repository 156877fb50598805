//! The way out of the sandbox: the `[egress]` table of the file, and the variables existing deployments set.

use std::fmt;

use atoll_api::proxy::EgressDefault;
use atoll_sandbox::egress::{EgressSettings, Mapping, Policy, Rule, Setup, Upstream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::{ConfigError, Variables};
use crate::secrets::Secrets;

/// Holds the upstream proxy, perhaps with a password.
const UPSTREAM: &str = "PROXY_SERVER";
/// By which programs find a proxy, strongest first. The server itself obeys them where nothing else is said.
const USUAL: [&str; 6] =
    ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const USUAL_EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The way out of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct EgressConfig {
    /// Whether the browser and, once something is chosen, every program use the sandbox's own proxy.
    pub(crate) enabled: bool,
    /// Proxy that everything goes through: `host:port`, `name:password@host:port`, or a URL. The password is not printed.
    pub(crate) upstream: Option<Server>,
    /// Shell command that prints the upstream's `name:password`.
    pub(crate) auth_command: Option<String>,
    /// What is connected to directly although there is an upstream: domains (`.example.com`) and addresses (`10.0.0.0/8`).
    pub(crate) excludes: Vec<String>,
    /// What alone goes to the upstream; everything when empty.
    pub(crate) includes: Vec<String>,
    /// Hosts that are answered elsewhere: `myapp.com=3000`.
    pub(crate) mappings: Vec<String>,
    /// What happens to what neither `allow` nor `deny` speaks of: `allow` or `deny`.
    pub(crate) default: EgressDefault,
    /// What may be reached where nothing may by default.
    pub(crate) allow: Vec<String>,
    /// What may not be reached, whatever is allowed.
    pub(crate) deny: Vec<String>,
    /// Whether the metadata services of clouds may be reached.
    pub(crate) allow_metadata: bool,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("enabled", "Environment ATOLL_EGRESS."),
    (
        "upstream",
        "Environment PROXY_SERVER; https_proxy, http_proxy and all_proxy where it is not set.",
    ),
    ("auth_command", "Environment ATOLL_EGRESS_AUTH_COMMAND."),
    ("excludes", "Environment PROXY_EXCLUDE; no_proxy with https_proxy and the like."),
    ("includes", "Environment PROXY_INCLUDE."),
    ("mappings", "Environment PROXY_MAP."),
    ("default", "Environment ATOLL_EGRESS_DEFAULT."),
    ("allow", "Environment ATOLL_EGRESS_ALLOW."),
    ("deny", "Environment ATOLL_EGRESS_DENY."),
    ("allow_metadata", "Environment ATOLL_EGRESS_ALLOW_METADATA."),
];

/// The address of a proxy. Its password is for the proxy alone: it is neither printed nor logged.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Server(String);

impl Server {
    fn masked(&self) -> String {
        let Some((before, address)) = self.0.rsplit_once('@') else {
            return self.0.clone();
        };
        let (scheme, user) = match before.split_once("://") {
            Some((scheme, user)) => (format!("{scheme}://"), user),
            None => (String::new(), before),
        };
        let name = user.split(':').next().unwrap_or_default();
        format!("{scheme}{name}:***@{address}")
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

impl Serialize for Server {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.masked())
    }
}

/// What one source says about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EgressLayer {
    enabled: Option<bool>,
    upstream: Option<Server>,
    auth_command: Option<String>,
    excludes: Option<Vec<String>>,
    includes: Option<Vec<String>>,
    mappings: Option<Vec<String>>,
    default: Option<EgressDefault>,
    allow: Option<Vec<String>>,
    deny: Option<Vec<String>>,
    allow_metadata: Option<bool>,
}

impl EgressLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            enabled: self.enabled.or(below.enabled),
            upstream: self.upstream.or(below.upstream),
            auth_command: self.auth_command.or(below.auth_command),
            excludes: self.excludes.or(below.excludes),
            includes: self.includes.or(below.includes),
            mappings: self.mappings.or(below.mappings),
            default: self.default.or(below.default),
            allow: self.allow.or(below.allow),
            deny: self.deny.or(below.deny),
            allow_metadata: self.allow_metadata.or(below.allow_metadata),
        }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> EgressConfig {
        EgressConfig {
            enabled: self.enabled.unwrap_or(true),
            upstream: self.upstream,
            auth_command: self.auth_command,
            excludes: self.excludes.unwrap_or_default(),
            includes: self.includes.unwrap_or_default(),
            mappings: self.mappings.unwrap_or_default(),
            default: self.default.unwrap_or_default(),
            allow: self.allow.unwrap_or_default(),
            deny: self.deny.unwrap_or_default(),
            allow_metadata: self.allow_metadata.unwrap_or_default(),
        }
    }
}

impl Variables {
    /// What the environment says about it. The upstream comes with the secrets.
    pub(super) fn egress(&self) -> Result<EgressLayer, ConfigError> {
        let default = match self.get("ATOLL_EGRESS_DEFAULT").map(str::trim) {
            None => None,
            Some("allow") => Some(EgressDefault::Allow),
            Some("deny") => Some(EgressDefault::Deny),
            Some(other) => {
                return Err(ConfigError::Variable {
                    name: "ATOLL_EGRESS_DEFAULT".to_owned(),
                    value: other.to_owned(),
                    allowed: "write allow or deny".to_owned(),
                });
            }
        };
        Ok(EgressLayer {
            enabled: self.switch("ATOLL_EGRESS")?,
            upstream: None,
            auth_command: self.get("ATOLL_EGRESS_AUTH_COMMAND").map(str::to_owned),
            excludes: self.patterns("PROXY_EXCLUDE"),
            includes: self.patterns("PROXY_INCLUDE"),
            mappings: self.get("PROXY_MAP").map(mappings),
            default,
            allow: self.patterns("ATOLL_EGRESS_ALLOW"),
            deny: self.patterns("ATOLL_EGRESS_DENY"),
            allow_metadata: self.switch("ATOLL_EGRESS_ALLOW_METADATA")?,
        })
    }

    /// A list of patterns, separated as any of the programs that have such a list does it.
    fn patterns(&self, name: &str) -> Option<Vec<String>> {
        let parts = self.get(name)?.split([',', ';', ' ', '\n', '\t']);
        Some(parts.filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }
}

/// Mappings as a JSON object, or as `source=target` separated by commas, semicolons or white space.
fn mappings(text: &str) -> Vec<String> {
    if let Ok(object) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
        let pair = |(source, target): (&String, &serde_json::Value)| match target.as_str() {
            Some(target) => format!("{source}={target}"),
            None => format!("{source}={target}"),
        };
        return object.iter().map(pair).collect();
    }
    let parts = text.split([',', ';', ' ', '\n', '\t']);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

impl EgressConfig {
    /// The same for the sandbox, with the upstream that the secrets or the usual variables name. The error says which
    /// setting cannot be used, without repeating a password.
    pub(crate) fn settings(
        &self,
        secrets: &Secrets,
        variables: &Variables,
    ) -> Result<EgressSettings, String> {
        let rules = |name: &str, texts: &[String]| -> Result<Vec<Rule>, String> {
            let parsed = texts.iter().map(|text| text.parse::<Rule>());
            parsed.collect::<Result<_, _>>().map_err(|error| format!("egress.{name}: {error}"))
        };
        let mapping = |text: &String| -> Result<Mapping, String> {
            let (source, target) = text.rsplit_once('=').ok_or_else(|| {
                format!("egress.mappings: {text:?} cannot be used: write source=target, as in myapp.com=3000")
            })?;
            Mapping::parse(source, target.trim_start_matches('>'))
                .map_err(|error| format!("egress.mappings: {error}"))
        };
        let mut setup = Setup {
            mappings: self.mappings.iter().map(mapping).collect::<Result<_, _>>()?,
            excludes: rules("excludes", &self.excludes)?,
            includes: rules("includes", &self.includes)?,
            upstream: None,
            policy: Policy {
                deny_by_default: self.default == EgressDefault::Deny,
                allow: rules("allow", &self.allow)?,
                deny: rules("deny", &self.deny)?,
                allow_metadata: self.allow_metadata,
            },
        };
        let command = self.auth_command.as_deref();
        let named = secrets.get(UPSTREAM).map(|secret| secret.expose().to_owned());
        if let Some(server) =
            named.or_else(|| self.upstream.as_ref().map(|server| server.0.clone()))
        {
            let upstream = Upstream::parse(&server, command);
            setup.upstream = Some(upstream.map_err(|error| format!("{UPSTREAM}: {error}"))?);
        } else {
            inherit(&mut setup, variables);
        }
        Ok(EgressSettings { off: !self.enabled, setup })
    }
}

/// Takes over the proxy that the server's own environment names. What cannot be used there is left alone: it may be meant
/// for other programs.
fn inherit(setup: &mut Setup, variables: &Variables) {
    let server = USUAL.iter().find_map(|name| variables.get(name));
    setup.upstream = server.and_then(|server| Upstream::parse(server, None).ok());
    if setup.upstream.is_some() {
        let exceptions = USUAL_EXCEPTIONS.iter().find_map(|name| variables.get(name));
        let exceptions = exceptions.unwrap_or_default().split([',', ' ']);
        // In these lists a bare domain means all below it too.
        let rule = |text: &str| {
            let plain = text.trim_start_matches('.');
            let dotted = plain.parse::<std::net::IpAddr>().is_err() && !plain.contains(['/', '*']);
            if dotted { format!(".{plain}").parse::<Rule>() } else { plain.parse() }.ok()
        };
        setup.excludes.extend(exceptions.filter(|text| !text.is_empty()).filter_map(rule));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(secrets: &[(&str, &str)], list: &[(&str, &str)]) -> Result<EgressSettings, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Variables = list.iter().map(owned).collect();
        let config = variables.egress().map_err(|error| error.to_string())?.resolve();
        config.settings(&Secrets::of(secrets), &variables)
    }

    #[test]
    fn variables_of_existing_deployments_mean_what_they_always_meant() {
        let settings = settings(
            &[("PROXY_SERVER", "user:word@proxy.test:3128")],
            &[
                ("PROXY_EXCLUDE", "*.internal.test, 10.0.0.0/8;.local.test"),
                ("PROXY_INCLUDE", "far.test"),
                ("PROXY_MAP", "myapp.test=3000,api.test/v1/*=:8081/v1/"),
            ],
        )
        .unwrap();
        assert_eq!(settings.setup.upstream.unwrap().address(), "proxy.test:3128");
        assert_eq!(settings.setup.excludes.len(), 3);
        assert_eq!(settings.setup.includes[0].text(), "far.test");
        let targets: Vec<_> = settings.setup.mappings.iter().map(|each| &*each.target).collect();
        assert_eq!(targets, ["3000", ":8081/v1/"]);
        assert!(!settings.off);
    }

    #[test]
    fn mappings_may_be_json_too() {
        assert_eq!(
            mappings(r#"{"a.test": 3000, "b.test": ":1/x"}"#),
            ["a.test=3000", "b.test=:1/x"]
        );
    }

    #[test]
    fn the_usual_variables_count_where_nothing_else_is_said() {
        let usual = [
            ("https_proxy", "http://corp.test:8080"),
            ("no_proxy", "localhost,.corp.test,x.test,10.0.0.1"),
        ];
        let inherited = settings(&[], &usual).unwrap().setup;
        assert_eq!(inherited.upstream.unwrap().address(), "corp.test:8080");
        let texts: Vec<_> = inherited.excludes.iter().map(Rule::text).collect();
        assert_eq!(texts, [".localhost", ".corp.test", ".x.test", "10.0.0.1"]);
        let chosen = settings(&[("PROXY_SERVER", "p.test:1")], &usual).unwrap().setup;
        assert_eq!(chosen.upstream.unwrap().address(), "p.test:1");
        assert!(chosen.excludes.is_empty());
        let foreign = settings(&[], &[("http_proxy", "https://tls.test:1")]).unwrap();
        assert!(foreign.setup.upstream.is_none());
    }

    #[test]
    fn a_mistake_names_its_setting_and_no_password() {
        let mistake =
            |secrets: &[(&str, &str)], list: &[(&str, &str)]| settings(secrets, list).unwrap_err();
        assert!(mistake(&[], &[("PROXY_EXCLUDE", "a..b")]).contains("egress.excludes"));
        assert!(mistake(&[], &[("PROXY_MAP", "a.test")]).contains("source=target"));
        assert!(mistake(&[], &[("ATOLL_EGRESS_DEFAULT", "maybe")]).contains("allow or deny"));
        let upstream = mistake(&[("PROXY_SERVER", "u:hunter2@p:port")], &[]);
        assert!(upstream.contains("PROXY_SERVER") && !upstream.contains("hunter2"), "{upstream}");
    }

    #[test]
    fn a_password_in_the_file_is_not_printed() {
        let layer: EgressLayer = toml::from_str("upstream = 'http://u:hunter2@p.test:1'").unwrap();
        let config = layer.resolve();
        let printed = format!("{config:?} {}", serde_json::to_string(&config).unwrap());
        assert!(
            !printed.contains("hunter2") && printed.contains("http://u:***@p.test:1"),
            "{printed}"
        );
        let made = config.settings(&Secrets::default(), &Variables::default()).unwrap();
        assert!(made.setup.upstream.is_some());
    }

    #[test]
    fn the_policy_and_the_switch_can_be_set() {
        let settings = settings(
            &[],
            &[
                ("ATOLL_EGRESS", "off"),
                ("ATOLL_EGRESS_DEFAULT", "deny"),
                ("ATOLL_EGRESS_ALLOW", ".good.test:443"),
                ("ATOLL_EGRESS_DENY", ":25"),
            ],
        )
        .unwrap();
        let policy = settings.setup.policy;
        assert!(settings.off && policy.deny_by_default && !policy.allow_metadata);
        assert_eq!((policy.allow.len(), policy.deny.len()), (1, 1));
    }
}
