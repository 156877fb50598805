"""`client.file.find_files` and `glob_files`: finding paths by name."""

from __future__ import annotations

import glob
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List

import httpx
import pytest
from agent_sandbox import Sandbox
from files import PATIENCE, fault, make_tree, refused_field
from server import Server
from shells import extension

TREE = {
    "a.py": "1",
    "b.py": "22",
    "c.txt": "333",
    ".hidden.py": "",
    ".config/inner.py": "",
    "src/d.py": "4444",
    "src/deep/e.py": "55555",
    "src/deep/F.PY": "",
    "build/out/g.py": "",
    "we[i]rd/h?.py": "",
    "empty/": "",
}


@pytest.fixture
def tree(folder: Path) -> Path:
    make_tree(folder, TREE)
    (folder / "link").symlink_to("src")
    return folder


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "*.py",
        "a.py",
        "missing.py",
        "**/*.py",
        "src/*.py",
        "src/**/*.py",
        "*/*.py",
        "**/e.py",
        "?.py",
        "[ab].py",
        "[!a].py",
        "[a-c].*",
        ".*",
        ".config/*",
        "**/.hidden.py",
        "src/deep",
        "we[[]i]rd/*",
        "empty/*",
        "link/*.py",
        "./a.py",
        "src/../a.py",
    ],
)
def test_find_is_pythons_glob(client: Sandbox, tree: Path, pattern: str) -> None:
    """Each answer is compared with what Python itself finds."""
    response = client.file.find_files(path=str(tree), glob=pattern)

    assert response.success is True
    expected = sorted(glob.glob(os.path.join(tree, pattern), recursive=True))
    assert [os.path.normpath(path) for path in sorted(response.data.files)] == [
        os.path.normpath(path) for path in expected
    ]
    assert (response.data.path, response.data.truncated) == (str(tree), False)


def test_find_tells_whether_a_file_exists(client: Sandbox, tree: Path) -> None:
    """As agents do it: the parent as the path, the name as the pattern. A match further down would deceive them."""
    assert client.file.find_files(path=str(tree), glob="a.py").data.files == [str(tree / "a.py")]
    assert client.file.find_files(path=str(tree), glob="e.py").data.files == []
    assert client.file.find_files(path=str(tree), glob="src").data.files == [str(tree / "src")]


def test_find_understands_pattern_for_glob(http: httpx.Client, tree: Path) -> None:
    body = {"path": str(tree), "pattern": "a.*"}

    assert http.post("/v1/file/find", json=body).json()["data"]["files"] == [str(tree / "a.py")]


def found(client: Sandbox, path: Path, pattern: str, **options: Any) -> List[str]:
    result = client.file.glob_files(path=str(path), pattern=pattern, **options).data
    return [os.path.relpath(file.path, path) for file in result.files]


@pytest.mark.parametrize(
    "pattern, options, expected",
    [
        ("*.py", {}, ["a.py", "b.py"]),
        ("**/*.py", {}, ["a.py", "b.py", "build/out/g.py", "src/d.py", "src/deep/e.py", "we[i]rd/h?.py"]),
        ("**/*.{txt,PY}", {}, ["c.txt", "src/deep/F.PY"]),
        ("src/**", {}, ["src/d.py", "src/deep/F.PY", "src/deep/e.py"]),
        ("**/?.py", {"exclude": ["build"]}, ["a.py", "b.py", "src/d.py", "src/deep/e.py"]),
        ("**/*.py", {"exclude": ["src/**", "build/**", "we*"]}, ["a.py", "b.py"]),
        ("**/*.py", {"exclude": ["*.py"]}, []),
        ("*.py", {"include_hidden": True}, [".hidden.py", "a.py", "b.py"]),
        ("**/inner.py", {"include_hidden": True}, [".config/inner.py"]),
        ("**/inner.py", {"include_hidden": False}, []),
        ("s*", {}, []),
        ("s*", {"files_only": False}, ["src"]),
        ("src/*", {"files_only": False}, ["src/d.py", "src/deep"]),
        ("nothing*", {}, []),
    ],
)
def test_glob_finds_what_matches(
    client: Sandbox, tree: Path, pattern: str, options: Dict[str, Any], expected: List[str]
) -> None:
    assert found(client, tree, pattern, **options) == expected


def test_glob_describes_what_it_finds(client: Sandbox, tree: Path) -> None:
    os.utime(tree / "a.py", (1_700_000_000, 1_700_000_000))

    response = client.file.glob_files(path=str(tree), pattern="[as]*", files_only=False)

    assert response.success is True
    result = response.data
    assert (result.path, result.pattern) == (str(tree), "[as]*")
    assert (result.total_count, result.truncated) == (2, False)
    file, directory = result.files
    assert (file.path, file.name, file.is_directory, file.size) == (str(tree / "a.py"), "a.py", False, 1)
    modified = datetime.fromisoformat(file.modified_time.replace("Z", "+00:00"))
    assert modified == datetime.fromtimestamp(1_700_000_000, timezone.utc)
    assert (directory.name, directory.is_directory, directory.size) == ("src", True, None)

    (bare,) = client.file.glob_files(path=str(tree), pattern="a.py", include_metadata=False).data.files
    assert (bare.name, bare.size, bare.modified_time) == ("a.py", None, None)


@pytest.mark.parametrize(
    "sort_by, expected",
    [
        ("path", ["a/z", "b/y", "c/x"]),
        ("name", ["c/x", "b/y", "a/z"]),
        ("size", ["b/y", "c/x", "a/z"]),
        ("modified", ["a/z", "c/x", "b/y"]),
    ],
)
def test_glob_sorts(client: Sandbox, folder: Path, sort_by: str, expected: List[str]) -> None:
    make_tree(folder, {"a/z": "333", "b/y": "1", "c/x": "22"})
    for name, time in (("a/z", 1000), ("c/x", 2000), ("b/y", 3000)):
        os.utime(folder / name, (time, time))

    assert found(client, folder, "**/*", sort_by=sort_by) == expected
    assert found(client, folder, "**/*", sort_by=sort_by, sort_desc=True) == expected[::-1]
    assert found(client, folder, "**/*", sort_by=sort_by, include_metadata=False) == expected


def test_glob_says_how_many_there_are(client: Sandbox, folder: Path) -> None:
    make_tree(folder, {f"{number:02}": "" for number in range(20)})

    result = client.file.glob_files(path=str(folder), pattern="*", max_results=3).data
    assert [file.name for file in result.files] == ["00", "01", "02"]
    assert (result.total_count, result.truncated) == (20, True)

    last = client.file.glob_files(path=str(folder), pattern="*", max_results=2, sort_desc=True).data
    assert [file.name for file in last.files] == ["19", "18"]
    exact = client.file.glob_files(path=str(folder), pattern="*", max_results=20).data
    assert (exact.total_count, exact.truncated) == (20, False)


def test_glob_can_respect_ignore_files(client: Sandbox, tree: Path) -> None:
    make_tree(tree, {".gitignore": "build\n", ".ignore": "b.py\n"})

    result = client.file.glob_files(
        path=str(tree), pattern="**/[bg].py", request_options=extension(gitignore=True)
    )
    assert result.data.files == []
    assert found(client, tree, "**/[bg].py") == ["b.py", "build/out/g.py"]


def test_relative_paths_mean_the_workspace(client: Sandbox, server: Server) -> None:
    make_tree(server.workspace, {"found-here/file.one": ""})
    expected = str(server.workspace / "found-here/file.one")

    assert client.file.find_files(path="found-here", glob="*.one").data.files == [expected]
    globbed = client.file.glob_files(path=".", pattern="**/file.one").data
    assert [file.path for file in globbed.files] == [expected]


def test_loops_of_links_end(client: Sandbox, tree: Path) -> None:
    (tree / "src/up").symlink_to("..")
    patience: Any = {"timeout_in_seconds": int(PATIENCE)}

    assert "src/deep/e.py" in found(client, tree, "**/e.py", request_options=patience)
    files = client.file.find_files(path=str(tree), glob="**/e.py", request_options=patience).data.files
    assert str(tree / "src/deep/e.py") in files


def test_names_that_are_no_text_are_shown_as_well_as_can_be(client: Sandbox, folder: Path) -> None:
    for name in (b"bad-\xff-name", b"line\nbreak"):
        with open(os.path.join(os.fsencode(folder), name), "w"):
            pass

    shown = ["bad-\ufffd-name", "line\nbreak"]
    assert found(client, folder, "*") == shown
    assert client.file.find_files(path=str(folder), glob="*").data.files == [f"{folder}/{name}" for name in shown]


@pytest.mark.parametrize(
    "field, value",
    [
        ("pattern", "{a"),
        ("pattern", "[z"),
        ("pattern", ""),
        ("exclude", ["{a"]),
        ("max_results", 0),
        ("max_results", 50_001),
        ("sort_by", "colour"),
        ("files_only", "perhaps"),
        ("path", "/with\0nul"),
        ("path", 7),
    ],
)
def test_a_wrong_option_of_glob_is_named(client: Sandbox, tree: Path, field: str, value: Any) -> None:
    options = {"path": str(tree), "pattern": "*", field: value}

    assert refused_field(client.file.glob_files, **options) == field


def test_looking_in_what_is_no_directory_is_a_fault(client: Sandbox, tree: Path) -> None:
    for call, pattern in ((client.file.find_files, "glob"), (client.file.glob_files, "pattern")):
        missing = fault(call(path=str(tree / "missing"), **{pattern: "*"}), "not_found")
        assert missing.files in ([], None)
        fault(call(path=str(tree / "a.py"), **{pattern: "*"}), "invalid_target")
