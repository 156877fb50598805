"""What goes over the wire: requests that are less than the specification asks for, and those that are wrong."""

from __future__ import annotations

import json
from typing import Any, Dict

import httpx
import pytest
from server import Server

BOTH = {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture
def http(server: Server) -> httpx.Client:
    return server.http


def events(response: httpx.Response) -> Any:
    """The messages of an answer that is a stream."""
    lines = [line[5:].strip() for line in response.text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line]


def open_session(http: httpx.Client) -> Dict[str, str]:
    opened = http.post("/mcp", json=INITIALIZE, headers=BOTH)
    assert opened.status_code == 200
    headers = {**BOTH, "Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert http.post("/mcp", json=note, headers=headers).status_code == 202
    return headers


def test_the_documented_snippet_works(http: httpx.Client) -> None:
    bare = {"method": "tools/call", "params": {"name": "sandbox_execute_bash", "arguments": {"cmd": "echo hi"}}}
    answer = http.post("/mcp", json=bare)
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["structuredContent"]["output"] == "hi\n"
    assert answer.json()["jsonrpc"] == "2.0"


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/event-stream"])
@pytest.mark.parametrize("path", ["/mcp", "/v1/mcp", "/mcp/"])
def test_no_session_is_needed(http: httpx.Client, accept: str, path: str) -> None:
    message = {"jsonrpc": "2.0", "id": "x", "method": "tools/list"}
    answer = http.post(path, json=message, headers={"Accept": accept})
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == "x" and answer.json()["result"]["tools"]


def test_initialize_without_streams_is_answered_as_json_without_a_session(http: httpx.Client) -> None:
    answer = http.post("/mcp", json=INITIALIZE)
    assert answer.json()["result"]["serverInfo"]["name"] == "atoll"
    assert answer.json()["result"]["protocolVersion"] == "2025-06-18"
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_revision_is_agreed_to(http: httpx.Client, version: str) -> None:
    message = json.loads(json.dumps(INITIALIZE))
    message["params"]["protocolVersion"] = version
    opened = http.post("/mcp", json=message, headers=BOTH)
    assert events(opened)[0]["result"]["protocolVersion"] == version


def test_a_session_is_opened_used_resumed_and_ended(http: httpx.Client) -> None:
    headers = open_session(http)
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    answer = http.post("/mcp", json=ping, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert events(answer)[-1] == {"jsonrpc": "2.0", "id": 2, "result": {}}
    # Without a stream the same session answers as JSON.
    plain = http.post("/mcp", json=ping, headers={**headers, "Accept": "application/json"})
    assert plain.json()["result"] == {}
    with http.stream("GET", "/mcp", headers={**headers, "Accept": "text/event-stream"}) as stream:
        assert stream.status_code == 200 and stream.headers["content-type"].startswith("text/event-stream")
    assert http.delete("/mcp", headers=headers).status_code in (200, 202, 204)
    assert http.post("/mcp", json=ping, headers=headers).status_code == 404


@pytest.mark.parametrize("accept", [BOTH["Accept"], "application/json"])
def test_a_session_that_does_not_exist_is_not_found(http: httpx.Client, accept: str) -> None:
    headers = {"Accept": accept, "Mcp-Session-Id": "nowhere"}
    answer = http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"{}", -32600),
        (b'"ping"', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
    ],
)
def test_what_is_no_message_is_refused(http: httpx.Client, body: bytes, code: int) -> None:
    answer = http.post("/mcp", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and answer.json()["error"]["code"] == code
    assert http.get("/v1/ping").status_code == 200


def test_an_unknown_method_is_a_protocol_error(http: httpx.Client) -> None:
    answer = http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/forget"})
    assert answer.json()["error"]["code"] == -32601


def test_a_message_that_is_too_large_is_refused(start_server: Any) -> None:
    server = start_server(environment={"ATOLL_LIMIT_LARGE_BODY_BYTES": "100000"})
    big = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x" * 200000}}
    with server.http as http:
        answer = http.post("/mcp", json=big)
        assert answer.status_code == 413 and "large_body_bytes" in answer.json()["error"]["message"]
        assert http.post("/mcp", json={"method": "ping"}).json()["result"] == {}


def test_sessions_have_a_bound(start_server: Any) -> None:
    server = start_server(environment={"ATOLL_LIMIT_MCP_SESSIONS": "2"})
    with server.http as http:
        first = open_session(http)
        open_session(http)
        refused = http.post("/mcp", json=INITIALIZE, headers=BOTH)
        assert refused.status_code == 429 and "mcp_sessions" in refused.json()["error"]["message"]
        assert http.post("/mcp", json={"method": "tools/list"}).status_code == 200, "calls without one still work"
        http.delete("/mcp", headers=first)
        open_session(http)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.test"}, {"Origin": "http://evil.test"}, {"Host": "127.0.0.1.evil.test:80"}, {"Origin": "null"}],
)
def test_pages_of_others_are_kept_out(http: httpx.Client, headers: Dict[str, str]) -> None:
    answer = http.post("/mcp", json=INITIALIZE, headers={**BOTH, **headers})
    assert answer.status_code == 403


def test_a_browser_is_told_what_this_is(http: httpx.Client) -> None:
    answer = http.get("/mcp", headers={"Accept": "text/html"})
    assert answer.status_code == 405 and "MCP" in answer.json()["error"]["message"]


def test_scopes_hold_for_tools(start_server: Any, tmp_path: Any) -> None:
    import hashlib

    keys = tmp_path / "keys"
    keys.write_text(f"reader {hashlib.sha256(b'reading').hexdigest()} mcp,file:read\n")
    keys.chmod(0o600)
    server = start_server(arguments=["--api-keys-file", str(keys)])
    message = lambda name, arguments: {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
    with server.http as http:
        assert http.post("/mcp", json=message("file_list", {"path": "/"})).status_code == 401
        http.headers["X-API-Key"] = "reading"
        assert not http.post("/mcp", json=message("file_list", {"path": "/"})).json()["result"]["isError"]
        refused = http.post("/mcp", json=message("sandbox_execute_bash", {"cmd": "id"})).json()["result"]
        assert refused["isError"] and "shell:write" in refused["content"][0]["text"]
