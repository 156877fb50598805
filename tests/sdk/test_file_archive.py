"""Directories out as archives and archives in: read back with Python's own modules, hostile ones refused whole."""

from __future__ import annotations

import gzip
import io
import os
import random
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import httpx
import pytest
from files import MIB, PATIENCE, Form, Process, field_of, make_tree, names, picture, refusal
from server import Server

TREE = {
    "file.txt": "text\n",
    "sub/run.sh": "#!/bin/sh\n",
    "sub/ż ó": "names\n",
    "empty/": "",
    "zero": "",
    # Nothing that shrinks like a bomb when it is packed.
    "large": random.Random(1).randbytes(2 * MIB),
    ".hidden": "h",
    "long-" + "n" * 180: "long",
}
FORMATS = ["tar", "tar.gz", "zip"]


@pytest.fixture
def tree(folder: Path) -> Path:
    path = folder / "project"
    make_tree(path, TREE)
    (path / "sub/run.sh").chmod(0o755)
    (path / "link").symlink_to("file.txt")
    return path


def download(http: httpx.Client, path: Path, **params: str) -> httpx.Response:
    return http.get("/v1/file/archive", params={"path": str(path), **params})


def unpack_with_python(content: bytes, form: str, where: Path) -> None:
    if form == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.testzip() is None
            for info in archive.infolist():
                mode = info.external_attr >> 16
                if stat.S_ISLNK(mode):
                    (where / info.filename).symlink_to(archive.read(info).decode())
                else:
                    archive.extract(info, where)
                    (where / info.filename).chmod(stat.S_IMODE(mode))
    else:
        with tarfile.open(fileobj=io.BytesIO(content), mode={"tar": "r:", "tar.gz": "r:gz"}[form]) as archive:
            archive.extractall(where)


@pytest.mark.parametrize("form", FORMATS)
def test_an_archive_holds_the_directory(http: httpx.Client, tree: Path, folder: Path, form: str) -> None:
    response = download(http, tree, format=form)

    assert response.status_code == 200, response.text
    media = {"tar": "application/x-tar", "tar.gz": "application/gzip", "zip": "application/zip"}[form]
    assert response.headers["content-type"].startswith(media)
    assert f"project.{form}" in response.headers["content-disposition"]
    (folder / "back").mkdir()
    unpack_with_python(response.content, form, folder / "back")
    assert names(folder / "back") == ["project"]
    assert picture(folder / "back/project") == picture(tree)


def test_an_archive_is_a_compressed_tar_unless_told_otherwise(http: httpx.Client, tree: Path) -> None:
    content = download(http, tree).content

    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        assert "project/file.txt" in archive.getnames()


@pytest.mark.parametrize("form", FORMATS)
def test_one_file_can_be_packed_too(http: httpx.Client, tree: Path, folder: Path, form: str) -> None:
    content = download(http, tree / "sub/run.sh", format=form).content

    (folder / "back").mkdir()
    unpack_with_python(content, form, folder / "back")
    assert (folder / "back/run.sh").read_text() == "#!/bin/sh\n"
    assert names(folder / "back") == ["run.sh"]


def test_odd_things_in_a_directory_do_not_stop_the_archive(http: httpx.Client, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    (tree / "loop").symlink_to(".")
    (tree / "nowhere").symlink_to("/no/such/place")
    with open(os.path.join(os.fsencode(tree), b"bad-\xff"), "wb") as file:
        file.write(b"bad name")

    for form in FORMATS:
        response = http.get("/v1/file/archive", params={"path": str(tree), "format": form}, timeout=PATIENCE)
        assert response.status_code == 200
    tar = download(http, tree, format="tar").content
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        assert archive.extractfile(os.fsdecode(b"project/bad-\xff")).read() == b"bad name"
        assert archive.getmember("project/nowhere").linkname == "/no/such/place"


def test_what_cannot_be_packed_is_refused(http: httpx.Client, tree: Path) -> None:
    os.mkfifo(tree / "pipe")

    refusal(download(http, tree / "missing"), 404, "file.not_found")
    refusal(download(http, tree / "pipe"), 400, "file.invalid_target")
    assert field_of(download(http, tree, format="rar")) == "format"
    assert field_of(http.get("/v1/file/archive")) == "path"


def extract(
    http: httpx.Client, path: Optional[Path], content: bytes, filename: str = "archive", **fields: str
) -> httpx.Response:
    """Sends an archive as a form to be unpacked."""
    data = {**({"path": str(path)} if path else {}), **fields}
    return http.post("/v1/file/extract", data=data, files={"file": (filename, content)}, timeout=PATIENCE)


def pack(tree: Path, form: str) -> bytes:
    """The content of a directory, packed by Python."""
    buffer = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(tree.rglob("*")):
                name = str(path.relative_to(tree))
                if path.is_symlink():
                    info = zipfile.ZipInfo(name)
                    info.create_system, info.external_attr = 3, 0o120777 << 16
                    archive.writestr(info, os.readlink(path))
                else:
                    archive.write(path, name)
    else:
        with tarfile.open(fileobj=buffer, mode={"tar": "w", "tar.gz": "w:gz"}[form]) as archive:
            for path in sorted(tree.iterdir()):
                archive.add(path, path.name)
    return buffer.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_an_archive_is_unpacked(http: httpx.Client, tree: Path, folder: Path, form: str) -> None:
    target = folder / "new/target"

    response = extract(http, target, pack(tree, form))

    assert response.status_code == 200, response.text
    result = response.json()["data"]
    expected = picture(tree)
    assert picture(target) == expected
    assert names(folder) == ["new", "project"] and names(target.parent) == ["target"]
    total = sum(len(content) for mode, content in expected.values() if stat.S_ISREG(mode))
    assert (result["path"], result["format"], result["bytes"]) == (str(target), form, total)
    assert result["entries"] == len(expected)


def test_an_archive_made_here_is_unpacked_here(http: httpx.Client, tree: Path, folder: Path) -> None:
    for form in FORMATS:
        target = folder / f"back-{form}"
        extract(http, target, download(http, tree, format=form).content)
        assert picture(target / "project") == picture(tree)


def test_a_bare_body_and_a_late_path_work_too(http: httpx.Client, tree: Path, folder: Path) -> None:
    content = pack(tree, "tar.gz")

    bare = http.post("/v1/file/extract", params={"path": str(folder / "bare")}, content=content)
    form = Form.of(Form.file(iter([content])), Form.field("path", str(folder / "late")))
    late = http.post("/v1/file/extract", content=form, headers=Form.headers)

    assert (bare.status_code, late.status_code) == (200, 200), (bare.text, late.text)
    assert picture(folder / "bare") == picture(folder / "late") == picture(tree)


def test_without_a_path_an_archive_goes_to_the_workspace(http: httpx.Client, server: Server, folder: Path) -> None:
    make_tree(folder, {"unpacked-here/file": "text"})

    assert extract(http, None, pack(folder, "zip")).json()["data"]["path"] == str(server.workspace)
    assert (server.workspace / "unpacked-here/file").read_text() == "text"


@pytest.mark.parametrize("form", FORMATS)
def test_existing_files_are_replaced_only_when_allowed(http: httpx.Client, folder: Path, form: str) -> None:
    make_tree(folder, {"source/a/file": "new", "source/b": "b", "target/a/file": "old", "target/a/other": "kept"})
    content = pack(folder / "source", form)
    before = picture(folder)

    refusal(extract(http, folder / "target", content), 409, "file.already_exists")
    assert picture(folder) == before

    assert extract(http, folder / "target", content, overwrite="true").status_code == 200
    assert (folder / "target/a/file").read_text() == "new"
    assert (folder / "target/a/other").read_text() == "kept"
    assert names(folder) == ["source", "target"]


def test_a_directory_never_becomes_a_file_nor_a_file_a_directory(http: httpx.Client, folder: Path) -> None:
    make_tree(folder, {"target/dir/file": "x", "target/file": "y"})
    before = picture(folder)

    for name in ("dir", "file/below"):
        content = tar_of(("new", {}, b"new"), (name, {}, b"z"))
        refusal(extract(http, folder / "target", content, overwrite="true"), 400, "file.invalid_target")
        assert picture(folder) == before


def test_bits_that_lend_rights_are_not_unpacked(http: httpx.Client, folder: Path) -> None:
    content = tar_of(("suid", {"mode": 0o6755, "uid": 1234, "gid": 1234}, b"x"))

    assert extract(http, folder / "target", content).status_code == 200
    status = (folder / "target/suid").stat()
    assert stat.S_IMODE(status.st_mode) == 0o755
    assert (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid())


def tar_of(*members: Tuple[str, Dict[str, Any], bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, attributes, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(*members: Tuple[str, int, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, mode, content in members:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            archive.writestr(info, content)
    return buffer.getvalue()


GOOD = ("good", {}, b"good")
LINK = {"type": tarfile.SYMTYPE}
HOSTILE: Dict[str, Callable[[Path], bytes]] = {
    "tar up": lambda out: tar_of(GOOD, ("../escaped", {}, b"x")),
    "tar deep up": lambda out: tar_of(GOOD, ("a/b/../../../escaped", {}, b"x")),
    "tar absolute": lambda out: tar_of(GOOD, (f"{out}/escaped", {}, b"x")),
    "tar through a link": lambda out: tar_of(GOOD, ("l", {**LINK, "linkname": str(out)}, b""), ("l/escaped", {}, b"x")),
    "tar relative link": lambda out: tar_of(GOOD, ("l", {**LINK, "linkname": "../.."}, b""), ("l/escaped", {}, b"x")),
    "tar chained links": lambda out: tar_of(
        ("a", {**LINK, "linkname": "."}, b""), ("a/b", {**LINK, "linkname": ".."}, b""), ("b/escaped", {}, b"x")
    ),
    "tar link to the root": lambda out: tar_of(GOOD, ("l", {**LINK, "linkname": "/"}, b"")),
    "tar hard link": lambda out: tar_of(GOOD, ("h", {"type": tarfile.LNKTYPE, "linkname": "../secret"}, b"")),
    "tar absolute hard link": lambda out: tar_of(("h", {"type": tarfile.LNKTYPE, "linkname": f"{out}/secret"}, b"")),
    "tar device": lambda out: tar_of(GOOD, ("d", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5}, b"")),
    "tar pipe": lambda out: tar_of(GOOD, ("p", {"type": tarfile.FIFOTYPE}, b"")),
    "zip up": lambda out: zip_of(("good", 0o100644, b"x"), ("../escaped", 0o100644, b"x")),
    "zip backslash up": lambda out: zip_of(("good", 0o100644, b"x"), ("..\\..\\escaped/../../escaped", 0o100644, b"x")),
    "zip absolute": lambda out: zip_of(("good", 0o100644, b"x"), (f"{out}/escaped", 0o100644, b"x")),
    "zip through a link": lambda out: zip_of(("l", 0o120777, os.fsencode(out)), ("l/escaped", 0o100644, b"x")),
    "zip link out": lambda out: zip_of(("good", 0o100644, b"x"), ("l", 0o120777, b"../../secret")),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_changes(http: httpx.Client, folder: Path, kind: str) -> None:
    make_tree(folder, {"secret": "secret", "target/mine": "mine", "out/": ""})
    before = picture(folder)

    response = extract(http, folder / "target", HOSTILE[kind](folder / "out"))

    refusal(response, response.status_code, "archive.unsafe")
    assert 400 <= response.status_code < 500
    assert picture(folder) == before


def test_an_existing_link_in_the_target_is_not_followed_out(http: httpx.Client, folder: Path) -> None:
    make_tree(folder, {"out/": "", "target/": ""})
    (folder / "target/door").symlink_to("../out")

    response = extract(http, folder / "target", tar_of(("door/escaped", {}, b"x")), overwrite="true")

    refusal(response, 400, "file.invalid_target")
    assert names(folder / "out") == []
    assert (folder / "target/door").is_symlink()


def test_links_that_stay_inside_are_fine(http: httpx.Client, folder: Path) -> None:
    content = tar_of(
        ("dir/file", {}, b"text"),
        ("dir/link", {**LINK, "linkname": "../dir/file"}, b""),
        ("hard", {"type": tarfile.LNKTYPE, "linkname": "dir/file"}, b""),
    )

    assert extract(http, folder / "target", content).status_code == 200
    assert (folder / "target/dir/link").read_text() == "text"
    assert (folder / "target/hard").read_text() == "text"


@pytest.fixture
def strict(start_server: Callable[..., Server]) -> Iterator[httpx.Client]:
    """A server that unpacks little."""
    limits = {"ENTRIES": "50", "BYTES": str(32 * MIB), "RATIO": "100"}
    server = start_server(environment={f"ATOLL_LIMIT_ARCHIVE_{name}": value for name, value in limits.items()})
    with server.http as http:
        yield http


def test_an_archive_that_grows_past_the_limits_is_refused(strict: httpx.Client, folder: Path) -> None:
    zeros = gzip.compress(tar_of(("bomb", {}, bytes(31 * MIB))), 9)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("bomb", bytes(31 * MIB))
    too_large = tar_of(("large", {}, bytes(33 * MIB)))
    too_many = tar_of(*((f"file-{number}", {}, b"") for number in range(51)))
    make_tree(folder, {"target/mine": "mine"})
    before = picture(folder)

    for content in (zeros, zipped.getvalue(), too_large, too_many):
        refusal(extract(strict, folder / "target", content), 413, "archive.too_large")
        assert picture(folder) == before


def test_large_archives_need_little_memory(start_server: Callable[..., Server], folder: Path) -> None:
    size = 128 * MIB
    server = start_server()
    process = Process(server.process.pid)
    (folder / "source").mkdir()
    with (folder / "source/large").open("wb") as file:
        file.truncate(size)

    with server.http as http:
        before = process.resident()
        packed = folder / "packed.tar"
        with http.stream("GET", "/v1/file/archive", params={"path": str(folder / "source"), "format": "tar"}) as got:
            with packed.open("wb") as file:
                file.writelines(got.iter_bytes(MIB))
        with packed.open("rb") as file:
            response = http.post("/v1/file/extract", params={"path": str(folder / "back")}, content=file)

    assert response.json()["data"]["bytes"] == size == (folder / "back/source/large").stat().st_size
    assert process.peak() - before < 64 * MIB
    for path in (packed, folder / "back/source/large"):
        path.unlink()


@pytest.mark.parametrize(
    "content, code",
    [
        (b"no archive at all", "archive.format"),
        (b"", "archive.format"),
        (b"PK\x03\x04 and then nothing of the kind", "archive.broken"),
        (gzip.compress(b"not a tar"), "archive.format"),
        (gzip.compress(tar_of(("file", {}, os.urandom(100_000))))[:-40_000], "archive.broken"),
        (tar_of(("file", {}, os.urandom(100_000)))[:50_000], "archive.broken"),
        (zip_of(("file", 0o100644, b"x" * 5000))[:2000], "archive.broken"),
    ],
    ids=["text", "empty", "zip head", "gzip of text", "cut tar.gz", "cut tar", "cut zip"],
)
def test_what_is_no_sound_archive_changes_nothing(
    http: httpx.Client, folder: Path, content: bytes, code: str
) -> None:
    make_tree(folder, {"target/mine": "mine"})
    before = picture(folder)

    refusal(extract(http, folder / "target", content), 400, code)

    assert picture(folder) == before


def test_a_wrong_target_changes_nothing(http: httpx.Client, folder: Path) -> None:
    make_tree(folder, {"file": "text"})
    content = tar_of(GOOD)

    refusal(extract(http, folder / "file", content), 400, "file.invalid_target")
    refusal(extract(http, folder / "file/below", content), 400, "file.invalid_target")
    no_file = Form.of(Form.field("path", str(folder)))
    assert field_of(http.post("/v1/file/extract", content=no_file, headers=Form.headers)) == "file"
    assert names(folder) == ["file"]
