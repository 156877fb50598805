"""Requests as clients of the deep-agent family send them, and as those of the other families do."""

from __future__ import annotations

from typing import Any, Dict

import httpx

# How a request says whose it is.
DEEP_AGENT: Dict[str, str] = {"User-Agent": "Go-http-client/1.1"}
AIO: Dict[str, str] = {"X-Fern-Language": "Python", "User-Agent": "Go-http-client/1.1"}
PLAIN: Dict[str, str] = {"User-Agent": "curl/8.5.0"}
ENVELOPE = {"success", "message", "data", "hint", "code"}


def done(response: httpx.Response) -> Any:
    """The data of an answer to something that was carried out."""
    assert response.status_code == 200, response.text
    body = response.json()
    assert ENVELOPE <= body.keys(), body
    assert body["success"] is True and body["code"] == 0, body
    return body["data"]


def refused(response: httpx.Response, status: int) -> Dict[str, Any]:
    """The body of a refusal with its real status, which its code repeats."""
    assert response.status_code == status, response.text
    body = response.json()
    assert ENVELOPE <= body.keys(), body
    assert body["success"] is False and body["code"] == status, body
    assert body["message"] and body["error_code"], body
    return dict(body)
