"""Bash time limits, signals and session limits: what is asked to end ends whole, and nothing else does."""

from __future__ import annotations

from typing import Callable

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from bashes import Bash
from server import Server
from shells import extension
from waiting import Gate, Marker


def test_a_soft_timeout_answers_running_and_the_command_goes_on(bash: Bash, gate: Gate) -> None:
    result = bash.run(f"{gate.wait}; echo done; exit 2", timeout=0.2)
    assert (result.status, result.exit_code) == ("running", None)

    gate.open()
    ended = bash.finish(result.command_id)
    assert (ended.stdout, ended.command.status, ended.command.exit_code) == ("done\n", "completed", 2)


def test_a_hard_timeout_kills_the_whole_tree(bash: Bash, make_marker: Callable[[], Marker]) -> None:
    child, grandchild, detached, stubborn = (make_marker() for _ in range(4))
    command = (
        f"echo begun; (setsid {detached.command} &); bash -c '{grandchild.command} & wait' & "
        f"bash -c \"trap '' TERM INT HUP; {stubborn.command}; true\" & {child.command}"
    )

    result = bash.run(command, hard_timeout=2)

    assert result.status == "timed_out"
    assert result.exit_code in (-9, -15)
    assert result.stdout == "begun\n"
    for each in (child, grandchild, detached, stubborn):
        each.wait_until_gone()
    assert bash.run("echo usable").stdout == "usable\n"


def test_a_hard_timeout_counts_after_an_earlier_soft_one(bash: Bash, marker: Marker) -> None:
    result = bash.run(marker.command, timeout=0, hard_timeout=1)
    assert result.status == "running"

    ended = bash.finish(result.command_id)
    assert ended.command.status == "timed_out"
    assert ended.command.exit_code in (-9, -15)
    marker.wait_until_gone()


@pytest.mark.parametrize("signal, code", [("SIGTERM", -15), ("SIGKILL", -9), ("SIGINT", -2)])
def test_kill_ends_the_command_by_that_signal(bash: Bash, marker: Marker, signal: str, code: int) -> None:
    command_id = bash.start(f"{marker.command}; true")
    marker.wait_until_running()

    assert bash.client.bash.kill(session_id=bash.id, signal=signal).success is True

    ended = bash.finish(command_id)
    assert (ended.command.status, ended.command.exit_code) == ("killed", code)
    marker.wait_until_gone()
    assert bash.run("echo usable").stdout == "usable\n"


def test_kill_is_a_polite_request_by_default(bash: Bash, gate: Gate) -> None:
    command_id = bash.start(f"trap 'echo cleaned up; exit 3' TERM; echo ready; {gate.wait}")
    ready = bash.output(command_id=command_id, wait=True)
    assert ready.stdout == "ready\n"

    bash.client.bash.kill(session_id=bash.id)

    ended = bash.finish(command_id)
    assert ended.stdout == "ready\ncleaned up\n"
    assert ended.command.exit_code == 3


def test_what_ignores_the_polite_request_is_killed(bash: Bash, make_marker: Callable[[], Marker]) -> None:
    stubborn, detached = make_marker(), make_marker()
    bash.start(f"trap '' TERM; (setsid {detached.command} &); {stubborn.command}")
    stubborn.wait_until_running()
    detached.wait_until_running()

    bash.client.bash.kill(session_id=bash.id)

    stubborn.wait_until_gone()
    detached.wait_until_gone()


def test_an_unknown_signal_is_refused_by_name(bash: Bash) -> None:
    with pytest.raises(ApiError) as refused:
        bash.client.bash.kill(session_id=bash.id, signal="SIGDANCE")

    assert refused.value.status_code == 422
    assert refused.value.body.detail[0].loc[-1] == "signal"


def test_kill_without_a_running_command_says_so_and_changes_nothing(bash: Bash) -> None:
    done = bash.run("true")

    answer = bash.client.bash.kill(session_id=bash.id)
    assert answer.success and "nothing" in answer.hint
    assert bash.client.bash.output(session_id=bash.id).data.command.status == done.status


def test_a_background_job_does_not_hold_the_answer(bash: Bash, marker: Marker) -> None:
    result = bash.run(f"{marker.command} & echo hi")

    assert (result.status, result.stdout, result.exit_code) == ("completed", "hi\n", 0)
    marker.wait_until_running()


def test_background_jobs_die_with_their_session(client: Sandbox, make_marker: Callable[[], Marker]) -> None:
    bash = Bash(client)
    plain, detached = make_marker(), make_marker()
    bash.run(f"{plain.command} & (setsid {detached.command} &); (setsid true)")
    plain.wait_until_running()
    detached.wait_until_running()

    bash.close()

    plain.wait_until_gone()
    detached.wait_until_gone()


def test_a_command_that_reads_input_can_be_left_and_killed(bash: Bash) -> None:
    result = bash.run("cat", timeout=0.2)
    assert result.status == "running"

    bash.client.bash.kill(session_id=bash.id)
    assert bash.finish(result.command_id).command.status == "killed"


def test_a_full_house_refuses_newcomers_and_evicts_no_one_at_work(
    start_server: Callable[..., Server], make_marker: Callable[[], Marker]
) -> None:
    client = start_server(environment={"MAX_BASH_SESSIONS": "2"}).client
    sessions, markers = [Bash(client), Bash(client)], [make_marker(), make_marker()]
    commands = [bash.start(marker.command) for bash, marker in zip(sessions, markers)]

    with pytest.raises(ApiError) as refused:
        client.bash.create_session(request_options=extension())

    assert refused.value.status_code == 429
    for bash, command_id, marker in zip(sessions, commands, markers):
        marker.wait_until_running()
        assert bash.output(command_id=command_id).command.status == "running"
    sessions[0].close()
    assert Bash(client).run("echo usable").stdout == "usable\n"
