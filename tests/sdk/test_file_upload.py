"""Files into the sandbox: the SDK's upload, forms as curl sends them, bare bodies, and uploads that break off."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import stat
from pathlib import Path
from typing import Callable, List

import httpx
import pytest
from agent_sandbox import Sandbox
from files import MIB, Form, Process, fault, field_of, make_tree, names, picture, zeros
from server import Server
from waiting import eventually

BYTES = bytes(range(256)) * 40


def test_upload_goes_to_the_path_given(client: Sandbox, folder: Path) -> None:
    path = folder / "new" / "dir" / "file.bin"

    response = client.file.upload_file(file=("ignored.bin", BYTES), path=str(path))

    assert response.success is True
    result = response.data
    assert (result.file_path, result.file_size, result.success) == (str(path), len(BYTES), True)
    assert path.read_bytes() == BYTES
    assert names(path.parent) == ["file.bin"]


@pytest.mark.parametrize("path", ["dir", "dir/", "./dir/.", "missing/"])
def test_upload_into_a_directory_keeps_the_name(client: Sandbox, folder: Path, path: str) -> None:
    (folder / "dir").mkdir()

    result = client.file.upload_file(file=("na me.bin", io.BytesIO(BYTES)), path=f"{folder}/{path}").data

    expected = folder / path.strip("./") / "na me.bin"
    assert (result.file_path, expected.read_bytes()) == (str(expected), BYTES)


def test_upload_without_a_path_goes_to_the_workspace(client: Sandbox, server: Server) -> None:
    named = client.file.upload_file(file=("report.txt", "text")).data
    assert named.file_path == str(server.workspace / "report.txt")
    assert (server.workspace / "report.txt").read_text() == "text"

    # A file object without a name goes by what the HTTP library calls it.
    unnamed = client.file.upload_file(file=io.BytesIO(b"stream")).data
    assert unnamed.file_path == str(server.workspace / "upload")
    assert (server.workspace / "upload").read_bytes() == b"stream"

    client.file.upload_file(file=("report.txt", b"again"), path=None)
    assert (server.workspace / "report.txt").read_bytes() == b"again"


def test_upload_of_an_open_file(client: Sandbox, folder: Path) -> None:
    (folder / "source.bin").write_bytes(BYTES)
    (folder / "target").mkdir()

    with (folder / "source.bin").open("rb") as opened:
        result = client.file.upload_file(file=opened, path=f"{folder}/target/").data

    assert result.file_path == str(folder / "target/source.bin")
    assert (folder / "target/source.bin").read_bytes() == BYTES


def test_an_empty_file_can_be_uploaded(client: Sandbox, folder: Path) -> None:
    result = client.file.upload_file(file=("empty", b""), path=str(folder / "empty")).data

    assert (result.file_size, (folder / "empty").read_bytes()) == (0, b"")


def test_an_uploaded_file_replaces_another_and_keeps_its_mode(client: Sandbox, folder: Path) -> None:
    (folder / "run").write_text("old")
    (folder / "run").chmod(0o750)

    client.file.upload_file(file=("x", b"new"), path=str(folder / "run"))

    assert (folder / "run").read_text() == "new"
    assert stat.S_IMODE((folder / "run").stat().st_mode) == 0o750


@pytest.mark.parametrize(
    "filename", ["../../escape", "/abs/escape", "..", ".", "a/../../escape", "..\\escape", "C:\\x\\escape"]
)
def test_a_name_never_leads_out_of_the_directory(http: httpx.Client, folder: Path, filename: str) -> None:
    make_tree(folder, {"target/": ""})
    body = Form.of(Form.field("path", f"{folder}/target/"), Form.file(iter([b"x"]), filename.replace("\\", "\\\\")))

    response = http.post("/v1/file/upload", content=body, headers=Form.headers)

    assert names(folder) == ["target"]
    if response.status_code == 200 and response.json()["success"]:
        where = Path(response.json()["data"]["file_path"])
        assert where.parent == folder / "target" and names(folder / "target") == [where.name]
    else:
        assert response.status_code < 500 and names(folder / "target") == []


def test_the_path_may_come_after_the_file(http: httpx.Client, folder: Path) -> None:
    body = Form.of(Form.file(zeros(3 * MIB)), Form.field("path", str(folder / "a/late.bin")))

    response = http.post("/v1/file/upload", content=body, headers=Form.headers)

    assert response.json()["data"]["file_path"] == str(folder / "a/late.bin"), response.text
    assert (folder / "a/late.bin").read_bytes() == bytes(3 * MIB)
    assert names(folder / "a") == ["late.bin"]


def test_a_bare_body_is_a_file(http: httpx.Client, folder: Path) -> None:
    for headers in ({}, {"Content-Type": "application/octet-stream"}, {"Content-Type": "text/plain"}):
        path = folder / f"bare-{len(names(folder))}"
        response = http.post("/v1/file/upload", params={"path": str(path)}, content=BYTES, headers=headers)
        names_of_both = {"file_path": str(path), "file_size": len(BYTES), "file": str(path), "size": len(BYTES)}
        assert response.json()["data"] == {**names_of_both, "success": True}
        assert path.read_bytes() == BYTES


def test_a_form_without_a_file_is_refused(http: httpx.Client, folder: Path) -> None:
    path = str(folder / "file")

    for body in (
        Form.of(Form.field("path", path)),
        Form.of(),
        Form.of(Form.field("path", path), Form.field("other", "x")),
    ):
        response = http.post("/v1/file/upload", content=body, headers=Form.headers)
        assert field_of(response) == "file"
    assert names(folder) == []


@pytest.mark.parametrize(
    "body",
    [
        b"no boundary at all",
        b"".join(Form.of(Form.field("path", "/x"), Form.file(iter([b"data"]))))[:-30],
        b"".join(Form.file(iter([b"cut off in the data"])))[:-8],
    ],
    ids=["not a form", "no end", "cut"],
)
def test_a_broken_form_is_refused(http: httpx.Client, folder: Path, server: Server, body: bytes) -> None:
    before = picture(server.workspace)
    body = body.replace(b"/x", os.fsencode(folder / "file"))

    response = http.post("/v1/file/upload", content=body, headers=Form.headers)

    assert response.status_code in (400, 422), response.text
    assert response.json()["success"] is False
    assert names(folder) == [] and picture(server.workspace) == before


@pytest.mark.parametrize(
    "path, error_type",
    [
        ("file/below", "invalid_target"),
        ("file/", "invalid_target"),
        ("x" * 300, "invalid_path"),
        ("deep/" * 1000 + "x", "invalid_path"),
        ("pipe", "invalid_target"),
    ],
)
def test_an_impossible_target_is_a_fault(client: Sandbox, folder: Path, path: str, error_type: str) -> None:
    (folder / "file").write_text("text")
    os.mkfifo(folder / "pipe")
    before = names(folder)

    error = fault(client.file.upload_file(file=("name", BYTES), path=f"{folder}/{path}"), error_type)

    assert (error.file_size, error.operation) == (0, "upload")
    assert error.success is False
    assert names(folder) == before
    assert (folder / "file").read_text() == "text"


def test_a_directory_is_never_replaced_by_a_file(http: httpx.Client, folder: Path) -> None:
    """The bare body has no name to put into the directory."""
    make_tree(folder, {"dir/inside": "text"})

    response = http.post("/v1/file/upload", params={"path": str(folder / "dir")}, content=b"x")

    assert (folder / "dir/inside").read_text() == "text"
    assert response.status_code < 500


def test_a_nul_in_the_path_is_refused(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    form = Form.of(Form.field("path", f"{folder}/a\0b"), Form.file(iter([b"x"])))
    assert field_of(http.post("/v1/file/upload", content=form, headers=Form.headers)) == "path"
    bare = http.post("/v1/file/upload", params={"path": f"{folder}/a\0b"}, content=b"x")
    assert field_of(bare) == "path"
    assert names(folder) == []


def test_a_file_over_the_limit_is_refused_and_leaves_nothing(start_server: Callable[..., Server], folder: Path) -> None:
    server = start_server(environment={"ATOLL_LIMIT_UPLOAD_BYTES": str(MIB)})
    (folder / "old").write_text("old")

    with server.http as http:
        for params, content, headers in (
            ({"path": str(folder / "old")}, zeros(2 * MIB), {}),
            ({}, Form.of(Form.field("path", str(folder / "new")), Form.file(zeros(2 * MIB))), Form.headers),
            ({}, Form.of(Form.file(zeros(2 * MIB)), Form.field("path", str(folder / "new"))), Form.headers),
        ):
            try:
                response = http.post("/v1/file/upload", params=params, content=content, headers=headers)
            except httpx.WriteError:
                continue  # The server may stop listening before all of it is sent.
            body = response.json()
            assert body["success"] is False
            assert body["error_code"] == "file.too_large" or response.status_code == 413
        exact = http.post("/v1/file/upload", params={"path": str(folder / "fits")}, content=zeros(MIB))
        assert exact.json()["success"] is True
    assert names(folder) == ["fits", "old"]
    assert (folder / "old").read_text() == "old"
    assert names(server.workspace) == []


def _begin_upload(server: Server, head: bytes) -> socket.socket:
    """A connection on which the first part of an upload has been sent."""
    url = httpx.URL(server.url)
    connection = socket.create_connection((url.host, url.port))
    connection.sendall(head)
    return connection


@pytest.mark.parametrize("form", ["path first", "path last", "bare", "archive"])
def test_an_upload_that_breaks_off_leaves_nothing(server: Server, folder: Path, form: str) -> None:
    """Neither the file nor anything it was collected in."""
    (folder / "file").write_text("old")
    url = httpx.URL(server.url)
    host = f"Host: {url.host}:{url.port}\r\nContent-Length: 100000000\r\n"
    path = folder / "file"
    if form == "bare":
        # Below directories that are missing: those made for it go with it.
        head = f"POST /v1/file/upload?path={folder}/new/dir/file HTTP/1.1\r\n{host}\r\n".encode()
    elif form == "archive":
        head = f"POST /v1/file/extract?path={folder}/new HTTP/1.1\r\n{host}\r\n".encode()
    else:
        kind = Form.headers["Content-Type"]
        head = f"POST /v1/file/upload HTTP/1.1\r\n{host}Content-Type: {kind}\r\n\r\n".encode()
        if form == "path first":
            head += b"".join(Form.field("path", str(path)))
        head += b"".join(Form.file(iter([])))[:-2]
    before = (picture(server.workspace), picture(server.home))

    with _begin_upload(server, head + bytes(4 * MIB)) as connection:
        connection.sendall(bytes(4 * MIB))

    def cleaned_up() -> bool:
        return names(folder) == ["file"] and not _open_files(server.process.pid, str(folder))

    eventually(cleaned_up, "nothing is left of the upload")
    assert (folder / "file").read_text() == "old"
    eventually(lambda: (picture(server.workspace), picture(server.home)) == before, "nothing is left elsewhere")


def _open_files(pid: int, below: str) -> List[str]:
    """What this process has open below a directory, unnamed files included."""
    opened = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            opened.append(os.readlink(f"/proc/{pid}/fd/{number}"))
        except FileNotFoundError:
            pass
    return [path for path in opened if path.startswith(below)]


@pytest.mark.parametrize("form", ["form", "chunks", "known length"])
def test_a_large_upload_needs_little_memory(start_server: Callable[..., Server], folder: Path, form: str) -> None:
    server = start_server()
    process = Process(server.process.pid)
    server.client.file.upload_file(file=("warm", BYTES), path=str(folder / "warm"))
    size, path = 256 * MIB, folder / "large"
    before = process.resident()

    with server.http as http:
        if form == "form":
            body = Form.of(Form.field("path", str(path)), Form.file(zeros(size)))
            response = http.post("/v1/file/upload", content=body, headers=Form.headers)
        else:
            headers = {"Content-Length": str(size)} if form == "known length" else {}
            response = http.post("/v1/file/upload", params={"path": str(path)}, content=zeros(size), headers=headers)

    assert response.json()["data"]["file_size"] == size == path.stat().st_size
    path.unlink()
    assert process.peak() - before < 64 * MIB


def test_what_arrives_is_what_was_sent(http: httpx.Client, folder: Path) -> None:
    """Boundaries that almost end the form, in chunks that cut them anywhere."""
    blocks = [b"\r\n--a-boundary-of-the-test", b"\r\n", b"--", b"\r", b"\n--a-boundary", os.urandom(70_000), b"\r\n--"]
    chunks = blocks * 20
    body = Form.of(Form.field("path", str(folder / "file")), Form.file(iter(chunks)))

    response = http.post("/v1/file/upload", content=body, headers=Form.headers)

    assert response.json()["success"] is True
    sent = hashlib.sha256(b"".join(chunks)).hexdigest()
    assert hashlib.sha256((folder / "file").read_bytes()).hexdigest() == sent


def test_a_large_body_is_taken_to_its_last_byte_and_no_further(server: Server, folder: Path) -> None:
    """The kernel moves it past HTTP, so the connection ends with the answer; what is sent after it is not the file's."""
    content, url = os.urandom(12 * MIB + 77), httpx.URL(server.url)
    head = f"POST /v1/file/upload?path={folder}/file HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n"
    head += f"Content-Length: {len(content)}\r\n\r\n"
    following = f"GET /v1/ping HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n\r\n"

    with _begin_upload(server, head.encode() + content[:1000]) as connection:
        for start in range(1000, len(content), 99_999):
            connection.sendall(content[start : start + 99_999])
        connection.sendall(following.encode())
        answer = b""
        while piece := connection.recv(65536):
            answer += piece

    assert answer.startswith(b"HTTP/1.1 200") and answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer.split(b"\r\n\r\n")[0].lower()
    assert (folder / "file").read_bytes() == content


def test_a_client_takes_up_a_new_connection_after_a_large_body(http: httpx.Client, folder: Path) -> None:
    for number in range(3):
        content = os.urandom(5 * MIB)
        response = http.post("/v1/file/upload", params={"path": f"{folder}/{number}"}, content=content)
        assert response.json()["data"]["file_size"] == len(content)
        assert (folder / str(number)).read_bytes() == content
