//! Who searches: three kinds of providers, each with its own way of being asked and of answering.

use std::fmt;
use std::time::Duration;

use atoll_api::web::{SearchWeb, WebResult};
use atoll_fetch::{FetchError, Request};
use serde_json::{Value, json};

/// Bytes of a provider's answer.
const ANSWER: u64 = 4 << 20;
/// Characters of a snippet.
const SNIPPET: usize = 500;

/// A kind of provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchProvider {
    /// An instance of SearXNG, or whatever answers as one does.
    Searxng,
    /// Brave Search.
    Brave,
    /// Exa.
    Exa,
}

impl SearchProvider {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Searxng, Self::Brave, Self::Exa].into_iter().find(|kind| kind.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Exa => "exa",
        }
    }

    const fn address(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            Self::Exa => Some("https://api.exa.ai/search"),
        }
    }
}

/// Who is asked, as whoever runs the sandbox chose.
#[derive(Clone, Default)]
pub struct SearchSettings {
    /// The kind; none means that nobody is.
    pub provider: Option<SearchProvider>,
    /// Its address; that of its maker when `None`.
    pub url: Option<String>,
    /// The key for it.
    pub key: Option<String>,
}

/// Never shows the key.
impl fmt::Debug for SearchSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchSettings")
            .field("provider", &self.provider)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl SearchSettings {
    /// What is wrong with them, if they cannot work.
    pub fn check(&self) -> Result<(), String> {
        let Some(provider) = self.provider else { return Ok(()) };
        let name = provider.name();
        match &self.url {
            None if provider == SearchProvider::Searxng => Err(format!(
                "the search provider {name} needs an address: set ATOLL_SEARCH_URL, such as https://searx.example.org"
            )),
            Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
                Err(format!("the search provider's address {url:?} does not begin with https://"))
            }
            _ if self.key.is_none() && provider != SearchProvider::Searxng => {
                Err(format!("the search provider {name} needs a key: set ATOLL_SEARCH_KEY"))
            }
            _ => Ok(()),
        }
    }
}

/// A search as providers are asked for it.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) words: &'a str,
    pub(super) allowed: &'a [String],
    pub(super) blocked: &'a [String],
    pub(super) count: u32,
    /// Two letters, or empty.
    pub(super) language: &'a str,
}

impl<'a> Search<'a> {
    pub(super) fn of(input: &'a SearchWeb, allowed: &'a [String], blocked: &'a [String]) -> Self {
        let language = input.lr.as_deref().unwrap_or_default().trim();
        Self {
            words: input.query.trim(),
            allowed,
            blocked,
            count: input.num.unwrap_or(8).clamp(1, 20),
            language: language.strip_prefix("lang_").unwrap_or(language),
        }
    }

    /// The words, with the domains as search engines write them.
    fn with_sites(&self) -> String {
        let mut words = self.words.to_owned();
        if !self.allowed.is_empty() {
            let sites: Vec<_> = self.allowed.iter().map(|name| format!("site:{name}")).collect();
            words = format!("{words} ({})", sites.join(" OR "));
        }
        for name in self.blocked {
            words = format!("{words} -site:{name}");
        }
        words
    }
}

/// The request that asks a provider.
pub(super) fn request(
    settings: &SearchSettings,
    provider: SearchProvider,
    search: &Search<'_>,
    time: Duration,
) -> Result<Request, FetchError> {
    let address = settings.url.as_deref().or(provider.address()).unwrap_or_default();
    let key = || settings.key.clone().unwrap_or_default();
    let with = |parameters: &[(&str, &str)]| {
        let mut url = address.to_owned();
        for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&format!("{name}={}", encoded(value)));
        }
        url
    };
    let count = search.count.to_string();
    match provider {
        SearchProvider::Searxng => {
            let words = search.with_sites();
            let url = if address.contains("{query}") {
                let url = address.replace("{query}", &encoded(&words));
                url.replace("{language}", &encoded(search.language))
            } else {
                let base = address.trim_end_matches('/');
                let base = base.strip_suffix("/search").unwrap_or(base);
                let mut url = format!("{base}/search?format=json&q={}", encoded(&words));
                if !search.language.is_empty() {
                    url.push_str(&format!("&language={}", encoded(search.language)));
                }
                url
            };
            let request = Request::get(&url, ANSWER, time)?;
            let request = request.with_header("accept", "application/json".to_owned());
            Ok(match &settings.key {
                Some(key) => request.with_header("authorization", format!("Bearer {key}")),
                None => request,
            })
        }
        SearchProvider::Brave => {
            let words = search.with_sites();
            let parameters =
                [("q", words.as_str()), ("count", &count), ("search_lang", search.language)];
            Ok(Request::get(&with(&parameters), ANSWER, time)?
                .with_header("accept", "application/json".to_owned())
                .with_header("x-subscription-token", key()))
        }
        SearchProvider::Exa => {
            let mut body = json!({
                "query": search.words,
                "numResults": search.count,
                "contents": {"text": {"maxCharacters": SNIPPET}},
            });
            if !search.allowed.is_empty() {
                body["includeDomains"] = json!(search.allowed);
            }
            if !search.blocked.is_empty() {
                body["excludeDomains"] = json!(search.blocked);
            }
            Ok(Request::get(address, ANSWER, time)?
                .posting(body.to_string().into_bytes())
                .with_header("accept", "application/json".to_owned())
                .with_header("x-api-key", key()))
        }
    }
}

/// The results in a provider's answer; `None` when it has none to look for.
pub(super) fn results(provider: SearchProvider, answer: &Value) -> Option<Vec<WebResult>> {
    let list = match provider {
        // One that finds nothing leaves them out.
        SearchProvider::Brave if answer.get("web").is_none() && answer.get("type").is_some() => {
            return Some(Vec::new());
        }
        SearchProvider::Brave => answer.pointer("/web/results")?,
        SearchProvider::Searxng | SearchProvider::Exa => answer.get("results")?,
    };
    let result = |found: &Value| {
        let text = |names: &[&str]| {
            let text = names.iter().find_map(|name| found.get(name)?.as_str());
            let text = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            text.chars().take(SNIPPET).collect::<String>()
        };
        let url = found.get("url")?.as_str().filter(|url| !url.is_empty())?.to_owned();
        let snippet = text(&["content", "description", "snippet", "summary", "text"]);
        Some(WebResult { title: text(&["title"]), url, snippet })
    };
    Some(list.as_array()?.iter().filter_map(result).collect())
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str, words: &str, allowed: &[String]) -> String {
        let settings = SearchSettings { url: Some(url.to_owned()), ..SearchSettings::default() };
        let search = Search { words, allowed, blocked: &[], count: 8, language: "de" };
        let request = request(&settings, SearchProvider::Searxng, &search, Duration::from_secs(1));
        request.unwrap().url().to_string()
    }

    #[test]
    fn words_cannot_change_a_providers_address() {
        let provider = "http://x/search?q={query}&l={language}";
        assert_eq!(
            asked(provider, "a&b {language}", &[]),
            "http://x/search?q=a%26b%20%7Blanguage%7D&l=de"
        );
        let sites = ["a.org".to_owned(), "b.org".to_owned()];
        let expected = "http://x/search?format=json&q=c%20%28site%3Aa%2Eorg%20OR%20site%3Ab%2Eorg%29&language=de";
        assert_eq!(asked("http://x/", "c", &sites), expected);
        assert_eq!(asked("http://x/search", "c", &sites), expected);
    }

    #[test]
    fn settings_that_cannot_work_are_named() {
        let settings = |provider, url: Option<&str>, key: Option<&str>| SearchSettings {
            provider: Some(provider),
            url: url.map(str::to_owned),
            key: key.map(str::to_owned),
        };
        assert!(settings(SearchProvider::Searxng, None, None).check().is_err());
        assert!(settings(SearchProvider::Searxng, Some("x"), None).check().is_err());
        assert!(settings(SearchProvider::Searxng, Some("http://x"), None).check().is_ok());
        assert!(settings(SearchProvider::Brave, None, None).check().is_err());
        let exa = settings(SearchProvider::Exa, None, Some("secret-key"));
        assert!(exa.check().is_ok() && !format!("{exa:?}").contains("secret-key"));
        assert_eq!(SearchProvider::named("brave"), Some(SearchProvider::Brave));
    }

    #[test]
    fn results_are_found_where_each_provider_has_them() {
        let found = json!({"results": [{"title": "t", "url": "u", "content": "a\n b"}, {}]});
        let expected = [WebResult { title: "t".into(), url: "u".into(), snippet: "a b".into() }];
        assert_eq!(results(SearchProvider::Searxng, &found).unwrap(), expected);
        let found = json!({"web": {"results": [{"title": "t", "url": "u", "description": "a b"}]}});
        assert_eq!(results(SearchProvider::Brave, &found).unwrap(), expected);
        assert_eq!(results(SearchProvider::Brave, &json!({"type": "search"})).unwrap(), []);
        let found = json!({"results": [{"title": "t", "url": "u", "text": "a b"}]});
        assert_eq!(results(SearchProvider::Exa, &found).unwrap(), expected);
        for answer in [json!([]), json!({"results": 1}), json!("x")] {
            assert!(results(SearchProvider::Searxng, &answer).is_none(), "{answer}");
        }
    }
}
