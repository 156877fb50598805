"""The official TypeScript client, and `atoll mcp`: a client on standard streams, and the list for people and programs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List

from clients import text, use
from mcp import Client, StdioServerParameters
from server import Server, binary

HERE = Path(__file__).parent
DEADLINE = 900


def test_the_typescript_client_calls_every_tool(server: Server, node: str, packages: Path) -> None:
    ran = subprocess.run(
        [node, str(HERE / "typescript" / "every_tool.mjs"), f"{server.url}/mcp?profile=all"],
        env={**os.environ, "PACKAGES": str(packages)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert report["failed"] == [] and len(report["called"]) > 40, report


def test_standard_streams_are_bridged(server: Server) -> None:
    bridge = StdioServerParameters(command=binary(), args=["mcp", "--url", f"{server.url}/mcp?profile=all"])

    async def work(client: Client) -> Any:
        listed = (await client.list_tools()).tools
        assert "Bash" in [tool.name for tool in listed]
        return await client.call_tool("Bash", {"command": "echo over the bridge"})

    assert text(use(bridge, work)) == "over the bridge\n"


def test_a_bridge_to_nowhere_says_so(tmp_path: Path) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    ran = subprocess.run(
        [binary(), "mcp", "--url", "http://127.0.0.1:9"],
        input=json.dumps(message) + "\n",
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert ran.returncode == 1 and "127.0.0.1:9" in ran.stderr, ran.stderr


def listed(server: Server, *arguments: str, **options: Any) -> Dict[str, Any]:
    """What `atoll mcp list` tells a program."""
    command: List[str] = [binary(), "mcp", "list", "--url", server.url, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, **options)
    assert ran.returncode == 0, ran.stderr
    return {each["name"]: each for each in json.loads(ran.stdout)["servers"]}


def test_the_list_names_servers_with_their_tools_and_those_that_cannot_be_used(
    hub_server: Callable[..., Server], everything: Dict[str, Any]
) -> None:
    server = hub_server({"everything": everything, "missing": {"command": "no-such-program-anywhere"}})
    servers = listed(server)
    assert list(servers) == ["sandbox", "browser", "everything", "missing"]
    assert "sandbox_execute_bash" in [tool["name"] for tool in servers["sandbox"]["tools"]]
    echo = next(tool for tool in servers["everything"]["tools"] if tool["name"] == "echo")
    assert echo["inputSchema"]["required"] == ["message"]
    assert "no-such-program-anywhere" in servers["missing"]["error"] and "tools" not in servers["missing"]
    assert "deep-agent" in listed(server, "--all") and "deep-agent" not in servers


def test_the_list_for_people_is_a_table(server: Server) -> None:
    controller, terminal = os.openpty()
    command = [binary(), "mcp", "--url", f"{server.url}/mcp", "list"]
    with subprocess.Popen(command, stdout=terminal, stdin=subprocess.DEVNULL) as running:
        os.close(terminal)
        said = b""
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:
                # The other end of a terminal that nobody holds any more is an error, not an end.
                part = b""
            if not part:
                break
            said += part
        assert running.wait(DEADLINE) == 0
    os.close(controller)
    lines = said.decode().splitlines()
    assert any(line.startswith("sandbox (") for line in lines), lines
    assert any(line.startswith("  sandbox_execute_bash ") and "Run a bash command." in line for line in lines), lines


def test_a_list_shows_its_key_and_says_what_is_wrong_without(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"SANDBOX_API_KEY": "let me in"})
    assert "sandbox" in listed(server, env={**os.environ, "ATOLL_API_KEY": "let me in"})
    for url in (server.url, "http://127.0.0.1:9"):
        ran = subprocess.run([binary(), "mcp", "list", "--url", url], capture_output=True, text=True, timeout=DEADLINE)
        assert ran.returncode == 3 and url in ran.stderr and not ran.stdout, ran.stderr
