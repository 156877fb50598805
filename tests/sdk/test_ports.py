"""The list of ports: what listens in the sandbox, once and as it changes."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import httpx
from agent_sandbox import Sandbox
from apps import App
from bashes import Bash
from events import event_stream
from server import Server
from waiting import eventually


def test_a_listening_program_is_listed_with_its_process_and_address(server: Server, http: httpx.Client) -> None:
    running = App()
    try:
        answer = http.get("/v1/ports").json()
        assert answer["success"]
        found = next(each for each in answer["data"]["ports"] if each["port"] == running.port)
        assert found["address"] == "127.0.0.1" and not found["internal"]
        assert found["pid"] == os.getpid() and found["process"]
        assert found["url"] == f"{server.url}/proxy/{running.port}/"
        assert httpx.get(f"{found['url']}x").json()["target"] == "/x"
        own = urlsplit(server.url).port
        assert all(each["port"] != own for each in answer["data"]["ports"])
        every = http.get("/v1/ports", params={"internal": True}).json()["data"]["ports"]
        assert next(each for each in every if each["port"] == own)["internal"]
        ports = [each["port"] for each in every]
        assert ports == sorted(set(ports))
    finally:
        running.close()


def test_the_list_is_told_again_when_it_changes(http: httpx.Client) -> None:
    with event_stream(http, "/v1/ports", method="GET") as events:
        first = next(events)
        assert first.name == "ports"
        running = App()
        assert running.port not in [each["port"] for each in first.data["ports"]]
        # Other programs of this machine may come and go meanwhile.
        while running.port not in [each["port"] for each in next(events).data["ports"]]:
            pass
        running.close()
        while running.port in [each["port"] for each in next(events).data["ports"]]:
            pass


def test_a_server_that_a_session_starts_is_listed(http: httpx.Client, bash: Bash) -> None:
    script = (
        "import http.server; s = http.server.HTTPServer(('0.0.0.0', 0), http.server.SimpleHTTPRequestHandler);"
        "print(s.server_address[1], flush=True); s.serve_forever()"
    )
    command = bash.start(f'python3 -c "{script}"')
    told = eventually(lambda: (bash.output(command_id=command).stdout or "").strip(), "the port")
    port = int(told.split()[0])
    found = next(each for each in http.get("/v1/ports").json()["data"]["ports"] if each["port"] == port)
    assert found["address"] == "0.0.0.0" and found["process"].startswith("python")
    assert http.get(f"/proxy/{port}/").status_code == 200


def test_a_kernels_own_ports_are_not_for_people(client: Sandbox, http: httpx.Client) -> None:
    said = client.jupyter.execute_code(code="import os; print(os.getpid())").data.outputs[0].text
    every = http.get("/v1/ports", params={"internal": True}).json()["data"]["ports"]
    held = [each for each in every if each["pid"] == int(said or "")]
    assert held and all(each["url"] is None for each in held)
    shown = http.get("/v1/ports").json()["data"]["ports"]
    assert all(each["pid"] != int(said or "") for each in shown)
