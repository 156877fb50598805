"""`browser_cookies`: reading, setting and deleting cookies."""

from __future__ import annotations

import json
from typing import Callable

import pytest
from agents import Agent, agent, make_agent, refused  # noqa: F401
from sites import site  # noqa: F401


def test_a_cookie_a_server_sets_is_read_with_all_its_fields(agent: Agent) -> None:
    agent.open("cookie/session?value=42")
    (cookie,) = agent.cookies()
    assert cookie == {
        "name": "session",
        "value": "42",
        "domain": "127.0.0.1",
        "path": "/",
        "expires": -1,
        "httpOnly": False,
        "secure": False,
        "sameSite": "Lax",
    }


def test_a_cookie_that_is_set_goes_to_the_server_and_the_page(agent: Agent) -> None:
    done = agent.client.browser_cookies.set_cookies(
        cookies=[
            {"name": "a", "value": "1", "url": agent.site.url},
            {"name": "b", "value": "2", "domain": "127.0.0.1", "path": "/", "httpOnly": True, "sameSite": "Strict"},
            {"name": "c", "value": "3", "domain": "127.0.0.1", "path": "/only"},
        ],
        request_options=agent.options,
    )
    assert done.success and done.data == {"count": 3}
    agent.open("mirror/")
    seen = json.loads(agent.value("document.body.innerText"))
    sent = set(seen["headers"]["Cookie"].split("; "))
    assert sent == {"a=1", "b=2"}
    assert agent.value("document.cookie") == "a=1", "what is kept from scripts is kept from them"


def test_cookies_are_filtered_by_the_addresses_they_are_sent_to(agent: Agent) -> None:
    agent.client.browser_cookies.set_cookies(
        cookies=[
            {"name": "here", "value": "1", "url": agent.site.url},
            {"name": "below", "value": "1", "domain": "127.0.0.1", "path": "/below"},
            {"name": "parent", "value": "1", "domain": ".example.com", "path": "/"},
            {"name": "safe", "value": "1", "domain": "example.com", "path": "/", "secure": True},
        ],
        request_options=agent.options,
    )

    def names(urls: str) -> set:
        return {cookie["name"] for cookie in agent.cookies(urls=urls)}

    assert names(agent.site.url) == {"here"}
    assert names(f"{agent.site.url}/below/it") == {"here", "below"}
    assert names("http://www.example.com/") == {"parent"}
    assert names("https://example.com/") == {"parent", "safe"}
    assert names(f"http://www.example.com/, {agent.site.url}") == {"parent", "here"}
    assert len(agent.cookies()) == 4
    call = agent.client.browser_cookies.get_cookies
    refused("browser.invalid_url", 422, call, urls="nonsense", request_options=agent.options)


def test_all_cookies_are_deleted(agent: Agent) -> None:
    agent.open("cookie/a")
    agent.open("cookie/b")
    assert agent.client.browser_cookies.clear_cookies(request_options=agent.options).data == {"count": 2}
    assert agent.cookies() == []


@pytest.mark.parametrize(
    "wrong, because",
    [
        ({"name": "x", "value": "1"}, "url"),
        ({"name": "x", "value": "1", "url": "about:blank"}, "http"),
        ({"name": "x;y", "value": "1", "domain": "h"}, ";"),
        ({"name": "x", "value": "a\nb", "domain": "h"}, "control"),
        ({"name": "x", "value": "1", "domain": "h", "path": "nowhere"}, "/"),
    ],
)
def test_a_cookie_that_cannot_be_is_refused_and_none_is_set(agent: Agent, wrong: dict, because: str) -> None:
    good = {"name": "good", "value": "1", "url": agent.site.url}
    call = agent.client.browser_cookies.set_cookies
    message = refused("browser.invalid_cookie", 422, call, cookies=[good, wrong], request_options=agent.options)
    assert "cookie 1" in message and because in message
    assert agent.cookies() == []


def test_contexts_do_not_share_cookies(make_agent: Callable[[], Agent]) -> None:  # noqa: F811
    one, two = make_agent(), make_agent()
    one.open("cookie/mine?value=one")
    two.open("cookie/mine?value=two")
    assert [cookie["value"] for cookie in one.cookies()] == ["one"]
    assert [cookie["value"] for cookie in two.cookies()] == ["two"]
    one.client.browser_cookies.clear_cookies(request_options=one.options)
    assert len(two.cookies()) == 1
