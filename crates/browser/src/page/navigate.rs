//! Going to a page, back, forward, and loading it anew.

use std::sync::Arc;
use std::time::Duration;

use atoll_cdp::CdpError;
use serde_json::json;
use tokio::time::Instant;

use super::download::Download;
use super::load::Until;
use super::url::check_url;
use crate::error::Error;
use crate::tab::Tab;

/// How long the browser may take to say that a response is a download.
const DOWNLOAD: Duration = Duration::from_secs(2);

/// How long the browser may take to say that it has jumped.
const JUMP: Duration = Duration::from_secs(2);

/// Where a tab has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    /// What it shows.
    pub url: String,
    /// The page's title.
    pub title: String,
    /// Status of the response, if there was one.
    pub status: Option<u16>,
    /// The download that came instead of a page.
    pub download: Option<Download>,
}

impl Tab {
    /// Goes to a URL. A URL that is downloaded rather than shown is no failure: the tab stays where it is.
    pub async fn navigate(
        self: &Arc<Self>,
        url: &str,
        until: Until,
        within: Duration,
    ) -> Result<Navigation, Error> {
        check_url(url)?;
        self.begin_action();
        let deadline = Instant::now() + within;
        let url = url.trim();
        let before = self.main_frame().state().loader.clone();
        let downloads = self.context()?.downloads().len();
        let mut jumps = self.session().subscribe(&["Page.navigatedWithinDocument"]);
        let sent = self.session().command_within("Page.navigate", json!({ "url": url }), within);
        let answer = match sent.await {
            Ok(answer) => answer,
            Err(CdpError::Timeout { .. }) => {
                // The tab shall not go there later, when nobody expects it.
                drop(self.session().start("Page.stopLoading", json!({})));
                let what = format!("a response from {url}");
                return Err(Error::Timeout { what, after: within, hint: String::new() });
            }
            Err(CdpError::Refused { message, .. }) if message.contains("invalid URL") => {
                let reason = "the browser cannot read it".to_owned();
                return Err(Error::InvalidUrl { url: url.to_owned(), reason });
            }
            Err(error) => return Err(self.explain(error)),
        };
        let failed = answer["errorText"].as_str().filter(|text| !text.is_empty());
        if answer["isDownload"] == true || failed == Some("net::ERR_ABORTED") {
            let download = self.began(downloads, answer["isDownload"] == true).await?;
            if download.is_some() {
                return self.arrived(None, download, None).await;
            }
        }
        if let Some(reason) = failed {
            let url = url.to_owned();
            if reason == "net::ERR_BLOCKED_BY_ADMINISTRATOR" {
                let reason = "the browser's block list (`url_blocklist`) forbids it".to_owned();
                return Err(Error::RefusedUrl { url, reason });
            }
            return Err(Error::NavigationFailed { url, reason: reason.to_owned() });
        }
        // Without a document of its own it was a jump within the page.
        if answer["loaderId"].as_str().is_none_or(str::is_empty) {
            let jumped = self.jumped(&mut jumps, deadline.min(Instant::now() + JUMP)).await;
            return self.arrived(jumped, None, None).await;
        }
        self.loaded(Some(&before), until, deadline, within).await?;
        self.shown(until).await
    }

    /// Goes back.
    pub async fn back(
        self: &Arc<Self>,
        until: Until,
        within: Duration,
    ) -> Result<Navigation, Error> {
        self.travel(-1, "back", until, within).await
    }

    /// Goes forward again.
    pub async fn forward(
        self: &Arc<Self>,
        until: Until,
        within: Duration,
    ) -> Result<Navigation, Error> {
        self.travel(1, "forward", until, within).await
    }

    /// Loads the page anew; one that has crashed comes back to life.
    pub async fn reload(
        self: &Arc<Self>,
        until: Until,
        within: Duration,
    ) -> Result<Navigation, Error> {
        self.begin_action();
        let deadline = Instant::now() + within;
        let before = self.main_frame().state().loader.clone();
        let mut events = self.session().subscribe(&["Page.frameNavigated"]);
        self.command("Page.reload", json!({})).await?;
        self.committed(&mut events, "the page", deadline, within).await?;
        self.loaded(Some(&before), until, deadline, within).await?;
        self.shown(until).await
    }

    async fn travel(
        self: &Arc<Self>,
        step: i64,
        direction: &'static str,
        until: Until,
        within: Duration,
    ) -> Result<Navigation, Error> {
        self.begin_action();
        let deadline = Instant::now() + within;
        let history = self.command("Page.getNavigationHistory", json!({})).await?;
        let index = history["currentIndex"].as_i64().unwrap_or_default() + step;
        let entry = usize::try_from(index).ok().and_then(|index| history["entries"].get(index));
        let Some(entry) = entry else { return Err(Error::NoHistory { direction }) };
        let before = self.main_frame().state().loader.clone();
        let mut events =
            self.session().subscribe(&["Page.frameNavigated", "Page.navigatedWithinDocument"]);
        let params = json!({ "entryId": entry["id"] });
        self.command("Page.navigateToHistoryEntry", params).await?;
        let url = entry["url"].as_str().unwrap_or_default();
        let jumped = self.committed(&mut events, url, deadline, within).await?;
        if jumped.is_some() {
            return self.arrived(jumped, None, None).await;
        }
        self.loaded(Some(&before), until, deadline, within).await?;
        self.shown(until).await
    }

    /// The address that a jump within the page led to, once the browser tells it.
    async fn jumped(
        &self,
        events: &mut atoll_cdp::Subscription,
        deadline: Instant,
    ) -> Option<String> {
        loop {
            let event = tokio::time::timeout_at(deadline, events.next()).await.ok()?.ok()?;
            if event.params["frameId"].as_str() == Some(self.id()) {
                return event.params["url"].as_str().map(str::to_owned);
            }
        }
    }

    /// Waits until the main frame shows something else: another document, or the same at this address.
    async fn committed(
        &self,
        events: &mut atoll_cdp::Subscription,
        url: &str,
        deadline: Instant,
        within: Duration,
    ) -> Result<Option<String>, Error> {
        loop {
            let Ok(event) = tokio::time::timeout_at(deadline, events.next()).await else {
                drop(self.session().start("Page.stopLoading", json!({})));
                let what = format!("a response from {url}");
                return Err(Error::Timeout { what, after: within, hint: String::new() });
            };
            let event = event.map_err(|error| self.explain(error))?;
            let frame = &event.params["frame"];
            if event.method == "Page.navigatedWithinDocument" {
                if event.params["frameId"].as_str() == Some(self.id()) {
                    return Ok(event.params["url"].as_str().map(str::to_owned));
                }
            } else if frame["id"].as_str() == Some(self.id()) {
                return match frame["unreachableUrl"].as_str() {
                    None => Ok(None),
                    Some(url) => Err(Error::NavigationFailed {
                        url: url.to_owned(),
                        reason: "the server cannot be reached".to_owned(),
                    }),
                };
            }
        }
    }

    /// The download that began since there were this many, waited for if one is certain.
    async fn began(&self, before: usize, certain: bool) -> Result<Option<Download>, Error> {
        let context = self.context()?;
        let mut changes = context.changes();
        let deadline = Instant::now() + DOWNLOAD;
        loop {
            changes.borrow_and_update();
            let downloads = context.downloads();
            if let Some(download) = downloads.get(before..).and_then(<[_]>::last) {
                return Ok(Some(download.clone()));
            }
            if !certain {
                return Ok(None);
            }
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Ok(None),
            }
        }
    }

    /// What the tab shows after waiting for a document. One that was loaded just now has told its title: it need not be
    /// asked, and would answer only after it has been drawn.
    async fn shown(self: &Arc<Self>, until: Until) -> Result<Navigation, Error> {
        let told = match until {
            Until::Load => self.main_frame().state().title.take(),
            Until::Commit | Until::DomContentLoaded | Until::NetworkIdle => None,
        };
        self.arrived(None, None, told).await
    }

    /// What the tab shows. A jump is told by its address: the frames may not have heard of it yet.
    async fn arrived(
        self: &Arc<Self>,
        jumped: Option<String>,
        download: Option<Download>,
        title: Option<String>,
    ) -> Result<Navigation, Error> {
        let title = match title {
            Some(title) => title,
            None => self.title().await?,
        };
        let loader = self.main_frame().state().loader.clone();
        Ok(Navigation {
            url: jumped.unwrap_or_else(|| self.url()),
            title,
            status: self.traffic.status_of(&loader).filter(|_| download.is_none()),
            download,
        })
    }
}
