"""The page about compatibility names the clients that are really installed, in the versions they really have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
PYTHON = ["agent-sandbox", "playwright", "mcp"]
# Suite and package; other packages of a suite are no clients.
JAVASCRIPT = [
    ("sdk", "playwright-core"),
    ("sdk", "puppeteer-core"),
    ("mcp", "@modelcontextprotocol/sdk"),
    ("mcp", "@modelcontextprotocol/conformance"),
    ("mcp", "@modelcontextprotocol/server-everything"),
    ("mcp", "conformance-by-revision"),
]


def rows() -> str:
    return "\n".join(line for line in PAGE.splitlines() if line.startswith("| "))


@pytest.mark.parametrize("package", PYTHON)
def test_the_python_clients_are_named_with_their_versions(package: str) -> None:
    pinned = re.search(rf"^{package}==(\S+)$", (ROOT / "tests" / "requirements.txt").read_text(), re.MULTILINE)
    assert pinned, package

    assert f"| {pinned[1]} |" in rows(), f"{package} {pinned[1]} is tested and not in docs/compatibility.md"


@pytest.mark.parametrize("suite, package", JAVASCRIPT)
def test_the_javascript_clients_are_named_with_their_versions(suite: str, package: str) -> None:
    pinned = json.loads((ROOT / "tests" / suite / "package.json").read_text())["dependencies"][package]
    version = pinned.rpartition("@")[2]

    assert f"| {version} |" in rows(), f"{package} {version} is tested and not in docs/compatibility.md"
