"""The terminal WebSocket: a person's view of a shell session, shared with REST."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Callable

import pytest
from server import Server
from shells import Shell, lines
from sockets import SilentTerminal, Terminal
from waiting import Gate, Marker
from websockets.exceptions import InvalidStatus

ENTER_FULL_SCREEN = "\x1b[?1049h"
LEAVE_FULL_SCREEN = "\x1b[?1049l"


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def test_it_greets_with_the_session_and_takes_input(server: Server) -> None:
    with Terminal(server) as terminal:
        terminal.receive_until(lambda: bool(terminal.of_type("ready")), "ready")
        assert [message["type"] for message in terminal.messages][:2] == ["session_id", "ready"]
        assert terminal.of_type("ready")[0]["data"] == "Terminal ready"
        assert terminal.session_id in server.client.shell.list_sessions().data.sessions

        terminal.type("echo $((40 + 2))\n")
        terminal.wait_for("42")
        offsets = [message["offset"] for message in terminal.of_type("output")]
        assert offsets == sorted(offsets)
        server.client.shell.cleanup_session(terminal.session_id)


def test_resize_reaches_the_program(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.send(type="resize", data={"cols": 101, "rows": 37})
        terminal.type("stty size\n")
        terminal.wait_for("37 101")


def test_ping_is_answered_with_what_it_carried(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.send(type="ping", timestamp=1234567)
        terminal.receive_until(lambda: bool(terminal.of_type("pong")), "pong")
        assert terminal.of_type("pong")[0]["timestamp"] == 1234567


def test_both_kinds_of_pong_are_taken(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.send(type="pong", timestamp=1)
        terminal.send(type="pong", data={"timestamp": 1})
        terminal.type("echo still-$((1 + 1))\n")
        terminal.wait_for("still-2")
        assert not terminal.of_type("error")


def test_a_binary_frame_is_taken_like_a_text_frame(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.send_raw(json.dumps({"type": "input", "data": "echo bin-$((2 * 3))\n"}).encode())
        terminal.wait_for("bin-6")


@pytest.mark.parametrize(
    "nonsense", ["not json", "{}", '{"type":"dance"}', '{"type":"input","data":7}', "[]"]
)
def test_nonsense_is_an_error_message_and_not_the_end(server: Server, shell: Shell, nonsense: str) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.send_raw(nonsense)
        terminal.receive_until(lambda: bool(terminal.of_type("error")), "an error message")
        assert terminal.of_type("error")[0]["data"]
        terminal.type("echo alive-$((3 * 3))\n")
        terminal.wait_for("alive-9")


def test_rest_and_terminal_share_the_session(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        assert terminal.session_id == shell.id
        terminal.type("export FROM_TERMINAL=yes; echo exported-$((5 + 5))\n")
        terminal.wait_for("exported-10")

        assert shell.run("echo $FROM_TERMINAL; echo from-rest-$((6 + 6))").output == lines(
            "yes", "from-rest-12"
        )
        terminal.wait_for("from-rest-12")


def test_two_terminals_see_the_same(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as one, Terminal(server, session_id=shell.id) as two:
        one.type("echo seen-$((7 + 7))\n")
        one.wait_for("seen-14")
        two.wait_for("seen-14")


def test_a_new_terminal_sees_what_was_printed_before(server: Server, shell: Shell) -> None:
    shell.run("echo earlier-$((8 + 8))")

    with Terminal(server, session_id=shell.id) as terminal:
        terminal.wait_for("earlier-16")


def test_a_terminal_that_returns_misses_and_repeats_nothing(server: Server, shell: Shell, gate: Gate) -> None:
    with Terminal(server, session_id=shell.id, offset=0) as before:
        before.type(f"echo one; {gate.wait}; printf 'zwei-ä-漢-😀-%s\\n' $((1 + 2))\n")
        before.wait_for("one\r\n")
        text, offset = before.text, before.offset
    gate.open()
    shell.wait_for_offset(offset)

    with Terminal(server, session_id=shell.id, offset=offset) as after:
        after.wait_for("zwei-ä-漢-😀-3")
        after.type("echo the-$((0 + 0))-end\n")
        after.wait_for("the-0-end")
        returned = after.text
    with Terminal(server, session_id=shell.id, offset=0) as whole:
        whole.wait_for("the-0-end")
        whole.receive_until(lambda: len(whole.text) >= len(text + returned), "the whole stream")
        assert whole.text.startswith(text + returned)


def test_the_session_outlives_its_terminal(server: Server, shell: Shell, marker: Marker) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.type(f"{marker.command}\n")
        marker.wait_until_running()

    assert marker.pids()
    assert shell.id in shell.client.shell.list_sessions().data.sessions


def test_a_terminal_for_an_unknown_session_is_refused(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        Terminal(server, session_id="never-made")

    assert refused.value.response.status_code == 404
    assert b"Session not found" in refused.value.response.body


def test_a_slow_reader_stalls_neither_the_program_nor_another_reader(server: Server, shell: Shell) -> None:
    with SilentTerminal(server, session_id=shell.id) as slow, Terminal(server, session_id=shell.id) as fast:
        assert slow.session_id == shell.id  # and from here on it reads nothing
        result = shell.run("seq 1 2000000; echo end-$((40 + 2))", hard_timeout=100)
        assert (result.status, result.exit_code) == ("completed", 0)
        fast.wait_for("end-42")


def test_text_is_never_split_inside_a_character(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.type("for i in {1..2000}; do printf 'żółw漢字😀'; done; echo '<'over'>'\n")
        terminal.wait_for("<over>")
        assert "\ufffd" not in terminal.text
        assert terminal.text.count("żółw漢字😀") >= 2000  # what was typed may be echoed too


@needs("vim")
def test_vim_is_drawn_and_left(server: Server, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "poem.txt"
    file.write_text("a line to see\n")
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.type(f"vim -u NONE -i NONE {file}\n")
        terminal.wait_for(ENTER_FULL_SCREEN)
        terminal.wait_for("a line to see")
        terminal.type("A, changed\x1b:wq\r")
        terminal.wait_for(LEAVE_FULL_SCREEN)
    assert file.read_text() == "a line to see, changed\n"
    assert shell.is_usable()


@needs("vim")
def test_vim_is_driven_by_rest_with_its_screen_in_view(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "poem.txt"
    file.write_text("first\nsecond\n")
    shell.start(f"vim -u NONE -i NONE {file}")

    view = shell.wait_for_text("second")
    assert view.output.splitlines()[:3] == ["first", "second", "~"]
    assert view.status == "running"
    shell.type(":q!")
    assert shell.wait() == "completed"
    assert shell.view().exit_code == 0


@needs("less")
def test_less_pages(server: Server, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("".join(f"line {number}\n" for number in range(1000)))
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.type(f"less {file}\n")
        terminal.wait_for(ENTER_FULL_SCREEN)
        terminal.wait_for("line 1\r\n")
        assert "line 999" not in terminal.text
        terminal.type("G")
        terminal.wait_for("line 999")
        terminal.type("q")
        terminal.wait_for(LEAVE_FULL_SCREEN)
    assert shell.is_usable()


@needs("top")
def test_top_draws_its_table(server: Server, shell: Shell) -> None:
    with Terminal(server, session_id=shell.id) as terminal:
        terminal.type("top -d 0.5\n")
        terminal.wait_for("load average", count=3)
        terminal.wait_for("\x1b[H")
        terminal.type("q")
        # top throws away what was typed ahead of its end.
        shell.wait()
        terminal.type("echo left-$((4 * 4))\n")
        terminal.wait_for("left-16")
    assert shell.is_usable()


def test_terminals_close_with_their_session(server: Server, client) -> None:
    shell = Shell(client)
    with Terminal(server, session_id=shell.id) as terminal:
        shell.close()
        terminal.wait_until_closed()


def test_a_terminal_counts_as_use_and_makes_room_for_no_one(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(environment={"MAX_SHELL_SESSIONS": "1"})
    with Terminal(server) as terminal:
        with pytest.raises(InvalidStatus) as refused:
            Terminal(server)
        assert refused.value.response.status_code == 429
        terminal.type("echo kept-$((9 * 9))\n")
        terminal.wait_for("kept-81")
