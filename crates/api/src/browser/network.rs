//! What pages ask the network for: the log of it, answers made up for it, headers added to it.

use std::collections::BTreeMap;

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Add headers to every request of the context. Replaces those added before; an empty map takes them back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SetHeaders {
    /// Values by name.
    pub headers: BTreeMap<String, String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// Headers that are in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeadersSet {
    /// The origin they are for; null for all.
    pub origin: Option<String>,
    /// Their names.
    pub headers: Vec<String>,
}

impl Operation for SetHeaders {
    type Output = HeadersSet;
    const SPEC: Spec =
        Spec::post("browser_set_headers", "/v1/browser/network/headers", "browser:write")
            .sdk("browser.network", "set_headers")
            .mcp(Mcp::Mutating)
            .errors(HEADERS);
}

/// Add headers to the requests to one origin. Replaces those added for it before; an empty map takes them back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SetScopedHeaders {
    /// Scheme, host and port: `https://api.example.com`.
    pub origin: String,
    /// Values by name; they win over those added to every request.
    pub headers: BTreeMap<String, String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for SetScopedHeaders {
    type Output = HeadersSet;
    const SPEC: Spec = Spec::post(
        "browser_set_scoped_headers",
        "/v1/browser/network/scoped_headers",
        "browser:write",
    )
    .sdk("browser.network", "set_scoped_headers")
    .mcp(Mcp::Mutating)
    .errors(HEADERS);
}

/// An answer made up for a request.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RouteResponseModel")]
pub struct RouteResponse {
    /// Its status.
    #[serde(default = "ok")]
    #[schemars(range(min = 100, max = 599))]
    pub status: u16,
    /// Its headers, by name.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its body.
    #[serde(default)]
    pub body: String,
    /// Media type of its body.
    #[serde(default = "plain")]
    pub content_type: String,
}

fn ok() -> u16 {
    200
}

fn plain() -> String {
    "text/plain".to_owned()
}

/// Answer matching requests yourself, or refuse them. Without `response` and `abort` they pass, whatever older routes say.
///
/// A pattern is a glob over the whole address (`**/api/*`, `https://example.com/**`), a regular expression between
/// slashes (`/\.(png|jpg)$/`), or an address. The route added last wins; one with the same pattern is replaced.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AddRoute {
    /// Which requests.
    pub url_pattern: String,
    /// The answer they get.
    #[serde(default)]
    pub response: Option<RouteResponse>,
    /// Let them fail.
    #[serde(default)]
    pub abort: bool,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A route that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteChanged {
    /// Its pattern.
    pub url_pattern: String,
    /// Patterns of all routes in force, the strongest first.
    pub routes: Vec<String>,
}

impl Operation for AddRoute {
    type Output = RouteChanged;
    const SPEC: Spec =
        Spec::post("browser_add_route", "/v1/browser/network/route", "browser:write")
            .sdk("browser.network", "add_route")
            .mcp(Mcp::Mutating)
            .large_body()
            .errors(common![
                "browser.invalid_pattern",
                "browser.invalid_header",
                "browser.routes_exhausted"
            ]);
}

/// Remove a route.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemoveRoute {
    /// The pattern it was added with.
    pub url_pattern: String,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for RemoveRoute {
    type Output = RouteChanged;
    const SPEC: Spec =
        Spec::delete("browser_remove_route", "/v1/browser/network/route", "browser:write")
            .json_body()
            .sdk("browser.network", "remove_route")
            .mcp(Mcp::Mutating)
            .errors(common!["browser.route_not_found"]);
}

/// List the requests that pages of the context made, from the first one on, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetRequests {
    /// Only those whose address contains this, or matches it as a glob or as a regular expression between slashes.
    #[serde(default)]
    pub filter: Option<String>,
    /// How many at most, the latest ones.
    #[serde(default = "limit")]
    #[schemars(range(min = 0))]
    pub limit: i64,
    /// Return headers too.
    #[serde(default)]
    pub headers: bool,
    /// Forget them afterwards.
    #[serde(default)]
    pub clear: bool,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

fn limit() -> i64 {
    100
}

/// A request a page made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestRecord {
    /// Its address.
    pub url: String,
    /// Its method.
    pub method: String,
    /// What it was for: `document`, `script`, `stylesheet`, `image`, `fetch`, `xhr`, …
    pub resource_type: String,
    /// Status of the answer; null while there is none.
    pub status: Option<u16>,
    /// The words that went with the status.
    pub status_text: Option<String>,
    /// Media type of the answer.
    pub mime_type: Option<String>,
    /// When it began.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// Milliseconds until the last byte; null while it is on its way.
    pub duration_ms: Option<f64>,
    /// Bytes that came over the network.
    pub transferred_bytes: Option<u64>,
    /// Whether the answer came from a cache.
    pub from_cache: bool,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Pattern of the route that answered it, if one did.
    pub route: Option<String>,
    /// Headers of the request; empty unless asked for.
    pub request_headers: BTreeMap<String, String>,
    /// Headers of the answer; empty unless asked for.
    pub response_headers: BTreeMap<String, String>,
}

impl Operation for GetRequests {
    type Output = Vec<RequestRecord>;
    const SPEC: Spec =
        Spec::get("browser_get_requests", "/v1/browser/network/requests", "browser:read")
            .sdk("browser.network", "get_requests")
            .mcp(Mcp::ReadOnly)
            .errors(common!["browser.invalid_pattern"]);
}

/// Write the requests of the context to a HAR file, for any HAR viewer.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExportHar {
    /// The file.
    pub save_path: String,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A HAR file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedHar {
    /// The file.
    pub path: String,
    /// Requests in it.
    pub entries: u64,
}

impl Operation for ExportHar {
    type Output = ExportedHar;
    const SPEC: Spec =
        Spec::post("browser_export_har", "/v1/browser/network/export_har", "browser:write")
            .sdk("browser.network", "export_har")
            .mcp(Mcp::Mutating)
            .errors(common![
                "file.not_found",
                "file.permission_denied",
                "file.invalid_path",
                "file.invalid_target",
                "file.no_space_left",
                "file.io_error"
            ]);
}

const HEADERS: &[&str] = common!["browser.invalid_header", "browser.invalid_origin"];
