"""What older examples and agents send in place of the documented fields, and where mistakes are said to be."""

from __future__ import annotations

from typing import Any, Dict, List

import httpx
import pytest
from agents import Agent, agent, make_agent  # noqa: F401
from server import Server
from sites import site  # noqa: F401


@pytest.fixture
def post(agent: Agent) -> Any:
    """Posts to the browser of an agent and returns what came of it."""
    agent.open("form.html")

    def send(path: str, **body: Any) -> Any:
        url = f"{agent.server.url}/v1/browser/{path}"
        answer = httpx.post(url, json=body, headers={"X-Browser-Context": agent.context}, timeout=120)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    return send


def test_fields_go_by_the_names_that_published_examples_use(agent: Agent, post: Any) -> None:
    assert post("page/evaluate", script="() => document.title") == "Form"
    post("page/fill", selector="#name", value="Zoë")
    assert agent.value("document.querySelector('#name').value") == "Zoë"
    assert [each["text"] for each in post("page/find_text", text="Send order")] != []
    assert post("network/route", pattern="**/made-up", response={"body": "ours"})["url_pattern"] == "**/made-up"
    assert agent.fetch("/made-up") == "ours"
    assert post("page/wait", type="function", script="true")["value"] is True


def test_a_field_sent_by_its_own_name_counts(agent: Agent, post: Any) -> None:
    assert post("page/evaluate", script="1", expression="2") == 2
    # Where a field of that name exists, it is meant.
    post("page/select_option", selector="#size", value="m")
    assert agent.value("document.querySelector('#size').value") == "m"


@pytest.mark.parametrize(
    "method, path, body, field",
    [
        ("POST", "page/evaluate", {}, "body.expression"),
        ("POST", "page/fill", {"selector": "#name"}, "body.text"),
        ("DELETE", "network/route", {}, "body.url_pattern"),
        ("GET", "page/screenshot?quality=many", None, "query.quality"),
        ("PUT", "tabs/first/activate", None, "path.index"),
    ],
)
def test_a_mistake_is_said_to_be_where_the_field_belongs(
    server: Server, method: str, path: str, body: Dict[str, Any], field: str
) -> None:
    answer = httpx.request(method, f"{server.url}/v1/browser/{path}", json=body, timeout=120)
    assert answer.status_code == 422, answer.text
    errors: List[Dict[str, Any]] = answer.json()["errors"]
    assert [error["location"] for error in errors] == [field]
    assert [".".join(map(str, error["loc"])) for error in answer.json()["detail"]] == [field]


@pytest.mark.parametrize("url", ["http://exa mple/", "http://host:99999/", "https://<host>/", "http:///"])
def test_an_address_that_is_none_is_refused_by_name(agent: Agent, url: str) -> None:
    asked = httpx.post(f"{agent.server.url}/v1/browser/page/navigate", json={"url": url, "context": agent.context})
    tab = httpx.post(f"{agent.server.url}/v1/browser/tabs", json={"url": url, "context": agent.context})
    for answer in (asked, tab):
        assert (answer.status_code, answer.json()["error_code"]) == (422, "browser.invalid_url"), answer.text
        assert repr(url)[1:-1] in answer.json()["message"]
