//! Tabs, and closing everything.

use atoll_operation::{Error, Mcp as Mark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AIO_DEFAULT, ALL, BOTH, Offer, SERVER, at};
use crate::calls::{Calls, fields};
use crate::catalogue::tool::{Sets, Tool};
use crate::reply::Reply;

/// Names of arguments that mean a tab.
const TAB: &[(&str, &str)] = &[("tab_id", "index")];

pub(super) fn tools() -> Vec<Offer> {
    let tool = |name| (name, SERVER);
    vec![
        (
            &["browser_tab_list"],
            Tool::new(tool("browser_tab_list"), AIO_DEFAULT, Mark::ReadOnly, tab_list),
        ),
        (
            &["browser_tab_list"],
            Tool::new(tool("browser_list_tabs"), Sets::AGENT, Mark::ReadOnly, tab_list),
        ),
        (
            &["browser_new_tab"],
            Tool::new(tool("browser_new_tab"), AIO_DEFAULT, Mark::Mutating, new_tab),
        ),
        (
            &["browser_switch_tab"],
            Tool::new(tool("browser_switch_tab"), ALL, Mark::Mutating, switch_tab).also_taking(TAB),
        ),
        (
            &["browser_close_tab", "browser_tab_list"],
            Tool::new(tool("browser_close_tab"), BOTH, Mark::Destructive, close_tab)
                .also_taking(TAB),
        ),
        (
            &["browser_context_close"],
            Tool::new(tool("browser_close"), Sets::AIO, Mark::Destructive, close),
        ),
    ]
}

/// List the tabs.
#[derive(Debug, Deserialize, JsonSchema)]
struct TabList {}

async fn tab_list(calls: Calls, _: TabList) -> Result<Reply, Error> {
    Ok(Reply::json(calls.ask("browser_tab_list", json!({})).await?))
}

/// Open a tab and make it the active one.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewTab {
    /// The address to open; an empty page when omitted.
    #[serde(default)]
    url: Option<String>,
}

async fn new_tab(calls: Calls, arguments: NewTab) -> Result<Reply, Error> {
    let input = fields([("url", json!(arguments.url))]);
    Ok(at("Opened a tab", &calls.ask("browser_new_tab", input).await?))
}

/// Make a tab the active one, by its number in the list of tabs.
#[derive(Debug, Deserialize, JsonSchema)]
struct SwitchTab {
    /// Its number, from 0.
    index: i64,
}

async fn switch_tab(calls: Calls, arguments: SwitchTab) -> Result<Reply, Error> {
    let state = calls.ask("browser_switch_tab", json!({"index": arguments.index})).await?;
    Ok(at("Switched", &state))
}

/// Close a tab: the active one unless another is named.
#[derive(Debug, Deserialize, JsonSchema)]
struct CloseTab {
    /// Its number, from 0.
    #[serde(default)]
    index: Option<i64>,
}

async fn close_tab(calls: Calls, arguments: CloseTab) -> Result<Reply, Error> {
    let index = if let Some(index) = arguments.index {
        json!(index)
    } else {
        let tabs = calls.ask("browser_tab_list", json!({})).await?;
        let tabs = tabs.as_array().map(Vec::as_slice).unwrap_or_default();
        let active = tabs.iter().find(|tab| tab.get("is_active") == Some(&Value::Bool(true)));
        active.and_then(|tab| tab.get("index")).cloned().unwrap_or_else(|| json!(0))
    };
    let result = calls.ask("browser_close_tab", json!({"index": index})).await?;
    Ok(Reply::text(format!("Closed tab {index}.")).with(result))
}

/// Close all tabs and forget cookies and storage.
#[derive(Debug, Deserialize, JsonSchema)]
struct Close {}

async fn close(calls: Calls, _: Close) -> Result<Reply, Error> {
    calls.ask("browser_context_close", json!({"name": "default"})).await?;
    Ok(Reply::text("Closed everything in the browser."))
}
