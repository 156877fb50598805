"""`client.sandbox`: what the sandbox says of itself is true of this machine."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess

import pytest
from agent_sandbox import Sandbox
from server import Server


def test_context_describes_this_machine(client: Sandbox, server: Server) -> None:
    context = client.sandbox.get_context()

    assert context.success is True
    assert context.home_dir == str(server.home)
    assert context.workspace == str(server.workspace)
    assert context.version
    system = context.detail.system
    assert system.arch == platform.machine()
    assert system.os
    assert system.os_version
    assert system.home_dir == str(server.home)
    assert system.workspace == str(server.workspace)
    assert system.timezone


def test_context_names_the_user_commands_run_as(client: Sandbox) -> None:
    user = client.bash.exec(command="id -un").data.stdout.strip()

    assert client.sandbox.get_context().detail.system.user == user


def test_context_lists_occupied_ports_as_text(client: Sandbox, server: Server) -> None:
    ports = client.sandbox.get_context().detail.system.occupied_ports

    assert all(isinstance(port, str) and port.isdigit() for port in ports)
    assert server.url.rsplit(":", 1)[1] in ports


def test_context_text_is_for_an_agent(client: Sandbox, server: Server) -> None:
    context = client.sandbox.get_context()

    assert context.data.startswith(f"System Environment (v{context.version.lstrip('v')}):")
    assert "Development Environment:" in context.data
    assert "Available Tools:" in context.data
    assert str(server.home) in context.data


def test_context_lists_runtimes_that_run(client: Sandbox) -> None:
    runtime = client.sandbox.get_context().detail.runtime

    assert [each.bin for each in runtime.python], "the tests themselves run on Python"
    for each in [*runtime.python, *runtime.nodejs]:
        result = client.bash.exec(command=f"'{each.bin}' --version 2>&1")
        assert result.data.exit_code == 0
        assert each.ver.lstrip("v") in result.data.stdout


def test_context_lists_tools_that_exist(client: Sandbox) -> None:
    categories = client.sandbox.get_context().detail.utils

    tools = [tool for category in categories for tool in category.tools]
    assert all(category.category and category.tools for category in categories)
    assert tools
    for tool in tools:
        assert tool.description is not None
        result = client.bash.exec(command=f"command -v '{tool.name}'")
        assert result.data.exit_code == 0, f"{tool.name} is listed but not there"


def test_python_packages_are_those_python_sees(client: Sandbox) -> None:
    listing = (
        "import importlib.metadata as m, json;"
        "print(json.dumps([[d.metadata['Name'], d.version] for d in m.distributions()]))"
    )
    expected = json.loads(client.bash.exec(command=f'python3 -c "{listing}"').data.stdout)

    packages = client.sandbox.get_python_packages().data

    assert {each["name"] for each in packages} == {name for name, _ in expected}
    assert {(each["name"], each["version"]) for each in packages} <= {tuple(e) for e in expected}


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_nodejs_packages_are_those_npm_sees(client: Sandbox) -> None:
    listing = subprocess.run(
        ["npm", "ls", "--global", "--depth=0", "--json"], capture_output=True, text=True, check=False
    )
    expected = json.loads(listing.stdout).get("dependencies", {})

    packages = client.sandbox.get_nodejs_packages().data

    found = {each["name"]: each["version"] for each in packages}
    assert {name: value.get("version") for name, value in expected.items()}.items() <= found.items()
