"""`client.shell`, method by method: results, state and sessions."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server
from shells import Shell, extension, lines
from waiting import Gate, Marker


def test_exec_without_an_id_creates_a_session(client: Sandbox) -> None:
    response = client.shell.exec_command(command="echo hello; (exit 7)")

    assert response.success is True
    result = response.data
    assert result.session_id
    assert result.command == "echo hello; (exit 7)"
    assert result.status == "completed"
    assert result.output == lines("hello")
    assert result.exit_code == 7
    assert result.session_id in client.shell.list_sessions().data.sessions
    client.shell.cleanup_session(result.session_id)


def test_exec_takes_explicit_none_for_everything_optional(client: Sandbox) -> None:
    result = client.shell.exec_command(
        command="echo fine",
        id=None,
        exec_dir=None,
        async_mode=None,
        timeout=None,
        strict=None,
        no_change_timeout=None,
        hard_timeout=None,
        preserve_symlinks=None,
        truncate=None,
    ).data

    assert (result.status, result.output, result.exit_code) == ("completed", lines("fine"), 0)
    client.shell.cleanup_session(result.session_id)


@pytest.mark.parametrize(
    "command, output, code",
    [
        ("true", "", 0),
        ("false", "", 1),
        ("echo one; echo two >&2", lines("one", "two"), 0),
        ("printf 'no newline'", "no newline", 0),
        ("echo 'a  b'\necho \"c\"", lines("a  b", "c"), 0),
        ("printf '\\n\\nx\\n\\n'", lines("", "", "x", ""), 0),
        ("printf 'tab\\there\\n'", lines("tab\there"), 0),
        ("echo 'żółw 漢字 😀'", lines("żółw 漢字 😀"), 0),
        ("printf '\\033[1;31mred\\033[0m\\n'", lines("red"), 0),
        ("no-such-command-here 2>/dev/null", "", 127),
        ("bash -c 'kill -TERM $$'", "Terminated\n", 143),
        ("# only a comment", "", 0),
        ("", "", 0),
        ("sh -c 'exit 255'", "", 255),
    ],
)
def test_output_and_exit_code_are_exact(shell: Shell, command: str, output: str, code: int) -> None:
    result = shell.run(command)

    assert result.status == "completed"
    assert (result.output, result.exit_code) == (output, code)


def test_wide_output_is_not_broken_at_the_terminals_edge(shell: Shell) -> None:
    result = shell.run("printf 'x%.0s' {1..5000}; echo")

    assert result.output == lines("x" * 5000)


def test_output_carries_no_control_noise(shell: Shell) -> None:
    result = shell.run("printf 'working 10%%\\rworking 99%%\\n'; tput bold; ls --color=always /")

    assert "\x1b" not in result.output
    assert "\r" not in result.output


def test_console_shows_the_command_as_a_person_would_see_it(shell: Shell) -> None:
    result = shell.run("echo hello")

    assert len(result.console) == 1
    record = result.console[0]
    assert record.command == "echo hello"
    assert record.output == lines("hello")
    assert record.ps_1


def test_state_persists_between_commands(shell: Shell, tmp_path: Path) -> None:
    shell.run(f'cd {tmp_path}; export COLOR=green; plain=5; greet() {{ echo "hi $1"; }}')

    assert shell.run('pwd; echo "$COLOR $plain"; greet you').output == lines(
        str(tmp_path), "green 5", "hi you"
    )
    assert shell.run("(exit 9)").exit_code == 9
    assert shell.run("true; false").exit_code == 1


def test_exit_code_of_the_last_command_is_seen_by_the_next(shell: Shell) -> None:
    shell.run("(exit 5)")

    assert shell.run("echo $?").output == lines("5")


def test_exec_dir_is_kept_like_cd(shell: Shell, tmp_path: Path) -> None:
    assert shell.run("pwd", exec_dir=str(tmp_path)).output == lines(str(tmp_path))
    assert shell.run("pwd").output == lines(str(tmp_path))


def test_a_missing_exec_dir_is_ignored_unless_strict(shell: Shell, tmp_path: Path) -> None:
    shell.run(f"cd {tmp_path}")
    missing = str(tmp_path / "missing")

    assert shell.run("pwd", exec_dir=missing).output == lines(str(tmp_path))
    with pytest.raises(ApiError) as refused:
        shell.run("echo never", exec_dir=missing, strict=True)
    assert 400 <= refused.value.status_code < 500
    assert missing in refused.value.body["message"]
    assert shell.is_usable()


def test_symbolic_links_in_exec_dir_are_resolved_unless_preserved(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")

    assert shell.run("pwd", exec_dir=str(link)).output == lines(str(tmp_path / "real"))
    kept = shell.run("pwd", exec_dir=str(link), preserve_symlinks=True)
    assert kept.output == lines(str(link))


def test_env_is_for_one_command(shell: Shell) -> None:
    shell.run("export KEPT=before")
    env = {"ONCE": 'it\'s "quoted" $HOME\nand more', "KEPT": "during"}

    during = shell.run('echo "$ONCE|$KEPT"; env | grep -c ^ONCE=', request_options=extension(env=env))
    after = shell.run('echo "${ONCE-unset}|$KEPT"')

    assert during.output == lines(f"{env['ONCE']}|during", "1")
    assert after.output == lines("unset|before")


def test_long_output_is_cut_in_the_middle_unless_told_not_to(shell: Shell) -> None:
    whole = lines(*[str(number) for number in range(1, 20_001)])

    cut = shell.run("seq 1 20000").output
    assert len(cut) <= 30_200
    assert cut.startswith("1\n2\n3\n")
    assert cut.rstrip("\n").endswith("\n19999\n20000")
    assert shell.run("seq 1 20000", truncate=False).output == whole
    short = lines("y" * 29_999)
    assert shell.run("printf 'y%.0s' {1..29999}; echo").output == short


def test_async_exec_is_followed_with_wait_and_view(shell: Shell, gate: Gate) -> None:
    command = f"echo begun; {gate.wait}; echo ended; (exit 5)"

    started = shell.start(command)
    assert (started.status, started.exit_code) == ("running", None)
    assert shell.wait(seconds=0) == "running"
    waited = shell.client.shell.wait_for_process(id=shell.id, max_wait_seconds=1)
    assert waited.data.status == "running"
    running = shell.wait_for_text("begun")
    assert (running.status, running.exit_code, running.command) == ("running", None, command)
    gate.open()
    assert shell.wait() == "completed"
    ended = shell.view()
    assert (ended.status, ended.exit_code, ended.command) == ("completed", 5, command)
    assert ended.output == lines("begun", "ended")
    assert ended.session_id == shell.id
    assert ended.console[-1].command == command


def test_view_reads_on_from_an_offset(shell: Shell) -> None:
    first = shell.run("echo first")
    second = shell.run("echo zweite Ausgabe: ä")

    assert first.end_offset <= second.offset < second.end_offset
    since = shell.view(offset=second.offset)
    assert "zweite Ausgabe: ä" in since.output
    assert "first" not in since.output
    assert shell.view(offset=since.offset).output == ""


def test_write_types_into_the_running_program(shell: Shell) -> None:
    shell.start('read -r line; echo "got [$line]"')

    assert shell.type("some words") in ("running", "completed")
    assert shell.wait() == "completed"
    assert "got [some words]" in shell.view().output


def test_write_can_leave_enter_to_the_caller(shell: Shell) -> None:
    shell.start('read -r line; echo "got [$line]"')

    shell.type("two ", press_enter=False)
    shell.type("parts\n", press_enter=False)
    assert shell.wait() == "completed"
    assert "got [two parts]" in shell.view().output


def test_write_passes_control_characters_as_keys(shell: Shell, marker: Marker) -> None:
    shell.start(marker.command)
    # A key pressed while bash is still starting the program is lost, there as in any terminal.
    marker.wait_until_running()
    shell.type("\x03", press_enter=False)

    assert shell.wait() == "completed"
    assert shell.view().exit_code == 130
    assert shell.is_usable()


def test_create_returns_an_id_of_its_own_for_an_empty_one(client: Sandbox, server: Server) -> None:
    for options in ({}, {"id": ""}, {"id": None, "exec_dir": None, "no_change_timeout": None}):
        created = client.shell.create_session(**options).data
        assert created.session_id
        assert created.working_dir == os.path.realpath(server.workspace)
        client.shell.cleanup_session(created.session_id)


def test_create_with_a_known_id_returns_that_session(client: Sandbox, tmp_path: Path) -> None:
    created = client.shell.create_session(id="twice", exec_dir=str(tmp_path)).data
    assert (created.session_id, created.working_dir) == ("twice", str(tmp_path))
    client.shell.exec_command(id="twice", command="export MARK=kept; cd /")

    again = client.shell.create_session(id="twice", exec_dir=str(tmp_path)).data

    assert (again.session_id, again.working_dir) == ("twice", "/")
    result = client.shell.exec_command(id="twice", command="echo $MARK").data
    assert result.output == lines("kept")
    client.shell.cleanup_session("twice")


def test_sessions_are_listed_as_a_map(shell: Shell, gate: Gate) -> None:
    idle = shell.client.shell.list_sessions().data.sessions[shell.id]
    assert os.path.isabs(idle.working_dir)
    assert idle.current_command is None
    assert 0 <= idle.age_seconds < 3600
    assert idle.created_at <= idle.last_used_at <= datetime.now(timezone.utc)

    command = f"{gate.wait}; cd /usr"
    shell.start(command)
    busy = shell.client.shell.list_sessions().data.sessions[shell.id]
    assert (busy.status, busy.current_command) == ("running", command)
    gate.open()
    shell.wait()
    after = shell.client.shell.list_sessions().data.sessions[shell.id]
    assert (after.status, after.current_command) == ("completed", None)
    assert after.working_dir == "/usr"


def test_stats_count_sessions(shell: Shell) -> None:
    stats = shell.client.shell.get_session_stats().data

    assert stats.total_sessions == len(shell.client.shell.list_sessions().data.sessions)
    assert stats.total_sessions == stats.active_sessions + stats.idle_sessions
    assert stats.active_sessions >= 1
    assert stats.max_sessions >= stats.total_sessions
    assert stats.session_timeout > 0
    assert stats.usage_ratio == pytest.approx(stats.total_sessions / stats.max_sessions)


def test_terminal_url_is_of_a_new_session(client: Sandbox, server: Server) -> None:
    before = set(client.shell.list_sessions().data.sessions)

    url = client.shell.get_terminal_url().data

    created = set(client.shell.list_sessions().data.sessions) - before
    assert len(created) == 1
    session = created.pop()
    assert url == f"{server.url}/terminal?session_id={session}"
    client.shell.cleanup_session(session)


def test_terminal_url_follows_the_forwarded_address(client: Sandbox) -> None:
    headers = {
        "X-Forwarded-Host": "agents.example",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "/sandbox/one",
    }

    options = {"additional_headers": headers, "additional_query_parameters": {"ticket": "t1"}}
    url = client.shell.get_terminal_url(request_options=options).data

    assert url.startswith("https://agents.example/sandbox/one/terminal?")
    assert "session_id=" in url
    assert "ticket=t1" in url
    session = url.split("session_id=")[1].split("&")[0]
    client.shell.cleanup_session(session)


def test_cleanup_ends_one_session(client: Sandbox) -> None:
    kept, gone = Shell(client), Shell(client)

    assert client.shell.cleanup_session(gone.id).success is True
    with pytest.raises(ApiError) as refused:
        gone.run("echo never")
    assert refused.value.status_code == 404
    assert kept.is_usable()
    kept.close()


def test_cleanup_of_all_sessions_leaves_none(start_server) -> None:
    client = start_server().client
    shells = [Shell(client) for _ in range(3)]

    assert client.shell.cleanup_all_sessions().success is True

    assert client.shell.list_sessions().data.sessions == {}
    assert client.shell.get_session_stats().data.total_sessions == 0
    for shell in shells:
        with pytest.raises(ApiError) as refused:
            shell.view()
        assert refused.value.status_code == 404


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.shell.exec_command(id="never-made", command="true"),
        lambda client: client.shell.view(id="never-made"),
        lambda client: client.shell.wait_for_process(id="never-made"),
        lambda client: client.shell.write_to_process(id="never-made", input="x", press_enter=True),
        lambda client: client.shell.kill_process(id="never-made"),
        lambda client: client.shell.update_session(id="never-made", no_change_timeout=5),
        lambda client: client.shell.cleanup_session("never-made"),
    ],
    ids=["exec", "view", "wait", "write", "kill", "update", "cleanup"],
)
def test_an_unknown_session_is_not_found(client: Sandbox, call) -> None:
    with pytest.raises(ApiError) as refused:
        call(client)

    assert refused.value.status_code == 404
    assert refused.value.body["message"] == "Session not found"
    assert refused.value.body["success"] is False
    assert refused.value.body["data"] is None
