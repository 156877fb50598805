"""VS Code in a real browser: the files and the user are the sandbox's own."""

from __future__ import annotations

import os
import pwd
import signal
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from prefix import PrefixProxy
from server import Server
from waiting import eventually

# VS Code takes its time on a busy machine.
START = 180_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose workspace is nobody else's."""
    started = Server(tmp_path_factory.mktemp("code"))
    yield started
    assert started.stop() == 0, started.log()


@pytest.fixture
def http(server: Server) -> Iterator[httpx.Client]:
    with server.http as plain:
        yield plain


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page whose console is its own affair: VS Code complains there about what it can do without."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(START)
    yield context.new_page()
    context.close()


def opened(page: Page, url: str) -> Page:
    """Opens it, and waits until the workbench is there."""
    page.goto(url)
    expect(page.locator(".monaco-workbench")).to_be_visible(timeout=START)
    expect(page.locator(".explorer-folders-view")).to_be_visible(timeout=START)
    return page


def command(page: Page, text: str) -> None:
    """Runs a command of the palette."""
    page.keyboard.press("F1")
    box = page.locator(".quick-input-widget input")
    expect(box).to_be_visible(timeout=START)
    box.fill(f">{text}")
    page.locator(".quick-input-list .monaco-list-row").first.wait_for(timeout=START)
    page.keyboard.press("Enter")


def test_a_file_is_edited_and_a_terminal_is_the_sandboxs_own(page: Page, server: Server) -> None:
    target = server.workspace / "hello.txt"
    target.write_text("before\n")
    asked: List[str] = []
    page.on("request", lambda request: asked.append(request.url))
    opened(page, f"{server.url}/code-server/")
    assert f"folder={server.workspace}" in page.url
    row = page.locator(".explorer-folders-view .monaco-list-row", has_text="hello.txt")
    row.dblclick(timeout=START)
    editor = page.locator(".editor-instance .view-lines")
    expect(editor).to_contain_text("before", timeout=START)
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("after ")
    page.keyboard.press("Control+s")
    eventually(lambda: target.read_text() == "after before\n", "the file is saved", START / 1000)

    command(page, "Terminal: Create New Terminal")
    expect(page.locator(".terminal .xterm-screen").first).to_be_visible(timeout=START)
    proof = server.workspace / "proof"
    page.locator(".terminal .xterm-screen").first.click()

    def typed() -> bool:
        # A shell that is not up yet may lose what is typed; what runs twice changes nothing that is looked at.
        page.keyboard.type(f"(id -un; pwd) >> {proof}\n")
        page.wait_for_timeout(1000)
        return proof.exists() and proof.read_text().count("\n") >= 2

    eventually(typed, "the terminal ran a command", START / 1000)
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert proof.read_text().splitlines()[:2] == [user, str(server.workspace)]
    own = urlsplit(server.url).netloc
    away = [url for url in asked if url.startswith(("http", "ws")) and urlsplit(url).netloc != own]
    # Its list of extensions is looked at for one of them; nothing else is asked of the internet.
    assert {urlsplit(url).netloc for url in away} <= {"open-vsx.org"}, away


def test_it_works_below_a_prefix(page: Page, server: Server) -> None:
    (server.workspace / "prefixed.txt").write_text("below a prefix\n")
    with PrefixProxy(server.url) as proxy:
        opened(page, f"{proxy.url}/code-server")
        page.locator(".explorer-folders-view .monaco-list-row", has_text="prefixed.txt").dblclick(timeout=START)
        expect(page.locator(".editor-instance .view-lines")).to_contain_text("below", timeout=START)
        page.close()


def test_settings_that_a_person_changed_survive(server: Server, http: httpx.Client) -> None:
    settings = server.home / ".local/share/code-server/User/settings.json"
    assert http.get("/code-server/", follow_redirects=True).status_code == 200
    eventually(settings.exists, "the settings are there")
    settings.write_text('{"editor.fontSize": 20}')
    http.post("/v1/services/code-server/restart").raise_for_status()
    assert http.get("/code-server/", follow_redirects=True).status_code == 200
    assert settings.read_text() == '{"editor.fontSize": 20}'


def standing(http: httpx.Client) -> Dict[str, Any]:
    services = http.get("/v1/services").json()["data"]["services"]
    return next(each for each in services if each["name"] == "code-server")


def test_it_is_told_when_it_dies_and_the_next_visit_starts_it_again(http: httpx.Client) -> None:
    assert http.get("/code-server/", follow_redirects=True).status_code == 200
    before = standing(http)
    assert before["state"] == "running" and before["pid"]
    os.kill(before["pid"], signal.SIGKILL)
    eventually(lambda: standing(http)["state"] == "failed", "its end is told")
    assert "VS Code" in standing(http)["detail"]
    assert http.get("/code-server/", follow_redirects=True).status_code == 200
    after = standing(http)
    assert after["state"] == "running" and after["pid"] != before["pid"]
    http.post("/v1/services/code-server/stop").raise_for_status()
    assert standing(http)["state"] == "off"


def test_it_can_be_switched_off_and_is_missed_politely(start_server: Callable[..., Server]) -> None:
    off = start_server(environment={"DISABLE_CODE_SERVER": "true"})
    refused = off.http.get("/code-server/")
    assert refused.status_code == 503 and refused.json()["error_code"] == "code_server.disabled"
    missing = start_server(environment={"ATOLL_CODE_SERVER": "/nowhere/code-server"})
    refused = missing.http.get("/code-server/")
    assert refused.status_code == 503 and refused.json()["error_code"] == "code_server.missing"
    assert "ATOLL_CODE_SERVER" in refused.json()["message"]


def test_its_own_way_to_other_ports_is_closed(server: Server, http: httpx.Client) -> None:
    own = urlsplit(server.url).port
    for path in (f"/code-server/proxy/{own}/v1/sandbox", f"/code-server/absproxy/{own}/v1/sandbox"):
        assert http.get(path, follow_redirects=True).status_code in (403, 404)
