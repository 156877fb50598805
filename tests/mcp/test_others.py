"""The official TypeScript client, the official conformance suite, and a client on standard streams."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable

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


def test_every_scenario_of_the_conformance_suite_passes(
    start_server: Callable[..., Server], node: str, packages: Path, tmp_path: Path
) -> None:
    server = start_server(arguments=["--conformance"])
    suite = packages / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    ran = subprocess.run(
        [node, str(suite), "server", "--url", f"{server.url}/mcp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    report = ran.stdout + ran.stderr
    assert ran.returncode == 0, report[-20000:]
    assert "Total: " in report, report[-2000:]


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
