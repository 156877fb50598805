"""An upstream proxy and a web site of the tests' own, which note what they were asked."""

from __future__ import annotations

import base64
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterator, List, Optional, Type

import pytest


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    owner: Any


class _Host:
    """A server in a thread of its own; its handlers find this as their server's owner."""

    def __init__(self, handler: Type[_Handler]) -> None:
        self._server = _Listener(("127.0.0.1", 0), handler)
        self._server.owner = self
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def log_message(self, *_: Any) -> None:
        pass


class Web(_Host):
    """A site that says the same whatever it is asked. `hosts` holds the `Host` header of each request."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.hosts: List[str] = []
        self.paths: List[str] = []
        super().__init__(_Page)


class _Page(_Handler):
    def do_GET(self) -> None:
        web = self.server.owner
        web.hosts.append(self.headers.get("host", ""))
        web.paths.append(self.path)
        body = f"<title>{web.text}</title><h1>{web.text}</h1>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Upstream(_Host):
    """An HTTP proxy that wants credentials. Whatever host is asked for, a port of this machine answers."""

    def __init__(self, credentials: Optional[str] = None) -> None:
        self.credentials = credentials
        # The target of each request that was let through, and how many were not.
        self.served: List[str] = []
        self.refused = 0
        super().__init__(_Proxy)


class _Proxy(_Handler):
    def _known(self) -> bool:
        upstream = self.server.owner
        if upstream.credentials is None:
            return True
        wanted = "Basic " + base64.b64encode(upstream.credentials.encode()).decode()
        if self.headers.get("proxy-authorization") == wanted:
            return True
        upstream.refused += 1
        self.send_response(407)
        self.send_header("Proxy-Authenticate", "Basic realm=test")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def do_GET(self) -> None:
        if not self._known():
            return
        self.server.owner.served.append(self.path)
        body = b"<title>upstream</title>from the upstream"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        if not self._known():
            return
        self.server.owner.served.append(self.path)
        with socket.create_connection(("127.0.0.1", int(self.path.rsplit(":", 1)[1]))) as other:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_pump, args=(other, self.connection), daemon=True)
            back.start()
            _pump(self.connection, other)
            back.join()
        self.close_connection = True


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture
def web() -> Iterator[Callable[[str], Web]]:
    """Makes sites that end with the test."""
    made: List[Web] = []

    def make(text: str) -> Web:
        made.append(Web(text))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def upstream() -> Iterator[Callable[..., Upstream]]:
    """Makes upstream proxies that end with the test."""
    made: List[Upstream] = []

    def make(credentials: Optional[str] = None) -> Upstream:
        made.append(Upstream(credentials))
        return made[-1]

    yield make
    for each in made:
        each.close()
