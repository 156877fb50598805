//! What the browser remembers: cookies, and the state of a login in a file.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Read the cookies.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetCookies {
    /// Only those that would be sent to these addresses, separated by commas.
    #[serde(default)]
    pub urls: Option<String>,
    /// Context whose cookies are meant.
    #[serde(default)]
    pub context: Option<String>,
}

/// A cookie, with the names Playwright uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The host it belongs to; with a dot before it, those below it too.
    pub domain: String,
    /// The path below which it is sent.
    pub path: String,
    /// When it expires, in seconds since 1970; -1 when it ends with the browser.
    pub expires: f64,
    /// Whether it is kept from scripts.
    pub http_only: bool,
    /// Whether it is sent only over safe connections.
    pub secure: bool,
    /// Whether it is sent with requests from other sites: `Strict`, `Lax` or `None`.
    pub same_site: String,
}

impl Operation for GetCookies {
    type Output = Vec<Cookie>;
    const SPEC: Spec = Spec::get("browser_get_cookies", "/v1/browser/cookies", "browser:read")
        .sdk("browser.cookies", "get_cookies")
        .mcp(Mcp::ReadOnly)
        .errors(common![]);
}

/// A cookie to set. It needs `url`, or `domain` (and `path`, which is `/` when omitted).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CookieToSet {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
    /// An address whose host and path it shall belong to.
    #[serde(default)]
    pub url: Option<String>,
    /// The host it belongs to; with a dot before it, those below it too.
    #[serde(default)]
    pub domain: Option<String>,
    /// The path below which it is sent.
    #[serde(default)]
    pub path: Option<String>,
    /// When it expires, in seconds since 1970; with the browser when omitted or -1.
    #[serde(default, alias = "expirationDate", alias = "expiry")]
    pub expires: Option<f64>,
    /// Whether it is kept from scripts.
    #[serde(default, alias = "http_only")]
    pub http_only: Option<bool>,
    /// Whether it is sent only over safe connections.
    #[serde(default)]
    pub secure: Option<bool>,
    /// Whether it is sent with requests from other sites: `Strict`, `Lax` or `None`.
    #[serde(default, alias = "same_site")]
    pub same_site: Option<String>,
}

/// Set cookies: all of them, or none when one is wrong.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SetCookies {
    /// The cookies.
    #[schemars(length(max = 10_000))]
    pub cookies: Vec<CookieToSet>,
    /// Context whose cookies are meant.
    #[serde(default)]
    pub context: Option<String>,
}

/// Cookies that were changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CookiesChanged {
    /// How many.
    pub count: u64,
}

impl Operation for SetCookies {
    type Output = CookiesChanged;
    const SPEC: Spec = Spec::post("browser_set_cookies", "/v1/browser/cookies", "browser:write")
        .sdk("browser.cookies", "set_cookies")
        .mcp(Mcp::Mutating)
        .errors(common!["browser.invalid_cookie"]);
}

/// Delete all cookies.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClearCookies {
    /// Context whose cookies are meant.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for ClearCookies {
    type Output = CookiesChanged;
    const SPEC: Spec =
        Spec::delete("browser_clear_cookies", "/v1/browser/cookies", "browser:write")
            .sdk("browser.cookies", "clear_cookies")
            .mcp(Mcp::Destructive)
            .errors(common![]);
}

/// Save cookies and local storage to a file, in the form Playwright calls storage state.
///
/// Local storage is saved of every origin that a page or frame has been open for in this context.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SaveState {
    /// The file.
    pub path: String,
    /// Context whose state is meant.
    #[serde(default)]
    pub context: Option<String>,
}

/// State that was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedState {
    /// The file.
    pub path: String,
    /// Cookies in it.
    pub cookies: u64,
    /// Origins with local storage in it.
    pub origins: u64,
}

impl Operation for SaveState {
    type Output = SavedState;
    const SPEC: Spec = Spec::post("browser_save_state", "/v1/browser/state/save", "browser:write")
        .sdk("browser.state", "save")
        .mcp(Mcp::Mutating)
        .errors(FILES);
}

/// Load cookies and local storage from a file that was saved before, by this server or by Playwright.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadState {
    /// The file.
    pub path: String,
    /// Context whose state is meant.
    #[serde(default)]
    pub context: Option<String>,
}

/// State that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedState {
    /// The file.
    pub path: String,
    /// Cookies that were set.
    pub cookies: u64,
    /// Origins whose local storage was filled.
    pub origins: u64,
}

impl Operation for LoadState {
    type Output = LoadedState;
    const SPEC: Spec = Spec::post("browser_load_state", "/v1/browser/state/load", "browser:write")
        .sdk("browser.state", "load")
        .mcp(Mcp::Mutating)
        .errors(FILES);
}

const FILES: &[&str] = common![
    "browser.tabs_exhausted",
    "browser.invalid_state",
    "browser.storage_refused",
    "browser.invalid_cookie",
    "file.not_found",
    "file.permission_denied",
    "file.invalid_path",
    "file.invalid_target",
    "file.too_large",
    "file.no_space_left",
    "file.io_error"
];
