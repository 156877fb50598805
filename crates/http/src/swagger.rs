//! The API page at `/v1/docs`: Swagger UI, embedded, so that no request leaves the machine.
//!
//! The files are put into `web/dist/swagger` by the web build and embedded by this crate's build script. A program
//! built without them serves a page that says how to get them; building needs no Node.

use axum::http::HeaderValue;

use crate::assets::{File, HTML, SCRIPT, SWAGGER};

/// What the page may load: its own files. Swagger UI sets styles and draws icons inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// The same with who may show the page in a frame.
pub(crate) fn policy(ancestors: &str) -> HeaderValue {
    HeaderValue::from_str(&format!("{POLICY}; {ancestors}"))
        .unwrap_or(HeaderValue::from_static(POLICY))
}

/// Every file of the page.
pub(crate) fn files() -> impl Iterator<Item = &'static File> {
    static PAGE: &[File] = &[
        File::new("/v1/docs", HTML, include_bytes!("../assets/docs.html")),
        File::new("/v1/docs/initialise.js", SCRIPT, include_bytes!("../assets/initialise.js")),
    ];
    static NOT_BUILT: &[File] =
        &[File::new("/v1/docs", HTML, include_bytes!("../assets/not-built.html"))];
    let page = if SWAGGER.is_empty() { NOT_BUILT } else { PAGE };
    page.iter().chain(SWAGGER)
}
