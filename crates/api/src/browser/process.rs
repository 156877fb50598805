//! The browser as a program, and the contexts in it.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Describe the browser: how to reach it with CDP, what it is, how large its window is. Starts it if need be.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetBrowserInfo {
    /// Context whose active page is measured.
    #[serde(default)]
    pub context: Option<String>,
}

/// A size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrowserViewport {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// The browser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BrowserInfoResult")]
pub struct BrowserInfo {
    /// What it calls itself to web servers.
    pub user_agent: String,
    /// WebSocket address for clients that speak CDP: Playwright, Puppeteer.
    pub cdp_url: String,
    /// Page that shows the desktop.
    pub vnc_url: String,
    /// Page that shows the browser alone, where there is one.
    pub cdp_ui_url: Option<String>,
    /// Size of the display.
    pub viewport: BrowserViewport,
    /// Size of the page in it; smaller where the browser shows its own controls.
    pub page_viewport: Option<BrowserViewport>,
    /// Its product name and version.
    pub version: String,
    /// Whether it runs without a display.
    pub headless: bool,
    /// What is weaker than it should be, if anything is.
    pub warning: Option<String>,
}

impl Operation for GetBrowserInfo {
    type Output = BrowserInfo;
    const SPEC: Spec = Spec::get("browser_get_info", "/v1/browser/info", "browser:read")
        .sdk("browser", "get_info")
        .mcp(Mcp::ReadOnly)
        .errors(common![]);
}

/// How thoroughly a browser is restarted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestartMode {
    /// Connect again: pages stay, routes, headers and logs are forgotten.
    Soft,
    /// End the program and start it again, with changed policies if any are given.
    #[default]
    Hard,
}

/// Restart the browser.
///
/// Open operations fail. After a hard restart tabs are closed and named contexts are gone with their cookies; the default
/// context keeps its profile. A policy that is not mentioned stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("type" = ["object", "null"]))]
pub struct RestartBrowser {
    /// How thoroughly.
    #[serde(default)]
    pub mode: RestartMode,
    /// Addresses that must not be opened, as Chromium's `URLBlocklist` has them; an empty list removes them.
    #[serde(default)]
    pub url_blocklist: Option<Vec<String>>,
    /// Exceptions from those; an empty list removes them.
    #[serde(default)]
    pub url_allowlist: Option<Vec<String>>,
    /// Whether pages may open file dialogs; null gives the decision back to the browser.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<bool>", extend("x-keep-null" = true))]
    pub allow_file_selection_dialogs: Option<Option<bool>>,
    /// Language of the browser and of the pages it asks for: `de-DE`.
    #[serde(default)]
    pub locale: Option<String>,
}

/// What a browser was restarted with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestartedBrowser {
    /// How thoroughly.
    pub mode: RestartMode,
    /// Addresses that must not be opened.
    pub url_blocklist: Vec<String>,
    /// Exceptions from those.
    pub url_allowlist: Vec<String>,
    /// Whether pages may open file dialogs; null when the browser decides.
    pub allow_file_selection_dialogs: Option<bool>,
    /// Language of the browser, where one is set.
    pub locale: Option<String>,
}

impl Operation for RestartBrowser {
    type Output = RestartedBrowser;
    const SPEC: Spec = Spec::post("browser_restart", "/v1/browser/restart", "browser:write")
        .sdk("browser", "restart")
        .mcp(Mcp::Destructive)
        .errors(common!["browser.policies_unwritable"]);
}

/// Given as null is not the same as not given.
#[expect(clippy::option_option, reason = "absent and null mean different things")]
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<bool>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// List the contexts of the browser. Does not start it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListContexts {}

/// A context of the browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrowserContext {
    /// Its name; `default` is the one everybody shares.
    pub name: String,
    /// Tabs in it.
    pub tabs: u64,
}

impl Operation for ListContexts {
    type Output = Vec<BrowserContext>;
    const SPEC: Spec = Spec::get("browser_context_list", "/v1/browser/contexts", "browser:read")
        .mcp(Mcp::ReadOnly);
}

/// Close a context: its tabs, cookies, storage, routes and logs are gone. The default one cannot be closed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CloseContext {
    /// The context.
    pub name: String,
}

/// A context that was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedContext {
    /// Its name.
    pub name: String,
}

impl Operation for CloseContext {
    type Output = ClosedContext;
    const SPEC: Spec =
        Spec::delete("browser_context_close", "/v1/browser/contexts/{name}", "browser:write")
            .mcp(Mcp::Destructive)
            .errors(&[
                "browser.context_not_found",
                "browser.default_context",
                "browser.gone",
                "browser.timeout",
            ]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_that_is_null_is_not_one_that_is_not_mentioned() {
        let read = |input| serde_json::from_value::<RestartBrowser>(input).unwrap();
        let dialogs = |input| read(input).allow_file_selection_dialogs;
        assert_eq!(dialogs(json!({})), None);
        let field = "allow_file_selection_dialogs";
        assert_eq!(dialogs(json!({field: null})), Some(None));
        assert_eq!(dialogs(json!({field: false})), Some(Some(false)));
        for input in [json!({}), json!({field: null})] {
            let again = serde_json::to_value(read(input.clone())).unwrap();
            assert_eq!(again.get(field), input.get(field));
        }
    }
}
