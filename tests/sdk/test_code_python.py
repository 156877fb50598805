"""Python in Jupyter kernels: every `jupyter` method of the SDK, and what happens to kernels that misbehave."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterator

import httpx
import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.errors import UnprocessableEntityError
from events import event_stream
from server import Server


class Python:
    """A session of its own."""

    def __init__(self, client: Sandbox) -> None:
        self.client = client
        self.id = f"python-{uuid.uuid4().hex[:8]}"

    def run(self, code: str, **options: Any) -> Any:
        return self.client.jupyter.execute_code(code=code, session_id=self.id, **options).data

    def text(self, code: str, **options: Any) -> str:
        """What the code prints."""
        result = self.run(code, **options)
        assert result.status == "ok", result
        return result.outputs[0].text


@pytest.fixture
def python(client: Sandbox) -> Iterator[Python]:
    session = Python(client)
    yield session
    if session.id in client.jupyter.list_sessions().data.sessions:
        client.jupyter.delete_session(session.id)


def test_a_result_a_print_and_an_error_come_as_outputs_with_every_key(python: Python) -> None:
    result = python.run("print('a'); print('b')\n1 + 1")
    assert result.status == "ok" and result.session_id == python.id and result.execution_count == 1
    stream, value = result.outputs
    assert (stream.output_type, stream.name, stream.text) == ("stream", "stdout", "a\nb\n")
    assert value.output_type == "execute_result" and value.data["text/plain"] == "2"
    assert result.code.endswith("1 + 1") and result.msg_id

    failed = python.run("1 / 0")
    assert failed.status == "error"
    (error,) = failed.outputs
    assert (error.output_type, error.ename) == ("error", "ZeroDivisionError")
    assert error.evalue and error.traceback


def test_state_lives_as_long_as_its_session(client: Sandbox, python: Python) -> None:
    python.run("x = 41")
    assert python.text("print(x + 1)") == "42\n"
    other = client.jupyter.execute_code(code="x").data
    assert other.status == "error" and other.outputs[0].ename == "NameError"
    assert other.session_id and other.session_id != python.id
    client.jupyter.delete_session(other.session_id)


def test_sessions_are_made_listed_and_deleted(client: Sandbox) -> None:
    made = client.jupyter.create_session(session_id="listed").data
    assert made.session_id == "listed" and made.kernel_name and made.message
    listed = client.jupyter.list_sessions().data.sessions["listed"]
    assert listed.kernel_name == made.kernel_name and listed.last_used > 0 and listed.age_seconds >= 0
    info = client.jupyter.get_info().data
    assert info.default_kernel in info.available_kernels and info.active_sessions >= 1
    assert info.max_sessions > 0 and info.session_timeout_seconds == 1800
    assert info.description and info.kernel_detection
    assert client.jupyter.delete_session("listed").success
    assert "listed" not in client.jupyter.list_sessions().data.sessions


def test_all_sessions_go_at_once(start_server: Any) -> None:
    client = start_server().client
    client.jupyter.create_session(session_id="one")
    assert client.jupyter.delete_sessions().success
    assert client.jupyter.list_sessions().data.sessions == {}


def test_the_packages_the_documented_examples_use_are_there(python: Python) -> None:
    code = "import numpy, pandas, requests, markdownify; print(numpy.arange(3).sum())"
    assert python.text(code) == "3\n"
    drawn = python.run("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()", timeout=120)
    images = [output for output in drawn.outputs if output.data and "image/png" in output.data]
    assert images and images[0].data["image/png"].startswith("iVBOR")


def test_files_and_directories_are_shared_with_everything_else(client: Sandbox, python: Python, folder) -> None:
    assert python.text("import os; print(os.getcwd())", cwd=str(folder)) == f"{folder}\n"
    python.run("open('made.txt', 'w').write('by code')")
    assert client.file.read_file(file=str(folder / "made.txt")).data.content == "by code"


def test_what_pip_installs_in_a_shell_is_importable_in_a_running_kernel(client: Sandbox, python: Python, folder) -> None:
    python.run("1")
    package = folder / "package"
    (package / "atoll_test_module").mkdir(parents=True)
    (package / "atoll_test_module" / "__init__.py").write_text("answer = 42\n")
    (package / "pyproject.toml").write_text(
        '[project]\nname = "atoll-test-module"\nversion = "1"\n'
        '[tool.setuptools]\npackages = ["atoll_test_module"]\n'
    )
    where = python.text("import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    shell = client.bash.exec(command="python -c \"import sysconfig; print(sysconfig.get_path('purelib'))\"").data
    assert shell.stdout.strip() == where, "a shell's python is the kernel's"
    installed = client.bash.exec(command=f"cp -r {package}/atoll_test_module {where}/").data
    assert installed.exit_code == 0, installed.stderr
    try:
        assert python.text("import atoll_test_module; print(atoll_test_module.answer)") == "42\n"
    finally:
        client.bash.exec(command=f"rm -r {where}/atoll_test_module")


def test_a_timeout_interrupts_and_keeps_the_session(python: Python) -> None:
    python.run("kept = 'still here'")
    slow = python.run("print('begun', flush=True)\nwhile True: pass", timeout=1)
    assert slow.status == "timeout" and slow.outputs[0].text == "begun\n"
    assert python.text("print(kept)") == "still here\n"


@pytest.mark.parametrize("code", ["import os; os._exit(3)", "import ctypes; ctypes.string_at(0)"])
def test_a_kernel_that_dies_is_reported_and_replaced(python: Python, code: str) -> None:
    died = python.run(code)
    assert died.status == "error" and died.outputs[-1].ename == "DeadKernelError", died
    assert python.text("print('anew')") == "anew\n"


def test_input_is_answered_with_an_error_instead_of_a_hang(python: Python) -> None:
    asked = python.run("input('name? ')")
    assert asked.status == "error" and asked.outputs[-1].output_type == "error"


def test_sessions_run_side_by_side_and_one_session_in_order(client: Sandbox, python: Python) -> None:
    with ThreadPoolExecutor(8) as pool:
        codes = [f"order = globals().get('order', []) + [{n}]; print(len(order))" for n in range(8)]
        printed = sorted(pool.map(python.text, codes))
    assert printed == [f"{n}\n" for n in range(1, 9)]


def test_a_flood_of_output_is_cut_and_said_so(python: Python) -> None:
    flood = python.run("for _ in range(100_000): print('x' * 99)", timeout=120)
    assert flood.status == "ok"
    assert len(flood.outputs[0].text) < 3_000_000
    assert python.text("print('fine')") == "fine\n"


def test_outputs_are_followed_as_they_come(http: httpx.Client, python: Python) -> None:
    body = {"code": "print('one')\n2", "session_id": python.id}
    with event_stream(http, "/v1/jupyter/execute", body) as stream:
        events = list(stream)
    assert [event.name for event in events][-1] == "completed"
    assert any(event.name == "output" for event in events)
    assert events[-1].data["status"] == "ok"


def test_wrong_questions_get_clear_answers(client: Sandbox, python: Python) -> None:
    for kernel in ("no-such-kernel", "../python3"):
        with pytest.raises(ApiError) as refused:
            client.jupyter.create_session(kernel_name=kernel)
        assert refused.value.status_code == 400 and "python3" in str(refused.value.body)
    for timeout in (0, 301):
        with pytest.raises(UnprocessableEntityError):
            python.run("1", timeout=timeout)
    with pytest.raises(ApiError) as refused:
        python.run("1", cwd="/no/such/directory")
    assert refused.value.status_code == 400


def test_code_never_sees_the_servers_secrets(start_server: Any) -> None:
    server: Server = start_server(environment={"JWT_SECRET": "canary-2718-0123456789abcdef-0123456789"})
    seen = server.client.jupyter.execute_code(code="import os; print(dict(os.environ))").data
    assert "canary-2718" not in seen.outputs[0].text
