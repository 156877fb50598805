"""Waiting for conditions, and telling processes apart. Tests never sleep for a time that should be enough."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Callable, List, Optional, TypeVar

DEADLINE = 60.0
PAUSE = 0.02

T = TypeVar("T")


def eventually(condition: Callable[[], Optional[T]], what: str, deadline: float = DEADLINE) -> T:
    """Returns the first truthy value of `condition`; fails when the deadline passes."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"still waiting after {deadline:.0f} s: {what}"
        time.sleep(PAUSE)


class Gate:
    """A file commands wait for: they go on when the test says so, however slow the machine is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Bash source that ends once the gate is open.
        self.wait = f"until [ -e {path} ]; do sleep 0.05; done"

    def open(self) -> None:
        self.path.touch()


class Marker:
    """A process nobody else has: a long sleep for a time like no other."""

    _count = 0

    def __init__(self) -> None:
        Marker._count += 1
        self.argument = f"{86_400 + os.getpid()}.{Marker._count:06}"
        self.command = f"sleep {self.argument}"

    def pids(self) -> List[int]:
        """The live processes that sleep for this time; a zombie has no arguments and does not count."""
        wanted = ["sleep", self.argument]
        return [pid for pid in _all_pids() if _arguments(pid) == wanted]

    def wait_until_running(self, count: int = 1) -> None:
        eventually(lambda: len(self.pids()) == count, f"{count} × {self.command} running")

    def wait_until_gone(self) -> None:
        eventually(lambda: not self.pids(), f"no {self.command} left")

    def kill(self) -> None:
        """Ends what a failed test left behind."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)


def _all_pids() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _arguments(pid: int) -> List[str]:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return raw.decode(errors="replace").split("\0")[:-1]
