//! Going from page to page, and running code in one.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PageState, seconds};

/// When a navigation counts as done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NavigateUntil {
    /// The page and all it consists of are loaded.
    #[default]
    Load,
    /// The document is read; images and frames may follow.
    DomContentLoaded,
    /// The page is loaded and has asked for nothing for half a second.
    NetworkIdle,
    /// The answer has begun to arrive.
    Commit,
}

/// Open an address in the active tab.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct NavigatePage {
    /// The address, with its scheme; `https://` is assumed when it has none.
    pub url: String,
    /// When it counts as opened.
    #[serde(default)]
    pub wait_until: NavigateUntil,
    /// Seconds it may take.
    #[serde(default = "seconds")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A page that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Navigated {
    /// Its address, after redirects.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Status of the answer; null where there was none, as with `about:` pages.
    pub status: Option<u16>,
    /// Where the file lies or will lie, when the address led to a download instead of a page.
    pub download: Option<String>,
}

impl Operation for NavigatePage {
    type Output = Navigated;
    const SPEC: Spec = Spec::post("browser_navigate", "/v1/browser/page/navigate", "browser:write")
        .sdk("browser.page", "navigate")
        .mcp(Mcp::Mutating)
        .errors(page!["browser.invalid_url", "browser.refused_url", "browser.navigation_failed",]);
}

/// Go back one page in the active tab's history.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GoBack {
    /// Seconds it may take.
    #[serde(default = "seconds")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for GoBack {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_go_back", "/v1/browser/page/back", "browser:write")
        .sdk("browser.page", "back")
        .mcp(Mcp::Mutating)
        .errors(page!["browser.no_history"]);
}

/// Go forward one page in the active tab's history.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GoForward {
    /// Seconds it may take.
    #[serde(default = "seconds")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for GoForward {
    type Output = PageState;
    const SPEC: Spec =
        Spec::post("browser_go_forward", "/v1/browser/page/forward", "browser:write")
            .sdk("browser.page", "forward")
            .mcp(Mcp::Mutating)
            .errors(page!["browser.no_history"]);
}

/// Load the active tab's page again. Also brings back a page that crashed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReloadPage {
    /// Seconds it may take.
    #[serde(default = "seconds")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for ReloadPage {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_reload", "/v1/browser/page/reload", "browser:write")
        .sdk("browser.page", "reload")
        .mcp(Mcp::Mutating)
        .errors(page!["browser.navigation_failed"]);
}

/// Describe the page of the active tab.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetPageInfo {
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageInfo {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Width of what is in view, in pixels.
    pub width: u32,
    /// Height of what is in view, in pixels.
    pub height: u32,
}

impl Operation for GetPageInfo {
    type Output = PageInfo;
    const SPEC: Spec =
        Spec::get("browser_page_info", "/v1/browser/page-info", "browser:read").errors(page![]);
}

/// Run JavaScript in the page and return its value.
///
/// Takes an expression, a function (`() => …`, called without arguments) or statements with a bare `return`; a promise
/// is awaited. The value is told as JSON: what JSON cannot say (`undefined`, functions, elements, big integers) comes as
/// null or as a short text.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct EvaluateScript {
    /// The code.
    pub expression: String,
    /// Seconds it may take; then it is stopped and the page lives on.
    #[serde(default = "seconds")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// What code came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ScriptValue(pub Value);

impl Operation for EvaluateScript {
    type Output = ScriptValue;
    const SPEC: Spec = Spec::post("browser_evaluate", "/v1/browser/page/evaluate", "browser:write")
        .sdk("browser.page", "evaluate")
        .mcp(Mcp::Mutating)
        .errors(page!["browser.script_failed", "browser.result_too_large"]);
}
