//! Doing something on a page: mouse, keyboard, forms, scripts.

use atoll_operation::{Error, Mcp as Mark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AIO_DEFAULT, ALL, Offer, SERVER, at};
use crate::calls::{Calls, fields};
use crate::catalogue::tool::{Sets, Tool};
use crate::reply::Reply;

/// Far enough for the end of any page.
const BOTTOM: i64 = 10_000_000;
/// Names of arguments that mean an element or a point.
const TARGET: &[(&str, &str)] =
    &[("coordinate_x", "x"), ("coordinate_y", "y"), ("ref", "selector"), ("element", "selector")];

pub(super) fn tools() -> Vec<Offer> {
    let tool = |name| (name, SERVER);
    vec![
        (
            &["browser_click"],
            Tool::new(tool("browser_click"), ALL, Mark::Mutating, click).also_taking(TARGET),
        ),
        (
            &["browser_hover"],
            Tool::new(tool("browser_hover"), Sets::AIO, Mark::Mutating, hover).also_taking(TARGET),
        ),
        (
            &["browser_fill_form"],
            Tool::new(tool("browser_select"), Sets::AIO, Mark::Mutating, select),
        ),
        (
            &["browser_fill"],
            Tool::new(tool("browser_form_input_fill"), AIO_DEFAULT, Mark::Mutating, fill)
                .also_taking(&[("text", "value")]),
        ),
        (
            &["browser_type", "browser_click"],
            Tool::new(tool("browser_type"), Sets::AGENT, Mark::Mutating, type_text),
        ),
        (
            &["browser_press_key"],
            Tool::new(tool("browser_press_key"), AIO_DEFAULT, Mark::Mutating, press_key),
        ),
        (
            &["browser_scroll", "browser_scroll_to"],
            Tool::new(tool("browser_scroll"), ALL, Mark::Mutating, scroll),
        ),
        (
            &["browser_click"],
            Tool::new(tool("browser_vision_screen_click"), Sets::AIO, Mark::Mutating, vision_click),
        ),
        (
            &["browser_evaluate"],
            Tool::new(tool("browser_evaluate"), ALL, Mark::Mutating, evaluate)
                .also_taking(&[("expression", "script")]),
        ),
    ]
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
