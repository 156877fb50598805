"""deep-agent's tools for the web, on pages of loopback only."""

from __future__ import annotations

import json
from typing import Callable
from urllib.parse import quote

from clients import call, names, text
from server import Server
from sites import Site, site  # noqa: F401


def test_a_page_is_fetched_as_text_beside_the_one_that_is_open(server: Server, site: Site) -> None:
    url = f"{server.url}/mcp?profile=deep-agent"
    assert {"WebFetch", "WebSearch"} <= set(names(url))
    assert not call(url, "browser_navigate", {"url": site.page("form.html")}).is_error
    fetched = call(url, "WebFetch", {"url": site.page("article.html"), "prompt": "what it is about"})
    assert not fetched.is_error, text(fetched)
    assert site.page("article.html") in text(fetched) and text(fetched).endswith("Asked for: what it is about")
    assert "<p>" not in text(fetched) and "#" in text(fetched)
    assert "form.html" in text(call(url, "browser_get_url"))
    nowhere = call(url, "WebFetch", {"url": "http://127.0.0.1:9/"})
    assert nowhere.is_error and "127.0.0.1:9" in text(nowhere)


def test_a_search_without_a_provider_says_how_to_name_one(server: Server) -> None:
    result = call(f"{server.url}/mcp", "WebSearch", {"query": "anything"})
    assert result.is_error
    assert "ATOLL_SEARCH_PROVIDER" in text(result) and "WebFetch" in text(result)
    assert result.meta["atoll/code"] == "web.search_not_configured"


def test_a_search_asks_the_provider_and_keeps_to_the_domains(start_server: Callable[..., Server], site: Site) -> None:
    results = [
        {"title": "About {query}", "url": "https://docs.example.org/sea", "content": "All of it"},
        {"title": "Another", "url": "https://example.test/sea", "content": "Less of it"},
    ]
    # The site answers with what its address says, so the provider's address holds the answer.
    answer = quote(json.dumps({"results": results})).replace(quote("{query}"), "{query}")
    server = start_server(environment={"ATOLL_MCP_SEARCH_URL": site.page(f"page?html={answer}")})
    url = f"{server.url}/mcp"
    found = call(url, "WebSearch", {"query": "deep sea"})
    assert not found.is_error, text(found)
    assert text(found).splitlines()[:3] == ["- About deep sea", "  https://docs.example.org/sea", "  All of it"]
    assert "example.test" in text(found)
    blocked = call(url, "WebSearch", {"query": "deep sea", "blocked_domains": "example.test, b.org"})
    assert "https://docs.example.org" in text(blocked) and "https://example.test" not in text(blocked)
    allowed = call(url, "WebSearch", {"query": "deep sea", "allowed_domains": ["example.test"]})
    assert "https://docs.example.org" not in text(allowed) and "Another" in text(allowed)
    asked = [request for request in site.requests if "site%3Aexample" in request]
    assert asked, site.requests
    nothing = call(url, "WebSearch", {"query": "deep sea", "allowed_domains": ["nowhere.test"]})
    assert nothing.is_error and nothing.meta["atoll/code"] == "web.no_results"


def test_a_provider_that_answers_with_something_else_is_named(start_server: Callable[..., Server], site: Site) -> None:
    server = start_server(environment={"ATOLL_MCP_SEARCH_URL": site.page("article.html?q={query}")})
    result = call(f"{server.url}/mcp", "WebSearch", {"query": "deep sea"})
    assert result.is_error and "did not answer with JSON" in text(result)
