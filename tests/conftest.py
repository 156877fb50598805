"""What every suite with a running server shares: the servers themselves, and what they logged beside a test that failed.

`server` is shared by a whole run; `start_server` makes further servers with flags or environment of their own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest
from server import Server

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
            report.sections.append((f"log of the server at {each.url}", log[-20_000:] or "(nothing)"))
