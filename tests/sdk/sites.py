"""Web sites on loopback for the browser suites, and the page of a browser as the SDK drives it.

A `Site` serves the files of `pages/` and a few addresses that no file can be: slow ones that answer when the test says
so, endless ones, downloads, mirrors of what was sent. It has two origins, on two ports, so that frames can be of another
site. In a page, `{{here}}` and `{{other}}` stand for their addresses.
"""

from __future__ import annotations

import json
import threading
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import parse_qs, urlsplit

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server

PAGES = Path(__file__).parent / "pages"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".png": "image/png"}
# What one pixel of a picture costs.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    site: "Site"


class Site:
    """Two servers of the same pages. `requests` holds the paths that were asked for, in order."""

    def __init__(self) -> None:
        self.requests: List[str] = []
        self.closing = threading.Event()
        self._gates: Dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._servers = [self._listen("127.0.0.1"), self._listen("127.0.0.1")]
        self.url = f"http://127.0.0.1:{self._servers[0].server_address[1]}"
        # Another host name makes another site, not only another origin: its frames get a process of their own.
        self.other = f"http://localhost:{self._servers[1].server_address[1]}"

    def _listen(self, host: str) -> _Listener:
        server = _Listener((host, 0), _Handler)
        server.site = self
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def page(self, name: str) -> str:
        """Address of a page."""
        return f"{self.url}/{name}"

    def gate(self, name: str) -> threading.Event:
        """What `/slow/<name>` waits for before it answers."""
        with self._lock:
            return self._gates.setdefault(name, threading.Event())

    def new_gate(self) -> str:
        return uuid.uuid4().hex[:12]

    def close(self) -> None:
        self.closing.set()
        for gate in list(self._gates.values()):
            gate.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _answer(self, body: bytes) -> None:
        site = self.server.site
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        site.requests.append(self.path)
        head, _, rest = parts.path.lstrip("/").partition("/")
        try:
            if head == "slow":
                site.gate(rest).wait(120)
                self._send(200, "text/html", b"<title>slow</title><h1>At last</h1>")
            elif head == "endless":
                self._endless()
            elif head == "download":
                name = rest or "file.txt"
                content = query.get("content", "downloaded").encode()
                self._send(200, "application/octet-stream", content, {"Content-Disposition": f'attachment; filename="{name}"'})
            elif head == "mirror":
                seen = {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body.decode("latin-1")}
                self._send(200, "application/json", json.dumps(seen).encode(), {"Access-Control-Allow-Origin": "*"})
            elif head == "status":
                self._send(int(rest), "text/html", f"<h1>{rest}</h1>".encode())
            elif head == "redirect":
                self._send(302, "text/plain", b"", {"Location": query["to"]})
            elif head == "cookie":
                self._send(200, "text/html", b"<h1>cookie</h1>", {"Set-Cookie": f"{rest}={query.get('value', '1')}; Path=/"})
            elif head == "pixel.png":
                self._send(200, "image/png", PIXEL)
            elif head == "page":
                # A page of the test's own, given in its address.
                self._send(200, TYPES[".html"], self._filled(query.get("html", "")))
            else:
                self._file(parts.path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _endless(self) -> None:
        """Headers and a beginning, then a little more for ever."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b"<title>endless</title><h1>It begins</h1>" + b" " * 4096)
        while not self.server.site.closing.wait(0.2):
            self.wfile.write(b"<p>more</p>")
            self.wfile.flush()

    def _file(self, path: str) -> None:
        file = (PAGES / path.lstrip("/")).resolve()
        if not file.is_relative_to(PAGES) or not file.is_file():
            self._send(404, "text/html", b"<h1>Not found</h1>")
        elif file.suffix == ".html":
            self._send(200, TYPES[".html"], self._filled(file.read_text()))
        else:
            self._send(200, TYPES.get(file.suffix, "text/plain"), file.read_bytes())

    def _filled(self, text: str) -> bytes:
        site = self.server.site
        return text.replace("{{here}}", site.url).replace("{{other}}", site.other).encode()

    def _send(self, status: int, kind: str, body: bytes, headers: Dict[str, str] = {}) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A site on loopback for the whole run."""
    made = Site()
    yield made
    made.close()


class Page:
    """The active tab, driven by the SDK as an agent would."""

    def __init__(self, server: Server, site: Site) -> None:
        self.server = server
        self.site = site
        self.client: Sandbox = server.client
        self.api = self.client.browser_page

    def open(self, name: str) -> Any:
        """Shows one of the site's pages."""
        return self.api.navigate(url=self.site.page(name)).data

    def show(self, html: str) -> None:
        """Shows a page made of this."""
        self.open("page?html=" + urllib.parse.quote(html))

    def value(self, expression: str) -> Any:
        """What an expression yields on the page."""
        return self.api.evaluate(expression=expression).data

    def elements(self, **options: Any) -> List[Dict[str, Any]]:
        return self.api.get_elements(**options).data

    def index(self, **wanted: Any) -> int:
        """Index of the only listed element with these fields."""
        found = [each for each in self.elements() if all(each[field] == value for field, value in wanted.items())]
        assert len(found) == 1, (wanted, found)
        return found[0]["index"]


def refused(status: int, code: str, call: Callable[..., Any], **fields: Any) -> str:
    """What a call that must be refused with this status and code says."""
    with pytest.raises(ApiError) as caught:
        call(**fields)
    body = caught.value.body
    body = body if isinstance(body, dict) else json.loads(body.json()) if hasattr(body, "json") else {}
    assert (caught.value.status_code, body.get("error_code")) == (status, code), caught.value
    assert body["success"] is False and body["message"]
    return body["message"]


def asking(**fields: Any) -> Dict[str, Any]:
    """Options of an SDK call that add fields the SDK does not know, to the query or the body."""
    return {"additional_query_parameters": fields}


def patient(seconds: float) -> Dict[str, Any]:
    """Options of an SDK call that waits this long for its element."""
    return {"additional_body_parameters": {"timeout": seconds}}


@pytest.fixture
def page(server: Server, site: Site) -> Iterator[Page]:
    """The active tab of the shared server; the only one, and blank."""
    made = Page(server, site)
    tabs = made.client.browser_tabs
    for tab in reversed(tabs.list().data[1:]):
        tabs.close(tab["index"])
    made.api.navigate(url="about:blank")
    yield made
