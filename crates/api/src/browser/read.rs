//! Reading a page. A reader who pays by the character bounds it (`max_chars`), looks at a part (`selector`), or asks
//! only for what changed (`since`).

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Read the page's HTML.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetHtml {
    /// With the outermost element itself instead of only what is in it.
    #[serde(default)]
    pub outer: bool,
    /// Only this element.
    #[serde(default)]
    pub selector: Option<String>,
    /// Characters to return at most; the answer says how many were left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_chars: Option<u64>,
    /// Only what changed since this snapshot: its token, as told in `hint`, or `last`.
    #[serde(default)]
    pub since: Option<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for GetHtml {
    type Output = String;
    const SPEC: Spec = Spec::get("browser_get_html", "/v1/browser/page/html", "browser:read")
        .sdk("browser.page", "get_html")
        .mcp(Mcp::ReadOnly)
        .errors(element![]);
}

/// Read all text that can be seen on the page, frames included.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetText {
    /// Only this element.
    #[serde(default)]
    pub selector: Option<String>,
    /// Characters to return at most; the answer says how many were left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_chars: Option<u64>,
    /// Only what changed since this snapshot: its token, as told in `hint`, or `last`.
    #[serde(default)]
    pub since: Option<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

impl Operation for GetText {
    type Output = String;
    const SPEC: Spec = Spec::get("browser_get_text", "/v1/browser/page/text", "browser:read")
        .sdk("browser.page", "get_text")
        .mcp(Mcp::ReadOnly)
        .errors(element![]);
}

/// Read the page's main content as Markdown.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetMarkdown {
    /// Only this element.
    #[serde(default)]
    pub selector: Option<String>,
    /// Characters to return at most; the answer says how many were left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_chars: Option<u64>,
    /// Only what changed since this snapshot: its token, or `last`.
    #[serde(default)]
    pub since: Option<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A page as Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageMarkdown {
    /// The Markdown.
    pub markdown: String,
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Token of this snapshot: pass it as `since` to see only what changed.
    pub snapshot: String,
    /// Characters left out because of `max_chars`.
    pub omitted_chars: u64,
}

impl Operation for GetMarkdown {
    type Output = PageMarkdown;
    const SPEC: Spec =
        Spec::get("browser_get_markdown", "/v1/browser/page/markdown", "browser:read")
            .sdk("browser.page", "get_markdown")
            .mcp(Mcp::ReadOnly)
            .errors(element![]);
}

/// List the elements of the page that can be operated. Their numbers stand for them until the next list is made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetElements {
    /// Only those in this element.
    #[serde(default)]
    pub selector: Option<String>,
    /// Characters their texts may have together; the rest is left out, and `hint` says so.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_chars: Option<u64>,
    /// Only those that are new or changed since this snapshot: its token, as told in `hint`, or `last`.
    #[serde(default)]
    pub since: Option<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// Where something is, in CSS pixels from the upper left corner of the page's visible part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundingBox {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// An element that can be operated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageElement {
    /// Its number, to be passed as `index`.
    pub index: u64,
    /// Its tag, in small letters.
    pub tag: String,
    /// What it is to a user: `button`, `link`, `textbox`.
    pub role: Option<String>,
    /// The text it shows.
    pub text: String,
    /// Its name to a user who does not see it.
    pub name: Option<String>,
    /// What an empty field shows.
    pub placeholder: Option<String>,
    /// Where a link leads.
    pub href: Option<String>,
    /// Kind of a field or button.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What a field holds; never a password.
    pub value: Option<String>,
    /// Whether a box is ticked.
    pub checked: Option<bool>,
    /// Where it is.
    pub bounding_box: Option<BoundingBox>,
    /// Whether it can be seen.
    pub is_visible: bool,
    /// Whether it can be operated.
    pub is_enabled: bool,
    /// Address of the frame it is in, when it is not in the page itself.
    pub frame: Option<String>,
}

impl Operation for GetElements {
    type Output = Vec<PageElement>;
    const SPEC: Spec =
        Spec::get("browser_get_elements", "/v1/browser/page/elements", "browser:read")
            .sdk("browser.page", "get_elements")
            .mcp(Mcp::ReadOnly)
            .errors(element![]);
}

/// Read the page as assistive technology does: roles, names and states, as an indented outline.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GetAccessibilityTree {
    /// Only this element.
    #[serde(default)]
    pub selector: Option<String>,
    /// Characters to return at most; the answer says how many were left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_chars: Option<u64>,
    /// Only what changed since this snapshot: its token, or `last`.
    #[serde(default)]
    pub since: Option<String>,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A page as assistive technology sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessibilityTree {
    /// The outline, one node per line.
    pub tree: String,
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Token of this snapshot: pass it as `since` to see only what changed.
    pub snapshot: String,
    /// Characters left out because of `max_chars`.
    pub omitted_chars: u64,
}

impl Operation for GetAccessibilityTree {
    type Output = AccessibilityTree;
    const SPEC: Spec =
        Spec::get("browser_get_accessibility", "/v1/browser/page/accessibility", "browser:read")
            .mcp(Mcp::ReadOnly)
            .errors(element![]);
}

/// Find text on the page, whatever its case.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FindText {
    /// The text.
    #[schemars(length(min = 1))]
    pub keyword: String,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// A place where text was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextMatch {
    /// The text as the page has it.
    pub text: String,
    /// The words around it.
    pub context: String,
    /// Tag of the element it is in.
    pub tag: String,
    /// A selector for that element.
    pub selector: Option<String>,
    /// Where it is.
    pub bounding_box: Option<BoundingBox>,
    /// Address of the frame it is in, when it is not in the page itself.
    pub frame: Option<String>,
}

impl Operation for FindText {
    type Output = Vec<TextMatch>;
    const SPEC: Spec =
        Spec::post("browser_find_text", "/v1/browser/page/find_text", "browser:read")
            .sdk("browser.page", "find_text")
            .mcp(Mcp::ReadOnly)
            .errors(page![]);
}
