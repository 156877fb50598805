"""What programs may use: a session that wants too many processes, too much memory or too much output is stopped and
told why, and nobody else notices.

The limits are kept by control groups where the server may make them. Elsewhere memory is bounded for each process, and
processes for each user but root: then the tests assert that, or say that nothing bounds it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import httpx
import pytest
from agent_sandbox import Sandbox
from bashes import Bash
from server import Server
from shells import Shell
from waiting import Marker, eventually

MEMORY = 400 << 20
PROCESSES = 120
# More than that, but no more than this, should nothing bound them.
TOO_MANY = 300
TOO_MUCH = 700 << 20
# What the server's own memory may grow by while a program prints a gigabyte.
GROWTH_KIB = 256 << 10
CURE = "ATOLL_LIMIT_SESSION_MEMORY_BYTES"


class Limited:
    """A server with small limits for programs."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.client: Sandbox = server.client
        log = eventually(lambda: _said(server), "the server says how it keeps its limits")
        self.memory_by_group = "memory by control groups" in log
        self.processes_by_group = "processes by control groups" in log

    def assert_others_are_served(self) -> None:
        """Others are: a health check, a command, code."""
        with self.server.http as http:
            assert http.get("/health").status_code == 200
        done = self.client.bash.exec(command="(exit 3) | (exit 4)").data
        assert (done.status, done.exit_code) == ("completed", 4)

    def memory_kib(self) -> int:
        """The server's memory now."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])


def _said(server: Server) -> str:
    return next((line for line in server.log().splitlines() if "what sessions run is limited" in line), "")


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    environment = {
        "ATOLL_LIMIT_SESSION_MEMORY_BYTES": str(MEMORY),
        "ATOLL_LIMIT_SESSION_PROCESSES": str(PROCESSES),
        "ATOLL_LIMIT_SESSION_OPEN_FILES": "200",
    }
    server = Server(tmp_path_factory.mktemp("limited"), environment=environment)
    yield Limited(server)
    assert server.stop() == 0, server.log()


@pytest.fixture
def crowded(limited: Limited) -> Limited:
    """The same server, where it can bound processes."""
    if not limited.processes_by_group:
        pytest.skip("no control group can be made here: processes are bounded per user, and not at all for root")
    # Proof that the bound holds, before anything is let loose.
    bounded = limited.client.bash.exec(command=f"sh -c 'for i in $(seq {TOO_MANY}); do sleep 60 & done; echo all'")
    assert bounded.data.stdout == "" and bounded.data.exit_code != 0
    limited.client.bash.close_session(bounded.data.session_id)
    return limited


def test_the_limits_are_shown_and_memory_is_half_of_what_there_is(http: httpx.Client, limited: Limited) -> None:
    default = http.get("/v1/limits").json()["data"]
    assert default["session_memory_bytes"] >= 512 << 20
    assert default["session_processes"] == 1024 and default["session_open_files"] == 65_536
    with limited.server.http as plain:
        chosen = plain.get("/v1/limits").json()["data"]
    names = ("session_memory_bytes", "session_processes", "session_open_files")
    assert [chosen[name] for name in names] == [MEMORY, PROCESSES, 200]
    assert limited.client.bash.exec(command="ulimit -n").data.stdout == "200\n"


def test_a_fork_bomb_in_bash_is_contained_and_dies_with_its_session(crowded: Limited, make_marker: Any) -> None:
    bash = Bash(crowded.client)
    marker: Marker = make_marker()
    # Every part of it leaves a process behind that can be recognised.
    bomb = f"bomb() {{ {marker.command} & bomb | bomb & }}; bomb; wait"
    bash.start(bomb)
    eventually(lambda: "fork: " in bash.output().stderr, "the shell says that it cannot fork")
    assert "Resource temporarily unavailable" in bash.output().stderr
    crowded.assert_others_are_served()
    assert len(marker.pids()) <= PROCESSES
    bash.close()
    marker.wait_until_gone()
    crowded.assert_others_are_served()


def test_a_fork_bomb_in_a_shell_is_contained_and_the_shell_lives(crowded: Limited, make_marker: Any) -> None:
    shell, other = Shell(crowded.client), Shell(crowded.client)
    marker: Marker = make_marker()
    shell.start(f"sh -c 'bomb() {{ {marker.command} & bomb & bomb & }}; bomb; wait'")
    shell.wait_for_text("fork")
    assert len(marker.pids()) <= PROCESSES
    assert other.is_usable()
    crowded.assert_others_are_served()
    shell.kill()
    shell.close()
    marker.wait_until_gone()
    other.close()


def test_too_many_processes_in_python_are_an_exception(crowded: Limited, marker: Marker) -> None:
    code = f"""
        import subprocess
        started = []
        for _ in range({TOO_MANY}):
            started.append(subprocess.Popen({marker.command.split()!r}))
    """
    session = "crowded-python"
    failed = crowded.client.jupyter.execute_code(code=_dedented(code), session_id=session, timeout=120).data
    assert failed.status == "error" and failed.outputs[-1].ename == "BlockingIOError", failed
    crowded.assert_others_are_served()
    again = crowded.client.jupyter.execute_code(code="print(len(started))", session_id=session).data
    assert 0 < int(again.outputs[0].text) < PROCESSES
    crowded.client.jupyter.delete_session(session)
    marker.wait_until_gone()


def test_too_many_processes_in_node_are_an_error_event(crowded: Limited, marker: Marker) -> None:
    code = f"""
        const {{ spawn }} = require('child_process');
        const codes = new Set(); let left = {TOO_MANY};
        await new Promise(done => {{
            const count = code => {{ codes.add(code); if (--left === 0) done(); }};
            for (let i = 0; i < {TOO_MANY}; i++)
                spawn('sleep', ['{marker.argument}'], {{ stdio: 'ignore' }}).on('error', e => count(e.code)).on('spawn', () => count('ok'));
        }});
        console.log([...codes].sort().join());
    """
    session = "crowded-node"
    done = crowded.client.nodejs.execute_code(code=code, session_id=session, timeout=120).data
    assert done.stdout == "EAGAIN,ok\n", done
    crowded.assert_others_are_served()
    crowded.client.nodejs.delete_session(session)
    marker.wait_until_gone()


def test_a_memory_hog_in_a_kernel_is_killed_reported_and_replaced(limited: Limited) -> None:
    session, other = "hog-python", "other-python"

    def run(code: str, session_id: str = session) -> Any:
        return limited.client.jupyter.execute_code(code=code, session_id=session_id, timeout=120)

    run("kept = 1")
    run("kept = 2", other)
    answer = run(f"x = b'x' * {TOO_MUCH}")
    error = answer.data.outputs[-1]
    assert answer.data.status == "error"
    if limited.memory_by_group:
        assert error.ename == "DeadKernelError"
        assert "ran out of memory" in error.evalue and "400 MiB" in error.evalue
        assert CURE in answer.hint and "fresh kernel" in answer.hint
        again = run("print('kept' in globals())")
        assert again.data.outputs[0].text == "False\n"
    else:
        assert error.ename == "MemoryError"
        assert run("print(kept)").data.outputs[0].text == "1\n"
    assert run("print(kept)", other).data.outputs[0].text == "2\n"
    limited.assert_others_are_served()
    for each in (session, other):
        limited.client.jupyter.delete_session(each)


def test_a_memory_hog_in_bash_is_killed_and_the_answer_says_why(limited: Limited) -> None:
    bash = Bash(limited.client)
    hog = f"dd if=/dev/zero of=/dev/null bs={TOO_MUCH} count=1"
    alone = limited.client.bash.exec(session_id=bash.id, command=f"exec {hog}")
    child = limited.client.bash.exec(session_id=bash.id, command=f"{hog}; echo then $?")
    if limited.memory_by_group:
        assert (alone.data.status, alone.data.exit_code) == ("killed", -9)
        assert child.data.stdout == "then 137\n" and child.data.status == "completed"
        for answer in (alone, child):
            assert "memory ran out" in answer.hint and "400 MiB" in answer.hint and CURE in answer.hint
    else:
        assert alone.data.exit_code == 1 and "memory" in alone.data.stderr
        assert child.data.stdout == "then 1\n"
    assert bash.run("echo usable").stdout == "usable\n"
    bash.close()


def test_a_memory_hog_in_a_shell_is_killed_and_the_shell_lives(limited: Limited) -> None:
    shell = Shell(limited.client)
    shell.run("kept=here")
    hog = f"dd if=/dev/zero of=/dev/null bs={TOO_MUCH} count=1"
    answer = limited.client.shell.exec_command(id=shell.id, command=hog)
    if limited.memory_by_group:
        assert answer.data.exit_code == 137
        assert "memory ran out" in answer.hint and CURE in answer.hint
    else:
        assert answer.data.exit_code == 1 and "memory" in answer.data.output
    assert shell.run("echo $kept").output == "here\n"
    assert shell.is_usable()
    shell.close()


def test_a_memory_hog_in_node_is_killed_and_its_session_replaced(limited: Limited) -> None:
    session = "hog-node"
    hog = f"const x = Buffer.alloc({TOO_MUCH}, 1); console.log(x.length)"

    def run(code: str, **options: Any) -> Any:
        return limited.client.nodejs.execute_code(code=code, timeout=120, **options)

    run("let kept = 1", session_id=session)
    stateful, stateless = run(hog, session_id=session), run(hog)
    assert stateful.data.status == stateless.data.status == "error"
    if limited.memory_by_group:
        for answer in (stateful, stateless):
            assert answer.data.exit_code == 137
            assert "ran out of memory" in answer.hint and CURE in answer.hint
        assert run("typeof kept", session_id=session).data.outputs[-1].data["text/plain"] == "'undefined'"
    else:
        assert "alloc" in stateless.data.stderr.lower()
    assert run("console.log(1 + 1)", session_id=session).data.stdout == "2\n"
    limited.assert_others_are_served()
    limited.client.nodejs.delete_session(session)


def test_a_memory_hog_in_unified_code_says_why(limited: Limited) -> None:
    hog = f"dd if=/dev/zero of=/dev/null bs={TOO_MUCH} count=1"
    answer = limited.client.code.execute_code(language="bash", code=hog)
    if limited.memory_by_group:
        assert answer.data.exit_code == 137 and CURE in answer.hint
    else:
        assert answer.data.exit_code == 1


GIGABYTE: Dict[str, str] = {
    "python": "for _ in range(1024): print('x' * ((1 << 20) - 1))\nprint('end')",
    "javascript": "const line = 'x'.repeat((1 << 20) - 1); for (let i = 0; i < 1024; i++) console.log(line); console.log('end')",
}


@pytest.mark.parametrize("language", GIGABYTE)
def test_a_gigabyte_of_output_is_cut_and_the_server_stays_small(limited: Limited, language: str) -> None:
    before = limited.memory_kib()
    answer = limited.client.code.execute_code(language=language, code=GIGABYTE[language], timeout=300)
    if answer.data.status == "ok":
        assert len(answer.data.stdout) < 3_000_000 and answer.data.stdout.endswith("end\n")
        assert "left out" in answer.data.stdout
    else:
        # A kernel keeps what it has not sent yet in its own memory, and may be the faster of the two.
        assert language == "python" and CURE in answer.hint, answer
    assert limited.memory_kib() - before < GROWTH_KIB
    limited.assert_others_are_served()


CODE: Dict[str, Callable[[str], str]] = {
    "python": lambda text: f"text = '{text}'\nprint(len(text))",
    "javascript": lambda text: f"const text = '{text}'; console.log(text.length)",
    "bash": lambda text: f"text='{text}'; echo ${{#text}}",
}


@pytest.mark.parametrize("language", CODE)
def test_five_megabytes_of_code_run_and_more_than_a_body_may_have_is_refused(limited: Limited, language: str) -> None:
    make = CODE[language]
    answer = limited.client.code.execute_code(language=language, code=make("x" * 5_000_000), timeout=120)
    assert (answer.data.status, answer.data.stdout) == ("ok", "5000000\n")
    with limited.server.http as http:
        body = {"language": language, "code": make("x" * 9_000_000)}
        refused = http.post("/v1/code/execute", json=body)
    assert refused.status_code == 413 and "8388608" in refused.text


def test_the_server_answers_while_a_command_uses_all_it_may(crowded: Limited) -> None:
    bash = Bash(crowded.client)
    # As many processes as it may have, all of them busy, until they are killed.
    bash.start(f"for i in $(seq {PROCESSES - 20}); do while :; do :; done & done; wait")
    with crowded.server.http as http:
        for _ in range(20):
            begun = time.monotonic()
            assert http.get("/health").status_code == 200
            print(f"{(time.monotonic() - begun) * 1000:.1f} ms")
    crowded.assert_others_are_served()
    bash.close()


def _dedented(code: str) -> str:
    lines = code.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines)
