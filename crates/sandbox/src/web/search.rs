//! Searching the web.

use std::time::Duration;

use atoll_api::web::{SearchWeb, WebResult, WebResults};
use atoll_operation::{Context, Error, Handle, Kind};
use serde_json::Value;

use super::provider::{Search, request, results};
use super::refusal::refused;
use super::service::Webs;

/// Characters of a strange answer that are shown.
const SHOWN: usize = 200;

impl Handle<SearchWeb> for Webs {
    async fn handle(&self, _cx: &Context, input: SearchWeb) -> Result<WebResults, Error> {
        if input.query.trim().chars().count() < 2 {
            return Err(Error::field("query", "minLength", "must have at least 2 characters"));
        }
        let provider = self.search.provider.ok_or_else(not_configured)?;
        let (allowed, blocked) = (domains(&input.allowed_domains), domains(&input.blocked_domains));
        let search = Search::of(&input, &allowed, &blocked);
        let time = Duration::from_secs(self.limits.web_timeout_seconds);
        let request = request(&self.search, provider, &search, time);
        let request = request.map_err(|error| refused(&error))?;
        let answer = self.fetcher.fetch(request).await.map_err(|error| refused(&error))?;
        let name = provider.name();
        let start: String = String::from_utf8_lossy(&answer.body).chars().take(SHOWN).collect();
        if answer.status >= 400 {
            let status = answer.status;
            let message =
                format!("the search provider {name} answered with status {status}: {start:?}");
            let hint =
                "Whoever runs the sandbox should check ATOLL_SEARCH_URL and ATOLL_SEARCH_KEY.";
            return Err(Error::new(Kind::Unavailable, "web.provider", message).with_hint(hint));
        }
        let parsed: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let found = parsed.as_ref().and_then(|answer| results(provider, answer));
        let found = found.ok_or_else(|| {
            let message =
                format!("the search provider {name} did not answer with JSON results: {start:?}");
            Error::new(Kind::Unavailable, "web.provider", message)
        })?;
        let most = usize::try_from(search.count).unwrap_or(usize::MAX);
        let wanted = |result: &WebResult| {
            let host = host(&result.url);
            let within = |name: &String| host == *name || host.ends_with(&format!(".{name}"));
            (allowed.is_empty() || allowed.iter().any(within)) && !blocked.iter().any(within)
        };
        let results = found.into_iter().filter(wanted).take(most).collect();
        Ok(WebResults { results, provider: name.to_owned() })
    }
}

fn not_configured() -> Error {
    let message = "this sandbox has no search provider";
    Error::new(Kind::Unavailable, "web.search_not_configured", message).with_hint(
        "Fetch a page you know instead (web_fetch, WebFetch). Whoever runs the sandbox can name a provider: \
         ATOLL_SEARCH_PROVIDER is searxng, brave or exa, with ATOLL_SEARCH_URL for an instance of SearXNG, or \
         ATOLL_SEARCH_KEY for the others.",
    )
}

/// Names of domains, as they are compared.
fn domains(given: &[String]) -> Vec<String> {
    let names = given.iter().flat_map(|names| names.split(','));
    let names = names.map(|name| {
        let name = name.trim().to_ascii_lowercase();
        let name = name.strip_prefix("https://").or(name.strip_prefix("http://")).unwrap_or(&name);
        name.split('/').next().unwrap_or_default().trim_start_matches("*.").to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// The host of an address, told from what looks like one.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest.get(..end).unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    host.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_compared_without_what_is_written_around_them() {
        let given =
            ["a.org, B.org,".to_owned(), "https://c.org/x".to_owned(), "*.d.org".to_owned()];
        assert_eq!(domains(&given), ["a.org", "b.org", "c.org", "d.org"]);
    }

    #[test]
    fn the_host_of_an_address_is_told_from_what_looks_like_one() {
        assert_eq!(host("https://a.org/x?b.org"), "a.org");
        assert_eq!(host("https://b.org@A.org:80"), "a.org");
        assert_eq!(host("a.org#x"), "a.org");
    }
}
