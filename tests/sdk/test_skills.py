"""Skills with the real SDK: registered from directories and archives, read, and taken away without touching others'
files."""

from __future__ import annotations

import stat
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, Callable, Iterator, List

import httpx
import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server
from skills import form, packed, put, text
from waiting import eventually


@pytest.fixture(autouse=True)
def none_left(client: Sandbox) -> Iterator[None]:
    """The server is shared: every test begins and ends without skills."""
    client.skills.clear_skills()
    yield
    client.skills.clear_skills()


def names(client: Sandbox) -> List[str]:
    return [skill.name for skill in client.skills.list_metadata().data.skills]


def refusal(client: Sandbox, **form: Any) -> Any:
    """The status and the body with which a registration is refused."""
    form.setdefault("file", None)
    with pytest.raises(ApiError) as refused:
        client.skills.register_skills(**form)
    body = refused.value.body
    return refused.value.status_code, body if isinstance(body, dict) else body.model_dump()


def test_a_directory_is_registered_read_and_forgotten(client: Sandbox, folder: Path) -> None:
    skill = put(folder / "pdf", "pdf-forms")
    (skill / "SKILL.md").write_text(text("pdf-forms", "# Forms\n\nFill them in.", license="MIT"))

    result = client.skills.register_skills(file=None, path=str(skill)).data
    assert result.count == 1
    (registered,) = result.registered
    assert (registered.name, registered.path) == ("pdf-forms", str(skill))
    assert registered.metadata == {"name": "pdf-forms", "description": "Does pdf-forms.", "license": "MIT"}
    assert registered.dependency_commands == []
    content = client.skills.get_content("pdf-forms").data
    assert (content.name, content.path) == ("pdf-forms", str(skill))
    assert content.content == "# Forms\n\nFill them in.\n"

    assert client.skills.delete_skill("pdf-forms").data.name == "pdf-forms"
    assert names(client) == []
    assert (skill / "SKILL.md").exists()
    for call in (client.skills.get_content, client.skills.delete_skill):
        with pytest.raises(ApiError) as missing:
            call("pdf-forms")
        assert missing.value.status_code == 404
        assert missing.value.body["error_code"] == "skills.not_found"


def test_many_skills_lie_in_one_directory(client: Sandbox, folder: Path) -> None:
    for name in ("gamma", "alpha", "beta with spaces"):
        put(folder / "all" / name.split()[0], name)
    assert client.skills.register_skills(file=None, path=str(folder / "all")).data.count == 3
    assert names(client) == ["alpha", "beta with spaces", "gamma"]
    some = client.skills.list_metadata(names="gamma, alpha,nothing").data.skills
    assert [skill.name for skill in some] == ["alpha", "gamma"]
    assert client.skills.get_content("beta with spaces").data.content
    assert client.skills.clear_skills().data["count"] == 3
    one = client.skills.register_skills(file=None, path=str(folder / "all"), name="beta").data
    assert [skill.name for skill in one.registered] == ["beta with spaces"]


def test_what_a_skill_says_is_read_anew(client: Sandbox, folder: Path) -> None:
    skill = put(folder / "a", "alpha")
    client.skills.register_skills(file=None, path=str(skill))
    (skill / "SKILL.md").write_text(text("alpha", "Changed."))
    assert client.skills.get_content("alpha").data.content == "Changed.\n"
    (skill / "SKILL.md").unlink()
    with pytest.raises(ApiError) as gone:
        client.skills.get_content("alpha")
    assert gone.value.body["error_code"] == "skills.unreadable"


def test_a_zip_is_unpacked_run_replaced_and_taken_away(client: Sandbox, folder: Path) -> None:
    first = packed({"tool/SKILL.md": text("tool"), "tool/scripts/old.py": "print('old')"})
    result = client.skills.register_skills(file=("tool.zip", first), path=str(folder)).data
    assert result.registered[0].path == str(folder / "tool")
    run = client.bash.exec(command=f"python3 {folder}/tool/scripts/old.py").data
    assert run.stdout == "old\n"

    second = packed({"SKILL.md": text("tool"), "scripts/new.py": "print('new')"})
    client.skills.register_skills(file=("other.zip", second), path=str(folder), name="tool")
    assert sorted(path.name for path in (folder / "tool" / "scripts").iterdir()) == ["new.py"]

    (folder / "tool" / "notes.txt").write_text("mine")
    status, body = refusal(client, file=("tool.zip", first), path=str(folder))
    assert (status, body["error_code"]) == (409, "skills.exists")
    assert "notes.txt" in body["message"]
    client.skills.delete_skill("tool")
    assert [path.name for path in (folder / "tool").iterdir()] == ["notes.txt"]


def test_programs_in_a_zip_can_be_run(client: Sandbox, folder: Path) -> None:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("SKILL.md", text("runnable"))
        program = zipfile.ZipInfo("run")
        program.external_attr = (stat.S_IFREG | 0o755) << 16
        archive.writestr(program, "#!/bin/sh\necho ran\n")
    client.skills.register_skills(file=("x.zip", held.getvalue()), path=str(folder))
    assert client.bash.exec(command=f"{folder}/runnable/run").data.stdout == "ran\n"


def test_a_zip_without_a_path_goes_where_skills_are_kept(client: Sandbox, server: Server) -> None:
    sent = packed({"SKILL.md": text("usual")})
    result = client.skills.register_skills(file=("x.zip", sent)).data
    assert result.registered[0].path == str(server.home / "skills" / "usual")
    client.skills.clear_skills()
    assert not (server.home / "skills" / "usual").exists()


def test_what_is_wrong_is_said_and_changes_nothing(client: Sandbox, folder: Path) -> None:
    put(folder / "mixed" / "good", "good")
    (folder / "mixed" / "bad").mkdir()
    (folder / "mixed" / "bad" / "SKILL.md").write_text("---\nname: bad\ndescription: [\n---\n")
    put(folder / "there" / "taken", "taken")
    (folder / "empty").mkdir()
    whole = packed({"SKILL.md": text("good")})
    bomb = packed({"SKILL.md": text("good"), "zeros": "\0" * (64 << 20)})
    cases = [
        ({}, "skills.nothing_given", "path"),
        ({"path": str(folder / "nowhere")}, "skills.directory", "nowhere"),
        ({"path": str(folder / "empty")}, "skills.none_found", "SKILL.md"),
        ({"path": str(folder / "mixed")}, "skills.invalid", "bad/SKILL.md"),
        ({"file": b"no zip at all"}, "archive.format", "archive"),
        ({"file": whole[: len(whole) // 2]}, "archive.", "archive"),
        ({"file": packed({"readme.txt": "x"})}, "skills.none_found", "archive"),
        ({"file": packed({"a/SKILL.md": "# no front matter"})}, "skills.invalid", "first line"),
        ({"file": packed({"a/SKILL.md": text("same"), "b/SKILL.md": text("same")})}, "skills.invalid", "same"),
        ({"file": packed({"a/SKILL.md": text("../up")})}, "skills.invalid", "../up"),
        ({"file": packed({"SKILL.md": text("good"), "../../evil": "x"})}, "archive.unsafe", "evil"),
        ({"file": packed({"SKILL.md": text("good"), "/evil": "x"})}, "archive.unsafe", "evil"),
        ({"file": bomb}, "archive.too_large", "archive_ratio"),
        ({"file": whole, "name": "../out"}, "input.invalid", "name"),
        ({"file": whole, "path": str(folder / "there"), "name": "taken"}, "skills.exists", "taken"),
    ]
    before = sorted(folder.rglob("*"))
    for form, code, word in cases:
        if "file" in form:
            form = {"path": str(folder / "new" / "deeper"), **form, "file": ("some.zip", form["file"])}
        status, body = refusal(client, **form)
        assert 400 <= status < 500, (code, body)
        assert body["error_code"].startswith(code), body
        assert word in body["message"], body
        assert sorted(folder.rglob("*")) == before, code
        assert names(client) == []


def test_links_in_a_zip_lead_nowhere_else(client: Sandbox, folder: Path) -> None:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("SKILL.md", text("linked"))
        link = zipfile.ZipInfo("out")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc")
    status, body = refusal(client, file=("x.zip", held.getvalue()), path=str(folder))
    assert (status, body["error_code"]) == (400, "archive.unsafe")
    assert list(folder.iterdir()) == []


def test_too_many_skills_are_refused_as_a_whole(start_server: Callable[..., Server], folder: Path) -> None:
    client = start_server(environment={"ATOLL_LIMIT_SKILLS": "2"}).client
    for name in ("a", "b", "c"):
        put(folder / name, name)
    status, body = refusal(client, path=str(folder))
    assert (status, body["error_code"]) == (429, "skills.too_many")
    assert names(client) == []


def test_skills_of_the_watched_directory_come_and_go(start_server: Callable[..., Server], tmp_path: Path) -> None:
    root = tmp_path / "root" / "skills"
    put(root / "first", "first")
    (root / "broken").mkdir()
    (root / "broken" / "SKILL.md").write_text("no front matter")
    server = start_server(environment={"AIO_SKILLS_PATH": str(root)})
    client = server.client
    eventually(lambda: names(client) == ["first"], "the skill that was there is found")
    eventually(lambda: "broken/SKILL.md" in server.log(), "the broken one is named")

    put(root / "group" / "second", "second")
    eventually(lambda: names(client) == ["first", "second"], "a new one is found")
    (root / "broken" / "SKILL.md").write_text(text("mended"))
    eventually(lambda: "mended" in names(client), "a mended one is found")
    (root / "first" / "SKILL.md").write_text(text("renamed"))
    eventually(lambda: names(client) == ["mended", "renamed", "second"], "a new name counts")

    # One that is deleted here stays deleted although its files stay, until they change.
    client.skills.delete_skill("second")
    put(root / "third", "third")
    eventually(lambda: "third" in names(client), "another one is found")
    assert "second" not in names(client)
    assert (root / "group" / "second" / "SKILL.md").exists()
    (root / "group" / "second" / "SKILL.md").write_text(text("second", "Another text."))
    eventually(lambda: "second" in names(client), "a changed one is back")

    (root / "third" / "SKILL.md").unlink()
    eventually(lambda: "third" not in names(client), "one without files is gone")
    sent = packed({"SKILL.md": text("sent")})
    assert client.skills.register_skills(file=("x.zip", sent)).data.registered[0].path == str(root / "sent")
    assert server.stop() == 0

    # What was unpacked is found again, and still known as unpacked.
    again = start_server(environment={"AIO_SKILLS_PATH": str(root)}).client
    eventually(lambda: "sent" in names(again), "it is found after a restart")
    again.skills.delete_skill("sent")
    assert not (root / "sent").exists()


def test_it_can_be_done_by_plain_http(http: httpx.Client, folder: Path) -> None:
    put(folder / "a", "alpha")
    answer = http.post("/v1/skills/register", files=form(path=str(folder), install="false"))
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["success"], body["data"]["count"]) == (True, 1)
    deleted = http.delete("/v1/skills/alpha").json()["data"]
    assert set(deleted) == {"name", "path", "metadata", "dependency_commands"}
    assert http.delete("/v1/skills").json()["data"] == {"count": 0, "names": []}
