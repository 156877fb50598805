//! The web: the `[web]` table of the file, who searches it.

use atoll_sandbox::web::{SearchProvider, SearchSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Variables;
use crate::secrets::Secrets;

/// Holds the key for the provider.
const KEY: &str = "ATOLL_SEARCH_KEY";

/// How the web is searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WebConfig {
    /// Who searches: `searxng`, `brave` or `exa`. The key for it is taken from the environment, ATOLL_SEARCH_KEY.
    pub(crate) search_provider: Option<String>,
    /// The provider's address, where it is not its maker's: that of an instance of SearXNG, or one in which `{query}`
    /// stands for the words.
    pub(crate) search_url: Option<String>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("search_provider", "Environment ATOLL_SEARCH_PROVIDER."),
    ("search_url", "Environment ATOLL_SEARCH_URL."),
];

/// What one source says about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebLayer {
    search_provider: Option<String>,
    search_url: Option<String>,
}

impl WebLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            search_provider: self.search_provider.or(below.search_provider),
            search_url: self.search_url.or(below.search_url),
        }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> WebConfig {
        WebConfig { search_provider: self.search_provider, search_url: self.search_url }
    }
}

impl Variables {
    /// What the environment says about it. The key comes with the secrets.
    pub(super) fn web(&self) -> WebLayer {
        WebLayer {
            search_provider: self.get("ATOLL_SEARCH_PROVIDER").map(str::to_owned),
            search_url: self.get("ATOLL_SEARCH_URL").map(str::to_owned),
        }
    }
}

impl WebConfig {
    /// Who searches. `template` is the address that was for MCP alone before: an instance of SearXNG.
    pub(crate) fn settings(
        &self,
        template: Option<&str>,
        secrets: &Secrets,
    ) -> Result<SearchSettings, String> {
        let url = self.search_url.as_deref();
        let provider = match self.search_provider.as_deref().map(str::trim) {
            Some(name) => {
                Some(SearchProvider::named(&name.to_ascii_lowercase()).ok_or_else(|| {
                    format!(
                        "the search provider {name:?} is not known: write searxng, brave or exa"
                    )
                })?)
            }
            None => url.or(template).map(|_| SearchProvider::Searxng),
        };
        let template = template.filter(|_| provider == Some(SearchProvider::Searxng));
        let key = secrets.get(KEY).map(|key| key.expose().to_owned());
        let url = url.or(template).map(str::to_owned);
        let settings = SearchSettings { provider, url, key };
        settings.check()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(list: &[(&str, &str)], key: Option<&str>) -> Result<SearchSettings, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Variables = list.iter().map(owned).collect();
        let secrets: Vec<_> = key.map(|key| (KEY, key)).into_iter().collect();
        let template = variables.get("ATOLL_MCP_SEARCH_URL").map(str::to_owned);
        variables.web().resolve().settings(template.as_deref(), &Secrets::of(&secrets))
    }

    #[test]
    fn a_provider_is_named_or_follows_from_an_address() {
        assert_eq!(settings(&[], None).unwrap().provider, None);
        let searxng = settings(&[("ATOLL_SEARCH_URL", "https://s.test")], None).unwrap();
        assert_eq!(searxng.provider, Some(SearchProvider::Searxng));
        let old = settings(&[("ATOLL_MCP_SEARCH_URL", "https://s.test/?q={query}")], None).unwrap();
        assert_eq!(old.url.as_deref(), Some("https://s.test/?q={query}"));
        let brave = [("ATOLL_SEARCH_PROVIDER", "Brave"), ("ATOLL_MCP_SEARCH_URL", "https://x")];
        let brave = settings(&brave, Some("k")).unwrap();
        assert_eq!((brave.provider, brave.url), (Some(SearchProvider::Brave), None));
    }

    #[test]
    fn a_provider_that_cannot_work_is_a_mistake() {
        let mistake = |list: &[(&str, &str)]| settings(list, None).unwrap_err();
        assert!(mistake(&[("ATOLL_SEARCH_PROVIDER", "bing")]).contains("searxng, brave or exa"));
        assert!(mistake(&[("ATOLL_SEARCH_PROVIDER", "exa")]).contains("ATOLL_SEARCH_KEY"));
        assert!(mistake(&[("ATOLL_SEARCH_PROVIDER", "searxng")]).contains("ATOLL_SEARCH_URL"));
    }
}
