"""Shell time limits, kills and session limits: what is asked to end ends whole, and nothing else does."""

from __future__ import annotations

from typing import Callable

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server
from shells import Shell, extension, lines
from waiting import Gate, Marker


def test_a_soft_timeout_answers_running_and_the_command_goes_on(shell: Shell, gate: Gate) -> None:
    result = shell.run(f"{gate.wait}; echo done; (exit 2)", timeout=0.2)
    assert (result.status, result.exit_code) == ("running", None)

    gate.open()
    assert shell.wait() == "completed"
    view = shell.view()
    assert (view.output, view.exit_code) == (lines("done"), 2)


def test_a_soft_timeout_of_zero_answers_at_once(shell: Shell, gate: Gate) -> None:
    assert shell.run(gate.wait, timeout=0).status == "running"


def test_a_hard_timeout_kills_the_whole_tree(shell: Shell, make_marker: Callable[[], Marker]) -> None:
    child, grandchild, detached, stubborn = (make_marker() for _ in range(4))
    command = (
        f"echo begun; (setsid {detached.command} &); bash -c '{grandchild.command} & wait' & "
        f"bash -c \"trap '' TERM INT HUP; {stubborn.command}; true\" & {child.command}"
    )

    result = shell.run(command, hard_timeout=2)

    assert result.status == "hard_timeout"
    assert result.output.startswith(lines("begun"))
    for each in (child, grandchild, detached, stubborn):
        each.wait_until_gone()
    assert shell.view().status == "hard_timeout"
    assert shell.is_usable()


def test_a_hard_timeout_counts_after_an_earlier_soft_one(shell: Shell, marker: Marker) -> None:
    assert shell.run(marker.command, timeout=0, hard_timeout=1).status == "running"

    assert shell.wait() == "hard_timeout"
    marker.wait_until_gone()
    assert shell.is_usable()


def test_a_hard_timeout_that_is_not_reached_changes_nothing(shell: Shell) -> None:
    result = shell.run("echo quick", hard_timeout=600)

    assert (result.status, result.output, result.exit_code) == ("completed", lines("quick"), 0)


def test_a_silent_command_is_left_running(shell: Shell, marker: Marker, gate: Gate) -> None:
    command = f"echo begun; {marker.command} & {gate.wait}; echo ended"

    result = shell.run(command, no_change_timeout=1)

    assert (result.status, result.exit_code) == ("no_change_timeout", None)
    assert result.output == lines("begun")
    assert marker.pids()
    gate.open()
    assert shell.wait() == "completed"
    view = shell.view()
    assert (view.output, view.exit_code) == (lines("begun", "ended"), 0)
    assert shell.is_usable()


def test_output_restarts_the_silence(shell: Shell) -> None:
    result = shell.run("for i in {1..14}; do echo $i; sleep 0.5; done", no_change_timeout=6)

    assert (result.status, result.exit_code) == ("completed", 0)
    assert result.output == lines(*[str(number) for number in range(1, 15)])


def test_the_session_has_its_own_idea_of_silence(client: Sandbox, gate: Gate) -> None:
    shell = Shell(client, no_change_timeout=1)
    assert shell.run(gate.wait).status == "no_change_timeout"
    gate.open()
    assert shell.wait() == "completed"
    gate.path.unlink()

    updated = client.shell.update_session(id=shell.id, no_change_timeout=600)
    assert updated.success is True
    assert shell.run(gate.wait, timeout=2).status == "running"
    shell.kill()
    assert shell.run(gate.wait, no_change_timeout=1).status == "no_change_timeout"
    shell.close()


def test_kill_ends_the_command_and_keeps_the_session(shell: Shell, make_marker: Callable[[], Marker]) -> None:
    child, detached = make_marker(), make_marker()
    shell.run("export KEPT=yes")
    shell.start(f"(setsid {detached.command} &); {child.command}")
    child.wait_until_running()
    detached.wait_until_running()

    killed = shell.kill()

    assert killed.status == "terminated"
    assert killed.exit_code == killed.returncode
    child.wait_until_gone()
    detached.wait_until_gone()
    assert shell.view().status == "terminated"
    assert shell.is_usable()


def test_kill_without_a_running_command_tells_the_last_outcome(shell: Shell) -> None:
    shell.run("(exit 6)")

    killed = shell.kill()

    assert (killed.status, killed.exit_code, killed.returncode) == ("completed", 6, 6)


def test_killing_one_command_lets_the_next_in_the_queue_run(shell: Shell, marker: Marker) -> None:
    shell.start(marker.command)
    marker.wait_until_running()
    shell.start("echo next")

    shell.kill()

    assert shell.wait() == "completed"
    assert shell.view().output == lines("next")
    marker.wait_until_gone()


def test_a_full_house_refuses_newcomers_and_evicts_no_one_at_work(
    start_server: Callable[..., Server], make_marker: Callable[[], Marker]
) -> None:
    client = start_server(environment={"MAX_SHELL_SESSIONS": "2"}).client
    assert client.shell.get_session_stats().data.max_sessions == 2
    shells, markers = [Shell(client), Shell(client)], [make_marker(), make_marker()]
    for shell, marker in zip(shells, markers):
        shell.start(marker.command)
        marker.wait_until_running()

    with pytest.raises(ApiError) as refused:
        client.shell.create_session(request_options=extension())

    assert refused.value.status_code == 429
    for shell, marker in zip(shells, markers):
        assert shell.view().status == "running"
        assert marker.pids()
    shells[0].close()
    newcomer = Shell(client)
    assert newcomer.is_usable()
