//! The tools of AIO Sandbox's server `browser`, and those of deep-agent that go by the same names: what either sends as
//! arguments is understood.

use atoll_operation::{Error, Mcp as Mark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::text::{elements, text};
use super::tool::{Sets, Tool};
use crate::calls::{Calls, Operations, fields};
use crate::reply::Reply;

/// The server these tools are said to belong to.
pub(super) const SERVER: &str = "browser";
/// Elements listed after a page was opened.
const LISTED: usize = 80;
/// Elements listed when they are asked for.
const LISTED_ALL: usize = 400;
/// Characters of a page's text.
const TEXT: u64 = 50_000;
/// Far enough for the end of any page.
const BOTTOM: i64 = 10_000_000;

const ALL: Sets = Sets::DEFAULT.and(Sets::AIO).and(Sets::AGENT);
const AIO_DEFAULT: Sets = Sets::DEFAULT.and(Sets::AIO);
const BOTH: Sets = Sets::AIO.and(Sets::AGENT);

#[expect(clippy::too_many_lines, reason = "a list, one entry per tool")]
pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let mut list = Vec::new();
    let mut add = |needs: &[&str], tool: Tool| {
        if needs.iter().all(|id| operations.get(id).is_some()) {
            list.push(tool);
        }
    };
    let named = |name: &'static str| (name, SERVER);
    let selector: &[(&str, &str)] = &[
        ("coordinate_x", "x"),
        ("coordinate_y", "y"),
        ("ref", "selector"),
        ("element", "selector"),
    ];
    add(
        &["browser_navigate", "browser_get_elements", "browser_new_tab"],
        Tool::new(named("browser_navigate"), ALL, Mark::Mutating, navigate),
    );
    add(&["browser_go_back"], Tool::new(named("browser_go_back"), BOTH, Mark::Mutating, go_back));
    add(
        &["browser_go_forward"],
        Tool::new(named("browser_go_forward"), Sets::AIO, Mark::Mutating, go_forward),
    );
    add(
        &["browser_get_elements"],
        Tool::new(named("browser_get_clickable_elements"), AIO_DEFAULT, Mark::ReadOnly, clickable),
    );
    add(
        &["browser_click"],
        Tool::new(named("browser_click"), ALL, Mark::Mutating, click).also_taking(selector),
    );
    add(
        &["browser_hover"],
        Tool::new(named("browser_hover"), Sets::AIO, Mark::Mutating, hover).also_taking(selector),
    );
    add(
        &["browser_fill_form"],
        Tool::new(named("browser_select"), Sets::AIO, Mark::Mutating, select),
    );
    add(
        &["browser_fill"],
        Tool::new(named("browser_form_input_fill"), AIO_DEFAULT, Mark::Mutating, fill)
            .also_taking(&[("text", "value")]),
    );
    add(
        &["browser_type", "browser_click"],
        Tool::new(named("browser_type"), Sets::AGENT, Mark::Mutating, type_text),
    );
    add(
        &["browser_press_key"],
        Tool::new(named("browser_press_key"), AIO_DEFAULT, Mark::Mutating, press_key),
    );
    add(
        &["browser_scroll", "browser_scroll_to"],
        Tool::new(named("browser_scroll"), ALL, Mark::Mutating, scroll),
    );
    add(
        &["browser_get_text"],
        Tool::new(named("browser_get_text"), Sets::AIO, Mark::ReadOnly, get_text),
    );
    add(
        &["browser_get_markdown"],
        Tool::new(named("browser_get_markdown"), AIO_DEFAULT, Mark::ReadOnly, get_markdown),
    );
    add(
        &["browser_evaluate"],
        Tool::new(named("browser_read_links"), Sets::AIO, Mark::ReadOnly, read_links),
    );
    add(
        &["browser_screenshot"],
        Tool::new(named("browser_screenshot"), ALL, Mark::ReadOnly, screenshot)
            .also_taking(&[("fullPage", "full_page")]),
    );
    add(
        &["browser_evaluate"],
        Tool::new(named("browser_evaluate"), ALL, Mark::Mutating, evaluate)
            .also_taking(&[("expression", "script")]),
    );
    add(
        &["browser_tab_list"],
        Tool::new(named("browser_tab_list"), AIO_DEFAULT, Mark::ReadOnly, tab_list),
    );
    add(
        &["browser_new_tab"],
        Tool::new(named("browser_new_tab"), AIO_DEFAULT, Mark::Mutating, new_tab),
    );
    add(
        &["browser_switch_tab"],
        Tool::new(
            named("browser_switch_tab"),
            AIO_DEFAULT.and(Sets::AGENT),
            Mark::Mutating,
            switch_tab,
        )
        .also_taking(&[("tab_id", "index")]),
    );
    add(
        &["browser_close_tab", "browser_tab_list"],
        Tool::new(named("browser_close_tab"), BOTH, Mark::Destructive, close_tab)
            .also_taking(&[("tab_id", "index")]),
    );
    add(
        &["browser_context_close"],
        Tool::new(named("browser_close"), Sets::AIO, Mark::Destructive, close),
    );
    add(
        &["browser_screenshot"],
        Tool::new(named("browser_vision_screen_capture"), Sets::AIO, Mark::ReadOnly, capture),
    );
    add(
        &["browser_click"],
        Tool::new(named("browser_vision_screen_click"), Sets::AIO, Mark::Mutating, vision_click),
    );
    for (name, script) in [
        ("browser_get_url", "location.href"),
        ("browser_get_title", "document.title"),
        (
            "browser_get_page_info",
            "({url: location.href, title: document.title, width: innerWidth, height: innerHeight, scroll_height: document.documentElement.scrollHeight})",
        ),
    ] {
        let run = move |calls: Calls, _: About| async move {
            Ok(Reply::json(calls.ask("browser_evaluate", json!({"expression": script})).await?))
        };
        add(&["browser_evaluate"], Tool::new(named(name), Sets::AGENT, Mark::ReadOnly, run));
    }
    add(
        &["browser_tab_list"],
        Tool::new(named("browser_list_tabs"), Sets::AGENT, Mark::ReadOnly, tab_list),
    );
    add(
        &["browser_get_html"],
        Tool::new(named("browser_get_html"), Sets::AGENT, Mark::ReadOnly, get_html),
    );
    add(
        &["browser_wait"],
        Tool::new(named("browser_wait_visible"), Sets::AGENT, Mark::ReadOnly, wait_visible),
    );
    add(
        &["browser_get_elements", "browser_evaluate", "browser_screenshot"],
        Tool::new(named("browser_get_state"), Sets::AGENT, Mark::ReadOnly, get_state),
    );
    list
}

/// Where a page is after an operation.
fn at(said: &str, state: &Value) -> Reply {
    let (url, title) = (text(state, "url"), text(state, "title"));
    Reply::text(format!("{said}. The page is now {url} ({title}).")).with(state.clone())
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

/// Click an element by its number in the list of elements, by selector, or a point of the page.
/// Example: {"index": 3} or {"selector": "text=Sign in"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Click {
    /// Its number.
    #[serde(default)]
    index: Option<i64>,
    /// CSS, `text=…`, `role=button[name="…"]` or `xpath=…`.
    #[serde(default)]
    selector: Option<String>,
    /// Pixels from the left.
    #[serde(default)]
    x: Option<f64>,
    /// Pixels from the top.
    #[serde(default)]
    y: Option<f64>,
}

async fn click(calls: Calls, arguments: Click) -> Result<Reply, Error> {
    let input = point(&arguments);
    Ok(at("Clicked", &calls.ask("browser_click", input).await?))
}

/// Move the mouse over an element, by number, selector or point.
#[derive(Debug, Deserialize, JsonSchema)]
struct Hover {
    /// Where.
    #[serde(flatten)]
    target: Click,
}

async fn hover(calls: Calls, arguments: Hover) -> Result<Reply, Error> {
    let input = point(&arguments.target);
    Ok(at("The mouse is over it", &calls.ask("browser_hover", input).await?))
}

fn point(click: &Click) -> Value {
    fields([
        ("index", json!(click.index)),
        ("selector", json!(click.selector)),
        ("x", json!(click.x)),
        ("y", json!(click.y)),
    ])
}

/// Choose an option of a list. Example: {"selector": "#country", "value": "de"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Select {
    /// The list's number.
    #[serde(default)]
    index: Option<i64>,
    /// The list's selector.
    #[serde(default)]
    selector: Option<String>,
    /// Value or label of the option.
    value: String,
}

async fn select(calls: Calls, arguments: Select) -> Result<Reply, Error> {
    let Select { index, selector, value } = arguments;
    let item =
        fields([("index", json!(index)), ("selector", json!(selector)), ("value", json!(value))]);
    calls.ask("browser_fill_form", json!({"items": [item]})).await?;
    Ok(Reply::text(format!("Chose {value:?}.")))
}

/// Put text into a field, in place of what it holds. Example: {"index": 5, "value": "Ada"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Fill {
    /// The field's number.
    #[serde(default)]
    index: Option<i64>,
    /// The field's selector.
    #[serde(default)]
    selector: Option<String>,
    /// The text.
    value: String,
    /// Taken for granted: what the field holds is always replaced.
    #[serde(default)]
    #[expect(dead_code, reason = "clients send it")]
    clear: bool,
}

async fn fill(calls: Calls, arguments: Fill) -> Result<Reply, Error> {
    let input = fields([
        ("index", json!(arguments.index)),
        ("selector", json!(arguments.selector)),
        ("text", json!(arguments.value)),
    ]);
    Ok(at("Filled", &calls.ask("browser_fill", input).await?))
}

/// Type text key by key, into an element if one is named, else where the focus is.
#[derive(Debug, Deserialize, JsonSchema)]
struct TypeText {
    /// The element to click first.
    #[serde(default)]
    selector: Option<String>,
    /// The text; a line break presses Enter.
    text: String,
}

async fn type_text(calls: Calls, arguments: TypeText) -> Result<Reply, Error> {
    if let Some(selector) = arguments.selector.filter(|selector| !selector.is_empty()) {
        calls.ask("browser_click", json!({"selector": selector})).await?;
    }
    Ok(at("Typed", &calls.ask("browser_type", json!({"text": arguments.text})).await?))
}

/// Press a key: `Enter`, `Tab`, `Escape`, `ArrowDown`, `PageDown`, `F5`, `Control+A`.
#[derive(Debug, Deserialize, JsonSchema)]
struct PressKey {
    /// The key.
    key: String,
}

async fn press_key(calls: Calls, arguments: PressKey) -> Result<Reply, Error> {
    let pressed = format!("Pressed {}", arguments.key);
    Ok(at(&pressed, &calls.ask("browser_press_key", json!({"key": arguments.key})).await?))
}

/// Scroll the page by `amount` pixels (negative is up), or to its end when nothing is given.
#[derive(Debug, Deserialize, JsonSchema)]
struct Scroll {
    /// Pixels.
    #[serde(default)]
    amount: Option<i64>,
    /// `up`, `down`, `left` or `right`.
    #[serde(default)]
    direction: Option<String>,
    /// Pixels to the right.
    #[serde(default)]
    x: Option<i64>,
    /// Pixels down.
    #[serde(default)]
    y: Option<i64>,
}

async fn scroll(calls: Calls, arguments: Scroll) -> Result<Reply, Error> {
    let Scroll { amount, direction, x, y } = arguments;
    let by = |direction: &str, amount: i64| json!({"direction": direction, "amount": amount});
    let mut steps = Vec::new();
    match (direction, amount, x, y) {
        (Some(direction), ..) => steps.push(by(&direction, amount.unwrap_or(600).saturating_abs())),
        (None, None, None, None) => {
            let bottom = json!({"x": 0, "y": BOTTOM});
            return Ok(at("Scrolled to the end", &calls.ask("browser_scroll_to", bottom).await?));
        }
        (None, amount, x, y) => {
            let down = amount.or(y).unwrap_or_default();
            let right = x.unwrap_or_default();
            if down != 0 {
                steps.push(by(if down < 0 { "up" } else { "down" }, down.saturating_abs()));
            }
            if right != 0 {
                steps.push(by(if right < 0 { "left" } else { "right" }, right.saturating_abs()));
            }
        }
    }
    let mut state = Value::Null;
    for step in steps {
        state = calls.ask("browser_scroll", step).await?;
    }
    Ok(at("Scrolled", &state))
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

/// Click a point of the page. Example: {"x": 200, "y": 140}
#[derive(Debug, Deserialize, JsonSchema)]
struct VisionClick {
    /// Pixels from the left, or units of the factors.
    x: f64,
    /// Pixels from the top, or units of the factors.
    y: f64,
    /// What x and y are divided by: two numbers.
    #[serde(default)]
    factors: Option<Vec<f64>>,
}

async fn vision_click(calls: Calls, arguments: VisionClick) -> Result<Reply, Error> {
    let factor = |place: usize| {
        let given = arguments.factors.as_ref().and_then(|factors| factors.get(place).copied());
        given.filter(|factor| factor.is_finite() && *factor > 0.0).unwrap_or(1.0)
    };
    let input = json!({"x": arguments.x / factor(0), "y": arguments.y / factor(1)});
    Ok(at("Clicked", &calls.ask("browser_click", input).await?))
}

/// Run JavaScript in the page and return its value: an expression, or a function that is called.
/// Example: {"script": "() => document.title"}
#[derive(Debug, Deserialize, JsonSchema)]
struct Evaluate {
    /// The code.
    script: String,
}

async fn evaluate(calls: Calls, arguments: Evaluate) -> Result<Reply, Error> {
    let result = calls.ask("browser_evaluate", json!({"expression": arguments.script})).await?;
    Ok(Reply::json(result))
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
