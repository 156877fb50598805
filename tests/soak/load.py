"""Much, many and long: sessions by the thousand, clients that say nothing or never finish, an hour of commands."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from typing import Awaitable, Callable, List, Tuple

from harness import Connection, Server, connection, crowd, open_socket, percentile, percentiles, serving, timed

# A new connection and its request, at worst, while others are a nuisance.
SLOWEST = 0.05
# Processes that wait for the next command, more or fewer as it happens.
WAITING = 8
# Before anything is counted: tables fill, the allocator finds its size.
WARM_UP = 600


class Cycles:
    """One of each kind of session, made and closed again."""

    def __init__(self, server: Server, line: Connection) -> None:
        self._server, self._line = server, line
        self.kinds: List[Callable[[int], Awaitable[None]]] = [
            self._shell, self._bash, self._terminal, self._watcher, self._client, self._socket,
        ]

    async def run(self, number: int) -> None:
        await self.kinds[number % len(self.kinds)](number)

    async def _shell(self, number: int) -> None:
        made = await self._line.post("/v1/shell/sessions/create", id=f"s{number}")
        await self._line.post("/v1/shell/exec", id=made["session_id"], command="true")
        await self._end("DELETE", f"/v1/shell/sessions/{made['session_id']}")

    async def _bash(self, number: int) -> None:
        made = await self._line.post("/v1/bash/sessions/create", session_id=f"b{number}")
        await self._line.post("/v1/bash/exec", session_id=made["session_id"], command="true")
        await self._end("POST", f"/v1/bash/sessions/{made['session_id']}/close")

    async def _terminal(self, number: int) -> None:
        made = await self._line.post("/v1/shell/sessions/create", id=f"t{number}")
        _, writer = await open_socket(self._server.port, f"/v1/shell/ws?session_id={made['session_id']}")
        writer.close()
        await self._end("DELETE", f"/v1/shell/sessions/{made['session_id']}")

    async def _watcher(self, number: int) -> None:
        made = await self._line.post("/v1/file/watch", path=str(self._server.home))
        await self._end("DELETE", f"/v1/file/watch/{made['watcher_id']}")

    async def _client(self, number: int) -> None:
        hello = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "soak", "version": "1"},
            },
        }
        accept = "Accept: application/json, text/event-stream\r\n"
        status, headers, answer = await self._line.ask("POST", "/mcp", hello, accept)
        assert status == 200, (status, answer)
        session = f"{accept}Mcp-Session-Id: {headers['mcp-session-id']}\r\n"
        status, _, answer = await self._line.ask("DELETE", "/mcp", None, session)
        assert status < 300, (status, answer)

    async def _socket(self, number: int) -> None:
        made = await self._line.post("/v1/bash/sessions/create", session_id=f"w{number}")
        _, writer = await open_socket(self._server.port, f"/v1/bash/ws?session_id={made['session_id']}")
        writer.close()
        await self._end("POST", f"/v1/bash/sessions/{made['session_id']}/close")

    async def _end(self, method: str, path: str) -> None:
        status, _, answer = await self._line.ask(method, path, {} if method == "POST" else None)
        assert status == 200, (path, status, answer)


async def sessions(options: argparse.Namespace) -> None:
    with serving() as server:
        async with connection(server.port) as line:
            cycles = Cycles(server, line)
            for number in range(min(WARM_UP, options.cycles)):
                await cycles.run(number)
            await server.settle()
            await line.get("/health")
            before = (server.files, server.threads, server.descendants[0], server.memory)
            times = [await timed(lambda: cycles.run(number)) for number in range(options.cycles)]  # noqa: B023
            await server.settle()
            await line.get("/health")
            after = (server.files, server.threads, server.descendants[0], server.memory)
            zombies = server.descendants[1]
            slope = (after[3] - before[3]) / options.cycles
            print(f"sessions: {options.cycles} cycles of six kinds, {percentiles(times)}; files {before[0]} -> {after[0]}, "
                  f"threads {before[1]} -> {after[1]}, processes {before[2]} -> {after[2]}, zombies {zombies}, "
                  f"{slope:.3f} KiB a cycle")
            assert after[0] <= before[0], "files are left open"
            assert after[1] <= before[1], "threads are left"
            assert after[2] <= before[2] + WAITING and zombies == 0, "processes are left"
            assert slope < 1, "memory is left"


async def dribbling(options: argparse.Namespace) -> None:
    with serving() as server:
        head = b"GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
        body = b"POST /v1/bash/exec HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{"
        half = options.dribbling // 2
        held = await crowd(server, half, head) + await crowd(server, options.dribbling - half, body)
        stop = asyncio.Event()

        async def dribble() -> None:
            while not stop.is_set():
                for writer in held:
                    if not writer.is_closing():
                        writer.write(b"x")
                await asyncio.sleep(1)

        task = asyncio.create_task(dribble())
        times = []
        for _ in range(options.requests):
            async with connection(server.port) as line:
                times.append(await timed(lambda: line.get("/v1/limits")))  # noqa: B023
        stop.set()
        await task
        print(f"dribbling: {len(held)} clients that never finish; a new connection and request: {percentiles(times)}")
        for writer in held:
            writer.close()
        assert percentile(times, 99) < SLOWEST, "others wait"


async def idle(options: argparse.Namespace) -> None:
    with serving({"ATOLL_LIMIT_CONNECTIONS": str(options.idle + 100)}) as server:
        async with connection(server.port) as line:
            await line.get("/health")
            before = server.memory
            held = await crowd(server, options.idle, b"")
            await line.get("/health")
            opened, files = (server.memory - before) / options.idle, server.files
            times = [await timed(lambda: line.get("/v1/limits")) for _ in range(options.requests)]
            print(f"idle: {options.idle} connections that say nothing, {files} files open; {opened:.2f} KiB each; a request: "
                  f"{percentiles(times)}")
            for writer in held:
                writer.close()
            assert files > options.idle, "some were turned away"
            assert opened <= 10 and percentile(times, 99) < SLOWEST, "they cost too much"


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
                due += len(lines) / options.rate

        async def watch() -> None:
            while time.monotonic() < end:
                samples.append((time.monotonic() - started, server.memory))
                await asyncio.sleep(max(1.0, options.minutes * 60 / 200))

        await asyncio.gather(watch(), *(work(line, number / options.rate) for number, line in enumerate(lines)))
        for line in lines:
            line.close()
        # The first tenth is warming up: caches fill, the allocator finds its size.
        settled = [used for at, used in samples if at > 6 * options.minutes]
        first = statistics.median(settled[: max(1, len(settled) // 5)])
        last = statistics.median(settled[-max(1, len(settled) // 5):])
        half = len(times) // 2
        drift = 100 * (last - first) / first
        await server.settle()
        zombies = server.descendants[1]
        print(f"steady: {len(times)} commands in {options.minutes:g} minutes, {percentiles(times)}; p99 of the halves "
              f"{1000 * percentile(times[:half], 99):.2f} and {1000 * percentile(times[half:], 99):.2f} ms; memory "
              f"{first:.0f} -> {last:.0f} KiB ({drift:+.1f} %); zombies {zombies}")
        assert len(times) > 0.95 * 60 * options.minutes * options.rate, "it falls behind"
        assert drift < 5 and zombies == 0, "something is left of each command"
