"""`browser.screenshot`, `browser.set_config` and what else there is to know of the screen."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any, Callable

import pytest
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.types import Resolution
from desktops import Desktop, Picture, seen  # noqa: F401  (fixtures)
from server import Server
from sites import site  # noqa: F401
from waiting import eventually

GREEN = (10, 200, 30)


def test_a_picture_shows_the_browser_with_the_page_it_is_on(seen: Desktop) -> None:  # noqa: F811
    assert (seen.picture().width, seen.picture().height) == (1280, 1024)
    seen.open("desktop.html")
    eventually(lambda: seen.picture().count(GREEN) > 20_000, "most of the screen is green")
    info = seen.client.browser.get_info().data
    assert (info.viewport.width, info.viewport.height) == (1280, 1024)
    assert info.page_viewport.height < 1024, "the browser's own controls are above the page"
    assert seen.http.get("/v1/browser/info").json()["data"]["headless"] is False


def test_pictures_come_in_both_forms_and_headers_tell_their_size(seen: Desktop) -> None:  # noqa: F811
    for query, kind, start in [
        ("", "image/png", b"\x89PNG"),
        ("?format=png", "image/png", b"\x89PNG"),
        ("?format=jpg", "image/jpeg", b"\xff\xd8\xff"),
        ("?format=jpeg&quality=0", "image/jpeg", b"\xff\xd8\xff"),
        ("?format=jpeg&quality=100", "image/jpeg", b"\xff\xd8\xff"),
    ]:
        answer = seen.http.get(f"/v1/browser/screenshot{query}")
        assert answer.status_code == 200 and answer.content.startswith(start)
        assert answer.headers["content-type"] == kind
        sizes = [answer.headers[f"x-{of}-{side}"] for of in ("screen", "image") for side in ("width", "height")]
        assert sizes == ["1280", "1024", "1280", "1024"]
    for query in ("?format=gif", "?quality=101", "?quality=many"):
        answer = seen.http.get(f"/v1/browser/screenshot{query}")
        assert answer.status_code == 422 and "image" not in answer.headers["content-type"]


def test_the_screen_changes_its_size_and_the_browser_follows(seen: Desktop) -> None:  # noqa: F811
    seen.open("desktop.html")
    try:
        answer = seen.client.browser.set_config(resolution=Resolution(width=1920, height=1080))
        assert answer.success
        assert (seen.picture().width, seen.picture().height) == (1920, 1080)
        seen.until("outerWidth === 1920 && outerHeight === 1080", "the browser fills the screen")
        info = seen.client.browser.get_info().data
        assert (info.viewport.width, info.viewport.height) == (1920, 1080)
        eventually(lambda: seen.picture().pixel(1880, 1000) == GREEN, "the page fills the screen")
    finally:
        seen.client.browser.set_config(resolution=Resolution(width=1280, height=1024))
    seen.until("outerWidth === 1280", "the browser fills the screen again")
    assert seen.client.browser.set_config().success
    for size in ({"width": 1000, "height": 1000}, {"width": 0, "height": 5}, {"width": -1, "height": 5}):
        answer = seen.http.post("/v1/browser/config", json={"resolution": size})
        assert answer.status_code == 422, answer.text
    assert "1920x1080" in seen.http.post(
        "/v1/browser/config", json={"resolution": {"width": 1000, "height": 1000}}
    ).text


def test_the_desktop_is_described(seen: Desktop) -> None:  # noqa: F811
    seen.picture()
    info = seen.ask("GET", "/v1/desktop/info")
    assert info["available"] and info["running"] and info["display"].startswith(":")
    assert {"width": 1920, "height": 1080} in info["resolutions"] and not info["recording"]
    assert info["vnc_url"] == f"{seen.server.url}/vnc/index.html?autoconnect=true"


def test_programs_show_their_windows_which_are_listed_and_brought_to_the_front(seen: Desktop) -> None:  # noqa: F811
    seen.picture()
    windows = seen.ask("GET", "/v1/desktop/windows")
    browser = next(window for window in windows if "chromium" in window["class"].lower())
    assert browser["visible"] and (browser["width"], browser["height"]) == (1280, 1024)
    focused = seen.ask("POST", "/v1/desktop/windows/focus", id=browser["id"])
    assert focused["active"] and focused["id"] == browser["id"]
    missing = seen.http.post("/v1/desktop/windows/focus", json={"id": 42})
    assert missing.status_code == 404 and missing.json()["error_code"] == "desktop.window_not_found"


def test_the_clipboard_holds_any_text(seen: Desktop) -> None:  # noqa: F811
    for text in ("plain", "日本語 🎌\nnext line", ""):
        seen.http.post("/v1/desktop/clipboard", json={"text": text}).raise_for_status()
        assert seen.ask("GET", "/v1/desktop/clipboard") == {"text": text}
    long = seen.http.post("/v1/desktop/clipboard", json={"text": "x" * (9 << 20)})
    assert long.status_code == 413


def test_a_browser_without_a_window_is_brought_onto_the_desktop_with_all_it_has(
    start_server: Callable[..., Server], site: Any  # noqa: F811
) -> None:
    desktop = Desktop(start_server(), site)
    desktop.open("cookie/kept?value=session")
    desktop.client.browser_tabs.create(url=site.page("desktop.html"))
    assert desktop.ask("GET", "/v1/browser/info")["headless"] is True
    assert desktop.ask("GET", "/v1/desktop/info")["running"] is False, "nobody needed it so far"
    moved = desktop.http.post("/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 5, "y": 5}).json()
    assert moved["success"] and "ATOLL_BROWSER_ON_DESKTOP" in moved["hint"]
    eventually(lambda: desktop.picture().count(GREEN) > 20_000, "the page on the desktop")
    assert desktop.ask("GET", "/v1/browser/info")["headless"] is False
    tabs = desktop.client.browser_tabs.list().data
    assert [tab["url"] for tab in tabs] == [site.page("cookie/kept?value=session"), site.page("desktop.html")]
    assert "kept=session" in desktop.evaluate("document.cookie")
    again = desktop.http.post("/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 6, "y": 6}).json()
    assert not again.get("hint"), "it is there now"


def test_a_desktop_that_died_comes_back(start_server: Callable[..., Server], site: Any) -> None:  # noqa: F811
    desktop = Desktop(start_server(), site)
    desktop.picture()
    info = desktop.ask("GET", "/v1/desktop/info")
    assert info["running"]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes()
        except OSError:
            continue
        if arguments.startswith(b"/usr/bin/Xvnc") and info["authority"].encode() in arguments:
            os.kill(int(path.parent.name), signal.SIGKILL)

    def back() -> bool:
        answer = desktop.http.get("/v1/browser/screenshot")
        assert answer.status_code in (200, 503), answer.text
        assert answer.status_code == 200 or answer.json()["error_code"] == "desktop.gone"
        return answer.status_code == 200 and Picture(answer.content).width == 1280

    eventually(back, "a picture of the desktop that came back")
    desktop.act("MOVE_TO", x=5, y=5)


def test_it_can_be_switched_off(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"DISABLE_VNC": "true"})
    with pytest.raises(ApiError) as refused:
        b"".join(server.client.browser.screenshot())
    assert refused.value.status_code == 503
    answer = server.http.get("/v1/browser/screenshot").json()
    assert answer["error_code"] == "desktop.disabled" and "DISABLE_VNC" in answer["message"]
    assert server.http.get("/v1/browser/info").json()["data"]["headless"] is True
    assert server.http.get("/v1/desktop/info").json()["data"]["available"] is False


def test_without_an_x_server_the_cure_is_told_and_the_browser_works(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("only root can hide the X server from one process")
    # The program is hidden behind an empty file in a file system of the server's own.
    script = "mount --bind /dev/null /usr/bin/Xvnc && exec \"$@\""
    server = start_server(wrapper=[unshare, "--mount", "bash", "-c", script, "-"])
    answer = server.http.get("/v1/browser/screenshot")
    assert answer.status_code == 503, answer.text
    assert answer.json()["error_code"] == "desktop.unavailable"
    assert "apt-get install" in answer.json()["message"]
    assert server.http.get("/v1/browser/info").json()["data"]["headless"] is True
