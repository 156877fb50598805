"""What the long tests stand on: a server of their own, connections that are kept alive, and numbers."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

# Longest wait for anything that works at all.
PATIENCE = 60


class Server:
    """A running server. A wrapper is a command that becomes the server by executing its arguments."""

    def __init__(
        self, directory: Path, environment: Optional[Dict[str, str]] = None, wrapper: Sequence[str] = ()
    ) -> None:
        self.home = directory / "home"
        self._ready, self._log = directory / "ready", directory / "log"
        self.home.mkdir(exist_ok=True)
        self._ready.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*wrapper, os.environ["ATOLL_BIN"], "serve", "--listen", "127.0.0.1:0", "--ready-file", str(self._ready)],
                env={"PATH": os.environ["PATH"], "HOME": str(self.home), "ATOLL_LOG_LEVEL": "warn"}
                | (environment or {}),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE
        while not self._ready.exists():
            assert self.process.poll() is None and time.monotonic() < deadline, self.log()
            time.sleep(0.002)
        self.port = int(self._ready.read_text().strip().rsplit(":", 1)[1])

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
        raise KeyError(name)

    @property
    def memory(self) -> int:
        """KiB of memory of its own in use: pages of the program come and go with what is asked of it."""
        return self._status("RssAnon:")

    @property
    def threads(self) -> int:
        return self._status("Threads:")

    @property
    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def descendants(self) -> Tuple[int, int]:
        """Processes below the server, and those of them that are dead but not buried."""
        parents: Dict[int, int] = {}
        dead = set()
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError):
                    fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                    parents[int(entry)] = int(fields[1])
                    if fields[0] == "Z":
                        dead.add(int(entry))
        below, waiting = set(), [self.process.pid]
        while waiting:
            one = waiting.pop()
            children = [pid for pid, parent in parents.items() if parent == one]
            below.update(children)
            waiting.extend(children)
        return len(below), len(below & dead)

    async def settle(self) -> None:
        """Waits until it has let go of what was used: nothing changes any more and nobody is unburied."""
        deadline = time.monotonic() + PATIENCE
        seen: List[Tuple[int, int, Tuple[int, int]]] = []
        while time.monotonic() < deadline:
            seen.append((self.files, self.threads, self.descendants))
            if len(seen) >= 10 and len(set(seen[-10:])) == 1 and seen[-1][2][1] == 0:
                return
            await asyncio.sleep(0.2)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def serving(environment: Optional[Dict[str, str]] = None) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        server = Server(Path(directory), environment)
        try:
            yield server
        finally:
            server.stop()


class Connection:
    """One HTTP connection, kept alive; opened anew when the server let go of it in between."""

    def __init__(self, port: int, headers: str = "") -> None:
        self._port, self._headers = port, headers
        self._streams: Optional[Tuple[asyncio.StreamReader, asyncio.StreamWriter]] = None

    async def ask(
        self, method: str, path: str, body: Optional[dict] = None, headers: str = ""
    ) -> Tuple[int, Dict[str, str], bytes]:
        sent = json.dumps(body).encode() if body is not None else b""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"{self._headers}{headers}Content-Length: {len(sent)}\r\n\r\n"
        )
        for last in (False, True):
            if self._streams is None:
                last = True
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            try:
                return await asyncio.wait_for(self._exchange(head.encode() + sent), PATIENCE)
            except (asyncio.IncompleteReadError, ConnectionError):
                self.close()
                if last:
                    raise
        raise AssertionError("a new connection answers or fails")

    async def _exchange(self, request: bytes) -> Tuple[int, Dict[str, str], bytes]:
        assert self._streams is not None
        reader, writer = self._streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        pairs = (line.split(":", 1) for line in head.split("\r\n")[1:] if ":" in line)
        headers = {name.lower(): value.strip() for name, value in pairs}
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(head.split(" ", 2)[1]), headers, body

    async def post(self, path: str, /, **body: object) -> dict:
        status, _, answer = await self.ask("POST", path, body)
        assert status == 200, (path, status, answer)
        return json.loads(answer)["data"]

    async def get(self, path: str) -> bytes:
        status, _, answer = await self.ask("GET", path)
        assert status == 200, (path, status, answer)
        return answer

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@contextlib.asynccontextmanager
async def connection(port: int, headers: str = "") -> AsyncIterator[Connection]:
    made = Connection(port, headers)
    try:
        yield made
    finally:
        made.close()


async def open_socket(port: int, path: str) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A WebSocket; what it says first has arrived."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
    assert b" 101 " in head, head
    await asyncio.wait_for(reader.readexactly(2), PATIENCE)
    return reader, writer


async def crowd(server: Server, count: int, said: bytes) -> List[asyncio.StreamWriter]:
    """Clients that say this and no more."""
    made = []
    for _ in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(said)
        made.append(writer)
    return made


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


def percentile(times: List[float], percent: int) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def percentiles(times: List[float]) -> str:
    return ", ".join(f"p{percent} {1000 * percentile(times, percent):.2f} ms" for percent in (50, 99))
