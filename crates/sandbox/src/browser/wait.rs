//! Waiting for what a page does.

use std::path::Path;
use std::time::Duration;

use atoll_api::browser::{WaitForPage, WaitType, Waited};
use atoll_api::file::CopyPath;
use atoll_browser::element::State;
use atoll_browser::{Until, UrlPattern};
use atoll_operation::{Context, Error, Handle};
use serde_json::Value;

use super::error::failure;
use super::service::{Browsers, Page, patience};

const SECONDS: f64 = 30.0;

/// A field that this kind of waiting cannot do without.
fn needed(field: &'static str, value: Option<String>) -> Result<String, Error> {
    let missing = || Error::field(field, "missing", "is required for this type of waiting");
    value.filter(|value| !value.is_empty()).ok_or_else(missing)
}

impl Handle<WaitForPage> for Browsers {
    async fn handle(&self, cx: &Context, input: WaitForPage) -> Result<Waited, Error> {
        let within = patience(input.timeout, SECONDS);
        let mut waited = Waited {
            kind: input.kind,
            url: None,
            status: None,
            method: None,
            path: None,
            value: Value::Null,
        };
        if input.kind == WaitType::Timeout {
            tokio::time::sleep(within).await;
            return Ok(waited);
        }
        let order = Order::read(input)?;
        let page = self.page(cx, order.context()).await?;
        match order {
            Order::Selector { selector, state, .. } => {
                page.outcome(page.tab.wait_selector(&selector, state, within).await)?;
            }
            Order::Load { until, .. } => page.outcome(page.tab.wait_load(until, within).await)?,
            Order::Url { pattern, .. } => {
                waited.url = Some(page.outcome(page.tab.wait_url(&pattern, within).await)?);
            }
            Order::NetworkIdle { .. } => {
                page.outcome(page.tab.wait_network_idle(within).await)?;
            }
            Order::Function { expression, polling, .. } => {
                let done = page.tab.wait_function(&expression, polling, within).await;
                waited.value = page.outcome(done)?;
            }
            Order::Traffic { pattern, answer, .. } => {
                let seen = if answer {
                    page.tab.wait_response(&pattern, within).await
                } else {
                    page.tab.wait_request(&pattern, within).await
                };
                let seen = page.outcome(seen)?;
                waited.method = Some(seen.method).filter(|method| !method.is_empty());
                waited.status = seen.status;
                waited.url = Some(seen.url);
            }
            Order::Download { save_path, .. } => {
                (waited.url, waited.path) = self.download(cx, &page, save_path, within).await?;
            }
        }
        waited.url = waited.url.or_else(|| Some(page.tab.url()));
        Ok(waited)
    }
}

impl Browsers {
    /// Waits for a download and copies it where it is wanted; its address and where it is.
    async fn download(
        &self,
        cx: &Context,
        page: &Page<'_>,
        save_path: Option<String>,
        within: Duration,
    ) -> Result<(Option<String>, Option<String>), Error> {
        let context = page.tab.context().map_err(failure)?;
        let download = page.outcome(context.next_download(within).await)?;
        let path = download.path.unwrap_or_default();
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let Some(destination) = save_path.filter(|path| !path.is_empty()) else {
            return Ok((Some(download.url), Some(shown(&path))));
        };
        let order = CopyPath { source: shown(&path), destination, overwrite: true };
        let copied = Handle::<CopyPath>::handle(&*self.files, cx, order).await?;
        Ok((Some(download.url), Some(copied.destination)))
    }
}

/// What to wait for, checked before anything is waited for.
enum Order {
    Selector { selector: String, state: State, context: Option<String> },
    Load { until: Until, context: Option<String> },
    Url { pattern: UrlPattern, context: Option<String> },
    NetworkIdle { context: Option<String> },
    Download { save_path: Option<String>, context: Option<String> },
    Function { expression: String, polling: Option<Duration>, context: Option<String> },
    Traffic { pattern: UrlPattern, answer: bool, context: Option<String> },
}

impl Order {
    fn read(input: WaitForPage) -> Result<Self, Error> {
        let context = input.context;
        let state = input.state.filter(|state| !state.is_empty());
        let pattern = |text: &str| UrlPattern::parse(text).map_err(failure);
        Ok(match input.kind {
            WaitType::Selector => {
                let state = State::parse(state.as_deref().unwrap_or("visible"));
                let state = state.map_err(|error| failure(error.into()))?;
                Self::Selector { selector: needed("selector", input.selector)?, state, context }
            }
            WaitType::Load => Self::Load { until: until(state.as_deref())?, context },
            WaitType::Url => {
                let url = input.url.or(input.url_pattern);
                Self::Url { pattern: pattern(&needed("url", url)?)?, context }
            }
            WaitType::NetworkIdle | WaitType::Timeout => Self::NetworkIdle { context },
            WaitType::Download => Self::Download { save_path: input.save_path, context },
            WaitType::Function => {
                let milliseconds = input.polling.filter(|polling| *polling > 0.0);
                let polling = milliseconds.map(|polling| patience(Some(polling / 1000.0), 0.0));
                Self::Function {
                    expression: needed("expression", input.expression)?,
                    polling,
                    context,
                }
            }
            WaitType::Response | WaitType::Request => {
                let url = needed("url_pattern", input.url_pattern.or(input.url))?;
                let answer = input.kind == WaitType::Response;
                Self::Traffic { pattern: pattern(&url)?, answer, context }
            }
        })
    }

    fn context(&self) -> Option<&str> {
        match self {
            Self::Selector { context, .. }
            | Self::Load { context, .. }
            | Self::Url { context, .. }
            | Self::NetworkIdle { context }
            | Self::Download { context, .. }
            | Self::Function { context, .. }
            | Self::Traffic { context, .. } => context.as_deref(),
        }
    }
}

fn until(state: Option<&str>) -> Result<Until, Error> {
    match state.unwrap_or("load").to_ascii_lowercase().as_str() {
        "load" => Ok(Until::Load),
        "domcontentloaded" => Ok(Until::DomContentLoaded),
        "networkidle" | "network_idle" => Ok(Until::NetworkIdle),
        "commit" => Ok(Until::Commit),
        _ => {
            let message = "must be one of load, domcontentloaded, networkidle, commit";
            Err(Error::field("state", "enum", message))
        }
    }
}
