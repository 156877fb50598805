"""A bash command as a stream of events, and what it prints in a file of the caller's choice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict

import httpx
import pytest
from bashes import Bash
from events import event_stream
from waiting import Gate


def run(http: httpx.Client, bash: Bash, **body: Any) -> httpx.Response:
    return http.post("/v1/bash/exec", json={"session_id": bash.id, **body})


def test_exec_streams_started_output_and_result(http: httpx.Client, bash: Bash, gate: Gate) -> None:
    command = f"echo one; {gate.wait}; echo two >&2; exit 3"
    with event_stream(http, "/v1/bash/exec", {"session_id": bash.id, "command": command}) as events:
        started = next(events)
        assert started.name == "started" and started.data["session_id"] == bash.id
        first = next(events)
        assert (first.name, first.data) == ("output", {"data": "one\n", "source": "stdout", "offset": 4})
        gate.open()  # the first output arrived while the command was still running
        rest = list(events)

    assert [event.name for event in rest] == ["output", "result"]
    assert rest[0].data == {"data": "two\n", "source": "stderr", "offset": 4}
    result = rest[-1].data
    assert (result["status"], result["exit_code"]) == ("completed", 3)
    assert (result["stdout"], result["stderr"]) == ("one\n", "two\n")
    assert (result["command_id"], result["pid"]) == (started.data["command_id"], started.data["pid"])


def test_a_stream_ends_when_its_reader_waits_no_longer(http: httpx.Client, bash: Bash, gate: Gate) -> None:
    body: Dict[str, Any] = {"session_id": bash.id, "command": f"echo one; {gate.wait}", "timeout": 0.5}
    with event_stream(http, "/v1/bash/exec", body) as events:
        result = list(events)[-1]

    assert (result.name, result.data["status"]) == ("result", "running")


def test_a_megabyte_comes_whole_and_in_order(http: httpx.Client, bash: Bash) -> None:
    body = {"session_id": bash.id, "command": "seq 150000", "max_output_length": 10}
    with event_stream(http, "/v1/bash/exec", body) as events:
        text = "".join(event.data["data"] for event in events if event.name == "output")

    assert text == "".join(f"{number}\n" for number in range(1, 150_001))


def test_a_stream_that_cannot_begin_is_an_ordinary_error(http: httpx.Client) -> None:
    body = {"command": "true", "exec_dir": "/nowhere"}
    response = http.post("/v1/bash/exec", json=body, headers={"Accept": "text/event-stream"})

    assert (response.status_code, response.json()["error_code"]) == (400, "bash.directory")


def test_what_a_command_prints_goes_to_a_file(http: httpx.Client, bash: Bash, folder: Path) -> None:
    for number in (1, 2):
        command = f"echo out {number}; echo err {number} >&2"
        data = run(http, bash, command=command, exec_dir=str(folder), output_file="logs/all.log").json()["data"]
        assert (data["stdout"], data["stderr"], data["exit_code"]) == ("", "", 0)
        assert data["output_file"] == str(folder / "logs/all.log")

    assert (folder / "logs/all.log").read_text() == "out 1\nerr 1\nout 2\nerr 2\n"


def test_a_command_that_is_no_bash_says_so_in_the_file(http: httpx.Client, bash: Bash, folder: Path) -> None:
    file = folder / "a 'quoted' name"
    data = run(http, bash, command="if then", output_file=str(file)).json()["data"]

    assert data["exit_code"] != 0 and data["stderr"] == ""
    assert "syntax error" in file.read_text()


@pytest.mark.parametrize("kind", ["directory", "pipe", "below a file"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    http: httpx.Client, bash: Bash, folder: Path, kind: str
) -> None:
    if kind == "directory":
        (folder / "target").mkdir()
    elif kind == "pipe":
        os.mkfifo(folder / "target")
    else:
        (folder / "file").touch()
    target = folder / ("file/target" if kind == "below a file" else "target")

    response = run(http, bash, command=f"touch {folder}/ran", output_file=str(target))

    assert (response.status_code, response.json()["error_code"]) == (400, "bash.output_file")
    assert not (folder / "ran").exists()
