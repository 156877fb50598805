"""A Go program that speaks the wire of deep-agent's SDK calls every one of its methods, with a token and without.

The SDK itself is no module that can be fetched, so the client is our own (`tests/go/deepagent`): the same calls, headers
and blind spots, with Go's standard library alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from server import Server

MODULE = Path(__file__).parents[1] / "go" / "deepagent"
SECRET = "a-shared-secret-0123456789abcdef"


def find_go() -> str:
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    assert found, "go is not installed: scripts/setup-system.sh test installs it"
    return found


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built without asking anybody for anything."""
    made = tmp_path_factory.mktemp("go")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(made),
        "GOCACHE": str(made / "cache"),
        "GOPATH": str(made / "path"),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }
    command = [find_go(), "build", "-o", str(made / "probe"), "./cmd/probe"]
    subprocess.run(command, cwd=MODULE, env=environment, check=True, timeout=600)
    return made / "probe"


def run(probe: Path, part: str, server: Server, secret: str = "") -> None:
    finished = subprocess.run(
        [str(probe), part, server.url, secret],
        capture_output=True,
        text=True,
        timeout=600,
        env={"NO_PROXY": "127.0.0.1"},
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert " 0 failed" in finished.stdout.splitlines()[-1]


def test_every_method_but_the_browsers(probe: Path, start_server: Callable[..., Server]) -> None:
    run(probe, "files", start_server())


def test_every_method_of_the_browser(probe: Path, start_server: Callable[..., Server]) -> None:
    run(probe, "browser", start_server())


def test_every_method_with_a_signed_token(probe: Path, start_server: Callable[..., Server]) -> None:
    strict = start_server(environment={"JWT_SECRET": SECRET, "JWT_AUTH_REQUIRED": "true"})
    run(probe, "files", strict, SECRET)
    run(probe, "browser", strict, SECRET)


def test_tokens_that_are_good_expired_forged_or_missing(probe: Path, start_server: Callable[..., Server]) -> None:
    strict = start_server(environment={"JWT_SECRET": SECRET, "JWT_AUTH_REQUIRED": "true"})
    run(probe, "auth", strict, SECRET)


def test_a_secret_alone_lets_in_who_comes_without_a_token(probe: Path, start_server: Callable[..., Server]) -> None:
    run(probe, "files", start_server(environment={"JWT_SECRET": SECRET}))
