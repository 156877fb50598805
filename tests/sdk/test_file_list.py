"""`client.file.list_path`: what lies in a directory."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
from agent_sandbox import Sandbox
from files import PATIENCE, fault, make_tree, refused_field
from server import Server

TREE = {
    "b.py": "22",
    "a.txt": "1",
    "Makefile": "333",
    ".env": "",
    "src/d.py": "4444",
    "src/deep/e.py": "55555",
    "src/.cache/f": "",
    "archive.tar.gz": "",
}


@pytest.fixture
def tree(folder: Path) -> Path:
    make_tree(folder, TREE)
    return folder


def listed(client: Sandbox, path: Path, **options: Any) -> List[str]:
    result = client.file.list_path(path=str(path), **options).data
    return [os.path.relpath(file.path, path) for file in result.files]


def test_list_describes_what_is_there(client: Sandbox, tree: Path) -> None:
    os.utime(tree / "b.py", (1_700_000_000, 1_700_000_000))

    response = client.file.list_path(path=str(tree))

    assert response.success is True
    result = response.data
    assert result.path == str(tree)
    names = {file.name for file in result.files}
    assert names == {".env", "Makefile", "a.txt", "archive.tar.gz", "b.py", "src"}
    assert (result.total_count, result.directory_count, result.file_count) == (6, 1, 5)
    assert result.truncated is False
    by_name = {file.name: file for file in result.files}
    file, directory = by_name["b.py"], by_name["src"]
    assert (file.path, file.is_directory, file.size) == (str(tree / "b.py"), False, 2)
    assert (file.extension, file.permissions, file.is_symlink) == (".py", None, False)
    modified = datetime.fromisoformat(file.modified_time.replace("Z", "+00:00"))
    assert modified == datetime.fromtimestamp(1_700_000_000, timezone.utc)
    assert (directory.is_directory, directory.size, directory.extension) == (True, None, None)
    assert by_name["archive.tar.gz"].extension == ".gz"
    assert not by_name["Makefile"].extension and not by_name[".env"].extension


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"show_hidden": False}, ["Makefile", "a.txt", "archive.tar.gz", "b.py", "src"]),
        ({"show_hidden": True}, [".env", "Makefile", "a.txt", "archive.tar.gz", "b.py", "src"]),
        ({"file_types": [".py"]}, ["b.py"]),
        ({"file_types": [".py", ".txt"], "recursive": True}, ["a.txt", "b.py", "src/d.py", "src/deep/e.py"]),
        ({"file_types": [".none"]}, []),
        ({"recursive": True, "max_depth": 1, "file_types": [".py"]}, ["b.py"]),
        (
            {"recursive": True, "max_depth": 2, "show_hidden": False},
            ["Makefile", "a.txt", "archive.tar.gz", "b.py", "src", "src/d.py", "src/deep"],
        ),
        (
            {"recursive": True},
            [".env", "Makefile", "a.txt", "archive.tar.gz", "b.py", "src", "src/.cache", "src/.cache/f"]
            + ["src/d.py", "src/deep", "src/deep/e.py"],
        ),
    ],
)
def test_what_is_listed_can_be_chosen(
    client: Sandbox, tree: Path, options: Dict[str, Any], expected: List[str]
) -> None:
    assert sorted(listed(client, tree, **options)) == sorted(expected)


@pytest.mark.parametrize(
    "sort_by, expected",
    [
        ("name", ["a.txt", "b.py", "c", "d.md", "e.md"]),
        ("size", ["e.md", "d.md", "b.py", "a.txt"]),
        ("modified", ["b.py", "a.txt", "e.md", "d.md", "c"]),
        ("type", ["c", "d.md", "e.md", "b.py", "a.txt"]),
    ],
)
def test_list_sorts(client: Sandbox, folder: Path, sort_by: str, expected: List[str]) -> None:
    make_tree(folder, {"a.txt": "4444", "b.py": "333", "c/": "", "d.md": "22", "e.md": "1"})
    for time, name in enumerate(["b.py", "a.txt", "e.md", "d.md", "c"], start=1000):
        os.utime(folder / name, (time, time))

    names = listed(client, folder, sort_by=sort_by)
    reversed_names = listed(client, folder, sort_by=sort_by, sort_desc=True)

    if sort_by == "size":  # A directory has none; where it stands is not said.
        names.remove("c"), reversed_names.remove("c")
    assert names == expected
    if sort_by != "type":
        assert reversed_names == expected[::-1]
    else:
        assert sorted(reversed_names) == sorted(expected) and reversed_names != expected


def test_sizes_and_permissions_are_a_choice(client: Sandbox, folder: Path) -> None:
    make_tree(folder, {"file": "abc", "sub/": ""})
    (folder / "file").chmod(0o640)
    (folder / "sub").chmod(0o755)

    file, directory = client.file.list_path(
        path=str(folder), include_size=False, include_permissions=True
    ).data.files

    assert (file.size, file.permissions) == (None, "640")
    assert directory.permissions == "755"


def test_links_are_shown_and_not_followed(client: Sandbox, folder: Path) -> None:
    make_tree(folder, {"sub/file": "abc"})
    for name, target in (("to-dir", "sub"), ("to-file", "sub/file"), ("nowhere", "missing"), ("loop", ".")):
        (folder / name).symlink_to(target)
    patience: Any = {"timeout_in_seconds": int(PATIENCE)}

    result = client.file.list_path(path=str(folder), recursive=True, request_options=patience).data

    found = {os.path.relpath(file.path, folder): file for file in result.files}
    assert set(found) == {"sub", "sub/file", "to-dir", "to-file", "nowhere", "loop"}
    assert {name for name, file in found.items() if file.is_symlink} == {"to-dir", "to-file", "nowhere", "loop"}
    assert found["to-dir"].is_directory is True
    assert found["nowhere"].is_directory is False
    # A link to a directory can be listed itself.
    assert listed(client, folder / "to-dir") == ["file"]


def test_relative_paths_mean_the_workspace_and_a_tilde_the_home(client: Sandbox, server: Server) -> None:
    make_tree(server.workspace, {"listed/one": ""})
    make_tree(server.home, {"listed-at-home/two": ""})

    assert client.file.list_path(path=".").data.path == str(server.workspace)
    assert "listed" in [file.name for file in client.file.list_path(path=".").data.files]
    assert [file.name for file in client.file.list_path(path="./listed/").data.files] == ["one"]
    assert [file.name for file in client.file.list_path(path="~/listed-at-home").data.files] == ["two"]


def test_names_that_are_no_text_are_shown_as_well_as_can_be(client: Sandbox, folder: Path) -> None:
    for name in (b"bad-\xff-name", b"line\nbreak", b" space "):
        with open(os.path.join(os.fsencode(folder), name), "w"):
            pass

    assert sorted(listed(client, folder)) == sorted(["bad-\ufffd-name", "line\nbreak", " space "])


def test_pipes_sockets_and_devices_are_listed(client: Sandbox, folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    (pipe,) = client.file.list_path(path=str(folder)).data.files
    assert (pipe.name, pipe.is_directory) == ("pipe", False)
    devices = [file.name for file in client.file.list_path(path="/dev").data.files]
    assert "null" in devices
    assert client.file.list_path(path="/proc/self").success is True


def test_a_list_that_is_too_long_says_so(start_server: Callable[..., Server], folder: Path) -> None:
    client = start_server(environment={"ATOLL_LIMIT_FILE_LIST_ENTRIES": "10"}).client
    make_tree(folder, {f"{number:02}": "" for number in range(11)})

    cut = client.file.list_path(path=str(folder)).data
    assert (len(cut.files), cut.truncated) == (10, True)
    (folder / "00").unlink()
    whole = client.file.list_path(path=str(folder)).data
    assert (len(whole.files), whole.total_count, whole.truncated) == (10, 10, False)


def test_what_is_no_directory_is_a_fault(client: Sandbox, tree: Path) -> None:
    missing = fault(client.file.list_path(path=str(tree / "missing")), "not_found")
    assert (missing.files, missing.total_count) == ([], 0)
    fault(client.file.list_path(path=str(tree / "b.py")), "invalid_target")


@pytest.mark.parametrize(
    "field, value",
    [
        ("path", "/with\0nul"),
        ("path", ["list"]),
        ("max_depth", 0),
        ("max_depth", -1),
        ("sort_by", "colour"),
        ("recursive", "perhaps"),
        ("file_types", ".py"),
        ("file_types", [1]),
    ],
)
def test_a_wrong_option_is_named(client: Sandbox, tree: Path, field: str, value: Any) -> None:
    options = {"path": str(tree), field: value}

    assert refused_field(client.file.list_path, **options) == field
