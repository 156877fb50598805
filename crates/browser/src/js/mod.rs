//! The engine that is put into each document's utility world: selectors, actionability, actions and reading.
//!
//! Several scripts share one function's scope; they are joined here in the order their constants depend on. Only the
//! global `atoll` is visible outside, and only to us: the page's scripts live in another world.

/// Its source.
pub const ENGINE: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("dom.js"),
    include_str!("roles.js"),
    include_str!("names.js"),
    include_str!("css.js"),
    include_str!("selectors.js"),
    include_str!("registry.js"),
    include_str!("actionable.js"),
    include_str!("actions.js"),
    include_str!("scroll.js"),
    include_str!("listing.js"),
    include_str!("outline.js"),
    include_str!("text.js"),
    include_str!("markdown.js"),
    include_str!("main.js"),
    "})();\n",
);
