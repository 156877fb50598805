"""JavaScript in Node.js, and the unified way: every `nodejs` and `code` method of the SDK."""

from __future__ import annotations

import uuid
from typing import Any, Iterator

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.errors import UnprocessableEntityError


@pytest.fixture
def session(client: Sandbox) -> Iterator[str]:
    name = f"node-{uuid.uuid4().hex[:8]}"
    client.nodejs.create_session(session_id=name)
    yield name
    client.nodejs.delete_session(name)


def test_a_program_runs_with_files_and_stdin_and_leaves_nothing(client: Sandbox) -> None:
    code = """
        const { double } = require('./lib/double.js');
        let text = ''; process.stdin.on('data', d => text += d).on('end', () => {
            console.log(double(Number(text))); console.error('done'); process.exit(3);
        });
    """
    files = {"lib/double.js": "exports.double = n => 2 * n;"}
    result = client.nodejs.execute_code(code=code, files=files, stdin="21").data
    assert (result.language, result.stdout, result.stderr) == ("javascript", "42\n", "done\n")
    assert result.exit_code == 3 and result.status == "error"
    assert result.outputs[0].text == "42\n"
    gone = client.nodejs.execute_code(code="console.log(process.cwd())").data.stdout.strip()
    assert client.bash.exec(command=f"test -e {gone}/lib").data.exit_code == 1


def test_a_session_keeps_variables_and_knows_top_level_await(client: Sandbox, session: str) -> None:
    def run(code: str, **options: Any) -> Any:
        return client.nodejs.execute_code(code=code, session_id=session, **options).data

    assert run("const fs = require('fs'); let n = await Promise.resolve(20)").status == "ok"
    assert run("n += 1; console.log(n * 2)").outputs[0].text == "42\n"
    value = run("n")
    assert value.outputs[-1].output_type == "execute_result" and value.outputs[-1].data["text/plain"] == "21"
    assert run("(await import('node:path')).basename('/a/b')").outputs[-1].data["text/plain"] == "'b'"
    failed = run("null.x")
    assert failed.status == "error" and failed.outputs[-1].ename == "TypeError"
    looped = run("while (true) {}", timeout=1)
    assert looped.status == "timeout"
    assert run("1 + 1").outputs[-1].data["text/plain"] == "2"


def test_sessions_tell_of_themselves_in_milliseconds(client: Sandbox, session: str) -> None:
    again = client.nodejs.create_session(session_id=session).data
    assert again.created is False and again.message
    info = client.nodejs.get_session(session).data.session
    assert info.session_id == session and info.max_idle_time == 86_400_000 and info.state == "IDLE"
    assert info.created_at > 1e12 and info.last_used > 1e12 and info.age_seconds >= 0
    updated = client.nodejs.update_session(session, max_idle_time=60, cwd="/tmp").data
    assert updated.updated and updated.session.max_idle_time == 60_000 and updated.session.cwd == "/tmp"
    assert session in client.nodejs.list_sessions().data.sessions
    made = client.nodejs.create_session().data
    assert made.created and client.nodejs.delete_session(made.session_id).data.deleted
    with pytest.raises(ApiError) as refused:
        client.nodejs.get_session(made.session_id)
    assert refused.value.status_code == 404


def test_the_runtime_describes_itself(client: Sandbox) -> None:
    info = client.nodejs.get_info().data
    assert info.node_version and info.npm_version and "javascript" in info.supported_languages
    assert info.current_version in info.available_versions and info.error is None


def test_both_languages_run_through_one_call(client: Sandbox) -> None:
    python = client.code.execute_code(language="python", code="print('hi')\n6 * 7").data
    assert (python.language, python.status, python.stdout, python.exit_code) == ("python", "ok", "hi\n", 0)
    assert python.outputs[-1]["data"]["text/plain"] == "42" and python.session_id is None
    script = client.code.execute_code(language="javascript", code="console.log('hi'); 6 * 7").data
    assert (script.status, script.stdout, script.exit_code) == ("ok", "hi\n", 0)
    failed = client.code.execute_code(language="python", code="1 / 0").data
    assert failed.status == "error" and failed.exit_code == 1 and failed.traceback


@pytest.mark.parametrize("language, first, second", [("python", "x = 5", "x"), ("javascript", "let x = 5", "x")])
def test_a_stateful_call_keeps_its_session(client: Sandbox, language: Any, first: str, second: str) -> None:
    begun = client.code.execute_code(language=language, code=first, stateful=True).data
    assert begun.status == "ok" and begun.session_id
    kept = client.code.execute_code(language=language, code=second, session_id=begun.session_id).data
    assert kept.outputs[-1]["data"]["text/plain"] == "5"


def test_the_languages_there_are_are_listed(client: Sandbox) -> None:
    info = client.code.get_info().data
    languages = {each.language: each for each in info.languages}
    assert set(languages) == {"python", "javascript"}
    assert "bash" in [each["language"] for each in info.extensions]
    assert languages["python"].runtime_version and languages["python"].max_timeout == 300
    shell = client.code.execute_code(language="bash", code="echo $((6 * 7))").data
    assert shell.stdout == "42\n"


def test_an_unknown_language_is_refused_by_name(client: Sandbox) -> None:
    with pytest.raises(UnprocessableEntityError) as refused:
        client.code.execute_code(language="cobol", code="STOP RUN.")
    assert "python" in str(refused.value.body)
