"""Fetching pages and searching the web, against sites and providers on loopback."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from server import Server
from webs import Web

PAGE = b"<html><head><title>The Reef</title></head><body><h1>The Reef</h1><p>Words and <b>more</b>.</p></body></html>"
HTML = {"Content-Type": "text/html; charset=utf-8"}


@pytest.fixture
def web() -> Iterator[Web]:
    """Sites on this machine."""
    made = Web()
    yield made
    made.close()


def ask(http: httpx.Client, operation: str, **fields: Any) -> Dict[str, Any]:
    answer = http.post(f"/v1/web/{operation}", json=fields)
    assert answer.status_code == 200, answer.text
    data: Dict[str, Any] = answer.json()["data"]
    return data


def test_a_page_is_fetched_as_markdown_and_kept_for_a_while(http: httpx.Client, web: Web) -> None:
    url = web.serve("/reef", PAGE, HTML)
    page = ask(http, "fetch", url=url, prompt="what is it about?")
    assert page["title"] == "The Reef" and page["content"] == "# The Reef\n\nWords and **more**."
    assert (page["url"], page["status"], page["cached"], page["truncated"]) == (url, 200, False, False)
    assert page["content_type"] == HTML["Content-Type"] and page["redirect_url"] is None
    again = ask(http, "fetch", url=url, max_chars=5)
    assert again["cached"] and again["truncated"] and again["content"] == "# The"
    assert len(web.requests) == 1


def test_redirects_within_a_host_are_followed_and_others_are_told(http: httpx.Client, web: Web) -> None:
    web.serve("/reef", PAGE, HTML)
    there = ask(http, "fetch", url=web.redirect("/old", "/reef"))
    assert there["url"] == web.url + "/reef" and there["title"] == "The Reef"
    other = web.redirect("/away", f"http://localhost:{web.port}/reef")
    told = ask(http, "fetch", url=other)
    assert told["redirect_url"] == f"http://localhost:{web.port}/reef" and told["content"] == ""
    assert [path for path, _, _ in web.requests] == ["/old", "/reef", "/away"]


def test_the_page_of_an_error_is_content_that_is_not_kept(http: httpx.Client, web: Web) -> None:
    url = web.status("/gone", 410)
    for _ in range(2):
        page = ask(http, "fetch", url=url)
        assert page["status"] == 410 and "status 410" in page["content"] and not page["cached"]


def test_what_cannot_be_fetched_is_named(http: httpx.Client) -> None:
    for url, status, code in [
        ("ftp://example.test/", 400, "web.invalid_url"),
        ("file:///etc/passwd", 400, "web.invalid_url"),
        ("http://127.0.0.1:9/", 503, "web.unreachable"),
        ("http://169.254.169.254/", 403, "web.refused"),
    ]:
        answer = http.post("/v1/web/fetch", json={"url": url})
        assert (answer.status_code, answer.json()["error_code"]) == (status, code), answer.text


def test_the_server_itself_is_not_fetched(http: httpx.Client, server: Server) -> None:
    answer = http.post("/v1/web/fetch", json={"url": f"{server.url}/v1/limits"})
    assert (answer.status_code, answer.json()["error_code"]) == (403, "web.refused"), answer.text


def test_a_search_without_a_provider_says_how_to_name_one(http: httpx.Client) -> None:
    answer = http.post("/v1/web/search", json={"query": "anything"})
    assert (answer.status_code, answer.json()["error_code"]) == (503, "web.search_not_configured")
    assert "ATOLL_SEARCH_PROVIDER" in answer.json()["hint"]
    assert http.post("/v1/web/search", json={"query": "x"}).status_code == 422


def test_searxng_is_asked_and_domains_are_kept_to(start_server: Callable[..., Server], web: Web) -> None:
    results = [{"title": "A", "url": "https://docs.a.test/x", "content": "all  of it"}, {"title": "B", "url": "https://b.test/"}]
    web.serve("/search", json.dumps({"results": results}).encode(), {"Content-Type": "application/json"})
    server = start_server(environment={"ATOLL_SEARCH_PROVIDER": "searxng", "ATOLL_SEARCH_URL": web.url})
    with server.http as http:
        answer = ask(http, "search", query="deep sea", lr="lang_de")
        assert answer["provider"] == "searxng" and [it["title"] for it in answer["results"]] == ["A", "B"]
        assert answer["results"][0]["snippet"] == "all of it"
        asked = parse_qs(urlsplit(web.requests[-1][0]).query)
        assert asked == {"format": ["json"], "q": ["deep sea"], "language": ["de"]}
        only = ask(http, "search", query="deep sea", allowed_domains=["a.test"])
        assert [it["title"] for it in only["results"]] == ["A"]
        assert "site:a.test" in parse_qs(urlsplit(web.requests[-1][0]).query)["q"][0]
        without = ask(http, "search", query="deep sea", blocked_domains=["a.test"], num=1)
        assert [it["title"] for it in without["results"]] == ["B"]
        web.serve("/search", b"<html>no JSON</html>", HTML)
        refused = http.post("/v1/web/search", json={"query": "deep sea"})
        assert (refused.status_code, refused.json()["error_code"]) == (503, "web.provider")


def test_brave_and_exa_are_asked_with_their_key_which_nobody_sees(
    start_server: Callable[..., Server], web: Web
) -> None:
    brave = {"web": {"results": [{"title": "A", "url": "https://a.test/", "description": "of a"}]}}
    exa = {"results": [{"title": "A", "url": "https://a.test/", "text": "of a"}]}
    for provider, answer, header in [("brave", brave, "x-subscription-token"), ("exa", exa, "x-api-key")]:
        web.serve(f"/{provider}", json.dumps(answer).encode(), {"Content-Type": "application/json"})
        server = start_server(
            environment={
                "ATOLL_SEARCH_PROVIDER": provider,
                "ATOLL_SEARCH_URL": f"{web.url}/{provider}",
                "ATOLL_SEARCH_KEY": "key-that-is-secret",
            }
        )
        with server.http as http:
            results = ask(http, "search", query="deep sea", allowed_domains=["a.test"], num=3)["results"]
            assert results == [{"title": "A", "url": "https://a.test/", "snippet": "of a"}]
            path, headers, body = web.requests[-1]
            assert headers[header] == "key-that-is-secret"
            if provider == "exa":
                sent = json.loads(body)
                assert (sent["query"], sent["numResults"], sent["includeDomains"]) == ("deep sea", 3, ["a.test"])
            else:
                assert parse_qs(urlsplit(path).query)["count"] == ["3"]
            shown = http.post("/v1/bash/exec", json={"command": "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"})
            assert "key-that-is-secret" not in shown.text
            web.status(f"/{provider}", 401)
            refused = http.post("/v1/web/search", json={"query": "deep sea"})
            assert refused.json()["error_code"] == "web.provider" and "key-that-is-secret" not in refused.text
        assert "key-that-is-secret" not in server.log()
