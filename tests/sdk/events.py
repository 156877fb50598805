"""Reads server-sent events from a streaming answer."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional

import httpx


@dataclass
class Event:
    """One event: its name, where the stream stands after it, and its body."""

    name: str
    id: Optional[str]
    data: Any


@contextmanager
def event_stream(
    http: httpx.Client,
    path: str,
    body: Optional[Dict[str, Any]] = None,
    last_event_id: Optional[str] = None,
    method: str = "POST",
) -> Iterator[Iterator[Event]]:
    """Asks and yields the events of the answer as they come."""
    headers = {"Accept": "text/event-stream"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    with http.stream(method, path, json=body, headers=headers) as response:
        if response.status_code != 200:
            response.read()
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _parse(response.iter_lines())


def _parse(lines: Iterator[str]) -> Iterator[Event]:
    fields: Dict[str, str] = {}
    for line in lines:
        if line == "":
            if "data" in fields:
                data = json.loads(fields["data"])
                yield Event(fields.get("event", "message"), fields.get("id"), data)
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
