//! Elements found, waited for and acted on, and pages read, in a real browser.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../support/mod.rs"]
mod support;

mod acting;
mod frames;
mod selectors;
mod snapshots;

use std::sync::Arc;
use std::time::Duration;

use atoll_browser::element::{ElementError, Pointer, Target};
use atoll_browser::{Error, Tab};
use serde_json::Value;
use support::LONG;

/// Long enough to see that something does not happen.
const SHORT: Duration = Duration::from_millis(300);

async fn value(tab: &Arc<Tab>, expression: &str) -> Value {
    tab.evaluate(expression, LONG).await.unwrap()
}

fn by(selector: &str) -> Target {
    Target::Selector(selector.to_owned())
}

fn at(selector: &str) -> Pointer {
    Pointer::Element(by(selector))
}

async fn click(tab: &Arc<Tab>, selector: &str) {
    tab.click(&at(selector), "left", 1, LONG).await.unwrap();
}

async fn refused(tab: &Arc<Tab>, selector: &str) -> ElementError {
    match tab.click(&at(selector), "left", 1, SHORT).await {
        Err(Error::Element(error)) => error,
        other => panic!("{selector}: {other:?}"),
    }
}
