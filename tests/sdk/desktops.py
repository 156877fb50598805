"""A desktop for the tests: a server whose browser can be seen, pictures of the screen, and a viewer that speaks RFB."""

from __future__ import annotations

import struct
import zlib
from typing import Any, Callable, Dict, Iterator, List, Tuple

import httpx
import pytest
from agent_sandbox import Sandbox
from agent_sandbox.browser import (
    Action_Click,
    Action_DoubleClick,
    Action_DragRel,
    Action_DragTo,
    Action_Hotkey,
    Action_KeyDown,
    Action_KeyUp,
    Action_MouseDown,
    Action_MouseUp,
    Action_MoveRel,
    Action_MoveTo,
    Action_Press,
    Action_RightClick,
    Action_Scroll,
    Action_Typing,
    Action_Wait,
)
from server import Server
from sites import Site
from waiting import DEADLINE, eventually
from websockets.sync.client import connect

Colour = Tuple[int, int, int]

ACTIONS: Dict[str, Any] = {
    "MOVE_TO": Action_MoveTo,
    "MOVE_REL": Action_MoveRel,
    "CLICK": Action_Click,
    "MOUSE_DOWN": Action_MouseDown,
    "MOUSE_UP": Action_MouseUp,
    "RIGHT_CLICK": Action_RightClick,
    "DOUBLE_CLICK": Action_DoubleClick,
    "DRAG_TO": Action_DragTo,
    "DRAG_REL": Action_DragRel,
    "SCROLL": Action_Scroll,
    "TYPING": Action_Typing,
    "PRESS": Action_Press,
    "KEY_DOWN": Action_KeyDown,
    "KEY_UP": Action_KeyUp,
    "HOTKEY": Action_Hotkey,
    "WAIT": Action_Wait,
}


class Picture:
    """The pixels of a PNG with eight bits of red, green and blue."""

    def __init__(self, data: bytes) -> None:
        assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:80]
        self.width, self.height, depth, kind = struct.unpack(">IIBB", data[16:26])
        assert depth == 8 and kind in (2, 6), (depth, kind)
        self._bytes = 3 if kind == 2 else 4
        packed, at = b"", 8
        while at < len(data):
            (length,) = struct.unpack(">I", data[at : at + 4])
            if data[at + 4 : at + 8] == b"IDAT":
                packed += data[at + 8 : at + 8 + length]
            at += 12 + length
        self._rows = self._unfilter(zlib.decompress(packed))

    def _unfilter(self, raw: bytes) -> List[bytearray]:
        size, step = self.width * self._bytes, self._bytes
        rows: List[bytearray] = []
        above = bytearray(size)
        for y in range(self.height):
            start = y * (size + 1)
            kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + size])
            if kind == 2:
                row = bytearray((a + b) & 255 for a, b in zip(row, above))
            elif kind:
                for x in range(size):
                    left = row[x - step] if x >= step else 0
                    corner = above[x - step] if x >= step else 0
                    row[x] = (row[x] + _predict(kind, left, above[x], corner)) & 255
            rows.append(row)
            above = row
        return rows

    def pixel(self, x: int, y: int) -> Colour:
        at = x * self._bytes
        red, green, blue = self._rows[y][at : at + 3]
        return red, green, blue

    def count(self, colour: Colour, step: int = 4) -> int:
        """How many pixels of a grid over the picture have this colour."""
        return sum(
            self.pixel(x, y) == colour for y in range(0, self.height, step) for x in range(0, self.width, step)
        )


def _predict(kind: int, left: int, above: int, corner: int) -> int:
    if kind == 1:
        return left
    if kind == 3:
        return (left + above) // 2
    estimate = left + above - corner
    by_left, by_above, by_corner = abs(estimate - left), abs(estimate - above), abs(estimate - corner)
    if by_left <= by_above and by_left <= by_corner:
        return left
    return above if by_above <= by_corner else corner


class Desktop:
    """The desktop as an agent uses it: the SDK for what it has, plain HTTP for the rest."""

    def __init__(self, server: Server, site: Site) -> None:
        self.server = server
        self.site = site
        self.client: Sandbox = server.client
        self.http: httpx.Client = server.http

    def picture(self) -> Picture:
        return Picture(b"".join(self.client.browser.screenshot()))

    def act(self, kind: str, **fields: Any) -> Any:
        """Performs an action through the SDK."""
        answer = self.client.browser.execute_action(request=ACTIONS[kind](**fields))
        assert answer.success and answer.data is not None
        assert answer.status == answer.data.status == "success"
        assert answer.action_performed == answer.data.action_performed == kind
        return answer

    def refused(self, **action: Any) -> Dict[str, Any]:
        """The answer to an action that must not be performed."""
        answer = self.http.post("/v1/browser/actions", json=action)
        assert answer.status_code >= 400, answer.text
        assert answer.json()["success"] is False
        return {"status": answer.status_code, **answer.json()}

    def ask(self, method: str, path: str, **body: Any) -> Any:
        answer = self.http.request(method, path, json=body or None)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def open(self, name: str) -> None:
        """Shows a page in the browser on the desktop. One that is not painted yet takes no clicks."""
        self.client.browser_page.navigate(url=self.site.page(name))
        self.until("document.readyState === 'complete' && performance.getEntriesByType('paint').length > 0", "the page")

    def evaluate(self, expression: str) -> Any:
        return self.client.browser_page.evaluate(expression=expression).data

    def place(self, selector: str, part: float = 0.5) -> Tuple[float, float]:
        """Where on the screen an element is: the browser's own controls are above the page."""
        return tuple(  # type: ignore[return-value]
            self.evaluate(
                "(() => { const box = document.querySelector(%r).getBoundingClientRect();"
                " return [screenX + (outerWidth - innerWidth) / 2 + box.x + box.width * %f,"
                " screenY + outerHeight - innerHeight + box.y + box.height / 2]; })()" % (selector, part)
            )
        )

    def focus(self, selector: str) -> None:
        """Gives a field the keyboard by a click. A browser hands clicks on later than keys, so the click is waited for."""
        x, y = self.place(selector)
        self.act("CLICK", x=x, y=y)
        self.until(f"document.activeElement === document.querySelector({selector!r})", f"{selector} has the keyboard")

    def until(self, expression: str, what: str) -> Any:
        """Waits until the page says so."""
        return eventually(lambda: self.evaluate(expression), what, DEADLINE)


class Viewer:
    """A VNC viewer, as much of one as the tests need: RFB 3.8, raw pixels, several rectangles."""

    def __init__(self, server: Server, path: str = "/websockify", **headers: str) -> None:
        self.socket = connect(
            server.socket_url(path),
            subprotocols=["binary"],  # type: ignore[list-item]
            max_size=None,
            open_timeout=DEADLINE,
            additional_headers=headers,
        )
        self._received = b""
        assert self.socket.subprotocol == "binary"
        assert self.take(12) == b"RFB 003.008\n"
        self.socket.send(b"RFB 003.008\n")
        kinds = self.take(self.take(1)[0])
        assert 1 in kinds, kinds
        self.socket.send(b"\x01")
        assert self.take(4) == b"\0\0\0\0"
        self.socket.send(b"\x01")
        self.width, self.height = struct.unpack(">HH", self.take(4))
        self.take(16)
        (length,) = struct.unpack(">I", self.take(4))
        self.name = self.take(length).decode()
        # Blue, green, red and nothing, eight bits each; raw rectangles only.
        self.socket.send(struct.pack(">Bxxx BBBBHHHBBBxxx", 0, 32, 24, 0, 1, 255, 255, 255, 16, 8, 0))
        self.socket.send(struct.pack(">BxHi", 2, 1, 0))

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.socket.close()

    def take(self, count: int) -> bytes:
        while len(self._received) < count:
            message = self.socket.recv(timeout=DEADLINE)
            assert isinstance(message, bytes), message
            self._received += message
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def picture(self) -> Callable[[int, int], Colour]:
        """The whole screen: what colour a pixel has."""
        self.socket.send(struct.pack(">BBHHHH", 3, 0, 0, 0, self.width, self.height))
        rows = [bytearray(self.width * 4) for _ in range(self.height)]
        missing = self.width * self.height
        while missing > 0:
            kind = self.take(1)[0]
            if kind == 2:
                continue
            if kind == 3:
                self.take(3)
                (length,) = struct.unpack(">I", self.take(4))
                self.take(length)
                continue
            assert kind == 0, kind
            (count,) = struct.unpack(">xH", self.take(3))
            for _ in range(count):
                x, y, width, height, encoding = struct.unpack(">HHHHi", self.take(12))
                assert encoding == 0, encoding
                for row in range(y, y + height):
                    rows[row][x * 4 : (x + width) * 4] = self.take(width * 4)
                missing -= width * height

        def colour(x: int, y: int) -> Colour:
            blue, green, red = rows[y][x * 4 : x * 4 + 3]
            return red, green, blue

        return colour

    def move(self, x: int, y: int, buttons: int = 0) -> None:
        self.socket.send(struct.pack(">BBHH", 5, buttons, x, y))

    def key(self, symbol: int) -> None:
        for down in (1, 0):
            self.socket.send(struct.pack(">BBxxI", 4, down, symbol))

    def copy(self, text: str) -> None:
        data = text.encode("latin-1")
        self.socket.send(struct.pack(">BxxxI", 6, len(data)) + data)


@pytest.fixture(scope="session")
def seen(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Desktop]:
    """A desktop with the browser on it, for the whole run."""
    server = Server(tmp_path_factory.mktemp("desktop"), environment={"ATOLL_BROWSER_ON_DESKTOP": "true"})
    yield Desktop(server, site)
    assert server.stop() == 0, server.log()
