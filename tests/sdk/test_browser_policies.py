"""Managed policies: what a real Chromium opens and refuses once it was told so through the API.

The browser reads them from a directory of the system, so these servers see one of their own there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import httpx
import pytest
from agent_sandbox.types import RestartRequest
from agents import refused
from files import private_mounts
from server import Server
from sites import Site, site  # noqa: F401

FILE = "etc/chromium/policies/managed/atoll.json"
SINGLE_TRY: Any = {"max_retries": 0}


@pytest.fixture
def server(start_server: Callable[..., Server]) -> Server:
    return start_server(wrapper=private_mounts("mount -t tmpfs tmpfs /etc/chromium"))


def told(server: Server) -> Optional[Dict[str, Any]]:
    """What the browser is told, as it lies in its directory."""
    file = Path(f"/proc/{server.process.pid}/root/{FILE}")
    return json.loads(file.read_text()) if file.exists() else None


def test_a_blocked_address_is_refused_and_an_exception_opens(server: Server, site: Site) -> None:  # noqa: F811
    client = server.client
    host = site.url.split("://")[1]
    restarted = client.browser.restart(
        request=RestartRequest(url_blocklist=[host], url_allowlist=[f"{host}/article.html"])
    ).data
    assert restarted["url_blocklist"] == [host] and restarted["url_allowlist"] == [f"{host}/article.html"]

    navigate = client.browser_page.navigate
    message = refused("browser.refused_url", 403, navigate, url=site.page("form.html?blocked"), request_options=SINGLE_TRY)
    assert "url_blocklist" in message and "/form.html?blocked" not in site.requests
    assert navigate(url=site.page("article.html")).data["status"] == 200
    other = site.other + "/form.html"
    assert navigate(url=other).data["url"] == other

    # What is not mentioned stays; an empty list takes it away.
    assert client.browser.restart(request=RestartRequest(locale="fr")).data["url_blocklist"] == [host]
    refused("browser.refused_url", 403, navigate, url=site.page("form.html"), request_options=SINGLE_TRY)
    assert client.browser.restart(request=RestartRequest(url_blocklist=[], url_allowlist=[])).data["url_blocklist"] == []
    assert navigate(url=site.page("form.html")).data["status"] == 200
    assert told(server) is None


def test_file_dialogs_are_decided_left_alone_and_given_back(server: Server) -> None:
    def restart(body: Dict[str, Any]) -> Any:
        with server.http as http:
            answer: httpx.Response = http.post("/v1/browser/restart", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]["allow_file_selection_dialogs"]

    name = "AllowFileSelectionDialogs"
    assert restart({"allow_file_selection_dialogs": False}) is False
    assert told(server) == {name: False}
    assert restart({}) is False, "absent: as it was"
    assert restart({"mode": "soft", "allow_file_selection_dialogs": True}) is True
    assert told(server) == {name: True}
    assert restart({"allow_file_selection_dialogs": None}) is None, "null: given back to the browser"
    assert told(server) is None
