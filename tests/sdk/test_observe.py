"""Observation: what the sandbox uses, now and over time, and reports of it."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import httpx
import pytest
from server import Server
from waiting import eventually

Start = Callable[..., Server]
BASE = "/v1/sandbox/observe"


@pytest.fixture
def plain(start_server: Start) -> Iterator[httpx.Client]:
    """A server of the test's own: there is one observation at a time."""
    with start_server().http as client:
        yield client


def data(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()["data"]


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code >= 400, answer.text
    return answer.json()["error_code"]


def samples_of(report: httpx.Response) -> Dict[str, bytes]:
    assert report.headers["content-type"] == "application/gzip"
    with tarfile.open(fileobj=io.BytesIO(report.content), mode="r:gz") as archive:
        members = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        return {name.split("/")[-1]: file.read() for name, file in members.items() if file}


def test_a_look_at_the_moment_tells_figures_of_everything(plain: httpx.Client) -> None:
    live = data(plain.get(f"{BASE}/live", params={"top_rows": 5}))
    assert live["mode"] == "off" and datetime.fromisoformat(live["captured_at"].replace("Z", "+00:00"))
    group = live["cgroup"]
    assert group["cpu_usage_usec"] > 0 and group["mem_current_bytes"] > 0
    assert group["cpu_usage_pct"] >= 0 and group["mem_max_bytes"] > 0 and 0 <= group["mem_usage_pct"]
    assert live["disk"] and len({each["path"] for each in live["disk"]}) == len(live["disk"])
    for disk in live["disk"]:
        assert disk["total_bytes"] >= disk["free_bytes"] and 0 <= disk["usage_pct"] <= 100, disk
    rows = live["top_processes"]
    assert 1 <= len(rows) <= 5 and rows == sorted(rows, key=lambda row: -row["rss_bytes"])
    for row in rows:
        assert row["pid"] > 0 and row["user"] and row["comm"] and row["threads"] >= 1 and row["state"], row
    assert data(plain.get(f"{BASE}/live", params={"top_rows": 0}))["top_processes"] == []


@pytest.mark.parametrize("rows", ["-1", "x", "1001", "1.5"])
def test_rows_that_make_no_sense_are_refused(server: Server, rows: str) -> None:
    assert server.http.get(f"{BASE}/live", params={"top_rows": rows}).status_code == 422


def test_a_busy_process_is_told_by_its_processor_time(plain: httpx.Client) -> None:
    job = plain.post("/v1/bash/exec", json={"command": "exec -a busy bash -c 'while :; do :; done'", "async_mode": True})
    assert job.status_code == 200, job.text

    def busy() -> Any:
        rows = data(plain.get(f"{BASE}/live", params={"top_rows": 1000}))["top_processes"]
        return [row for row in rows if row["comm"] == "bash" and (row["cpu_pct"] or 0) > 5]

    assert eventually(busy, "the loop shows")


def test_a_capture_from_start_to_report(plain: httpx.Client) -> None:
    assert data(plain.get(f"{BASE}/status")) | {"report_count": 0} == {
        "mode": "off",
        "running": False,
        "session_id": None,
        "started_at": None,
        "ends_at": None,
        "interval_seconds": None,
        "last_sample_at": None,
        "runtime_dir": None,
        "report_count": 0,
    }
    # The SDK sends no body at all when there are no arguments.
    started = data(plain.post(f"{BASE}/start", json={"interval_seconds": 0.1, "duration_seconds": 600}))
    assert started["mode"] == "capture" and started["interval_seconds"] == 0.1 and started["ends_at"]
    status = eventually(lambda: _sampled(plain), "a sample was taken")
    assert status["running"] and status["session_id"] == started["session_id"]
    assert refusal(plain.post(f"{BASE}/start")) == "observe.already_running"

    # While samples are taken.
    report = data(plain.post(f"{BASE}/export", json={"reason": "half <time>"}))
    assert report["session_id"] == started["session_id"] and report["reason"] == "half <time>"
    assert Path(report["path"]).stat().st_size == report["size_bytes"] > 0
    files = samples_of(plain.get(f"{BASE}/reports/{report['report_id']}"))
    samples = [json.loads(line) for line in files["samples.jsonl"].splitlines()]
    assert samples and samples[-1]["processes"] and samples[-1]["disks"]
    assert json.loads(files["summary.json"])["samples"] == len(samples)
    assert isinstance(json.loads(files["events.json"]), list)
    page = files["index.html"].decode()
    assert "<svg" in page and "half &lt;time&gt;" in page and "<script" not in page and "://" not in page

    stopped = data(plain.post(f"{BASE}/stop"))
    assert stopped == {"session_id": started["session_id"], "stopped": True, "report_ready": True}
    again = data(plain.post(f"{BASE}/stop", json={"session_id": started["session_id"]}))
    assert again["stopped"] is False and again["report_ready"] is True
    assert data(plain.get(f"{BASE}/status"))["mode"] == "off"

    later = data(plain.post(f"{BASE}/export"))
    assert later["session_id"] == started["session_id"] and later["reason"] == "manual"
    listed = data(plain.get(f"{BASE}/reports"))
    assert [each["report_id"] for each in listed] == [later["report_id"], report["report_id"]]
    assert data(plain.request("DELETE", f"{BASE}/reports/{report['report_id']}"))["report_id"] == report["report_id"]
    assert not Path(report["path"]).exists()
    assert refusal(plain.get(f"{BASE}/reports/{report['report_id']}")) == "observe.report_not_found"
    assert data(plain.get(f"{BASE}/status"))["report_count"] == 1


def test_a_capture_ends_by_itself_and_can_be_exported_then(plain: httpx.Client) -> None:
    started = data(plain.post(f"{BASE}/start", json={"interval_seconds": 0.1, "duration_seconds": 1}))
    eventually(lambda: data(plain.get(f"{BASE}/status"))["mode"] == "off", "the capture is over")
    report = data(plain.post(f"{BASE}/export", json={"session_id": started["session_id"]}))
    assert report["session_id"] == started["session_id"]


def test_a_capture_that_is_full_ends_and_says_so(start_server: Start) -> None:
    with start_server(environment={"ATOLL_LIMIT_OBSERVE_CAPTURE_BYTES": "20000"}).http as plain:
        started = data(plain.post(f"{BASE}/start", json={"interval_seconds": 0.1, "duration_seconds": 3600}))
        eventually(lambda: data(plain.get(f"{BASE}/status"))["mode"] == "off", "the capture is full")
        events = data(plain.get(f"{BASE}/live"))["recent_events"]
        assert [event["data"]["session_id"] for event in events if event["type"] == "capture_full"] == [started["session_id"]]


def test_keys_get_the_first_answer_again(plain: httpx.Client) -> None:
    order = {"idempotency_key": "once", "interval_seconds": 0.1}
    started = data(plain.post(f"{BASE}/start", json=order))
    assert data(plain.post(f"{BASE}/start", json={**order, "mode": "guardrail", "interval_seconds": 60})) == started
    data(plain.post(f"{BASE}/stop"))
    assert data(plain.post(f"{BASE}/start", json=order)) == started
    assert data(plain.get(f"{BASE}/status"))["running"] is False

    report = data(plain.post(f"{BASE}/export", json={"idempotency_key": "once"}))
    assert data(plain.post(f"{BASE}/export", json={"idempotency_key": "once", "reason": "other"})) == report
    assert len(data(plain.get(f"{BASE}/reports"))) == 1
    assert plain.post(f"{BASE}/export", json={"idempotency_key": "x" * 129}).status_code == 422


def test_a_guardrail_runs_beside_a_capture(start_server: Start) -> None:
    with start_server(environment={"ATOLL_OBSERVE_GUARDRAIL": "true"}).http as plain:
        guardrail = eventually(lambda: _sampled(plain), "the guardrail has looked")
        assert guardrail["mode"] == "guardrail" and guardrail["ends_at"] is None and guardrail["interval_seconds"] >= 5
        assert refusal(plain.post(f"{BASE}/start", json={"mode": "guardrail"})) == "observe.already_running"
        capture = data(plain.post(f"{BASE}/start", json={"interval_seconds": 1}))
        assert data(plain.get(f"{BASE}/status"))["session_id"] == capture["session_id"]
        assert data(plain.post(f"{BASE}/stop"))["session_id"] == capture["session_id"]
        assert data(plain.get(f"{BASE}/status"))["session_id"] == guardrail["session_id"]
        report = data(plain.post(f"{BASE}/export"))
        assert report["session_id"] == guardrail["session_id"]
        assert data(plain.post(f"{BASE}/stop"))["session_id"] == guardrail["session_id"]
        assert refusal(plain.post(f"{BASE}/stop")) == "observe.not_running"


def test_a_memory_hog_in_a_limited_session_is_told(start_server: Start) -> None:
    limit = 64 << 20
    with start_server(environment={"ATOLL_LIMIT_SESSION_MEMORY_BYTES": str(limit)}).http as plain:
        started = data(plain.post(f"{BASE}/start", json={"interval_seconds": 0.1}))
        eventually(lambda: _sampled(plain), "a sample was taken")
        hog = "python3 -c 'x = bytearray(512 << 20); print(len(x))'"
        ended = data(plain.post("/v1/bash/exec", json={"command": hog}))
        if ended["exit_code"] == 1:
            pytest.skip("memory is bounded per process here: the hog is refused memory, and nothing is killed")
        assert ended["exit_code"] != 0, ended

        def told() -> List[Dict[str, Any]]:
            events = data(plain.get(f"{BASE}/live"))["recent_events"]
            return [event for event in events if event["type"] == "oom_kill"]

        killed = eventually(told, "the kill is told")
        assert killed[0]["data"]["killed"] >= 1 and len(killed) == 1, killed
        report = data(plain.post(f"{BASE}/export", json={"session_id": started["session_id"]}))
        files = samples_of(plain.get(f"{BASE}/reports/{report['report_id']}"))
        assert json.loads(files["summary.json"])["events"]["oom_kill"] == 1
        assert "killed because memory ran out" in files["index.html"].decode()


def test_without_a_session_a_report_holds_one_look(plain: httpx.Client) -> None:
    report = data(plain.post(f"{BASE}/export"))
    assert report["session_id"] is None
    files = samples_of(plain.get(f"{BASE}/reports/{report['report_id']}"))
    assert len(files["samples.jsonl"].splitlines()) == 1


def test_reports_outlive_the_server_in_a_directory_of_their_own_and_are_bounded(start_server: Start, tmp_path: Path) -> None:
    environment = {"ATOLL_OBSERVE_REPORT_DIR": str(tmp_path / "reports"), "ATOLL_LIMIT_OBSERVE_REPORTS": "2"}
    first = start_server(environment=environment)
    made = [data(first.http.post(f"{BASE}/export", json={"reason": str(number)})) for number in range(2)]
    full = first.http.post(f"{BASE}/export")
    assert full.status_code == 429 and refusal(full) == "observe.too_many_reports"
    first.stop()
    (tmp_path / "reports" / "stray.json").write_text("[]")
    second = start_server(environment=environment)
    listed = data(second.http.get(f"{BASE}/reports"))
    assert sorted(each["report_id"] for each in listed) == sorted(each["report_id"] for each in made)
    part = second.http.get(f"{BASE}/reports/{made[0]['report_id']}", headers={"Range": "bytes=0-1"})
    assert part.status_code == 206 and part.content == b"\x1f\x8b"


@pytest.mark.parametrize(
    "name", ["nothing", "..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%2Fetc%2Fpasswd", "a%00b", "report-1.tar.gz", "x" * 4000]
)
def test_no_name_leads_to_anything_but_a_report(server: Server, name: str) -> None:
    for method in ("GET", "DELETE"):
        refused = server.http.request(method, f"{BASE}/reports/{name}")
        assert refused.status_code in (400, 404, 405, 414, 422), refused.text
        assert "root:" not in refused.text


@pytest.mark.parametrize(
    "order",
    [
        {"mode": "always"},
        {"interval_seconds": 0},
        {"interval_seconds": -1},
        {"interval_seconds": 0.01},
        {"interval_seconds": 4000},
        {"mode": "guardrail", "interval_seconds": 1},
        {"duration_seconds": 0},
        {"duration_seconds": 100_000},
        {"duration_seconds": "soon"},
        {"include_disk": "some"},
    ],
)
def test_orders_that_make_no_sense_are_refused_and_start_nothing(server: Server, order: Dict[str, Any]) -> None:
    refused = server.http.post(f"{BASE}/start", json=order)
    assert refused.status_code == 422, refused.text
    assert data(server.http.get(f"{BASE}/status"))["running"] is False


def test_a_session_that_is_none_is_told(server: Server) -> None:
    for verb in ("stop", "export"):
        assert refusal(server.http.post(f"{BASE}/{verb}", json={"session_id": "capture-1"})) == "observe.session_not_found"


def _sampled(plain: httpx.Client) -> Any:
    status = data(plain.get(f"{BASE}/status"))
    return status if status["last_sample_at"] else None
