"""Starts and ends a real `atoll serve` for the tests.

The binary is named by `ATOLL_BIN`. It listens on a port of its own choosing and says so in a file once it accepts
connections. Home and workspace are temporary; the environment is built here, so that nothing of the developer's
reaches the server by accident.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Sequence

import httpx
from agent_sandbox import Sandbox
from waiting import DEADLINE, eventually

STOP_SECONDS = 60
TOOLS = Path(__file__).parents[2] / ".tools"
CODE_SERVER = TOOLS / "code-server" / "bin"
SANDBOX_PYTHON = TOOLS / "sandbox-python" / "bin"


def binary() -> str:
    """Path of the program under test."""
    path = os.environ.get("ATOLL_BIN")
    assert path, "ATOLL_BIN must name the atoll binary: run `make test SECTIONS=sdk`"
    assert os.access(path, os.X_OK), f"ATOLL_BIN={path} is not an executable file"
    return path


class Server:
    """A running server. A `wrapper` is a command that becomes the server: it must end by executing its arguments."""

    def __init__(
        self,
        directory: Path,
        arguments: Sequence[str] = (),
        environment: Optional[Dict[str, str]] = None,
        listen: str = "127.0.0.1:0",
        wrapper: Sequence[str] = (),
    ) -> None:
        self.home = directory / "home"
        self.workspace = directory / "workspace"
        self.log_path = directory / "server.log"
        self._ready = directory / "ready"
        for path in (self.home, self.workspace):
            path.mkdir(parents=True)
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *wrapper,
                    binary(),
                    "serve",
                    *("--listen", listen),
                    *("--ready-file", str(self._ready)),
                    *("--home", str(self.home)),
                    *("--workspace", str(self.workspace)),
                    *arguments,
                ],
                env={**_environment(self.home), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self.url = eventually(self._address, "the server is ready", DEADLINE).rstrip("/")
        except BaseException:
            self.stop()
            raise

    def _address(self) -> Optional[str]:
        code = self.process.poll()
        assert code is None, f"the server ended with {code} before it was ready:\n{self.log()}"
        return self._ready.read_text().strip() if self._ready.exists() else None

    @property
    def client(self) -> Sandbox:
        """The public SDK, unmodified, pointed here."""
        return Sandbox(base_url=self.url, timeout=120)

    @property
    def http(self) -> httpx.Client:
        """A plain HTTP client, for what the SDK cannot say."""
        return httpx.Client(base_url=self.url, timeout=120)

    def socket_url(self, path: str) -> str:
        """Address of a WebSocket of this server."""
        return self.url.replace("http", "ws", 1) + path

    def log(self, start: int = 0) -> str:
        """What the server has logged from this byte on."""
        return self.log_path.read_bytes()[start:].decode(errors="replace")

    def log_size(self) -> int:
        return self.log_path.stat().st_size

    def stop(self) -> int:
        """Ends the server as an operator would, and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not stop on SIGTERM:\n{self.log()}") from None


def _environment(home: Path) -> Dict[str, str]:
    kept: List[str] = ["PATH", "TMPDIR", "RUST_BACKTRACE"]
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # As `make run` has it: the sandbox's own Python first, VS Code last.
    environment["PATH"] = f"{SANDBOX_PYTHON}:{environment['PATH']}:{CODE_SERVER}"
    return {**environment, "HOME": str(home), "LANG": "C.UTF-8"}
