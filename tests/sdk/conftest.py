"""Fixtures for every suite: a server, the unmodified SDK, and things to make waiting exact.

`server` and `client` are shared by the whole run; `start_server` makes further servers with flags or environment of
their own. When a test fails, what the servers logged during it is printed with it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import httpx
import pytest
from agent_sandbox import Sandbox
from bashes import Bash
from server import Server
from shells import Shell
from waiting import Gate, Marker

# A proxy of the developer's must not see calls to the server.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

_servers: List[Server] = []
_log_sizes: Dict[Server, int] = {}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server most tests share."""
    started = Server(tmp_path_factory.mktemp("atoll"))
    _servers.append(started)
    yield started
    _servers.remove(started)
    assert started.stop() == 0, started.log()


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers that end with the test; takes `arguments`, `environment`, `listen`, `wrapper` and `directory`."""
    started: List[Server] = []

    def start(directory: Optional[Path] = None, **options: Any) -> Server:
        server = Server(directory or tmp_path / f"server-{len(started)}", **options)
        started.append(server)
        _servers.append(server)
        return server

    yield start
    for server in started:
        server.stop()
        _servers.remove(server)


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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    for each in _servers:
        _log_sizes[each] = each.log_size()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.failed:
        for each in _servers:
            log = each.log(_log_sizes.get(each, 0))
            report.sections.append((f"log of the server at {each.url}", log or "(nothing)"))


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
