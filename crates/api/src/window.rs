//! Windows for people: programs with pages of their own, started on first visit.

use atoll_operation::{Declaration, Spec, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of_window::<OpenLab>(),
    Declaration::of_window::<OpenCodeServer>(),
    Declaration::of_window::<OpenPreview>(),
    Declaration::of_window::<OpenAbsolutePreview>(),
    Declaration::of_window::<OpenApp>(),
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

/// VS Code on the workspace, for people: files, search, source control and terminals of the same user that commands run as.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenCodeServer {}

impl Window for OpenCodeServer {
    const SPEC: Spec = Spec::window("code_server", "/code-server", "shell:write").errors(&[
        "code_server.disabled",
        "code_server.missing",
        "code_server.failed",
    ]);
}

/// What can go wrong on the way to an app.
const PREVIEW: &[&str] = &[
    "preview.port",
    "preview.internal_port",
    "preview.nothing_listens",
    "preview.broken",
    "preview.slow",
];

/// An app that listens on a port of this sandbox, below `/proxy/{port}/`: that part of the path is taken off before the
/// app sees it, and put back into its redirects and cookies.
///
/// The same app, with its paths as they are, is at any host name that begins with the port and a dash
/// (`5173-box.example`), and at any path of a request with the header `x-aio-proxy-port`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenPreview {
    /// The port, 1 to 65535.
    pub port: u16,
}

impl Window for OpenPreview {
    const SPEC: Spec =
        Spec::window("preview_proxy", "/proxy/{port}", "preview:write").errors(PREVIEW);
}

/// The same for an app that knows the whole path as its own, such as a development server with the base
/// `/absproxy/{port}/`: nothing is taken off.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenAbsolutePreview {
    /// The port, 1 to 65535.
    pub port: u16,
}

impl Window for OpenAbsolutePreview {
    const SPEC: Spec =
        Spec::window("preview_absproxy", "/absproxy/{port}", "preview:write").errors(PREVIEW);
}

/// The app on the port that the operator chose (`APP_SERVICE_PORT`, 9000 otherwise); `/app` is taken off before the app
/// sees the path.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenApp {}

impl Window for OpenApp {
    const SPEC: Spec = Spec::window("preview_app", "/app", "preview:write").errors(PREVIEW);
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
