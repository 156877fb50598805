"""A browser that is killed: whoever was using it is told so by name, and the next call finds another one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import httpx
import pytest
from server import Server
from sites import Site, site  # noqa: F401
from test_browser_cdp import Cdp
from test_browser_info import main_processes
from waiting import eventually
from websockets.exceptions import ConnectionClosed

CONTEXTS = ["default", "one", "two"]


def post(server: Server, path: str, context: str, **body: Any) -> httpx.Response:
    headers = {} if context == "default" else {"X-Browser-Context": context}
    return httpx.post(f"{server.url}/v1/browser/{path}", json=body, headers=headers, timeout=120)


def opened(server: Server, context: str, url: str) -> Dict[str, Any]:
    answer = post(server, "page/navigate", context, url=url)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def reopened(server: Server, context: str, url: str) -> None:
    """Opens a page in the next browser; a call that comes before the server knows of the end is told of it."""

    def opens() -> bool:
        answer = post(server, "page/navigate", context, url=url)
        assert answer.status_code == 200 or answer.json()["error_code"] == "browser.gone", answer.text
        return answer.status_code == 200

    eventually(opens, "there is another browser")


def kill_browser(server: Server) -> None:
    (main,) = main_processes(server)
    os.kill(main, signal.SIGKILL)


@pytest.fixture
def display() -> Iterator[str]:
    """An X display of the test's own."""
    if not shutil.which("Xvnc"):
        pytest.skip("Xvnc is not installed: apt-get install tigervnc-standalone-server")
    command = ["Xvnc", "-displayfd", "1", "-geometry", "1280x1024", "-SecurityTypes", "None", "-rfbport", "-1"]
    with tempfile.TemporaryDirectory() as directory:
        socket = ["-rfbunixpath", f"{directory}/rfb"]
        x = subprocess.Popen([*command, *socket], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert x.stdout is not None
        yield f":{x.stdout.readline().strip()}"
        x.terminate()
        x.wait(60)
        x.stdout.close()


@pytest.mark.parametrize("window", ["without a window", "in a window"])
def test_open_operations_of_every_context_fail_by_name_and_the_next_ones_work(
    start_server: Callable[..., Server], site: Site, window: str, request: pytest.FixtureRequest  # noqa: F811
) -> None:
    headed = window == "in a window"
    environment = {"ATOLL_BROWSER_DISPLAY": request.getfixturevalue("display")} if headed else {}
    server = start_server(environment=environment)
    with server.http as http:
        assert http.get("/v1/browser/info").json()["data"]["headless"] is not headed
    gate = site.new_gate()
    for context in CONTEXTS:
        opened(server, context, site.page(f"cookie/of-{context}"))
    # Each tells the site once it has begun.
    asked = f"/mirror/{gate}"
    under_way: Dict[str, Dict[str, Any]] = {
        "page/evaluate": {"expression": f"fetch('{asked}').then(() => new Promise(() => {{}}))"},
        "page/wait": {"type": "function", "expression": f"(window.asked ??= fetch('{asked}'), false)"},
    }
    with ThreadPoolExecutor(16) as pool:
        waiting: List[Future[httpx.Response]] = [
            pool.submit(post, server, path, context, timeout=100, **body)
            for context in CONTEXTS
            for path, body in under_way.items()
        ]
        waiting.append(pool.submit(post, server, "page/navigate", "three", url=site.page(f"slow/{gate}"), timeout=100))
        eventually(lambda: site.requests.count(asked) == len(waiting) - 1, "all of them have begun")
        eventually(lambda: f"/slow/{gate}" in site.requests, "the page is asked for")
        kill_browser(server)
        answers = [each.result(100) for each in waiting]
    site.gate(gate).set()
    for answer in answers:
        assert (answer.status_code, answer.json()["error_code"]) == (503, "browser.gone"), answer.text
        assert "next operation" in answer.json()["message"]

    # At once: nobody has to try twice.
    for context in CONTEXTS:
        assert opened(server, context, site.page("form.html"))["title"] == "Form"
    assert len(main_processes(server)) == 1
    with server.http as http:
        names = [known["name"] for known in http.get("/v1/browser/contexts").json()["data"]]
    assert sorted(names) == sorted(CONTEXTS)


def test_what_a_context_kept_is_gone_with_its_browser(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server()
    for context in CONTEXTS[1:]:
        opened(server, context, site.page("form.html"))
        post(server, "page/evaluate", context, expression="localStorage.setItem('kept', 'yes')")
    kill_browser(server)
    for context in CONTEXTS[1:]:
        reopened(server, context, site.page("form.html"))
        answer = post(server, "page/evaluate", context, expression="localStorage.getItem('kept')")
        assert answer.status_code == 200 and answer.json()["data"] is None, answer.text


def test_a_client_of_its_protocol_is_hung_up_on_and_can_call_again(start_server: Callable[..., Server]) -> None:
    server = start_server()
    before = server.client.browser.get_info().data.cdp_url
    with Cdp(before) as cdp:
        kill_browser(server)
        with pytest.raises(ConnectionClosed):
            while True:
                cdp.socket.recv(timeout=60)

    def another() -> Optional[str]:
        answer = server.http.get("/cdp/json/version")
        told = answer.json().get("webSocketDebuggerUrl")
        return told if answer.status_code == 200 and told != before else None

    with Cdp(eventually(another, "there is another browser")) as cdp:
        assert cdp("Browser.getVersion")["product"].startswith("Chrome/")


def test_a_recording_of_a_browser_that_dies_is_told_of(start_server: Callable[..., Server], site: Site, folder: Path) -> None:  # noqa: F811
    server = start_server()
    opened(server, "default", site.page("form.html"))
    started = post(server, "page/record", "default", action="start", save_path=str(folder / "film.mp4"))
    assert started.json()["data"]["status"] == "recording"
    kill_browser(server)
    reopened(server, "default", site.page("form.html"))
    answer = post(server, "page/record", "default", action="stop")
    assert (answer.status_code, answer.json()["error_code"]) == (409, "browser.recording_state"), answer.text


def test_a_page_that_dies_is_told_of_and_comes_back(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server()
    for context in CONTEXTS:
        opened(server, context, site.page("form.html"))
    (main,) = main_processes(server)
    renderers = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if is_renderer_of(path, server)
    ]
    assert renderers
    for pid in renderers:
        os.kill(pid, signal.SIGKILL)

    def crashed(context: str) -> bool:
        answer = post(server, "page/evaluate", context, expression="1 + 1")
        if answer.status_code == 200:
            return False
        assert (answer.status_code, answer.json()["error_code"]) == (409, "browser.page_crashed"), answer.text
        return True

    for context in CONTEXTS:
        eventually(lambda: crashed(context), f"the page of {context} is known to be dead")
        assert opened(server, context, site.page("form.html"))["title"] == "Form"
        assert post(server, "page/evaluate", context, expression="1 + 1").json()["data"] == 2
    assert main_processes(server) == [main], "only the pages died"


def is_renderer_of(cmdline: Path, server: Server) -> bool:
    try:
        arguments = cmdline.read_bytes()
    except OSError:
        return False
    return b"--type=renderer" in arguments and str(server.home).encode() in arguments
