"""A proxy in front that serves the sandbox below a path, as a control plane does: it takes the path off and says so.

One request per connection, so that every head is seen; after the head bytes go both ways untouched, sockets included.
"""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import List, Optional, Type
from urllib.parse import urlsplit

PREFIX = "/sandbox/one"


class PrefixProxy:
    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: List[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}{PREFIX}"

    def __enter__(self) -> "PrefixProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._listener.close()
        for each in self._sockets:
            _close(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65_536)
                if not piece:
                    return _close(client)
                head += piece
            upstream = socket.create_connection(self._upstream)
            self._sockets += [client, upstream]
            upstream.sendall(_rewritten(head))
            threading.Thread(target=_pump, args=(client, upstream), daemon=True).start()
            _pump(upstream, client)
        except OSError:
            _close(client)


def _rewritten(head: bytes) -> bytes:
    lines, _, body = head.partition(b"\r\n\r\n")
    first, *headers = lines.split(b"\r\n")
    method, target, version = first.split(b" ", 2)
    assert target.startswith(PREFIX.encode()), f"the page left its path: {target!r}"
    target = target[len(PREFIX) :] or b"/"
    upgrade = any(line.lower().startswith(b"upgrade:") for line in headers)
    if not upgrade:
        headers = [line for line in headers if not line.lower().startswith(b"connection:")] + [b"Connection: close"]
    headers.append(b"X-Forwarded-Prefix: " + PREFIX.encode())
    return b"\r\n".join([b" ".join([method, target, version]), *headers]) + b"\r\n\r\n" + body


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(65_536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        _close(source)
        _close(sink)


def _close(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    each.close()
