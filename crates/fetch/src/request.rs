//! What is asked for.

use std::time::Duration;

use bytes::Bytes;
use url::Url;

use crate::error::FetchError;

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// All, as many as this.
    Follow(u32),
    /// Those that stay at the same host, as many as this; one that leaves it is the answer.
    SameHost(u32),
}

impl Redirects {
    pub(crate) fn most(self) -> u32 {
        match self {
            Self::Follow(most) | Self::SameHost(most) => most,
        }
    }
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Bytes>,
    pub(crate) redirects: Redirects,
    pub(crate) max_bytes: u64,
    pub(crate) time: Duration,
}

impl Request {
    /// Asks for what is at an address, within these bounds.
    pub fn get(url: &str, max_bytes: u64, time: Duration) -> Result<Self, FetchError> {
        let wrong =
            |reason: &str| FetchError::Address { url: url.to_owned(), reason: reason.to_owned() };
        let parsed = Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
        check(&parsed)?;
        let redirects = Redirects::Follow(10);
        Ok(Self { url: parsed, headers: Vec::new(), body: None, redirects, max_bytes, time })
    }

    /// Sends JSON there instead.
    #[must_use]
    pub fn posting(mut self, json: Vec<u8>) -> Self {
        self.body = Some(json.into());
        self
    }

    /// Sends a header along; it does not go along to another host.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Follows these redirects.
    #[must_use]
    pub fn following(mut self, redirects: Redirects) -> Self {
        self.redirects = redirects;
        self
    }

    /// The address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Uses TLS although the address says otherwise.
    pub fn secure(&mut self) {
        if self.url.scheme() == "http" {
            // The scheme and host of a checked address can be changed so.
            let _always = self.url.set_scheme("https");
        }
    }
}

/// Only addresses of the web that name a host can be fetched.
pub(crate) fn check(url: &Url) -> Result<(), FetchError> {
    let wrong =
        |reason: &str| FetchError::Address { url: url.to_string(), reason: reason.to_owned() };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it does not begin with http:// or https://"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("it names no host"));
    }
    Ok(())
}
