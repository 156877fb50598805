"""Shell exec and view as streams of events, resumable by byte offset."""

from __future__ import annotations

import httpx
import pytest
from events import Event, event_stream
from shells import Shell, lines
from waiting import Gate, Marker


def text_of(event: Event) -> str:
    return event.data["data"]


def test_exec_streams_started_output_and_result(http: httpx.Client, shell: Shell, gate: Gate) -> None:
    command = f"echo one; {gate.wait}; echo two; (exit 3)"
    with event_stream(http, "/v1/shell/exec", {"id": shell.id, "command": command}) as events:
        started = next(events)
        assert started.name == "started"
        assert started.data["session_id"] == shell.id
        first = next(events)
        assert first.name == "output"
        assert "one" in text_of(first)
        gate.open()  # the first output arrived while the command was still running
        rest = list(events)

    result = rest[-1]
    assert result.name == "result"
    assert (result.data["status"], result.data["exit_code"]) == ("completed", 3)
    assert result.data["output"] == lines("one", "two")
    outputs = [first, *rest[:-1]]
    assert {event.name for event in outputs} == {"output"}
    offsets = [int(event.id) for event in outputs]
    assert offsets == sorted(offsets)


def test_a_stream_for_an_unknown_session_is_an_ordinary_error(http: httpx.Client) -> None:
    for path, body in (
        ("/v1/shell/exec", {"id": "never-made", "command": "true"}),
        ("/v1/shell/view", {"id": "never-made"}),
    ):
        response = http.post(path, json=body, headers={"Accept": "text/event-stream"})
        assert response.status_code == 404
        assert response.json()["message"] == "Session not found"


@pytest.mark.parametrize("resume_by", ["Last-Event-ID", "offset"])
def test_view_follows_and_resumes_where_the_reader_left_off(
    http: httpx.Client, shell: Shell, gate: Gate, resume_by: str
) -> None:
    result = shell.run("echo before")
    shell.start(f"echo one; {gate.wait}; echo 'zwei ä 漢 😀'; echo end-of-it")
    read, last = "", ""
    with event_stream(http, "/v1/shell/view", {"id": shell.id, "offset": result.offset}) as events:
        for event in events:
            read, last = read + text_of(event), event.id
            if "one" in read:
                break
    gate.open()
    assert shell.wait() == "completed"

    body = {"id": shell.id}
    if resume_by == "offset":
        body["offset"] = int(last)
        last_event_id = None
    else:
        last_event_id = last
    with event_stream(http, "/v1/shell/view", body, last_event_id) as events:
        for event in events:
            read += text_of(event)
            if "end-of-it\r\n" in read:
                break
    with event_stream(http, "/v1/shell/view", {"id": shell.id, "offset": result.offset}) as events:
        whole = ""
        for event in events:
            whole += text_of(event)
            if len(whole) >= len(read):
                break
    assert whole.startswith(read)
    assert read.count("zwei ä 漢 😀\r\n") == 1


def test_a_reader_that_leaves_does_not_end_the_command(
    http: httpx.Client, shell: Shell, marker: Marker
) -> None:
    command = f"echo begun; {marker.command}"
    with event_stream(http, "/v1/shell/exec", {"id": shell.id, "command": command}) as events:
        assert next(events).name == "started"
    marker.wait_until_running()

    assert shell.view().status == "running"
    shell.kill()
    marker.wait_until_gone()
