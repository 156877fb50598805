"""Fixtures for the SDK suites: the unmodified SDK, and things to make waiting exact. Servers are in the conftest above."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Iterator, List

import httpx
import pytest
from agent_sandbox import Sandbox
from bashes import Bash
from server import Server
from shells import Shell
from waiting import Gate, Marker


@pytest.fixture(scope="session")
def client(server: Server) -> Sandbox:
    """The public SDK."""
    return server.client


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[httpx.Client]:
    """A plain HTTP client, for what the SDK cannot say."""
    with server.http as plain:
        yield plain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty directory to work in."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """A gate commands can wait at; it is open at the end, whatever happened."""
    made = Gate(tmp_path / "gate")
    yield made
    made.open()


@pytest.fixture
def make_marker() -> Iterator[Callable[[], Marker]]:
    """Makes markers; what is left of their processes is killed at the end."""
    made: List[Marker] = []

    def make() -> Marker:
        made.append(Marker())
        return made[-1]

    yield make
    for each in made:
        each.kill()


@pytest.fixture
def marker(make_marker: Callable[[], Marker]) -> Marker:
    """A process to recognise."""
    return make_marker()


@pytest.fixture
def shell(client: Sandbox) -> Iterator[Shell]:
    """A shell session of the test's own."""
    session = Shell(client)
    yield session
    session.close()


@pytest.fixture
def bash(client: Sandbox) -> Iterator[Bash]:
    """A bash session of the test's own."""
    session = Bash(client)
    yield session
    session.close()
