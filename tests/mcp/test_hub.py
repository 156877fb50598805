"""Other servers behind this one: a well-known one from npm, and some that misbehave."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, List

import anyio
import pytest
from clients import MODES, asked, call, names, text, use
from mcp import Client
from server import Server
from waiting import eventually


@pytest.mark.parametrize("mode", MODES)
def test_tools_of_another_server_are_listed_and_called(
    hub_server: Callable[..., Server], everything: Dict[str, Any], mode: str
) -> None:
    server = hub_server({"everything": everything})
    url = f"{server.url}/mcp"
    listed = names(url, mode=mode)
    assert {"everything__echo", "everything__get-sum", "sandbox_execute_bash"} <= set(listed)
    assert text(call(url, "everything__echo", {"message": "hello"}, mode=mode)) == "Echo: hello"
    assert "8" in text(call(url, "everything__get-sum", {"a": 3, "b": 5}, mode=mode))
    wrong = call(url, "everything__echo", {}, mode=mode)
    assert wrong.is_error
    with server.http as http:
        done = http.get("/v1/activity").json()["data"]["entries"]
    told = [(entry["summary"], entry["via"], entry["outcome"]) for entry in done if entry["group"] == "mcp"]
    assert sorted(told) == [("echo", "mcp", "ok"), ("echo", "mcp", "ok"), ("get-sum", "mcp", "ok")]
    assert names(f"{url}?servers=everything", mode=mode) and "sandbox_execute_bash" not in names(
        f"{url}?servers=everything", mode=mode
    )


def test_they_are_reached_without_mcp_too(hub_server: Callable[..., Server], everything: Dict[str, Any]) -> None:
    server = hub_server({"everything": everything, "other": everything}, MCP_FILTER_SERVERS="other")
    sandbox = server.client
    assert {"sandbox", "everything"} <= set(sandbox.mcp.list_mcp_servers().data)
    assert "other" not in sandbox.mcp.list_mcp_servers().data
    with server.http as http:
        hidden = http.get("/v1/mcp/servers", params={"include_hidden": "true"}).json()["data"]
        assert {"other", "atoll", "deep-agent"} <= set(hidden)
        assert http.get("/v1/mcp/nobody/tools").status_code == 404
        unknown = http.post("/v1/mcp/everything/tools/nothing", json={})
        assert unknown.status_code == 404 and unknown.json()["error_code"] == "mcp.tool_not_found"
    tools = sandbox.mcp.list_mcp_tools("everything").data
    assert "echo" in [tool.name for tool in tools.tools]
    for name in ("echo", "everything__echo"):
        result = sandbox.mcp.execute_mcp_tool("everything", name, request={"message": "hi"})
        assert result.data.content[0].text == "Echo: hi"
    own = sandbox.mcp.execute_mcp_tool("sandbox", "sandbox_execute_bash", request={"cmd": "echo hi"})
    assert own.data.structured_content["output"] == "hi\n" and not own.data.is_error
    assert sandbox.mcp.execute_mcp_tool("sandbox", "execute_bash", request={"cmd": "true"}).success
    assert sandbox.mcp.list_mcp_tools("sandbox").data.tools


def test_progress_pictures_errors_and_late_tools_of_a_real_server_are_passed_on(
    hub_server: Callable[..., Server], everything: Dict[str, Any]
) -> None:
    server = hub_server({"everything": everything})
    url = f"{server.url}/mcp"
    told: List[Any] = []

    async def hear(progress: float, total: Any, message: Any) -> None:
        told.append((progress, total))

    async def work(client: Client) -> Any:
        steps = {"duration": 0.1, "steps": 4}
        return await client.call_tool("everything__trigger-long-running-operation", steps, progress_callback=hear)

    assert "Steps: 4" in text(use(url, work))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    picture = call(url, "everything__get-tiny-image")
    assert [block.mime_type for block in picture.content if block.type == "image"] == ["image/png"]
    weather = call(url, "everything__get-structured-content", {"location": "Chicago"})
    assert weather.structured_content["temperature"]
    wrong = call(url, "everything__get-sum", {"a": "three", "b": 5})
    assert wrong.is_error and "expected number" in text(wrong), text(wrong)
    with server.http as http:
        # Without MCP an error of the tool is a result as well.
        answer = http.post("/v1/mcp/everything/tools/get-sum", json={"a": "three", "b": 5})
        assert answer.status_code == 200 and answer.json()["data"]["isError"], answer.text
    # It offers some tools only once it has been greeted, and says so.
    eventually(lambda: "everything__simulate-research-query" in names(url), "its late tools are listed", 60)


@pytest.mark.parametrize("path", ["/v1/mcp/made/tools/hang", "/mcp"])
def test_a_client_that_goes_away_cancels_what_it_called(
    hub_server: Callable[..., Server], python_server: Callable[[str], Dict[str, Any]], tmp_path: Any, path: str
) -> None:
    note = tmp_path / "cancelled"
    made = python_server(
        f"""
import anyio
@mcp.tool()
async def hang() -> str:
    open({str(note)!r} + ".started", "w").close()
    try:
        await anyio.sleep_forever()
    finally:
        open({str(note)!r}, "w").close()

@mcp.tool()
def echo(said: str) -> str:
    return said
"""
    )
    server = hub_server({"made": made})
    message = {"method": "tools/call", "params": {"name": "made__hang", "arguments": {}}}
    with asked(server.url, path, message if path == "/mcp" else {}):
        eventually(note.with_suffix(".started").exists, "the tool runs", 60)
        assert not note.exists()
    eventually(note.exists, "the other server has heard of it", 60)
    assert text(call(f"{server.url}/mcp", "made__echo", {"said": "still here"})) == "still here"


def test_progress_and_cancellation_are_passed_on(
    hub_server: Callable[..., Server], python_server: Callable[[str], Dict[str, Any]], tmp_path: Any
) -> None:
    note = tmp_path / "cancelled"
    made = python_server(
        f"""
import anyio
@mcp.tool()
async def count(to: int, ctx: Context) -> str:
    for i in range(to):
        await ctx.report_progress(i + 1, to, f"step {{i + 1}}")
    return "done"

@mcp.tool()
async def hang() -> str:
    try:
        open({str(note)!r} + ".started", "w").close()
        await anyio.sleep_forever()
    finally:
        open({str(note)!r}, "w").close()
"""
    )
    server = hub_server({"made": made})
    told: List[Any] = []

    async def hear(progress: float, total: Any, message: Any) -> None:
        told.append((progress, total, message))

    async def counting(client: Client) -> Any:
        return await client.call_tool("made__count", {"to": 3}, progress_callback=hear)

    assert text(use(f"{server.url}/mcp", counting)) == "done"
    assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]

    async def hanging(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "made__hang", {})
            with anyio.fail_after(60):
                while not note.with_suffix(".started").exists():
                    await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()

    use(f"{server.url}/mcp", hanging)
    eventually(note.exists, "the other server has heard of it", 60)


def test_a_server_that_dies_is_started_again(
    hub_server: Callable[..., Server], python_server: Callable[[str], Dict[str, Any]]
) -> None:
    made = python_server(
        """
import os
@mcp.tool()
def die() -> str:
    os._exit(7)

@mcp.tool()
def pid() -> str:
    return str(os.getpid())
"""
    )
    server = hub_server({"made": made})
    url = f"{server.url}/mcp"
    first = text(call(url, "made__pid"))
    died = call(url, "made__die")
    assert died.is_error and "went away" in text(died), text(died)
    assert text(call(url, "made__pid")) != first


def test_a_broken_server_keeps_nobody_waiting(hub_server: Callable[..., Server], everything: Dict[str, Any]) -> None:
    server = hub_server(
        {
            "missing": {"command": "no-such-program-anywhere"},
            "dying": {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no luck today')"]},
            "silent": {"command": "sleep", "args": ["1000"]},
            "talking": {"command": "yes", "args": ["this is no JSON"]},
            "nowhere": {"url": "http://127.0.0.1:9/mcp"},
            "everything": everything,
        }
    )
    url = f"{server.url}/mcp"
    assert "everything__echo" in names(url)
    assert text(call(url, "everything__echo", {"message": "x"})) == "Echo: x"
    missing = call(url, "missing__tool")
    assert missing.is_error and "no-such-program-anywhere" in text(missing)
    dying = call(url, "dying__tool")
    assert dying.is_error and "no luck today" in text(dying)
    with server.http as http:
        assert http.get("/v1/mcp/nowhere/tools").json()["error_code"] == "mcp.server_unavailable"


def test_a_server_with_an_address_works_and_gets_its_headers(
    hub_server: Callable[..., Server], server: Server, start_server: Callable[..., Server]
) -> None:
    inner = start_server(environment={"SANDBOX_API_KEY": "let me in"})
    outer = hub_server(
        {
            "inner": {"url": f"{inner.url}/mcp", "headers": {"X-API-Key": "let me in"}},
            "locked": {"url": f"{inner.url}/mcp"},
        }
    )
    result = call(f"{outer.url}/mcp", "inner__sandbox_execute_bash", {"cmd": "echo far away"})
    assert result.structured_content["output"] == "far away\n"
    assert call(f"{outer.url}/mcp", "locked__sandbox_execute_bash", {"cmd": "true"}).is_error


def test_new_tools_are_announced(
    hub_server: Callable[..., Server], python_server: Callable[[str], Dict[str, Any]]
) -> None:
    made = python_server(
        """
@mcp.tool()
async def grow(ctx: Context) -> str:
    def grown() -> str:
        return "new"
    mcp.add_tool(grown)
    await ctx.session.send_tool_list_changed()
    return "grown"
"""
    )
    server = hub_server({"made": made})
    heard: List[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(getattr(message, "root", message)).__name__)

    async def work(client: Client) -> List[str]:
        await client.list_tools()
        await client.call_tool("made__grow", {})
        with anyio.fail_after(60):
            while not any("ToolListChanged" in name for name in heard):
                await anyio.sleep(0.05)
        return [tool.name for tool in (await client.list_tools()).tools]

    assert "made__grown" in use(f"{server.url}/mcp", work, message_handler=hear, cache=None)


def test_a_file_names_servers_and_a_wrong_one_stops_the_start(
    start_server: Callable[..., Server], everything: Dict[str, Any], tmp_path: Any
) -> None:
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"everything": everything}}))
    server = start_server(arguments=["--mcp-servers", str(path)])
    assert "everything__echo" in names(f"{server.url}/mcp")
    path.write_text(json.dumps({"mcpServers": {"everything": {}}}))
    with pytest.raises(AssertionError, match="needs a command"):
        start_server(arguments=["--mcp-servers", str(path)])


def test_nothing_of_another_server_is_left_behind(
    start_server: Callable[..., Server], python_server: Callable[[str], Dict[str, Any]]
) -> None:
    made = python_server("import os\n@mcp.tool()\ndef pid() -> str:\n    return str(os.getpid())")
    server = start_server(environment={"EXTRA_MCP_SERVERS": json.dumps({"made": made})})
    pid = int(text(call(f"{server.url}/mcp", "made__pid")))
    assert Path(f"/proc/{pid}").exists()
    server.stop()
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "it has ended with the sandbox", 60)


def test_the_keys_of_other_servers_are_hidden_from_what_runs_in_the_sandbox(
    start_server: Callable[..., Server], everything: Dict[str, Any]
) -> None:
    canary = f"canary-{uuid.uuid4().hex}"
    inner = start_server(environment={"SANDBOX_API_KEY": canary})
    remote = {"url": f"{inner.url}/mcp", "headers": {"X-API-Key": canary}}
    servers = json.dumps({"remote": remote, "everything": everything})
    environment = {"EXTRA_MCP_SERVERS": servers, "ATOLL_PASS_ENV": "*"}
    outer = start_server(environment=environment, arguments=["--log-level", "trace"])
    url = f"{outer.url}/mcp"
    # They are used all the same.
    far = call(url, "remote__sandbox_execute_bash", {"cmd": "echo far away"})
    assert far.structured_content["output"] == "far away\n", text(far)
    # Another server is told nothing of it, nor is a command, whatever it reads of other processes.
    assert "EXTRA_MCP_SERVERS" not in text(call(url, "everything__get-env"))
    # The brackets keep the command from finding itself.
    look = f"(env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline) 2>/dev/null | tr '\\0' '\\n' | grep -c '{canary[:-1]}[{canary[-1]}]'"
    assert text(call(url, "Bash", {"command": f"{look}; env | grep -c '^HOME='"})) == "0\n1\n"
    assert text(call(url, "Bash", {"command": "env | grep -c '^EXTRA_MCP_SERVERS='; true"})) == "0\n"
    try:
        environment_seen = Path(f"/proc/{outer.process.pid}/environ").read_bytes()
    except PermissionError:
        # Only root may look at a process that hides its memory.
        environment_seen = b""
    assert canary.encode() not in environment_seen and canary not in outer.log()
