"""The dashboard as a whole: it loads, wherever it is; it keeps its layout; everybody can use it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any, Callable, Iterator, List

import httpx
import pytest
from playwright.sync_api import Page, expect
from prefix import PREFIX, PrefixProxy
from screens import PATIENCE, Terminal, pane
from server import Server

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
KEY = "ui-key-0123456789abcdef"
PANES = ["Terminal", "Browser", "Code", "Jupyter", "Files", "Activity", "Ports", "Services"]


def settled(page: Page) -> None:
    """Waits until the panes that are shown first have something to show."""
    Terminal(page, page.frame_locator('iframe[title="Terminal"]')).ready()
    expect(page.locator('[data-pane="files"] .loading')).to_have_count(0, timeout=PATIENCE)
    expect(page.locator('[data-pane="activity"] .loading')).to_have_count(0, timeout=PATIENCE)


def test_it_loads_and_shows_a_terminal_files_and_activity(dashboard: Page) -> None:
    settled(dashboard)
    expect(dashboard).to_have_title("Atoll")
    for name in ("terminal", "files", "activity"):
        expect(dashboard.locator(f'[data-pane="{name}"]')).to_be_visible()


def test_it_is_the_same_page_at_its_other_address(visit: Callable[..., Page], server: Server) -> None:
    settled(visit(f"{server.url}/index.html"))


@pytest.fixture
def proxy(server: Server) -> Iterator[PrefixProxy]:
    """A proxy in front of the shared server. Named before `visit`, so that it outlives the pages."""
    with PrefixProxy(server.url) as started:
        yield started


def test_it_works_below_a_path(proxy: PrefixProxy, visit: Callable[..., Page]) -> None:
    page = visit(f"{proxy.url}/")
    settled(page)
    terminal = Terminal(page, page.frame_locator('iframe[title="Terminal"]'))
    terminal.type("echo below-$((40 + 2))")
    terminal.shows("below-42")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("tabpanel")).to_contain_text(f"{PREFIX}/mcp")


def test_a_ticket_opens_it_and_everything_in_it(start_server: Any, visit: Callable[..., Page]) -> None:
    server = start_server(environment={"SANDBOX_API_KEY": KEY})
    assert httpx.get(server.url, follow_redirects=True).status_code == 401
    ticket = httpx.post(f"{server.url}/tickets", headers={"X-API-Key": KEY}).json()["ticket"]
    page = visit(f"{server.url}/?ticket={ticket}")
    settled(page)
    terminal = Terminal(page, page.frame_locator('iframe[title="Terminal"]'))
    terminal.type("echo let-in-$((40 + 2))")
    terminal.shows("let-in-42")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Authorization: Bearer YOUR_KEY")


def test_without_a_credential_it_says_so(start_server: Any, visit: Callable[..., Page], complaints: List[str]) -> None:
    server = start_server(environment={"SANDBOX_API_KEY": KEY})
    page = visit(f"{server.url}/")
    expect(page.locator("body")).to_contain_text("auth.missing", timeout=PATIENCE)
    # The browser notes the refusal of the page itself.
    complaints.clear()


def test_the_first_paint_is_small_and_its_files_are_kept_for_good(http: httpx.Client) -> None:
    page = http.get("/")
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy and "default-src 'none'" in policy
    names = re.findall(r'(?:src|href)="\./(ui/[^"]+)"', page.text)
    assert names
    size = len(gzip.compress(page.content))
    for name in names:
        with http.stream("GET", f"/{name}", headers={"Accept-Encoding": "gzip"}) as answer:
            size += len(b"".join(answer.iter_raw()))
            assert "immutable" in answer.headers["cache-control"], name
            assert answer.headers["content-encoding"] == "gzip", name
    assert size < 150_000, size


def test_a_layout_is_remembered(dashboard: Page) -> None:
    settled(dashboard)
    dashboard.get_by_role("button", name="Four panes").click()
    expect(dashboard.locator(".panel:visible")).to_have_count(4)
    dashboard.locator('[data-pane="files"]').get_by_role("combobox").select_option("Ports")
    divider = dashboard.get_by_role("separator").first
    divider.focus()
    for _ in range(5):
        dashboard.keyboard.press("ArrowRight")
    expect(divider).to_have_attribute("aria-valuenow", "60")
    dashboard.reload()
    settled_panes = dashboard.locator(".panel:visible")
    expect(settled_panes).to_have_count(4)
    expect(dashboard.locator('[data-pane="ports"]')).to_be_visible()
    expect(dashboard.locator('[data-pane="files"]')).to_have_count(0)
    expect(dashboard.get_by_role("separator").first).to_have_attribute("aria-valuenow", "60")


def test_panes_are_split_maximised_dragged_and_closed(dashboard: Page) -> None:
    settled(dashboard)
    dashboard.get_by_role("button", name="Two panes").click()
    panels = dashboard.locator(".panel:visible")
    expect(panels).to_have_count(2)
    dashboard.locator('[data-pane="terminal"]').get_by_role("button", name="Split below").click()
    expect(panels).to_have_count(3)
    dashboard.locator('[data-pane="terminal"]').get_by_role("button", name="Maximise").click()
    expect(panels).to_have_count(1)
    dashboard.locator('[data-pane="terminal"]').get_by_role("button", name="Restore").click()
    expect(panels).to_have_count(3)
    bar = dashboard.get_by_role("separator", name="Width")
    box = bar.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    dashboard.mouse.move(box["x"] + box["width"] / 2, middle)
    dashboard.mouse.down()
    dashboard.mouse.move(box["x"] - 200, middle, steps=5)
    dashboard.mouse.up()
    value = int(bar.get_attribute("aria-valuenow") or 0)
    assert 20 < value < 45, value
    dashboard.locator('[data-pane="terminal"]').get_by_role("button", name="Close").click()
    expect(panels).to_have_count(2)


def test_a_terminal_keeps_its_session_when_panes_move_and_when_the_page_is_opened_again(dashboard: Page) -> None:
    settled(dashboard)
    terminal = Terminal(dashboard, dashboard.frame_locator('iframe[title="Terminal"]'))
    terminal.type("kept=$((6 * 7))")
    dashboard.get_by_role("button", name="Four panes").click()
    terminal.type("echo moved-$kept")
    terminal.shows("moved-42")
    dashboard.reload()
    settled(dashboard)
    terminal.type("echo again-$kept")
    terminal.shows("again-42")


def test_it_fits_a_phone(visit: Callable[..., Page], server: Server) -> None:
    page = visit(f"{server.url}/", viewport={"width": 360, "height": 740})
    for name in PANES:
        page.get_by_role("navigation", name="Panes").get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".panel:visible")).to_have_count(1)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, (name, wide)
        body = page.locator(".panel:visible .body")
        assert body.evaluate("body => body.scrollWidth <= body.clientWidth"), name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_until_somebody_chooses(
    visit: Callable[..., Page], server: Server, scheme: str
) -> None:
    page = visit(f"{server.url}/", color_scheme=scheme)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", scheme)
    other = {"light": "dark", "dark": "light"}[scheme]
    page.get_by_role("button", name=other.capitalize(), exact=True).click()
    expect(root).to_have_attribute("data-theme", other)
    inner = page.frame_locator('iframe[title="Terminal"]').locator("html")
    expect(inner).to_have_attribute("data-theme", other)
    page.reload()
    expect(root).to_have_attribute("data-theme", other)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_assistive_technology(
    visit: Callable[..., Page], server: Server, scheme: str
) -> None:
    page = visit(f"{server.url}/", color_scheme=scheme, bypass_csp=True)
    settled(page)

    def check(what: str) -> None:
        page.evaluate(AXE.read_text())
        found: List[Any] = page.evaluate(
            "axe.run(document, {iframes: false}).then(({violations}) => violations"
            ".filter(({impact}) => ['serious', 'critical'].includes(impact))"
            ".map(({id, nodes}) => [id, nodes.map(({target, failureSummary}) => [target, failureSummary])]))"
        )
        assert found == [], what

    for name in PANES:
        pane(page, name.lower())
        check(name)
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check("the dialog")


def test_keys_alone_lead_everywhere(dashboard: Page, server: Server) -> None:
    settled(dashboard)
    (server.workspace / "by-keys.txt").write_text("opened by keys\n")

    def tab_to(name: str) -> None:
        """Presses Tab until an element with this name has the focus. A terminal keeps Tab, and lets go at Ctrl-F6."""
        for _ in range(200):
            inside = dashboard.evaluate("document.activeElement.matches('iframe[title=Terminal]')")
            dashboard.keyboard.press("Control+F6" if inside else "Tab")
            focused = dashboard.evaluate(
                "() => { const one = document.activeElement;"
                " return one && (one.getAttribute('aria-label') || one.textContent || '').trim(); }"
            )
            if focused == name:
                return
        raise AssertionError(f"Tab does not lead to {name}")

    dashboard.locator("body").focus()
    tab_to("Files")
    dashboard.keyboard.press("Enter")
    tab_to("Look again")
    dashboard.keyboard.press("Enter")
    expect(dashboard.get_by_role("button", name="by-keys.txt", exact=True)).to_be_visible(timeout=PATIENCE)
    tab_to("by-keys.txt")
    dashboard.keyboard.press("Enter")
    expect(dashboard.get_by_role("textbox", name=re.compile("Content of"))).to_have_value("opened by keys\n")
    tab_to("Close the file")
    dashboard.keyboard.press("Enter")
    expect(dashboard.locator(".preview")).to_have_count(0)


def test_agents_are_told_how_to_connect(visit: Callable[..., Page], server: Server) -> None:
    page = visit(f"{server.url}/", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Connect").click()
    shown = page.get_by_role("tabpanel")
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex", "JSON"):
        page.get_by_role("tab", name=client).click()
        expect(shown).to_contain_text(f"{server.url}/mcp")
    page.get_by_role("button", name="Copy for JSON").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert f"{server.url}/mcp" in page.evaluate("navigator.clipboard.readText()")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_documents_are_where_people_look_for_them(http: httpx.Client) -> None:
    assert "swagger-ui" in http.get("/docs", follow_redirects=True).text
    assert "/v1/docs" in http.get("/llms.txt").text
