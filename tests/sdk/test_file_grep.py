"""`client.file.grep_files`: every option, order, paging, and what no pattern and no tree may do to the server."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import httpx
import pytest
from agent_sandbox import Sandbox
from files import MIB, PATIENCE, Process, field_of, lines, make_tree, refused_field
from server import Server
from shells import extension

TREE: Dict[str, Any] = {
    "a.py": "import os\n# TODO: first\nprint('todo')\n",
    "b.js": "// TODO: second\n",
    "src/c.py": "x = 1\ny = 2  # TODO: third\nz = 3\n",
    "src/deep/d.md": "nothing here\n",
    "node_modules/lib/e.js": "// TODO: vendored\n",
    ".hidden/f.py": "# TODO: hidden\n",
    "binary.bin": b"TODO\x00\x01\x02 TODO\n",
}


@pytest.fixture
def tree(folder: Path) -> Path:
    make_tree(folder, TREE)
    return folder


def found(result: Any, below: Path) -> List[Tuple[str, int, str]]:
    """Relative path, line number and line of each match."""
    return [
        (os.path.relpath(match.file, below), match.line_number, match.line_content)
        for match in result.matches
    ]


def test_matches_come_by_path_and_line_counted_from_1(client: Sandbox, tree: Path) -> None:
    response = client.file.grep_files(path=str(tree), pattern="TODO")

    assert response.success is True
    result = response.data
    assert found(result, tree) == [
        ("a.py", 2, "# TODO: first"),
        ("b.js", 1, "// TODO: second"),
        ("node_modules/lib/e.js", 1, "// TODO: vendored"),
        ("src/c.py", 2, "y = 2  # TODO: third"),
    ]
    assert (result.path, result.pattern) == (str(tree), "TODO")
    assert (result.match_count, result.files_matched, result.truncated) == (4, 4, False)
    assert result.files_searched >= 5
    assert all(os.path.isabs(match.file) for match in result.matches)
    assert {match.context_before for match in result.matches} == {None}


@pytest.mark.parametrize(
    "options, files",
    [
        ({"include": ["*.py"]}, ["a.py", "src/c.py"]),
        ({"include": ["*.py", "*.js"], "exclude": ["node_modules"]}, ["a.py", "b.js", "src/c.py"]),
        ({"include": ["src/**"]}, ["src/c.py"]),
        ({"exclude": ["node_modules", "*.js"]}, ["a.py", "src/c.py"]),
        ({"exclude": ["node_modules/**", "src"]}, ["a.py", "b.js"]),
        ({"type": "py"}, ["a.py", "src/c.py"]),
        ({"type": "js", "exclude": ["node_modules"]}, ["b.js"]),
        ({"recursive": False}, ["a.py", "b.js"]),
        ({"recursive": True, "type": "md"}, []),
        ({"include": [], "exclude": []}, ["a.py", "b.js", "node_modules/lib/e.js", "src/c.py"]),
        ({"include": None, "exclude": None, "type": None}, ["a.py", "b.js", "node_modules/lib/e.js", "src/c.py"]),
    ],
)
def test_files_can_be_chosen(client: Sandbox, tree: Path, options: Dict[str, Any], files: List[str]) -> None:
    result = client.file.grep_files(path=str(tree), pattern="TODO", **options).data

    assert [name for name, _, _ in found(result, tree)] == files
    assert result.files_matched == len(files)


def test_hidden_files_and_ignore_files_are_a_choice(client: Sandbox, tree: Path) -> None:
    make_tree(tree, {".gitignore": "node_modules\nb.js\n"})

    def files(**options: Any) -> List[str]:
        result = client.file.grep_files(path=str(tree), pattern="TODO", request_options=extension(**options))
        return [name for name, _, _ in found(result.data, tree)]

    assert ".hidden/f.py" in files(include_hidden=True)
    assert files(gitignore=True) == ["a.py", "src/c.py"]
    assert "b.js" in files()


def test_case_and_literal_patterns(client: Sandbox, tree: Path) -> None:
    make_tree(tree, {"regex.txt": "a.c\nabc\nA.C\n"})
    path = str(tree / "regex.txt")

    def numbers(**options: Any) -> List[int]:
        result = client.file.grep_files(path=path, **options).data
        return [match.line_number for match in result.matches]

    assert numbers(pattern="a.c") == [1, 2]
    assert numbers(pattern="a.c", fixed_strings=True) == [1]
    assert numbers(pattern="a.c", case_insensitive=True) == [1, 2, 3]
    assert numbers(pattern="a.c", case_insensitive=True, fixed_strings=True) == [1, 3]
    assert numbers(pattern="(", fixed_strings=True) == []


def test_one_file_can_be_searched(client: Sandbox, tree: Path) -> None:
    result = client.file.grep_files(path=str(tree / "a.py"), pattern="(?i)todo").data

    assert [(match.file, match.line_number) for match in result.matches] == [
        (str(tree / "a.py"), 2),
        (str(tree / "a.py"), 3),
    ]
    assert (result.files_searched, result.files_matched) == (1, 1)


def test_lines_around_a_match(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text(lines([str(number) for number in range(1, 10)]))

    def around(pattern: str, before: int, after: int) -> List[Tuple[Any, str, Any]]:
        result = client.file.grep_files(
            path=str(folder), pattern=pattern, context_before=before, context_after=after
        ).data
        return [(match.context_before, match.line_content, match.context_after) for match in result.matches]

    assert around("5", 2, 1) == [(["3", "4"], "5", ["6"])]
    assert around("1", 20, 1) == [([], "1", ["2"])]
    assert around("9", 1, 20) == [(["8"], "9", [])]
    # Neighbours of one match may be matches of their own: each has its context.
    assert around("[45]", 1, 1) == [(["3"], "4", ["5"]), (["4"], "5", ["6"])]


def test_multiline_lets_a_match_span_lines(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("head\nbegin\nmiddle\nend\ntail\n")

    assert client.file.grep_files(path=str(folder), pattern="begin.*end").data.matches == []
    result = client.file.grep_files(path=str(folder), pattern="begin.*end", multiline=True).data
    assert found(result, folder) == [("file", 2, "begin\nmiddle\nend")]


def test_files_larger_than_asked_are_passed_over(client: Sandbox, folder: Path) -> None:
    make_tree(folder, {"small": "needle\n", "large": "needle\n" + "x" * 2048, "huge": "needle\n" + "x" * (2 * MIB)})

    def files(**options: Any) -> List[str]:
        result = client.file.grep_files(path=str(folder), pattern="needle", **options).data
        return [name for name, _, _ in found(result, folder)]

    assert files() == ["large", "small"]
    assert files(max_file_size="1K") == ["small"]
    assert files(max_file_size="1024") == ["small"]
    assert files(max_file_size="3M") == ["huge", "large", "small"]
    assert files(max_file_size="1G") == ["huge", "large", "small"]


def test_offset_pages_through_all_matches(client: Sandbox, folder: Path) -> None:
    make_tree(folder, {f"{name}/file": lines([f"match {name}{line}" for line in range(7)]) for name in "abcde"})
    everything = client.file.grep_files(path=str(folder), pattern="match").data
    assert (everything.match_count, everything.truncated) == (35, False)
    paged: List[Any] = []

    while True:
        page = client.file.grep_files(path=str(folder), pattern="match", max_results=4, offset=len(paged)).data
        assert page.match_count == len(page.matches) <= 4
        paged += page.matches
        if not page.truncated:
            break

    assert found(everything, folder) == [
        (os.path.relpath(match.file, folder), match.line_number, match.line_content) for match in paged
    ]
    past = client.file.grep_files(path=str(folder), pattern="match", offset=35).data
    assert (past.matches, past.match_count, past.truncated) == ([], 0, False)
    exact = client.file.grep_files(path=str(folder), pattern="match", max_results=35).data
    assert (exact.match_count, exact.truncated) == (35, False)


def test_long_lines_are_cut_round_the_match(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("x" * 50_000 + "needle" + "y" * 50_000 + "\n")

    def line(**options: Any) -> str:
        result = client.file.grep_files(path=str(folder), pattern="needle", request_options=extension(**options))
        return result.data.matches[0].line_content

    for length, content in ((2000, line()), (100, line(max_line_length=100))):
        assert "needle" in content
        assert len(content) <= length + 20  # Room for marks that something is left out.


@pytest.mark.parametrize(
    "field, value",
    [
        ("pattern", "("),
        ("pattern", "[z-a]"),
        ("pattern", "a{9999}{9999}"),
        ("include", ["[z"]),
        ("exclude", ["{a"]),
        ("context_before", 21),
        ("context_after", -1),
        ("max_results", 0),
        ("max_results", 10_001),
        ("offset", -1),
        ("max_file_size", "large"),
        ("max_file_size", "-1"),
        ("type", "no-such-type"),
        ("case_insensitive", "perhaps"),
        ("include", "*.py\0"),
        ("path", "/with\0nul"),
    ],
)
def test_a_wrong_option_is_named(client: Sandbox, tree: Path, field: str, value: Any) -> None:
    options = {"path": str(tree), "pattern": "TODO", field: value}

    assert refused_field(client.file.grep_files, **options) == field


def test_a_catastrophic_expression_is_answered(http: httpx.Client, folder: Path) -> None:
    (folder / "file").write_text("a" * 100_000 + "!\n")

    for pattern in ("(a+)+$", "(a|a)*b$", "(x+x+)+y"):
        body = {"path": str(folder), "pattern": pattern}
        response = http.post("/v1/file/grep", json=body, timeout=PATIENCE)
        assert response.json()["data"]["matches"] == []


def test_links_devices_and_pipes_do_not_catch_the_search(client: Sandbox, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    (tree / "loop").symlink_to(".")
    (tree / "endless").symlink_to("/dev/zero")
    (tree / "copy.py").symlink_to("a.py")

    patience: Any = {"timeout_in_seconds": int(PATIENCE)}
    result = client.file.grep_files(path=str(tree), pattern="first", request_options=patience).data

    assert [name for name, _, _ in found(result, tree)] == ["a.py"]


def test_names_that_are_no_text_do_not_disturb(client: Sandbox, folder: Path) -> None:
    for name in (b"bad-\xff-name", b"line\nbreak"):
        with open(os.path.join(os.fsencode(folder), name), "w") as file:
            file.write("needle\n")

    result = client.file.grep_files(path=str(folder), pattern="needle").data

    assert [os.path.basename(match.file) for match in result.matches] == ["bad-\ufffd-name", "line\nbreak"]


def test_a_search_ends_when_its_caller_has_gone(start_server: Callable[..., Server], folder: Path) -> None:
    """A tree of links to one file that would keep the server busy for many minutes."""
    (folder / "text").write_text("abcdefghij klmnopqrst uvwxyz\n" * (16 * MIB // 29))
    for number in range(8000):
        os.link(folder / "text", folder / f"text{number}")
    server = start_server()
    process = Process(server.process.pid)
    address = httpx.URL(server.url)
    body = f'{{"path": "{folder}", "pattern": "[a-z]+[0-9]z", "max_file_size": "1G", "timeout": 300}}'
    request = (
        f"POST /v1/file/grep HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )

    with socket.create_connection((address.host, address.port)) as connection:
        connection.sendall(request.encode())
        process.wait_until_busy()
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv(1)

    process.wait_until_quiet()


def test_a_search_stops_at_its_own_time_limit(http: httpx.Client, folder: Path) -> None:
    """What was found by then is the answer, and it says that there may be more."""
    (folder / "text").write_text("needle\n" + "abcdefghij klmnopqrst uvwxyz\n" * (16 * MIB // 29))
    for number in range(8000):
        os.link(folder / "text", folder / f"text{number}")
    body = {"path": str(folder), "pattern": "needle|[a-z]+[0-9]z", "max_file_size": "1G", "timeout": 1}

    response = http.post("/v1/file/grep", json=body, timeout=PATIENCE)

    result = response.json()["data"]
    assert result["truncated"] is True
    assert result["files_searched"] < 8001
    assert field_of(http.post("/v1/file/grep", json={**body, "timeout": 0})) == "timeout"
