#!/usr/bin/env python3
"""Long and crowded: what a test of seconds cannot show. Needs nothing but Python and `ATOLL_BIN`.

    soak.py [--minutes 60] [--cycles 5000] [--idle 10000] [--dribbling 1000] [part...]

Parts: sessions (create and close, nothing may be left), dribbling (clients that never finish), idle (open connections
that say nothing), auth (what asking for a credential costs), steady (50 commands a second). Each prints its numbers and
fails when a promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Optional, Tuple

KEY = "soak-key-0123456789abcdef"
PATIENCE = 60


class Server:
    """A running server."""

    def __init__(self, directory: Path, environment: Optional[Dict[str, str]] = None) -> None:
        ready, self.log = directory / "ready", directory / "log"
        (directory / "home").mkdir()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [os.environ["ATOLL_BIN"], "serve", "--listen", "127.0.0.1:0", "--ready-file", str(ready)],
                env={"PATH": os.environ["PATH"], "HOME": str(directory / "home"), "ATOLL_LOG_LEVEL": "warn"}
                | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE
        while not ready.exists():
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.01)
        self.port = int(ready.read_text().strip().rsplit(":", 1)[1])

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
        raise KeyError(name)

    @property
    def rss(self) -> int:
        """KiB of memory in use."""
        return self._status("VmRSS:")

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

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def serving(environment: Optional[Dict[str, str]] = None) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory), environment)
        try:
            yield server
        finally:
            server.stop()


class Connection:
    """One kept-alive HTTP connection."""

    def __init__(self, port: int, headers: str = "") -> None:
        self._port, self._headers = port, headers
        self._streams: Optional[Tuple[asyncio.StreamReader, asyncio.StreamWriter]] = None

    async def ask(self, method: str, path: str, body: Optional[dict] = None) -> Tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        sent = json.dumps(body).encode() if body is not None else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{self._headers}"
        writer.write(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        length = 0
        for line in answer.decode().split("\r\n"):
            if line.lower().startswith("content-length:"):
                length = int(line.split(":")[1])
        return int(answer.split(b" ", 2)[1]), await asyncio.wait_for(reader.readexactly(length), PATIENCE)

    async def post(self, path: str, **body: object) -> dict:
        status, answer = await self.ask("POST", path, body)
        assert status == 200, (path, status, answer)
        return json.loads(answer)["data"]

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


@contextlib.asynccontextmanager
async def connection(port: int, headers: str = "") -> AsyncIterator[Connection]:
    made = Connection(port, headers)
    try:
        yield made
    finally:
        made.close()


def percentiles(times: List[float]) -> str:
    ordered = sorted(times)
    return ", ".join(f"p{p} {1000 * ordered[min(len(ordered) - 1, len(ordered) * p // 100)]:.2f} ms" for p in (50, 99))


def p99(times: List[float]) -> float:
    return sorted(times)[len(times) * 99 // 100]


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


async def settle(server: Server, files: int) -> None:
    """Waits until the server has let go of everything that was used."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and (server.files > files or server.descendants[1]):
        await asyncio.sleep(0.2)


async def sessions(options: argparse.Namespace) -> None:
    with serving() as server:
        async with connection(server.port) as line:

            async def cycle(number: int) -> None:
                if number % 2:
                    made = await line.post("/v1/shell/sessions/create", id=f"s{number}")
                    await line.post("/v1/shell/exec", id=made["session_id"], command="true")
                    await line.ask("DELETE", f"/v1/shell/sessions/{made['session_id']}")
                else:
                    made = await line.post("/v1/bash/sessions/create", session_id=f"b{number}")
                    await line.post("/v1/bash/exec", session_id=made["session_id"], command="true")
                    status, _ = await line.ask("POST", f"/v1/bash/sessions/{made['session_id']}/close", {})
                    assert status == 200

            for number in range(200):
                await cycle(number)
            await settle(server, 0)
            before = (server.files, server.threads, server.descendants[0], server.rss)
            times = [await timed(lambda: cycle(number)) for number in range(options.cycles)]  # noqa: B023
            await settle(server, before[0])
            after = (server.files, server.threads, server.descendants[0], server.rss)
            zombies = server.descendants[1]
            slope = (after[3] - before[3]) / options.cycles
            print(f"sessions: {options.cycles} cycles, {percentiles(times)}; files {before[0]} -> {after[0]}, threads "
                  f"{before[1]} -> {after[1]}, processes {before[2]} -> {after[2]}, zombies {zombies}, "
                  f"{slope:.3f} KiB a cycle")
            assert after[0] <= before[0] and after[1] <= before[1] + 2 and zombies == 0 and slope < 1


async def crowd(server: Server, count: int, said: bytes) -> List[asyncio.StreamWriter]:
    made = []
    for _ in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(said)
        made.append(writer)
    return made


async def dribbling(options: argparse.Namespace) -> None:
    with serving() as server:
        head = b"GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
        body = b"POST /v1/bash/exec HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{"
        held = await crowd(server, options.dribbling // 2, head) + await crowd(server, options.dribbling // 2, body)
        stop = asyncio.Event()

        async def dribble() -> None:
            while not stop.is_set():
                for writer in held:
                    if not writer.is_closing():
                        writer.write(b"x")
                await asyncio.sleep(1)

        task = asyncio.create_task(dribble())
        times = []
        for _ in range(500):
            async with connection(server.port) as line:
                times.append(await timed(lambda: line.ask("GET", "/v1/limits")))  # noqa: B023
        stop.set()
        await task
        print(f"dribbling: {len(held)} clients that never finish; a new connection and request: {percentiles(times)}")
        assert p99(times) < 0.05
        for writer in held:
            writer.close()


async def idle(options: argparse.Namespace) -> None:
    with serving() as server:
        async with connection(server.port) as line:
            await line.ask("GET", "/health")
            before = server.rss
            held = await crowd(server, options.idle, b"")
            await line.ask("GET", "/health")
            opened = (server.rss - before) / options.idle
            times = [await timed(lambda: line.ask("GET", "/v1/limits")) for _ in range(500)]
            print(f"idle: {options.idle} connections that say nothing; {opened:.2f} KiB each; a request: "
                  f"{percentiles(times)}; files open {server.files}")
            assert opened <= 10 and p99(times) < 0.05
            for writer in held:
                writer.close()


async def auth(options: argparse.Namespace) -> None:
    medians = {}
    rounds = 3000
    with serving() as open_server, serving({"SANDBOX_API_KEY": KEY}) as locked:
        async with connection(open_server.port) as free, connection(locked.port, f"X-API-Key: {KEY}\r\n") as asked:
            times: Dict[str, List[float]] = {"without": [], "with a key": []}
            for _ in range(rounds):
                times["without"].append(await timed(lambda: free.ask("GET", "/v1/limits")))
                times["with a key"].append(await timed(lambda: asked.ask("GET", "/v1/limits")))
            medians = {name: statistics.median(each) for name, each in times.items()}
    cost = 1e6 * (medians["with a key"] - medians["without"])
    print(f"auth: GET /v1/limits {1e6 * medians['without']:.0f} µs without, {1e6 * medians['with a key']:.0f} µs with a "
          f"key: {cost:.0f} µs more")
    assert cost < 30


async def steady(options: argparse.Namespace) -> None:
    with serving() as server:
        lines = [Connection(server.port) for _ in range(8)]
        started = time.monotonic()
        end = started + 60 * options.minutes
        times: List[float] = []
        samples: List[Tuple[float, int]] = []

        async def work(line: Connection, offset: float) -> None:
            due = started + offset
            while due < end:
                await asyncio.sleep(max(0.0, due - time.monotonic()))

                async def run() -> None:
                    done = await line.post("/v1/bash/exec", command="echo steady")
                    assert done["stdout"] == "steady\n" and done["exit_code"] == 0, done

                times.append(await timed(run))
                due += len(lines) / 50

        async def watch() -> None:
            while time.monotonic() < end:
                samples.append((time.monotonic() - started, server.rss))
                await asyncio.sleep(max(1.0, options.minutes * 60 / 200))

        await asyncio.gather(watch(), *(work(line, number / 50) for number, line in enumerate(lines)))
        for line in lines:
            line.close()
        # The first tenth is warming up: caches fill, the allocator finds its size.
        settled = [rss for at, rss in samples if at > 6 * options.minutes]
        first = statistics.median(settled[: max(1, len(settled) // 5)])
        last = statistics.median(settled[-max(1, len(settled) // 5):])
        half = len(times) // 2
        drift = 100 * (last - first) / first
        print(f"steady: {len(times)} commands in {options.minutes} minutes, {percentiles(times)}; p99 of the halves "
              f"{1000 * p99(times[:half]):.2f} and {1000 * p99(times[half:]):.2f} ms; memory {first:.0f} -> {last:.0f} KiB "
              f"({drift:+.1f} %); zombies {server.descendants[1]}")
        assert drift < 5 and server.descendants[1] == 0


PARTS = {"sessions": sessions, "dribbling": dribbling, "idle": idle, "auth": auth, "steady": steady}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--cycles", type=int, default=5000)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--dribbling", type=int, default=1000)
    parser.add_argument("part", nargs="*", choices=[[], *PARTS])
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    options.idle = min(options.idle, hard - 1000)
    failed = []
    for name in options.part or PARTS:
        try:
            asyncio.run(PARTS[name](options))
        except AssertionError as error:
            failed.append(name)
            print(f"{name}: FAILED {error}")
    sys.exit(f"broken promises: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
