"""`client.bash`, method by method: results, what persists and what does not."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from bashes import Bash
from server import Server
from shells import extension
from waiting import Gate, Marker, eventually


def test_exec_separates_the_streams(client: Sandbox) -> None:
    response = client.bash.exec(command="echo out; echo err >&2; exit 7")

    assert response.success is True
    result = response.data
    assert result.session_id and result.command_id
    assert result.command == "echo out; echo err >&2; exit 7"
    assert (result.status, result.exit_code) == ("completed", 7)
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert (result.offset, result.stderr_offset) == (4, 4)
    assert result.stdout_full_output_file_path is None
    assert result.stderr_full_output_file_path is None
    client.bash.close_session(result.session_id)


def test_exec_takes_explicit_none_for_everything_optional(client: Sandbox) -> None:
    result = client.bash.exec(
        command="echo fine",
        session_id=None,
        exec_dir=None,
        env=None,
        async_mode=None,
        timeout=None,
        hard_timeout=None,
        max_output_length=None,
    ).data

    assert (result.status, result.stdout, result.exit_code) == ("completed", "fine\n", 0)
    client.bash.close_session(result.session_id)


@pytest.mark.parametrize(
    "command, stdout, code",
    [
        ("true", "", 0),
        ("false", "", 1),
        ("printf 'no newline'", "no newline", 0),
        ("printf 'a\\r\\nb\\n\\n'", "a\r\nb\n\n", 0),
        ("printf '\\033[31mred\\033[0m'", "\x1b[31mred\x1b[0m", 0),
        ("cat <<'END'\n$HOME \"quoted\"\nEND", '$HOME "quoted"\n', 0),
        ("[[ -t 0 || -t 1 || -t 2 ]] && echo tty || echo pipes", "pipes\n", 0),
        ("exit 255", "", 255),
        ("exec true", "", 0),
        ("set -e; false; echo never", "", 1),
        ("kill -9 $$", "", -9),
        ("kill -TERM $$", "", -15),
        ("sh -c 'kill -9 $$'; true", "", 0),
        ("sh -c 'kill -9 $$'; exit $?", "", 137),
        ("echo 'żółw 漢字 😀'", "żółw 漢字 😀\n", 0),
        ("", "", 0),
    ],
)
def test_output_and_exit_code_are_exact(bash: Bash, command: str, stdout: str, code: int) -> None:
    result = bash.run(command)

    assert result.status == "completed"
    assert ((result.stdout or ""), result.exit_code) == (stdout, code)
    assert result.offset == len(stdout.encode())


def test_a_syntax_error_is_a_result(bash: Bash) -> None:
    result = bash.run('echo "unbalanced')

    assert result.status == "completed"
    assert result.exit_code != 0
    assert "unexpected EOF" in result.stderr


def test_a_command_of_a_megabyte_arrives_whole(bash: Bash) -> None:
    result = bash.run(f"value='{'x' * 1_048_576}'; echo ${{#value}}")

    assert (result.stdout, result.exit_code) == ("1048576\n", 0)


def test_a_hundred_commands_at_once_in_one_session(bash: Bash) -> None:
    def run(number: int) -> Any:
        return bash.run(f"echo out {number}; echo err {number} >&2; exit {number}")

    with ThreadPoolExecutor(100) as pool:
        results = list(pool.map(run, range(100)))

    assert len({result.command_id for result in results}) == 100
    for number, result in enumerate(results):
        assert (result.stdout, result.stderr) == (f"out {number}\n", f"err {number}\n")
        assert (result.status, result.exit_code) == ("completed", number)
    assert bash.info().command_count == 100


def test_only_the_directory_persists(bash: Bash, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    home = bash.run("pwd").stdout

    bash.run("cd /usr; export COLOR=green; greet() { echo hi; }")
    assert bash.run('pwd; echo "${COLOR-unset}"; type greet >&2').stdout == f"{home}unset\n"
    assert bash.run("pwd", exec_dir=str(tmp_path)).stdout == f"{tmp_path}\n"
    assert bash.run("cd inside; pwd").stdout == f"{tmp_path}/inside\n"
    assert bash.run("pwd").stdout == f"{tmp_path}\n"
    assert bash.info().working_dir == str(tmp_path)


def test_env_is_for_one_command(bash: Bash) -> None:
    env = {"ONCE": "it's $HOME\nand more", "PATH": "/usr/bin:/bin:/only/here"}

    assert bash.run('printf %s "$ONCE$PATH"', env=env).stdout == env["ONCE"] + env["PATH"]
    assert bash.run('echo "${ONCE-unset}"; [[ $PATH != *only* ]]').stdout == "unset\n"


def test_a_snapshot_is_sourced_before_each_command(client: Sandbox, tmp_path: Path) -> None:
    script = tmp_path / "snapshot.sh"
    script.write_text('export COLOR=green\ngreet() { echo "hi $1"; }\n')
    bash = Bash(client, snapshot_path=str(script))

    assert bash.run('greet "$COLOR"; COLOR=red').stdout == "hi green\n"
    assert bash.run("echo $COLOR; exit 4").exit_code == 4
    assert script.read_text().startswith("export COLOR=green\n")
    bash.close()


def test_a_missing_snapshot_is_refused(client: Sandbox, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.sh")

    with pytest.raises(ApiError) as refused:
        client.bash.create_session(snapshot_path=missing)

    assert 400 <= refused.value.status_code < 500
    assert missing in refused.value.body["message"]


def test_create_describes_the_session(client: Sandbox, server: Server, tmp_path: Path) -> None:
    made_up = client.bash.create_session().data
    assert made_up.session_id
    assert made_up.status == "ready"
    assert os.path.realpath(made_up.working_dir) == os.path.realpath(server.workspace)
    assert made_up.created_at <= made_up.last_used_at <= datetime.now(timezone.utc)
    assert (made_up.current_command, made_up.command_count) == (None, 0)

    named = client.bash.create_session(session_id="mine", exec_dir=str(tmp_path)).data
    assert (named.session_id, named.working_dir) == ("mine", str(tmp_path))
    again = client.bash.create_session(session_id="mine").data
    assert (again.session_id, again.working_dir) == ("mine", str(tmp_path))
    assert again.created_at == named.created_at
    for session in (made_up.session_id, "mine"):
        client.bash.close_session(session)


def test_an_empty_session_id_makes_one_up(client: Sandbox) -> None:
    created = client.bash.create_session(session_id="", exec_dir=None, snapshot_path=None).data
    executed = client.bash.exec(session_id="", command="true").data

    assert created.session_id and executed.session_id
    assert created.session_id != executed.session_id
    for session in (created.session_id, executed.session_id):
        client.bash.close_session(session)


def test_exec_in_an_unknown_session_creates_it(client: Sandbox) -> None:
    assert client.bash.exec(session_id="fresh", command="true").data.session_id == "fresh"
    assert "fresh" in {session.session_id for session in client.bash.sessions().data}
    client.bash.close_session("fresh")


def test_sessions_are_a_list_that_follows_what_they_do(bash: Bash, gate: Gate) -> None:
    assert isinstance(bash.client.bash.sessions().data, list)
    assert (bash.info().current_command, bash.info().command_count) == (None, 0)

    command_id = bash.start(gate.wait)
    assert (bash.info().current_command, bash.info().command_count) == (gate.wait, 1)
    gate.open()
    bash.finish(command_id)
    assert (bash.info().current_command, bash.info().command_count) == (None, 1)


def test_write_reaches_standard_input(bash: Bash) -> None:
    command_id = bash.start('read -r a; read -r b; echo "[$a][$b]"')

    assert bash.client.bash.write(session_id=bash.id, input="first\nsec").success is True
    bash.client.bash.write(session_id=bash.id, command_id=command_id, input="ond\n")

    ended = bash.finish(command_id)
    assert (ended.stdout, ended.command.exit_code) == ("[first][second]\n", 0)


def test_standard_input_stays_open_until_it_is_closed(bash: Bash) -> None:
    command_id = bash.start("cat; echo ended")
    bash.client.bash.write(session_id=bash.id, input="some text\n")
    eventually(lambda: bash.output().stdout == "some text\n", "cat prints what it got")
    assert bash.output().command.status == "running"

    close = extension(close_stdin=True)
    bash.client.bash.write(session_id=bash.id, input="more", request_options=close)

    assert bash.finish(command_id).stdout == "some text\nmoreended\n"


def test_write_to_a_command_that_has_ended_is_refused(bash: Bash) -> None:
    bash.run("true")

    with pytest.raises(ApiError) as refused:
        bash.client.bash.write(session_id=bash.id, input="x", request_options=extension())
    assert refused.value.status_code == 409


def test_close_ends_everything_and_forgets_the_session(client: Sandbox, marker: Marker) -> None:
    bash = Bash(client)
    bash.start(marker.command)
    marker.wait_until_running()

    assert client.bash.close_session(bash.id).success is True

    marker.wait_until_gone()
    assert bash.id not in {session.session_id for session in client.bash.sessions().data}
    for call in (
        lambda: bash.output(),
        lambda: client.bash.write(session_id=bash.id, input="x"),
        lambda: client.bash.kill(session_id=bash.id),
        lambda: client.bash.close_session(bash.id),
    ):
        with pytest.raises(ApiError) as refused:
            call()
        assert refused.value.status_code == 404
        assert refused.value.body["message"] == f"Session {bash.id} not found"


def test_an_unknown_command_is_not_found(bash: Bash) -> None:
    bash.run("true")

    with pytest.raises(ApiError) as refused:
        bash.output(command_id="never-run")
    assert refused.value.status_code == 404
    assert "never-run" in refused.value.body["message"]


def test_children_do_not_see_the_servers_environment(start_server) -> None:
    server = start_server(environment={"UPSTREAM_TOKEN": "hidden-from-children"})

    result = server.client.bash.exec(command="env; cat /proc/$$/environ").data
    assert "hidden-from-children" not in result.stdout
    assert f"HOME={server.home}\n" in result.stdout
