"""Disks that are full or must not be written to: the old content stays, and nothing half-written is left."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any, Callable, Dict

import httpx
import pytest
from files import MIB, Form, fault, names, picture, private_mounts, refusal, zeros
from server import Server

LARGE = "x" * (2 * MIB)


class Disk:
    """A file system of a server of its own."""

    def __init__(self, server: Server, path: Path) -> None:
        self.server = server
        # As the server calls it, and as the test can look at it.
        self.path = path
        self.seen = Path(f"/proc/{server.process.pid}/root{path}")


def disk_of(start_server: Callable[..., Server], path: Path, script: str) -> Disk:
    path.mkdir()
    return Disk(start_server(wrapper=private_mounts(script)), path)


@pytest.fixture
def small(start_server: Callable[..., Server], tmp_path: Path) -> Disk:
    """A disk of a megabyte with one file."""
    path = tmp_path / "disk"
    script = f"mount -t tmpfs -o size=1m tmpfs '{path}'\nprintf old > '{path}/file'"
    return disk_of(start_server, path, script)


@pytest.fixture
def read_only(start_server: Callable[..., Server], tmp_path: Path) -> Disk:
    """A disk that nobody may write to."""
    path = tmp_path / "disk"
    script = f"mount -t tmpfs tmpfs '{path}'\nprintf old > '{path}/file'\nmount -o remount,bind,ro '{path}'"
    return disk_of(start_server, path, script)


def test_a_full_disk_keeps_the_old_content(small: Disk) -> None:
    client, file = small.server.client, str(small.path / "file")

    for call in (
        lambda: client.file.write_file(file=file, content=LARGE),
        lambda: client.file.write_file(file=file, content=LARGE, append=True),
        lambda: client.file.replace_in_file(file=file, old_str="old", new_str=LARGE),
        lambda: client.file.str_replace_editor(command="str_replace", path=file, old_str="old", new_str=LARGE),
        lambda: client.file.str_replace_editor(command="create", path=f"{small.path}/new", file_text=LARGE),
        lambda: client.file.upload_file(file=("file", LARGE), path=file),
        lambda: client.file.upload_file(file=("new", LARGE), path=f"{small.path}/"),
    ):
        error = fault(call(), "no_space_left")
        assert (error.errno, error.errno_name, error.exception_type) == (28, "ENOSPC", "OSError")
        assert names(small.seen) == ["file"]
        assert (small.seen / "file").read_text() == "old"
    assert client.file.write_file(file=file, content="new").success is True
    assert (small.seen / "file").read_text() == "new"


def archive_of(size: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("first", "second"):
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))
    return buffer.getvalue()


def test_a_full_disk_stops_copies_moves_and_archives_whole(small: Disk, folder: Path) -> None:
    (folder / "large").write_text(LARGE)
    before = picture(small.seen)

    with small.server.http as http:
        for verb in ("copy", "move"):
            paths = {"source": str(folder / "large"), "destination": f"{small.path}/copied"}
            refused_for_space(http.post(f"/v1/file/{verb}", json=paths))
            assert picture(small.seen) == before and (folder / "large").read_text() == LARGE
        files = {"file": ("a.tar", archive_of(2 * MIB))}
        refused_for_space(http.post("/v1/file/extract", data={"path": str(small.path)}, files=files))
        late = Form.of(Form.file(zeros(2 * MIB)), Form.field("path", f"{small.path}/late"))
        body = http.post("/v1/file/upload", content=late, headers=Form.headers).json()
        assert body["error_code"] == "file.no_space_left"
        # So large that the kernel moves it: the answer comes although the client is still sending.
        params = {"path": f"{small.path}/bare"}
        body = http.post("/v1/file/upload", params=params, content=bytes(16 * MIB)).json()
        assert body["error_code"] == "file.no_space_left"
        assert picture(small.seen) == before
        # Not even its first bytes find room.
        fill_up(small.seen / "filler")
        body = http.post("/v1/file/upload", params=params, content=bytes(16 * MIB)).json()
        assert body["error_code"] == "file.no_space_left"
    assert names(small.seen) == ["file", "filler"]


def fill_up(path: Path) -> None:
    with path.open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space left"):
        while True:
            filler.write(bytes(4096))


def refused_for_space(response: httpx.Response) -> None:
    refusal(response, response.status_code, "file.no_space_left")
    assert response.status_code >= 400


def test_a_disk_that_must_not_be_written_to_says_so(read_only: Disk) -> None:
    client, file = read_only.server.client, str(read_only.path / "file")
    before = picture(read_only.seen)

    for call in (
        lambda: client.file.write_file(file=file, content="x"),
        lambda: client.file.write_file(file=file, content="x", append=True),
        lambda: client.file.write_file(file=f"{read_only.path}/a/b", content="x"),
        lambda: client.file.replace_in_file(file=file, old_str="old", new_str="new"),
        lambda: client.file.str_replace_editor(command="str_replace", path=file, old_str="old", new_str="new"),
        lambda: client.file.str_replace_editor(command="create", path=f"{read_only.path}/new", file_text="x"),
        lambda: client.file.upload_file(file=("new", b"x"), path=f"{read_only.path}/"),
    ):
        error = fault(call(), "read_only_filesystem")
        assert (error.errno, error.errno_name, error.exception_type) == (30, "EROFS", "OSError")
    assert client.file.read_file(file=file).data.content == "old"
    assert b"".join(client.file.download_file(path=file)) == b"old"
    assert picture(read_only.seen) == before


def test_what_changes_a_tree_is_refused_on_such_a_disk(read_only: Disk, folder: Path) -> None:
    (folder / "file").write_text("mine")
    inside, outside = str(read_only.path / "file"), str(folder / "file")
    before = picture(read_only.seen)
    bodies: Dict[str, Dict[str, Any]] = {
        "append": {"file": inside, "content": "x"},
        "mkdir": {"path": f"{read_only.path}/dir"},
        "delete": {"path": inside},
        "copy": {"source": outside, "destination": f"{read_only.path}/copy"},
        "create-temp": {"dir": str(read_only.path)},
    }

    with read_only.server.http as http:
        for verb, body in bodies.items():
            refusal(http.post(f"/v1/file/{verb}", json=body), 409, "file.read_only_filesystem")
        moves = ((inside, f"{folder}/out"), (outside, f"{read_only.path}/in"), (inside, f"{read_only.path}/renamed"))
        for source, destination in moves:
            body = {"source": source, "destination": destination}
            refusal(http.post("/v1/file/move", json=body), 409, "file.read_only_filesystem")
        files = {"file": ("a.tar", archive_of(10))}
        unpacked = http.post("/v1/file/extract", data={"path": str(read_only.path)}, files=files)
        refusal(unpacked, 409, "file.read_only_filesystem")
    assert picture(read_only.seen) == before
    assert names(folder) == ["file"]
