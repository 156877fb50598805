"""The list of what is being done: live, in every pane that is open, and without anybody's secrets."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Callable, Dict, List

import httpx
import pytest
from playwright.sync_api import Page, expect
from screens import PATIENCE
from server import Server

TOKEN = "hunter2-is-not-for-show"


def call(http: httpx.Client, path: str, **body: Any) -> Dict[str, Any]:
    answer = http.post(path, json=body)
    answer.raise_for_status()
    return answer.json()


def entries(http: httpx.Client, **query: Any) -> List[Dict[str, Any]]:
    listed: List[Dict[str, Any]] = http.get("/v1/activity", params=query).json()["data"]["entries"]
    return listed


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    return tmp_path / "gate"


def test_a_command_shows_while_it_runs_and_when_it_has_ended(
    dashboard: Page, server: Server, gate: Path
) -> None:
    lines = dashboard.locator('[data-pane="activity"] li', has_text="live-command")
    # The list must be followed before there is something to see.
    expect(dashboard.locator('[data-pane="activity"] .loading')).to_have_count(0, timeout=PATIENCE)
    command = f"echo live-command; until [ -e {gate} ]; do sleep 0.05; done"
    running = threading.Thread(target=lambda: call(server.http, "/v1/bash/exec", command=command))
    running.start()
    try:
        expect(lines).to_have_attribute("data-outcome", "running", timeout=PATIENCE)
    finally:
        gate.touch()
        running.join()
    expect(lines).to_have_attribute("data-outcome", "ok", timeout=PATIENCE)


def test_secrets_are_masked_on_the_screen_and_on_the_wire(dashboard: Page, http: httpx.Client) -> None:
    call(http, "/v1/bash/exec", command=f"MARKED=1 API_TOKEN={TOKEN} true", env={"OTHER": TOKEN})
    line = dashboard.locator('[data-pane="activity"] li', has_text="MARKED=1")
    expect(line.first).to_contain_text("API_TOKEN=•••", timeout=PATIENCE)
    assert TOKEN not in dashboard.content()
    assert TOKEN not in http.get("/v1/activity", params={"limit": 500}).text


def test_every_face_and_every_area_is_listed_with_how_it_went(server: Server, http: httpx.Client) -> None:
    start = http.get("/v1/activity").json()["data"]["next"]
    call(http, "/v1/file/write", file=str(server.workspace / "listed.txt"), content="some")
    call(http, "/v1/code/execute", language="python", code="print('listed')")
    http.post("/v1/shell/view", json={"id": "nobody-has-this"})
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "sandbox_execute_bash", "arguments": {"cmd": "echo by-mcp"}},
    }
    accept = {"Accept": "application/json, text/event-stream"}
    http.post("/mcp", json=message, headers=accept).raise_for_status()
    seen = {entry["operation"]: entry for entry in entries(http, after=start, limit=500)}
    assert seen["file_write"]["summary"].endswith("listed.txt")
    assert (seen["file_write"]["outcome"], seen["file_write"]["via"]) == ("ok", "rest")
    assert seen["code_execute"]["summary"] == "print('listed')"
    failed = seen["shell_view"]
    assert (failed["outcome"], failed["error_code"]) == ("failed", "shell.session_not_found")
    by_mcp = [entry for entry in seen.values() if entry["via"] == "mcp" and "by-mcp" in entry["summary"]]
    assert by_mcp and all(isinstance(entry["duration_ms"], int) for entry in by_mcp)


def test_looking_at_it_is_not_part_of_it(http: httpx.Client) -> None:
    start = http.get("/v1/activity").json()["data"]["next"]
    for path in ("/v1/activity", "/v1/ping", "/health", "/v1/limits", "/v1/sandbox", "/v1/shell/sessions"):
        http.get(path).raise_for_status()
    assert http.get("/v1/activity", params={"after": start}).json()["data"]["entries"] == []


def test_the_list_has_a_bound_and_says_what_it_forgot(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"ATOLL_LIMIT_ACTIVITY_ENTRIES": "5"})
    with server.http as http:
        for count in range(8):
            call(http, "/v1/bash/exec", command=f"true {count}")
        told = http.get("/v1/activity", params={"limit": 500}).json()["data"]
    assert [entry["summary"] for entry in told["entries"]] == [f"true {count}" for count in range(3, 8)]
    assert told["forgotten"] == 3


def test_who_called_is_told_where_there_are_credentials(start_server: Callable[..., Server]) -> None:
    key = "ui-key-0123456789abcdef"
    server = start_server(environment={"SANDBOX_API_KEY": key})
    with httpx.Client(base_url=server.url, headers={"X-API-Key": key}, timeout=120) as http:
        call(http, "/v1/bash/exec", command="true")
        [entry] = entries(http)
    assert entry["subject"]
    assert httpx.get(f"{server.url}/v1/activity").status_code == 401
