//! Looking at a page: its text, its elements, its picture.

use atoll_operation::{Error, Mcp as Mark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AIO_DEFAULT, ALL, Offer, SERVER};
use crate::calls::{Calls, fields};
use crate::catalogue::text::{elements, text};
use crate::catalogue::tool::{Sets, Tool};
use crate::reply::Reply;

/// Elements listed when they are asked for.
const LISTED_ALL: usize = 400;
/// Characters of a page's text.
const TEXT: u64 = 50_000;
/// What a page says about itself in one value: the tool and the script.
const FACTS: [(&str, &str); 3] = [
    ("browser_get_url", "location.href"),
    ("browser_get_title", "document.title"),
    (
        "browser_get_page_info",
        "({url: location.href, title: document.title, width: innerWidth, height: innerHeight, scroll_height: document.documentElement.scrollHeight})",
    ),
];

pub(super) fn tools() -> Vec<Offer> {
    let tool = |name| (name, SERVER);
    let mut tools: Vec<Offer> = vec![
        (
            &["browser_get_elements"],
            Tool::new(
                tool("browser_get_clickable_elements"),
                AIO_DEFAULT,
                Mark::ReadOnly,
                clickable,
            ),
        ),
        (
            &["browser_get_text"],
            Tool::new(tool("browser_get_text"), Sets::AIO, Mark::ReadOnly, get_text),
        ),
        (
            &["browser_get_markdown"],
            Tool::new(tool("browser_get_markdown"), AIO_DEFAULT, Mark::ReadOnly, get_markdown),
        ),
        (
            &["browser_evaluate"],
            Tool::new(tool("browser_read_links"), Sets::AIO, Mark::ReadOnly, read_links),
        ),
        (
            &["browser_screenshot"],
            Tool::new(tool("browser_screenshot"), ALL, Mark::ReadOnly, screenshot)
                .also_taking(&[("fullPage", "full_page")]),
        ),
        (
            &["browser_screenshot"],
            Tool::new(tool("browser_vision_screen_capture"), Sets::AIO, Mark::ReadOnly, capture),
        ),
        (
            &["browser_get_html"],
            Tool::new(tool("browser_get_html"), Sets::AGENT, Mark::ReadOnly, get_html),
        ),
        (
            &["browser_wait"],
            Tool::new(tool("browser_wait_visible"), Sets::AGENT, Mark::ReadOnly, wait_visible),
        ),
        (
            &["browser_get_elements", "browser_evaluate", "browser_screenshot"],
            Tool::new(tool("browser_get_state"), Sets::AGENT, Mark::ReadOnly, get_state),
        ),
    ];
    for (name, script) in FACTS {
        let run = move |calls: Calls, _: About| async move {
            Ok(Reply::json(calls.ask("browser_evaluate", json!({"expression": script})).await?))
        };
        let fact = Tool::new(tool(name), Sets::AGENT, Mark::ReadOnly, run);
        tools.push((&["browser_evaluate"], fact));
    }
    tools
}

/// List what can be operated on the page, by number: links, buttons, fields. Call it again after the page has changed.
#[derive(Debug, Deserialize, JsonSchema)]
struct Clickable {}

async fn clickable(calls: Calls, _: Clickable) -> Result<Reply, Error> {
    let list = calls.ask("browser_get_elements", json!({})).await?;
    let listed = elements(&list, LISTED_ALL);
    Ok(Reply::text(if listed.is_empty() {
        "Nothing can be operated here.".to_owned()
    } else {
        listed
    }))
}

/// Read all text of the page.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetText {}

async fn get_text(calls: Calls, _: GetText) -> Result<Reply, Error> {
    let result = calls.ask("browser_get_text", json!({"max_chars": TEXT})).await?;
    Ok(Reply::json(result))
}

/// Read the page's main content as Markdown.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetMarkdown {}

async fn get_markdown(calls: Calls, _: GetMarkdown) -> Result<Reply, Error> {
    let result = calls.ask("browser_get_markdown", json!({"max_chars": TEXT})).await?;
    Ok(Reply::text(text(&result, "markdown")).with(result))
}

/// List the links of the page.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReadLinks {}

async fn read_links(calls: Calls, _: ReadLinks) -> Result<Reply, Error> {
    let script = "() => [...document.links].slice(0, 500).map(link => ({text: link.textContent.trim().slice(0, 200), href: link.href}))";
    Ok(Reply::json(calls.ask("browser_evaluate", json!({"expression": script})).await?))
}

/// Take a picture of the page: what is in view, all of it, or one element.
#[derive(Debug, Deserialize, JsonSchema)]
struct Screenshot {
    /// All of the page.
    #[serde(default)]
    full_page: bool,
    /// Only this element.
    #[serde(default)]
    selector: Option<String>,
}

async fn screenshot(calls: Calls, arguments: Screenshot) -> Result<Reply, Error> {
    let input = fields([
        ("full_page", json!(arguments.full_page)),
        ("selector", json!(arguments.selector)),
        ("format", json!("jpeg")),
        ("quality", json!(80)),
    ]);
    picture(&calls, input).await
}

/// Look at the page: a picture of what is in view.
#[derive(Debug, Deserialize, JsonSchema)]
struct Capture {}

async fn capture(calls: Calls, _: Capture) -> Result<Reply, Error> {
    picture(&calls, json!({"format": "jpeg", "quality": 80})).await
}

async fn picture(calls: &Calls, input: Value) -> Result<Reply, Error> {
    let (bytes, media_type) = calls.fetch("browser_screenshot", input).await?;
    Ok(Reply::image(&bytes, &media_type))
}

/// Tell about the active page.
#[derive(Debug, Deserialize, JsonSchema)]
struct About {}

/// Read the HTML of an element.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetHtml {
    /// The element; the whole page when omitted.
    #[serde(default)]
    selector: Option<String>,
}

async fn get_html(calls: Calls, arguments: GetHtml) -> Result<Reply, Error> {
    let input = fields([
        ("selector", json!(arguments.selector)),
        ("outer", json!(true)),
        ("max_chars", json!(TEXT)),
    ]);
    Ok(Reply::json(calls.ask("browser_get_html", input).await?))
}

/// Wait until an element can be seen.
#[derive(Debug, Deserialize, JsonSchema)]
struct WaitVisible {
    /// The element.
    selector: String,
}

async fn wait_visible(calls: Calls, arguments: WaitVisible) -> Result<Reply, Error> {
    let input = json!({"type": "selector", "selector": arguments.selector, "state": "visible"});
    calls.ask("browser_wait", input).await?;
    Ok(Reply::text("It can be seen."))
}

/// Look at the browser: the page, its tabs and what can be operated, with a picture if asked for.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetState {
    /// Add a picture.
    #[serde(default)]
    include_screenshot: bool,
}

async fn get_state(calls: Calls, arguments: GetState) -> Result<Reply, Error> {
    let script = "({url: location.href, title: document.title})";
    let page = calls.ask("browser_evaluate", json!({"expression": script})).await?;
    let list = calls.ask("browser_get_elements", json!({})).await?;
    let listed = elements(&list, LISTED_ALL);
    let reply = Reply::text(format!("{} ({})\n{listed}", text(&page, "url"), text(&page, "title")));
    if !arguments.include_screenshot {
        return Ok(reply);
    }
    let picture = picture(&calls, json!({"format": "jpeg", "quality": 70})).await?;
    Ok(reply.and(picture))
}
