"""CDP for others: Playwright and raw clients beside our own automation, all through the server's one port."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any, Callable

import pytest
from agents import Agent, agent, make_agent  # noqa: F401
from playwright.sync_api import sync_playwright
from server import Server
from sites import Site, site  # noqa: F401
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect


class Cdp:
    """A client that speaks the protocol itself."""

    def __init__(self, url: str, **options: Any) -> None:
        self.socket = connect(url, max_size=None, open_timeout=60, **options)
        self._numbers = itertools.count(1)

    def __call__(self, method: str, session: str = "", **params: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        self.socket.send(json.dumps({**message, "sessionId": session} if session else message))
        while True:
            answer = json.loads(self.socket.recv(timeout=120))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def __enter__(self) -> "Cdp":
        return self

    def __exit__(self, *_: Any) -> None:
        self.socket.close()


@pytest.mark.parametrize("path", ["/cdp/json/version", "/json/version"])
def test_the_version_names_our_own_address(server: Server, path: str) -> None:
    version = server.http.get(path).json()
    assert version["Browser"].startswith("Chrome/")
    assert version["webSocketDebuggerUrl"] == server.client.browser.get_info().data.cdp_url


@pytest.mark.parametrize("path", ["/cdp/json/list", "/json/list", "/json", "/cdp/json"])
def test_pages_are_listed_with_sockets_that_work(agent: Agent, path: str) -> None:
    agent.show("<title>listed</title>")
    pages = [page for page in agent.server.http.get(path).json() if page["title"] == "listed"]
    assert len(pages) == 1
    with Cdp(pages[0]["webSocketDebuggerUrl"]) as cdp:
        assert cdp("Runtime.evaluate", expression="document.title")["result"]["value"] == "listed"


def test_the_protocol_describes_itself(server: Server) -> None:
    assert len(server.http.get("/json/protocol").json()["domains"]) > 30


@pytest.mark.parametrize("form", ["socket", "base"])
def test_playwright_drives_the_browser_beside_us(agent: Agent, form: str) -> None:
    agent.show("<title>ours</title>")
    cdp_url = agent.client.browser.get_info().data.cdp_url
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(cdp_url if form == "socket" else f"{agent.server.url}/cdp")
        context = browser.new_context()
        page = context.new_page()
        page.goto(agent.site.page("form.html"))
        assert agent.value("document.title") == "ours"
        page.evaluate("document.title = 'theirs'")
        assert page.title() == "theirs" and agent.value("document.title") == "ours"
        ours = [known for each in browser.contexts for known in each.pages if known.url != page.url]
        assert any(known.title() == "ours" for known in ours), "they see our pages too"
        context.close()
        browser.close()
    assert agent.value("1 + 1") == 2, "we go on when they leave"


def test_a_tab_that_playwright_opens_is_a_tab(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server()
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(f"{server.url}/cdp")
        page = browser.contexts[0].new_page()
        page.goto(site.page("form.html"))
        assert site.page("form.html") in [tab["url"] for tab in server.client.browser_tabs.list().data]
        browser.close()


def test_several_clients_at_once_do_not_disturb_each_other(agent: Agent) -> None:
    agent.show("<title>shared</title>")
    url = agent.client.browser.get_info().data.cdp_url
    with Cdp(url) as one, Cdp(url) as two:
        for cdp in (one, two):
            targets = cdp("Target.getTargets")["targetInfos"]
            (target,) = [each["targetId"] for each in targets if each["title"] == "shared"]
            session = cdp("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for number in range(20):
                value = cdp("Runtime.evaluate", session, expression=f"{number} + 1")["result"]["value"]
                assert value == number + 1 and agent.value(f"{number} + 2") == number + 2


def test_messages_larger_than_64_mib_pass(agent: Agent) -> None:
    agent.show("<title>large</title>")
    (page,) = [page for page in agent.server.http.get("/json/list").json() if page["title"] == "large"]
    size = 70 << 20
    with Cdp(page["webSocketDebuggerUrl"]) as cdp:
        answer = cdp("Runtime.evaluate", expression=f"'x'.repeat({size})", returnByValue=True)
        assert len(answer["result"]["value"]) == size
    assert agent.value("1") == 1


def test_a_page_of_another_site_cannot_reach_it(server: Server) -> None:
    url = server.client.browser.get_info().data.cdp_url
    with pytest.raises(InvalidStatus) as refused:
        Cdp(url, origin="http://evil.test")
    assert refused.value.response.status_code == 403
    assert server.http.get("/json/version", headers={"Host": "evil.test"}).status_code in (403, 421)
    assert server.http.get("/json/version", headers={"Origin": "http://evil.test"}).status_code == 403


def test_a_page_of_our_own_can(server: Server) -> None:
    url = server.client.browser.get_info().data.cdp_url
    with Cdp(url, origin=server.url) as cdp:
        assert cdp("Browser.getVersion")["product"].startswith("Chrome/")


def test_a_screenshot_comes_whole_through_the_socket(agent: Agent) -> None:
    agent.show("<title>picture</title><h1>Hello</h1>")
    (page,) = [page for page in agent.server.http.get("/json/list").json() if page["title"] == "picture"]
    with Cdp(page["webSocketDebuggerUrl"]) as cdp:
        assert base64.b64decode(cdp("Page.captureScreenshot")["data"]).startswith(b"\x89PNG")
