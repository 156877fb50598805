"""`client.file.str_replace_editor`: every command, undoing, and the words agents look for in refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, List, Tuple

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from files import fault, lines, make_tree, names, refused

Edit = Callable[..., Any]


@pytest.fixture
def edit(client: Sandbox) -> Edit:
    """Runs an editor command that must succeed and returns its result."""

    def edit(command: str, path: Path, **options: Any) -> Any:
        response = client.file.str_replace_editor(command=command, path=str(path), **options)
        assert response.success is True
        assert (response.data.path, response.data.error) == (str(path), None)
        return response.data

    return edit


@pytest.fixture
def mistake(client: Sandbox) -> Edit:
    """Runs an editor command that cannot be carried out and returns what the refusal says."""

    def mistake(code: str, command: str, path: Path, status: int = 400, **options: Any) -> str:
        error: ApiError = refused(client.file.str_replace_editor, command=command, path=str(path), **options)
        assert (error.status_code, error.body["error_code"]) == (status, f"editor.{code}"), error.body
        assert error.body["success"] is False and error.body["data"] is None
        return error.body["message"]

    return mistake


def numbered(output: str) -> List[Tuple[int, str]]:
    """The numbered lines of an output, as `cat -n` writes them."""
    return [(int(number), text) for number, text in re.findall(r"^\s*(\d+)\t(.*)$", output, re.MULTILINE)]


def test_view_numbers_lines_from_1(edit: Edit, folder: Path) -> None:
    file = folder / "file"
    file.write_text("one\n\n\tthree\nfour")

    viewed = edit("view", file)

    assert numbered(viewed.output)[:4] == [(1, "one"), (2, ""), (3, "\tthree"), (4, "four")]
    assert viewed.prev_exist is True
    assert file.read_text() == "one\n\n\tthree\nfour"


@pytest.mark.parametrize(
    "view_range, expected",
    [
        ([], [1, 2, 3, 4, 5]),
        (None, [1, 2, 3, 4, 5]),
        ([2, 3], [2, 3]),
        ([4, -1], [4, 5]),
        ([1, 1], [1]),
        ([5, 5], [5]),
    ],
)
def test_view_shows_a_range(edit: Edit, folder: Path, view_range: Any, expected: List[int]) -> None:
    file = folder / "file"
    file.write_text("line 1\nline 2\nline 3\nline 4\nline 5\n")

    output = edit("view", file, view_range=view_range).output

    assert [number for number, text in numbered(output) if text] == expected
    assert all(text == f"line {number}" for number, text in numbered(output) if text)


@pytest.mark.parametrize("view_range", [[3, 2], [0, 2], [-1, 2], [6, 9], [1], [1, 2, 3], [2, -2]])
def test_a_range_that_cannot_be_viewed_is_a_mistake(mistake: Edit, folder: Path, view_range: List[int]) -> None:
    file = folder / "file"
    file.write_text("1\n2\n3\n4\n")

    assert "view_range" in mistake("range", "view", file, view_range=view_range)


def test_options_for_documents_do_not_disturb_text(edit: Edit, folder: Path) -> None:
    file = folder / "file"
    file.write_text("text\n")

    viewed = edit(
        "view",
        file,
        page_range=[1, 2],
        sheet_name="Sheet1",
        row_range=[1, 2],
        slide_range=[1, 2],
        enable_metadata=True,
    )

    assert numbered(viewed.output)[0] == (1, "text")


def test_view_lists_a_directory_two_levels_deep(edit: Edit, folder: Path) -> None:
    make_tree(folder, {"a.txt": "", "sub/b.txt": "", "sub/deep/c.txt": "", ".hidden": "", "sub/.git/x": ""})

    output = edit("view", folder).output

    for shown in ("a.txt", "sub", "sub/b.txt", "sub/deep"):
        assert str(folder / shown) in output
    for left_out in ("c.txt", ".hidden\n", ".git"):
        assert left_out not in output


def test_create_makes_a_file_and_its_directories(edit: Edit, folder: Path) -> None:
    file = folder / "new/file.txt"

    created = edit("create", file, file_text="one\ntwo\n")

    assert file.read_text() == "one\ntwo\n"
    assert (created.prev_exist, created.old_content, created.new_content) == (False, None, "one\ntwo\n")
    assert str(file) in created.output
    assert edit("create", folder / "empty", file_text="").new_content == ""


def test_create_does_not_replace(mistake: Edit, folder: Path) -> None:
    file = folder / "file"
    file.write_text("old")

    message = mistake("exists", "create", file, file_text="new")

    assert "Invalid `path`" in message and f"{file} exists" in message
    assert file.read_text() == "old"


def test_str_replace_replaces_the_only_occurrence(edit: Edit, folder: Path) -> None:
    file = folder / "file"
    before = lines([f"line {number}" for number in range(1, 31)])
    file.write_text(before)

    replaced = edit("str_replace", file, old_str="line 15\n", new_str="line fifteen\n")

    after = before.replace("line 15\n", "line fifteen\n")
    assert file.read_text() == after
    assert (replaced.prev_exist, replaced.old_content, replaced.new_content) == (True, before, after)
    shown = dict(numbered(replaced.output))
    assert shown[15] == "line fifteen" and shown[14] == "line 14"
    assert 1 not in shown and 30 not in shown


def test_str_replace_without_new_text_deletes(edit: Edit, folder: Path) -> None:
    file = folder / "file"
    file.write_text("keep this\nnot this\n")

    assert edit("str_replace", file, old_str="not this\n").new_content == "keep this\n"
    assert edit("str_replace", file, old_str=" this", new_str=None).new_content == "keep\n"
    assert edit("str_replace", file, old_str="keep\n", new_str="").new_content == ""
    assert file.read_text() == ""


@pytest.mark.parametrize("mode, expected", [("ALL", "b.b.b"), ("FIRST", "b.a.a"), ("LAST", "a.a.b")])
def test_replace_mode_chooses_among_occurrences(edit: Edit, folder: Path, mode: str, expected: str) -> None:
    file = folder / "file"
    file.write_text("a.a.a")

    replaced = edit("str_replace", file, old_str="a", new_str="b", replace_mode=mode)

    assert file.read_text() == expected
    # Agents count the replacements themselves, from this.
    assert replaced.old_content.count("a") == 3


@pytest.mark.parametrize("mode", [None, "ALL", "FIRST", "LAST"])
def test_no_match_is_a_mistake_in_known_words(mistake: Edit, folder: Path, mode: Any) -> None:
    file = folder / "file"
    file.write_text("text")

    message = mistake("no_match", "str_replace", file, old_str="missing", new_str="x", replace_mode=mode)

    assert "did not appear" in message.lower() and "no replacement" in message.lower()
    assert str(file) in message
    assert file.read_text() == "text"


def test_several_matches_are_a_mistake_in_known_words(mistake: Edit, folder: Path) -> None:
    file = folder / "file"
    file.write_text("a\nb\na\n")

    message = mistake("not_unique", "str_replace", file, old_str="a", new_str="x", replace_mode=None)

    assert "multiple" in message.lower() or "not unique" in message.lower()
    assert "1" in message and "3" in message
    assert file.read_text() == "a\nb\na\n"


@pytest.mark.parametrize(
    "text, line, new, expected",
    [
        ("1\n2\n", 0, "0", "0\n1\n2\n"),
        ("1\n2\n", 1, "1.5", "1\n1.5\n2\n"),
        ("1\n2\n", 2, "3", "1\n2\n3\n"),
        ("1\n2\n", 1, "x\ny", "1\nx\ny\n2\n"),
        ("1\r\n2\r\n", 1, "x", "1\r\nx\r\n2\r\n"),
        ("", 0, "first", None),
        ("1\n2", 2, "3", None),
    ],
)
def test_insert_puts_lines_after_a_line(
    edit: Edit, folder: Path, text: str, line: int, new: str, expected: Any
) -> None:
    file = folder / "file"
    file.write_bytes(text.encode())

    inserted = edit("insert", file, insert_line=line, new_str=new)

    after = file.read_bytes().decode()
    if expected is None:  # Where there was no line break at the end: with or without one now, but whole lines.
        assert after.splitlines() == [*text.splitlines(), new]
    else:
        assert after == expected
    assert (inserted.prev_exist, inserted.old_content, inserted.new_content) == (True, text, after)
    assert new.splitlines()[0] in [shown for _, shown in numbered(inserted.output)]


@pytest.mark.parametrize("line", [-1, 3, 1000])
def test_inserting_outside_the_file_is_a_mistake(mistake: Edit, folder: Path, line: int) -> None:
    file = folder / "file"
    file.write_text("1\n2\n")

    assert "insert_line" in mistake("range", "insert", file, insert_line=line, new_str="x")
    assert file.read_text() == "1\n2\n"


@pytest.mark.parametrize(
    "command, options, missing",
    [
        ("create", {}, "file_text"),
        ("str_replace", {"new_str": "x"}, "old_str"),
        ("insert", {"new_str": "x"}, "insert_line"),
        ("insert", {"insert_line": 1}, "new_str"),
    ],
)
def test_a_missing_argument_is_named(
    mistake: Edit, folder: Path, command: str, options: Any, missing: str
) -> None:
    file = folder / "file"
    if command != "create":
        file.write_text("1\n")

    assert missing in mistake("missing_argument", command, file, **options)
    assert names(folder) == ([] if command == "create" else ["file"])


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "a\r\nb", "a\nb", "\ufeffa\nb\n"])
def test_line_endings_and_a_missing_last_break_are_kept(edit: Edit, folder: Path, text: str) -> None:
    file = folder / "file"
    file.write_bytes(text.encode())

    edit("str_replace", file, old_str="b", new_str="B")

    assert file.read_bytes() == text.replace("b", "B").encode()


def test_edits_are_undone_one_by_one(edit: Edit, mistake: Edit, folder: Path) -> None:
    file = folder / "file"

    edit("create", file, file_text="one\n")
    edit("insert", file, insert_line=1, new_str="two\n")
    edit("str_replace", file, old_str="one", new_str="1")
    after_insert = edit("undo_edit", file)
    assert (after_insert.old_content.count("1\n"), after_insert.new_content) == (1, file.read_text())
    assert file.read_text().splitlines()[:2] == ["one", "two"]
    assert edit("undo_edit", file).new_content == "one\n" == file.read_text()

    gone = edit("undo_edit", file)
    assert (gone.old_content, gone.new_content, gone.prev_exist) == ("one\n", None, True)
    assert names(folder) == []
    assert str(file) in mistake("nothing_to_undo", "undo_edit", file)


def test_undo_does_not_overwrite_what_others_wrote_meanwhile(edit: Edit, client: Sandbox, folder: Path) -> None:
    file = folder / "file"
    file.write_text("one")
    edit("str_replace", file, old_str="one", new_str="two")
    file.write_text("written by somebody else")

    error = refused(client.file.str_replace_editor, command="undo_edit", path=str(file))

    assert error.status_code in (400, 409)
    assert error.body["error_code"] == "editor.changed_meanwhile"
    assert file.read_text() == "written by somebody else"


def test_a_mistake_is_nothing_to_undo(edit: Edit, mistake: Edit, folder: Path) -> None:
    file = folder / "file"
    file.write_text("a a")
    mistake("not_unique", "str_replace", file, old_str="a", new_str="b")
    edit("view", file)

    mistake("nothing_to_undo", "undo_edit", file)


def test_faults_of_the_file_system_are_answers(client: Sandbox, folder: Path) -> None:
    def editor(command: str, path: Path, **options: Any) -> Any:
        return client.file.str_replace_editor(command=command, path=str(path), **options)

    (folder / "binary").write_bytes(b"\xff\xfe")
    for command, options in (
        ("view", {}),
        ("str_replace", {"old_str": "a", "new_str": "b"}),
        ("insert", {"insert_line": 0, "new_str": "x"}),
    ):
        missing = fault(editor(command, folder / "missing", **options), "not_found")
        assert (missing.output, missing.error) == ("", missing.message)
        fault(editor(command, folder / "binary", **options), "decode_error")
    for command, options in (
        ("str_replace", {"old_str": "a", "new_str": "b"}),
        ("insert", {"insert_line": 0, "new_str": "x"}),
        ("create", {"file_text": "x"}),
    ):
        response = refuse_directory(editor, command, folder, **options)
        assert response in ("invalid_target", "editor.exists")
    fault(editor("create", folder / "binary/below", file_text="x"), "invalid_target")
    assert names(folder) == ["binary"]


def refuse_directory(editor: Edit, command: str, folder: Path, **options: Any) -> str:
    """How editing a directory is refused: `create` may just as well say that the path exists."""
    try:
        return editor(command, folder, **options).data.error_type
    except ApiError as error:
        assert error.status_code == 400
        return error.body["error_code"]
