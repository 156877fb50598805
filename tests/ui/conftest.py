"""Fixtures for the tests of what people see: a real Chromium, and pages in it that must not complain."""

from __future__ import annotations

import os
import shutil
from typing import Any, Callable, Iterator, List

import httpx
import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from server import Server

# Generous: eight of these may share two cores.
PATIENCE = 60_000


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser in front of the screen, which is not the sandbox's own."""
    program = shutil.which("chromium")
    assert program, "chromium is missing: run scripts/setup.sh test"
    # Its own sandbox needs privileges that root in a container does not have.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[httpx.Client]:
    """A plain HTTP client."""
    with server.http as plain:
        yield plain


@pytest.fixture
def complaints() -> List[str]:
    """What pages complained about. A test that provokes complaints clears it."""
    return []


@pytest.fixture
def visit(chromium: Browser, complaints: List[str]) -> Iterator[Callable[..., Page]]:
    """Opens a page in a browser profile of its own; the test fails when a page complains on its console."""
    contexts: List[Any] = []

    def watch(page: Page) -> None:
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "console",
            lambda said: said.type == "error" and complaints.append(f"console: {said.text} {said.location}"),
        )

    def open_page(url: str, **options: Any) -> Page:
        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = chromium.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.on("page", watch)
        page = context.new_page()
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def dashboard(visit: Callable[..., Page], server: Server) -> Page:
    """The dashboard of the shared server."""
    return visit(f"{server.url}/")
