//! Tabs.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// List the tabs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListTabs {
    /// Context whose tabs are meant.
    #[serde(default)]
    pub context: Option<String>,
}

/// A tab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabInfo {
    /// Its place among the tabs, from 0.
    pub index: u64,
    /// Title of its page.
    pub title: String,
    /// Address of its page.
    pub url: String,
    /// Whether operations on pages act on it.
    pub is_active: bool,
}

impl Operation for ListTabs {
    type Output = Vec<TabInfo>;
    const SPEC: Spec = Spec::get("browser_tab_list", "/v1/browser/tabs", "browser:read")
        .sdk("browser.tabs", "list")
        .mcp(Mcp::ReadOnly)
        .errors(common![]);
}

/// Open a tab and make it the active one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateTab {
    /// Address to open in it; an empty page when omitted.
    #[serde(default)]
    pub url: Option<String>,
    /// Context whose tab it shall be.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for CreateTab {
    type Output = TabInfo;
    const SPEC: Spec = Spec::post("browser_new_tab", "/v1/browser/tabs", "browser:write")
        .sdk("browser.tabs", "create")
        .mcp(Mcp::Mutating)
        .errors(common![
            "browser.tabs_exhausted",
            "browser.invalid_url",
            "browser.refused_url",
            "browser.navigation_failed"
        ]);
}

/// Close a tab. Those after it move up; if it was active, the one before it becomes so.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CloseTab {
    /// Its place among the tabs, from 0.
    pub index: i64,
    /// Context whose tab is meant.
    #[serde(default)]
    pub context: Option<String>,
}

/// A tab that was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedTab {
    /// The place it had.
    pub index: u64,
    /// Tabs that are left.
    pub tabs: u64,
}

impl Operation for CloseTab {
    type Output = ClosedTab;
    const SPEC: Spec =
        Spec::delete("browser_close_tab", "/v1/browser/tabs/{index}", "browser:write")
            .sdk("browser.tabs", "close")
            .mcp(Mcp::Destructive)
            .errors(common!["browser.tab_not_found"]);
}

/// Make a tab the active one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ActivateTab {
    /// Its place among the tabs, from 0.
    pub index: i64,
    /// Context whose tab is meant.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for ActivateTab {
    type Output = TabInfo;
    const SPEC: Spec =
        Spec::put("browser_switch_tab", "/v1/browser/tabs/{index}/activate", "browser:write")
            .sdk("browser.tabs", "activate")
            .mcp(Mcp::Mutating)
            .errors(common!["browser.tab_not_found"]);
}
