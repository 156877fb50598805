"""The envelope, leniency and refusals: what every operation owes its callers, seen on the wire."""

from __future__ import annotations

from typing import Any, Callable, Dict

import httpx
import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.errors import UnprocessableEntityError
from bashes import Bash
from shells import Shell, extension

JSON = {"Content-Type": "application/json"}


def assert_is_refusal(response: httpx.Response, status: int) -> Dict[str, Any]:
    """An error keeps the envelope and carries an integer code that is not zero."""
    assert response.status_code == status, response.text
    body = response.json()
    assert body["success"] is False
    assert body["data"] is None
    assert body["hint"] is None or body["hint"]
    assert body["message"]
    assert type(body["code"]) is int and body["code"] != 0
    return body


def test_success_emits_the_whole_envelope(http: httpx.Client) -> None:
    body = http.get("/v1/shell/sessions/stats").json()

    assert body["success"] is True
    assert body["message"]
    assert body["hint"] is None
    assert body["data"]["max_sessions"] > 0


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b'{"session_id":null,"unheard_of":[1]}'])
def test_an_empty_body_null_and_unknown_fields_are_fine(http: httpx.Client, content: bytes) -> None:
    response = http.post("/v1/bash/sessions/create", content=content, headers=JSON)

    assert response.status_code == 200
    created = response.json()["data"]
    assert created["command_count"] == 0
    assert created["current_command"] is None
    http.post(f"/v1/bash/sessions/{created['session_id']}/close")


def test_a_body_without_a_content_type_is_read_as_json(http: httpx.Client) -> None:
    response = http.post("/v1/bash/exec", content=b'{"command":"echo fine"}')

    assert response.json()["data"]["stdout"] == "fine\n"
    http.post(f"/v1/bash/sessions/{response.json()['data']['session_id']}/close")


@pytest.mark.parametrize("path", ["/v1/shell/exec", "/v1/bash/exec"])
def test_a_missing_field_is_named_in_both_spellings(http: httpx.Client, path: str) -> None:
    body = assert_is_refusal(http.post(path, content=b"", headers=JSON), 422)

    assert body["detail"][0]["loc"][-1] == "command"
    assert body["detail"][0]["msg"] and body["detail"][0]["type"]
    assert "command" in str(body["errors"][0]["location"])
    assert body["errors"][0]["message"] and body["errors"][0]["type"]


@pytest.mark.parametrize(
    "group, field, value",
    [
        ("shell", "command", ["not", "text"]),
        ("shell", "timeout", "soon"),
        ("shell", "timeout", -1),
        ("shell", "hard_timeout", -0.5),
        ("shell", "no_change_timeout", -1),
        ("shell", "async_mode", "perhaps"),
        ("shell", "id", {"a": 1}),
        ("shell", "env", "A=1"),
        ("shell", "env", {"A": 1.5}),
        ("bash", "command", {"not": "text"}),
        ("bash", "timeout", "soon"),
        ("bash", "timeout", -1),
        ("bash", "hard_timeout", -0.5),
        ("bash", "max_output_length", -1),
        ("bash", "max_output_length", 1.5),
        ("bash", "env", ["A=1"]),
    ],
)
def test_a_wrong_value_is_refused_naming_its_field(
    client: Sandbox, group: str, field: str, value: Any
) -> None:
    call = client.shell.exec_command if group == "shell" else client.bash.exec

    with pytest.raises(UnprocessableEntityError) as refused:
        call(command="echo never", request_options=extension(**{field: value}))

    assert field in [str(part) for part in refused.value.body.detail[0].loc]


@pytest.mark.parametrize("field", ["offset", "stderr_offset", "wait_timeout"])
def test_negative_offsets_and_waits_are_refused(bash: Bash, field: str) -> None:
    bash.run("true")

    with pytest.raises(UnprocessableEntityError) as refused:
        bash.output(**{field: -1})
    assert refused.value.body.detail[0].loc[-1] == field


def refused_status(call: Callable[..., Any], *arguments: Any, **options: Any) -> int:
    """The status a call that must fail is refused with."""
    with pytest.raises(ApiError) as refused:
        call(*arguments, **options)
    return refused.value.status_code


def test_a_relative_or_impossible_directory_is_refused(shell: Shell, bash: Bash, tmp_path) -> None:
    file = tmp_path / "file"
    file.touch()
    for directory in ("relative/path", ".", "~", "/with\0nul"):
        assert refused_status(shell.run, "true", exec_dir=directory) in (400, 422)
        assert refused_status(bash.run, "true", exec_dir=directory) in (400, 422)
        for group in (shell.client.shell, shell.client.bash):
            assert refused_status(group.create_session, exec_dir=directory) in (400, 422)
    for directory in (str(tmp_path / "missing"), str(file)):
        assert 400 <= refused_status(bash.run, "true", exec_dir=directory) < 500
        assert 400 <= refused_status(shell.run, "true", exec_dir=directory, strict=True) < 500
    assert shell.is_usable()
    assert bash.run("echo usable").stdout == "usable\n"


def test_nul_bytes_are_refused(shell: Shell, bash: Bash) -> None:
    for call in (
        lambda: shell.run("echo a\0b"),
        lambda: bash.run("echo a\0b"),
        lambda: shell.run("true", request_options=extension(env={"A": "x\0y"})),
        lambda: bash.run("true", env={"A": "x\0y"}),
        lambda: bash.run("true", env={"A\0": "x"}),
        lambda: shell.client.shell.create_session(id="a\0b"),
        lambda: bash.client.bash.create_session(session_id="a\0b"),
    ):
        assert refused_status(call) in (400, 422)
    assert shell.is_usable()


@pytest.mark.parametrize("name", ["", "A=B", "=", "1A", "A B", "$(id)"])
def test_impossible_variable_names_are_refused_or_harmless(shell: Shell, bash: Bash, name: str) -> None:
    """A name bash cannot hold is either refused or simply not visible to it; it never runs as code."""
    for run, read in (
        (lambda: shell.run("echo ran", request_options=extension(env={name: "x"})), "output"),
        (lambda: bash.run("echo ran", env={name: "x"}), "stdout"),
    ):
        try:
            assert getattr(run(), read) == "ran\n"
        except ApiError as refused:
            assert refused.status_code in (400, 422)
    assert shell.is_usable()


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'"text"', b"\xff\xfe", b'{"a":' * 10_000],
    ids=["unfinished", "list", "text", "not UTF-8", "ten thousand deep"],
)
def test_a_body_that_is_no_object_is_refused(http: httpx.Client, content: bytes) -> None:
    response = http.post("/v1/bash/exec", content=content, headers=JSON)

    assert_is_refusal(response, response.status_code)
    assert response.status_code in (400, 422)


@pytest.mark.parametrize("group", ["shell", "bash"])
def test_a_body_over_the_limit_is_refused(client: Sandbox, http: httpx.Client, group: str) -> None:
    limit = http.get("/v1/limits").json()["data"]["request_body_bytes"]
    assert limit < 10_000_000
    call = client.shell.exec_command if group == "shell" else client.bash.exec

    with pytest.raises(ApiError) as refused:
        call(command=": " + "x" * 10_000_000)

    assert refused.value.status_code == 413
    assert refused.value.body["success"] is False
    assert str(limit) in refused.value.body["message"].replace(",", "").replace("_", "")
    assert client.bash.exec(command="echo usable").data.stdout == "usable\n"


def test_an_unknown_path_keeps_the_envelope(http: httpx.Client) -> None:
    body = assert_is_refusal(http.get("/v1/no/such/thing"), 404)

    assert "/v1/no/such/thing" in body["message"]


def test_a_wrong_method_keeps_the_envelope(http: httpx.Client) -> None:
    response = http.get("/v1/bash/exec")

    assert_is_refusal(response, 405)
    assert "POST" in response.headers["allow"]


def test_every_answer_has_a_request_id(http: httpx.Client) -> None:
    ids = [http.get("/v1/ping").headers["x-request-id"] for _ in range(2)]
    assert ids[0] != ids[1]
    echoed = http.get("/v1/ping", headers={"X-Request-ID": "chosen-by-the-caller"})
    assert echoed.headers["x-request-id"] == "chosen-by-the-caller"
