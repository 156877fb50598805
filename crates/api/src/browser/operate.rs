//! Operating a page: mouse, keyboard, forms, scrolling. Input is real input: pages cannot tell it from a person's.
//!
//! An element is waited for until it can be operated: it is there, visible, at rest, enabled and not covered.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PageState, patience};

/// A button of the mouse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MouseButton {
    /// The left one.
    #[default]
    Left,
    /// The right one.
    Right,
    /// The middle one.
    Middle,
}

/// Click an element by selector or index, or a point of the page.
///
/// The selector wins over the index, the index over the point. Selectors are CSS, `text=…`, `role=button[name="…"]`,
/// `xpath=…` or `//…`, chained with `>>`; they reach into open shadow roots and frames.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClickElement {
    /// The element.
    #[serde(default)]
    pub selector: Option<String>,
    /// The element's number in the latest list of elements.
    #[serde(default)]
    pub index: Option<i64>,
    /// Distance from the left edge of the page's visible part, in CSS pixels.
    #[serde(default)]
    pub x: Option<f64>,
    /// Distance from its upper edge.
    #[serde(default)]
    pub y: Option<f64>,
    /// Which button.
    #[serde(default)]
    pub button: MouseButton,
    /// How often: 2 is a double click.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 10))]
    pub click_count: u32,
    /// Seconds to wait for the element.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

fn once() -> u32 {
    1
}

impl Operation for ClickElement {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_click", "/v1/browser/page/click", "browser:write")
        .sdk("browser.page", "click")
        .mcp(Mcp::Mutating)
        .errors(element![]);
}

/// Put text into a field, in place of what it holds. Without selector and index the focused field is meant.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FillField {
    /// The field.
    #[serde(default)]
    pub selector: Option<String>,
    /// The field's number in the latest list of elements.
    #[serde(default)]
    pub index: Option<i64>,
    /// The text.
    pub text: String,
    /// Seconds to wait for the field.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for FillField {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_fill", "/v1/browser/page/fill", "browser:write")
        .sdk("browser.page", "fill")
        .mcp(Mcp::Mutating)
        .errors(element![]);
}

/// Type text key by key, into whatever has the focus or into an element.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TypeText {
    /// The text; a line break presses Enter.
    pub text: String,
    /// Element to click first, so that it has the focus; what is in it stays.
    #[serde(default)]
    pub selector: Option<String>,
    /// Milliseconds between two keys.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    pub delay: f64,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for TypeText {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_type", "/v1/browser/page/type", "browser:write")
        .sdk("browser.page", "type_text")
        .mcp(Mcp::Mutating)
        .errors(element![]);
}

/// Press and release one key.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PressKey {
    /// The key: `Enter`, `a`, `ArrowDown`, `pageup`, or a combination such as `Control+A`.
    pub key: String,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for PressKey {
    type Output = PageState;
    const SPEC: Spec =
        Spec::post("browser_press_key", "/v1/browser/page/press_key", "browser:write")
            .sdk("browser.page", "press_key")
            .mcp(Mcp::Mutating)
            .errors(page!["browser.unknown_key"]);
}

/// Press several keys together, the first ones held until the last is pressed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PressHotKey {
    /// The keys: `["Control", "a"]`.
    #[schemars(length(min = 1, max = 16))]
    pub keys: Vec<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for PressHotKey {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_hot_key", "/v1/browser/page/hot_key", "browser:write")
        .sdk("browser.page", "hot_key")
        .mcp(Mcp::Mutating)
        .errors(page!["browser.unknown_key"]);
}

/// Move the mouse over an element or to a point of the page.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct HoverElement {
    /// The element.
    #[serde(default)]
    pub selector: Option<String>,
    /// The element's number in the latest list of elements.
    #[serde(default)]
    pub index: Option<i64>,
    /// Distance from the left edge of the page's visible part, in CSS pixels.
    #[serde(default)]
    pub x: Option<f64>,
    /// Distance from its upper edge.
    #[serde(default)]
    pub y: Option<f64>,
    /// Seconds to wait for the element.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for HoverElement {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_hover", "/v1/browser/page/hover", "browser:write")
        .sdk("browser.page", "hover")
        .mcp(Mcp::Mutating)
        .errors(element![]);
}

/// Choose an option of a list, by its value, its label or its place.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SelectOption {
    /// The list.
    pub selector: String,
    /// Value of the option.
    #[serde(default)]
    pub value: Option<String>,
    /// What the option shows.
    #[serde(default)]
    pub label: Option<String>,
    /// Place of the option, from 0.
    #[serde(default)]
    pub index: Option<i64>,
    /// Seconds to wait for the list and the option.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// What a list has chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectedOptions {
    /// Values of the chosen options.
    pub selected: Vec<String>,
}

impl Operation for SelectOption {
    type Output = SelectedOptions;
    const SPEC: Spec =
        Spec::post("browser_select_option", "/v1/browser/page/select_option", "browser:write")
            .sdk("browser.page", "select_option")
            .mcp(Mcp::Mutating)
            .errors(element![]);
}

/// Tick a checkbox, or choose a radio button. One that is ticked stays so.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CheckBox {
    /// The box.
    pub selector: String,
    /// Seconds to wait for it.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for CheckBox {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_check", "/v1/browser/page/check", "browser:write")
        .sdk("browser.page", "check")
        .mcp(Mcp::Mutating)
        .errors(element![]);
}

/// Take the tick from a checkbox. One that has none stays so.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct UncheckBox {
    /// The box.
    pub selector: String,
    /// Seconds to wait for it.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for UncheckBox {
    type Output = PageState;
    const SPEC: Spec = Spec::post("browser_uncheck", "/v1/browser/page/uncheck", "browser:write")
        .sdk("browser.page", "uncheck")
        .mcp(Mcp::Mutating)
        .errors(element![]);
}

/// Choose files of the sandbox for a file field.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct UploadToPage {
    /// The field.
    pub selector: String,
    /// The files; relative paths begin in the workspace. An empty list takes the choice back.
    pub files: Vec<String>,
    /// Seconds to wait for the field.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for UploadToPage {
    type Output = PageState;
    const SPEC: Spec =
        Spec::post("browser_upload_file", "/v1/browser/page/upload_file", "browser:write")
            .sdk("browser.page", "upload_file")
            .mcp(Mcp::Mutating)
            .errors(element![
                "browser.file_unusable",
                "file.not_found",
                "file.invalid_path",
                "file.invalid_target",
                "file.permission_denied"
            ]);
}

/// One field of a form.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FormItem {
    /// The field.
    #[serde(default)]
    pub selector: Option<String>,
    /// The field's number in the latest list of elements.
    #[serde(default)]
    pub index: Option<i64>,
    /// What to put in: text, true or false for a box, a value or several for a list.
    #[serde(default)]
    pub value: Value,
    /// The same for clients that call it so.
    #[serde(default)]
    pub text: Option<String>,
    /// Whether to tick a box.
    #[serde(default)]
    pub checked: Option<bool>,
    /// Files of the sandbox for a file field.
    #[serde(default)]
    pub files: Option<Vec<String>>,
}

/// Fill several fields of a form, each by its kind: text, boxes, lists, dates.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FillForm {
    /// The fields, in the order in which they are filled.
    #[schemars(length(max = 1000))]
    pub items: Vec<FormItem>,
    /// Seconds to wait for each field.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A form that was filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilledForm {
    /// Fields that were filled.
    pub filled: u64,
}

impl Operation for FillForm {
    type Output = FilledForm;
    const SPEC: Spec =
        Spec::post("browser_fill_form", "/v1/browser/page/fill_form", "browser:write")
            .sdk("browser.page", "fill_form")
            .mcp(Mcp::Mutating)
            .errors(element!["browser.invalid_form", "browser.file_unusable", "file.not_found"]);
}

/// Where to scroll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScrollDirection {
    /// Towards the top.
    Up,
    /// Towards the end.
    #[default]
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
}

/// Scroll the page.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ScrollPage {
    /// Where to.
    #[serde(default)]
    pub direction: ScrollDirection,
    /// How far, in CSS pixels.
    #[serde(default = "amount")]
    #[schemars(range(min = 0, max = 10_000_000))]
    pub amount: i64,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

fn amount() -> i64 {
    300
}

/// How far a page is scrolled, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScrollPosition {
    /// From its left edge.
    pub x: f64,
    /// From its top.
    pub y: f64,
    /// How far it can be scrolled to the right.
    pub max_x: f64,
    /// How far it can be scrolled down.
    pub max_y: f64,
}

impl Operation for ScrollPage {
    type Output = ScrollPosition;
    const SPEC: Spec = Spec::post("browser_scroll", "/v1/browser/page/scroll", "browser:write")
        .sdk("browser.page", "scroll")
        .mcp(Mcp::Mutating)
        .errors(page![]);
}

/// Scroll the page to a position.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ScrollTo {
    /// CSS pixels from the left edge of the page.
    #[serde(default)]
    pub x: i64,
    /// CSS pixels from its top.
    #[serde(default)]
    pub y: i64,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for ScrollTo {
    type Output = ScrollPosition;
    const SPEC: Spec =
        Spec::post("browser_scroll_to", "/v1/browser/page/scroll_to", "browser:write")
            .sdk("browser.page", "scroll_to")
            .mcp(Mcp::Mutating)
            .errors(page![]);
}

/// Scroll until an element is in view.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ScrollToElement {
    /// The element.
    pub selector: String,
    /// Seconds to wait for it.
    #[serde(default = "patience")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: Option<f64>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for ScrollToElement {
    type Output = PageState;
    const SPEC: Spec = Spec::post(
        "browser_scroll_to_element",
        "/v1/browser/page/scroll_to_element",
        "browser:write",
    )
    .sdk("browser.page", "scroll_to_element")
    .mcp(Mcp::Mutating)
    .errors(element![]);
}
