"""Shell commands that break naive terminals: the call tells the truth and the session lives on."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest
from server import Server
from shells import Shell, lines
from waiting import Gate, Marker, eventually


def test_a_hundred_commands_at_once_corrupt_nothing(shell: Shell) -> None:
    def run(number: int) -> Any:
        return shell.run(f"echo 'begin {number}'; echo 'end {number}'; (exit {number})")

    with ThreadPoolExecutor(100) as pool:
        results = list(pool.map(run, range(100)))

    for number, result in enumerate(results):
        assert result.status == "completed"
        assert result.output == lines(f"begin {number}", f"end {number}")
        assert result.exit_code == number


def test_commands_sent_to_a_busy_session_run_in_order(shell: Shell, gate: Gate, tmp_path: Path) -> None:
    shell.start(f"{gate.wait}; echo first >> {tmp_path}/order")
    for name in ("second", "third", "fourth"):
        assert shell.start(f"echo {name} >> {tmp_path}/order").status == "running"

    gate.open()
    assert shell.wait() == "completed"
    assert (tmp_path / "order").read_text() == "first\nsecond\nthird\nfourth\n"


@pytest.mark.parametrize(
    "command, code",
    [
        ("exit 3", 3),
        ("exit", 0),
        ("exec true", 0),
        ("exec sh -c 'exit 9'", 9),
        ("kill -9 $$", 137),
        ("kill -HUP $$", 129),
        ("kill -SEGV $$", 139),
        ("set -e; false", 1),
    ],
)
def test_a_shell_that_ends_is_replaced_under_its_id(shell: Shell, command: str, code: int) -> None:
    result = shell.run(command)

    assert (result.status, result.exit_code) == ("completed", code)
    assert result.session_id == shell.id
    assert shell.is_usable()


def test_output_before_the_shell_ends_is_kept(shell: Shell) -> None:
    result = shell.run("echo last words; exit 3")

    assert (result.output, result.exit_code) == (lines("last words"), 3)


def test_a_replaced_shell_is_where_the_old_one_was(shell: Shell, tmp_path: Path) -> None:
    shell.run(f"cd {tmp_path}")
    shell.run("exit 1")

    assert shell.run("pwd").output == lines(str(tmp_path))


def test_commands_waiting_behind_an_exit_still_run(shell: Shell, gate: Gate) -> None:
    shell.start(f"{gate.wait}; exit 4")
    shell.start("echo after")
    gate.open()

    assert shell.wait() == "completed"
    view = shell.view()
    assert (view.command, view.output, view.exit_code) == ("echo after", lines("after"), 0)


@pytest.mark.parametrize(
    "command",
    ['echo "unbalanced', "echo 'unbalanced", "echo $(", "if true; then", "echo `date", ")", "done"],
)
def test_a_syntax_error_is_reported_and_over(shell: Shell, command: str) -> None:
    result = shell.run(command)

    assert result.status == "completed"
    assert result.exit_code != 0
    assert "syntax error" in result.output or "unexpected EOF" in result.output
    assert shell.is_usable()


def test_here_documents_are_taken_as_they_are(shell: Shell) -> None:
    body = "$HOME 'single' \"double\" `ticks` \\n\n\n  indented\ttab"

    result = shell.run(f"cat <<'END'\n{body}\nEND\necho after")

    assert result.output == lines(*body.split("\n"), "after")


def test_an_unfinished_here_document_does_not_wait_for_more(shell: Shell) -> None:
    result = shell.run("cat <<END\nhello")

    assert result.status == "completed"
    assert "hello" in result.output
    assert shell.is_usable()


def test_a_command_of_a_megabyte_arrives_whole(shell: Shell) -> None:
    value = "0123456789abcdef" * 65_536
    command = f"value='{value}'; echo ${{#value}}; printf %s \"$value\" | sha256sum | cut -c 1-8"

    result = shell.run(command)

    digest = hashlib.sha256(value.encode()).hexdigest()[:8]
    assert result.output == lines("1048576", digest)
    assert result.command == command


def test_binary_output_is_survived(shell: Shell) -> None:
    result = shell.run("printf 'A\\377\\376\\200\\000B\\n'; head -c 100000 /dev/urandom; (exit 6)")

    assert (result.status, result.exit_code) == ("completed", 6)
    assert result.output.startswith("A")
    assert shell.is_usable()


@pytest.mark.parametrize(
    "sequence",
    ["\\033[?1049h", "\\033c", "\\033]0;title", "\\033P", "\\033[6n\\033[c", "\\016", "\\033[?2004h"],
)
def test_terminal_sequences_left_open_are_survived(shell: Shell, sequence: str) -> None:
    result = shell.run(f"printf '{sequence}'")

    assert (result.status, result.exit_code) == ("completed", 0)
    assert shell.is_usable()


@pytest.mark.parametrize("settings", ["-echo", "raw", "-onlcr", "raw -echo -icanon", "sane", "cols 3 rows 1"])
def test_terminal_settings_do_not_change_the_output(shell: Shell, settings: str) -> None:
    assert shell.run(f"stty {settings}").exit_code == 0

    assert shell.is_usable()


@pytest.mark.parametrize(
    "command",
    [
        "PS1='' PS2='' PROMPT_COMMAND='echo noise'",
        "PROMPT_COMMAND=exit",
        "unset PROMPT_COMMAND PS0 PS1",
        "trap 'echo trapped' DEBUG",
        "trap 'echo bye' EXIT",
        "set -x",
        "set -v",
        "set -o noclobber -o nounset -o pipefail",
        "shopt -s extdebug; alias echo='echo aliased'",
        "exec 3>&1 4>&2",
        "PATH=",
        "readonly PATH HOME",
        "echo() { builtin echo shadowed; }; printf() { :; }; trap() { :; }; exit() { :; }",
        "IFS=x",
        "exec >/dev/null 2>&1",
        "exec <&-",
        "exec 0<&- 1>&- 2>&-",
        "ulimit -n 20",
    ],
)
def test_shell_settings_never_lock_the_caller_out(shell: Shell, command: str) -> None:
    shell.run(command)

    result = shell.run("echo hello; (builtin exit 42)")
    assert (result.status, result.session_id) == ("completed", shell.id)
    assert result.exit_code == 42
    assert shell.run("builtin exit 5").exit_code == 5
    assert shell.is_usable()


def test_a_program_that_eats_its_input_does_not_eat_the_next_command(shell: Shell) -> None:
    shell.start("cat")
    shell.start("echo next; (exit 8)")
    shell.type("for cat")
    shell.wait_for_text("for cat")
    shell.type("\x04", press_enter=False)

    assert shell.wait() == "completed"
    view = shell.view()
    assert (view.command, view.output, view.exit_code) == ("echo next; (exit 8)", lines("next"), 8)


def test_output_that_looks_like_our_own_markers_fools_nobody(shell: Shell) -> None:
    """Whatever the session's private bookkeeping is, a command that dumps it all changes nothing."""
    spill = "set; set -o; declare -f; trap -p; env; cat /proc/$$/cmdline /proc/$$/environ | tr '\\0' '\\n'"

    result = shell.run(f"{spill}; echo the-very-end; (exit 3)", truncate=False)

    assert (result.status, result.exit_code) == ("completed", 3)
    assert result.output.endswith(lines("the-very-end"))
    replay = shell.run(f"cat <<'END'\n{result.output}\nEND\n(exit 4)", truncate=False)
    assert (replay.status, replay.exit_code) == ("completed", 4)
    assert shell.is_usable()


def test_a_background_job_does_not_hold_the_answer(shell: Shell, marker: Marker) -> None:
    result = shell.run(f"{marker.command} & echo hi")

    assert (result.status, result.output, result.exit_code) == ("completed", lines("hi"), 0)
    marker.wait_until_running()
    assert shell.is_usable()
    assert marker.pids()


def test_what_a_background_job_prints_later_is_read_by_offset(shell: Shell, gate: Gate) -> None:
    result = shell.run(f"({gate.wait}; echo printed later) & echo hi")
    assert result.output == lines("hi")

    gate.open()
    eventually(
        lambda: "printed later" in shell.view(offset=result.end_offset).output,
        "the background job's output is readable",
    )


def test_background_jobs_die_with_their_session(client, make_marker: Callable[[], Marker]) -> None:
    shell = Shell(client)
    plain, detached, ignoring = make_marker(), make_marker(), make_marker()
    shell.run(
        f"{plain.command} & (setsid {detached.command} &) ; (trap '' HUP TERM; {ignoring.command}) & true"
    )
    for each in (plain, detached, ignoring):
        each.wait_until_running()

    shell.close()

    for each in (plain, detached, ignoring):
        each.wait_until_gone()


def test_children_do_not_see_the_servers_environment(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"UPSTREAM_TOKEN": "hidden-from-children"})
    shell = Shell(server.client)

    assert "hidden-from-children" not in shell.run("env; set", truncate=False).output
    assert shell.run("echo $HOME").output == lines(str(server.home))
