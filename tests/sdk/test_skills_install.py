"""What skills need is installed by the real pip and the real npm, without any index."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
from events import event_stream
from server import Server
from skills import form, packed, put, text, wheel
from waiting import Marker, eventually

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


def package(**fields: Any) -> str:
    return json.dumps({"name": "skill", "version": "1.0.0", "private": True, **fields})


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where Python packages go, so that the machine's own Python stays as it is."""
    return tmp_path / "packages"


@pytest.fixture
def installing(start_server: Callable[..., Server], target: Path) -> Callable[..., Server]:
    """A server whose pip asks nobody and installs into the target."""

    def start(**limits: str) -> Server:
        environment: Dict[str, str] = {"PIP_TARGET": str(target), "PIP_NO_INDEX": "1", **limits}
        arguments = ["--pass-env", "PIP_TARGET", "--pass-env", "PIP_NO_INDEX"]
        return start_server(environment=environment, arguments=arguments)

    return start


def test_python_packages_are_installed_and_reported(
    installing: Callable[..., Server], folder: Path, target: Path
) -> None:
    client = installing().client
    built = wheel(folder, "atoll_skill_probe")
    skill = put(folder / "a", "alpha", requirements_txt=f"{built}\n")
    (command,) = client.skills.register_skills(file=None, path=str(skill)).data.registered[0].dependency_commands
    assert command.success, command
    assert "install" in command.command and str(skill / "requirements.txt") in command.command
    if not command.command[0].endswith("uv"):
        assert "atoll_skill_probe" in command.stdout or "atoll-skill-probe" in command.stdout
        assert (target / "atoll_skill_probe.py").exists()
    listed = client.skills.list_metadata(names="alpha").data.skills[0]
    assert listed.dependency_commands == [command]


def test_a_failed_installation_is_reported_and_the_skill_stays(installing: Callable[..., Server], folder: Path) -> None:
    client = installing().client
    sent = packed({"SKILL.md": text("alpha"), "requirements.txt": "/nonexistent/nothing-1.0-py3-none-any.whl\n"})
    result = client.skills.register_skills(file=("a.zip", sent), path=str(folder)).data
    (command,) = result.registered[0].dependency_commands
    assert not command.success
    assert command.stderr
    assert client.skills.get_content("alpha").data.content


@needs_npm
def test_node_packages_are_installed_into_the_skill(installing: Callable[..., Server], folder: Path) -> None:
    client = installing().client
    files = {
        "SKILL.md": text("noded"),
        "package.json": package(dependencies={"own": "file:./own"}),
        "own/package.json": json.dumps({"name": "own", "version": "1.0.0", "main": "index.js"}),
        "own/index.js": "module.exports = 42\n",
    }
    result = client.skills.register_skills(file=("noded.zip", packed(files)), path=str(folder)).data
    (command,) = result.registered[0].dependency_commands
    assert command.success, command
    place = folder / "noded"
    assert client.bash.exec(command=f"cd {place} && node -p 'require(\"own\")'").data.stdout == "42\n"
    # All of it goes: what npm made belongs to what was unpacked.
    client.skills.delete_skill("noded")
    assert not place.exists()


@needs_npm
def test_an_installation_that_does_not_end_is_ended_with_its_tree(
    installing: Callable[..., Server], folder: Path, marker: Marker
) -> None:
    client = installing(ATOLL_LIMIT_SKILL_INSTALL_SECONDS="2").client
    skill = put(folder / "a", "slow", package_json=package(scripts={"preinstall": marker.command}))
    (command,) = client.skills.register_skills(file=None, path=str(skill)).data.registered[0].dependency_commands
    assert not command.success
    assert "skill_install_seconds" in command.stderr
    marker.wait_until_gone()


@needs_npm
def test_an_installation_ends_with_the_server(
    installing: Callable[..., Server], folder: Path, marker: Marker
) -> None:
    server = installing()
    skill = put(folder / "a", "slow", package_json=package(scripts={"preinstall": marker.command}))
    with server.http as http:
        answer = http.post("/v1/skills/register", files=form(path=str(skill), install="false")).json()
        assert answer["data"]["registered"][0]["dependency_commands"] == []
        with event_stream(http, "/v1/skills/slow/install") as events:
            assert next(events).name == "command"
            marker.wait_until_running()
    # Whoever asked has left; it goes on.
    assert marker.pids()
    assert server.stop() == 0
    marker.wait_until_gone()


def test_progress_is_streamed(installing: Callable[..., Server], folder: Path) -> None:
    server = installing()
    built = wheel(folder, "atoll_skill_probe")
    skill = put(folder / "a", "alpha", requirements_txt=f"{built}\n")
    with server.http as http:
        http.post("/v1/skills/register", files=form(path=str(skill), install="false"))
        with event_stream(http, "/v1/skills/alpha/install") as events:
            told = list(events)
        assert [told[0].name, told[-2].name, told[-1].name] == ["command", "ended", "completed"]
        said = "".join(event.data["text"] for event in told if event.name == "output")
        assert "probe" in said
        assert told[-2].data["success"] and told[-2].data["exit_code"] == 0
        assert told[-1].data["dependency_commands"] == [told[-2].data]
        unknown = http.post("/v1/skills/nothing/install", headers={"Accept": "text/event-stream"})
        assert (unknown.status_code, unknown.json()["error_code"]) == (404, "skills.not_found")
        plain = http.post("/v1/skills/alpha/install").json()["data"]
        assert plain["dependency_commands"][0]["success"]


def test_many_register_at_once_and_each_is_whole(installing: Callable[..., Server], folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    client = installing().client

    def register(number: int) -> int:
        name = f"skill-{number % 4}"
        sent = packed({"SKILL.md": text(name), "number": str(number), "again": str(number)})
        return client.skills.register_skills(file=("x.zip", sent), path=str(folder)).data.count

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(register, range(16))) == [1] * 16
    listed = [skill.name for skill in client.skills.list_metadata().data.skills]
    assert listed == [f"skill-{number}" for number in range(4)]
    for name in listed:
        assert (folder / name / "number").read_text() == (folder / name / "again").read_text()
    hidden = [path for path in folder.iterdir() if path.name.startswith(".")]
    assert eventually(lambda: not [path for path in hidden if path.exists()] or None, "nothing is left behind")
