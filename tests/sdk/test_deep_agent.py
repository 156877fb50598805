"""The routes of the deep-agent family on the wire: each with its envelope, its wording and its bad input."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import httpx
import pytest
from deep_agents import DEEP_AGENT, done, refused
from server import Server
from waiting import Marker, eventually


@pytest.fixture
def agent(server: Server, folder: Path) -> Iterator[httpx.Client]:
    """A client of that family, whose relative paths begin in a directory of the test's own."""
    headers = {**DEEP_AGENT, "X-Workspace": str(folder), "X-Log-ID": "log-of-a-test"}
    with httpx.Client(base_url=server.url, timeout=120, headers=headers) as client:
        yield client


def test_the_sandbox_describes_itself_in_data(agent: httpx.Client, server: Server) -> None:
    response = agent.get("/v1/sandbox")

    data = done(response)
    assert data["workspace"] == str(server.workspace)
    assert data["home_dir"] == str(server.home)
    assert data["os"] == "linux" and data["arch"] in ("amd64", "arm64") and data["os_version"]
    assert response.json()["version"] and response.json()["detail"]["system"]
    assert response.headers["x-request-id"] == "log-of-a-test"


def test_health_documents_and_the_page_about_them(agent: httpx.Client) -> None:
    assert agent.get("/health").json()["status"] == "ok"
    assert agent.get("/v1/openapi.json").json()["paths"]["/v1/bash/exec"]
    page = agent.get("/docs", follow_redirects=True)
    assert page.status_code == 200 and "text/html" in page.headers["content-type"]


def test_a_command_is_one_text_and_a_number(agent: httpx.Client, folder: Path) -> None:
    data = done(
        agent.post("/v1/bash/exec", json={"command": 'echo "$PWD $A"; echo err >&2; exit 7', "env": {"A": "b"}})
    )

    assert data["output"] == f"{folder} b\nerr\n"
    assert data["exit_code"] == 7 and data["error"] == ""
    assert (data["stdout"], data["stderr"]) == (f"{folder} b\n", "err\n"), "the other family's fields are there too"


@pytest.mark.parametrize("cwd", ["below", "{folder}/below"])
def test_a_command_runs_where_it_is_told(agent: httpx.Client, folder: Path, cwd: str) -> None:
    (folder / "below").mkdir()

    data = done(agent.post("/v1/bash/exec", json={"command": "pwd", "cwd": cwd.format(folder=folder)}))

    assert data["output"] == f"{folder}/below\n"


def test_a_directory_that_does_not_exist_is_named(agent: httpx.Client, folder: Path) -> None:
    body = refused(agent.post("/v1/bash/exec", json={"command": "true", "cwd": "missing"}), 500)

    assert body["message"].startswith("execution failed: working directory does not exist: ")
    assert f"{folder}/missing" in body["message"] and body["error_code"] == "bash.directory"


def test_a_command_past_its_time_is_killed_with_all_it_started(agent: httpx.Client, marker: Marker) -> None:
    command = f"echo begun; {marker.command} & {marker.command}"

    data = done(agent.post("/v1/bash/exec", json={"command": command, "timeout_ms": 1000}))

    assert data["exit_code"] == -1 and data["status"] == "timed_out"
    assert data["output"] == "begun\n\n<bash_metadata>\ncommand timed out after 1s\n</bash_metadata>"
    assert data["error"] == "command timed out after 1s"
    assert marker.pids() == []


@pytest.mark.parametrize("field, value", [("timeout_ms", "soon"), ("run_in_background", "yes"), ("command", None)])
def test_a_wrong_command_is_refused_by_field(agent: httpx.Client, field: str, value: Any) -> None:
    body = refused(agent.post("/v1/bash/exec", json={"command": "true", field: value}), 400)

    assert body["message"].startswith("invalid request: ") and field in body["message"]
    assert body["detail"][0]["loc"][-1] == field


def test_a_background_command_prints_into_a_file(agent: httpx.Client, folder: Path, marker: Marker) -> None:
    command = f"echo out; echo err >&2; {marker.command}"

    data = done(agent.post("/v1/bash/exec", json={"command": command, "run_in_background": True}))

    assert data["output"] == f"Command started in background (PID: {data['pid']})"
    assert data["exit_code"] == 0
    file = Path(data["output_file"])
    assert file.parent == folder / ".logs" / "background_outputs"
    assert file.name.startswith("bg_") and file.suffix == ".log"
    assert file.exists(), "it is there at once"
    eventually(lambda: file.read_text() == "out\nerr\n", "both streams are in it")
    eventually(lambda: marker.pids() != [], "it goes on")
    agent.post(f"/v1/bash/sessions/{data['session_id']}/close")


def test_a_background_command_ends_at_its_limit(agent: httpx.Client, marker: Marker) -> None:
    body = {"command": marker.command, "run_in_background": True, "timeout_ms": 300}

    done(agent.post("/v1/bash/exec", json=body))

    eventually(lambda: marker.pids() == [], "it is killed")


def events(response: httpx.Response) -> List[Dict[str, Any]]:
    """The events of a stream, which has nothing but data lines and comments."""
    found = []
    for line in response.text.splitlines():
        assert line == "" or line.startswith(("data: ", ":")), line
        if line.startswith("data: "):
            found.append(json.loads(line[len("data: ") :]))
    return found


def test_a_command_can_be_followed(agent: httpx.Client) -> None:
    response = agent.post("/v1/bash/exec/stream", json={"command": "echo one; echo two >&2; exit 4"})

    assert response.status_code == 200 and response.headers["content-type"] == "text/event-stream"
    found = events(response)
    chunks = [event["data"] for event in found if event["event"] == "chunk"]
    assert {chunk["source"] for chunk in chunks} == {"stdout", "stderr"}
    assert "".join(chunk["data"] for chunk in chunks if chunk["source"] == "stdout") == "one\n"
    assert [event["event"] for event in found if event["event"] != "chunk"] == ["done"]
    last = found[-1]["data"]
    assert (last["output"], last["exit_code"], last["timed_out"], last["truncated"]) == ("one\ntwo\n", 4, False, False)
    assert last["duration_ms"] >= 0


def test_a_command_that_is_followed_ends_in_time(agent: httpx.Client, marker: Marker) -> None:
    found = events(agent.post("/v1/bash/exec/stream", json={"command": f"echo a; {marker.command}", "timeout_ms": 500}))

    assert found[0] == {"event": "chunk", "data": {"data": "a\n", "source": "stdout"}}
    assert found[-1]["event"] == "done" and found[-1]["data"]["timed_out"] is True
    assert found[-1]["data"]["exit_code"] == -1 and marker.pids() == []


def test_a_stream_that_cannot_begin_says_so_in_it(agent: httpx.Client) -> None:
    found = events(agent.post("/v1/bash/exec/stream", json={"command": "true", "cwd": "/nowhere"}))

    assert [event["event"] for event in found] == ["error"] and "/nowhere" in found[0]["data"]["message"]
    body = refused(agent.post("/v1/bash/exec/stream", json={}), 400)
    assert body["message"] == "invalid request: command: is required"


def test_files_are_written_read_and_moved(agent: httpx.Client, folder: Path) -> None:
    done(agent.post("/v1/file/write", json={"file": "a/b.txt", "content": "one\n", "mode": 0o600, "atomic": True}))
    done(agent.post("/v1/file/append", json={"file": "a/b.txt", "content": "two\n"}))
    assert done(agent.post("/v1/file/read", json={"file": "a/b.txt"}))["content"] == "one\ntwo\n"
    assert (folder / "a/b.txt").stat().st_mode & 0o777 == 0o600
    packed = base64.b64encode(b"\0\xff").decode()
    done(agent.post("/v1/file/write", json={"file": "bytes", "content": packed, "base64": True}))
    assert (folder / "bytes").read_bytes() == b"\0\xff"
    assert done(agent.post("/v1/file/read", json={"file": "bytes", "base64": True}))["content"] == packed
    done(agent.post("/v1/file/mkdir", json={"path": "x/y"}))
    done(agent.post("/v1/file/copy", json={"source": "a/b.txt", "destination": "x/y/c.txt"}))
    done(agent.post("/v1/file/move", json={"source": "x/y/c.txt", "destination": "d.txt"}))
    assert (folder / "d.txt").read_text() == "one\ntwo\n"
    assert done(agent.get("/v1/file/exists", params={"path": "d.txt"}))["exists"] is True
    for _ in range(2):
        done(agent.post("/v1/file/delete", json={"path": "x"}))
    assert done(agent.get("/v1/file/exists", params={"path": "x"}))["exists"] is False
    body = agent.post("/v1/file/mkdir", json={"path": "x"}).json()
    assert body["message"] == "success"


def test_a_list_has_modes_and_times(agent: httpx.Client, folder: Path) -> None:
    (folder / ".hidden").write_text("four")
    (folder / ".hidden").chmod(0o640)
    os.utime(folder / ".hidden", (1000, 1000))
    (folder / "directory").mkdir(mode=0o755)
    (folder / "link").symlink_to("nowhere")

    files = {file["name"]: file for file in done(agent.post("/v1/file/list", json={"path": "."}))["files"]}

    assert set(files) == {".hidden", "directory", "link"}
    hidden = files[".hidden"]
    assert (hidden["size"], hidden["is_dir"], hidden["mode"]) == (4, False, "-rw-r-----")
    assert hidden["mod_time_unix"] == 1000 and hidden["path"] == str(folder / ".hidden")
    assert files["directory"]["is_dir"] is True and files["directory"]["mode"].startswith("d")
    assert files["link"]["mode"].startswith("L")
    done(agent.post("/v1/file/mkdir", json={"path": "empty"}))
    assert done(agent.post("/v1/file/list", json={"path": "empty"}))["files"] == []


def test_more_about_files(agent: httpx.Client, folder: Path) -> None:
    (folder / "file").write_text("content")
    (folder / "link").symlink_to("file")
    stat = done(agent.post("/v1/file/stat", json={"path": "file"}))
    assert (stat["exists"], stat["is_dir"], stat["size"]) == (True, False, 7)
    assert stat["mode"].startswith("-rw") and stat["mod_time_unix"] > 1_600_000_000
    assert done(agent.post("/v1/file/stat", json={"path": "none"}))["exists"] is False
    resolved = done(agent.post("/v1/file/eval-symlinks", json={"path": "link"}))["resolved_path"]
    assert resolved == str((folder / "file").resolve())
    made = done(agent.post("/v1/file/create-temp", json={"dir": "", "pattern": "x-*", "content": "t", "mode": 0o644}))
    assert Path(made["file"]).read_text() == "t"
    Path(made["file"]).unlink()
    inside = done(agent.post("/v1/file/create-temp", json={"dir": "temporary", "pattern": "x-*", "content": "t"}))
    assert Path(inside["file"]).parent == folder / "temporary"
    for name in ("temp-dir", "home-dir"):
        assert done(agent.get(f"/v1/file/{name}"))["path"].startswith("/")


def test_uploads_and_downloads(agent: httpx.Client, folder: Path) -> None:
    sent = {"file": ("note.txt", b"text")}
    data = done(agent.post("/v1/file/upload", files=sent, data={"path": "in/"}))
    assert (data["file"], data["size"]) == (str(folder / "in/note.txt"), 4)
    shown = agent.get("/v1/file/download", params={"file": "in/note.txt"})
    assert shown.content == b"text" and shown.headers["content-disposition"].startswith("inline")
    assert shown.headers["content-type"].startswith("text/plain")
    (folder / "in/note.bin").write_bytes(b"\0")
    saved = agent.get("/v1/file/download", params={"file": "in/note.bin"})
    assert saved.headers["content-disposition"].startswith("attachment")
    other = agent.get("/v1/file/download", params={"path": "in/note.txt"})
    assert other.headers["content-disposition"].startswith("attachment")
    assert refused(agent.get("/v1/file/download", params={"file": "none"}), 404)["message"].startswith("file not found")


def test_a_search_is_told_as_text(agent: httpx.Client, folder: Path) -> None:
    (folder / "old.py").write_text("needle one\nother\nneedle two\n")
    os.utime(folder / "old.py", (1000, 1000))
    (folder / "new.txt").write_text("a Needle\n")
    search: Callable[..., Any] = lambda **body: done(agent.post("/v1/grep/search", json=body))

    found = search(pattern="needle", path=".", case_insensitive=True)
    assert found["output"] == (
        f"Found 3 matches\n{folder}/new.txt:\n  Line 1: a Needle\n\n"
        f"{folder}/old.py:\n  Line 1: needle one\n  Line 3: needle two\n"
    )
    assert found["truncated"] is False
    assert search(pattern="needle", glob="*.py", output_mode="files_only")["output"] == f"{folder}/old.py"
    assert search(pattern="needle", glob="*.py", output_mode="files_with_matches")["output"] == f"{folder}/old.py"
    assert search(pattern="needle", output_mode="count")["output"] == f"{folder}/old.py:2"
    assert search(pattern="needle", limit=1)["truncated"] is True
    assert "Line 2- other" in search(pattern="needle one", context_lines=1)["output"]
    assert search(pattern="no such thing")["output"] == "No matches found"
    for field, body in (("pattern", {}), ("pattern", {"pattern": "("}), ("glob", {"pattern": "x", "glob": "["})):
        assert field in refused(agent.post("/v1/grep/search", json=body), 400)["message"]
    assert refused(agent.post("/v1/grep/search", json={"pattern": "x", "path": "none"}), 404)


def test_lines_of_json(agent: httpx.Client, folder: Path) -> None:
    append: Callable[[Any], httpx.Response] = lambda value: agent.post(
        "/v1/jsonl/append", json={"file": "log/a.jsonl", "json_string": value}
    )
    assert append('{"a": 1}').json()["message"] == "success"
    done(append(["2", "3"]))
    assert (folder / "log/a.jsonl").read_text() == '{"a": 1}\n2\n3\n'
    assert done(agent.post("/v1/jsonl/count", json={"file": "log/a.jsonl"}))["lines"] == 3
    read: Callable[..., Any] = lambda **body: done(agent.post("/v1/jsonl/read", json={"file": "log/a.jsonl", **body}))
    assert read(start_line=1, count=1)["lines"] == ["2"]
    assert read(start_line=1, count=None)["lines"] == ["2", "3"]
    assert read(start_line=9)["lines"] == []
    for body in ({"file": "log/a.jsonl", "json_string": "two\nlines"}, {"file": "log/a.jsonl"}, {"json_string": "1"}):
        refused(agent.post("/v1/jsonl/append", json=body), 400)
    assert done(agent.post("/v1/jsonl/count", json={"file": "log/a.jsonl"}))["lines"] == 3
    refused(agent.post("/v1/jsonl/read", json={"file": "log/a.jsonl", "start_line": -1}), 400)
    refused(agent.post("/v1/jsonl/read", json={"file": "none"}), 404)


def test_the_browser_by_its_flat_routes(agent: httpx.Client) -> None:
    info = done(agent.get("/v1/browser/info"))
    assert info["websocket_url"] == info["cdp_url"] and info["status"] == "connected"
    page = "data:text/html,<title>Flat</title><p id=a>Text</p><input id=i value=x>"
    done(agent.post("/v1/browser/navigate", json={"url": page}))
    for spelling in ("wait", "wait-visible"):
        done(agent.post(f"/v1/browser/{spelling}", json={"selector": "#a"}))
    for spelling in ("page", "page-info"):
        known = done(agent.get(f"/v1/browser/{spelling}"))
        assert known["title"] == "Flat" and known["url"].startswith("data:") and known["width"] > 0
    assert done(agent.get("/v1/browser/title")) == {"title": "Flat"}
    assert set(done(agent.get("/v1/browser/url"))) == {"url"}
    done(agent.post("/v1/browser/click", json={"selector": "#a"}))
    done(agent.post("/v1/browser/type", json={"selector": "#i", "text": "yz"}))
    value = done(agent.post("/v1/browser/evaluate", json={"expression": "document.querySelector('#i').value.length"}))
    assert value == {"result": 3}
    done(agent.post("/v1/browser/scroll", json={"x": 0, "y": 10}))
    assert done(agent.post("/v1/browser/html", json={"selector": "#a"})) == {"html": '<p id="a">Text</p>'}
    picture = done(agent.post("/v1/browser/screenshot", json={"format": "png", "full": True}))["screenshot"]
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert base64.b64decode(done(agent.post("/v1/browser/pdf"))["pdf"]).startswith(b"%PDF")


@pytest.mark.parametrize(
    "route, field",
    [
        ("navigate", "url"),
        ("click", "selector"),
        ("type", "selector"),
        ("evaluate", "expression"),
        ("html", "selector"),
        ("wait", "selector"),
        ("wait-visible", "selector"),
    ],
)
def test_what_a_browser_route_needs_is_named(agent: httpx.Client, route: str, field: str) -> None:
    for body in ({}, {field: ""}, {field: None}):
        refusal = refused(agent.post(f"/v1/browser/{route}", json=body), 400)
        assert refusal["message"].startswith("invalid request: ") and field in refusal["message"]


def test_a_session_has_a_directory_of_its_own(server: Server) -> None:
    headers = {**DEEP_AGENT, "X-Session-ID": "session of mine"}
    with httpx.Client(base_url=server.url, timeout=120, headers=headers) as client:
        room = server.workspace / "session of mine"
        assert not room.exists()
        assert done(client.post("/v1/bash/exec", json={"command": "pwd"}))["output"] == f"{room}\n"
        done(client.post("/v1/file/write", json={"file": "note", "content": "x"}))
        assert (room / "note").read_text() == "x"
        sent = {"file": ("up.txt", b"y")}
        done(client.post("/v1/file/upload", files=sent, data={"path": "up.txt"}))
        assert (room / "up.txt").read_text() == "y"
        other = {"X-Session-ID": "another"}
        assert done(client.post("/v1/file/list", json={"path": "."}, headers=other))["files"] == []
        assert (server.workspace / "another").is_dir()


@pytest.mark.parametrize("name", ["..", ".", "../up", "a/b", "/etc", "x" * 256])
def test_no_session_leaves_the_workspace(http: httpx.Client, server: Server, name: str) -> None:
    before = sorted(path.name for path in server.workspace.parent.iterdir())

    for path, body in (("/v1/bash/exec", {"command": "touch escaped"}), ("/v1/file/write", {"file": "escaped", "content": ""})):
        response = http.post(path, json=body, headers={"X-Session-ID": name})
        assert "x-session-id" in refused(response, 400)["message"]

    assert sorted(path.name for path in server.workspace.parent.iterdir()) == before


def test_a_workspace_must_be_absolute(http: httpx.Client) -> None:
    response = http.post("/v1/file/list", json={"path": "."}, headers={"X-Workspace": "relative"})

    assert "x-workspace" in refused(response, 400)["message"]


def test_a_raw_space_in_the_request_line_is_refused(server: Server) -> None:
    """The SDK sends paths unescaped; a line with a space more than it must have is no request to anybody."""
    import socket

    host, port = server.url.rsplit("/", 1)[1].split(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(b"GET /v1/file/exists?path=/a b HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 400 ")


def test_nothing_but_a_secret_leaves_the_description_open(start_server: Callable[..., Server]) -> None:
    strict = start_server(environment={"JWT_SECRET": "a-shared-secret-0123456789", "JWT_AUTH_REQUIRED": "yes"})
    with strict.http as client:
        for path in ("/health", "/v1/openapi.json", "/docs", "/v1/docs"):
            assert client.get(path, follow_redirects=True).status_code == 200, path
        assert refused(client.get("/v1/sandbox"), 401)["message"] == "missing authorization header"
        for header, message in (
            ("bearer x", "invalid authorization format"),
            ("Bearer", "invalid authorization format"),
            ("Basic x", "invalid authorization format"),
            ("Bearer x", "invalid token"),
        ):
            response = client.get("/v1/sandbox", headers={"Authorization": header})
            assert refused(response, 401)["message"] == message
