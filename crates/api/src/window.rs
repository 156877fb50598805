//! Windows for people: programs with pages of their own, started on first visit.

use atoll_operation::{Declaration, Spec, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of_window::<OpenLab>(),
    Declaration::of_window::<OpenDevTools>(),
    Declaration::of_window::<ListDevTools>(),
];

/// JupyterLab: notebooks in the workspace, for people.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenLab {}

impl Window for OpenLab {
    const SPEC: Spec = Spec::window("jupyter_lab", "/jupyter", "jupyter:write").errors(&[
        "lab.disabled",
        "lab.missing",
        "lab.failed",
    ]);
}

/// The browser's DevTools, for automation clients (Playwright, Puppeteer, browser-use): give them the address of this
/// server with `/cdp` behind it, or the `cdp_url` that `browser_info` tells. `/cdp/json/version`, `/cdp/json/list` and
/// the sockets below `/cdp/devtools/` are the browser's own, with our address in its answers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenDevTools {}

impl Window for OpenDevTools {
    const SPEC: Spec =
        Spec::window("browser_devtools", "/cdp", "browser:write").errors(&["browser.missing"]);
}

/// The browser's lists of pages where clients that know only a host and a port look for them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListDevTools {}

impl Window for ListDevTools {
    const SPEC: Spec = Spec::window("browser_devtools_json", "/json", "browser:write")
        .errors(&["browser.missing"]);
}
