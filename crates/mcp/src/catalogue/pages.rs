//! Web pages for tools that fetch and search: opened in a context of the browser of their own, so that the page a user
//! or another tool looks at stays as it is.

use atoll_operation::Error;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::text::text;
use crate::calls::Calls;

/// The browser's context for these tools.
const CONTEXT: &str = "mcp-web";
/// Characters of a page.
const PAGE: u64 = 50_000;
/// A search engine that answers with a plain page.
const ENGINE: &str = "https://html.duckduckgo.com/html/?q=";
/// Reads that page's results.
const RESULTS: &str = r"() => [...document.querySelectorAll('.result')].map(result => {
    const link = result.querySelector('a.result__a');
    if (!link) return null;
    const target = new URL(link.href, location.href);
    return {
        title: link.textContent.trim(),
        url: target.searchParams.get('uddg') || target.href,
        snippet: (result.querySelector('.result__snippet')?.textContent || '').trim(),
    };
}).filter(Boolean)";

/// A page's main content as Markdown.
pub(super) async fn fetch(calls: &Calls, url: &str) -> Result<String, Error> {
    calls.ask("browser_navigate", json!({"url": url, "context": CONTEXT})).await?;
    let page =
        calls.ask("browser_get_markdown", json!({"context": CONTEXT, "max_chars": PAGE})).await?;
    let title = text(&page, "title");
    let head = if title.is_empty() { String::new() } else { format!("# {title}\n") };
    Ok(format!("{head}{}\n\n{}", text(&page, "url"), text(&page, "markdown")))
}

/// What to search for.
pub(super) struct Search {
    pub(super) query: String,
    pub(super) allowed: Vec<String>,
    pub(super) blocked: Vec<String>,
    pub(super) most: usize,
    pub(super) language: Option<String>,
}

/// Results, each with title, url and snippet.
pub(super) async fn search(calls: &Calls, search: &Search) -> Result<Vec<Value>, Error> {
    let mut query = search.query.clone();
    if !search.allowed.is_empty() {
        let sites: Vec<_> = search.allowed.iter().map(|name| format!("site:{name}")).collect();
        query = format!("{query} ({})", sites.join(" OR "));
    }
    let mut url = format!("{ENGINE}{}", utf8_percent_encode(&query, NON_ALPHANUMERIC));
    if let Some(language) = search.language.as_deref().and_then(|lr| lr.strip_prefix("lang_")) {
        url = format!("{url}&kl={}", utf8_percent_encode(language, NON_ALPHANUMERIC));
    }
    calls.ask("browser_navigate", json!({"url": url, "context": CONTEXT})).await?;
    let input = json!({"expression": RESULTS, "context": CONTEXT});
    let found = calls.ask("browser_evaluate", input).await?;
    let found = found.as_array().cloned().unwrap_or_default();
    let wanted = |result: &Value| {
        let host = host(text(result, "url"));
        let within = |name: &String| host == *name || host.ends_with(&format!(".{name}"));
        (search.allowed.is_empty() || search.allowed.iter().any(within))
            && !search.blocked.iter().any(within)
    };
    Ok(found.into_iter().filter(wanted).take(search.most).collect())
}

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
    fn the_host_of_an_address_is_told_from_what_looks_like_one() {
        assert_eq!(host("https://a.org/x?b.org"), "a.org");
        assert_eq!(host("https://b.org@A.org:80"), "a.org");
        assert_eq!(host("a.org#x"), "a.org");
    }
}
