//! The pages people open: the dashboard at `/` and the terminal at `/terminal`, with what they may load.
//!
//! Both come from `web/`, with their files below `/ui/`. A program built without them leads from `/` to the API page.

use axum::http::HeaderValue;

use crate::assets::{APP, File};

/// What the dashboard may load: its own files, pages of this server in frames, and previews that are blobs.
const DASHBOARD: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data: blob:; font-src 'self'; media-src blob:; connect-src 'self'; \
     frame-src 'self' blob:; object-src blob:; base-uri 'none'; form-action 'none'";
/// What the terminal may load. Its screen is drawn with styles that are made as it goes.
const TERMINAL: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'";

/// Command lines that have an address of their own, and start in a terminal.
pub(crate) const PROGRAMS: [(&str, &str); 2] =
    [("/codex", "terminal?run=codex"), ("/opencode", "terminal?run=opencode")];

/// Other addresses of the terminal, and where they lead.
pub(crate) const TERMINALS: [(&str, &str); 2] =
    [("/terminal/", "../terminal"), ("/terminal/index.html", "../terminal")];

/// A file of the pages.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) path: &'static str,
    pub(crate) file: &'static File,
    /// Who may have it; anybody who was let in when there is none.
    pub(crate) scope: Option<&'static str>,
    /// What it may do, with who may show it in a frame.
    pub(crate) policy: Option<HeaderValue>,
}

/// Everything that is served; nothing when the program was built without its pages.
pub(crate) fn files(ancestors: &str) -> Vec<Served> {
    let policy = |rules: &'static str| {
        HeaderValue::from_str(&format!("{rules}; {ancestors}"))
            .unwrap_or(HeaderValue::from_static(rules))
    };
    let mut served = Vec::new();
    for file in APP {
        let (paths, scope, rules) = match file.path {
            "/index.html" => (vec!["/", "/index.html"], None, Some(DASHBOARD)),
            "/terminal.html" => (vec!["/terminal"], Some("shell:write"), Some(TERMINAL)),
            path => (vec![path], None, None),
        };
        for path in paths {
            served.push(Served { path, file, scope, policy: rules.map(policy) });
        }
    }
    served
}
