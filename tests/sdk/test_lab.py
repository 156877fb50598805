"""JupyterLab behind the same port: pages, API and kernels' WebSockets, also below a path prefix."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
from server import Server
from websockets.sync.client import connect


def test_jupyterlab_starts_on_the_first_visit_and_runs_code_over_its_sockets(server: Server, http: httpx.Client) -> None:
    page = http.get("/jupyter/lab", follow_redirects=True)
    assert page.status_code == 200 and "JupyterLab" in page.text
    assert http.get("/jupyter", follow_redirects=True).status_code == 200
    config = page.text.split('type="application/json">')[1].split("</script>")[0]
    assert json.loads(config)["baseUrl"] == "/jupyter/"
    token = http.cookies.get("_xsrf")
    kernel = http.post("/jupyter/api/kernels", json={"name": "python3"}, headers={"X-XSRFToken": token or ""})
    assert kernel.status_code == 201, kernel.text
    cookies = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
    path = f"/jupyter/api/kernels/{kernel.json()['id']}/channels"
    with connect(server.socket_url(path), origin=server.url, additional_headers={"Cookie": cookies}) as socket:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
        content = {"code": "print(6 * 7)", "silent": False, "store_history": True, "user_expressions": {}}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        socket.send(json.dumps(message))
        while True:
            answer = json.loads(socket.recv(timeout=120))
            if answer.get("msg_type") == "stream":
                break
        assert answer["content"]["text"] == "42\n"
    http.delete(f"/jupyter/api/kernels/{kernel.json()['id']}", headers={"X-XSRFToken": token or ""})


def test_below_a_prefix_pages_and_redirects_carry_it(http: httpx.Client) -> None:
    prefixed = {"X-Forwarded-Prefix": "/sandbox/one"}
    page = http.get("/jupyter/lab", headers=prefixed)
    assert '"baseUrl": "/sandbox/one/jupyter/"' in page.text
    assert 'src="/jupyter/' not in page.text and '"/jupyter/' not in page.text
    moved = http.get("/jupyter/", headers=prefixed, follow_redirects=False)
    assert moved.headers["location"].startswith("/sandbox/one/jupyter/")


def test_it_can_be_switched_off(start_server: Any) -> None:
    server = start_server(environment={"DISABLE_JUPYTER": "true"})
    refused = server.http.get("/jupyter/lab")
    assert refused.status_code == 503 and refused.json()["error_code"] == "lab.disabled"
    assert "DISABLE_JUPYTER" in refused.json()["message"]
