"""Files out of the sandbox: the SDK's stream, ranges and conditions as HTTP has them, resuming, and changing files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Callable, Dict, Tuple

import httpx
import pytest
from agent_sandbox import Sandbox
from files import MIB, Process, field_of, refusal, refused
from server import Server

URL = "/v1/file/download"
BYTES = bytes(range(256)) * 4


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "data.bin"
    path.write_bytes(BYTES)
    return path


def get(http: httpx.Client, path: Path, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.get(URL, params={"path": str(path)}, headers=named)


def test_download_streams_the_bytes(client: Sandbox, folder: Path) -> None:
    content = os.urandom(5 * MIB + 3)
    (folder / "file").write_bytes(content)

    assert b"".join(client.file.download_file(path=str(folder / "file"))) == content
    chunks = list(client.file.download_file(path=str(folder / "file"), request_options={"chunk_size": MIB}))
    assert [len(chunk) for chunk in chunks] == [MIB] * 5 + [3]
    assert b"".join(chunks) == content


def test_download_of_an_empty_file(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    (folder / "empty").touch()

    assert b"".join(client.file.download_file(path=str(folder / "empty"))) == b""
    assert get(http, folder / "empty").headers["content-length"] == "0"


def test_download_says_what_it_sends(http: httpx.Client, file: Path) -> None:
    response = get(http, file)

    assert response.status_code == 200
    assert response.content == BYTES
    headers = response.headers
    assert headers["content-type"].startswith("application/octet-stream")
    assert (headers["content-length"], headers["accept-ranges"]) == ("1024", "bytes")
    assert headers["etag"].startswith('"') and headers["last-modified"]
    assert "data.bin" in headers["content-disposition"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ['quote".txt', "żółw.txt", "line\nbreak", "semi;colon", "\\", "cr\rlf\nx: y"])
def test_any_name_can_be_downloaded(http: httpx.Client, folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"x")

    response = get(http, folder / name)

    assert (response.status_code, response.content) == (200, b"x")
    assert "x" not in response.headers


def test_head_tells_without_sending(http: httpx.Client, file: Path, folder: Path) -> None:
    got = get(http, file)
    head = http.head(URL, params={"path": str(file)})

    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-length", "content-type", "etag", "last-modified", "accept-ranges", "content-disposition"):
        assert head.headers[name] == got.headers[name]
    assert http.head(URL, params={"path": str(folder / "missing")}).status_code == 404


@pytest.mark.parametrize(
    "wanted, first, last",
    [
        ("bytes=0-0", 0, 0),
        ("bytes=0-99", 0, 99),
        ("bytes=100-", 100, 1023),
        ("bytes=1000-5000", 1000, 1023),
        ("bytes=-1", 1023, 1023),
        ("bytes=-5000", 0, 1023),
        ("bytes=1023-1023", 1023, 1023),
    ],
)
def test_a_range_is_sent(http: httpx.Client, file: Path, wanted: str, first: int, last: int) -> None:
    response = get(http, file, range=wanted)

    assert response.status_code == 206
    assert response.content == BYTES[first : last + 1]
    assert response.headers["content-range"] == f"bytes {first}-{last}/1024"
    assert response.headers["content-length"] == str(last - first + 1)
    assert response.headers["etag"] == get(http, file).headers["etag"]


@pytest.mark.parametrize("wanted", ["bytes=1024-", "bytes=5000-6000", "bytes=-0"])
def test_a_range_outside_the_file_is_refused(http: httpx.Client, file: Path, wanted: str) -> None:
    response = get(http, file, range=wanted)

    assert response.status_code == 416
    assert response.headers["content-range"] == "bytes */1024"


@pytest.mark.parametrize("wanted", ["bytes=9-5", "bytes=", "bytes=x-y", "lines=1-2", "bytes 1-2", "0-10"])
def test_a_range_that_makes_no_sense_is_passed_over(http: httpx.Client, file: Path, wanted: str) -> None:
    response = get(http, file, range=wanted)

    assert (response.status_code, response.content) == (200, BYTES)


def test_several_ranges_get_an_answer(http: httpx.Client, file: Path) -> None:
    response = get(http, file, range="bytes=0-1,4-5")

    if response.status_code == 206:
        assert response.headers["content-type"].startswith("multipart/byteranges")
    else:
        assert (response.status_code, response.content) == (200, BYTES)


def test_what_the_caller_has_already_is_not_sent_again(http: httpx.Client, file: Path) -> None:
    first = get(http, file)
    tag, modified = first.headers["etag"], first.headers["last-modified"]

    for headers in ({"if_none_match": tag}, {"if_none_match": f'"other", {tag}'}, {"if_none_match": "*"}):
        response = get(http, file, **headers)
        assert (response.status_code, response.content, response.headers["etag"]) == (304, b"", tag)
    assert get(http, file, if_modified_since=modified).status_code == 304
    assert get(http, file, if_none_match='"other"').content == BYTES
    # A tag is stronger than a time.
    assert get(http, file, if_none_match='"other"', if_modified_since=modified).status_code == 200


def test_a_changed_file_has_another_tag(http: httpx.Client, file: Path) -> None:
    tags = {get(http, file).headers["etag"]}
    status = file.stat()

    file.write_bytes(BYTES[::-1])
    tags.add(get(http, file).headers["etag"])
    # As long as before, and claiming to be as old: still another file.
    (file.parent / "other").write_bytes(BYTES)
    os.utime(file.parent / "other", ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(file.parent / "other", file)
    tags.add(get(http, file).headers["etag"])

    assert len(tags) == 3


def test_a_download_that_breaks_off_is_resumed(server: Server, folder: Path) -> None:
    content = os.urandom(40 * MIB)
    (folder / "file").write_bytes(content)
    params = {"path": str(folder / "file")}

    with server.http as http:
        with http.stream("GET", URL, params=params) as response:
            tag = response.headers["etag"]
            got = next(response.iter_bytes(MIB))
    with server.http as http:
        headers = {"Range": f"bytes={len(got)}-", "If-Range": tag}
        rest = http.get(URL, params=params, headers=headers)
        assert rest.status_code == 206
        assert hashlib.sha256(got + rest.content).digest() == hashlib.sha256(content).digest()

        (folder / "file").write_bytes(b"something else")
        changed = http.get(URL, params=params, headers=headers)
        assert (changed.status_code, changed.content) == (200, b"something else")


def test_a_slow_reader_costs_no_memory(start_server: Callable[..., Server], folder: Path) -> None:
    server = start_server()
    process = Process(server.process.pid)
    size = 256 * MIB
    with (folder / "large").open("wb") as file:
        file.truncate(size)
    (folder / "small").touch()
    list(server.client.file.download_file(path=str(folder / "small")))
    before = process.resident()

    got = 0
    for chunk in server.client.file.download_file(path=str(folder / "large"), request_options={"chunk_size": MIB}):
        got += len(chunk)
        if got == 2 * MIB:
            # The reader rests until the server, which has sent what fits, has nothing to do.
            process.wait_until_quiet()
            assert process.peak() - before < 64 * MIB

    assert got == size
    assert process.peak() - before < 64 * MIB


def _change_midway(server: Server, path: Path, change: Callable[[], Any], **params: str) -> Tuple[int, int]:
    """Starts a download, changes the file once bytes flow, and returns the bytes promised and received."""
    with server.http as http:
        with http.stream("GET", URL, params={"path": str(path), **params}) as response:
            chunks = response.iter_bytes(MIB)
            got = len(next(chunks))
            change()
            got += sum(map(len, chunks))
            return int(response.headers["content-length"]), got


def test_a_file_that_changes_is_sent_on_or_not_as_asked(server: Server, folder: Path) -> None:
    """More than fits between server and client, so that the change happens while most of it is still to be sent."""
    path = folder / "file"

    def fill() -> None:
        with path.open("wb") as file:
            file.truncate(128 * MIB)

    def append() -> None:
        with path.open("ab") as file:
            file.write(b"more")

    changes: Dict[str, Callable[[], Any]] = {"append": append, "touch": lambda: os.utime(path, (1, 1))}
    for change in changes.values():
        fill()
        with pytest.raises(httpx.RemoteProtocolError):
            _change_midway(server, path, change, change_policy="abort")
        fill()
        assert _change_midway(server, path, change) == (128 * MIB, 128 * MIB)
        assert _change_midway(server, path, change, change_policy="ignore")[1] >= 128 * MIB
    fill()
    assert _change_midway(server, path, lambda: None, change_policy="abort") == (128 * MIB, 128 * MIB)


def test_a_file_that_shrinks_ends_the_download(server: Server, folder: Path) -> None:
    path = folder / "file"
    with path.open("wb") as file:
        file.truncate(128 * MIB)

    with pytest.raises(httpx.RemoteProtocolError):
        _change_midway(server, path, lambda: os.truncate(path, 1))


def test_what_cannot_be_downloaded_is_refused_with_a_status(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "file").touch()

    error = refused(lambda: b"".join(client.file.download_file(path=str(folder / "missing"))))
    assert (error.status_code, error.body["data"]["error_type"]) == (404, "not_found")
    for path, status, code in (
        (folder / "missing", 404, "file.not_found"),
        (folder, 400, "file.invalid_target"),
        (folder / "file/below", 400, "file.invalid_target"),
        (folder / "pipe", 400, "file.invalid_target"),
        (Path("/dev/zero"), 400, "file.invalid_target"),
        (folder / ("x" * 5000), 400, "file.invalid_path"),
    ):
        refusal(get(http, path), status, code)
    assert field_of(http.get(URL)) == "path"
    assert field_of(get(http, Path("/with\0nul"))) == "path"
    wrong = {"path": str(folder / "file"), "change_policy": "perhaps"}
    assert field_of(http.get(URL, params=wrong)) == "change_policy"


def test_files_of_the_kernel_can_be_downloaded(http: httpx.Client) -> None:
    """Their length is not known before they are read."""
    assert get(http, Path("/proc/version")).text == Path("/proc/version").read_text()


def test_the_sister_systems_name_for_the_path_works(http: httpx.Client, file: Path) -> None:
    assert http.get(URL, params={"file": str(file)}).content == BYTES
