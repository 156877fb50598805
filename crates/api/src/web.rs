//! The web without a browser: pages as Markdown, and searching.

use atoll_operation::{Declaration, Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] =
    &[Declaration::of::<FetchWeb>(), Declaration::of::<SearchWeb>()];

/// Fetch a page or document from the web as Markdown.
///
/// What was fetched is kept for a quarter of an hour. `http:` becomes `https:` but for hosts of this machine and its
/// network. A redirect to another host is not followed but told in `redirect_url`: fetch that if it is wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FetchWeb {
    /// The address.
    pub url: String,
    /// What the caller wants to know. It changes nothing: the page is returned, and the reading is the caller's.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Characters of Markdown to return; 100000 when omitted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_chars: Option<u64>,
}

/// A page of the web.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebDocument {
    /// Where it was found, after redirects within the host.
    pub url: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its content as Markdown; empty when `redirect_url` is set.
    pub content: String,
    /// The media type it was sent with.
    pub content_type: Option<String>,
    /// The status it was answered with; the page of an error is content too.
    pub status: u16,
    /// Whether there is more than `content`.
    pub truncated: bool,
    /// Whether it was fetched before.
    pub cached: bool,
    /// The other host's address it is said to be at.
    pub redirect_url: Option<String>,
}

impl Operation for FetchWeb {
    type Output = WebDocument;
    const SPEC: Spec =
        Spec::post("web_fetch", "/v1/web/fetch", "web:read").mcp(Mcp::ReadOnly).errors(&[
            "web.invalid_url",
            "web.refused",
            "web.unreachable",
            "web.bad_answer",
            "web.too_large",
            "web.timeout",
            "convert.unsupported",
            "convert.failed",
            "convert.protected",
            "convert.no_text",
            "convert.too_large",
            "convert.timeout",
            "convert.busy",
            "convert.unavailable",
        ]);
}

/// Search the web with the provider that whoever runs the sandbox has named.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SearchWeb {
    /// What to search for.
    #[schemars(length(min = 2, max = 2000))]
    pub query: String,
    /// Only results from these domains and those below them.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub allowed_domains: Vec<String>,
    /// No results from these domains and those below them.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub blocked_domains: Vec<String>,
    /// Results to return; 8 when omitted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 20))]
    pub num: Option<u32>,
    /// Language of results: `lang_de` or `de`.
    #[serde(default)]
    pub lr: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebResults {
    /// The results, best first.
    pub results: Vec<WebResult>,
    /// Who found them: `searxng`, `brave` or `exa`.
    pub provider: String,
}

/// A result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebResult {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Some of its text.
    pub snippet: String,
}

impl Operation for SearchWeb {
    type Output = WebResults;
    const SPEC: Spec =
        Spec::post("web_search", "/v1/web/search", "web:read").mcp(Mcp::ReadOnly).errors(&[
            "web.search_not_configured",
            "web.provider",
            "web.refused",
            "web.unreachable",
            "web.timeout",
        ]);
}
