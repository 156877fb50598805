"""Every method of the SDK is called by some test that drives a real server with it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Set, Tuple

import pytest
from sdk_surface import Call, sdk_calls

TESTS = Path(__file__).parent.parent
SUITES = [TESTS / "sdk", TESTS / "mcp"]


def exercised() -> Set[Tuple[str, str]]:
    """Pairs of a name that a file, or a helper it imports, mentions and a method that it uses: groups of methods, and
    methods, are often kept in variables."""
    sources = [source for suite in SUITES for source in suite.glob("*.py")]
    trees = {source.stem: list(ast.walk(ast.parse(source.read_text()))) for source in sources}
    pairs: Set[Tuple[str, str]] = set()
    for nodes in trees.values():
        helpers = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
        seen = nodes + [node for helper in helpers for node in trees.get(helper or "", [])]
        names = {node.attr for node in seen if isinstance(node, ast.Attribute)}
        methods = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        pairs |= {(name, method) for name in names for method in methods}
    return pairs


EXERCISED = exercised()


@pytest.mark.parametrize("call", sdk_calls(), ids=lambda call: call.name)
def test_a_test_calls_it(call: Call) -> None:
    """A method nobody calls is a promise nobody checks."""
    assert (call.group, call.method) in EXERCISED, f"no test calls {call.name}"
