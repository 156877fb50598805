"""Programs without measure, servers that are killed, and input made up by the hundred thousand."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import List

from harness import PATIENCE, Connection, Server, connection, percentile, percentiles, serving, timed

REPOSITORY = Path(__file__).parents[2]
SLOWEST = 0.05
# Programs that take whatever they can get, with what they take.
BOMB = "bomb() { bomb | bomb & }; bomb; wait"
OFFENDERS = {
    "a fork bomb": BOMB,
    "memory": "while :; do dd if=/dev/zero of=/dev/null bs=700M count=1 2>/dev/null; done",
    "output": "yes",
    "the disk": "while dd if=/dev/zero of=$HOME/fill bs=1M count=64 2>/dev/null; do rm $HOME/fill; done",
    "processors": "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait",
}


async def offenders(options: argparse.Namespace) -> None:
    environment = {
        "ATOLL_LIMIT_SESSION_PROCESSES": "200",
        "ATOLL_LIMIT_SESSION_MEMORY_BYTES": str(400 << 20),
        # Says how the limits are kept.
        "ATOLL_LOG_LEVEL": "info",
    }
    slow: List[str] = []
    with serving(environment) as server:
        contained = "processes by control groups" in server.log()
        for what, command in OFFENDERS.items():
            if command == BOMB and not contained:
                print("offenders: no fork bomb: no control group can be made here, and nobody would contain it")
                continue
            async with connection(server.port) as line, connection(server.port) as other:
                await line.post("/v1/bash/sessions/create", session_id="offender")
                await line.post("/v1/bash/exec", session_id="offender", command=command, async_mode=True)
                await asyncio.sleep(options.seconds / 5)
                health, commands = [], []
                end = time.monotonic() + options.seconds
                while time.monotonic() < end:
                    health.append(await timed(lambda: other.get("/health")))  # noqa: B023
                    commands.append(await timed(lambda: other.post("/v1/bash/exec", command="true")))  # noqa: B023
                await line.ask("POST", "/v1/bash/sessions/offender/close", {})
                again = await timed(lambda: other.post("/v1/bash/exec", command="true"))  # noqa: B023
                await server.settle()
            zombies = server.descendants[1]
            print(f"offenders: while one takes {what}: health {percentiles(health)}; a command {percentiles(commands)}; "
                  f"after it {1000 * again:.1f} ms; zombies {zombies}")
            if percentile(health, 99) >= SLOWEST or again > 2 or zombies:
                slow.append(what)
    assert not slow, f"others suffer from one that takes {', '.join(slow)}"


async def crashes(options: argparse.Namespace) -> None:
    """Killed in the middle of writing, again and again: a file is its old or its new self, and nothing runs on."""
    size, written, torn, left = 200_000, 0, 0, 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        content = Path(directory) / "home" / "content"
        marker = f"sleep {100_000 + os.getpid()}"
        for number in range(options.crashes):
            server = Server(Path(directory))
            lines = [Connection(server.port) for _ in range(4)]

            async def write(line: Connection, digit: int) -> None:
                nonlocal written
                while True:
                    text = str(digit) * size
                    await line.post("/v1/file/write", file=str(content), content=text)  # noqa: B023
                    written += 1

            await lines[0].post("/v1/bash/exec", command=f"{marker} & {marker}", async_mode=True)
            tasks = [asyncio.create_task(write(line, digit)) for digit, line in enumerate(lines)]
            await asyncio.sleep(0.02 + (number % 10) / 100)
            server.kill()
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, asyncio.IncompleteReadError, OSError):
                    await task
            for line in lines:
                line.close()
            text = content.read_text() if content.exists() else ""
            torn += text != "" and (len(text) != size or len(set(text)) != 1)
            left += await _still_runs(marker)
        names = sorted(path.name for path in content.parent.iterdir())
    print(f"crashes: {options.crashes} servers killed in the middle of {written} writes; {torn} files torn, {left} programs left "
          f"running, names beside the file: {len(names) - 1}")
    assert torn == 0 and left == 0, "a killed server leaves something broken"


async def _still_runs(marker: str) -> bool:
    """Whether a program of the killed server goes on; it has a moment to end."""
    deadline = time.monotonic() + PATIENCE
    wanted = marker.replace(" ", "\0") + "\0"
    while time.monotonic() < deadline:
        found = False
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError):
                    found |= Path(f"/proc/{entry}/cmdline").read_text() == wanted
        if not found:
            return False
        await asyncio.sleep(0.05)
    return True


FUZZED = (
    ("atoll-archive", "archive", ["fuzz::", "mutation::"]),
    ("atoll-http", "face", ["fuzz::"]),
    ("atoll", "serve", ["coercion::"]),
)


async def fuzz(options: argparse.Namespace) -> None:
    """The tests with made-up input, for longer than `make test` runs them."""
    environment = {**os.environ, "ATOLL_FUZZ_ROUNDS": str(options.rounds), "ATOLL_FUZZ_SEED": str(options.seed)}
    for package, target, names in FUZZED:
        words = ["cargo", "test", "--quiet", "--package", package, "--test", target, "--", "--nocapture", *names]
        ran = subprocess.run(words, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
        said = ran.stdout + ran.stderr
        for line in re.findall(r"^.*(fuzzed .*)$", said, re.MULTILINE):
            print(f"fuzz: {line}, seed {options.seed}")
        assert ran.returncode == 0, said[-3000:]
