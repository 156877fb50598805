"""What is on the screen: the panes of the dashboard, and the terminal."""

from __future__ import annotations

from typing import Union

from playwright.sync_api import Frame, FrameLocator, Locator, Page, expect

PATIENCE = 60_000


def pane(page: Page, name: str) -> Locator:
    """The panel of a pane, brought up if it is not there."""
    panel = page.locator(f'[data-pane="{name}"]')
    title = {"jupyter": "Jupyter"}.get(name, name.capitalize())
    page.get_by_role("navigation", name="Panes").get_by_role("button", name=title, exact=True).click()
    expect(panel).to_be_visible(timeout=PATIENCE)
    return panel


class Terminal:
    """A terminal page, by itself or in a pane."""

    def __init__(self, page: Page, where: Union[Page, Frame, FrameLocator]) -> None:
        self.page = page
        self.where = where
        self.rows = where.locator(".xterm-rows")

    def ready(self) -> "Terminal":
        expect(self.where.locator("body")).to_have_attribute("data-state", "connected", timeout=PATIENCE)
        expect(self.rows).to_contain_text("$" if not is_root() else "#", timeout=PATIENCE)
        return self

    def type(self, text: str) -> None:
        self.where.locator(".xterm-helper-textarea").focus()
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def shows(self, text: str) -> None:
        expect(self.rows).to_contain_text(text, timeout=PATIENCE)


def is_root() -> bool:
    import os

    return os.geteuid() == 0
