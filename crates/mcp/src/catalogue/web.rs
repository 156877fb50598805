//! deep-agent's tools for the web: a page as Markdown, and searching with the provider that whoever runs the sandbox has
//! named. Neither touches the browser, so that the page a user or another tool looks at stays as it is.

use atoll_operation::{Error, Kind, Mcp as Mark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::agent::SERVER;
use super::text::text;
use super::tool::{Sets, Tool};
use crate::calls::{Calls, Operations};
use crate::reply::Reply;

/// Characters of a page.
const PAGE: u64 = 50_000;

pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let has = |id: &str| operations.get(id).is_some();
    let mut tools = Vec::new();
    if has("web_fetch") {
        tools.push(Tool::new(("WebFetch", SERVER), Sets::AGENT, Mark::ReadOnly, web_fetch));
    }
    if has("web_search") {
        tools.push(Tool::new(("WebSearch", SERVER), Sets::AGENT, Mark::ReadOnly, web_search));
    }
    tools
}

/// Fetch a web page and return its main content as Markdown. Example: {"url": "https://example.org", "prompt": "its purpose"}
#[derive(Debug, Deserialize, JsonSchema)]
struct WebFetch {
    /// The address.
    url: String,
    /// What to look for in it; the answer is the page, the reading is yours.
    #[serde(default)]
    prompt: Option<String>,
}

async fn web_fetch(calls: Calls, arguments: WebFetch) -> Result<Reply, Error> {
    let input = json!({"url": arguments.url, "max_chars": PAGE});
    let page = calls.ask("web_fetch", input).await?;
    let url = text(&page, "url");
    let elsewhere = text(&page, "redirect_url");
    if !elsewhere.is_empty() {
        let said = format!(
            "{url} is redirected to another host: {elsewhere}\nFetch that address if you trust it."
        );
        return Ok(Reply::text(said));
    }
    let content = text(&page, "content");
    let title = text(&page, "title");
    let known = title.is_empty() || content.starts_with(&format!("# {title}"));
    let head = if known { String::new() } else { format!("# {title}\n") };
    let mut said = format!("{head}{url}\n\n{content}");
    let status = page.get("status").and_then(Value::as_u64).unwrap_or_default();
    if status >= 400 {
        said = format!("The address answered with status {status}.\n{said}");
    }
    if page.get("truncated") == Some(&Value::Bool(true)) {
        said = format!("{said}\n\n[There is more; convert_to_markdown returns all of it.]");
    }
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
    /// Results to return, 20 at most; 8 when omitted.
    #[serde(default)]
    num: Option<u64>,
    /// Language of results: `lang_de`.
    #[serde(default)]
    lr: Option<String>,
}

async fn web_search(calls: Calls, arguments: WebSearch) -> Result<Reply, Error> {
    let input = json!({
        "query": arguments.query,
        "allowed_domains": domains(arguments.allowed_domains.as_ref()),
        "blocked_domains": domains(arguments.blocked_domains.as_ref()),
        "num": arguments.num.map(|num| num.clamp(1, 20)),
        "lr": arguments.lr,
    });
    let answer = calls.ask("web_search", input).await?;
    let found = answer.get("results").and_then(Value::as_array).cloned().unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_come_as_a_list_or_as_text() {
        assert_eq!(domains(Some(&json!("a.org, B.org,"))), ["a.org", "b.org"]);
        assert_eq!(domains(Some(&json!(["a.org"]))), ["a.org"]);
        assert!(domains(None).is_empty());
    }
}
