"""`browser_state`: a login saved to a file and taken up again, by this server or by Playwright."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest
from agents import Agent, agent, make_agent, refused  # noqa: F401
from playwright.sync_api import sync_playwright
from sites import site  # noqa: F401


def log_in(agent: Agent) -> None:  # noqa: F811
    """Leaves a cookie and local storage on one origin, and local storage on another that is open no more."""
    agent.visit(f"{agent.site.other}/form.html")
    agent.value("localStorage.setItem('elsewhere', 'ünïcode')")
    agent.open("cookie/session?value=42")
    agent.value("localStorage.setItem('token', 'abc')")


def test_state_is_saved_in_the_form_of_playwright(agent: Agent) -> None:
    log_in(agent)
    saved = agent.client.browser_state.save(path="state/one.json", request_options=agent.options)
    path = agent.server.workspace / "state" / "one.json"
    assert saved.success and saved.data == {"path": str(path), "cookies": 1, "origins": 2}
    state = json.loads(path.read_text())
    assert state["cookies"][0]["name"] == "session" and state["cookies"][0]["expires"] == -1
    stored = {origin["origin"]: origin["localStorage"] for origin in state["origins"]}
    assert stored == {
        agent.site.url: [{"name": "token", "value": "abc"}],
        agent.site.other: [{"name": "elsewhere", "value": "ünïcode"}],
    }
    assert [tab["url"] for tab in agent.tabs()] == [agent.site.page("cookie/session?value=42")], "no tab is left behind"


def test_what_was_saved_is_there_again_in_another_context(make_agent: Callable[[], Agent], folder: Path) -> None:  # noqa: F811
    one, two = make_agent(), make_agent()
    log_in(one)
    path = str(folder / "state.json")
    one.client.browser_state.save(path=path, request_options=one.options)
    before = len(two.site.requests)
    loaded = two.client.browser_state.load(path=path, request_options=two.options)
    assert loaded.data["cookies"] == 1 and loaded.data["origins"] == 2
    assert len(two.site.requests) == before, "loading asks no server for anything"
    two.open("mirror/")
    assert "session=42" in two.value("document.body.innerText")
    assert two.value("localStorage.token") == "abc"
    two.visit(f"{two.site.other}/form.html")
    assert two.value("localStorage.elsewhere") == "ünïcode"


def test_a_page_that_is_open_sees_what_is_loaded(agent: Agent, folder: Path) -> None:
    agent.open("form.html")
    origin = {"origin": agent.site.url, "localStorage": [{"name": "k", "value": "v"}]}
    path = folder / "state.json"
    path.write_text(json.dumps({"cookies": [], "origins": [origin]}))
    agent.client.browser_state.load(path=str(path), request_options=agent.options)
    assert agent.value("localStorage.k") == "v"
    assert agent.value("location.pathname") == "/form.html"


def test_playwright_loads_what_was_saved_and_the_other_way_round(agent: Agent, folder: Path) -> None:
    log_in(agent)
    ours, theirs = folder / "ours.json", folder / "theirs.json"
    agent.client.browser_state.save(path=str(ours), request_options=agent.options)
    cdp_url = agent.client.browser.get_info().data.cdp_url
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(cdp_url)
        context = browser.new_context(storage_state=str(ours))
        page = context.new_page()
        page.goto(agent.site.page("mirror/"))
        assert "session=42" in page.inner_text("body")
        assert page.evaluate("localStorage.token") == "abc"
        page.evaluate("localStorage.setItem('token', 'from playwright')")
        context.storage_state(path=str(theirs))
        context.close()
        browser.close()
    agent.client.browser_state.load(path=str(theirs), request_options=agent.options)
    agent.open("form.html")
    assert agent.value("localStorage.token") == "from playwright"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cookies": 1}', '{"cookies": [{"value": 1}]}', "nonsense"])
def test_a_file_that_holds_no_state_is_refused(agent: Agent, folder: Path, content: str) -> None:
    path = folder / "wrong.json"
    path.write_text(content)
    call = agent.client.browser_state.load
    message = refused("browser.invalid_state", 422, call, path=str(path), request_options=agent.options)
    assert "cookies" in message


def test_a_state_with_one_wrong_cookie_changes_nothing(agent: Agent, folder: Path) -> None:
    path = folder / "wrong.json"
    cookies = [{"name": "a", "value": "1", "url": agent.site.url}, {"name": "b", "value": "2"}]
    path.write_text(json.dumps({"cookies": cookies, "origins": []}))
    call = agent.client.browser_state.load
    refused("browser.invalid_cookie", 422, call, path=str(path), request_options=agent.options)
    assert agent.cookies() == []


def test_a_file_that_cannot_be_read_or_written_is_told_as_files_are(agent: Agent, folder: Path) -> None:
    state = agent.client.browser_state
    missing = str(folder / "missing.json")
    refused("file.not_found", 404, state.load, path=missing, request_options=agent.options)
    refused("file.invalid_target", 400, state.save, path=str(folder), request_options=agent.options)
