"""The programs of the sandbox in their panes: the browser's pixels, JupyterLab. VS Code has tests of its own."""

from __future__ import annotations

from typing import Callable

import httpx
from playwright.sync_api import Page, expect
from screens import PATIENCE, pane
from server import Server
from waiting import eventually

# Starting a desktop or JupyterLab on a busy machine takes its time.
START = 3 * PATIENCE


def opened(page: Page, name: str, title: str) -> None:
    """Brings up a pane, alone, and opens its program unless it runs already."""
    panel = pane(page, name)
    panel.get_by_role("button", name="Maximise").click()
    start = panel.get_by_role("button", name=f"Open {title}")
    frame = panel.locator("iframe")
    expect(start.or_(frame).first).to_be_visible(timeout=PATIENCE)
    if start.is_visible():
        start.click()
    expect(frame).to_be_visible(timeout=PATIENCE)


def test_nothing_is_started_before_somebody_asks(
    start_server: Callable[..., Server], visit: Callable[..., Page]
) -> None:
    server = start_server()
    page = visit(f"{server.url}/")
    for name, title in (("browser", "Browser"), ("jupyter", "JupyterLab")):
        expect(pane(page, name).get_by_role("button", name=f"Open {title}")).to_be_visible(timeout=PATIENCE)
        assert pane(page, name).locator("iframe").count() == 0


def test_the_browser_is_seen_and_its_colours_are_right(
    visit: Callable[..., Page], server: Server, http: httpx.Client
) -> None:
    page = visit(f"{server.url}/")
    opened(page, "browser", "Browser")
    frame = page.frame_locator('iframe[title="Browser"]')
    expect(frame.locator("body")).to_have_attribute("data-state", "connected", timeout=START)
    green = "data:text/html,<body style='background:rgb(10,200,30)'>"
    http.post("/v1/browser/page/navigate", json={"url": green}).raise_for_status()
    canvas = frame.locator("canvas")

    def middle() -> bool:
        found = canvas.evaluate(
            "canvas => [...canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height * 3 / 4, 1, 1).data]"
        )
        return found[:3] == [10, 200, 30]

    eventually(lambda: middle() or None, "the page's colour in the pane", START / 1000)


def test_the_page_alone_is_another_view_of_it(
    visit: Callable[..., Page], server: Server, http: httpx.Client
) -> None:
    page = visit(f"{server.url}/")
    opened(page, "browser", "Browser")
    page.get_by_role("button", name="Page only").click()
    green = "data:text/html,<title>Seen here</title><body style='background:rgb(10,200,30)'>"
    http.post("/v1/browser/page/navigate", json={"url": green}).raise_for_status()
    frame = page.frame_locator('iframe[title="Browser"]')
    expect(frame.locator("#tabs")).to_contain_text("Seen here", timeout=START)


def test_code_runs_in_jupyterlab(visit: Callable[..., Page], server: Server, complaints: list) -> None:
    page = visit(f"{server.url}/")
    opened(page, "jupyter", "JupyterLab")
    frame = page.frame_locator('iframe[title="JupyterLab"]')
    console = frame.locator('.jp-LauncherCard[data-category="Console"]').first
    expect(console).to_be_visible(timeout=START)
    console.click()
    # The kernel says who it is once it takes code.
    expect(frame.locator(".jp-CodeConsole-content .jp-CodeConsole-banner")).to_contain_text("Python", timeout=START)
    prompt = frame.locator(".jp-CodeConsole-input .cm-content")
    prompt.click()
    expect(prompt).to_be_focused(timeout=PATIENCE)
    page.keyboard.type("print(6 * 7, 'in the pane')")
    expect(prompt).to_contain_text("in the pane", timeout=PATIENCE)
    page.keyboard.press("Shift+Enter")
    expect(frame.locator(".jp-OutputArea-output").last).to_contain_text("42 in the pane", timeout=START)
    # JupyterLab has complaints of its own, about extensions it looks for elsewhere.
    complaints.clear()
