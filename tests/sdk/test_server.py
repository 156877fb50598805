"""The program around the operations: how it starts, what it answers beside them, how it ends."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Callable
from urllib.parse import urlparse

import httpx
import pytest
from bashes import Bash
from server import Server
from shells import Shell, lines
from sockets import Terminal
from waiting import Marker


def test_it_says_that_it_lives(http: httpx.Client) -> None:
    assert http.get("/health").status_code == 200
    ping = http.get("/v1/ping")
    assert (ping.status_code, ping.json()["success"]) == (200, True)


def test_it_counts_what_it_does(http: httpx.Client) -> None:
    http.get("/v1/ping")

    metrics = http.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    samples = [line for line in metrics.text.splitlines() if line and not line.startswith("#")]
    assert any("system_ping" in line and not line.endswith(" 0") for line in samples)


def test_it_shows_its_limits(http: httpx.Client) -> None:
    limits = http.get("/v1/limits").json()["data"]

    assert limits
    assert all(type(value) is int and value > 0 for value in limits.values())


def test_it_introduces_itself_to_agents(http: httpx.Client) -> None:
    text = http.get("/llms.txt").text

    assert text.startswith("System Environment")
    assert "/v1/docs" in text


def test_it_serves_its_contract(http: httpx.Client) -> None:
    document = http.get("/v1/openapi.json").json()

    assert document["openapi"].startswith("3.1")
    assert "post" in document["paths"]["/v1/bash/exec"]


def test_its_pages_ask_no_other_machine(http: httpx.Client, server: Server) -> None:
    page = http.get("/v1/docs", follow_redirects=True)
    if page.status_code == 503:
        pytest.skip("built without the web pages")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    assert loaded
    for reference in loaded:
        address = httpx.URL(str(page.url)).join(reference)
        assert address.host == urlparse(server.url).hostname
        assert http.get(str(address)).status_code == 200


def test_sigterm_ends_it_and_everything_it_started(
    start_server: Callable[..., Server], make_marker: Callable[[], Marker]
) -> None:
    server = start_server()
    in_shell, in_bash, detached = make_marker(), make_marker(), make_marker()
    shell, bash = Shell(server.client), Bash(server.client)
    shell.start(in_shell.command)
    bash.start(f"(setsid {detached.command} &); {in_bash.command}")
    for each in (in_shell, in_bash, detached):
        each.wait_until_running()

    with Terminal(server, session_id=shell.id) as terminal:
        terminal.receive_until(lambda: bool(terminal.of_type("ready")), "ready")
        assert server.stop() == 0

    for each in (in_shell, in_bash, detached):
        each.wait_until_gone()


def test_its_death_leaves_nothing_behind(
    start_server: Callable[..., Server], make_marker: Callable[[], Marker]
) -> None:
    server = start_server()
    in_shell, in_bash = make_marker(), make_marker()
    Shell(server.client).start(in_shell.command)
    Bash(server.client).start(in_bash.command)
    in_shell.wait_until_running()
    in_bash.wait_until_running()

    server.process.send_signal(signal.SIGKILL)

    in_shell.wait_until_gone()
    in_bash.wait_until_gone()


def test_it_listens_on_a_unix_socket(start_server: Callable[..., Server], tmp_path: Path) -> None:
    path = tmp_path / "atoll.sock"
    start_server(listen=str(path))

    transport = httpx.HTTPTransport(uds=str(path))
    with httpx.Client(transport=transport, base_url="http://localhost") as http:
        answer = http.post("/v1/bash/exec", json={"command": "echo over the socket"})
        assert answer.json()["data"]["stdout"] == lines("over the socket")
