"""Previews: apps on ports of the sandbox, seen through every form of address."""

from __future__ import annotations

import socket
import threading
from typing import Any, Callable, Dict
from urllib.parse import quote, urlsplit

import httpx
import pytest
from apps import App, app, free_port, header  # noqa: F401
from files import Process
from server import Server
from websockets.sync.client import connect
from websockets.sync.server import serve

KEY = "canary-preview-key-0123456789abcdef"


def port_of(server: Server) -> int:
    return int(urlsplit(server.url).port or 0)


def forms(server: Server, port: int) -> Dict[str, Dict[str, Any]]:
    """Every way to ask an app for `/a/b`, with the target the app sees."""
    own = port_of(server)
    return {
        "stripped": {"path": f"/proxy/{port}/a/b", "sees": "/a/b"},
        "kept": {"path": f"/absproxy/{port}/a/b", "sees": f"/absproxy/{port}/a/b"},
        "host": {"path": "/a/b", "headers": {"Host": f"{port}-localhost:{own}"}, "sees": "/a/b"},
        "local host": {"path": "/a/b", "headers": {"Host": f"{port}-box.localhost:{own}"}, "sees": "/a/b"},
        "header": {"path": "/a/b", "headers": {"x-aio-proxy-port": str(port)}, "sees": "/a/b"},
        "own paths": {"path": "/v1/ping", "headers": {"x-aio-proxy-port": str(port)}, "sees": "/v1/ping"},
    }


@pytest.mark.parametrize("form", ["stripped", "kept", "host", "local host", "header", "own paths"])
def test_an_app_is_reached_by_every_form_of_address(server: Server, http: httpx.Client, app: App, form: str) -> None:
    asked = forms(server, app.port)[form]
    answer = http.get(asked["path"] + "?x=%20y&z", headers=asked.get("headers"))
    told = answer.json()
    assert answer.status_code == 200 and told["target"] == asked["sees"] + "?x=%20y&z"
    assert header(told, "x-aio-proxy-port") is None
    assert header(told, "x-forwarded-for") == "127.0.0.1" and header(told, "x-forwarded-proto") == "http"
    outside = asked.get("headers", {}).get("Host", urlsplit(server.url).netloc)
    assert header(told, "x-forwarded-host") == outside
    assert header(told, "x-forwarded-prefix") == (f"/proxy/{app.port}" if form == "stripped" else None)
    # A name that servers for development refuse is told as one they know.
    assert header(told, "host") == (f"localhost:{app.port}" if form == "host" else outside)
    assert "content-security-policy" not in answer.headers and "referrer-policy" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "HEAD"])
def test_every_method_and_body_passes(http: httpx.Client, app: App, method: str) -> None:
    body = None if method in ("GET", "HEAD", "OPTIONS") else "grüße".encode()
    answer = http.request(method, f"/proxy/{app.port}/x", content=body, headers={"X-Own": "1"})
    assert answer.status_code == 200
    if method == "HEAD":
        assert answer.content == b"" and int(answer.headers["content-length"]) > 0
        return
    told = answer.json()
    assert told["method"] == method and header(told, "x-own") == "1"
    assert told["body"] == ("grüße" if body else "")


def test_a_body_in_chunks_passes(http: httpx.Client, app: App) -> None:
    def parts() -> Any:
        for number in range(100):
            yield f"{number},".encode() * 100

    answer = http.post(f"/proxy/{app.port}/count", content=parts())
    assert answer.json() == {"received": sum(len(f"{number},") * 100 for number in range(100))}


def test_a_path_without_its_slash_leads_to_the_one_with_it(http: httpx.Client, app: App) -> None:
    moved = http.get(f"/proxy/{app.port}?a=b", follow_redirects=False)
    assert moved.status_code == 308 and moved.headers["location"] == f"./{app.port}/?a=b"
    assert http.get(f"/proxy/{app.port}?a=b", follow_redirects=True).json()["target"] == "/?a=b"
    assert http.post(f"/proxy/{app.port}", content=b"x").json()["target"] == "/"


def test_redirects_lead_back_to_the_app(server: Server, http: httpx.Client, app: App) -> None:
    base = f"/proxy/{app.port}"
    own = urlsplit(server.url).netloc
    for to, expected in [
        ("/login?next=/", f"{base}/login?next=/"),
        (f"http://localhost:{app.port}/x", f"{base}/x"),
        (f"http://127.0.0.1:{app.port}", f"{base}/"),
        (f"http://{own}/x", f"{base}/x"),
        (f"{base}/knows/it", f"{base}/knows/it"),
        ("next", "next"),
        ("https://elsewhere.example/", "https://elsewhere.example/"),
    ]:
        moved = http.get(f"{base}/moved?to={quote(to, safe='')}", follow_redirects=False)
        assert moved.status_code == 302 and moved.headers["location"] == expected, to
    prefixed = {"X-Forwarded-Prefix": "/sandbox/one"}
    moved = http.get(f"{base}/moved?to=/x", headers=prefixed, follow_redirects=False)
    assert moved.headers["location"] == f"/sandbox/one{base}/x"
    kept = http.get(f"/absproxy/{app.port}/moved?to=/x", follow_redirects=False)
    assert kept.headers["location"] == "/x"
    host = {"Host": f"{app.port}-localhost:{port_of(server)}"}
    moved = http.get(f"/moved?to=http://localhost:{app.port}/x", headers=host, follow_redirects=False)
    assert moved.headers["location"] == "/x"


def test_cookies_are_for_the_apps_own_place(server: Server, app: App) -> None:
    sent = ["a=1; Path=/; HttpOnly", "b=2", "atoll_page=evil; Path=/"]
    query = "&".join(f"set={quote(cookie)}" for cookie in sent)
    answer = httpx.get(f"{server.url}/proxy/{app.port}/cookies?{query}")
    assert answer.headers.get_list("set-cookie") == [f"a=1; Path=/proxy/{app.port}/; HttpOnly", "b=2"]


def test_events_come_through_one_by_one(http: httpx.Client, app: App) -> None:
    with http.stream("GET", f"/proxy/{app.port}/events") as answer:
        lines = answer.iter_lines()
        for number in range(20):
            # Each is sent only when the one before has arrived: nothing on the way waits for more.
            app.events.put(f"event {number}")
            assert next(line for line in lines if line) == f"data: event {number}"
        app.events.put(None)
        assert not [line for line in lines if line]


@pytest.mark.parametrize("form", ["stripped", "kept", "host", "header"])
def test_a_websocket_echoes(server: Server, form: str) -> None:
    def echo(socket_: Any) -> None:
        for message in socket_:
            socket_.send(message)

    with serve(echo, "127.0.0.1", 0, max_size=None) as backend:
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        port = backend.socket.getsockname()[1]
        asked = forms(server, port)[form]
        headers = {name: value for name, value in asked.get("headers", {}).items() if name != "Host"}
        url = server.socket_url(asked["path"])
        options: Dict[str, Any] = {"additional_headers": headers, "max_size": None, "open_timeout": 60}
        if form == "host":
            # Its name is the one in the address; the connection goes where the server is.
            own = port_of(server)
            options["sock"] = socket.create_connection(("127.0.0.1", own))
            url = f"ws://{port}-localhost:{own}/a/b"
        with connect(url, origin=f"http://{urlsplit(url).netloc}", **options) as client:
            for message in ("hello", b"\x00\xff", "x" * 300_000):
                client.send(message)
                assert client.recv(timeout=60) == message
        backend.shutdown()


def test_an_app_that_listens_on_ipv6_only_is_found(http: httpx.Client) -> None:
    running = App("::1")
    try:
        assert http.get(f"/proxy/{running.port}/x").json()["target"] == "/x"
    finally:
        running.close()


def test_the_app_that_needs_no_port(start_server: Callable[..., Server], app: App) -> None:
    server = start_server(environment={"APP_SERVICE_PORT": str(app.port)})
    with server.http as http:
        assert http.get("/app/x?y").json()["target"] == "/x?y"
        assert http.get("/app", follow_redirects=False).headers["location"] == "./app/"
        moved = http.get("/app/moved?to=/login", follow_redirects=False)
        assert moved.headers["location"] == "/app/login"


def test_ports_of_the_sandbox_itself_are_refused(server: Server, http: httpx.Client) -> None:
    own = port_of(server)
    for answer in (
        http.get(f"/proxy/{own}/v1/sandbox"),
        http.get(f"/absproxy/{own}/v1/sandbox"),
        http.get("/v1/sandbox", headers={"x-aio-proxy-port": str(own)}),
        http.get(f"/proxy/0{own}/v1/sandbox"),
    ):
        assert answer.status_code == 403 and answer.json()["error_code"] == "preview.internal_port"
    # In a host the own port is no app but this server.
    assert http.get("/v1/ping", headers={"Host": f"{own}-localhost:{own}"}).json()["success"]
    devtools = server.client.browser.get_info().data.cdp_url
    assert devtools
    hidden = {each["port"] for each in http.get("/v1/ports?internal=true").json()["data"]["ports"] if each["internal"]}
    assert own in hidden and len(hidden) > 1, "the browser's own port is one too"
    for port in hidden:
        assert http.get(f"/proxy/{port}/json/version").status_code == 403


@pytest.mark.parametrize("wrong", ["0", "65536", "http", "-1", "80;x", "80:80", "%38%30", "+80", "8e3"])
def test_what_is_no_port_is_refused(http: httpx.Client, wrong: str) -> None:
    for answer in (http.get(f"/proxy/{wrong}/"), http.get("/", headers={"x-aio-proxy-port": wrong})):
        assert answer.status_code == 400 and answer.json()["error_code"] == "preview.port", answer.text


def test_nothing_listening_is_told_to_programs_and_shown_to_people(http: httpx.Client) -> None:
    port = free_port()
    told = http.get(f"/proxy/{port}/x")
    assert told.status_code == 503 and told.json()["error_code"] == "preview.nothing_listens"
    assert str(port) in told.json()["message"]
    page = http.get(f"/proxy/{port}/x", headers={"Accept": "text/html,*/*"})
    assert page.status_code == 503 and page.headers["content-type"].startswith("text/html")
    assert "unsafe" not in page.headers["content-security-policy"]


def test_a_program_that_speaks_no_http_is_named(http: httpx.Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                client.sendall(b"SSH-2.0-nothing for you\r\n")
                client.recv(65_536)
                client.close()

        threading.Thread(target=greet, daemon=True).start()
        answer = http.get(f"/proxy/{listener.getsockname()[1]}/")
        assert answer.status_code == 502 and answer.json()["error_code"] == "preview.broken"


def test_a_credential_is_asked_for_first_and_never_reaches_the_app(
    start_server: Callable[..., Server], app: App
) -> None:
    server = start_server(environment={"SANDBOX_API_KEY": KEY})
    own = port_of(server)
    with httpx.Client(base_url=server.url, timeout=60) as http:
        host = {"Host": f"{app.port}-localhost:{own}"}
        named = {"x-aio-proxy-port": str(app.port)}
        for path, headers in [
            (f"/proxy/{app.port}/x", {}),
            (f"/absproxy/{app.port}/x", {}),
            ("/app/x", {}),
            ("/x", host),
            ("/x", named),
            # What everybody may ask of this server nobody may ask of an app.
            ("/health", host),
            ("/v1/ping", named),
            ("/v1/docs", named),
        ]:
            assert http.get(path, headers=headers).status_code == 401, path
        key = {"Authorization": f"Bearer {KEY}", "Cookie": "own=1; atoll_page=x"}
        for path, headers in [(f"/proxy/{app.port}/x?api_key={KEY}&y=1", {}), (f"/x?y=1&api_key={KEY}", host)]:
            told = http.get(path, headers={**key, **headers, "Referer": f"{server.url}/?api_key={KEY}"})
            assert told.status_code == 200 and KEY not in told.text and "atoll_page" not in told.text
            assert told.json()["target"] == "/x?y=1" and header(told.json(), "cookie") == "own=1"

        # A browser is sent round once, so that the page does not see how it was opened.
        ticket = http.post("/tickets", headers=key).json()
        ticket = ticket.get("data", ticket)["ticket"]
        visiting = {"Accept": "text/html", "Sec-Fetch-Dest": "document"}
        for path, headers, base in [(f"/proxy/{app.port}/page", {}, f"/proxy/{app.port}"), ("/page", host, "/")]:
            moved = http.get(f"{path}?ticket={ticket}&y=1", headers={**visiting, **headers}, follow_redirects=False)
            assert moved.status_code == 303 and moved.headers["location"] == "./page?y=1", moved.text
            cookie = moved.headers["set-cookie"]
            assert f"Path={base};" in cookie and "HttpOnly" in cookie and "SameSite=Lax" in cookie
            value = {"Cookie": cookie.split(";")[0], **visiting, **headers}
            assert httpx.get(f"{server.url}{path}", headers=value).status_code == 200
            if not headers:
                refused = httpx.get(f"{server.url}/v1/sandbox", headers=value)
                assert refused.status_code == 401, "it is good for the app's pages only"


def test_pages_of_others_do_not_reach_an_app(server: Server, http: httpx.Client, app: App) -> None:
    own = port_of(server)
    for headers in (
        {"Origin": "http://evil.test"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Host": f"{app.port}-evil.test:{own}"},
        {"Host": f"{app.port}-localhost:{own}", "Origin": f"http://localhost:{own}"},
        {"Host": f"{app.port}-localhost:{own}", "Origin": f"http://1-localhost:{own}"},
    ):
        assert http.get(f"/proxy/{app.port}/x", headers=headers).status_code == 403, headers
    # Nor does a page of an app under its own name reach this server.
    origin = {"Origin": f"http://{app.port}-localhost:{own}"}
    assert http.get("/v1/sandbox", headers=origin).status_code == 403


GIB = 1 << 30


@pytest.mark.parametrize("form", ["sized", "chunked", "up"])
def test_a_gibibyte_passes_in_constant_memory(start_server: Callable[..., Server], app: App, form: str) -> None:
    server = start_server()
    with httpx.Client(base_url=server.url, timeout=600) as http:
        http.get(f"/proxy/{app.port}/x").raise_for_status()
        process = Process(server.process.pid)
        before = process.resident()
        if form == "up":

            def blocks() -> Any:
                for _ in range(GIB >> 20):
                    yield bytes(1 << 20)

            sent = http.post(f"/proxy/{app.port}/count", content=blocks(), headers={"Content-Length": str(GIB)})
            assert sent.json() == {"received": GIB}
        else:
            received = 0
            query = f"bytes={GIB}" + ("&chunked=1" if form == "chunked" else "")
            with http.stream("GET", f"/proxy/{app.port}/large?{query}") as answer:
                for piece in answer.iter_raw(1 << 20):
                    received += len(piece)
            assert received == GIB
        assert process.peak() - before < 64 << 20
