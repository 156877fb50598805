//! The wire: every input and output type, every operation declared. No IO, no rules.
//!
//! The types' doc comments are the API's documentation: they become OpenAPI descriptions, MCP tool descriptions and
//! `--help` texts. [`OPERATIONS`] lists every declaration; a test compares it with what is bound.

pub mod activity;
pub mod auth;
pub mod bash;
pub mod browser;
pub mod code;
pub mod desktop;
pub mod file;
pub mod hook;
pub mod jupyter;
pub mod mcp;
pub mod nodejs;
pub mod observe;
pub mod port;
pub mod proxy;
pub mod service;
pub mod shell;
pub mod skill;
pub mod system;
pub mod terminal;
pub mod util;
pub mod web;
pub mod window;

use atoll_operation::Declaration;

/// Every declared operation.
pub const OPERATIONS: &[&[Declaration]] = &[
    system::OPERATIONS,
    auth::OPERATIONS,
    activity::OPERATIONS,
    shell::OPERATIONS,
    terminal::OPERATIONS,
    bash::OPERATIONS,
    file::OPERATIONS,
    jupyter::OPERATIONS,
    nodejs::OPERATIONS,
    code::OPERATIONS,
    browser::OPERATIONS,
    desktop::OPERATIONS,
    window::OPERATIONS,
    port::OPERATIONS,
    mcp::OPERATIONS,
    proxy::OPERATIONS,
    service::OPERATIONS,
    observe::OPERATIONS,
    skill::OPERATIONS,
    hook::OPERATIONS,
    util::OPERATIONS,
    web::OPERATIONS,
];

/// Every declared operation, in one row.
pub fn operations() -> impl Iterator<Item = &'static Declaration> {
    OPERATIONS.iter().flat_map(|group| group.iter())
}
