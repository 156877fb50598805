"""Apps for the preview suites: small servers on loopback, as somebody would run them in the sandbox.

An `App` mirrors what it is asked, and has a few addresses that do more: redirects, cookies, events that come when the test
says so, a body of any size, and one that counts what it is sent.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Iterator, Optional
from urllib.parse import parse_qs, urlsplit

import pytest

BLOCK = bytes(range(256)) * 4096


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    app: "App"


class App:
    """A running app. `events` is what its stream of events sends next; None ends it."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.events: "queue.Queue[Optional[str]]" = queue.Queue()
        self._listener = _V6((host, port), _Handler) if ":" in host else _Listener((host, port), _Handler)
        self._listener.app = self
        self.port: int = self._listener.server_address[1]
        threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self.events.put(None)
        self._listener.shutdown()
        self._listener.server_close()


class _V6(_Listener):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        name = path.rsplit("/", 1)[-1]
        if name == "moved":
            self._answer(302, b"", {"Location": query["to"][0]})
        elif name == "cookies":
            self._answer(200, b"", [("Set-Cookie", cookie) for cookie in query["set"]])
        elif name == "page":
            script = b"<script>document.title = 'run'</script>"
            self._answer(200, b"<!doctype html><title>app</title>" + script, {"Content-Type": "text/html"})
        elif name == "events":
            self._events()
        elif name == "large":
            self._large(int(query["bytes"][0]), "chunked" in query)
        else:
            self._mirror()

    def do_POST(self) -> None:
        if urlsplit(self.path).path.endswith("/count"):
            received = 0
            for piece in self._body():
                received += len(piece)
            self._answer(200, json.dumps({"received": received}).encode(), {"Content-Type": "application/json"})
        else:
            self._mirror()

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_PROPFIND = do_HEAD = _mirrored = lambda self: self._mirror()

    def _mirror(self) -> None:
        told = {
            "method": self.command,
            "target": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "body": b"".join(self._body()).decode(errors="replace"),
        }
        self._answer(200, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def _body(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                left = size
                while left:
                    piece = self.rfile.read(min(left, 1 << 20))
                    left -= len(piece)
                    yield piece
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left:
            piece = self.rfile.read(min(left, 1 << 20))
            assert piece, "the body broke off"
            left -= len(piece)
            yield piece

    def _answer(self, status: int, body: bytes, headers: Any) -> None:
        self.send_response(status)
        for name, value in headers.items() if isinstance(headers, dict) else headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while (event := self.server.app.events.get()) is not None:
            self._chunk(f"data: {event}\n\n".encode())
        self._chunk(b"")

    def _large(self, size: int, chunked: bool) -> None:
        self.send_response(200)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(size))
        self.end_headers()
        left = size
        while left:
            piece = BLOCK[:left]
            left -= len(piece)
            if chunked:
                self._chunk(piece)
            else:
                self.wfile.write(piece)
        if chunked:
            self._chunk(b"")

    def _chunk(self, piece: bytes) -> None:
        self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def app() -> Iterator[App]:
    """An app of the test's own."""
    running = App()
    yield running
    running.close()


def free_port() -> int:
    """A port nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def header(told: Dict[str, Any], name: str) -> Optional[str]:
    """A header as the app saw it."""
    return told["headers"].get(name)
