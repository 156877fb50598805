//! Waiting for something about a page. Each wait is woken by what it waits for; only a function of the page is looked
//! at again and again, by the page itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::traffic::Traffic;
use crate::error::Error;
use crate::pattern::UrlPattern;
use crate::tab::Tab;

impl Tab {
    /// Waits until its URL fits.
    pub async fn wait_url(&self, pattern: &UrlPattern, within: Duration) -> Result<String, Error> {
        let fits = || Some(self.url()).filter(|url| pattern.matches(url));
        match self.until(Instant::now() + within, fits).await? {
            Some(url) => Ok(url),
            None => Err(Error::Timeout {
                what: format!("a URL like {}", pattern.text()),
                after: within,
                hint: format!("; the page is at {}", self.url()),
            }),
        }
    }

    /// Waits for a request: one since the latest action, or one to come.
    pub async fn wait_request(
        &self,
        pattern: &UrlPattern,
        within: Duration,
    ) -> Result<Traffic, Error> {
        let fits = |traffic: &Traffic| traffic.status.is_none() && pattern.matches(&traffic.url);
        self.wait_traffic("a request", pattern, within, fits).await
    }

    /// Waits for a response: one since the latest action, or one to come.
    pub async fn wait_response(
        &self,
        pattern: &UrlPattern,
        within: Duration,
    ) -> Result<Traffic, Error> {
        let fits = |traffic: &Traffic| traffic.status.is_some() && pattern.matches(&traffic.url);
        self.wait_traffic("a response", pattern, within, fits).await
    }

    async fn wait_traffic(
        &self,
        what: &str,
        pattern: &UrlPattern,
        within: Duration,
        fits: impl Fn(&Traffic) -> bool,
    ) -> Result<Traffic, Error> {
        let found = self.until(Instant::now() + within, || self.traffic.find(&fits)).await?;
        found.ok_or_else(|| Error::Timeout {
            what: format!("{what} for {}", pattern.text()),
            after: within,
            hint: String::new(),
        })
    }

    /// Waits until an expression, or a function, comes to something true, and returns that. It is looked at with each
    /// picture the page draws, or every so often if `every` says so. A new document starts over.
    pub async fn wait_function(
        self: &Arc<Self>,
        expression: &str,
        every: Option<Duration>,
        within: Duration,
    ) -> Result<Value, Error> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let waiting = self.evaluate_until_true(expression, every, left);
            match waiting.await {
                Ok(Some(value)) => return Ok(value),
                Ok(None) | Err(Error::ScriptTimeout { .. }) => {
                    let shown: String = expression.chars().take(200).collect();
                    return Err(Error::Timeout {
                        what: format!("a true value of {shown}"),
                        after: within,
                        hint: String::new(),
                    });
                }
                Err(Error::Navigated) if Instant::now() < deadline => {
                    self.loaded(None, super::Until::Commit, deadline, within).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
