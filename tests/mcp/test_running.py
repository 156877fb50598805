"""Long calls: how far they are, and how they are called off."""

from __future__ import annotations

from typing import List, Set

import anyio
import pytest
from clients import MODES, asked, use
from mcp import Client
from server import Server
from waiting import Marker, eventually


@pytest.mark.parametrize("mode", MODES)
def test_output_is_told_while_a_command_runs(server: Server, mode: str) -> None:
    told: List[str] = []

    async def hear(progress: float, total: object, message: object) -> None:
        told.append(str(message))

    async def work(client: Client) -> str:
        result = await client.call_tool(
            "sandbox_execute_bash", {"cmd": "echo first; echo second"}, progress_callback=hear
        )
        return result.structured_content["output"]

    assert use(f"{server.url}/mcp", work, mode=mode) == "first\nsecond\n"
    assert any("first" in message for message in told), told


def bash_sessions(server: Server) -> Set[str]:
    """The sessions there are; a call may make one for itself."""
    with server.http as http:
        return {session["session_id"] for session in http.get("/v1/bash/sessions").json()["data"]}


@pytest.mark.parametrize("name", ["sandbox_execute_bash", "Bash"])
def test_a_cancelled_command_is_killed(server: Server, name: str) -> None:
    marker, before = Marker(), bash_sessions(server)
    field = "cmd" if name == "sandbox_execute_bash" else "command"

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, name, {field: marker.command})
            with anyio.fail_after(60):
                while not marker.pids():
                    await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()

    use(f"{server.url}/mcp", work)
    eventually(lambda: not marker.pids(), "the command is gone", 60)
    eventually(lambda: bash_sessions(server) <= before, "the session made for it is gone", 60)


@pytest.mark.parametrize("path", ["/mcp", "/v1/mcp/deep-agent/tools/Bash"])
def test_a_command_whose_client_goes_away_is_killed(server: Server, path: str) -> None:
    marker, before = Marker(), bash_sessions(server)
    arguments = {"command": marker.command}
    message = {"method": "tools/call", "params": {"name": "Bash", "arguments": arguments}}
    with asked(server.url, path, message if path == "/mcp" else arguments):
        marker.wait_until_running()
    marker.wait_until_gone()
    eventually(lambda: bash_sessions(server) <= before, "the session made for it is gone", 60)


def test_two_hundred_sessions_hold(server: Server) -> None:
    async def work(_: Client) -> int:
        done = 0

        async def one() -> None:
            nonlocal done
            async with Client(f"{server.url}/mcp", mode="legacy") as client:
                result = await client.call_tool("system_limits", {})
                done += not result.is_error

        async with anyio.create_task_group() as tasks:
            for _ in range(200):
                tasks.start_soon(one)
        return done

    assert use(f"{server.url}/mcp", work) == 200
