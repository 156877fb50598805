//! Fetching a page as Markdown.

use std::net::IpAddr;
use std::sync::PoisonError;
use std::time::Duration;

use atoll_api::web::{FetchWeb, WebDocument};
use atoll_convert::{Selection, Source};
use atoll_fetch::{Dial, Fetched, Redirects, Request};
use atoll_operation::{Context, Error, Handle};

use super::refusal::refused;
use super::service::Webs;
use crate::convert::{Content, Document};

/// Characters returned unless the caller says otherwise.
const CHARACTERS: u64 = 100_000;
/// Redirects within a host.
const REDIRECTS: u32 = 10;

impl Handle<FetchWeb> for Webs {
    async fn handle(&self, _cx: &Context, input: FetchWeb) -> Result<WebDocument, Error> {
        let url = input.url.trim();
        let url = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
        let mut page = self.page(&url).await?;
        let most = usize::try_from(input.max_chars.unwrap_or(CHARACTERS)).unwrap_or(usize::MAX);
        if let Some((end, _)) = page.content.char_indices().nth(most) {
            page.content.truncate(end);
            page.truncated = true;
        }
        Ok(page)
    }
}

impl Webs {
    /// The whole page at an address.
    async fn page(&self, url: &str) -> Result<WebDocument, Error> {
        let limits = &self.limits;
        let time = Duration::from_secs(limits.web_timeout_seconds);
        let request = Request::get(url, limits.web_fetch_bytes, time);
        let mut request = request.map_err(|error| refused(&error))?;
        let host = request.url().host_str().unwrap_or_default();
        // A port of its own is a server that somebody runs as it is.
        if request.url().port().is_none() && !is_near(host, self.fetcher.dial().as_ref()) {
            request.secure();
        }
        let key = request.url().to_string();
        let known = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&key);
        if let Some(page) = known {
            return Ok(WebDocument { cached: true, ..page });
        }
        let request = request.following(Redirects::SameHost(REDIRECTS));
        let fetched = self.fetcher.fetch(request).await.map_err(|error| refused(&error))?;
        let page = self.converted(fetched).await?;
        if page.status < 400 && page.redirect_url.is_none() {
            self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(key, page.clone());
        }
        Ok(page)
    }

    async fn converted(&self, fetched: Fetched) -> Result<WebDocument, Error> {
        let Fetched { url, status, media_type, redirect, body } = fetched;
        let mut page = WebDocument {
            url: url.to_string(),
            title: None,
            content: String::new(),
            content_type: media_type.clone(),
            status,
            truncated: false,
            cached: false,
            redirect_url: redirect.map(String::from),
        };
        if page.redirect_url.is_some() || body.is_empty() {
            return Ok(page);
        }
        let source =
            Source { name: Some(url.path().to_owned()), media_type, url: Some(url.to_string()) };
        let document =
            Document { content: Content::Bytes(body), source, selection: Selection::default() };
        let markdown = self.converter.convert(document).await?;
        (page.title, page.content) = (markdown.title, markdown.text);
        Ok(page)
    }
}

/// Whether a host belongs to this machine or its network, where nobody has certificates.
fn is_near(host: &str, dial: &dyn Dial) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let near = match bare.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unspecified()
        }
        Err(_) => {
            let name = bare.trim_end_matches('.').to_ascii_lowercase();
            let ends = [".localhost", ".local", ".internal", ".lan", ".test", ".home.arpa"];
            !name.contains('.') || ends.iter().any(|end| name.ends_with(end))
        }
    };
    near || dial.is_mapped(bare)
}

#[cfg(test)]
mod tests {
    use atoll_fetch::Direct;

    use super::*;

    #[test]
    fn hosts_of_this_machine_and_its_network_are_told_from_the_webs() {
        for host in [
            "localhost",
            "127.0.0.1",
            "10.1.2.3",
            "[::1]",
            "fd00::1",
            "nas",
            "a.local",
            "x.localhost",
        ] {
            assert!(is_near(host, &Direct), "{host}");
        }
        for host in ["example.org", "8.8.8.8", "2606:4700::1111", "localhost.example.org"] {
            assert!(!is_near(host, &Direct), "{host}");
        }
    }
}
