"""Web sites on loopback that answer as the test says: with a body, with a redirect, with a status, or never to the end."""

from __future__ import annotations

import gzip as gzipping
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Callable, Dict, List, Optional, Tuple

Answer = Callable[["Handler"], None]


class Listener(ThreadingHTTPServer):
    """Knows the site it belongs to."""

    daemon_threads = True
    web: "Web"


class Handler(BaseHTTPRequestHandler):
    """Answers by path."""

    protocol_version = "HTTP/1.1"
    server: Listener

    def do_GET(self) -> None:
        """Answers."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Answers."""
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _answer(self, body: bytes) -> None:
        web = self.server.web
        web.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        answer = web.answers.get(self.path.split("?")[0])
        try:
            if answer is None:
                self.reply(404, b"<html><body>nothing here</body></html>", {"Content-Type": "text/html"})
            else:
                answer(self)
        except OSError:
            # Whoever asked has heard enough.
            self.close_connection = True

    def reply(self, status: int, body: bytes, headers: Dict[str, str]) -> None:
        """Sends a whole answer."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


class Web:
    """A site. `requests` holds path, headers and body of each request, in order."""

    def __init__(self) -> None:
        self.answers: Dict[str, Answer] = {}
        self.requests: List[Tuple[str, Dict[str, str], bytes]] = []
        self.closing = threading.Event()
        self._server = Listener(("127.0.0.1", 0), Handler)
        self._server.web = self
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def at(self, path: str, answer: Answer) -> str:
        """Answers so at a path; returns its address."""
        self.answers[path] = answer
        return f"{self.url}{path}"

    def serve(self, path: str, body: bytes, headers: Optional[Dict[str, str]] = None, gzip: bool = False) -> str:
        """Serves a body."""
        sent, fields = body, dict(headers or {})
        if gzip:
            sent, fields["Content-Encoding"] = gzipping.compress(body), "gzip"
        return self.at(path, lambda handler: handler.reply(200, sent, fields))

    def redirect(self, path: str, target: str, status: int = 302) -> str:
        """Sends elsewhere."""
        return self.at(path, lambda handler: handler.reply(status, b"", {"Location": target}))

    def status(self, path: str, status: int) -> str:
        """Answers with the page of an error."""
        page = f"<html><body><p>status {status}</p></body></html>".encode()
        return self.at(path, lambda handler: handler.reply(status, page, {"Content-Type": "text/html"}))

    def drip(self, path: str) -> str:
        """Begins an answer and never ends it."""

        def answer(handler: Handler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/html")
            handler.send_header("Content-Length", "1000000")
            handler.end_headers()
            while not self.closing.wait(0.05):
                handler.wfile.write(b"x")
                handler.wfile.flush()

        return self.at(path, answer)

    def close(self) -> None:
        """Ends it."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
