"""`browser`: what it is, how it is configured, that it comes back."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Callable, List

import httpx
from agent_sandbox.types import RestartRequest
from agents import refused
from server import Server
from sites import Site, site  # noqa: F401
from waiting import eventually


def main_processes(server: Server) -> List[int]:
    """The browser of a server: processes with its profile that no other such process has started."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if any(a.startswith(b"--user-data-dir=" + str(server.home).encode()) for a in arguments):
            found[int(path.parent.name)] = parent
    return [pid for pid, parent in found.items() if parent not in found]


def test_the_browser_says_what_it_is_and_how_to_reach_it(server: Server) -> None:
    answer = server.client.browser.get_info()
    info = answer.data
    assert answer.success and "Chrome" in info.user_agent
    host = server.url.split("://")[1]
    assert info.cdp_url.startswith(f"ws://{host}/cdp/devtools/browser/")
    assert info.vnc_url.startswith(f"http://{host}/vnc/index.html")
    assert (info.viewport.width, info.viewport.height) == (1280, 1024)
    assert 0 < info.page_viewport.width <= 1280 and 0 < info.page_viewport.height <= 1024


def test_addresses_are_those_by_which_the_caller_reaches_the_server(server: Server) -> None:
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/box/1"}
    info = server.http.get("/v1/browser/info?ticket=t", headers=headers).json()["data"]
    host = server.url.split("://")[1]
    assert info["cdp_url"].startswith(f"wss://{host}/box/1/cdp/devtools/browser/")
    assert info["cdp_url"].endswith("?ticket=t")


def test_variables_of_existing_deployments_are_honoured(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server(
        environment={
            "BROWSER_USER_AGENT": "Our Agent/1.0",
            "BROWSER_LANG": "de-DE",
            "DISPLAY_WIDTH": "800",
            "DISPLAY_HEIGHT": "600",
            "HOMEPAGE": site.page("form.html"),
            "BROWSER_EXTRA_ARGS": "--force-device-scale-factor=2",
        }
    )
    page = server.client.browser_page
    assert server.client.browser.get_info().data.viewport.width == 800
    urls = eventually(
        lambda: [tab["url"] for tab in server.client.browser_tabs.list().data if tab["url"] != "about:blank"],
        "the homepage is open",
    )
    assert urls == [site.page("form.html")]
    page.navigate(url=site.page("mirror/"))
    seen = page.evaluate(expression="JSON.parse(document.body.innerText).headers").data
    assert seen["User-Agent"] == "Our Agent/1.0"
    assert seen["Accept-Language"].startswith("de-DE")
    assert page.evaluate(expression="[navigator.language, devicePixelRatio]").data == ["de-DE", 2]


def test_a_browser_that_is_killed_comes_back(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server()
    page = server.client.browser_page
    page.navigate(url=site.page("form.html"))
    (main,) = main_processes(server)
    os.kill(main, signal.SIGKILL)
    eventually(lambda: main not in main_processes(server), "the browser is gone")

    def comes_back() -> bool:
        answer = server.http.post("/v1/browser/page/navigate", json={"url": site.page("form.html")})
        assert answer.status_code in (200, 503), answer.text
        return answer.status_code == 200

    eventually(comes_back, "the browser is back")
    assert len(main_processes(server)) == 1


def test_an_operation_that_runs_while_the_browser_dies_is_told(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    from concurrent.futures import ThreadPoolExecutor

    server = start_server()
    server.client.browser_page.navigate(url=site.page("form.html"))
    gate = site.new_gate()
    with ThreadPoolExecutor(1) as pool:
        body = {"url": site.page(f"slow/{gate}"), "timeout": 60}
        under_way = pool.submit(server.http.post, "/v1/browser/page/navigate", json=body)
        eventually(lambda: f"/slow/{gate}" in site.requests, "the page is asked for")
        for pid in main_processes(server):
            os.kill(pid, signal.SIGKILL)
        answer: httpx.Response = under_way.result(60)
    site.gate(gate).set()
    assert (answer.status_code, answer.json()["error_code"]) == (503, "browser.gone"), answer.text


def test_a_hard_restart_closes_tabs_and_keeps_the_profile(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server()
    client = server.client
    client.browser_page.navigate(url=site.page("form.html"))
    client.browser_page.evaluate(expression="localStorage.setItem('kept', 'yes')")
    client.browser_tabs.create(url=site.page("article.html"))
    (before,) = main_processes(server)
    restarted = client.browser.restart()
    assert restarted.success and restarted.data["mode"] == "hard"
    (after,) = main_processes(server)
    assert after != before
    assert [tab["url"] for tab in client.browser_tabs.list().data] == ["about:blank"]
    client.browser_page.navigate(url=site.page("form.html"))
    assert client.browser_page.evaluate(expression="localStorage.kept").data == "yes"


def test_a_soft_restart_keeps_the_pages(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server()
    client = server.client
    client.browser_page.navigate(url=site.page("form.html"))
    (before,) = main_processes(server)
    assert client.browser.restart(request=RestartRequest(mode="soft")).data["mode"] == "soft"
    assert main_processes(server) == [before]
    assert [tab["url"] for tab in client.browser_tabs.list().data] == [site.page("form.html")]
    assert client.browser_page.evaluate(expression="1 + 1").data == 2


def test_another_language_takes_effect_with_a_restart(start_server: Callable[..., Server]) -> None:
    server = start_server()
    assert server.client.browser.restart(request=RestartRequest(locale="fr-FR")).data["locale"] == "fr-FR"
    assert server.client.browser_page.evaluate(expression="navigator.language").data == "fr-FR"
    answer = server.http.post("/v1/browser/restart", json={"locale": "--nonsense"})
    assert answer.status_code == 422 and "locale" in answer.json()["message"]


def test_without_a_browser_the_answer_names_the_cure(start_server: Callable[..., Server], tmp_path: Path) -> None:
    server = start_server(environment={"BROWSER_EXECUTABLE_PATH": str(tmp_path / "nowhere")})
    for call in [server.client.browser.get_info, server.client.browser_tabs.list]:
        message = refused("browser.unavailable", 503, call, request_options={"max_retries": 0})
        assert "apt-get install chromium" in message


def test_a_browser_that_is_switched_off_says_so(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"DISABLE_BROWSER": "true"})
    call = server.client.browser.get_info
    assert "DISABLE_BROWSER" in refused("browser.disabled", 503, call, request_options={"max_retries": 0})
    assert server.http.get("/cdp/json/version").status_code == 503


def test_a_server_that_stops_ends_its_browser(start_server: Callable[..., Server]) -> None:
    server = start_server()
    server.client.browser.get_info()
    assert len(main_processes(server)) == 1
    server.stop()
    eventually(lambda: not main_processes(server), "the browser is gone")
