//! Waiting for what a page does.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::seconds;

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitType {
    /// An element in a state.
    Selector,
    /// The page being loaded.
    Load,
    /// An address.
    Url,
    /// Half a second without requests.
    NetworkIdle,
    /// A download being complete.
    Download,
    /// JavaScript that becomes true.
    Function,
    /// An answer from an address.
    Response,
    /// A request to an address.
    Request,
    /// Time.
    Timeout,
}

/// A state of an element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElementState {
    /// In the document.
    Attached,
    /// Not in the document.
    Detached,
    /// To be seen.
    #[default]
    Visible,
    /// Not to be seen, or not in the document.
    Hidden,
}

/// Wait until something happens in the active tab, or until time is up.
///
/// Addresses are matched by globs (`**/api/*`), by regular expressions between slashes (`/api\/\d+/`), or as they are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WaitForPage {
    /// What to wait for; decides which other fields count.
    #[serde(rename = "type")]
    pub kind: WaitType,
    /// Of `selector`: the element.
    #[serde(default)]
    pub selector: Option<String>,
    /// Of `selector`: `attached`, `detached`, `visible` or `hidden`. Of `load`: `load`, `domcontentloaded` or
    /// `networkidle`.
    #[serde(default)]
    pub state: Option<String>,
    /// Of `url`: the address.
    #[serde(default)]
    pub url: Option<String>,
    /// Of `download`: where to put a copy of the file.
    #[serde(default)]
    pub save_path: Option<String>,
    /// Seconds to wait at most; of `timeout`: seconds to wait.
    #[serde(default = "seconds")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Of `function`: the JavaScript, an expression or a function.
    #[serde(default)]
    pub expression: Option<String>,
    /// Of `function`: milliseconds between two attempts; with every picture the page draws when omitted.
    #[serde(default)]
    #[schemars(range(min = 0, max = 3_600_000))]
    pub polling: Option<f64>,
    /// Of `response` and `request`: the address.
    #[serde(default)]
    pub url_pattern: Option<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// What was waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waited {
    /// What was waited for.
    #[serde(rename = "type")]
    pub kind: WaitType,
    /// Address of the page, request, answer or download.
    pub url: Option<String>,
    /// Of an answer: its status.
    pub status: Option<u16>,
    /// Of a request or answer: the request's method.
    pub method: Option<String>,
    /// Of a download: where the file is.
    pub path: Option<String>,
    /// Of a function: its value.
    pub value: Value,
}

impl Operation for WaitForPage {
    type Output = Waited;
    const SPEC: Spec = Spec::post("browser_wait", "/v1/browser/page/wait", "browser:read")
        .sdk("browser.page", "wait")
        .mcp(Mcp::ReadOnly)
        .errors(page![
            "browser.invalid_selector",
            "browser.invalid_pattern",
            "browser.unknown_word",
            "browser.script_failed",
            "browser.download_failed",
            "file.not_found",
            "file.permission_denied",
            "file.invalid_path",
            "file.invalid_target",
            "file.no_space_left",
            "file.io_error"
        ]);
}
