"""Variables that existing deployments set: each is in the documentation, and those that are honoured are."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict

import pytest
from server import Server, binary
from waiting import eventually

DOCUMENT = Path(__file__).parents[2] / "docs" / "environment.md"

# All that AIO Sandbox and deep-agent's sandbox read.
KNOWN = """
WORKSPACE USER USER_UID USER_GID TZ DISPLAY_WIDTH DISPLAY_HEIGHT DISPLAY_DEPTH DISPLAY HOMEPAGE BROWSER_LANG CHROME_UI_LANG
BROWSER_USER_AGENT BROWSER_EXTRA_ARGS BROWSER_ALLOW_FILE_SELECTION_DIALOGS BROWSER_NO_SANDBOX BROWSER_EXECUTABLE_PATH
BROWSER_COMMANDLINE_ARGS DNS_OVER_HTTPS_TEMPLATES PROXY_SERVER PROXY_EXCLUDE PROXY_INCLUDE PROXY_MAP JWT_PUBLIC_KEY
SANDBOX_JWT_PUBLIC_KEY SANDBOX_API_KEY AUTH_TOKEN TICKET_TTL_SECONDS DISABLE_JUPYTER DISABLE_CODE_SERVER DISABLE_BROWSER
DISABLE_VNC DISABLE_NODEJS_REPL DISABLE_MCP_BROWSER AUTOSTART_MCP_BROWSER RUN_HOOK_INIT RUN_HOOK_PRE_SERVICES
RUN_HOOK_POST_READY SANDBOX_SHUTDOWN_HOOKS PYTHON_VERSION NODE_CODE_EXEC_VERSION AIO_SKILLS_PATH MCP_FILTER_SERVERS
EXTRA_MCP_SERVERS MAX_SHELL_SESSIONS MAX_BASH_SESSIONS BASH_SESSION_TIMEOUT AIO_FILE_WATCH_MAX_WATCHERS JUPYTER_POOL_SIZE
LOG_DIR ENABLE_CJK_IME AIO_BASE_URL PIP_INDEX_URL UV_DEFAULT_INDEX NPM_CONFIG_REGISTRY GITHUB_TOKEN CODEX_API_KEY ARK_API_KEY
OPENAI_API_KEY CODEX_MODEL CODEX_BASE_URL CODEX_CONFIG_TOML CODEX_MODEL_CATALOG_JSON OPENCODE_API_KEY OPENCODE_MODEL
OPENCODE_PROVIDER OPENCODE_BASE_URL OPENCODE_PROVIDER_NPM OPENCODE_JSON PUBLIC_PORT AUTH_BACKEND_PORT SANDBOX_SRV_PORT
MCP_HUB_PORT GEM_SERVER_PORT MCP_SERVER_BROWSER_PORT MCP_SERVER_MARKITDOWN_PORT MCP_SERVER_CHROME_DEVTOOLS_PORT TINYPROXY_PORT
CODE_SERVER_PORT JUPYTER_LAB_PORT BROWSER_REMOTE_DEBUGGING_PORT VNC_SERVER_PORT WEBSOCKET_PROXY_PORT WAIT_PORTS
SUPERVISOR_CONF_DIR USERDATA_DIR APP_SERVICE_PORT JWT_SECRET JWT_AUTH_REQUIRED ENABLE_MCP ENABLE_BROWSER ENABLE_VNC
HOST_PORT LOCAL_MEMORY LOCAL_WORKSPACE LOCAL_SUPERVISOR_CONF LOCAL_USERDATA LOCAL_INIT_SCRIPTS
""".split()

# Read by a tool in the sandbox, or by the developer's machine, not by the server.
OTHERS = {"HOME", "LOGNAME", "GH_TOKEN"}


def test_each_known_variable_is_documented() -> None:
    named = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", DOCUMENT.read_text()))
    assert set(KNOWN) - named == set()
    unknown = {name for name in named - set(KNOWN) - OTHERS if not name.startswith("ATOLL_")}
    assert unknown == set(), "in the document, but not in the list above"


def test_what_has_no_effect_is_named_in_the_log(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"USER_UID": "1234", "VNC_SERVER_PORT": "5900", "WORKSPACE": ""})
    assert "USER_UID is set and has no effect" in server.log()
    assert "VNC_SERVER_PORT is set and has no effect" in server.log()
    assert "WORKSPACE is set" not in server.log()


def test_commands_see_what_is_for_them_and_nothing_else(start_server: Callable[..., Server]) -> None:
    passed = {
        "TZ": "Asia/Shanghai",
        "PIP_INDEX_URL": "http://index",
        "UV_DEFAULT_INDEX": "http://uv",
        "NPM_CONFIG_REGISTRY": "http://npm",
        "GITHUB_TOKEN": "gh",
    }
    kept = {"CODEX_API_KEY": "secret-1", "OPENCODE_API_KEY": "secret-2", "RUN_HOOK_INIT": "true secret-3"}
    client = start_server(environment={**passed, **kept}).client
    seen = client.bash.exec(command="env").data.stdout
    for name, value in passed.items():
        assert f"{name}={value}\n" in seen
    assert "secret" not in seen
    assert client.bash.exec(command="date +%Z").data.stdout == "CST\n"
    assert client.sandbox.get_context().detail.system.timezone


@pytest.mark.parametrize(
    "environment, path, status",
    [
        ({"ENABLE_MCP": "false"}, "/mcp", 404),
        ({"ENABLE_BROWSER": "no"}, "/v1/browser/info", 503),
        ({"DISABLE_BROWSER": "1", "ENABLE_BROWSER": "1"}, "/v1/browser/info", 503),
        ({"ENABLE_VNC": "0"}, "/v1/browser/screenshot", 503),
    ],
    ids=str,
)
def test_parts_are_switched_off(
    start_server: Callable[..., Server], environment: Dict[str, str], path: str, status: int
) -> None:
    with start_server(environment=environment).http as http:
        assert http.get(path).status_code == status
    with start_server().http as http:
        assert path == "/v1/browser/screenshot" or http.get(path).status_code != status


def test_tools_of_the_browser_can_be_hidden(start_server: Callable[..., Server]) -> None:
    shown = start_server().client.mcp.list_mcp_servers().data
    hidden = start_server(environment={"DISABLE_MCP_BROWSER": "true"}).client.mcp.list_mcp_servers().data
    assert set(shown) - set(hidden) == {"browser"}


def test_a_pool_of_kernels_means_a_warm_one(start_server: Callable[..., Server]) -> None:
    with start_server(environment={"JUPYTER_POOL_SIZE": "2"}).http as http:
        ready = lambda: "atoll_jupyter_kernels_ready 1" in http.get("/metrics").text  # noqa: E731
        eventually(ready, "a kernel stands ready")


def test_settings_of_tools_are_written_for_their_owner_only(start_server: Callable[..., Server]) -> None:
    environment = {
        "CODEX_API_KEY": "key-1",
        "CODEX_MODEL": "model-1",
        "CODEX_BASE_URL": "http://codex",
        "OPENCODE_API_KEY": "key-2",
        "OPENCODE_MODEL": "model-2",
    }
    server = start_server(environment=environment)
    codex = server.home / ".codex" / "config.toml"
    opencode = server.home / ".config" / "opencode" / "config.json"
    for path in (codex, opencode):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = codex.read_text()
    for part in ('model = "model-1"', 'base_url = "http://codex"', '"key-1"'):
        assert part in text
    written = json.loads(opencode.read_text())
    assert written["model"] == "ark/model-2"
    assert written["provider"]["ark"]["options"]["apiKey"] == "key-2"
    assert "key-1" not in server.log() and "key-2" not in server.log()


def test_nothing_is_written_without_a_key(start_server: Callable[..., Server]) -> None:
    server = start_server(environment={"CODEX_MODEL": "m", "OPENCODE_MODEL": "m"})
    assert not (server.home / ".codex").exists()
    assert not (server.home / ".config" / "opencode").exists()


def _serve(home: Path, environment: Dict[str, str]) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **environment}
    command = [binary(), "serve", "--listen", "127.0.0.1:0"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "name, value",
    [
        ("CODEX_CONFIG_TOML", "model = "),
        ("OPENCODE_JSON", "[]"),
        ("ENABLE_MCP", "perhaps"),
        ("JUPYTER_POOL_SIZE", "many"),
    ],
)
def test_a_value_that_cannot_be_used_stops_the_start(tmp_path: Path, name: str, value: str) -> None:
    ended = _serve(tmp_path, {name: value})
    assert ended.returncode == 2
    assert name in ended.stderr


def _serve_once(home: Path, **environment: str) -> str:
    """Starts a server in a home that others have used, stops it when it is ready, and returns its log."""
    ready, log = home / "ready", home / "log"
    command = [binary(), "serve", "--listen", "127.0.0.1:0", "--ready-file", str(ready)]
    with log.open("wb") as output:
        given = {"PATH": os.environ["PATH"], "HOME": str(home), **environment}
        process = subprocess.Popen(command, env=given, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        eventually(ready.exists, "the server is ready")
        process.terminate()
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
    return log.read_text()


def test_a_file_that_somebody_changed_is_kept(tmp_path: Path) -> None:
    config = tmp_path / ".codex" / "config.toml"
    _serve_once(tmp_path, CODEX_API_KEY="key-1")
    _serve_once(tmp_path, CODEX_API_KEY="key-2")
    assert "key-2" in config.read_text()
    config.write_text('model = "mine"\n')
    assert "left as it is" in _serve_once(tmp_path, CODEX_API_KEY="key-3")
    assert config.read_text() == 'model = "mine"\n'
    _serve_once(tmp_path, CODEX_CONFIG_TOML='model = "theirs"\n')
    assert config.read_text() == 'model = "theirs"\n'
    assert config.with_name("config.toml.before-atoll").read_text() == 'model = "mine"\n'


if sys.version_info >= (3, 11):

    def test_what_is_written_for_codex_is_toml(start_server: Callable[..., Server]) -> None:
        import tomllib

        server = start_server(environment={"ARK_API_KEY": 'quote"d', "CODEX_MODEL_CATALOG_JSON": '{"models": []}'})
        written = tomllib.loads((server.home / ".codex" / "config.toml").read_text())
        provider = written["model_providers"][written["model_provider"]]
        assert provider["experimental_bearer_token"] == 'quote"d'
        assert provider["wire_api"] == "responses"
        assert json.loads(Path(written["model_catalog_json"]).read_text()) == {"models": []}
