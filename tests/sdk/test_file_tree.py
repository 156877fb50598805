"""What the SDK has no method for: looking at paths, making, deleting, moving and copying them, and more."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple

import httpx
import pytest
from files import field_of, make_tree, names, picture, refusal
from server import Server

Call = Callable[..., Dict[str, Any]]


@pytest.fixture
def call(http: httpx.Client) -> Call:
    """Calls an operation that must succeed and returns its data."""

    def call(verb: str, **fields: Any) -> Dict[str, Any]:
        response = http.post(f"/v1/file/{verb}", json=fields)
        assert response.status_code == 200 and response.json()["success"] is True, response.text
        return response.json()["data"]

    return call


def owner_of(file: Path) -> Tuple[str, str]:
    """By name where there is one, else by number."""
    try:
        return file.owner(), file.group()
    except KeyError:
        return str(file.stat().st_uid), str(file.stat().st_gid)


def test_stat_tells_what_a_path_is(call: Call, folder: Path) -> None:
    file = folder / "file"
    file.write_text("abc")
    file.chmod(0o640)
    os.utime(file, (1_700_000_000, 1_700_000_000))

    told = call("stat", path=str(file))

    assert (told["path"], told["exists"], told["file_type"], told["is_dir"]) == (str(file), True, "file", False)
    assert (told["size"], told["mode"], told["permissions"]) == (3, "-rw-r-----", "640")
    assert told["mod_time_unix"] == 1_700_000_000
    assert told["modified_time"].startswith("2023-11-14T22:13:20")
    assert (told["owner"], told["group"]) == owner_of(file)
    assert told["link_target"] is None
    directory = call("stat", path=str(folder))
    assert (directory["file_type"], directory["is_dir"], directory["mode"][0]) == ("directory", True, "d")


def test_stat_of_what_does_not_exist_is_an_answer(call: Call, folder: Path) -> None:
    for path in (folder / "missing", folder / "missing/below"):
        told = call("stat", path=str(path))
        assert (told["exists"], told["file_type"], told["is_dir"], told["size"]) == (False, None, False, 0)


def test_stat_follows_links_unless_told_not_to(call: Call, folder: Path) -> None:
    (folder / "file").write_text("abc")
    (folder / "link").symlink_to("file")
    (folder / "broken").symlink_to("missing")
    os.mkfifo(folder / "pipe")

    assert call("stat", path=str(folder / "link"))["file_type"] == "file"
    link = call("stat", path=str(folder / "link"), follow=False)
    assert (link["file_type"], link["link_target"], link["mode"][0]) == ("symlink", "file", "l")
    assert call("stat", path=str(folder / "broken"))["exists"] is False
    assert call("stat", path=str(folder / "broken"), follow=False)["exists"] is True
    assert call("stat", path=str(folder / "pipe"))["file_type"] == "fifo"
    assert call("stat", path="/dev/null")["file_type"] == "device"


def test_exists_answers_yes_or_no(http: httpx.Client, folder: Path) -> None:
    (folder / "file").write_text("")
    (folder / "broken").symlink_to("missing")

    def exists(path: Path) -> bool:
        response = http.get("/v1/file/exists", params={"path": str(path)})
        assert response.status_code == 200
        return response.json()["data"]["exists"]

    assert [exists(folder / name) for name in (".", "file", "missing", "broken", "file/below")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert field_of(http.get("/v1/file/exists")) == "path"


def test_links_are_resolved(call: Call, http: httpx.Client, folder: Path) -> None:
    make_tree(folder, {"real/file": ""})
    (folder / "link").symlink_to("real")
    (folder / "loop").symlink_to("loop")

    resolved = call("eval-symlinks", path=str(folder / "link/../link/file"))["resolved_path"]
    assert resolved == os.path.realpath(folder / "real/file")
    missing = {"path": str(folder / "missing")}
    refusal(http.post("/v1/file/eval-symlinks", json=missing), 404, "file.not_found")
    refusal(http.post("/v1/file/eval-symlinks", json={"path": str(folder / "loop")}), 400, "file.invalid_path")


def test_directories_are_made_with_those_they_lie_in(call: Call, http: httpx.Client, folder: Path) -> None:
    path = folder / "a/b/c"

    assert call("mkdir", path=str(path), mode=0o700) == {"path": str(path), "created": True}
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert call("mkdir", path=str(path)) == {"path": str(path), "created": False}
    (folder / "file").write_text("text")
    refusal(http.post("/v1/file/mkdir", json={"path": str(folder / "file")}), 409, "file.already_exists")
    below = {"path": str(folder / "file/below")}
    refusal(http.post("/v1/file/mkdir", json=below), 400, "file.invalid_target")
    assert (folder / "file").read_text() == "text"


def test_delete_takes_away_files_links_and_trees(call: Call, http: httpx.Client, folder: Path) -> None:
    make_tree(folder, {"file": "", "tree/a/b/c": "", "tree/d": "", "kept/inside": "text", "empty/": ""})
    (folder / "link").symlink_to("kept")
    (folder / "tree/link").symlink_to("../kept")

    for name in ("file", "tree", "link", "empty"):
        path = str(folder / name)
        assert call("delete", path=path) == {"path": path, "deleted": True}
        assert call("delete", path=path) == {"path": path, "deleted": False}
    assert picture(folder).keys() == {b"kept", b"kept/inside"}

    full = http.post("/v1/file/delete", json={"path": str(folder / "kept"), "recursive": False})
    refusal(full, 400, "file.invalid_target")
    assert (folder / "kept/inside").read_text() == "text"
    (folder / "kept/inside").unlink()
    assert call("delete", path=str(folder / "kept"), recursive=False)["deleted"] is True
    assert names(folder) == []


def test_what_the_sandbox_stands_on_is_not_deleted(http: httpx.Client, server: Server) -> None:
    for path in (server.home, server.workspace):
        (path / "keep").touch()
    (server.home / "to-the-workspace").symlink_to(server.workspace)

    for path in (".", "./", "~", str(server.workspace), str(server.home), f"{server.home}/../home"):
        refusal(http.post("/v1/file/delete", json={"path": path}), 400, "file.invalid_target")
    http.post("/v1/file/delete", json={"path": "~/to-the-workspace"})

    assert (server.home / "keep").exists() and (server.workspace / "keep").exists()


def test_move_renames_and_moves_into_directories(call: Call, folder: Path) -> None:
    make_tree(folder, {"file": "text", "tree/inside": "deep", "target/": ""})

    moved = call("move", source=str(folder / "file"), destination=str(folder / "renamed"))
    assert moved == {"source": str(folder / "file"), "destination": str(folder / "renamed")}
    moved = call("move", source=str(folder / "renamed"), destination=str(folder / "target"))
    assert moved["destination"] == str(folder / "target/renamed")
    moved = call("move", source=str(folder / "tree"), destination=f"{folder}/target/")
    assert moved["destination"] == str(folder / "target/tree")

    assert names(folder) == ["target"]
    assert (folder / "target/renamed").read_text() == "text"
    assert (folder / "target/tree/inside").read_text() == "deep"


def test_move_works_across_file_systems(call: Call, folder: Path) -> None:
    if os.stat("/dev/shm").st_dev == os.stat(folder).st_dev:
        pytest.skip("/dev/shm is on the same file system as the test's directory")
    make_tree(folder, {"tree/file": "text", "tree/empty/": ""})
    (folder / "tree/file").chmod(0o751)
    (folder / "tree/link").symlink_to("file")
    before = picture(folder / "tree")
    other = f"/dev/shm/atoll-test-{os.getpid()}"

    try:
        call("move", source=str(folder / "tree"), destination=other)
        assert names(folder) == []
        assert picture(Path(other)) == before
        call("move", source=other, destination=str(folder / "tree"))
        assert picture(folder / "tree") == before and not os.path.exists(other)
    finally:
        call("delete", path=other)


def test_copy_keeps_modes_and_links(call: Call, folder: Path) -> None:
    make_tree(folder, {"tree/file": "text", "tree/sub/run": "#!/bin/sh\n", "tree/empty/": ""})
    (folder / "tree/sub/run").chmod(0o755)
    (folder / "tree/link").symlink_to("file")

    copied = call("copy", source=str(folder / "tree"), destination=str(folder / "copy"))

    assert picture(folder / "copy") == picture(folder / "tree")
    assert copied["destination"] == str(folder / "copy")
    assert (copied["files"], copied["bytes"]) in ((2, 14), (3, 14))
    into = call("copy", source=str(folder / "tree/file"), destination=str(folder / "copy/empty"))
    assert (into["destination"], into["files"], into["bytes"]) == (str(folder / "copy/empty/file"), 1, 4)


@pytest.mark.parametrize("verb", ["move", "copy"])
def test_what_is_there_is_replaced_only_when_allowed(call: Call, http: httpx.Client, folder: Path, verb: str) -> None:
    make_tree(folder, {"new": "new", "old": "old"})
    paths = {"source": str(folder / "new"), "destination": str(folder / "old")}
    before = picture(folder)

    refusal(http.post(f"/v1/file/{verb}", json={**paths, "overwrite": False}), 409, "file.already_exists")
    assert picture(folder) == before

    call(verb, **paths)
    assert (folder / "old").read_text() == "new"
    assert names(folder) == (["old"] if verb == "move" else ["new", "old"])


@pytest.mark.parametrize("verb", ["move", "copy"])
@pytest.mark.parametrize(
    "source, destination",
    [
        ("missing", "target"),
        ("tree", "tree/inside"),
        ("tree", "tree/inside/deeper/new"),
        ("file", "file/below"),
        ("tree", "file"),
        ("file", "missing\0"),
        ("file", ""),
        ("", "target"),
        ("file", "x" * 5000),
    ],
)
def test_an_impossible_move_or_copy_changes_nothing(
    http: httpx.Client, folder: Path, verb: str, source: str, destination: str
) -> None:
    make_tree(folder, {"file": "text", "tree/inside/deep": ""})
    before = picture(folder)

    def path(name: str) -> str:
        return f"{folder}/{name}" if name else ""

    response = http.post(f"/v1/file/{verb}", json={"source": path(source), "destination": path(destination)})

    assert 400 <= response.status_code < 500, response.text
    assert picture(folder) == before


def test_moving_or_copying_something_onto_itself_loses_nothing(http: httpx.Client, folder: Path) -> None:
    make_tree(folder, {"file": "text"})
    (folder / "link").symlink_to("file")
    before = picture(folder)

    for verb in ("copy", "move"):
        for name in ("file", "./file"):
            http.post(f"/v1/file/{verb}", json={"source": f"{folder}/file", "destination": f"{folder}/{name}"})
            assert picture(folder) == before
    http.post("/v1/file/copy", json={"source": f"{folder}/file", "destination": f"{folder}/link"})
    assert (folder / "file").read_text() == "text"


def test_append_makes_the_file_and_adds_to_it(call: Call, folder: Path) -> None:
    path = str(folder / "new/log")

    assert call("append", file=path, content="one\n") == {"file": path, "bytes_written": 4}
    call("append", file=path, content="/wA=", encoding="base64")
    assert (folder / "new/log").read_bytes() == b"one\n\xff\x00"


@pytest.mark.parametrize(
    "pattern, begins, ends",
    [(None, "", ""), ("data-*.json", "data-", ".json"), ("a*b*", "a*b", ""), ("plain", "plain", "")],
)
def test_temporary_files_have_names_of_their_own(
    call: Call, folder: Path, pattern: Optional[str], begins: str, ends: str
) -> None:
    fields = {"dir": str(folder), "pattern": pattern, "content": "text"}

    files = {call("create-temp", **fields)["file"] for _ in range(3)}

    assert len(files) == 3 and sorted(os.path.basename(file) for file in files) == names(folder)
    for file in map(Path, files):
        assert file.name.startswith(begins) and file.name.endswith(ends)
        assert file.read_text() == "text"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_temporary_files_go_where_such_files_belong(call: Call, http: httpx.Client, folder: Path) -> None:
    directory = http.get("/v1/file/temp-dir").json()["data"]["path"]
    made = Path(call("create-temp", content="AP8=", base64=True, mode=0o644)["file"])

    assert os.path.isdir(directory) and str(made.parent) == directory
    assert made.read_bytes() == b"\x00\xff"
    assert stat.S_IMODE(made.stat().st_mode) == 0o644
    made.unlink()
    for pattern in ("../escape-*", "sub/name-*", "/abs-*"):
        response = http.post("/v1/file/create-temp", json={"dir": str(folder), "pattern": pattern})
        assert 400 <= response.status_code < 500
    assert names(folder) == [] and names(folder.parent) == ["folder"]
    made = Path(call("create-temp", dir=str(folder / "missing"))["file"])
    assert made.parent == folder / "missing" and made.read_bytes() == b""


def test_the_home_is_told(http: httpx.Client, server: Server) -> None:
    assert http.get("/v1/file/home-dir").json()["data"] == {"path": str(server.home)}
