"""Services of users, kept up by their rules, and the sandbox's own parts beside them."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import httpx
import pytest
from server import Server
from waiting import Marker, eventually

Start = Callable[..., Server]


class Services:
    """The services of one server, by raw HTTP: the public SDK does not know them."""

    def __init__(self, server: Server) -> None:
        self.http = server.http

    def list(self) -> Dict[str, Any]:
        answer = self.http.get("/v1/services")
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def get(self, name: str) -> Dict[str, Any]:
        return next(each for each in self.list()["services"] if each["name"] == name)

    def order(self, name: str, verb: str) -> Dict[str, Any]:
        answer = self.http.post(f"/v1/services/{name}/{verb}")
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def logs(self, name: str, lines: int = 200) -> Dict[str, Any]:
        answer = self.http.get(f"/v1/services/{name}/logs", params={"lines": lines})
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def wait(self, name: str, *states: str) -> Dict[str, Any]:
        def reached() -> Any:
            found = self.get(name)
            return found if found["state"] in states else None

        return eventually(reached, f"{name} is {' or '.join(states)}")

    def problems(self) -> List[str]:
        return [f"{Path(each['file']).name}:{each['line']}: {each['message']}" for each in self.list()["problems"]]


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A directory for supervisord's files."""
    directory = tmp_path / "app.supervisor.d"
    directory.mkdir()
    return directory


@pytest.fixture
def start(start_server: Start, conf: Path) -> Callable[..., Services]:
    """Starts a server on that directory."""

    def make(**environment: str) -> Services:
        return Services(start_server(environment={"SUPERVISOR_CONF_DIR": str(conf), **environment}))

    return make


@pytest.fixture
def port() -> Iterator[int]:
    """A port that is free."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        number = taken.getsockname()[1]
    yield number


def test_the_parts_of_the_sandbox_are_listed_first_and_do_not_run_unasked(server: Server) -> None:
    listed = Services(server).list()["services"]
    parts = [each for each in listed if each["kind"] == "builtin"]
    assert [each["name"] for each in parts] == ["browser", "desktop", "jupyter", "code-server"]
    for each in parts:
        assert each["title"] and each["restarts"] == 0, each
        if each["state"] == "running":
            assert each["can_stop"] and not each["can_start"] and each["pid"] > 0, each
        if each["state"] == "off":
            assert each["can_start"] and not each["can_stop"] and each["pid"] is None, each
            assert each["url"].startswith(server.url), each


def test_a_part_is_started_and_stopped_like_a_service(start_server: Start) -> None:
    services = Services(start_server())
    assert services.get("jupyter")["state"] == "off"
    started = services.order("jupyter", "start")
    assert started["state"] == "running" and started["can_stop"], started
    os.kill(started["pid"], 0)
    assert services.order("jupyter", "start")["pid"] == started["pid"]
    again = services.order("jupyter", "restart")
    assert again["state"] == "running" and again["pid"] != started["pid"], again
    stopped = services.order("jupyter", "stop")
    assert stopped["state"] == "off" and stopped["pid"] is None, stopped


def test_a_part_that_is_switched_off_cannot_be_started(start_server: Start) -> None:
    services = Services(start_server(environment={"DISABLE_JUPYTER": "true", "DISABLE_BROWSER": "1", "DISABLE_VNC": "1"}))
    for name in ("jupyter", "browser", "desktop"):
        part = services.get(name)
        assert part["state"] == "disabled" and part["detail"] and not part["can_start"], part
        refused = services.http.post(f"/v1/services/{name}/start")
        assert refused.status_code == 409 and refused.json()["error_code"] == "service.not_startable"


def test_a_web_server_runs_from_the_start_with_its_environment_and_log_file(
    start: Callable[..., Services], conf: Path, tmp_path: Path, port: int
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "page.txt").write_text("served")
    log = tmp_path / "logs" / "web.log"
    (conf / "web.conf").write_text(
        f"""; a web server
[program:web]
command=python3 -u -m http.server %(ENV_APP_SERVICE_PORT)s --bind 127.0.0.1 ; with a comment
directory={site}
environment=COLOUR="blue, green",NAME='%(program_name)s'
redirect_stderr=true
stdout_logfile={log}
"""
    )
    services = start(APP_SERVICE_PORT=str(port), AWS_SECRET_ACCESS_KEY="never")
    running = services.wait("web", "running")
    assert running["kind"] == "user" and running["since"] and running["can_stop"], running
    answer = eventually(lambda: _get(f"http://127.0.0.1:{port}/page.txt"), "the web server answers")
    assert answer.text == "served"
    environment = _environment(running["pid"])
    assert environment["COLOUR"] == "blue, green" and environment["NAME"] == "web"
    assert environment["APP_SERVICE_PORT"] == str(port) and environment["SUPERVISOR_PROCESS_NAME"] == "web"
    assert "AWS_SECRET_ACCESS_KEY" not in environment
    eventually(lambda: "GET /page.txt" in services.logs("web")["output"], "the request is in the log")
    eventually(lambda: log.exists() and "GET /page.txt" in log.read_text(), "the request is in the file")

    stopped = services.order("web", "stop")
    assert stopped["state"] == "off" and stopped["can_start"], stopped
    assert _get(f"http://127.0.0.1:{port}/page.txt") is None
    assert services.order("web", "start")["state"] == "running"


def test_the_whole_tree_of_a_service_dies_with_it_however_it_ends(
    start: Callable[..., Services], conf: Path, make_marker: Callable[[], Marker]
) -> None:
    child, daemon = make_marker(), make_marker()
    script = f"setsid {daemon.command} & {child.command} & exec sleep 100000"
    (conf / "tree.conf").write_text(f"[program:tree]\ncommand=bash -c '{script}'\nautorestart=false\nstartsecs=0\n")
    services = start()
    for end in ("stop", "kill"):
        pid = services.wait("tree", "running")["pid"]
        child.wait_until_running()
        daemon.wait_until_running()
        if end == "stop":
            assert services.order("tree", "stop")["state"] == "off"
        else:
            os.kill(pid, signal.SIGKILL)
            failed = services.wait("tree", "failed")
            assert "signal 9" in failed["detail"] and failed["restarts"] == 0, failed
        child.wait_until_gone()
        daemon.wait_until_gone()
        services.order("tree", "start")


def test_what_dies_is_started_again_and_told(start: Callable[..., Services], conf: Path) -> None:
    (conf / "worker.conf").write_text("[program:worker]\ncommand=sleep 100000\nstartsecs=0\nautorestart=true\n")
    services = start()
    first = services.wait("worker", "running")["pid"]
    os.kill(first, signal.SIGKILL)

    def again() -> Any:
        found = services.get("worker")
        return found if found["pid"] not in (None, first) else None

    assert eventually(again, "it runs again")["restarts"] == 1
    live = services.http.get("/v1/sandbox/observe/live").json()["data"]
    told = [event for event in live["recent_events"] if event["type"] == "service_restart"]
    assert told and told[0]["data"]["service"] == "worker" and "signal 9" in told[0]["message"], told


def test_a_crash_loop_backs_off_and_then_fails_with_the_reason(start: Callable[..., Services], conf: Path) -> None:
    (conf / "bad.conf").write_text("[program:bad]\ncommand=sh -c 'echo no licence >&2; exit 7'\nstartretries=1\n")
    services = start()
    failed = services.wait("bad", "failed")
    assert "code 7" in failed["detail"] and "no licence" in failed["detail"], failed
    assert "2 times" in failed["detail"] and failed["restarts"] == 1, failed
    assert failed["can_start"] and not failed["can_stop"] and failed["pid"] is None, failed
    assert services.logs("bad")["output"] == "no licence\n" * 2
    # Asked for again it is tried again, and the answer tells what came of the first try.
    assert services.order("bad", "start")["state"] in ("backoff", "failed")
    assert services.order("bad", "stop")["state"] == "off"


@pytest.mark.parametrize(
    ("rule", "code", "state"),
    [("unexpected", 0, "off"), ("unexpected", 3, "off"), ("false", 1, "failed"), ("false", 0, "off")],
)
def test_exit_codes_decide_what_a_services_end_means(
    start: Callable[..., Services], conf: Path, rule: str, code: int, state: str
) -> None:
    (conf / "job.conf").write_text(
        f"[program:job]\ncommand=sh -c 'exit {code}'\nstartsecs=0\nautorestart={rule}\nexitcodes=0,3\n"
    )
    services = start()
    eventually(lambda: services.get("job")["detail"], "it has ended")
    ended = services.get("job")
    assert ended["state"] == state and f"code {code}" in ended["detail"], ended


def test_a_stop_signal_is_heard_and_who_does_not_listen_is_killed(
    start: Callable[..., Services], conf: Path, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    polite = f"trap 'echo bye > {heard}; exit 0' INT; while :; do sleep 0.1; done"
    (conf / "a.conf").write_text(
        f"[program:polite]\ncommand=bash -c \"{polite}\"\nstopsignal=INT\nstartsecs=0\n"
        "[program:deaf]\ncommand=bash -c \"trap '' TERM; echo deaf; while :; do sleep 0.1; done\"\nstopwaitsecs=1\nstartsecs=0\n"
    )
    services = start()
    services.wait("polite", "running")
    services.wait("deaf", "running")
    eventually(lambda: "deaf" in services.logs("deaf")["output"], "it has become deaf")
    pid = services.get("deaf")["pid"]
    # Bash sets its trap a moment after it runs.
    eventually(lambda: _catches(services.get("polite")["pid"], signal.SIGINT), "the trap is set")
    assert services.order("polite", "stop")["state"] == "off"
    assert heard.read_text() == "bye\n"
    assert services.order("deaf", "stop")["state"] == "off"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_bad_files_are_told_by_line_and_the_others_run(start: Callable[..., Services], conf: Path) -> None:
    files = {
        "a.conf": "[program:good]\ncommand=sleep 100000\nstartsecs=0\n",
        "b.conf": "[program:quote]\ncommand=sleep 'x\n",
        "c.conf": "[program:secret]\ncommand=echo %(ENV_SANDBOX_API_KEY)s\n",
        "d.conf": "nonsense\n",
        "e.conf": "[program:nothing]\nautostart=true\n",
        "f.conf": "[program:absent]\ncommand=/no/such/program\n",
        "g.conf": "[program:x]\ncommand=sleep 100000\nstartsecs=maybe\n[program:beside]\ncommand=sleep 100000\nstartsecs=0\n",
    }
    for name, text in files.items():
        (conf / name).write_text(text)
    (conf / "h.conf").write_bytes(b"\xff\x00")
    services = start()
    services.wait("good", "running")
    services.wait("beside", "running")
    absent = services.wait("absent", "missing")
    assert "/no/such/program" in absent["detail"], absent
    told = "\n".join(services.problems())
    for part in ("b.conf:2:", "c.conf:2:", "d.conf:1:", "e.conf:1:", "g.conf:3:", "h.conf:None:"):
        assert part in told, told
    broken = services.get("quote")
    assert broken["state"] == "failed" and "b.conf:2" in broken["detail"] and not broken["can_start"], broken
    refused = services.http.post("/v1/services/quote/start")
    assert refused.status_code == 409 and refused.json()["error_code"] == "service.not_startable"


@pytest.mark.parametrize("name", ["nobody", "..", "%2e%2e", "a b", "x" * 500])
def test_a_name_that_is_none_is_told_with_those_there_are(server: Server, name: str) -> None:
    services = Services(server)
    for method, path in [("POST", "start"), ("POST", "stop"), ("POST", "restart"), ("GET", "logs")]:
        refused = services.http.request(method, f"/v1/services/{name}/{path}")
        assert refused.status_code in (400, 404), refused.text
        if name == "nobody":
            assert refused.json()["error_code"] == "service.not_found" and "browser" in refused.json()["message"]


def test_services_toml_in_the_home_is_followed_when_it_changes(
    start_server: Start, make_marker: Callable[[], Marker]
) -> None:
    server = start_server()
    services = Services(server)
    kept, changed, gone, added = (make_marker() for _ in range(4))
    file = server.home / ".config" / "atoll" / "services.toml"
    file.parent.mkdir(parents=True, exist_ok=True)

    def service(name: str, marker: Marker, more: str = "") -> str:
        return f'[services.{name}]\ncommand = ["bash", "-c", "exec {marker.command}"]\nstart_seconds = 0\n{more}\n'

    def reload(text: str) -> Dict[str, Any]:
        file.write_text(text)
        answer = services.http.post("/v1/services/reload")
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    reload(service("kept", kept, 'title = "Kept"\nport = 9000') + service("changed", changed) + service("gone", gone))
    for marker in (kept, changed, gone):
        marker.wait_until_running()
    first = services.get("kept")
    assert first["title"] == "Kept" and first["url"] == f"{server.url}/proxy/9000/", first

    other = make_marker()
    listed = reload(service("kept", kept, 'title = "Kept"\nport = 9000') + service("changed", other) + service("added", added))
    names = [each["name"] for each in listed["services"] if each["kind"] == "user"]
    assert sorted(names) == ["added", "changed", "kept"]
    for marker in (changed, gone):
        marker.wait_until_gone()
    for marker in (other, added):
        marker.wait_until_running()
    assert services.get("kept")["pid"] == first["pid"]

    broken = reload("[services.kept]\ncommand = 5\n")
    assert broken["problems"][0]["line"] == 1, broken
    kept.wait_until_gone()


def test_services_start_by_priority_and_stop_the_other_way_round(
    start_server: Start, conf: Path, tmp_path: Path
) -> None:
    order = tmp_path / "order"
    for name, priority in [("last", 30), ("first", 10), ("middle", 20)]:
        script = f"echo {name} up >> {order}; trap 'echo {name} down >> {order}; exit 0' TERM; echo set; while :; do sleep 0.1; done"
        (conf / f"{name}.conf").write_text(f'[program:{name}]\ncommand=bash -c "{script}"\npriority={priority}\nstartsecs=0\n')
    server = start_server(environment={"SUPERVISOR_CONF_DIR": str(conf)})
    services = Services(server)
    listed = [each["name"] for each in services.list()["services"] if each["kind"] == "user"]
    assert listed == ["first", "middle", "last"]
    for name in listed:
        eventually(lambda name=name: "set" in services.logs(name)["output"], f"{name} has its trap")
    assert server.stop() == 0, server.log()
    assert [line for line in order.read_text().splitlines() if line.endswith("down")] == [
        "last down",
        "middle down",
        "first down",
    ]


def test_a_service_that_does_not_end_holds_the_server_up_only_so_long(
    start_server: Start, conf: Path, marker: Marker
) -> None:
    script = f"trap '' TERM; {marker.command} & while :; do sleep 0.1; done"
    (conf / "deaf.conf").write_text(f'[program:deaf]\ncommand=bash -c "{script}"\nstopwaitsecs=3600\nstartsecs=0\n')
    server = start_server(environment={"SUPERVISOR_CONF_DIR": str(conf), "ATOLL_LIMIT_SERVICES_STOP_SECONDS": "1"})
    marker.wait_until_running()
    assert server.stop() == 0, server.log()
    marker.wait_until_gone()


def test_wait_ports_holds_readiness_back_until_a_service_listens(
    start_server: Start, conf: Path, port: int
) -> None:
    script = f"import http.server, socketserver, time; time.sleep(1); http.server.HTTPServer(('127.0.0.1', {port}), http.server.SimpleHTTPRequestHandler).serve_forever()"
    (conf / "slow.conf").write_text(f'[program:slow]\ncommand=python3 -c "{script}"\nstartsecs=0\n')
    # 8079 and 8091 are ports of another sandbox's own programs, which compose files list: nothing waits for them.
    server = start_server(environment={"SUPERVISOR_CONF_DIR": str(conf), "WAIT_PORTS": f"8079,8091,{port}"})
    with socket.create_connection(("127.0.0.1", port), timeout=60):
        pass
    assert Services(server).list()["waiting_for_ports"] == []


def test_wait_ports_that_nobody_opens_do_not_hold_the_server_up(start_server: Start, conf: Path, port: int) -> None:
    start_server(environment={"WAIT_PORTS": str(port)})
    (conf / "brief.conf").write_text("[program:brief]\ncommand=true\nstartsecs=0\nautorestart=false\n")
    start_server(environment={"SUPERVISOR_CONF_DIR": str(conf), "WAIT_PORTS": str(port)})
    (conf / "idle.conf").write_text("[program:idle]\ncommand=sleep 100000\n")
    bounded = {"SUPERVISOR_CONF_DIR": str(conf), "WAIT_PORTS": str(port), "ATOLL_LIMIT_WAIT_PORTS_SECONDS": "1"}
    assert "WAIT_PORTS" in start_server(environment=bounded).log()


def test_logs_are_bounded_counted_and_followed(start: Callable[..., Services], conf: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    log = tmp_path / "noisy.log"
    script = f"seq 1 100000; until [ -e {more} ]; do sleep 0.05; done; echo the end; exec sleep 100000"
    (conf / "noisy.conf").write_text(
        f'[program:noisy]\ncommand=bash -c "{script}"\nstartsecs=0\n'
        f"stdout_logfile={log}\nstdout_logfile_maxbytes=64KB\nstdout_logfile_backups=2\n"
    )
    services = start()
    eventually(lambda: services.logs("noisy", 1)["output"] == "100000\n", "all lines are there")
    tail = services.logs("noisy", 3)
    assert tail["output"] == "99998\n99999\n100000\n" and tail["truncated"], tail
    eventually(lambda: log.exists() and log.read_text().endswith("100000\n"), "all lines are in the file")
    files = sorted(tmp_path.glob("noisy.log*"))
    assert [each.name for each in files] == ["noisy.log", "noisy.log.1", "noisy.log.2"]
    assert all(each.stat().st_size <= 64 << 10 for each in files)

    seen = ""
    headers = {"Accept": "text/event-stream"}
    with services.http.stream("GET", "/v1/services/noisy/logs?lines=2", headers=headers) as events:
        for line in events.iter_lines():
            if line.startswith("data:"):
                seen += json.loads(line[5:])["data"]
            more.touch()
            if seen.endswith("the end\n"):
                break
    assert seen == "99999\n100000\nthe end\n"


def test_changes_come_as_events(start: Callable[..., Services], conf: Path) -> None:
    (conf / "idle.conf").write_text("[program:idle]\ncommand=sleep 100000\nautostart=false\nstartsecs=0\n")
    services = start()
    states: List[str] = []
    with services.http.stream("GET", "/v1/services", headers={"Accept": "text/event-stream"}) as events:
        for line in events.iter_lines():
            if not line.startswith("data:"):
                assert not line.startswith("event:") or line == "event: services", line
                continue
            listed = json.loads(line[5:])["services"]
            state = next(each["state"] for each in listed if each["name"] == "idle")
            if not states or states[-1] != state:
                states.append(state)
            if states == ["off"]:
                services.order("idle", "start")
            if state == "running":
                break
    assert states[0] == "off" and states[-1] == "running", states


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as somebody else")
def test_a_service_can_run_as_another_user(start: Callable[..., Services], conf: Path) -> None:
    (conf / "other.conf").write_text(
        "[program:other]\ncommand=sleep 100000\nuser=nobody\ndirectory=/\nstartsecs=0\n"
        "[program:unknown]\ncommand=sleep 1\nuser=no-such-user\n"
    )
    services = start()
    pid = services.wait("other", "running")["pid"]
    nobody = eventually(lambda: Path(f"/proc/{pid}").stat().st_uid, "it has become somebody else")
    assert nobody == 65534
    assert "no-such-user" in services.wait("unknown", "missing")["detail"]


def _get(url: str) -> Any:
    try:
        return httpx.get(url)
    except httpx.TransportError:
        return None


def _environment(pid: int) -> Dict[str, str]:
    raw = Path(f"/proc/{pid}/environ").read_bytes().decode()
    return dict(pair.split("=", 1) for pair in raw.split("\0") if pair)


def _catches(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << number - 1)
