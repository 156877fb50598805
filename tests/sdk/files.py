"""What the file suites share: reading refusals, pictures of a tree, uploads by hand, what a server needs."""

from __future__ import annotations

import os
import stat
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import httpx
import pytest
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.errors import UnprocessableEntityError
from events import Event, event_stream
from waiting import DEADLINE, eventually

MIB = 1 << 20
BOUNDARY = "a-boundary-of-the-tests"
# Longer than any answer takes, shorter than patience: a hang becomes a failure.
PATIENCE = DEADLINE


def fault(response: Any, error_type: str) -> Any:
    """The error object in an SDK's answer that tells what the file system refused."""
    assert response.success is False, response
    assert response.data.error_type == error_type, response.data
    assert response.message == response.data.message
    assert response.data.operation and response.data.path is not None
    return response.data


def refusal(response: httpx.Response, status: int, code: str) -> Dict[str, Any]:
    """The body of a refusal with a status; what a file system refused comes with its error object."""
    assert response.status_code == status, response.text
    body = response.json()
    assert (body["success"], body["error_code"]) == (False, code), body
    assert body["message"] and type(body["code"]) is int and body["code"] != 0
    if code.startswith("file."):
        assert body["data"]["error_type"] == code[len("file.") :]
        assert body["data"]["message"] == body["message"]
    return body


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The error an SDK call that must fail raises; `status_code` and `body` say how."""
    with pytest.raises(ApiError) as error:
        call(*arguments, **options)
    return error.value


def refused_field(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The field an SDK call is refused for."""
    with pytest.raises(UnprocessableEntityError) as error:
        call(*arguments, **options)
    detail = error.value.body.detail
    return next(part for part in reversed(detail[0].loc) if isinstance(part, str))


def field_of(response: httpx.Response) -> str:
    """The field a request is refused for."""
    assert response.status_code == 422, response.text
    body = response.json()
    assert body["success"] is False and len(body["detail"]) == len(body["errors"]) > 0
    return next(part for part in reversed(body["detail"][0]["loc"]) if isinstance(part, str))


def picture(directory: Path) -> Dict[bytes, Tuple[Any, ...]]:
    """Everything below a directory: kind, mode and content of each name. Equal pictures: nothing changed."""
    found: Dict[bytes, Tuple[Any, ...]] = {}
    for parent, directories, names in os.walk(os.fsencode(directory)):
        for name in directories + names:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            content: Any = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, os.fsencode(directory))] = (status.st_mode, content)
    return found


def make_tree(directory: Path, content: Dict[str, Union[str, bytes]]) -> None:
    """Writes files with the directories they lie in; a name that ends with a slash is an empty directory."""
    for name, text in content.items():
        path = directory / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)


def names(directory: Path) -> List[str]:
    """What `ls -A` shows: uploads in progress and their remains included."""
    return sorted(os.listdir(directory))


class Form:
    """A multipart body written by hand, so that its parts come in any order and of any length."""

    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}

    @staticmethod
    def field(name: str, value: str) -> Iterator[bytes]:
        yield f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()

    @staticmethod
    def file(chunks: Iterator[bytes], filename: str = "sent.bin") -> Iterator[bytes]:
        disposition = f'form-data; name="file"; filename="{filename}"'
        yield f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n".encode()
        yield b"Content-Type: application/octet-stream\r\n\r\n"
        yield from chunks
        yield b"\r\n"

    @staticmethod
    def of(*parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in parts:
            yield from part
        yield f"--{BOUNDARY}--\r\n".encode()


def zeros(total: int, chunk: int = MIB) -> Iterator[bytes]:
    """That many bytes of nothing, in chunks."""
    block = bytes(chunk)
    for start in range(0, total, chunk):
        yield block[: total - start]


class Process:
    """What the kernel says of a running server."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def resident(self) -> int:
        """Bytes of memory in use; the peak is counted anew from here."""
        Path(f"/proc/{self._pid}/clear_refs").write_text("5")
        return self._status("VmRSS")

    def peak(self) -> int:
        """Most bytes of memory in use since the look at them."""
        return self._status("VmHWM")

    def ticks(self) -> int:
        """Processor time used so far."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def wait_until_busy(self) -> None:
        start = self.ticks()
        eventually(lambda: self.ticks() > start + 20, "the server works")

    def wait_until_quiet(self) -> None:
        """Waits until twenty looks in a row see no processor time used."""
        seen: List[int] = []

        def quiet() -> bool:
            seen.append(self.ticks())
            return len(seen) >= 20 and seen[-1] == seen[-20]

        eventually(quiet, "the server is quiet")

    def _status(self, field: str) -> int:
        for line in Path(f"/proc/{self._pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == field:
                return int(value.split()[0]) * 1024
        raise AssertionError(f"no {field} in /proc/{self._pid}/status")


def private_mounts(script: str) -> List[str]:
    """A wrapper for a server with mounts of its own, made by `script`; they end with it. Skips where that is forbidden.

    What the server sees there, the test sees below `/proc/<pid>/root`.
    """
    unshare = ["unshare", "--mount"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    probe = subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", "/tmp"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"mounts are not allowed here: {probe.stderr.strip()}")
    return [*unshare, "sh", "-ec", f'{script}\nexec "$@"', "sh"]


class Watch:
    """A watcher, read with the SDK as an agent would."""

    def __init__(self, client: Any, path: Path, **options: Any) -> None:
        self.client = client
        self.created = client.file.watch_create(path=str(path), **options)
        self.id: str = self.created["watcher_id"]
        self.events: List[Dict[str, Any]] = []
        self.cursor = 0

    def poll(self, **options: Any) -> Dict[str, Any]:
        return self.client.file.watch_poll(self.id, **options)

    def read(self, timeout: int = 1) -> List[Dict[str, Any]]:
        """Reads what is new, waiting for something, and returns everything read so far."""
        answer = self.poll(since=self.cursor, limit=1000, timeout=timeout)
        assert answer["overflow"] is False, answer
        self.events += answer["events"]
        self.cursor = answer["cursor"]
        return self.events

    def wait_for(self, path: Path, kind: Optional[str] = None) -> Dict[str, Any]:
        """The first event of this file, of this type if one is given."""

        def seen() -> Optional[Dict[str, Any]]:
            self.read()
            return next((event for event in self.events if _is(event, path, kind)), None)

        return eventually(seen, f"an event {kind or ''} of {path}")

    def kinds(self, path: Path) -> List[str]:
        """The types of what happened to this file, in order, as far as they were read."""
        return [event["type"] for event in self.events if event["path"] == str(path)]

    def stop(self) -> None:
        self.client.file.watch_stop(self.id)


def _is(event: Dict[str, Any], path: Path, kind: Optional[str]) -> bool:
    return event["path"] == str(path) and kind in (None, event["type"])


@contextmanager
def follow(
    http: httpx.Client, watcher_id: str, last_event_id: Optional[str] = None
) -> Iterator[Iterator[Event]]:
    """The events of a watcher as a stream."""
    path = f"/v1/file/watch/{watcher_id}/events"
    with event_stream(http, path, last_event_id=last_event_id, method="GET") as events:
        yield events


def take(events: Iterator[Event], count: int, name: str = "file_change") -> List[Event]:
    """The next events of this name."""
    taken: List[Event] = []
    for event in events:
        if event.name == name:
            taken.append(event)
            if len(taken) == count:
                return taken
    raise AssertionError(f"the stream ended after {len(taken)} of {count} events")


def lines(texts: Sequence[str]) -> str:
    return "".join(f"{text}\n" for text in texts)
