"""`browser_network`: the log of requests, HAR files, routes and headers."""

from __future__ import annotations

import json
import urllib.parse
from pathlib import Path
from typing import Any, Callable, Dict

import hars
import pytest
from agents import Agent, agent, make_agent, refused  # noqa: F401
from server import Server
from sites import Site, site  # noqa: F401
from waiting import eventually


def entry(agent: Agent, part: str) -> Dict[str, Any]:  # noqa: F811
    """The only logged request with this in its address, once it has ended."""

    def found() -> Any:
        entries = [each for each in agent.requests(filter=part) if each["duration_ms"] is not None]
        return entries if entries else None

    entries = eventually(found, f"the request for {part} has ended")
    assert len(entries) == 1, entries
    return entries[0]


# --- the log ---------------------------------------------------------------------------------------------------------


def test_the_very_first_request_is_logged(agent: Agent) -> None:
    agent.open("mirror/first")
    logged = entry(agent, "/mirror/first")
    assert logged["url"] == agent.site.page("mirror/first")
    assert (logged["method"], logged["status"], logged["resource_type"]) == ("GET", 200, "document")
    assert logged["mime_type"] == "application/json" and logged["error"] is None and logged["from_cache"] is False
    assert logged["transferred_bytes"] > 0 and logged["started_at"].endswith("Z")


def test_what_a_new_tab_asks_for_is_logged_from_its_first_request(agent: Agent) -> None:
    agent.client.browser_tabs.create(url=agent.site.page("mirror/tab"), request_options=agent.options)
    assert entry(agent, "/mirror/tab")["status"] == 200


def test_scripts_frames_and_workers_are_logged_too(agent: Agent) -> None:
    worker = "data:text/javascript," + urllib.parse.quote(f"fetch('{agent.site.url}/mirror/worker')")
    agent.show(
        f"""<iframe src="{agent.site.other}/mirror/frame"></iframe>
        <script>fetch('{agent.site.url}/mirror/fetch', {{method: 'POST', body: 'x'}}); new Worker("{worker}")</script>"""
    )
    assert entry(agent, f"{agent.site.other}/mirror/frame")["resource_type"] == "document"
    fetched = entry(agent, f"{agent.site.url}/mirror/fetch")
    assert (fetched["method"], fetched["resource_type"]) == ("POST", "fetch")
    assert entry(agent, f"{agent.site.url}/mirror/worker")["status"] == 200


def test_a_redirect_is_two_requests(agent: Agent) -> None:
    agent.open("redirect?to=/status/200")
    first, second = agent.requests(filter="**/{redirect,status}**")
    assert (first["status"], second["status"]) == (302, 200)
    assert second["url"] == agent.site.page("status/200")


def test_failures_say_why(agent: Agent) -> None:
    agent.open("form.html")
    agent.fetch("http://127.0.0.1:1/refused")
    failed = entry(agent, "/refused")
    assert failed["status"] is None and "ERR_" in failed["error"]
    agent.fetch(agent.site.page("status/503"))
    assert entry(agent, "/status/503")["status"] == 503


def test_the_log_is_filtered_and_cut_to_the_latest(agent: Agent) -> None:
    agent.open("form.html")
    for number in range(5):
        agent.fetch(agent.site.page(f"mirror/{number}"))

    def paths(**options: Any) -> list:
        return [urllib.parse.urlsplit(each["url"]).path for each in agent.requests(**options)]

    assert paths(filter="/mirror/") == [f"/mirror/{number}" for number in range(5)]
    assert paths(filter="/mirror/", limit=2) == ["/mirror/3", "/mirror/4"]
    assert paths(filter=r"/mirror\/[12]$/") == ["/mirror/1", "/mirror/2"]
    assert paths(filter="**/mirror/{0,4}") == ["/mirror/0", "/mirror/4"]
    assert paths(limit=0) == [] and paths(filter="nowhere") == []
    call = agent.client.browser_network.get_requests
    refused("browser.invalid_pattern", 422, call, filter="/(/", request_options=agent.options)


def test_headers_come_when_asked_for_and_the_log_can_be_emptied(agent: Agent) -> None:
    agent.open("cookie/seen?value=1")
    assert entry(agent, "/cookie/")["response_headers"] == {}
    call = agent.client.browser_network.get_requests
    (full,) = call(filter="/cookie/", request_options=agent.extension(headers=True, clear=True)).data
    assert full["response_headers"]["Set-Cookie"].startswith("seen=1")
    assert full["request_headers"]["Host"] in agent.site.url
    assert agent.requests(filter="/cookie/") == []


def test_the_log_keeps_only_so_many(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server(environment={"ATOLL_LIMIT_BROWSER_REQUESTS": "3"})
    agent = Agent(server, site)  # noqa: F811
    agent.open("form.html")
    for number in range(6):
        agent.fetch(agent.site.page(f"mirror/{number}"))
    kept = [each["url"] for each in agent.requests(limit=100)]
    assert kept == [agent.site.page(f"mirror/{number}") for number in (3, 4, 5)]
    assert server.http.get("/v1/limits").json()["data"]["browser_requests"] == 3


# --- HAR -------------------------------------------------------------------------------------------------------------


def test_a_har_file_is_what_the_format_demands(agent: Agent) -> None:
    agent.open("cookie/a?value=1&name=%C3%BC")
    agent.open("redirect?to=/form.html")
    agent.value("fetch('/mirror/sent', {method: 'POST', body: '{\"a\": 1}', headers: {'Content-Type': 'application/json'}}).then((answer) => answer.text())")
    agent.fetch("http://127.0.0.1:1/")
    entry(agent, "/mirror/sent")
    done = agent.client.browser_network.export_har(save_path="traffic.har", request_options=agent.options)
    path = agent.server.workspace / "traffic.har"
    assert done.data["path"] == str(path)
    har = json.loads(path.read_text())
    entries = hars.check(har)
    assert done.data["entries"] == len(entries)
    by_path = {urllib.parse.urlsplit(each["request"]["url"]).path: each for each in entries}
    assert by_path["/cookie/a"]["request"]["queryString"] == [
        {"name": "value", "value": "1"},
        {"name": "name", "value": "ü"},
    ]
    assert by_path["/cookie/a"]["response"]["cookies"][0]["name"] == "a"
    assert {"name": "a", "value": "1"} in by_path["/form.html"]["request"]["cookies"]
    assert by_path["/redirect"]["response"]["redirectURL"] == "/form.html"
    sent = by_path["/mirror/sent"]
    assert sent["request"]["postData"] == {"mimeType": "application/json", "text": '{"a": 1}'}
    answer = json.loads(sent["response"]["content"]["text"])
    assert answer["body"] == '{"a": 1}', "bodies the browser still has are in it"
    pages = {page["id"]: page["title"] for page in har["log"]["pages"]}
    assert pages[sent["pageref"]].endswith("redirect?to=/form.html")
    failed = by_path["/"]
    assert failed["response"]["status"] == 0 and "ERR_" in failed["response"]["_error"]


def test_an_empty_log_makes_a_valid_har_file(agent: Agent, folder: Path) -> None:
    path = folder / "empty.har"
    done = agent.client.browser_network.export_har(save_path=str(path), request_options=agent.options)
    assert done.data["entries"] == 0
    assert hars.check(json.loads(path.read_text())) == []


def test_a_har_file_that_cannot_be_written_is_told_as_files_are(agent: Agent, folder: Path) -> None:
    call = agent.client.browser_network.export_har
    refused("file.invalid_target", 400, call, save_path=str(folder), request_options=agent.options)
    refused("file.invalid_path", 400, call, save_path="", request_options=agent.options)


# --- routes ----------------------------------------------------------------------------------------------------------


def test_a_route_answers_in_place_of_the_server(agent: Agent) -> None:
    agent.open("form.html")
    before = len(agent.site.requests)
    response = {"status": 201, "headers": {"X-Made": "up"}, "body": '{"mock": true}', "content_type": "application/json"}
    done = agent.client.browser_network.add_route(
        url_pattern="**/mirror/api*", response=response, request_options=agent.options
    )
    assert done.data == {"url_pattern": "**/mirror/api*", "routes": ["**/mirror/api*"]}
    seen = agent.value(
        "fetch('/mirror/api?x=1').then(async (answer) => "
        "[answer.status, answer.headers.get('x-made'), answer.headers.get('content-type'), await answer.json()])"
    )
    assert seen == [201, "up", "application/json", {"mock": True}]
    assert not any("/mirror/api" in path for path in agent.site.requests[before:])
    assert entry(agent, "/mirror/api")["route"] == "**/mirror/api*"


def test_a_page_itself_can_be_made_up(agent: Agent) -> None:
    add = agent.client.browser_network.add_route
    response = {"body": "<title>made up</title>hello", "content_type": "text/html"}
    add(url_pattern="https://nowhere.test/**", response=response, request_options=agent.options)
    assert agent.visit("https://nowhere.test/path")["title"] == "made up"


def test_a_page_of_another_origin_may_read_what_is_made_up(agent: Agent) -> None:
    agent.open("form.html")
    add = agent.client.browser_network.add_route
    add(url_pattern="https://api.test/**", response={"body": "read"}, request_options=agent.options)
    assert agent.fetch("https://api.test/x") == "read"
    put = "fetch('https://api.test/y', {method: 'PUT', headers: {'X-Own': '1'}}).then((answer) => answer.text())"
    assert agent.value(put) == "read", "the browser's question whether it may ask is answered too"


def test_a_route_lets_requests_fail(agent: Agent) -> None:
    agent.open("form.html")
    agent.client.browser_network.add_route(
        url_pattern=r"/\.(png|jpe?g)$/i", abort=True, request_options=agent.options
    )
    assert agent.fetch(agent.site.page("pixel.png")) == "TypeError"
    failed = entry(agent, "pixel.png")
    assert "BLOCKED" in failed["error"] and failed["route"] == r"/\.(png|jpe?g)$/i"
    assert "mirror" in agent.fetch(agent.site.page("mirror/x"))


def test_the_route_added_last_wins_and_one_without_an_answer_lets_pass(agent: Agent) -> None:
    agent.open("form.html")
    network = agent.client.browser_network
    network.add_route(url_pattern="**/mirror/*", response={"body": "all"}, request_options=agent.options)
    network.add_route(url_pattern="**/mirror/a", response={"body": "a"}, request_options=agent.options)
    done = network.add_route(url_pattern="**/mirror/b", request_options=agent.options)
    assert done.data["routes"] == ["**/mirror/b", "**/mirror/a", "**/mirror/*"]
    assert agent.fetch(agent.site.page("mirror/a")) == "a"
    assert "headers" in agent.fetch(agent.site.page("mirror/b")), "this one comes from the server"
    assert agent.fetch(agent.site.page("mirror/c")) == "all"
    network.add_route(url_pattern="**/mirror/*", response={"body": "again"}, request_options=agent.options)
    assert agent.fetch(agent.site.page("mirror/a")) == "again", "added anew it is the last"


def test_a_route_that_is_removed_is_gone(agent: Agent) -> None:
    agent.open("form.html")
    network = agent.client.browser_network
    network.add_route(url_pattern="**/mirror/x", response={"body": "mock"}, request_options=agent.options)
    assert agent.fetch(agent.site.page("mirror/x")) == "mock"
    done = network.remove_route(url_pattern="**/mirror/x", request_options=agent.options)
    assert done.data == {"url_pattern": "**/mirror/x", "routes": []}
    assert agent.fetch(agent.site.page("mirror/x")) != "mock"
    again = {"url_pattern": "**/mirror/x", "request_options": agent.options}
    assert "none" in refused("browser.route_not_found", 404, network.remove_route, **again)


def test_routes_hold_for_tabs_that_come_later_and_for_frames(agent: Agent) -> None:
    add = agent.client.browser_network.add_route
    response = {"body": "<title>made up</title>", "content_type": "text/html"}
    add(url_pattern="**/mirror/late", response=response, request_options=agent.options)
    created = agent.client.browser_tabs.create(url=agent.site.page("mirror/late"), request_options=agent.options)
    assert created.data["title"] == "made up"
    agent.show(f'<iframe src="{agent.site.other}/mirror/late"></iframe>')
    assert entry(agent, f"{agent.site.other}/mirror/late")["route"] == "**/mirror/late"


def test_patterns_and_answers_that_cannot_be_are_refused(agent: Agent) -> None:
    add = agent.client.browser_network.add_route
    refused("browser.invalid_pattern", 422, add, url_pattern="/(/", request_options=agent.options)
    refused("browser.invalid_pattern", 422, add, url_pattern="", request_options=agent.options)
    wrong = {"headers": {"a b": "c"}}
    refused("browser.invalid_header", 422, add, url_pattern="x", response=wrong, request_options=agent.options)
    refused("input.invalid", 422, add, url_pattern="x", response={"status": 99999}, request_options=agent.options)


# --- headers ---------------------------------------------------------------------------------------------------------


def mirrored(agent: Agent, url: str) -> Dict[str, str]:  # noqa: F811
    """The headers a server got, by name in small letters."""
    return {name.lower(): value for name, value in json.loads(agent.fetch(url))["headers"].items()}


def test_headers_go_with_every_request_until_they_are_taken_back(agent: Agent) -> None:
    agent.open("form.html")
    set_headers = agent.client.browser_network.set_headers
    done = set_headers(headers={"X-One": "1", "X-Two": "zwei"}, request_options=agent.options)
    assert done.data == {"origin": None, "headers": ["X-One", "X-Two"]}
    for url in [agent.site.page("mirror/"), f"{agent.site.other}/mirror/"]:
        seen = mirrored(agent, url) if url.startswith(agent.site.url) else None
        if seen is None:
            agent.visit(url)
            seen = {k.lower(): v for k, v in json.loads(agent.value("document.body.innerText"))["headers"].items()}
        assert (seen["x-one"], seen["x-two"]) == ("1", "zwei")
    agent.client.browser_tabs.create(url=agent.site.page("mirror/"), request_options=agent.options)
    assert '"X-One"' in agent.value("document.body.innerText"), "a new tab sends them too"
    set_headers(headers={"X-Two": "2"}, request_options=agent.options)
    seen = mirrored(agent, agent.site.page("mirror/"))
    assert "x-one" not in seen and seen["x-two"] == "2"
    set_headers(headers={}, request_options=agent.options)
    assert "x-two" not in mirrored(agent, agent.site.page("mirror/"))


def test_scoped_headers_go_to_one_origin_only(agent: Agent) -> None:
    network = agent.client.browser_network
    network.set_headers(headers={"X-All": "all", "X-Both": "all"}, request_options=agent.options)
    done = network.set_scoped_headers(
        origin=agent.site.url + "/", headers={"X-Own": "own", "X-Both": "own"}, request_options=agent.options
    )
    assert done.data == {"origin": agent.site.url, "headers": ["X-Both", "X-Own"]}
    agent.open("form.html")
    seen = mirrored(agent, agent.site.page("mirror/"))
    assert (seen["x-all"], seen["x-own"], seen["x-both"]) == ("all", "own", "own")
    agent.visit(f"{agent.site.other}/mirror/")
    seen = agent.value("document.body.innerText")
    assert '"X-All": "all"' in seen and '"X-Both": "all"' in seen and "X-Own" not in seen
    network.set_scoped_headers(origin=agent.site.url, headers={}, request_options=agent.options)
    agent.open("form.html")
    assert "x-own" not in mirrored(agent, agent.site.page("mirror/"))


@pytest.mark.parametrize("headers", [{"Host": "x"}, {"": "x"}, {"a b": "x"}, {"X": "a\r\nb: c"}])
def test_headers_that_cannot_be_sent_are_refused(agent: Agent, headers: Dict[str, str]) -> None:
    network = agent.client.browser_network
    refused("browser.invalid_header", 422, network.set_headers, headers=headers, request_options=agent.options)
    for origin in ["nonsense", agent.site.page("path")]:
        call = {"origin": origin, "headers": {"X": "1"}, "request_options": agent.options}
        refused("browser.invalid_origin", 422, network.set_scoped_headers, **call)


def test_contexts_share_neither_routes_nor_headers_nor_logs(make_agent: Callable[[], Agent]) -> None:  # noqa: F811
    one, two = make_agent(), make_agent()
    one.client.browser_network.set_headers(headers={"X-One": "1"}, request_options=one.options)
    one.client.browser_network.add_route(
        url_pattern="**/mirror/x", response={"body": "mock"}, request_options=one.options
    )
    for each in (one, two):
        each.open("form.html")
    assert one.fetch(one.site.page("mirror/x")) == "mock"
    assert "x-one" not in mirrored(two, two.site.page("mirror/x"))
    one.fetch(one.site.page("mirror/only"))
    assert two.requests(filter="/mirror/only") == []
