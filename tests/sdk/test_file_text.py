"""`client.file`: reading, writing, replacing and searching the text of one file."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Any, List

import httpx
import pytest
from agent_sandbox import Sandbox
from files import PATIENCE, fault, lines, names, refused_field
from server import Server
from shells import extension

TEXTS = ["", "one", "one\n", "one\ntwo", "one\n\n\ntwo\n", "a\r\nb\r\n", "żółw 漢字 😀\n", "\t\x00\n", "\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_written_is_read(client: Sandbox, folder: Path, text: str) -> None:
    file = str(folder / "file.txt")

    written = client.file.write_file(file=file, content=text)
    assert written.success is True
    assert (written.data.file, written.data.bytes_written) == (file, len(text.encode()))
    assert (folder / "file.txt").read_bytes() == text.encode()

    read = client.file.read_file(file=file)
    assert (read.success, read.message) == (True, "File read successfully")
    assert (read.data.content, read.data.file) == (text, file)
    assert read.data.line_count == text.count("\n") + (0 if text.endswith("\n") or not text else 1)


def test_the_published_example_writes_34_bytes(client: Sandbox, folder: Path) -> None:
    content = "Hello from AIO Sandbox!\nLine two.\n"

    assert client.file.write_file(file=str(folder / "hello"), content=content).data.bytes_written == 34


def test_optional_arguments_may_be_none(client: Sandbox, folder: Path) -> None:
    file = str(folder / "file")

    written = client.file.write_file(
        file=file, content="a", encoding=None, append=None, leading_newline=None, trailing_newline=None, sudo=None
    )
    assert written.data.bytes_written == 1
    assert client.file.read_file(file=file, start_line=None, end_line=None, sudo=None).data.content == "a"
    assert client.file.replace_in_file(file=file, old_str="a", new_str="b", sudo=None).data.replaced_count == 1
    assert client.file.search_in_file(file=file, regex="b", sudo=None).data.matches == ["b"]


@pytest.mark.parametrize(
    "start, end, expected",
    [
        (None, None, "0\n1\n2\n3"),
        (0, 4, "0\n1\n2\n3"),
        (0, 0, ""),
        (1, 3, "1\n2\n"),
        (2, None, "2\n3"),
        (None, 2, "0\n1\n"),
        (3, 100, "3"),
        (4, 5, ""),
        (1_000_000, 1_002_000, ""),
    ],
)
def test_lines_are_counted_from_0_and_the_end_is_left_out(
    client: Sandbox, folder: Path, start: Any, end: Any, expected: str
) -> None:
    (folder / "file").write_text("0\n1\n2\n3")

    read = client.file.read_file(file=str(folder / "file"), start_line=start, end_line=end)

    assert read.success is True
    assert (read.data.content, read.data.line_count) == (expected, 4)


@pytest.mark.parametrize("page", [1, 7, 2000])
def test_paging_until_an_empty_answer_reads_the_whole_file(client: Sandbox, folder: Path, page: int) -> None:
    """The loop of agents: pages of so many lines until one is empty. Blank lines must not end it early."""
    text = lines([f"line {number}" if number % 3 else "" for number in range(50)]) + "no line break"
    (folder / "file").write_text(text)
    pages: List[str] = []

    while True:
        start = len(pages) * page
        content = client.file.read_file(
            file=str(folder / "file"), start_line=start, end_line=start + page
        ).data.content
        if not content:
            break
        pages.append(content)

    assert "".join(pages) == text
    assert len(pages) == -(-51 // page)


def test_lines_of_a_file_too_large_to_read_whole_can_be_read(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    limit = http.get("/v1/limits").json()["data"]["file_read_bytes"]
    line = "x" * 1023 + "\n"
    count = limit // 1024 + 1
    with (folder / "large").open("w") as file:
        file.writelines([line] * count)

    too_large = fault(client.file.read_file(file=str(folder / "large")), "too_large")
    assert str(limit) in too_large.message.replace(",", "").replace("_", "")

    tail = client.file.read_file(file=str(folder / "large"), start_line=count - 2, end_line=count + 9).data
    assert (tail.content, tail.line_count) == (line * 2, count)


def test_bytes_that_are_no_text_are_an_error_as_text_and_fine_as_base64(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_bytes(b"fine\n\xff\xfe\x00\n")

    error = fault(client.file.read_file(file=str(folder / "file")), "decode_error")
    assert (error.content, error.exception_type) == ("", "UnicodeDecodeError")

    read = client.file.read_file(file=str(folder / "file"), request_options=extension(base64=True)).data
    assert base64.b64decode(read.content) == b"fine\n\xff\xfe\x00\n"
    assert read.line_count is None


@pytest.mark.parametrize(
    "encoding, content, expected",
    [
        ("utf-8", "żółw", "żółw".encode()),
        ("base64", base64.b64encode(bytes(range(256))).decode(), bytes(range(256))),
        ("base64", "", b""),
        ("raw", "".join(map(chr, range(256))), bytes(range(256))),
    ],
)
def test_every_encoding_of_content(
    client: Sandbox, folder: Path, encoding: str, content: str, expected: bytes
) -> None:
    written = client.file.write_file(file=str(folder / "file"), content=content, encoding=encoding)

    assert written.data.bytes_written == len(expected)
    assert (folder / "file").read_bytes() == expected


@pytest.mark.parametrize("encoding, content", [("base64", "not base64!"), ("raw", "ż"), ("rot13", "a")])
def test_content_that_does_not_fit_its_encoding_changes_nothing(
    client: Sandbox, folder: Path, encoding: str, content: str
) -> None:
    (folder / "file").write_text("old")

    field = refused_field(client.file.write_file, file=str(folder / "file"), content=content, encoding=encoding)

    assert field in ("content", "encoding")
    assert (folder / "file").read_text() == "old"
    assert names(folder) == ["file"]


@pytest.mark.parametrize(
    "flags, expected",
    [
        ({"leading_newline": True}, "\nnew"),
        ({"trailing_newline": True}, "new\n"),
        ({"leading_newline": True, "trailing_newline": True}, "\nnew\n"),
        ({"append": True}, "oldnew"),
        ({"append": True, "leading_newline": True, "trailing_newline": True}, "old\nnew\n"),
        ({"append": False, "leading_newline": False, "trailing_newline": False}, "new"),
    ],
)
def test_line_breaks_and_appending(client: Sandbox, folder: Path, flags: Any, expected: str) -> None:
    (folder / "file").write_text("old")

    written = client.file.write_file(file=str(folder / "file"), content="new", **flags).data

    assert (folder / "file").read_text() == expected
    added = len(expected) - (3 if flags.get("append") else 0)
    assert written.bytes_written == added


@pytest.mark.parametrize("encoding", ["base64", "raw"])
def test_line_breaks_are_for_text_only(client: Sandbox, folder: Path, encoding: str) -> None:
    content = {"base64": "YWJj", "raw": "abc"}[encoding]

    written = client.file.write_file(
        file=str(folder / "file"), content=content, encoding=encoding, leading_newline=True, trailing_newline=True
    ).data

    assert ((folder / "file").read_bytes(), written.bytes_written) == (b"abc", 3)


def test_bytes_can_be_appended(client: Sandbox, folder: Path) -> None:
    for _ in range(2):
        client.file.write_file(file=str(folder / "file"), content="/wA=", encoding="base64", append=True)

    assert (folder / "file").read_bytes() == b"\xff\x00" * 2


def test_missing_directories_are_made(client: Sandbox, folder: Path) -> None:
    file = folder / "a" / "b c" / "ż" / "file"

    assert client.file.write_file(file=str(file), content="text").success is True
    assert file.read_text() == "text"
    assert client.file.write_file(file=str(folder / "x/y"), content="text", append=True).success is True
    assert (folder / "x/y").read_text() == "text"


def test_a_file_keeps_its_mode_and_new_ones_may_be_given_one(client: Sandbox, folder: Path) -> None:
    script = folder / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o751)

    client.file.write_file(file=str(script), content="#!/bin/sh\ntrue\n")
    client.file.replace_in_file(file=str(script), old_str="true", new_str="false")
    client.file.write_file(file=str(script), content="# end\n", append=True)
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert script.read_text() == "#!/bin/sh\nfalse\n# end\n"

    mode = extension(mode=0o640, sync=True)
    client.file.write_file(file=str(folder / "new"), content="a", request_options=mode)
    client.file.write_file(file=str(script), content="a", request_options=mode)
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in ("new", "script")} == {0o640}


def test_writing_through_a_link_changes_what_it_points_to(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("old")
    (folder / "link").symlink_to("file")

    client.file.write_file(file=str(folder / "link"), content="new")
    assert (folder / "link").is_symlink()
    assert (folder / "file").read_text() == "new"
    client.file.replace_in_file(file=str(folder / "link"), old_str="new", new_str="newer")
    assert (folder / "link").is_symlink()
    assert client.file.read_file(file=str(folder / "link")).data.content == "newer"


def test_relative_paths_mean_the_workspace_and_a_tilde_the_home(client: Sandbox, server: Server) -> None:
    client.file.write_file(file="relative/file.txt", content="here")
    client.file.write_file(file="~/at-home.txt", content="there")

    assert (server.workspace / "relative/file.txt").read_text() == "here"
    assert (server.home / "at-home.txt").read_text() == "there"
    read = client.file.read_file(file="./relative/file.txt").data
    assert (read.content, read.file) == ("here", str(server.workspace / "relative/file.txt"))
    assert client.file.read_file(file="~/at-home.txt").data.content == "there"


@pytest.mark.parametrize(
    "text, old, new, count, expected",
    [
        ("a.b.c", ".", "-", 2, "a-b-c"),
        ("aaaa", "aa", "b", 2, "bb"),
        ("one\ntwo\n", "one\ntwo", "both", 1, "both\n"),
        ("a\r\nb", "\r\n", "\n", 1, "a\nb"),
        ("price: $1", "$1", "${2}\\0", 1, "price: ${2}\\0"),
        ("żółw", "ółw", "", 1, "ż"),
        ("text", "TEXT", "x", 0, "text"),
        ("x", "x", "x", 1, "x"),
    ],
)
def test_replacing_is_literal_and_counts(
    client: Sandbox, folder: Path, text: str, old: str, new: str, count: int, expected: str
) -> None:
    file = folder / "file"
    file.write_bytes(text.encode())

    replaced = client.file.replace_in_file(file=str(file), old_str=old, new_str=new)

    assert replaced.success is True
    assert (replaced.data.file, replaced.data.replaced_count) == (str(file), count)
    assert file.read_bytes() == expected.encode()


def test_replacing_nothing_leaves_the_file_alone(client: Sandbox, folder: Path) -> None:
    file = folder / "file"
    file.write_text("text")
    before = file.stat()

    client.file.replace_in_file(file=str(file), old_str="missing", new_str="x")

    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert refused_field(client.file.replace_in_file, file=str(file), old_str="", new_str="x") == "old_str"
    assert file.read_text() == "text"


@pytest.mark.parametrize(
    "regex, matches, numbers",
    [
        (r"def \w+", ["def one", "def two"], [0, 3]),
        (r"\d", ["1", "2", "3"], [1, 1, 4]),
        (r"^$", [""], [2]),
        (r"(?i)RETURN.*", ["return 1 + 2", "return 3"], [1, 4]),
        (r"nothing like it", [], []),
        (r"ż+", ["żż"], [5]),
        (r"one.*two", [], []),
    ],
)
def test_search_gives_the_matches_with_lines_from_0(
    client: Sandbox, folder: Path, regex: str, matches: List[str], numbers: List[int]
) -> None:
    (folder / "file").write_text("def one():\n    return 1 + 2\n\ndef two():\n    return 3\n# żż\n")

    found = client.file.search_in_file(file=str(folder / "file"), regex=regex)

    assert found.success is True
    assert (found.data.matches, found.data.line_numbers) == (matches, numbers)
    assert (found.data.file, found.data.truncated) == (str(folder / "file"), False)


def test_a_search_with_too_many_matches_says_so(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    limit = http.get("/v1/limits").json()["data"]["file_search_matches"]
    (folder / "file").write_text("x" * (limit + 1))

    found = client.file.search_in_file(file=str(folder / "file"), regex="x").data

    assert (len(found.matches), len(found.line_numbers), found.truncated) == (limit, limit, True)


def test_a_catastrophic_expression_is_answered(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("a" * 100_000 + "!\n")
    patience = {"timeout_in_seconds": int(PATIENCE)}

    for regex in ("(a+)+$", "(a|a)*b", "(.*)*x(.*)*y"):
        found = client.file.search_in_file(file=str(folder / "file"), regex=regex, request_options=patience)
        assert (found.success, found.data.matches) == (True, [])


@pytest.mark.parametrize("regex", ["(", "[z-a]", "a{2,1}", r"(?=look)", r"(a)\1", "a{9999}{9999}"])
def test_an_expression_that_cannot_be_compiled_is_named(client: Sandbox, folder: Path, regex: str) -> None:
    (folder / "file").write_text("text")

    assert refused_field(client.file.search_in_file, file=str(folder / "file"), regex=regex) == "regex"


def test_the_names_agents_mix_up_are_understood(http: httpx.Client, folder: Path) -> None:
    path = str(folder / "file")
    assert http.post("/v1/file/write", json={"path": path, "content": "a b"}).json()["success"] is True
    assert http.post("/v1/file/read", json={"path": path}).json()["data"]["content"] == "a b"
    replaced = http.post("/v1/file/replace", json={"path": path, "old_text": "a", "new_text": "c"})
    assert replaced.json()["data"]["replaced_count"] == 1
    found = http.post("/v1/file/search", json={"path": path, "pattern": "[abc]"})
    assert found.json()["data"]["matches"] == ["c", "b"]


def test_a_reversed_range_is_refused(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("0\n1\n2\n3\n")

    for start, end in ((3, 1), (5, 0)):
        field = refused_field(client.file.read_file, file=str(folder / "file"), start_line=start, end_line=end)
        assert field == "end_line"


def test_a_write_replaces_the_file_at_once(client: Sandbox, folder: Path) -> None:
    """Who has the old file open goes on reading the old file."""
    (folder / "file").write_text("old")

    with (folder / "file").open() as opened:
        client.file.write_file(file=str(folder / "file"), content="new and longer")
        assert opened.read() == "old"

    assert os.listdir(folder) == ["file"]
