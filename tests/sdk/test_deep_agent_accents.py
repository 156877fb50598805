"""Every path two families share, asked by each of them: one server, one body that both can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Tuple

import httpx
import pytest
from deep_agents import AIO, DEEP_AGENT, PLAIN, done

FAMILIES = {"aio": AIO, "deep-agent": DEEP_AGENT, "plain": PLAIN}


def ask(http: httpx.Client, family: str, method: str, path: str, **options: Any) -> httpx.Response:
    headers = {**FAMILIES[family], **options.pop("headers", {})}
    return http.request(method, path, headers=headers, **options)


@pytest.fixture
def tree(folder: Path) -> Path:
    """A directory with something of everything."""
    (folder / "a.txt").write_text("text\n")
    (folder / ".dot.txt").write_text("")
    (folder / "below").mkdir()
    (folder / "below" / "b.txt").write_text("")
    return folder


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sandbox(http: httpx.Client, family: str) -> None:
    response = ask(http, family, "GET", "/v1/sandbox")

    data = done(response)
    if family == "deep-agent":
        assert {"workspace", "os", "arch"} <= data.keys()
    else:
        assert data is None or isinstance(data, str)
    assert {"home_dir", "version", "detail"} <= response.json().keys()


# Input, and what each family must find in `data`; the same fields are there for all that asked in those words.
COMMANDS: List[Tuple[Dict[str, Any], Dict[str, Dict[str, Any]]]] = [
    (
        {"command": "echo a; echo b >&2; exit 2"},
        {
            "aio": {"stdout": "a\n", "stderr": "b\n", "exit_code": 2, "status": "completed"},
            "plain": {"stdout": "a\n", "stderr": "b\n", "exit_code": 2, "status": "completed"},
            "deep-agent": {"output": "a\nb\n", "exit_code": 2, "error": "", "stdout": "a\n", "status": "completed"},
        },
    ),
    (
        {"command": "sleep 600", "timeout_ms": 200},
        {
            name: {"status": "timed_out", "exit_code": -1, "error": "command timed out after 200ms"}
            for name in ("aio", "plain", "deep-agent")
        },
    ),
    (
        {"command": "sleep 600", "timeout": 0.1},
        {
            "aio": {"status": "running", "exit_code": None},
            "plain": {"status": "running", "exit_code": None},
            "deep-agent": {"status": "running", "error": "the command is still running"},
        },
    ),
    (
        {"command": "sleep 600", "hard_timeout": 0.1},
        {
            "aio": {"status": "timed_out", "exit_code": -9},
            "plain": {"status": "timed_out", "exit_code": -9},
            "deep-agent": {"status": "timed_out", "exit_code": -1},
        },
    ),
    (
        {"command": "pwd", "exec_dir": "/", "env": {"A": "b"}},
        {"aio": {"stdout": "/\n"}, "plain": {"stdout": "/\n"}, "deep-agent": {"output": "/\n", "stdout": "/\n"}},
    ),
    (
        {"command": "pwd", "cwd": "/"},
        {"aio": {"stdout": "/\n"}, "plain": {"stdout": "/\n"}, "deep-agent": {"output": "/\n", "stdout": "/\n"}},
    ),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("body, expected", COMMANDS, ids=[str(sorted(body)[1:]) for body, _ in COMMANDS])
def test_a_command(
    http: httpx.Client, family: str, body: Dict[str, Any], expected: Dict[str, Dict[str, Any]]
) -> None:
    data = done(ask(http, family, "POST", "/v1/bash/exec", json=body))
    http.post(f"/v1/bash/sessions/{data['session_id']}/close")

    assert {name: data[name] for name in expected[family]} == expected[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_reading_and_writing(http: httpx.Client, tree: Path, family: str) -> None:
    file = str(tree / "new")
    written = done(ask(http, family, "POST", "/v1/file/write", json={"file": file, "content": "AP8=", "base64": True}))
    assert (written["file"], written["bytes_written"]) == (file, 2)
    encoded = done(ask(http, family, "POST", "/v1/file/read", json={"file": file, "base64": True}))
    assert (encoded["content"], encoded["file"]) == ("AP8=", file)
    done(ask(http, family, "POST", "/v1/file/write", json={"file": file, "content": "a", "encoding": "utf-8"}))
    part = {"file": file, "start_line": 0, "end_line": 1}
    assert done(ask(http, family, "POST", "/v1/file/read", json=part))["content"] == "a"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_list(http: httpx.Client, tree: Path, family: str) -> None:
    data = done(ask(http, family, "POST", "/v1/file/list", json={"path": str(tree)}))

    files = {file["name"]: file for file in data["files"]}
    assert set(files) == {"a.txt", ".dot.txt", "below"} and data["total_count"] == 3
    assert files["below"]["is_directory"] is True and files["a.txt"]["size"] == 5
    theirs = {"is_dir", "mode", "mod_time_unix"}
    assert (theirs <= files["a.txt"].keys()) is (family == "deep-agent")


GLOBS: List[Tuple[Dict[str, Any], Dict[str, str]]] = [
    # A pattern of deep-agent's matches at any depth, hidden names too.
    ({"pattern": "*.txt"}, {"aio": "objects", "plain": "objects", "deep-agent": "paths"}),
    ({"pattern": "*.txt", "limit": 50}, {"aio": "objects", "plain": "objects", "deep-agent": "paths"}),
    ({"pattern": "*.txt", "include_hidden": False}, dict.fromkeys(FAMILIES, "objects")),
    ({"pattern": "*.txt", "max_results": 9}, dict.fromkeys(FAMILIES, "objects")),
    ({"pattern": "*.txt", "sort_by": "name"}, dict.fromkeys(FAMILIES, "objects")),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("body, forms", GLOBS, ids=[str(sorted(body)) for body, _ in GLOBS])
def test_files_found(
    http: httpx.Client, tree: Path, family: str, body: Dict[str, Any], forms: Dict[str, str]
) -> None:
    data = done(ask(http, family, "POST", "/v1/file/glob", json={"path": str(tree), **body}))

    if forms[family] == "objects":
        assert [file["path"] for file in data["files"]] == [str(tree / "a.txt")]
        assert data["total_count"] == 1
    else:
        assert sorted(data["files"]) == sorted(str(tree / name) for name in ("a.txt", ".dot.txt", "below/b.txt"))
    assert data["count"] == len(data["files"]) and str(tree / "a.txt") in data["output"]
    assert data["truncated"] is False


@pytest.mark.parametrize("header", [{"X-Session-ID": "any"}, {"X-Workspace": "/"}, {"User-Agent": "Go-http-client/2.0"}])
def test_each_sign_of_a_family_counts_unless_the_other_one_is_there(
    http: httpx.Client, tree: Path, header: Dict[str, str]
) -> None:
    body = {"path": str(tree), "pattern": "a.txt"}

    theirs = done(http.post("/v1/file/glob", json=body, headers=header))
    others = done(http.post("/v1/file/glob", json=body, headers={**header, "X-Fern-Language": "Go"}))

    assert theirs["files"] == [str(tree / "a.txt")]
    assert others["files"][0]["path"] == str(tree / "a.txt")


@pytest.mark.parametrize("family", FAMILIES)
def test_an_upload(http: httpx.Client, tree: Path, family: str) -> None:
    sent = {"file": ("up.txt", b"abc")}

    data = done(ask(http, family, "POST", "/v1/file/upload", files=sent, data={"path": f"{tree}/in/"}))

    assert (data["file_path"], data["file_size"], data["success"]) == (f"{tree}/in/up.txt", 3, True)
    if family != "aio":
        assert (data["file"], data["size"]) == (f"{tree}/in/up.txt", 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_download(http: httpx.Client, tree: Path, family: str) -> None:
    for name, disposition in (("path", "attachment"), ("file", "inline")):
        answer = ask(http, family, "GET", "/v1/file/download", params={name: str(tree / "a.txt")})
        assert answer.content == b"text\n"
        assert answer.headers["content-disposition"].startswith(disposition)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_browser(http: httpx.Client, family: str) -> None:
    data = done(ask(http, family, "GET", "/v1/browser/info"))

    assert {"user_agent", "cdp_url", "vnc_url", "viewport"} <= data.keys()
    if family != "aio":
        assert data["websocket_url"] == data["cdp_url"] and data["status"] == "connected"
    assert done(ask(http, family, "POST", "/v1/browser/screenshot"))["screenshot"].startswith("iVBOR")


REFUSALS: List[Tuple[str, Dict[str, Any], int, str]] = [
    # route, input, the real status, how deep-agent's message begins
    ("read", {"file": "{}/none"}, 404, "file not found: "),
    ("read", {"file": "{}"}, 500, "Failed to read file: "),
    ("list", {"path": "{}/none"}, 404, "file not found: "),
    ("list", {"path": "{}/a.txt"}, 500, "Failed to list path: "),
    ("write", {"file": "{}/a.txt/x", "content": ""}, 500, "Failed to write file: "),
    ("glob", {"path": "{}/none", "pattern": "*"}, 404, "file not found: "),
    ("move", {"source": "{}/none", "destination": "{}/x"}, 404, "file not found: "),
    ("eval-symlinks", {"path": "{}/none"}, 404, "file not found: "),
]
# To the other families these say with their status that something is wrong; the rest says it in the body alone.
STRICT = ("move", "eval-symlinks")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("route, body, status, begins", REFUSALS, ids=[f"{row[0]}-{row[2]}" for row in REFUSALS])
def test_what_a_file_system_refuses(
    http: httpx.Client, tree: Path, family: str, route: str, body: Dict[str, str], status: int, begins: str
) -> None:
    filled = {name: value.format(tree) for name, value in body.items()}

    response = ask(http, family, "POST", f"/v1/file/{route}", json=filled)

    answer = response.json()
    assert answer["success"] is False and answer["data"]["error_type"] and answer["error_code"].startswith("file.")
    assert type(answer["code"]) is int and answer["code"] >= 400
    if family == "deep-agent":
        assert (response.status_code, answer["code"]) == (status, status)
        assert answer["message"].startswith(begins)
    else:
        assert (response.status_code >= 400) is (route in STRICT)
        assert answer["message"] == answer["data"]["message"]


@pytest.mark.parametrize("family, status", [("aio", 422), ("plain", 422), ("deep-agent", 400)])
def test_input_that_does_not_fit(http: httpx.Client, family: str, status: int) -> None:
    for path in ("/v1/bash/exec", "/v1/file/read", "/v1/file/write", "/v1/file/list", "/v1/file/glob"):
        response = ask(http, family, "POST", path, json={"path": 5, "file": 5, "command": 5, "pattern": 5})
        answer = response.json()
        assert (response.status_code, answer["code"]) == (status, status), path
        assert answer["detail"][0]["loc"] and answer["errors"][0]["location"]
        assert answer["message"].startswith("invalid request: ") is (family == "deep-agent")
    assert ask(http, family, "POST", "/v1/file/read", content=b"{").status_code == status


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_not_there(http: httpx.Client, family: str) -> None:
    for method, path, status in (("GET", "/v1/nothing", 404), ("GET", "/v1/bash/exec/stream", 405)):
        response = ask(http, family, method, path)
        assert (response.status_code, response.json()["code"]) == (status, status)
