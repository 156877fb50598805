//! The way out: a proxy of the sandbox that the browser and, once something is chosen here, every new program uses.
//! Everything counts at once; nothing need be restarted.

use atoll_operation::{Declaration, Download, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<ListMappings>(),
    Declaration::of::<AddMapping>(),
    Declaration::of::<RemoveMapping>(),
    Declaration::of::<ListExcludes>(),
    Declaration::of::<AddExclude>(),
    Declaration::of::<RemoveExclude>(),
    Declaration::of::<ListIncludes>(),
    Declaration::of::<SetIncludes>(),
    Declaration::of::<DiagnoseUrl>(),
    Declaration::of::<CheckProxy>(),
    Declaration::of::<GetUpstream>(),
    Declaration::of::<SetUpstream>(),
    Declaration::of::<RemoveUpstream>(),
    Declaration::of::<GetPolicy>(),
    Declaration::of::<SetPolicy>(),
    Declaration::of::<ListRefusals>(),
    Declaration::of_download::<GetProxyPac>(),
];

/// A host whose requests are answered elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProxyMappingRoute")]
pub struct MappingRoute {
    /// What is asked for: `[http:// or https://]host[:port][/path]`, with `*` for any text in the host and at the end of
    /// the path.
    pub source: String,
    /// Where it is answered: `[host:]port[/path]`, on this machine where no host is named.
    pub target: String,
    /// The host of the source.
    pub source_host: String,
    /// The path of the source; `/` for all.
    #[serde(default = "root")]
    pub source_path: String,
    /// The port of the proxy that takes the requests.
    pub internal_port: u16,
}

fn root() -> String {
    "/".to_owned()
}

/// List the mappings of hosts to other addresses.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListMappings {}

impl Operation for ListMappings {
    type Output = Vec<MappingRoute>;
    const SPEC: Spec = Spec::get("proxy_list_mappings", "/v1/proxy/mappings", "proxy:read")
        .sdk("proxy", "list_mappings")
        .errors(&["proxy.unavailable"]);
}

/// Have requests for a host answered elsewhere, usually by a port of this sandbox. A mapping for the same source is
/// replaced.
///
/// Paths count in plain HTTP only. An `https` host is passed on byte by byte, so what answers must speak TLS itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AddMapping {
    /// What is asked for: `myapp.com`, `*.staging.app.com`, `api.myapp.com/v1/*`.
    pub source: String,
    /// Where it is answered: `3000`, `:8081/v1/`, `192.168.1.5:3000`.
    pub target: String,
}

impl Operation for AddMapping {
    type Output = MappingRoute;
    const SPEC: Spec = Spec::post("proxy_add_mapping", "/v1/proxy/mappings", "proxy:write")
        .sdk("proxy", "add_mapping")
        .errors(&[
            "proxy.disabled",
            "proxy.invalid_mapping",
            "proxy.too_many",
            "proxy.unavailable",
        ]);
}

/// Remove a mapping. Slashes in its source may be encoded or not.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemoveMapping {
    /// The source it was made with.
    pub source: String,
}

/// A mapping that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedMapping {
    /// Its source.
    pub source: String,
}

impl Operation for RemoveMapping {
    type Output = RemovedMapping;
    const SPEC: Spec =
        Spec::delete("proxy_remove_mapping", "/v1/proxy/mappings/{source}", "proxy:write")
            .sdk("proxy", "remove_mapping")
            .remainder()
            .errors(&["proxy.disabled", "proxy.mapping_not_found"]);
}

/// List what is connected to directly although there is an upstream proxy.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListExcludes {}

impl Operation for ListExcludes {
    type Output = Vec<String>;
    const SPEC: Spec = Spec::get("proxy_list_excludes", "/v1/proxy/excludes", "proxy:read")
        .sdk("proxy", "list_excludes");
}

/// Connect to something directly although there is an upstream proxy.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AddExclude {
    /// What: a domain (`example.com`), a domain with all below it (`.example.com`), only what is below it
    /// (`*.example.com`), or addresses (`10.0.0.0/8`); each perhaps with `:port`.
    pub pattern: String,
}

impl Operation for AddExclude {
    type Output = Vec<String>;
    const SPEC: Spec = Spec::post("proxy_add_exclude", "/v1/proxy/excludes", "proxy:write")
        .sdk("proxy", "add_exclude")
        .errors(&["proxy.disabled", "proxy.invalid_pattern", "proxy.too_many"]);
}

/// Let something meet the upstream proxy again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemoveExclude {
    /// The pattern it was excluded by.
    pub pattern: String,
}

impl Operation for RemoveExclude {
    type Output = Vec<String>;
    const SPEC: Spec = Spec::delete("proxy_remove_exclude", "/v1/proxy/excludes", "proxy:write")
        .sdk("proxy", "remove_exclude")
        .json_body()
        .errors(&["proxy.disabled", "proxy.exclude_not_found"]);
}

/// List what alone goes to the upstream proxy; everything does when the list is empty.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListIncludes {}

impl Operation for ListIncludes {
    type Output = Vec<String>;
    const SPEC: Spec = Spec::get("proxy_list_includes", "/v1/proxy/includes", "proxy:read");
}

/// Say what alone goes to the upstream proxy. Excludes are stronger.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SetIncludes {
    /// Patterns as for excludes; none lets everything go there.
    pub patterns: Vec<String>,
}

impl Operation for SetIncludes {
    type Output = Vec<String>;
    const SPEC: Spec = Spec::put("proxy_set_includes", "/v1/proxy/includes", "proxy:write")
        .errors(&["proxy.disabled", "proxy.invalid_pattern", "proxy.too_many"]);
}

/// Say which way an address goes, and try to connect.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DiagnoseUrl {
    /// The address.
    #[schemars(length(min = 1, max = 8000))]
    pub url: String,
}

/// Which way an address goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProxyDiagnoseResult")]
pub struct Diagnosis {
    /// The address.
    pub url: String,
    /// The mapping that counts for it.
    pub matched_mapping: Option<MappingRoute>,
    /// Where the connection goes first.
    pub resolved_target: Option<String>,
    /// Whether a connection could be made just now.
    #[serde(default)]
    pub target_reachable: bool,
    /// In a word: `mapping`, `upstream`, `bypass` (there is an upstream, but not for this), `direct`, or `refused` by
    /// the policy.
    pub route: String,
    /// Why no connection could be made.
    pub problem: Option<String>,
}

impl Operation for DiagnoseUrl {
    type Output = Diagnosis;
    const SPEC: Spec = Spec::get("proxy_diagnose", "/v1/proxy/diagnose", "proxy:read")
        .sdk("proxy", "diagnose")
        .errors(&["proxy.invalid_url"]);
}

/// Ask whether the proxy works.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CheckProxy {}

/// How the proxy is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProxyHealthCheck")]
pub struct ProxyHealth {
    /// Everything is well.
    pub healthy: bool,
    /// The proxy answers. The field is named for the program that others have in its place.
    pub gost_alive: bool,
    /// What passes mapped requests on answers; it is the same program here.
    pub nginx_alive: bool,
    /// Nothing of what was chosen contradicts itself.
    pub config_consistent: bool,
    /// What does.
    #[serde(default)]
    pub inconsistencies: Vec<String>,
}

impl Operation for CheckProxy {
    type Output = ProxyHealth;
    const SPEC: Spec =
        Spec::get("proxy_health", "/v1/proxy/health", "proxy:read").sdk("proxy", "health");
}

/// The proxy that everything goes through behind the sandbox's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProxyUpstreamInfo")]
pub struct UpstreamInfo {
    /// Its address: `host:port`.
    pub addr: String,
    /// The name it is told, where it is told one.
    pub username: Option<String>,
    /// `***` where there is a password, which is never shown.
    pub password: Option<String>,
    /// What it speaks: `http` or `socks5`.
    pub protocol: String,
    /// Whether a command tells the name and password.
    pub auth_cmd: bool,
}

/// Say which upstream proxy there is; null when connections are direct.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetUpstream {}

impl Operation for GetUpstream {
    type Output = Option<UpstreamInfo>;
    const SPEC: Spec = Spec::get("proxy_get_upstream", "/v1/proxy/upstream", "proxy:read")
        .sdk("proxy", "get_upstream");
}

/// Have connections go through another proxy.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SetUpstream {
    /// The proxy: `host:port` or `name:password@host:port`, perhaps behind `http://`, `socks5://` or `socks5h://`.
    pub server: String,
    /// A shell command that prints `name:password`; it takes the place of those in the address. It is run now, and
    /// again when the proxy refuses what it printed.
    #[serde(default)]
    #[schemars(length(max = 10000))]
    pub auth_cmd: Option<String>,
}

impl Operation for SetUpstream {
    type Output = UpstreamInfo;
    const SPEC: Spec = Spec::put("proxy_set_upstream", "/v1/proxy/upstream", "proxy:write")
        .sdk("proxy", "set_upstream")
        .errors(&[
            "proxy.auth_command_failed",
            "proxy.disabled",
            "proxy.invalid_upstream",
            "proxy.unavailable",
        ]);
}

/// Connect directly again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemoveUpstream {}

/// What became of the upstream proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedUpstream {
    /// Whether there was one.
    pub removed: bool,
}

impl Operation for RemoveUpstream {
    type Output = RemovedUpstream;
    const SPEC: Spec = Spec::delete("proxy_remove_upstream", "/v1/proxy/upstream", "proxy:write")
        .sdk("proxy", "remove_upstream")
        .errors(&["proxy.disabled"]);
}

/// What happens to what no rule speaks of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EgressDefault {
    /// It may be reached.
    #[default]
    Allow,
    /// It may not. Ports of this sandbox may all the same.
    Deny,
}

/// What may be reached through the proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EgressPolicy {
    /// What happens to what no rule speaks of.
    pub default: EgressDefault,
    /// What may be reached where nothing may by default.
    pub allow: Vec<String>,
    /// What may not be reached, whatever is allowed.
    pub deny: Vec<String>,
    /// Whether the metadata services of clouds may be reached.
    pub allow_metadata: bool,
}

/// Say what may be reached through the proxy.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetPolicy {}

impl Operation for GetPolicy {
    type Output = EgressPolicy;
    const SPEC: Spec = Spec::get("proxy_get_policy", "/v1/proxy/policy", "proxy:read");
}

/// Choose what may be reached through the proxy. Replaces the whole policy; connections that are open stay open.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SetPolicy {
    /// What happens to what no rule speaks of.
    #[serde(default)]
    pub default: EgressDefault,
    /// What may be reached where nothing may by default: domains, addresses (`10.0.0.0/8`) or ports (`:443`,
    /// `example.com:8000-9000`), as for excludes.
    #[serde(default)]
    pub allow: Vec<String>,
    /// What may not be reached, whatever is allowed.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Whether the metadata services of clouds may be reached, which tell a machine's credentials.
    #[serde(default)]
    pub allow_metadata: bool,
}

impl Operation for SetPolicy {
    type Output = EgressPolicy;
    const SPEC: Spec = Spec::put("proxy_set_policy", "/v1/proxy/policy", "proxy:write").errors(&[
        "proxy.disabled",
        "proxy.invalid_pattern",
        "proxy.too_many",
        "proxy.unavailable",
    ]);
}

/// List what the policy refused, the latest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListRefusals {
    /// How many at most; 100 when omitted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub limit: Option<u32>,
}

/// Something that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EgressRefusal {
    /// When, as RFC 3339 has it.
    pub at: String,
    /// How it was asked for: `http`, `connect`, `socks`, or `internal` by the sandbox itself.
    pub via: String,
    /// The host asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address it turned out to have, where it was looked up.
    pub address: Option<String>,
    /// Why not.
    pub reason: String,
}

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EgressRefusals {
    /// The latest, newest first.
    pub refusals: Vec<EgressRefusal>,
    /// How many there were since the server started, those that are forgotten included.
    pub total: u64,
}

impl Operation for ListRefusals {
    type Output = EgressRefusals;
    const SPEC: Spec = Spec::get("proxy_refusals", "/v1/proxy/refusals", "proxy:read");
}

/// Get the script (PAC) by which a browser of this sandbox decides what it asks the proxy for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetProxyPac {}

impl Download for GetProxyPac {
    const SPEC: Spec =
        Spec::download("browser_get_proxy_pac", "/v1/browser/proxy.pac", "proxy:read")
            .sdk("browser", "get_proxy_pac");
    const MEDIA_TYPES: &'static [&'static str] = &["application/x-ns-proxy-autoconfig"];
}
