//! Opening pages, and going back and forth between them.

use atoll_operation::{Error, Mcp as Mark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ALL, BOTH, Offer, SERVER, at};
use crate::calls::Calls;
use crate::catalogue::text::{elements, text};
use crate::catalogue::tool::{Sets, Tool};
use crate::reply::Reply;

/// Elements listed after a page was opened.
const LISTED: usize = 80;

pub(super) fn tools() -> Vec<Offer> {
    let tool = |name| (name, SERVER);
    vec![
        (
            &["browser_navigate", "browser_get_elements", "browser_new_tab"],
            Tool::new(tool("browser_navigate"), ALL, Mark::Mutating, navigate),
        ),
        (&["browser_go_back"], Tool::new(tool("browser_go_back"), BOTH, Mark::Mutating, go_back)),
        (
            &["browser_go_forward"],
            Tool::new(tool("browser_go_forward"), Sets::AIO, Mark::Mutating, go_forward),
        ),
    ]
}

/// Open an address in the active tab and list what can be clicked there by number.
/// Example: {"url": "https://example.org"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Navigate {
    /// The address.
    url: String,
    /// In a tab of its own.
    #[serde(default)]
    new_tab: bool,
}

async fn navigate(calls: Calls, arguments: Navigate) -> Result<Reply, Error> {
    let id = if arguments.new_tab { "browser_new_tab" } else { "browser_navigate" };
    let page = calls.ask(id, json!({"url": arguments.url})).await?;
    let mut said = format!("Navigated to {}", text(&page, "url"));
    if let Some(file) = page.get("download").and_then(Value::as_str) {
        said = format!("It is a file, which is being saved to {file}");
    } else if let Ok(list) = calls.ask("browser_get_elements", json!({})).await {
        let listed = elements(&list, LISTED);
        said = format!(
            "{said}\n{}\nElements to operate by index (they may be outdated once the page changes):\n{listed}",
            text(&page, "title")
        );
    }
    Ok(Reply::text(said).with(page))
}

/// Go back one page.
#[derive(Debug, Deserialize, JsonSchema)]
struct Back {}

async fn go_back(calls: Calls, _: Back) -> Result<Reply, Error> {
    Ok(at("Went back", &calls.ask("browser_go_back", json!({})).await?))
}

/// Go forward one page.
#[derive(Debug, Deserialize, JsonSchema)]
struct Forward {}

async fn go_forward(calls: Calls, _: Forward) -> Result<Reply, Error> {
    Ok(at("Went forward", &calls.ask("browser_go_forward", json!({})).await?))
}
