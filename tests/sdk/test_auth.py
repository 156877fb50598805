"""Credentials, with the unmodified SDK: keys, signed tokens, tickets, scopes, and what the sandbox must never see."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict

import httpx
import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

KEY = "canary-sdk-key-0123456789abcdef"
SECRET = "canary-sdk-secret-0123456789abcdef0123456789"


def _part(value: Dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _claims(**more: Any) -> Dict[str, Any]:
    return {"exp": int(time.time()) + 600, "sub": "sdk", **more}


def hs256(secret: str = SECRET, **more: Any) -> str:
    """A token signed with a shared secret, as the Go client makes it for every request."""
    message = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(_claims(**more))}"
    signature = hmac.new(secret.encode(), message.encode(), hashlib.sha256).digest()
    return f"{message}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


class SigningKey:
    """An RSA key pair of the test's own, made and used by openssl."""

    def __init__(self, directory: Path) -> None:
        self._private = directory / "private.pem"
        self._run("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self._private))
        self.public = self._run("pkey", "-in", str(self._private), "-pubout").decode()

    def sign(self, header: Dict[str, Any], claims: Dict[str, Any]) -> str:
        message = f"{_part(header)}.{_part(claims)}"
        signature = self._run("dgst", "-sha256", "-sign", str(self._private), input=message.encode())
        return f"{message}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    def rs256(self, **more: Any) -> str:
        return self.sign({"alg": "RS256", "typ": "JWT"}, _claims(**more))

    @staticmethod
    def _run(*arguments: str, input: bytes = b"") -> bytes:
        return subprocess.run(["openssl", *arguments], input=input, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def signing(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    """Signs tokens."""
    return SigningKey(tmp_path_factory.mktemp("keys"))


def sdk(server: Server, **headers: str) -> Sandbox:
    """The SDK as users set it up: credentials are headers of its HTTP client."""
    return Sandbox(base_url=server.url, headers=headers, timeout=60)


def bearer(credential: str) -> Dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


def refused(call: Callable[[], Any]) -> ApiError:
    with pytest.raises(ApiError) as raised:
        call()
    return raised.value


def test_a_key_opens_everything_and_nothing_opens_without(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"SANDBOX_API_KEY": KEY})
    for headers in (bearer(KEY), {"X-AIO-API-Key": KEY}, {"X-API-Key": KEY}):
        client = sdk(server, **headers)
        assert client.bash.exec(command="echo in").data.stdout == "in\n"
        assert client.shell.exec_command(command="echo in").data.exit_code == 0
        assert client.sandbox.get_context().home_dir
    stranger = sdk(server)
    for call in (
        lambda: stranger.bash.exec(command="true"),
        lambda: stranger.file.read_file(file="/etc/hostname"),
        lambda: stranger.auth.create_ticket(),
        lambda: stranger.auth.authenticate(),
        lambda: stranger.jupyter.execute_code(code="1"),
        lambda: sdk(server, **bearer(KEY + "x")).sandbox.get_context(),
    ):
        error = refused(call)
        assert error.status_code == 401, error
        assert error.body["success"] is False and error.body["code"] == 401, error.body
        assert KEY not in str(error), error


def test_tokens_signed_for_a_public_key(start_server: Callable[..., Server], signing: SigningKey) -> None:
    packed = base64.b64encode(signing.public.encode()).decode()
    server = start_server(environment={"JWT_PUBLIC_KEY": packed})
    client = sdk(server, **bearer(signing.rs256()))
    assert client.bash.exec(command="echo in").data.stdout == "in\n"
    assert client.auth.authenticate()["id"] == "sdk"
    now = int(time.time())
    good = _claims()
    confused = hs256(secret=signing.public)
    for token in (
        confused,
        hs256(secret=packed),
        signing.rs256(exp=now - 3600),
        signing.rs256(nbf=now + 3600),
        signing.rs256(aud="somebody else"),
        signing.sign({"alg": "RS256"}, {"sub": "sdk"}),
        signing.sign({"alg": "RS256", "crit": ["x"], "x": 1}, good),
        signing.sign({"alg": "RS512"}, good),
        f"{_part({'alg': 'none'})}.{_part(good)}.",
        signing.rs256()[:-4],
        signing.rs256() + "x",
    ):
        assert refused(sdk(server, **bearer(token)).sandbox.get_context).status_code == 401, token


def test_a_key_set_in_a_file(start_server: Callable[..., Server], signing: SigningKey, tmp_path: Path) -> None:
    other = SigningKey(tmp_path)
    file = tmp_path / "keys.pem"
    file.write_text(f"{signing.public}\n{other.public}")
    server = start_server(arguments=["--jwt-keys-file", str(file), "--jwt-audience", "atoll"])
    for key in (signing, other):
        assert sdk(server, **bearer(key.rs256(aud="atoll"))).sandbox.get_context().version
        assert refused(sdk(server, **bearer(key.rs256())).sandbox.get_context).status_code == 401
        assert refused(sdk(server, **bearer(key.rs256(aud="else"))).sandbox.get_context).status_code == 401


def test_scopes_narrow_what_a_token_may_do(start_server: Callable[..., Server], folder: Path) -> None:
    server = start_server(environment={"JWT_SECRET": SECRET, "JWT_AUTH_REQUIRED": "true"})
    (folder / "note").write_text("read me")
    reader = sdk(server, **bearer(hs256(scope="file:read auth")))
    assert reader.file.read_file(file=str(folder / "note")).data.content == "read me"
    for call in (
        lambda: reader.file.write_file(file=str(folder / "note"), content="changed"),
        lambda: reader.bash.exec(command="true"),
        lambda: reader.jupyter.execute_code(code="1"),
        lambda: sdk(server, **bearer(hs256(scopes=[]))).sandbox.get_context(),
    ):
        error = refused(call)
        assert error.status_code == 403 and error.body["error_code"] == "auth.scope", error
    assert (folder / "note").read_text() == "read me"
    both = sdk(server, **bearer(hs256(scopes=["file"])))
    both.file.write_file(file=str(folder / "note"), content="changed")
    assert (folder / "note").read_text() == "changed"


def test_a_shared_secret_asks_nobody_unless_required(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"JWT_SECRET": SECRET})
    assert sdk(server).bash.exec(command="echo in").data.stdout == "in\n"
    assert sdk(server, **bearer(hs256())).sandbox.get_context().version
    error = refused(sdk(server, **bearer(hs256(secret="wrong"))).sandbox.get_context)
    assert (error.status_code, error.body["message"]) == (401, "invalid token")
    strict = start_server(environment={"JWT_SECRET": SECRET, "JWT_AUTH_REQUIRED": "1"})
    error = refused(sdk(strict).sandbox.get_context)
    assert (error.status_code, error.body["message"]) == (401, "missing authorization header")


def test_tickets_open_pages_files_and_sockets(start_server: Callable[..., Server], folder: Path) -> None:
    server = start_server(environment={"SANDBOX_API_KEY": KEY, "TICKET_TTL_SECONDS": "600"})
    made = sdk(server, **bearer(KEY)).auth.create_ticket()
    assert made["expires_in"] == 600
    ticket = {"ticket": made["ticket"]}
    (folder / "file").write_text("content")
    with httpx.Client(base_url=server.url, timeout=60) as plain:
        answer = plain.get("/v1/file/download", params={"path": str(folder / "file"), **ticket})
        assert answer.text == "content"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert plain.get("/v1/file/download", params={"path": str(folder / "file")}).status_code == 401
        page = plain.get("/v1/docs", params=ticket, headers={"Accept": "text/html"})
        assert "HttpOnly" in page.headers["set-cookie"] and "SameSite=Strict" in page.headers["set-cookie"]
        assert plain.get("/v1/openapi.json").status_code == 200, "its files come with the cookie"
        nginx = plain.get("/auth", headers={"X-Original-URI": f"/jupyter?ticket={made['ticket']}"})
        assert nginx.status_code == 200 and all(isinstance(value, str) for value in nginx.json().values())
        context = plain.get("/v1/sandbox", params=ticket)
        assert context.status_code == 200
    socket = server.url.replace("http", "ws") + "/v1/shell/ws"
    with connect(f"{socket}?ticket={made['ticket']}", proxy=None) as talking:
        assert talking.recv(timeout=60)
    for query in ("", "?ticket=wrong", "?ticket="):
        with pytest.raises(InvalidStatus) as raised:
            connect(f"{socket}{query}", proxy=None)
        assert raised.value.response.status_code == 401


def test_an_ended_ticket_opens_nothing(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"SANDBOX_API_KEY": KEY, "TICKET_TTL_SECONDS": "1"})
    ticket = sdk(server, **bearer(KEY)).auth.create_ticket()["ticket"]
    deadline = time.monotonic() + 60
    with httpx.Client(base_url=server.url, timeout=60) as plain:
        while plain.get("/v1/limits", params={"ticket": ticket}).status_code != 401:
            assert time.monotonic() < deadline, "it never ends"
        for _ in range(3):
            assert plain.get("/v1/limits", params={"ticket": ticket}).status_code == 401, "and stays so"


def test_the_sandbox_sees_no_secret(start_server: Callable[..., Server]) -> None:
    server = start_server(
        environment={"SANDBOX_API_KEY": KEY, "JWT_SECRET": SECRET, "ATOLL_PASS_ENV": "*"},
        arguments=["--log-level", "trace"],
    )
    client = sdk(server, **bearer(KEY))
    look = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c canary-sdk; true"
    # The grep itself names what it looks for, and so does the shell that runs it: nothing else may.
    found = client.bash.exec(command=f"env | grep -c canary-sdk; {look}").data.stdout.split()
    alone = client.bash.exec(command=look).data.stdout.split()
    assert found[0] == "0" and int(found[1]) <= 3 and int(alone[0]) <= 3, (found, alone)
    code = "import os; print([n for n, v in os.environ.items() if 'canary' in v])"
    assert client.jupyter.execute_code(code=code).data.outputs[0].text.strip() == "[]"
    assert KEY not in server.log() and SECRET not in server.log()
