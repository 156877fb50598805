"""The terminal page: keys and output, sessions by address, breaks of the connection, what pages of others rely on."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any, Callable, List

import httpx
from playwright.sync_api import Page, expect
from screens import PATIENCE, Terminal
from server import Server
from waiting import eventually
from websockets.sync.client import connect

OLD_FILES = [
    "/static/sandbox/xterm@5.3.0/lib/xterm.js",
    "/static/sandbox/xterm@5.3.0/css/xterm.css",
    "/static/sandbox/xterm-addon-fit@0.8.0/lib/xterm-addon-fit.js",
]


def test_what_is_typed_runs_and_its_output_shows(visit: Callable[..., Page], server: Server) -> None:
    page = visit(f"{server.url}/terminal")
    terminal = Terminal(page, page).ready()
    terminal.type("echo typed-$((40 + 2)) ünï")
    terminal.shows("typed-42 ünï")


def test_its_address_names_the_session_and_others_join_by_it(
    visit: Callable[..., Page], server: Server, http: httpx.Client
) -> None:
    page = visit(f"{server.url}/terminal")
    Terminal(page, page).ready().type("shared=$((40 + 2))")
    page.wait_for_url(re.compile("session_id="))
    other = visit(page.url)
    joined = Terminal(other, other).ready()
    joined.type("echo joined-$shared")
    joined.shows("joined-42")
    Terminal(page, page).shows("joined-42")
    session = page.url.split("session_id=")[1].split("&")[0]
    assert session in http.get("/v1/shell/sessions").json()["data"]["sessions"]


def test_the_address_that_the_api_hands_out_opens_it(
    visit: Callable[..., Page], server: Server, http: httpx.Client
) -> None:
    url = http.get("/v1/shell/terminal-url").json()["data"]
    page = visit(url)
    Terminal(page, page).ready()
    assert page.url == url


def test_after_a_break_nothing_is_missing_and_nothing_twice(visit: Callable[..., Page], server: Server) -> None:
    page = visit(f"{server.url}/terminal")
    # Keeps hold of the page's sockets, to break them.
    page.add_init_script(
        "const Socket = WebSocket; window.sockets = [];"
        "window.WebSocket = class extends Socket { constructor(...given) { super(...given); sockets.push(this); } };"
    )
    page.reload()
    terminal = Terminal(page, page).ready()
    gate = server.home / "gate-of-the-break"
    wait = "until [ -e ~/gate-of-the-break ]; do sleep 0.05; done"
    terminal.type(f"for i in 1 2 3; do echo before-$i; done; {wait}; echo after-$((40 + 2))")
    terminal.shows("before-3")
    page.evaluate("sockets.at(-1).close()")
    again = "sockets.length > 1 && document.body.dataset.state === 'connected'"
    eventually(lambda: page.evaluate(again), "the connection after the break")
    gate.touch()
    terminal.shows("after-42")
    text = terminal.rows.inner_text()
    assert [len(re.findall(rf"^before-{count}\s*$", text, re.M)) for count in (1, 2, 3)] == [1, 1, 1], text


def test_it_finds_the_server_again_after_a_restart(
    start_server: Any, visit: Callable[..., Page], complaints: List[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = start_server(listen=f"127.0.0.1:{port}")
    page = visit(f"{server.url}/")
    terminal = Terminal(page, page.frame_locator('iframe[title="Terminal"]')).ready()
    terminal.type("echo first-$((40 + 2))")
    terminal.shows("first-42")
    server.stop()
    expect(terminal.where.locator("#notice")).to_contain_text("lost", timeout=PATIENCE)
    start_server(listen=f"127.0.0.1:{port}")
    terminal.ready()
    terminal.type("echo second-$((40 + 2))")
    terminal.shows("second-42")
    # The panes that are not terminals are back, too.
    expect(page.locator('[data-pane="activity"] .problem')).to_have_count(0, timeout=PATIENCE)
    # A browser notes every connection it could not make.
    complaints.clear()


def test_a_session_that_has_ended_is_replaced_at_a_key(
    visit: Callable[..., Page], server: Server, http: httpx.Client
) -> None:
    page = visit(f"{server.url}/terminal")
    terminal = Terminal(page, page).ready()
    page.wait_for_url(re.compile("session_id="))
    session = page.url.split("session_id=")[1].split("&")[0]
    http.delete(f"/v1/shell/sessions/{session}").raise_for_status()
    expect(page.locator("#notice")).to_contain_text("ended", timeout=PATIENCE)
    page.locator(".xterm-helper-textarea").press("Enter")
    terminal.ready()
    assert session not in page.url


def test_a_link_can_start_known_programs_and_nothing_else(
    visit: Callable[..., Page], server: Server, http: httpx.Client
) -> None:
    for path in ("/codex", "/opencode"):
        answer = http.get(path)
        assert (answer.status_code, answer.headers["location"]) == (307, f"terminal?run={path[1:]}")
    page = visit(f"{server.url}/codex")
    Terminal(page, page).shows("codex")
    made = server.home / "made-by-a-link"
    page = visit(f"{server.url}/terminal?run=touch+{made}&command=touch+{made}")
    terminal = Terminal(page, page).ready()
    terminal.type("echo typed-$((40 + 2))")
    terminal.shows("typed-42")
    assert not made.exists()


def test_text_is_found_and_links_are_links(visit: Callable[..., Page], server: Server) -> None:
    page = visit(f"{server.url}/terminal")
    terminal = Terminal(page, page).ready()
    terminal.type("echo needle; seq 500")
    terminal.shows("500")
    page.locator(".xterm-helper-textarea").press("Control+Shift+F")
    field = page.get_by_role("textbox", name="Find")
    expect(field).to_be_focused()
    field.fill("needle")
    field.press("Enter")
    terminal.shows("needle")
    field.fill("no such text")
    field.press("Enter")
    expect(page.locator("#search-count")).to_have_text("not found")
    field.press("Escape")
    expect(field).to_be_hidden()


def test_a_flood_leaves_the_terminal_usable(visit: Callable[..., Page], server: Server) -> None:
    page = visit(f"{server.url}/terminal")
    terminal = Terminal(page, page).ready()
    terminal.type("yes")
    terminal.shows("y")
    page.locator(".xterm-helper-textarea").press("Control+c")
    eventually(lambda: "^C" in terminal.rows.inner_text() or None, "the end of the flood", 120)
    terminal.type("echo alive-$((40 + 2))")
    terminal.shows("alive-42")


def test_pages_of_others_load_the_old_scripts(
    server: Server, start_server: Any, visit: Callable[..., Page], tmp_path: Path
) -> None:
    locked = start_server(environment={"SANDBOX_API_KEY": "ui-key-0123456789abcdef"})
    for each in (server, locked):
        for path in OLD_FILES:
            answer = httpx.get(each.url + path, headers={"Origin": "https://elsewhere.test"})
            assert answer.status_code == 200 and len(answer.content) > 1000, path
            assert answer.headers["access-control-allow-origin"] == "*"
    assert httpx.get(f"{locked.url}/static/sandbox/").status_code == 401
    script, style, fit = (locked.url + path for path in OLD_FILES)
    (tmp_path / "page.html").write_text(
        f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{style}" crossorigin>'
        f'<script src="{script}" crossorigin></script><script src="{fit}"></script><div id="place"></div>'
        "<script>const terminal = new Terminal(); terminal.loadAddon(new FitAddon.FitAddon());"
        "terminal.open(place); terminal.write('drawn elsewhere')</script>"
    )
    page = visit((tmp_path / "page.html").as_uri())
    expect(page.locator(".xterm-rows")).to_contain_text("drawn elsewhere")


def test_the_sockets_of_the_other_terminal_page_speak_as_it_expects(server: Server, http: httpx.Client) -> None:
    assert http.get("/terminal/index.html").headers["location"] == "../terminal"
    for path in ("/v1/terminal/ws", "/terminal/ws"):
        before = http.get("/v1/shell/sessions").json()["data"]["sessions"]
        with connect(server.socket_url(path)) as client:
            client.send(json.dumps({"type": "ping"}))
            client.send(json.dumps({"type": "resize", "data": {"rows": 30, "cols": 100}}))
            client.send(json.dumps({"type": "input", "data": "echo $(pwd):$COLUMNS:$((40 + 2))\r"}))
            seen, kinds = "", set()
            while ":42" not in seen or "pong" not in kinds:
                message = json.loads(client.recv(timeout=60))
                kinds.add(message["type"])
                seen += message.get("data", "") if message["type"] == "output" else ""
            assert f"{server.workspace}:" in seen.replace("\r\n", "")
            assert kinds <= {"output", "pong"}
            client.send("no json")
            while message["type"] != "error":
                message = json.loads(client.recv(timeout=60))
        eventually(
            lambda before=before: set(http.get("/v1/shell/sessions").json()["data"]["sessions"]) <= set(before),
            "the shell ends with its socket",
        )


def test_the_plain_socket_answers_pings_and_names_what_it_does_not_know(server: Server) -> None:
    with connect(server.socket_url("/v1/ws")) as client:
        for sent, answer in [
            ('{"type": "ping"}', {"type": "pong"}),
            ('{"type": "dance"}', {"type": "error", "data": "unknown message type"}),
            ("{}", {"type": "error", "data": "unknown message type"}),
            ("no json", {"type": "error", "data": "invalid message format"}),
            ("[1]", {"type": "error", "data": "invalid message format"}),
        ]:
            client.send(sent)
            assert json.loads(client.recv(timeout=60)) == answer
