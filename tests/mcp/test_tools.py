"""The tools of a sandbox, listed and called by the official Python client."""

from __future__ import annotations

import base64
from typing import Any, List

import jsonschema
import pytest
from arguments import GOOD, sample
from clients import MODES, call, names, refusal, text, use
from mcp import Client
from server import Server

DEFAULT = {
    "sandbox_execute_bash",
    "sandbox_execute_code",
    "sandbox_file_operations",
    "sandbox_str_replace_editor",
    "sandbox_get_context",
    "sandbox_get_packages",
}
AGENT = {"Bash", "Glob", "Grep", "Read", "Write", "Edit"}


@pytest.mark.parametrize("mode", MODES)
def test_both_addresses_list_the_small_set(server: Server, mode: str) -> None:
    for path in ("/mcp", "/v1/mcp"):
        listed = names(server.url + path, mode=mode)
        assert DEFAULT <= set(listed)
        assert not AGENT & set(listed)
        assert len(listed) <= 25


def test_profiles_servers_and_search_choose_the_list(server: Server) -> None:
    agent = names(f"{server.url}/mcp?profile=deep-agent")
    assert AGENT <= set(agent) and not DEFAULT & set(agent)
    assert DEFAULT <= set(names(f"{server.url}/mcp?profile=aio"))
    everything = names(f"{server.url}/mcp?profile=all")
    assert DEFAULT | AGENT | {"file_read", "bash_exec"} <= set(everything)
    assert len(everything) == len(set(everything))
    assert "file_read" not in names(f"{server.url}/mcp?servers=sandbox")
    found = names(f"{server.url}/mcp?search=grep")
    assert {"Grep", "file_grep"} <= set(found) and "Bash" not in found
    refused = refusal(f"{server.url}/mcp?profile=best", lambda client: client.list_tools())
    assert refused.error.code == -32602 and "profile" in refused.error.message


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_answers_and_keeps_to_its_schemas(server: Server, mode: str) -> None:
    async def work(client: Client) -> List[str]:
        wrong: List[str] = []
        listed = (await client.list_tools()).tools
        by_name = {tool.name: tool for tool in listed}
        for name in [*GOOD, *(name for name in by_name if name not in GOOD)]:
            tool = by_name.get(name)
            if tool is None:
                wrong.append(f"{name} is not listed")
                continue
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            assert tool.description and tool.input_schema["type"] == "object", name
            if name.startswith(("browser_", "sandbox_browser", "sandbox_get_browser", "Web")):
                # The browser has tests of its own; whether there is one here is another question.
                continue
            arguments = GOOD.get(name, sample(tool.input_schema))
            # The client checks structured results against the schema of the tool.
            result = await client.call_tool(name, arguments)
            if name in GOOD and result.is_error:
                wrong.append(f"{name}: {text(result)}")
            if result.is_error and not text(result):
                wrong.append(f"{name} fails without a word")
        return wrong

    assert use(f"{server.url}/mcp?profile=all", work, mode=mode) == []


def test_a_shell_stays_with_its_session_and_ends_with_it(server: Server) -> None:
    async def work(client: Client) -> List[str]:
        await client.call_tool("sandbox_execute_bash", {"cmd": "cd /tmp && export COLOUR=red"})
        result = await client.call_tool("sandbox_execute_bash", {"cmd": "echo $PWD $COLOUR"})
        return [result.structured_content["output"], result.structured_content["session_id"]]

    output, session = use(f"{server.url}/mcp", work)
    assert output.strip() == "/tmp red"

    from waiting import eventually

    def gone() -> bool:
        with server.http as http:
            return session not in http.get("/v1/shell/sessions").json()["data"]["sessions"]

    eventually(gone, "the shell has ended", 60)


def test_a_command_that_fails_is_an_error_for_agents_and_a_result_for_others(server: Server) -> None:
    failed = call(f"{server.url}/mcp", "Bash", {"command": "echo out; echo err >&2; exit 3"})
    assert failed.is_error
    assert text(failed) == "out\nerr\n[exit code 3]"
    assert failed.structured_content["exit_code"] == 3
    result = call(f"{server.url}/mcp", "sandbox_execute_bash", {"cmd": "exit_code_of() { return 3; }; exit_code_of"})
    assert not result.is_error and result.structured_content["exit_code"] == 3


def test_wrong_arguments_are_named(server: Server) -> None:
    result = call(f"{server.url}/mcp", "sandbox_execute_bash", {"timeout": "soon"})
    assert result.is_error
    assert "cmd: is required" in text(result) and "timeout" in text(result)


def test_an_unknown_tool_is_a_protocol_error(server: Server) -> None:
    refused = refusal(f"{server.url}/mcp", lambda client: client.call_tool("files_read", {}))
    assert refused.error.code == -32602 and "did you mean" in refused.error.message


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("terminal_execute", {"command": "echo 1"}),
        ("exec", {"cmd": "echo 1"}),
        ("bash", {"command": "echo 1"}),
        ("read", {"file_path": "/etc/hostname"}),
        ("file_read", {"path": "/etc/hostname"}),
        ("file_list", {"path": "/etc"}),
        ("glob", {"pattern": "*"}),
        ("sandbox_get_info", {}),
    ],
)
def test_names_from_documentation_work(server: Server, name: str, arguments: Any) -> None:
    result = call(f"{server.url}/mcp", name, arguments)
    assert not result.is_error, text(result)


def test_both_spellings_of_arguments_are_understood(server: Server) -> None:
    work = server.workspace / "spelling"
    work.mkdir()
    (work / "a.txt").write_text("Alpha\nbeta\nGAMMA\n")
    url = f"{server.url}/mcp"
    for arguments in (
        {"pattern": "alpha", "-i": True, "-C": 1},
        {"pattern": "alpha", "case_insensitive": True, "context_lines": 1},
        {"pattern": "alpha", "case_insensitive": True, "context": 1},
    ):
        result = call(url, "Grep", {**arguments, "path": str(work), "output_mode": "content"})
        assert text(result) == f"{work}/a.txt:1:Alpha\n{work}/a.txt-2-beta"
    assert text(call(url, "Grep", {"pattern": "beta", "path": str(work), "output_mode": "files_only"})).endswith("a.txt")
    for timeout in ({"timeout": 200}, {"timeout_ms": 200}):
        result = call(url, "Bash", {"command": "sleep 60", **timeout})
        assert result.is_error and "longer than 0.2 s" in text(result)


def test_a_tolerant_edit_keeps_the_indentation_and_refuses_to_guess(server: Server) -> None:
    path = server.workspace / "edit.py"
    path.write_text("class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n")
    url = f"{server.url}/mcp"
    edit = {"file_path": str(path), "old_string": "def f(self):\n    return 1", "new_string": "def f(self):\n    return 2"}
    result = call(url, "Edit", edit)
    assert not result.is_error, text(result)
    assert "    def f(self):\n        return 2\n" in path.read_text()
    guess = {"file_path": str(path), "old_string": "\tdef", "new_string": "x"}
    before = path.read_text()
    refused = call(url, "Edit", {**guess, "old_string": "self):\n"})
    assert refused.is_error and "lines 2" in text(refused), text(refused)
    assert path.read_text() == before


def test_pictures_come_as_pictures(server: Server) -> None:
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
    )
    (server.workspace / "point.png").write_bytes(png)
    result = call(f"{server.url}/mcp", "Read", {"file_path": "point.png"})
    assert [block.type for block in result.content] == ["image"]
    assert result.content[0].mime_type == "image/png"
    assert base64.b64decode(result.content[0].data) == png


def test_the_value_of_an_expression_is_told(server: Server) -> None:
    result = call(f"{server.url}/mcp", "sandbox_execute_code", {"code": "6 * 7"})
    assert text(result) == "42"


@pytest.mark.parametrize("mode", MODES)
def test_files_are_resources(server: Server, mode: str) -> None:
    (server.workspace / "note with space.txt").write_text("hello\n")
    (server.workspace / "bytes.bin").write_bytes(b"\xff\x00")

    async def work(client: Client) -> None:
        listed = (await client.list_resources()).resources
        by_name = {resource.name: resource for resource in listed}
        note = by_name["note with space.txt"]
        assert str(note.uri).endswith("note%20with%20space.txt") and note.size == 6
        content = (await client.read_resource(str(note.uri))).contents[0]
        assert content.text == "hello\n" and content.mime_type == "text/plain"
        raw = (await client.read_resource(str(by_name["bytes.bin"].uri))).contents[0]
        assert base64.b64decode(raw.blob) == b"\xff\x00"
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["file:///{+path}"]
        with pytest.raises(Exception, match="no file"):
            await client.read_resource("file:///nowhere/at/all")

    use(f"{server.url}/mcp", work, mode=mode)
