//! The pages that show the desktop, at `/vnc/`, and the browser alone, at `/browser-ui`: a viewer of our own on noVNC, and
//! a canvas that speaks CDP. Both are embedded.
//!
//! noVNC's files are put into `web/dist/novnc` by the web build, as they are, and embedded by this crate's build script.
//! A program built without them serves a page that says how to get them.

use axum::http::HeaderValue;

use crate::assets::{File, HTML, NOVNC, SCRIPT, STYLE};

/// What the page may load: its own files and its socket. Pictures come as data.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob:; connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'";

/// What the page may do, with who may show it in a frame.
pub(crate) fn policy(ancestors: &str) -> HeaderValue {
    HeaderValue::from_str(&format!("{POLICY}; {ancestors}"))
        .unwrap_or(HeaderValue::from_static(POLICY))
}

/// Every file of the page that shows the browser.
pub(crate) static BROWSER_UI: &[File] = &[
    File::new("/browser-ui", HTML, include_bytes!("../assets/browser-ui.html")),
    File::new("/browser-ui/ui.js", SCRIPT, include_bytes!("../assets/browser-ui.js")),
    File::new("/browser-ui/ui.css", STYLE, include_bytes!("../assets/browser-ui.css")),
];

/// Every file of the page that shows the desktop. Its names are those noVNC's own pages have.
pub(crate) fn files() -> impl Iterator<Item = &'static File> {
    const fn page(path: &'static str) -> File {
        File::new(path, HTML, include_bytes!("../assets/vnc.html"))
    }
    const fn not_built(path: &'static str) -> File {
        File::new(path, HTML, include_bytes!("../assets/not-built.html"))
    }
    static PAGE: &[File] = &[
        page("/vnc/index.html"),
        page("/vnc/vnc.html"),
        page("/vnc/vnc_lite.html"),
        File::new("/vnc/viewer.js", SCRIPT, include_bytes!("../assets/vnc.js")),
        File::new("/vnc/viewer.css", STYLE, include_bytes!("../assets/vnc.css")),
    ];
    static NOT_BUILT: &[File] = &[
        not_built("/vnc/index.html"),
        not_built("/vnc/vnc.html"),
        not_built("/vnc/vnc_lite.html"),
    ];
    let page = if NOVNC.is_empty() { NOT_BUILT } else { PAGE };
    page.iter().chain(NOVNC)
}
