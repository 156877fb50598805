"""The bash WebSocket: commands followed live, both streams, resumable by byte offset."""

from __future__ import annotations

import pytest
from bashes import Bash
from server import Server
from sockets import BashSocket
from waiting import Gate, Marker


def test_a_command_is_followed_from_start_to_end(server: Server) -> None:
    with BashSocket(server) as socket:
        socket.send(type="exec", data="echo out; echo err >&2; exit 7")
        done = socket.done()

        command_id = socket.of_type("command_started")[0]["command_id"]
        assert (socket.stdout, socket.stderr) == ("out\n", "err\n")
        assert (done["command_id"], done["status"], done["exit_code"]) == (command_id, "completed", 7)
        assert socket.of_type("output")[-1]["offset"] == 4
        assert socket.of_type("stderr")[-1]["stderr_offset"] == 4
        assert {each["command_id"] for each in socket.messages[1:]} == {command_id}


def test_output_comes_while_the_command_runs(server: Server, gate: Gate) -> None:
    with BashSocket(server) as socket:
        socket.send(type="exec", data=f"echo one; {gate.wait}; echo two")
        socket.wait_for("one\n")
        assert not socket.of_type("command_done")
        gate.open()
        assert socket.done()["exit_code"] == 0
        assert socket.stdout == "one\ntwo\n"


def test_commands_of_a_socket_share_the_session(server: Server, bash: Bash) -> None:
    with BashSocket(server, session_id=bash.id) as socket:
        assert socket.session_id == bash.id
        socket.send(type="exec", data="echo first")
        first = socket.done(1)
        socket.send(type="exec", data="echo second")
        socket.done(2)
        assert socket.stdout == "first\nsecond\n"

    assert bash.output(command_id=first["command_id"]).stdout == "first\n"
    assert bash.info().command_count == 2


def test_input_and_its_end_reach_the_command(server: Server) -> None:
    with BashSocket(server) as socket:
        socket.send(type="exec", data="cat; echo ended")
        socket.started()
        socket.send(type="input", data="typed\n")
        socket.wait_for("typed\n")
        socket.send(type="close_stdin")
        assert socket.done()["exit_code"] == 0
        assert socket.stdout == "typed\nended\n"


@pytest.mark.parametrize(
    "message, code", [({}, -15), ({"signal": "SIGKILL"}, -9), ({"signal": "SIGINT"}, -2)]
)
def test_a_command_is_killed(server: Server, marker: Marker, message: dict, code: int) -> None:
    with BashSocket(server) as socket:
        socket.send(type="exec", data=f"{marker.command}; true")
        marker.wait_until_running()
        socket.send(type="kill", **message)
        done = socket.done()
        assert (done["status"], done["exit_code"]) == ("killed", code)
    marker.wait_until_gone()


def test_a_client_that_returns_misses_and_repeats_nothing(server: Server, bash: Bash, gate: Gate) -> None:
    with BashSocket(server, session_id=bash.id) as before:
        before.send(type="exec", data=f"printf 'one ä '; {gate.wait}; printf 'two 漢'; echo e >&2; exit 5")
        before.wait_for("one ä ")
        command_id = before.of_type("command_started")[0]["command_id"]
        offset = before.of_type("output")[-1]["offset"]
        assert offset == len("one ä ".encode())
    gate.open()
    bash.finish(command_id)

    with BashSocket(server, session_id=bash.id) as after:
        after.send(type="resume", command_id=command_id, offset=offset, stderr_offset=0)
        done = after.done()
        assert (after.stdout, after.stderr) == ("two 漢", "e\n")
        assert (done["command_id"], done["exit_code"]) == (command_id, 5)


def test_a_session_with_a_name_outlives_the_socket(server: Server, bash: Bash, marker: Marker) -> None:
    with BashSocket(server, session_id=bash.id) as socket:
        socket.send(type="exec", data=marker.command)
        marker.wait_until_running()

    assert bash.info().current_command == marker.command
    assert marker.pids()


def test_a_session_made_up_for_the_socket_ends_with_it(server: Server, marker: Marker) -> None:
    with BashSocket(server) as socket:
        socket.send(type="exec", data=marker.command)
        marker.wait_until_running()
        session = socket.session_id

    marker.wait_until_gone()
    assert session not in {each.session_id for each in server.client.bash.sessions().data}


def test_ping_is_answered_with_what_it_carried(server: Server) -> None:
    with BashSocket(server) as socket:
        socket.send(type="ping", timestamp=77)
        socket.receive_until(lambda: bool(socket.of_type("pong")), "pong")
        assert socket.of_type("pong")[0]["timestamp"] == 77


@pytest.mark.parametrize(
    "nonsense", ["not json", '{"type":"dance"}', '{"type":"exec"}', '{"type":"input","data":"x"}']
)
def test_what_cannot_be_done_is_an_error_message_and_not_the_end(server: Server, nonsense: str) -> None:
    with BashSocket(server) as socket:
        socket.send_raw(nonsense)
        socket.receive_until(lambda: bool(socket.of_type("error")), "an error message")
        assert socket.of_type("error")[0]["data"]
        socket.send(type="exec", data="echo alive")
        socket.done()
        assert socket.stdout == "alive\n"
