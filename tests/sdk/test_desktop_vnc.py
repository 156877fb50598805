"""Watching and taking over: RFB through the WebSocket, and the page with noVNC in a browser of its own."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Callable

import pytest
from desktops import Colour, Desktop, Picture, Viewer, seen  # noqa: F401  (fixtures)
from server import Server
from sites import site  # noqa: F401
from waiting import eventually
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

GREEN = (10, 200, 30)


def test_viewers_see_the_screen_and_take_over(seen: Desktop) -> None:  # noqa: F811
    seen.open("desktop.html")
    with Viewer(seen.server) as one, Viewer(seen.server) as other:
        assert (one.width, one.height, one.name) == (1280, 1024, "Atoll")
        for viewer in (one, other):
            eventually(lambda viewer=viewer: viewer.picture()(1200, 950) == GREEN, "the page at the viewer")
        x, y = (int(place) for place in seen.place("#field"))
        one.move(x, y)
        one.move(x, y, buttons=1)
        one.move(x, y)
        seen.until("document.activeElement.id === 'field'", "the viewer's click")
        for character in "viewer":
            other.key(ord(character))
        seen.until("field.value === 'viewer'", "the viewer's keys")
        one.copy("from a viewer")
        eventually(
            lambda: seen.ask("GET", "/v1/desktop/clipboard")["text"] == "from a viewer", "the viewer's clipboard"
        )


def test_who_only_watches_cannot_do_anything_else(seen: Desktop) -> None:  # noqa: F811
    seen.act("MOVE_TO", x=700, y=700)
    seen.http.post("/v1/desktop/clipboard", json={"text": "kept"}).raise_for_status()
    with Viewer(seen.server, "/websockify?view_only=true") as viewer:
        viewer.move(10, 10)
        viewer.key(ord("x"))
        viewer.copy("not taken")
        # Another size of the screen.
        viewer.socket.send(struct.pack(">BxHHBx IHHHHI", 251, 800, 600, 1, 0, 0, 0, 800, 600, 0))
        # It is answered after all that came before it.
        viewer.picture()
    assert seen.ask("GET", "/v1/desktop/pointer") == {"x": 700, "y": 700}
    assert seen.ask("GET", "/v1/desktop/clipboard") == {"text": "kept"}
    assert seen.ask("GET", "/v1/desktop/info")["resolution"] == {"width": 1280, "height": 1024}


def test_the_socket_is_no_page_and_is_closed_to_other_origins(seen: Desktop) -> None:  # noqa: F811
    answer = seen.http.get("/websockify")
    assert answer.status_code == 426 and answer.json()["error_code"] == "request.upgrade"
    with pytest.raises(InvalidStatus) as refused:
        connect(seen.server.socket_url("/websockify"), origin="http://evil.example")  # type: ignore[arg-type]
    assert refused.value.response.status_code == 403


def test_a_key_that_may_only_read_only_watches(start_server: Callable[..., Server], site: Any) -> None:  # noqa: F811
    server = start_server(environment={"SANDBOX_API_KEY": "a-key-for-the-desktop"})
    with pytest.raises(InvalidStatus) as refused:
        Viewer(server)
    assert refused.value.response.status_code == 401
    with Viewer(server, "/websockify?api_key=a-key-for-the-desktop") as viewer:
        assert viewer.width == 1280
    assert server.http.get("/vnc/index.html").status_code == 401
    page = server.http.get("/vnc/index.html?api_key=a-key-for-the-desktop")
    assert page.status_code == 200 and "viewer.js" in page.text


def test_the_page_leads_to_its_files_below_any_prefix(seen: Desktop) -> None:  # noqa: F811
    for path in ("/vnc", "/vnc/"):
        moved = seen.http.get(f"{path}?autoconnect=true")
        assert moved.headers["location"].endswith("index.html?autoconnect=true")
        assert not moved.headers["location"].startswith("/")
    for name in ("index.html", "vnc.html", "vnc_lite.html", "viewer.js", "viewer.css", "core/rfb.js"):
        answer = seen.http.get(f"/vnc/{name}")
        assert answer.status_code == 200, name
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "MPL" in seen.http.get("/vnc/LICENSE.txt").text


def test_the_page_shows_the_desktop_in_a_browser(
    seen: Desktop, start_server: Callable[..., Server], tmp_path: Path  # noqa: F811
) -> None:
    """A second server's headless browser opens the page of the first."""
    seen.open("desktop.html")
    eventually(lambda: seen.picture().pixel(1200, 950) == GREEN, "the page on the desktop")
    other = start_server(environment={"DISABLE_VNC": "true", "DISPLAY_WIDTH": "1400", "DISPLAY_HEIGHT": "1200"})
    page = other.client.browser_page
    page.navigate(url=f"{seen.server.url}/vnc/index.html?autoconnect=true&resize=off&bare=1")
    ask = lambda expression: page.evaluate(expression=expression).data  # noqa: E731
    eventually(lambda: ask("document.body.dataset.state") == "connected", "the viewer is connected")
    # The viewer puts a screen that is smaller than its window into the middle.
    box = "(() => { const box = document.querySelector('canvas').getBoundingClientRect(); return [box.x, box.y]; })()"
    eventually(lambda: ask("document.querySelector('canvas').width") == 1280, "the viewer's canvas")
    left, top = (round(side) for side in ask(box))

    def shown() -> bool:
        picture, mine = Picture(b"".join(page.screenshot())), seen.picture()
        places = [(600, 900), (1200, 950), (100, 400), (500, 20), (60, 100), (400, 330)]
        return all(_alike(picture.pixel(left + x, top + y), mine.pixel(x, y)) for x, y in places)

    eventually(shown, "the viewer's picture is the desktop's")
    x, y = seen.place("#field")
    page.click(x=left + x, y=top + y)
    seen.until("document.activeElement.id === 'field'", "the click from the viewer")
    page.type_text(text="typed far away")
    seen.until("field.value === 'typed far away'", "keys from the viewer")


def _alike(one: Colour, other: Colour) -> bool:
    """Viewers are sent pictures that may be a little less exact."""
    return all(abs(a - b) < 25 for a, b in zip(one, other))


def test_the_browser_alone_is_shown_and_operated_on_a_canvas(
    seen: Desktop, start_server: Callable[..., Server]  # noqa: F811
) -> None:
    seen.open("desktop.html")
    address = seen.client.browser.get_info().data.cdp_ui_url
    assert address == f"{seen.server.url}/browser-ui"
    other = start_server(environment={"DISABLE_VNC": "true", "DISPLAY_WIDTH": "1600", "DISPLAY_HEIGHT": "1300"})
    page = other.client.browser_page
    page.navigate(url=address)
    ask = lambda expression: page.evaluate(expression=expression).data  # noqa: E731
    eventually(lambda: ask("document.body.dataset.state") == "connected", "the canvas is connected")
    canvas = "document.querySelector('canvas')"
    green = f"(() => {{ const at = {canvas}.getContext('2d').getImageData(900, 700, 1, 1).data; return [...at]; }})()"
    eventually(lambda: all(abs(a - b) < 12 for a, b in zip(ask(green), (10, 200, 30))), "the page on the canvas")
    left, top, width = ask(f"(() => {{ const b = {canvas}.getBoundingClientRect(); return [b.x, b.y, b.width]; }})()")
    part = width / seen.evaluate("innerWidth")
    box = seen.evaluate("(() => { const b = field.getBoundingClientRect(); return [b.x + 50, b.y + 10]; })()")
    page.click(x=left + box[0] * part, y=top + box[1] * part)
    seen.until("document.activeElement.id === 'field'", "the click")
    page.type_text(text="on a canvas")
    seen.until("field.value === 'on a canvas'", "the keys")
