"""What HTTP Archive 1.2 demands of a file, so that any viewer takes it. Written from the format's specification."""

from __future__ import annotations

import datetime
from typing import Any, Dict, List


def check(har: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Fails at the first thing a viewer could stumble over; returns the entries."""
    assert list(har) == ["log"]
    log = har["log"]
    assert log["version"] == "1.2"
    for who in ("creator", "browser"):
        _texts(log[who], "name", "version")
    pages = log["pages"]
    for page in pages:
        _date(page["startedDateTime"])
        _texts(page, "id", "title")
        assert isinstance(page["pageTimings"], dict)
    assert len({page["id"] for page in pages}) == len(pages)
    for entry in log["entries"]:
        _entry(entry, {page["id"] for page in pages})
    started = [entry["startedDateTime"] for entry in log["entries"]]
    assert started == sorted(started)
    return log["entries"]


def _entry(entry: Dict[str, Any], pages: set) -> None:
    _date(entry["startedDateTime"])
    assert entry.get("pageref") is None or entry["pageref"] in pages
    assert entry["time"] >= 0
    assert isinstance(entry["cache"], dict)
    request, response, timings = entry["request"], entry["response"], entry["timings"]
    _texts(request, "method", "url", "httpVersion")
    _pairs(request, "headers", "cookies", "queryString")
    _numbers(request, "headersSize", "bodySize")
    if "postData" in request:
        _texts(request["postData"], "mimeType", "text")
    _numbers(response, "status", "headersSize", "bodySize")
    _texts(response, "statusText", "httpVersion", "redirectURL")
    _pairs(response, "headers", "cookies")
    _numbers(response["content"], "size")
    _texts(response["content"], "mimeType")
    assert response["content"]["size"] >= 0
    for phase in ("send", "wait", "receive"):
        assert timings[phase] >= 0, timings
    for phase in ("blocked", "dns", "connect", "ssl"):
        assert timings[phase] >= 0 or timings[phase] == -1, timings
    spent = [timings[phase] for phase in timings if phase != "ssl" and timings[phase] >= 0]
    assert abs(sum(spent) - entry["time"]) < 0.01, entry


def _date(text: str) -> None:
    assert datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).tzinfo is not None


def _texts(value: Dict[str, Any], *names: str) -> None:
    for name in names:
        assert isinstance(value[name], str), (name, value)


def _numbers(value: Dict[str, Any], *names: str) -> None:
    for name in names:
        assert type(value[name]) in (int, float), (name, value)


def _pairs(value: Dict[str, Any], *names: str) -> None:
    for name in names:
        for pair in value[name]:
            _texts(pair, "name", "value")
