"""Raw CDP as a script would speak it: each line has an expression evaluated on a page, whose nanoseconds go out."""

import base64
import json
import os
import socket
import struct
import sys
import time
from typing import Any
from urllib.parse import urlsplit


class Page:
    """A page's WebSocket, with nothing between."""

    def __init__(self, address: str) -> None:
        """Connect to a `ws://` address."""
        url = urlsplit(address)
        self.socket = socket.create_connection((url.hostname, url.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        assert b" 101 " in self.stream.readline()
        while self.stream.readline().strip():
            pass
        self.count = 0

    def command(self, method: str, params: object) -> Any:
        """Send a command and wait for its answer. A mask of zeroes leaves the bytes as they are."""
        self.count += 1
        message = json.dumps({"id": self.count, "method": method, "params": params}).encode()
        length = bytes([0x80 | len(message)]) if len(message) < 126 else b"\xfe" + struct.pack(">H", len(message))
        self.socket.sendall(b"\x81" + length + bytes(4) + message)
        while True:
            head = self.stream.read(2)
            longer = {126: (">H", 2), 127: (">Q", 8)}.get(head[1])
            size = head[1] if longer is None else struct.unpack(longer[0], self.stream.read(longer[1]))[0]
            answer = json.loads(self.stream.read(size))
            if answer.get("id") == self.count:
                return answer["result"]


def main() -> None:
    """Serve until the input ends. Argument: the page's socket."""
    page = Page(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        started = time.perf_counter_ns()
        answer = page.command("Runtime.evaluate", {"expression": line.strip(), "returnByValue": True})
        took = time.perf_counter_ns() - started
        print(took if answer["result"]["value"] == 2 else answer, flush=True)


main()
