"""Services and ports: their state as it changes, starting and stopping, and the way to what listens."""

from __future__ import annotations

import socket
from typing import Callable

import httpx
from playwright.sync_api import Page, expect
from screens import PATIENCE, pane
from server import Server

# Starting JupyterLab on a busy machine takes its time.
START = 3 * PATIENCE


def test_a_part_is_started_and_stopped_and_its_state_shows_everywhere(
    start_server: Callable[..., Server], visit: Callable[..., Page]
) -> None:
    page = visit(f"{start_server().url}/")
    line = pane(page, "services").locator('[data-service="jupyter"]')
    expect(line).to_have_attribute("data-state", "off", timeout=PATIENCE)
    line.get_by_role("button", name="Start JupyterLab").click()
    expect(line).to_have_attribute("data-state", "running", timeout=START)
    rail = page.get_by_role("navigation", name="Panes")
    expect(rail.get_by_title("Jupyter: Running")).to_be_visible(timeout=PATIENCE)
    line.get_by_role("button", name="Stop JupyterLab").click()
    expect(line).to_have_attribute("data-state", "off", timeout=START)
    expect(rail.get_by_title("Jupyter: Running")).to_have_count(0, timeout=PATIENCE)


def test_a_port_appears_when_something_listens_and_leads_to_it(
    dashboard: Page, http: httpx.Client, server: Server
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    panel = pane(dashboard, "ports")
    (server.workspace / "served.txt").write_text("served here\n")
    command = f"python3 -m http.server {port} --bind 127.0.0.1"
    started = http.post("/v1/bash/exec", json={"command": command, "async_mode": True}).json()["data"]
    try:
        line = panel.locator("li", has=dashboard.get_by_text(str(port), exact=True))
        expect(line).to_be_visible(timeout=PATIENCE)
        with dashboard.context.expect_page() as opened:
            line.get_by_role("link", name="Open").click()
        expect(opened.value.get_by_role("link", name="served.txt")).to_be_visible(timeout=PATIENCE)
    finally:
        http.post("/v1/bash/kill", json={"session_id": started["session_id"]})
    expect(line).to_have_count(0, timeout=PATIENCE)
