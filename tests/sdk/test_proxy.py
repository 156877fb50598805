"""`proxy`: mappings, excludes, the upstream and the policy, as the SDK sets them and as programs and the browser meet them.

What is chosen counts for a whole server, so each test has one of its own.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, Callable, List

import pytest
from agents import refused
from bashes import Bash
from proxies import Upstream, Web, upstream, web  # noqa: F401
from server import Server


@pytest.fixture
def secret() -> str:
    """A password that no other test has: what other servers show for a moment is not this one's."""
    return f"hunter2-{uuid.uuid4().hex}"


@pytest.fixture
def server(start_server: Callable[..., Server]) -> Server:
    return start_server()


def curl(server: Server, arguments: str) -> Any:
    """What curl gets in a bash session that begins now."""
    session = Bash(server.client)
    result = session.run(f"curl -sS -m 50 {arguments}")
    session.close()
    return result


def command_lines() -> List[str]:
    """The command lines of all processes there are."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((process / "cmdline").read_bytes().decode(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return lines


def extension(server: Server, method: str, path: str, **body: Any) -> Any:
    answer = server.http.request(method, path, json=body or None)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


# --- mappings --------------------------------------------------------------------------------------------------------


def test_mappings_are_listed_replaced_and_removed_whatever_their_source_holds(server: Server) -> None:
    proxy = server.client.proxy
    assert proxy.list_mappings().data == []
    added = proxy.add_mapping(source="myapp.test", target=":3000").data
    assert (added.source, added.target, added.source_host, added.source_path) == ("myapp.test", ":3000", "myapp.test", "/")
    assert added.internal_port > 0
    proxy.add_mapping(source="MYAPP.test", target="3001")
    proxy.add_mapping(source="api.myapp.test/v1/*", target="127.0.0.1:8081/v1/")
    proxy.add_mapping(source="*.staging.test", target="192.168.1.5:3000")
    proxy.add_mapping(source="http://plain.test/a b".replace(" ", "%20"), target="3000")
    listed = {each.source: each.target for each in proxy.list_mappings().data}
    assert len(listed) == 4 and listed["MYAPP.test"] == "3001"
    # As the SDK sends it, slashes and all; and encoded.
    proxy.remove_mapping("api.myapp.test/v1/*")
    assert server.http.delete("/v1/proxy/mappings/http%3A%2F%2Fplain.test%2Fa%2520b").status_code == 200
    proxy.remove_mapping("*.staging.test")
    assert [each.source for each in proxy.list_mappings().data] == ["MYAPP.test"]
    refused("proxy.mapping_not_found", 404, proxy.remove_mapping, "nobody.test/x")


@pytest.mark.parametrize(("source", "target"), [("", "3000"), ("a b", "3000"), ("ftp://a", "3000"), ("a.test", "0"), ("a.test", "x")])
def test_what_is_no_mapping_is_refused_and_changes_nothing(server: Server, source: str, target: str) -> None:
    proxy = server.client.proxy
    refused("proxy.invalid_mapping", 400, proxy.add_mapping, source=source, target=target)
    assert proxy.list_mappings().data == []


def test_the_browser_opens_a_mapped_host_and_follows_a_change_without_a_restart(
    server: Server,
    web: Callable[[str], Web],  # noqa: F811
) -> None:
    client = server.client
    one, other = web("one"), web("other")
    client.browser_page.navigate(url="about:blank")
    before = extension(server, "GET", "/v1/browser/contexts")
    client.proxy.add_mapping(source="myapp.test", target=str(one.port))
    assert client.browser_page.navigate(url="http://myapp.test/").data["title"] == "one"
    assert one.hosts[0] == "myapp.test"
    client.proxy.add_mapping(source="myapp.test", target=str(other.port))
    assert client.browser_page.navigate(url="http://myapp.test/again").data["title"] == "other"
    # Sockets of pages go through a tunnel.
    script = "new Promise(done => { const s = new WebSocket('ws://myapp.test/'); s.onerror = () => done('met'); s.onopen = () => done('open') })"
    client.browser_page.evaluate(expression=script)
    client.proxy.remove_mapping("myapp.test")
    gone = client.browser_page.navigate(url="http://myapp.test/gone").data
    assert gone["title"] not in ("one", "other")
    assert extension(server, "GET", "/v1/browser/contexts") == before, "it is the same browser"


def test_pages_of_this_machine_do_not_take_the_hop_and_metadata_does(server: Server, web: Callable[[str], Web]) -> None:  # noqa: F811
    client = server.client
    local = web("local")
    assert client.browser_page.navigate(url=f"http://localhost:{local.port}/").data["title"] == "local"
    client.browser_page.navigate(url="http://169.254.169.254/latest/meta-data/")
    assert "metadata" in client.browser_page.get_text().data
    refusals = extension(server, "GET", "/v1/proxy/refusals")
    # Once for the page, and perhaps for its icon.
    assert {(each["host"], each["via"]) for each in refusals["refusals"]} == {("169.254.169.254", "http")}


# --- programs --------------------------------------------------------------------------------------------------------


def test_programs_are_told_of_the_proxy_only_while_something_is_chosen(server: Server, web: Callable[[str], Web]) -> None:  # noqa: F811
    client = server.client
    site = web("mapped")
    show = "env | grep -cE '^(http|https|all|no|HTTP|HTTPS|ALL|NO)_(proxy|PROXY)=' || true"
    old = Bash(client)
    assert old.run(show).stdout.strip() == "0"
    client.proxy.add_mapping(source="myapp.test", target=str(site.port))
    new = Bash(client)
    assert new.run(show).stdout.strip() == "8"
    assert "<h1>mapped</h1>" in new.run("curl -sS http://myapp.test/").stdout
    python = "import urllib.request; print(urllib.request.urlopen('http://myapp.test/').read().decode())"
    assert "mapped" in client.jupyter.execute_code(code=python).data.outputs[0].text
    shell = client.shell.exec_command(command="curl -sS http://myapp.test/").data
    assert "mapped" in (shell.output or "")
    node = "console.log(process.env.http_proxy === process.env.HTTPS_PROXY && process.env.no_proxy)"
    assert "127.0.0.1" in str(client.nodejs.execute_code(code=node).data.stdout)
    client.proxy.remove_mapping("myapp.test")
    later = Bash(client)
    assert later.run(show).stdout.strip() == "0"


def test_socks_and_tunnels_serve_curl_too(server: Server, web: Callable[[str], Web]) -> None:  # noqa: F811
    site = web("mapped")
    port = server.client.proxy.add_mapping(source="myapp.test", target=str(site.port)).data.internal_port
    for flags in (f"--socks5-hostname 127.0.0.1:{port}", f"-x socks5h://127.0.0.1:{port}", f"-p -x http://127.0.0.1:{port}"):
        assert "mapped" in curl(server, f"{flags} http://myapp.test/").stdout, flags


# --- the upstream ----------------------------------------------------------------------------------------------------


def test_an_upstream_with_a_password_serves_programs_and_never_shows_it(
    server: Server,
    secret: str,
    upstream: Callable[..., Upstream],  # noqa: F811
    web: Callable[[str], Web],  # noqa: F811
) -> None:
    proxy = server.client.proxy
    behind, site = upstream(f"agent:{secret}"), web("behind")
    assert proxy.get_upstream().data is None
    shown = proxy.set_upstream(server=f"agent:{secret}@127.0.0.1:{behind.port}").data
    assert (shown.addr, shown.username, shown.password) == (f"127.0.0.1:{behind.port}", "agent", "***")
    assert proxy.get_upstream().data == shown
    assert "from the upstream" in curl(server, "http://far.test/").stdout
    assert "behind" in curl(server, f"-p http://far.test:{site.port}/").stdout
    assert behind.served == ["http://far.test/", f"far.test:{site.port}"]
    assert server.client.browser_page.navigate(url="http://far.test/page").data["title"] == "upstream"
    answers = [proxy.diagnose(url="http://far.test/"), proxy.list_mappings(), proxy.get_upstream()]
    everything = "".join(each.json() for each in answers)
    everything += server.http.get("/v1/browser/proxy.pac").text + server.http.get("/v1/proxy/health").text
    everything += curl(server, "http://far.test/ ; env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'").stdout
    assert secret not in everything and secret not in server.log()
    assert proxy.remove_upstream().data["removed"] and proxy.get_upstream().data is None


def test_a_wrong_password_is_told_and_not_repeated(server: Server, secret: str, upstream: Callable[..., Upstream]) -> None:  # noqa: F811
    behind = upstream("agent:right")
    server.client.proxy.set_upstream(server=f"agent:{secret}@127.0.0.1:{behind.port}")
    told = curl(server, "http://far.test/").stdout
    assert "refused its credentials" in told and secret not in told
    diagnosis = server.client.proxy.diagnose(url="https://far.test/").data
    assert (diagnosis.route, diagnosis.target_reachable) == ("upstream", False)


def test_a_command_tells_the_password_and_again_when_it_changed(
    server: Server,
    upstream: Callable[..., Upstream],  # noqa: F811
) -> None:
    behind = upstream("agent:first")
    password = server.workspace / "password"
    password.write_text("first")
    shown = server.client.proxy.set_upstream(
        server=f"127.0.0.1:{behind.port}", auth_cmd=f'printf "agent:%s" "$(cat {password})"'
    ).data
    assert (shown.username, shown.password) == ("agent", "***")
    assert "from the upstream" in curl(server, "http://far.test/").stdout
    behind.credentials = "agent:second"
    password.write_text("second")
    assert "from the upstream" in curl(server, "http://far.test/").stdout
    assert behind.refused == 1, "what is good is kept"


@pytest.mark.parametrize("command", ["exit 3", "echo no-colon", "printf 'a:b\\nc:d'", "yes agent:word | head -c 100000"])
def test_a_command_that_fails_is_told_and_changes_nothing(server: Server, command: str) -> None:
    proxy = server.client.proxy
    refused("proxy.auth_command_failed", 409, proxy.set_upstream, server="127.0.0.1:9", auth_cmd=command)
    assert proxy.get_upstream().data is None


def test_what_is_no_upstream_is_refused_without_repeating_it(server: Server, secret: str) -> None:
    message = refused("proxy.invalid_upstream", 400, server.client.proxy.set_upstream, server=f"agent:{secret}@host:port")
    assert secret not in message


def test_excludes_and_includes_decide_who_meets_the_upstream(
    server: Server,
    upstream: Callable[..., Upstream],  # noqa: F811
) -> None:
    proxy = server.client.proxy
    proxy.set_upstream(server=f"127.0.0.1:{upstream().port}")

    def route(url: str) -> str:
        return proxy.diagnose(url=url).data.route

    assert route("http://far.test/") == "upstream"
    for pattern in ("far.test", ".suffix.invalid", "*.star.invalid", "10.0.0.0/8"):
        proxy.add_exclude(pattern=pattern)
    assert proxy.list_excludes().data == ["far.test", ".suffix.invalid", "*.star.invalid", "10.0.0.0/8"]
    assert route("http://far.test/") == route("http://a.suffix.invalid/") == route("http://x.star.invalid/") == "bypass"
    assert route("http://star.invalid/") == route("http://11.0.0.1/") == "upstream"
    proxy.remove_exclude(pattern="far.test")
    assert route("http://far.test/") == "upstream"
    refused("proxy.exclude_not_found", 404, proxy.remove_exclude, pattern="far.test")
    refused("proxy.invalid_pattern", 400, proxy.add_exclude, pattern="not a pattern")
    extension(server, "PUT", "/v1/proxy/includes", patterns=["*.only.invalid"])
    assert route("http://far.test/") == "bypass" and route("http://a.only.invalid/") == "upstream"
    assert extension(server, "GET", "/v1/proxy/includes") == ["*.only.invalid"]


# --- the policy ------------------------------------------------------------------------------------------------------


def test_the_policy_counts_at_once_for_programs_and_the_browser_and_is_written_down(
    server: Server,
    web: Callable[[str], Web],  # noqa: F811
) -> None:
    client = server.client
    site = web("allowed")
    client.proxy.add_mapping(source="good.test", target=str(site.port))
    policy = extension(server, "PUT", "/v1/proxy/policy", default="deny", allow=["*.fine.test:443"], deny=[":25"])
    assert policy == {"default": "deny", "allow": ["*.fine.test:443"], "deny": [":25"], "allow_metadata": False}
    assert extension(server, "GET", "/v1/proxy/policy") == policy
    assert "allowed" in curl(server, "http://good.test/").stdout, "what is mapped to this machine stays"
    told = curl(server, "http://192.0.2.1/").stdout
    assert "must not be reached" in told
    client.browser_page.navigate(url="http://192.0.2.2/")
    assert "must not be reached" in client.browser_page.get_text().data
    latest = extension(server, "GET", "/v1/proxy/refusals?limit=1")["refusals"]
    assert [each["host"] for each in latest] == ["192.0.2.2"]
    refusals = extension(server, "GET", "/v1/proxy/refusals")
    assert refusals["refusals"][-1]["host"] == "192.0.2.1", "the oldest is last"
    assert refusals["total"] >= 2 and refusals["refusals"][0]["at"].endswith("Z")
    wrong = server.http.put("/v1/proxy/policy", json={"deny": ["10.0.0.0/99"]})
    assert (wrong.status_code, wrong.json()["error_code"]) == (400, "proxy.invalid_pattern")
    assert extension(server, "GET", "/v1/proxy/policy") == policy


def test_the_servers_own_ports_are_out_of_reach(server: Server) -> None:
    client = server.client
    port = client.proxy.add_mapping(source="inner.test", target=server.url.rsplit(":", 1)[1]).data.internal_port
    told = curl(server, "http://inner.test/v1/ping").stdout
    assert "belongs to the sandbox server" in told
    assert "belongs to the sandbox server" in curl(server, f"--noproxy '' -x http://127.0.0.1:{port} http://localhost:{port}/").stdout
    health = extension(server, "GET", "/v1/proxy/health")
    assert health["gost_alive"] and not health["healthy"] and "inner.test" in health["inconsistencies"][0]


# --- questions -------------------------------------------------------------------------------------------------------


def test_a_diagnosis_really_tries(server: Server, web: Callable[[str], Web]) -> None:  # noqa: F811
    proxy = server.client.proxy
    site = web("x")
    direct = proxy.diagnose(url=f"http://127.0.0.1:{site.port}/").data
    assert (direct.route, direct.target_reachable) == ("direct", True)
    proxy.add_mapping(source="app.test", target=str(site.port))
    mapped = proxy.diagnose(url="http://app.test/x").data
    assert (mapped.route, mapped.target_reachable, mapped.matched_mapping.source) == ("mapping", True, "app.test")
    assert mapped.resolved_target == f"127.0.0.1:{site.port}/x"
    site.close()
    assert not proxy.diagnose(url="http://app.test/x").data.target_reachable
    assert proxy.diagnose(url="http://169.254.169.254/").data.route == "refused"
    refused("proxy.invalid_url", 400, proxy.diagnose, url="ftp://a/")


def test_health_and_the_script_for_browsers(server: Server) -> None:
    assert extension(server, "GET", "/v1/proxy/health") == {
        "healthy": True,
        "gost_alive": True,
        "nginx_alive": True,
        "config_consistent": True,
        "inconsistencies": [],
    }
    server.client.browser.get_proxy_pac()
    answer = server.http.get("/v1/browser/proxy.pac")
    assert answer.headers["content-type"].startswith("application/x-ns-proxy-autoconfig")
    assert 'return "DIRECT"' in answer.text and "PROXY" not in answer.text
    port = server.client.proxy.add_mapping(source="*.app.test", target="3000").data.internal_port
    script = server.http.get("/v1/browser/proxy.pac").text
    assert f"PROXY 127.0.0.1:{port}" in script and "*.app.test" in script


# --- the start -------------------------------------------------------------------------------------------------------


def test_variables_of_existing_deployments_are_in_force_from_the_start(
    start_server: Callable[..., Server],
    secret: str,
    upstream: Callable[..., Upstream],  # noqa: F811
    web: Callable[[str], Web],  # noqa: F811
) -> None:
    behind, site = upstream(f"agent:{secret}"), web("mapped")
    server = start_server(
        environment={
            "PROXY_SERVER": f"http://agent:{secret}@127.0.0.1:{behind.port}",
            "PROXY_EXCLUDE": "10.0.0.0/8,.near.invalid",
            "PROXY_INCLUDE": "*.far.test",
            "PROXY_MAP": f"app.test={site.port}",
        },
        arguments=["--pass-env", "*"],
    )
    assert "from the upstream" in curl(server, "http://a.far.test/").stdout
    assert "mapped" in curl(server, "http://app.test/").stdout
    assert server.client.proxy.list_excludes().data == ["10.0.0.0/8", ".near.invalid"]
    seen = curl(server, "--version; env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'").stdout
    assert secret not in seen and secret not in server.log()


def test_it_can_be_switched_off(start_server: Callable[..., Server], web: Callable[[str], Web]) -> None:  # noqa: F811
    server = start_server(environment={"ATOLL_EGRESS": "off"})
    client = server.client
    refused("proxy.disabled", 503, client.proxy.add_mapping, source="a.test", target="3000")
    assert client.proxy.list_mappings().data == [] and not extension(server, "GET", "/v1/proxy/health")["healthy"]
    site = web("direct")
    assert client.browser_page.navigate(url=f"http://127.0.0.1:{site.port}/").data["title"] == "direct"
    own = [line for line in command_lines() if f"--user-data-dir={server.home}" in line]
    assert own and not any("--proxy-server" in line for line in own)
