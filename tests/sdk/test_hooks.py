"""Hooks: what runs while the server starts, and what runs on SIGTERM while everything is still there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server, binary
from waiting import Marker, eventually


def hooks(server: Server, event: str) -> List[Dict[str, Any]]:
    with server.http as http:
        answer = http.get("/v1/sandbox/hooks", params={"event": event})
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def script(path: Path, text: str, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if executable else 0o644)


def test_hooks_are_registered_listed_replaced_and_removed(client: Sandbox) -> None:
    made = client.sandbox.register_hook(name="save_it-1", command="true").data
    assert (made.event, made.timeout, made.priority, made.source) == ("shutdown", 10, 100, "api")
    client.sandbox.register_hook(name="early", command="true", priority=1, timeout=2.5)
    assert [hook.name for hook in client.sandbox.list_hooks().data] == ["early", "save_it-1"]
    client.sandbox.register_hook(name="save_it-1", command="false", event="shutdown")
    listed = client.sandbox.list_hooks(event="shutdown").data
    assert [(hook.name, hook.command) for hook in listed] == [("early", "true"), ("save_it-1", "false")]
    for name in ("early", "save_it-1"):
        assert client.sandbox.remove_hook(name).success
    assert client.sandbox.list_hooks().data == []
    with pytest.raises(ApiError) as missing:
        client.sandbox.remove_hook("early")
    assert missing.value.status_code == 404
    assert missing.value.body["error_code"] == "hooks.not_found"


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "a b"},
        {"name": ""},
        {"name": "x" * 65},
        {"name": "../x"},
        {"command": ""},
        {"command": "x" * 4097},
        {"event": "start"},
        {"timeout": 0},
        {"timeout": -1},
    ],
    ids=str,
)
def test_what_cannot_be_a_hook_is_refused(client: Sandbox, fields: Dict[str, Any]) -> None:
    with pytest.raises(ApiError) as refused:
        client.sandbox.register_hook(**{"name": "good", "command": "true", **fields})
    assert refused.value.status_code == 422
    assert client.sandbox.list_hooks().data == []


def test_hooks_of_the_environment_stay(start_server: Callable[..., Server], tmp_path: Path) -> None:
    written = json.dumps([{"name": "mine", "command": "true", "priority": 5}, "true"])
    client = start_server(environment={"SANDBOX_SHUTDOWN_HOOKS": written}).client
    listed = client.sandbox.list_hooks().data
    assert [(hook.name, hook.source, hook.priority) for hook in listed] == [("mine", "env", 5), ("env-2", "env", 100)]
    for call in (
        lambda: client.sandbox.remove_hook("mine"),
        lambda: client.sandbox.register_hook(name="mine", command="false"),
    ):
        with pytest.raises(ApiError) as refused:
            call()
        assert refused.value.status_code == 409
        assert refused.value.body["error_code"] == "hooks.from_environment"


def test_there_may_be_only_so_many(start_server: Callable[..., Server]) -> None:
    client = start_server(environment={"ATOLL_LIMIT_HOOKS": "1"}).client
    client.sandbox.register_hook(name="one", command="true")
    client.sandbox.register_hook(name="one", command="false")
    with pytest.raises(ApiError) as refused:
        client.sandbox.register_hook(name="two", command="true")
    assert (refused.value.status_code, refused.value.body["error_code"]) == (429, "hooks.too_many")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_they_run_in_order_before_anything_ends(
    start_server: Callable[..., Server], tmp_path: Path, marker: Marker, how: signal.Signals
) -> None:
    """The order is proven by what they write; sessions and the API are still there when the last of them runs."""
    order, ended = tmp_path / "order", tmp_path / "ended"
    plain = f"echo env >>{order}"
    server = start_server(environment={"SANDBOX_SHUTDOWN_HOOKS": plain})
    client = server.client
    client.bash.exec(command=f"{marker.command}; touch {ended}", async_mode=True)
    marker.wait_until_running()
    host, port = server.url.removeprefix("http://").split(":")
    ask = f"printf 'GET /v1/ping HTTP/1.0\\r\\nHost: {host}:{port}\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.. 200' <&3"
    alive = f"exec 3<>/dev/tcp/{host}/{port} && {ask} && kill -0 {marker.pids()[0]}"
    client.sandbox.register_hook(name="last", command=f"{alive} && echo last >>{order}", priority=1000)
    client.sandbox.register_hook(name="first", command=f"echo first >>{order}", priority=-5)
    # Two of one priority wait for each other: they can only end if they run at once.
    for name, other in (("left", "right"), ("right", "left")):
        wait = f"until [ -e {tmp_path}/{other} ]; do sleep 0.02; done"
        command = f"touch {tmp_path}/{name}; {wait}; echo both >>{order}"
        client.sandbox.register_hook(name=name, command=command, priority=50, timeout=60)
    server.process.send_signal(how)
    assert server.process.wait(60) == 0, server.log()
    assert order.read_text().split() == ["first", "both", "both", "env", "last"]
    marker.wait_until_gone()


def test_a_hook_that_hangs_is_killed_with_its_tree_and_the_others_run(
    start_server: Callable[..., Server], tmp_path: Path, make_marker: Callable[[], Marker]
) -> None:
    server = start_server()
    client = server.client
    hanging, detached, left = make_marker(), make_marker(), make_marker()
    hang = f"(setsid {detached.command} &) ; trap '' TERM; {hanging.command}"
    client.sandbox.register_hook(name="hangs", command=hang, timeout=1, priority=1)
    client.sandbox.register_hook(name="fails", command="echo it broke >&2; exit 7", priority=2)
    client.sandbox.register_hook(name="forks", command=f"(setsid {left.command} &) ; true", priority=3)
    client.sandbox.register_hook(name="works", command=f"touch {tmp_path}/done", priority=4)
    assert server.stop() == 0
    assert (tmp_path / "done").exists()
    for each in (hanging, detached, left):
        each.wait_until_gone()
    log = server.log()
    assert "longer than 1 s" in log
    assert "ended with code 7" in log and "it broke" in log


def test_all_of_them_together_have_a_bound(start_server: Callable[..., Server], tmp_path: Path) -> None:
    server = start_server(environment={"ATOLL_LIMIT_HOOKS_SHUTDOWN_SECONDS": "1"})
    client = server.client
    client.sandbox.register_hook(name="slow", command="sleep 3600", timeout=3600, priority=1)
    client.sandbox.register_hook(name="late", command=f"touch {tmp_path}/late", priority=2)
    assert server.stop() == 0
    assert "hooks_shutdown_seconds" in server.log()
    assert not (tmp_path / "late").exists()


def test_a_second_signal_ends_the_server_at_once(start_server: Callable[..., Server], tmp_path: Path) -> None:
    server = start_server()
    command = f"touch {tmp_path}/begun; sleep 3600"
    server.client.sandbox.register_hook(name="slow", command=command, timeout=60)
    server.process.send_signal(signal.SIGTERM)
    eventually((tmp_path / "begun").exists, "the hook runs")
    with server.http as http:
        late = http.post("/v1/sandbox/hooks", json={"name": "late", "command": "true"})
        assert (late.status_code, late.json()["error_code"]) == (409, "hooks.stopping")
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 128 + signal.SIGTERM


def test_startup_hooks_run_in_their_order(
    start_server: Callable[..., Server], tmp_path: Path, make_marker: Callable[[], Marker]
) -> None:
    order, daemon = tmp_path / "order", make_marker()
    server = start_server(
        environment={
            "RUN_HOOK_INIT": f"echo init >>{order}",
            "RUN_HOOK_PRE_SERVICES": f"pwd >>{order}; {daemon.command} & exit 3",
            "RUN_HOOK_POST_READY": f"cat {tmp_path}/server-0/ready && exit 7",
        },
    )
    assert order.read_text().splitlines() == ["init", str(server.workspace)]
    # What a hook left running lives on, and a hook that failed stops nothing.
    daemon.wait_until_running()
    (pre,) = hooks(server, "pre_services")
    assert (pre["name"], pre["source"], pre["run"]["exit_code"]) == ("RUN_HOOK_PRE_SERVICES", "env", 3)
    assert "RUN_HOOK_PRE_SERVICES" in server.log()
    post = eventually(lambda: hooks(server, "post_ready")[0]["run"], "the last hook has ended")
    assert (post["exit_code"], post["output"]) == (7, server.url), post
    assert hooks(server, "init")[0]["run"]["exit_code"] == 0
    assert hooks(server, "shutdown") == []
    assert server.stop() == 0
    daemon.wait_until_gone()


def test_a_server_that_still_starts_can_be_stopped(tmp_path: Path, marker: Marker) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "RUN_HOOK_INIT": marker.command}
    process = subprocess.Popen([binary(), "serve", "--listen", "127.0.0.1:0"], env=environment)
    try:
        marker.wait_until_running()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        marker.wait_until_gone()
    finally:
        process.kill()
        process.wait()


def test_init_scripts_are_run_sourced_or_left_alone(start_server: Callable[..., Server], tmp_path: Path) -> None:
    directory, order = tmp_path / "init.d", tmp_path / "order"
    script(directory / "10-run.sh", f"#!/bin/bash\necho run >>{order}\nexport LOST=1\n", True)
    script(directory / "20-source.sh", f'echo sourced >>{order}\nexport KEPT="a b" HOME=/nowhere\n', False)
    script(directory / "30-program", f'#!/bin/sh\necho "program $KEPT" >>{order}\n', True)
    script(directory / "40-notes", f"echo wrong >>{order}\n", False)
    environment = {"ATOLL_INIT_DIR": str(directory), "RUN_HOOK_PRE_SERVICES": f"echo $KEPT >>{order}"}
    server = start_server(environment=environment)
    assert order.read_text().splitlines() == ["run", "sourced", "program a b", "a b"]
    seen = server.client.bash.exec(command='echo "$KEPT|$LOST|$HOME"').data.stdout
    assert seen == f"a b||{server.home}\n"


@pytest.mark.parametrize("executable", [True, False], ids=["run", "sourced"])
def test_a_failing_init_script_stops_the_start(tmp_path: Path, executable: bool) -> None:
    directory = tmp_path / "init.d"
    script(directory / "10-bad.sh", "#!/bin/bash\necho no luck\nfalse\nexit 4\n", executable)
    script(directory / "20-never.sh", f"#!/bin/bash\ntouch {tmp_path}/never\n", True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ATOLL_INIT_DIR": str(directory)}
    command = [binary(), "serve", "--listen", "127.0.0.1:0"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "10-bad.sh" in ended.stderr and "no luck" in ended.stderr
    assert not (tmp_path / "never").exists()


def test_hooks_that_cannot_be_read_stop_the_start(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SANDBOX_SHUTDOWN_HOOKS": '[{"name": "x"}]'}
    command = [binary(), "serve", "--listen", "127.0.0.1:0"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "SANDBOX_SHUTDOWN_HOOKS" in ended.stderr
