"""What the file system refuses and what cannot be meant: a clear answer each, nothing changed, nothing that hangs."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import httpx
import pytest
from agent_sandbox import Sandbox
from files import PATIENCE, fault, field_of, names, picture, refused_field

# The ten operations that answer a fault with status 200, called with nothing but a path.
TEN: Dict[str, Callable[[Sandbox, str], Any]] = {
    "read": lambda client, path: client.file.read_file(file=path),
    "write": lambda client, path: client.file.write_file(file=path, content="x"),
    "replace": lambda client, path: client.file.replace_in_file(file=path, old_str="a", new_str="b"),
    "search": lambda client, path: client.file.search_in_file(file=path, regex="a"),
    "find": lambda client, path: client.file.find_files(path=path, glob="*"),
    "grep": lambda client, path: client.file.grep_files(path=path, pattern="a"),
    "glob": lambda client, path: client.file.glob_files(path=path, pattern="*"),
    "upload": lambda client, path: client.file.upload_file(file=("name", b"x"), path=path),
    "list": lambda client, path: client.file.list_path(path=path),
    "str_replace_editor": lambda client, path: client.file.str_replace_editor(command="view", path=path),
}
# The same on the wire: route and body, the path to be filled in.
BODIES: Dict[str, Dict[str, Any]] = {
    "read": {"file": ""},
    "write": {"file": "", "content": "x"},
    "replace": {"file": "", "old_str": "a", "new_str": "b"},
    "search": {"file": "", "regex": "a"},
    "find": {"path": "", "glob": "*"},
    "grep": {"path": "", "pattern": "a"},
    "glob": {"path": "", "pattern": "*"},
    "list": {"path": ""},
    "str_replace_editor": {"path": "", "command": "view"},
}
WRITERS = ("write", "upload")
MORE: Dict[str, Dict[str, Any]] = {
    "append": {"file": "", "content": "x"},
    "stat": {"path": ""},
    "eval-symlinks": {"path": ""},
    "mkdir": {"path": ""},
    "delete": {"path": ""},
    "move": {"source": "", "destination": "elsewhere"},
    "copy": {"source": "", "destination": "elsewhere"},
    "create-temp": {"dir": ""},
    "watch": {"path": ""},
    "watch/wait": {"path": "", "timeout": 1},
}


def fill(body: Dict[str, Any], path: Any) -> Tuple[str, Dict[str, Any]]:
    """A body with its path, and the name of the path's field."""
    field = next(name for name, value in body.items() if value == "")
    return field, {**body, field: path}


@pytest.mark.parametrize("operation", TEN)
def test_the_sdk_reads_every_fault(client: Sandbox, folder: Path, operation: str) -> None:
    (folder / "file").write_text("text")
    missing = str(folder / "missing")
    path, kind = (str(folder / "file/below"), "invalid_target") if operation in WRITERS else (missing, "not_found")

    error = fault(TEN[operation](client, path), kind)

    assert (error.path, error.operation) == (path, operation)
    assert (error.retryable, error.errno, error.errno_name, error.exception_type) == (
        (False, 20, "ENOTDIR", "NotADirectoryError")
        if kind == "invalid_target"
        else (False, 2, "ENOENT", "FileNotFoundError")
    )
    assert path in error.message
    assert picture(folder).keys() == {b"file"}


def test_a_fault_is_worded_as_python_words_it(client: Sandbox, folder: Path) -> None:
    path = str(folder / "missing.txt")

    response = client.file.read_file(file=path)

    assert response.message == f"Failed to read file: [Errno 2] No such file or directory: '{path}'"


@pytest.mark.parametrize("operation", BODIES)
def test_a_fault_keeps_the_envelope(http: httpx.Client, folder: Path, operation: str) -> None:
    _, body = fill(BODIES[operation], str(folder / "missing"))
    if operation == "write":
        (folder / "file").touch()
        body["file"] = str(folder / "file/below")

    response = http.post(f"/v1/file/{operation}", json=body)

    assert response.status_code == 200
    answer = response.json()
    assert answer["success"] is False and "hint" in answer
    assert answer["message"] == answer["data"]["message"]
    assert answer["error_code"] == f"file.{answer['data']['error_type']}"
    assert type(answer["code"]) is int and answer["code"] >= 400


@pytest.mark.parametrize(
    "operation, kind",
    [
        ("read", "invalid_target"),
        ("write", "invalid_target"),
        ("replace", "invalid_target"),
        ("search", "invalid_target"),
    ],
)
def test_a_directory_where_a_file_is_wanted(client: Sandbox, folder: Path, operation: str, kind: str) -> None:
    (folder / "inside").write_text("text")
    before = picture(folder.parent)

    error = fault(TEN[operation](client, str(folder)), kind)

    assert (error.errno_name, error.exception_type) == ("EISDIR", "IsADirectoryError")
    assert picture(folder.parent) == before


@pytest.fixture
def things(folder: Path) -> Iterator[Dict[str, str]]:
    """What is no file: opening a pipe waits for somebody at its other end, reading a device never ends."""
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("pipe")
    found = {"pipe": str(folder / "pipe"), "link to a pipe": str(folder / "link"), "socket": str(folder / "socket")}
    if os.geteuid() == 0:
        # Not the system's own, which a server that is wrong would replace by a file.
        os.mknod(folder / "zero", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        found["device"] = str(folder / "zero")
    else:
        found["device"] = "/dev/zero"
    directory = os.open(folder, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as listener:
        # By another way, since the name of a socket may not be long.
        listener.bind(f"/proc/self/fd/{directory}/socket")
        yield found
    os.close(directory)


@pytest.mark.parametrize("operation", [name for name in TEN if name not in ("grep", "list", "find", "glob")])
@pytest.mark.parametrize("thing", ["pipe", "link to a pipe", "socket", "device"])
def test_pipes_sockets_and_devices_are_no_files(
    client: Sandbox, things: Dict[str, str], folder: Path, operation: str, thing: str
) -> None:
    before = picture(folder)

    fault(TEN[operation](client, things[thing]), "invalid_target")

    assert picture(folder) == before


@pytest.mark.parametrize("thing", ["pipe", "device"])
@pytest.mark.parametrize("operation", ["find", "grep", "glob", "list"])
def test_looking_into_a_pipe_or_a_device_ends(
    http: httpx.Client, things: Dict[str, str], operation: str, thing: str
) -> None:
    _, body = fill(BODIES[operation], things[thing])

    answer = http.post(f"/v1/file/{operation}", json=body, timeout=PATIENCE).json()

    assert (answer["success"], answer["error_code"]) == (False, "file.invalid_target")


def test_files_of_the_kernel_are_read(client: Sandbox) -> None:
    """They say that they are empty."""
    assert client.file.read_file(file="/proc/version").data.content == Path("/proc/version").read_text()
    found = client.file.search_in_file(file="/proc/self/status", regex="^Pid:").data
    assert found.matches == ["Pid:"]


def test_files_of_the_kernel_that_refuse_do_so_in_words(client: Sandbox) -> None:
    for call in (
        lambda: client.file.write_file(file="/proc/version", content="x"),
        lambda: client.file.write_file(file="/proc/new-file", content="x"),
        lambda: client.file.upload_file(file=("x", b"x"), path="/proc/"),
        lambda: client.file.read_file(file="/proc/self/mem"),
    ):
        response = call()
        assert response.success is False
        assert response.data.error_type in ("permission_denied", "not_found", "invalid_target", "io_error")


@pytest.mark.parametrize("operation", TEN)
def test_a_path_of_five_thousand_characters_is_no_path(client: Sandbox, folder: Path, operation: str) -> None:
    for path in (f"{folder}/{'x' * 5000}", f"{folder}/" + "d/" * 2500 + "file"):
        error = fault(TEN[operation](client, path), "invalid_path")
        assert error.errno_name == "ENAMETOOLONG"
    assert names(folder) == []


@pytest.mark.parametrize("operation", [name for name in TEN if name != "upload"])
def test_an_empty_path_is_no_path(client: Sandbox, operation: str) -> None:
    fault(TEN[operation](client, ""), "invalid_path")


def test_a_circle_of_links_is_no_path(client: Sandbox, folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")

    for operation in TEN:
        error = fault(TEN[operation](client, str(folder / "a")), "invalid_path")
        assert error.errno_name == "ELOOP", operation


@pytest.mark.parametrize("operation", {**BODIES, **MORE})
def test_a_nul_in_a_path_is_refused(http: httpx.Client, folder: Path, operation: str) -> None:
    field, body = fill({**BODIES, **MORE}[operation], f"{folder}/a\0b")

    assert field_of(http.post(f"/v1/file/{operation}", json=body)) == field
    assert names(folder) == []


@pytest.mark.parametrize("operation", {**BODIES, **MORE})
@pytest.mark.parametrize("value", [["list"], {"an": "object"}, True], ids=["list", "object", "boolean"])
def test_a_path_that_is_no_text_is_refused(http: httpx.Client, operation: str, value: Any) -> None:
    field, body = fill({**BODIES, **MORE}[operation], value)

    assert field_of(http.post(f"/v1/file/{operation}", json=body)) == field


@pytest.mark.parametrize("operation", [name for name in {**BODIES, **MORE} if name != "create-temp"])
def test_a_missing_path_is_named(http: httpx.Client, operation: str) -> None:
    field, body = fill({**BODIES, **MORE}[operation], None)

    assert field_of(http.post(f"/v1/file/{operation}", json=body)) == field
    del body[field]
    assert field_of(http.post(f"/v1/file/{operation}", json=body)) == field


@pytest.mark.parametrize(
    "operation, field, value",
    [
        ("read", "start_line", -1),
        ("read", "end_line", -5),
        ("read", "start_line", 1.5),
        ("read", "start_line", "first"),
        ("write", "content", None),
        ("write", "content", ["x"]),
        ("write", "content", 5),
        ("write", "append", "perhaps"),
        ("write", "encoding", "utf-16"),
        ("write", "mode", 0o10000),
        ("write", "mode", -1),
        ("replace", "old_str", None),
        ("replace", "new_str", 5),
        ("search", "regex", None),
        ("search", "regex", "*"),
        ("find", "glob", None),
        ("str_replace_editor", "command", "dance"),
        ("str_replace_editor", "view_range", "1-2"),
        ("str_replace_editor", "insert_line", "top"),
        ("str_replace_editor", "replace_mode", "SOME"),
        ("append", "content", None),
        ("mkdir", "mode", 0o10000),
        ("delete", "recursive", "perhaps"),
        ("move", "destination", None),
        ("copy", "overwrite", []),
        ("create-temp", "mode", "rw"),
        ("stat", "follow", 7),
    ],
)
def test_a_wrong_value_is_named_and_changes_nothing(
    http: httpx.Client, folder: Path, operation: str, field: str, value: Optional[Any]
) -> None:
    (folder / "file").write_text("text")
    before = picture(folder)
    _, body = fill({**BODIES, **MORE}[operation], str(folder / "file"))

    response = http.post(f"/v1/file/{operation}", json={**body, field: value})

    assert field_of(response) == field
    assert picture(folder) == before


def test_a_text_too_large_to_edit_is_refused(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    limit = http.get("/v1/limits").json()["data"]["file_edit_bytes"]
    with (folder / "large").open("wb") as file:
        file.truncate(limit + 1)

    for call in (
        lambda: client.file.replace_in_file(file=str(folder / "large"), old_str="a", new_str="b"),
        lambda: client.file.str_replace_editor(
            command="str_replace", path=str(folder / "large"), old_str="a", new_str="b"
        ),
    ):
        assert str(limit) in fault(call(), "too_large").message.replace(",", "").replace("_", "")


def test_content_larger_than_other_bodies_can_be_written(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    limits = http.get("/v1/limits").json()["data"]
    content = "x" * (limits["request_body_bytes"] + 1)
    assert limits["large_body_bytes"] > len(content) + 1000

    client.file.write_file(file=str(folder / "file"), content=content)

    assert (folder / "file").stat().st_size == len(content)
    assert refused_field(client.file.read_file, file="x", start_line=-1) == "start_line"


def test_names_with_anything_but_a_slash_work(client: Sandbox, folder: Path) -> None:
    odd = ["line\nbreak", " spaces ", "-rf", "*", "\\", '"', "'", "~", "$HOME", "漢字", "\x01\x7f", "x" * 255]

    for name in odd:
        path = str(folder / name)
        assert client.file.write_file(file=path, content=name).success is True
        assert client.file.read_file(file=path).data.content == name
    assert names(folder) == sorted(odd)
    assert {file.name for file in client.file.list_path(path=str(folder)).data.files} == set(odd)
