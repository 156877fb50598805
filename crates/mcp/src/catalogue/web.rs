//! deep-agent's tools for the web. Pages are opened in a context of the browser of their own, so that the page a user or
//! another tool looks at stays as it is. Searching needs a provider, which whoever runs the sandbox names: there is none
//! that everybody may use.

use std::sync::Arc;

use atoll_operation::{Error, Kind, Mcp as Mark};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::agent::SERVER;
use super::text::text;
use super::tool::{Sets, Tool};
use crate::calls::{Calls, Operations};
use crate::reply::Reply;

/// The browser's context for these tools.
const CONTEXT: &str = "mcp-web";
/// Characters of a page.
const PAGE: u64 = 50_000;
/// Reads a provider's answer, which the browser shows as a page of text.
const ANSWER: &str = "document.body ? document.body.innerText : ''";
/// What stands for the words to search for in a provider's address.
const QUERY: &str = "{query}";
/// What stands for the language of results.
const LANGUAGE: &str = "{language}";

pub(super) fn tools(operations: &Operations, provider: Option<&str>) -> Vec<Tool> {
    let has = |id: &str| operations.get(id).is_some();
    let mut tools = Vec::new();
    if has("browser_navigate") && has("browser_get_markdown") {
        tools.push(Tool::new(("WebFetch", SERVER), Sets::AGENT, Mark::ReadOnly, web_fetch));
    }
    if has("browser_navigate") && has("browser_evaluate") {
        let provider: Option<Arc<str>> = provider.map(Arc::from);
        let run = move |calls, arguments| web_search(provider.clone(), calls, arguments);
        tools.push(Tool::new(("WebSearch", SERVER), Sets::AGENT, Mark::ReadOnly, run));
    }
    tools
}

/// Open a web page and return its main content as Markdown. Example: {"url": "https://example.org", "prompt": "its purpose"}
#[derive(Debug, Deserialize, JsonSchema)]
struct WebFetch {
    /// The address.
    url: String,
    /// What to look for in it; the answer is the page, the reading is yours.
    #[serde(default)]
    prompt: Option<String>,
}

async fn web_fetch(calls: Calls, arguments: WebFetch) -> Result<Reply, Error> {
    calls.ask("browser_navigate", json!({"url": arguments.url, "context": CONTEXT})).await?;
    let input = json!({"context": CONTEXT, "max_chars": PAGE});
    let page = calls.ask("browser_get_markdown", input).await?;
    let title = text(&page, "title");
    let head = if title.is_empty() { String::new() } else { format!("# {title}\n") };
    let mut said = format!("{head}{}\n\n{}", text(&page, "url"), text(&page, "markdown"));
    if let Some(prompt) = arguments.prompt.filter(|prompt| !prompt.trim().is_empty()) {
        said = format!("{said}\n\n---\nAsked for: {prompt}");
    }
    Ok(Reply::text(said))
}

/// Search the web and list results. Example: {"query": "rust regex crate", "num": 5}
#[derive(Debug, Deserialize, JsonSchema)]
struct WebSearch {
    /// What to search for.
    query: String,
    /// Only results from these domains: a list, or text with commas.
    #[serde(default)]
    allowed_domains: Option<Value>,
    /// No results from these domains: a list, or text with commas.
    #[serde(default)]
    blocked_domains: Option<Value>,
    /// Results to return; 10 when omitted.
    #[serde(default)]
    num: Option<u64>,
    /// Language of results: `lang_de`.
    #[serde(default)]
    lr: Option<String>,
}

async fn web_search(
    provider: Option<Arc<str>>,
    calls: Calls,
    arguments: WebSearch,
) -> Result<Reply, Error> {
    if arguments.query.trim().chars().count() < 2 {
        return Err(Error::field("query", "minLength", "must have at least 2 characters"));
    }
    let provider = provider.ok_or_else(no_provider)?;
    let allowed = domains(arguments.allowed_domains.as_ref());
    let blocked = domains(arguments.blocked_domains.as_ref());
    let language = arguments.lr.as_deref().unwrap_or_default().trim_start_matches("lang_");
    let url = address(&provider, &arguments.query, &allowed, language);
    calls.ask("browser_navigate", json!({"url": url, "context": CONTEXT})).await?;
    let input = json!({"expression": ANSWER, "context": CONTEXT});
    let answer = calls.ask("browser_evaluate", input).await?;
    let found = results(answer.as_str().unwrap_or_default())?;
    let wanted = |result: &Value| {
        let host = host(text(result, "url"));
        let within = |name: &String| host == *name || host.ends_with(&format!(".{name}"));
        (allowed.is_empty() || allowed.iter().any(within)) && !blocked.iter().any(within)
    };
    let most = usize::try_from(arguments.num.unwrap_or(10).clamp(1, 50)).unwrap_or(10);
    let found: Vec<Value> = found.into_iter().filter(wanted).take(most).collect();
    if found.is_empty() {
        let message = "nothing was found; use other words or fewer domains";
        return Err(Error::new(Kind::NotFound, "web.no_results", message));
    }
    let of = |result, name| text(result, name).trim();
    let list: Vec<_> = found
        .iter()
        .map(|it| format!("- {}\n  {}\n  {}", of(it, "title"), of(it, "url"), of(it, "snippet")))
        .collect();
    Ok(Reply::text(list.join("\n")).with(Value::Array(found)))
}

fn no_provider() -> Error {
    let message = "this sandbox has no search provider";
    Error::new(Kind::Unsupported, "web.no_provider", message).with_hint(
        "Open a page you know with WebFetch. Whoever runs the sandbox can name a provider in \
         ATOLL_MCP_SEARCH_URL, such as https://searx.example.org/search?format=json&q={query}, or an MCP server that \
         searches in EXTRA_MCP_SERVERS.",
    )
}

/// Where a provider answers a search.
fn address(provider: &str, query: &str, allowed: &[String], language: &str) -> String {
    let mut query = query.trim().to_owned();
    if !allowed.is_empty() {
        let sites: Vec<_> = allowed.iter().map(|name| format!("site:{name}")).collect();
        query = format!("{query} ({})", sites.join(" OR "));
    }
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    provider.replace(QUERY, &encoded(&query)).replace(LANGUAGE, &encoded(language))
}

/// The results of a provider's answer, each with title, url and snippet.
fn results(answer: &str) -> Result<Vec<Value>, Error> {
    let parsed: Option<Value> = serde_json::from_str(answer).ok();
    let list = parsed.as_ref().and_then(|answer| answer.get("results")?.as_array());
    let Some(list) = list else {
        let start: String = answer.chars().take(200).collect();
        let message = format!("the search provider did not answer with JSON results: {start:?}");
        return Err(Error::new(Kind::Unavailable, "web.provider", message));
    };
    let result = |found: &Value| {
        let snippet = ["content", "snippet"].iter().find_map(|name| found.get(name)?.as_str());
        json!({
            "title": text(found, "title"),
            "url": text(found, "url"),
            "snippet": snippet.unwrap_or_default(),
        })
    };
    Ok(list.iter().map(result).filter(|result| !text(result, "url").is_empty()).collect())
}

/// Domains given as a list or as text with commas.
fn domains(given: Option<&Value>) -> Vec<String> {
    let names: Vec<&str> = match given {
        Some(Value::String(text)) => text.split(',').collect(),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let names = names.into_iter().map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| !name.is_empty()).collect()
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
    fn domains_come_as_a_list_or_as_text() {
        assert_eq!(domains(Some(&json!("a.org, B.org,"))), ["a.org", "b.org"]);
        assert_eq!(domains(Some(&json!(["a.org"]))), ["a.org"]);
        assert!(domains(None).is_empty());
    }

    #[test]
    fn the_host_of_an_address_is_told_from_what_looks_like_one() {
        assert_eq!(host("https://a.org/x?b.org"), "a.org");
        assert_eq!(host("https://b.org@A.org:80"), "a.org");
        assert_eq!(host("a.org#x"), "a.org");
    }

    #[test]
    fn words_cannot_change_a_providers_address() {
        let provider = "http://x/search?q={query}&l={language}";
        assert_eq!(
            address(provider, "a&b {language}", &[], "de"),
            "http://x/search?q=a%26b%20%7Blanguage%7D&l=de"
        );
        let sites = ["a.org".to_owned(), "b.org".to_owned()];
        let asked = address("http://x/{query}", "c", &sites, "");
        assert_eq!(asked, "http://x/c%20%28site%3Aa%2Eorg%20OR%20site%3Ab%2Eorg%29");
    }

    #[test]
    fn an_answer_that_is_none_is_an_error_with_its_beginning() {
        let found = results(r#"{"results": [{"title": "t", "url": "u", "content": "c"}, {}]}"#);
        assert_eq!(found.unwrap(), [json!({"title": "t", "url": "u", "snippet": "c"})]);
        for answer in ["", "<html>", "[]", r#"{"results": 1}"#] {
            assert_eq!(results(answer).unwrap_err().code(), "web.provider", "{answer}");
        }
    }
}
