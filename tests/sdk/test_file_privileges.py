"""A server that is not root: what it may not do is refused, unless it may through sudo and is asked to.

Run as root, the tests start servers as `nobody`; run as anybody else, as that user, without the tests of sudo, whose
rules only root can set.
"""

from __future__ import annotations

import io
import os
import pwd
import shutil
import stat
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator, List

import httpx
import pytest
from files import MIB, fault, names, picture, private_mounts, refusal
from server import Server, binary

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only root can say who may use sudo")
needs_sudo = pytest.mark.skipif(shutil.which("sudo") is None, reason="sudo is not installed")


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory everybody can reach, unlike pytest's own."""
    made = Path(tempfile.mkdtemp(prefix="atoll-test-"))
    made.chmod(0o755)
    yield made
    for parent, directories, _ in os.walk(made):
        for name in directories:
            os.chmod(os.path.join(parent, name), 0o700)
    shutil.rmtree(made)


class Ordinary:
    """Starts servers as an ordinary user."""

    def __init__(self, public: Path, start_server: Callable[..., Server]) -> None:
        self._directory = public / "server"
        self._start = start_server
        self.program = public / "atoll"
        # Where the program lies may be out of that user's reach.
        shutil.copy(binary(), self.program)

    def start(self, before: str = "") -> Server:
        """`before` runs as root in mounts of the server's own."""
        if not ROOT:
            return self._start(directory=self._directory)
        nobody = pwd.getpwnam("nobody")
        script = (
            f"{before}\nchown -R {nobody.pw_uid}:{nobody.pw_gid} '{self._directory}'\nshift\n"
            f"set -- setpriv --reuid={nobody.pw_uid} --regid={nobody.pw_gid} --clear-groups '{self.program}' \"$@\""
        )
        wrapper = private_mounts(script) if before else ["sh", "-ec", f'{script}\nexec "$@"', "sh"]
        return self._start(directory=self._directory, wrapper=wrapper)


@pytest.fixture
def ordinary(public: Path, start_server: Callable[..., Server]) -> Ordinary:
    return Ordinary(public, start_server)


@pytest.fixture
def sealed(public: Path) -> Path:
    """A directory in which an ordinary user can read one file, and do nothing else."""
    made = public / "sealed"
    (made / "closed").mkdir(parents=True)
    (made / "closed/inside").write_text("inside")
    for name, mode in (("readable", 0o444), ("secret", 0o000)):
        (made / name).write_text("old text\n")
        (made / name).chmod(mode)
    (made / "closed").chmod(0o000)
    made.chmod(0o555)
    return made


def state(sealed: Path) -> Any:
    """A picture as far as its maker can see; as root, everything."""
    return picture(sealed) if ROOT else [(name, os.lstat(sealed / name).st_mode) for name in names(sealed)]


def test_what_is_not_allowed_is_a_fault(ordinary: Ordinary, sealed: Path) -> None:
    client = ordinary.start().client
    secret, readable, closed = (str(sealed / name) for name in ("secret", "readable", "closed"))
    before = state(sealed)

    for call in (
        lambda: client.file.read_file(file=secret),
        lambda: client.file.search_in_file(file=secret, regex="x"),
        lambda: client.file.read_file(file=f"{closed}/inside"),
        lambda: client.file.write_file(file=readable, content="new"),
        lambda: client.file.write_file(file=readable, content="new", append=True),
        lambda: client.file.write_file(file=f"{sealed}/new", content="new"),
        lambda: client.file.write_file(file=f"{sealed}/new/deep/file", content="new"),
        lambda: client.file.replace_in_file(file=readable, old_str="old", new_str="new"),
        lambda: client.file.str_replace_editor(command="view", path=secret),
        lambda: client.file.str_replace_editor(command="str_replace", path=readable, old_str="old", new_str="new"),
        lambda: client.file.str_replace_editor(command="create", path=f"{sealed}/new", file_text="new"),
        lambda: client.file.upload_file(file=("new", b"x"), path=f"{sealed}/"),
        lambda: client.file.upload_file(file=("new", b"x"), path=readable),
        lambda: client.file.list_path(path=closed),
        lambda: client.file.find_files(path=closed, glob="*"),
        lambda: client.file.glob_files(path=closed, pattern="*"),
        lambda: client.file.grep_files(path=closed, pattern="x"),
        lambda: client.file.grep_files(path=secret, pattern="x"),
    ):
        error = fault(call(), "permission_denied")
        assert (error.errno, error.errno_name, error.exception_type) == (13, "EACCES", "PermissionError")
    assert client.file.read_file(file=readable).data.content == "old text\n"
    assert state(sealed) == before


def test_a_file_of_somebody_else_is_not_replaced_in_ones_own_directory(ordinary: Ordinary) -> None:
    """Renaming over it would be possible, but who may not write to it may not write to it."""
    server = ordinary.start()
    file = server.workspace / "file"
    file.write_text("old")
    file.chmod(0o444)

    fault(server.client.file.write_file(file=str(file), content="new"), "permission_denied")
    fault(server.client.file.replace_in_file(file=str(file), old_str="old", new_str="new"), "permission_denied")

    assert file.read_text() == "old"


def test_elsewhere_it_is_a_status(ordinary: Ordinary, sealed: Path) -> None:
    server = ordinary.start()
    (server.workspace / "mine").write_text("mine")
    before = state(sealed)

    with server.http as http:
        denied(http.get("/v1/file/download", params={"path": str(sealed / "secret")}))
        denied(http.get("/v1/file/archive", params={"path": str(sealed / "closed")}))
        denied(http.post("/v1/file/extract", params={"path": str(sealed)}, content=tar_of_a_file()))
        for verb, body in (
            ("append", {"file": str(sealed / "readable"), "content": "x"}),
            ("mkdir", {"path": str(sealed / "dir")}),
            ("delete", {"path": str(sealed / "readable")}),
            ("delete", {"path": str(sealed)}),
            ("move", {"source": str(sealed / "readable"), "destination": "moved"}),
            ("copy", {"source": str(sealed / "secret"), "destination": "copied"}),
            ("copy", {"source": "mine", "destination": str(sealed / "copied")}),
            ("create-temp", {"dir": str(sealed)}),
        ):
            denied(http.post(f"/v1/file/{verb}", json=body))
        watch = http.post("/v1/file/watch", json={"path": str(sealed / "closed")})
        assert watch.status_code in (400, 403) and watch.json()["success"] is False
    assert state(sealed) == before
    assert names(server.workspace) == ["mine"]


def denied(response: httpx.Response) -> None:
    refusal(response, 403, "file.permission_denied")


def tar_of_a_file() -> bytes:
    """A tar with one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("file"))
    return buffer.getvalue()


def test_what_cannot_be_read_is_passed_over_among_other_things(ordinary: Ordinary, sealed: Path) -> None:
    client = ordinary.start().client

    assert [match.file for match in client.file.grep_files(path=str(sealed), pattern="old").data.matches] == [
        str(sealed / "readable")
    ]
    listed = client.file.list_path(path=str(sealed), recursive=True).data
    assert {file.name for file in listed.files} == {"readable", "secret", "closed"}
    globbed = client.file.glob_files(path=str(sealed), pattern="**/*").data
    assert [file.name for file in globbed.files] == ["readable", "secret"]


def rules(public: Path, text: str) -> str:
    """Commands that make `text` the rules of sudo."""
    file = public / "sudoers"
    file.write_text(text)
    file.chmod(0o440)
    return f"mount --bind '{file}' /etc/sudoers"


@pytest.fixture
def with_sudo(ordinary: Ordinary, public: Path) -> Server:
    """A server whose user may become root without a password."""
    return ordinary.start(rules(public, "nobody ALL=(ALL:ALL) NOPASSWD: ALL\n"))


@needs_root
@needs_sudo
def test_sudo_reads_and_writes_as_root(with_sudo: Server, sealed: Path) -> None:
    files = with_sudo.client.file
    secret, inside = str(sealed / "secret"), str(sealed / "closed/inside")

    fault(files.read_file(file=inside), "permission_denied")
    read = files.read_file(file=inside, sudo=True)
    assert (read.success, read.data.content, read.data.file) == (True, "inside", inside)
    found = files.search_in_file(file=secret, regex="t[a-z]+", sudo=True).data
    assert (found.matches, found.line_numbers) == (["text"], [0])
    assert files.replace_in_file(file=secret, old_str="old", new_str="new", sudo=True).data.replaced_count == 1
    assert files.write_file(file=secret, content="more\n", append=True, sudo=True).data.bytes_written == 5
    assert (sealed / "secret").read_text() == "new text\nmore\n"
    assert files.read_file(file=secret, start_line=1, end_line=2, sudo=True).data.content == "more\n"

    made = str(sealed / "closed/new/file")
    assert files.write_file(file=made, content="AP8=", encoding="base64", sudo=True).data.bytes_written == 2
    assert Path(made).read_bytes() == b"\x00\xff"
    assert {(os.stat(path).st_uid, os.stat(path).st_gid) for path in (made, secret)} == {(0, 0)}
    assert stat.S_IMODE(os.stat(secret).st_mode) == 0
    assert names(sealed) == ["closed", "readable", "secret"]


@needs_root
@needs_sudo
def test_sudo_carries_large_content(with_sudo: Server, sealed: Path) -> None:
    content = "żółw\n" * MIB
    files = with_sudo.client.file

    assert files.write_file(file=str(sealed / "large"), content=content, sudo=True).success is True
    assert (sealed / "large").read_text() == content
    (sealed / "large").chmod(0o600)
    assert files.read_file(file=str(sealed / "large"), sudo=True).data.content == content


@needs_root
@needs_sudo
def test_faults_are_the_same_with_sudo(with_sudo: Server, sealed: Path) -> None:
    os.mkfifo(sealed / "closed/pipe")
    (sealed / "closed/binary").write_bytes(b"\xff")
    files, closed = with_sudo.client.file, str(sealed / "closed")

    missing = fault(files.read_file(file=f"{closed}/missing", sudo=True), "not_found")
    assert (missing.errno_name, missing.operation) == ("ENOENT", "read")
    fault(files.read_file(file=closed, sudo=True), "invalid_target")
    fault(files.read_file(file=f"{closed}/binary", sudo=True), "decode_error")
    fault(files.write_file(file=closed, content="x", sudo=True), "invalid_target")
    for call in (
        lambda: files.read_file(file=f"{closed}/pipe", sudo=True),
        lambda: files.write_file(file=f"{closed}/pipe", content="x", sudo=True),
    ):
        fault(call(), "invalid_target")
    assert names(sealed / "closed") == ["binary", "inside", "pipe"]


@needs_root
@needs_sudo
@pytest.mark.parametrize("why", ["no rule", "no program", "a password is wanted"])
def test_without_sudo_it_is_a_fault(ordinary: Ordinary, public: Path, sealed: Path, why: str) -> None:
    """Also when sudo would ask for a password, which nobody is there to type."""
    before = {
        "no rule": rules(public, "root ALL=(ALL:ALL) ALL\n"),
        "no program": f"mount --bind /dev/null {shutil.which('sudo')}",
        "a password is wanted": rules(public, "nobody ALL=(ALL:ALL) ALL\n"),
    }[why]
    files = ordinary.start(before).client.file
    secret = str(sealed / "secret")
    content = picture(sealed)

    calls: List[Callable[[], Any]] = [
        lambda: files.read_file(file=secret, sudo=True),
        lambda: files.write_file(file=secret, content="x", sudo=True),
        lambda: files.replace_in_file(file=secret, old_str="old", new_str="new", sudo=True),
        lambda: files.search_in_file(file=secret, regex="old", sudo=True),
    ]
    for call in calls:
        assert "sudo" in fault(call(), "permission_denied").message
    assert picture(sealed) == content


@needs_root
def test_a_server_that_is_root_needs_no_sudo(client: Any, folder: Path) -> None:
    file = str(folder / "file")

    assert client.file.write_file(file=file, content="a b", sudo=True).data.bytes_written == 3
    assert client.file.replace_in_file(file=file, old_str="a", new_str="c", sudo=True).data.replaced_count == 1
    assert client.file.search_in_file(file=file, regex="[abc]", sudo=True).data.matches == ["c", "b"]
    assert client.file.read_file(file=file, sudo=True).data.content == "c b"
