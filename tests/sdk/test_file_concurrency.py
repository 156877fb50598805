"""Many callers at one file: nothing is lost, nothing is mixed."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, List

import pytest
from agent_sandbox import Sandbox
from files import MIB, names

WORKERS = 16


def at_once(call: Callable[[int], Any], count: int) -> List[Any]:
    """Runs the calls on many threads, in an order nobody chose."""
    order = random.sample(range(count), count)
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(call, order))


def test_parallel_appends_keep_every_line_whole(client: Sandbox, folder: Path) -> None:
    file = str(folder / "new/log")

    def append(number: int) -> None:
        line = f"{number:04} " + "x" * (number % 7) * 100
        assert client.file.write_file(file=file, content=line, append=True, trailing_newline=True).success is True

    at_once(append, 400)

    lines = Path(file).read_text().splitlines()
    assert sorted(lines) == [f"{number:04} " + "x" * (number % 7) * 100 for number in range(400)]


def test_parallel_replaces_lose_nothing(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("".join(f"<{number}>\n" for number in range(200)))

    def replace(number: int) -> int:
        return client.file.replace_in_file(
            file=str(folder / "file"), old_str=f"<{number}>", new_str=f"[{number}]"
        ).data.replaced_count

    assert at_once(replace, 200) == [1] * 200
    assert (folder / "file").read_text() == "".join(f"[{number}]\n" for number in range(200))


def test_parallel_edits_lose_nothing(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("".join(f"<{number}>\n" for number in range(100)))

    def edit(number: int) -> bool:
        return client.file.str_replace_editor(
            command="str_replace", path=str(folder / "file"), old_str=f"<{number}>", new_str=f"[{number}]"
        ).success

    assert all(at_once(edit, 100))
    assert (folder / "file").read_text() == "".join(f"[{number}]\n" for number in range(100))


@pytest.mark.parametrize("how", ["write", "upload"])
def test_parallel_writers_never_mix(client: Sandbox, folder: Path, how: str) -> None:
    """A reader sees what one writer wrote, whole: never a part, never nothing."""
    path = folder / "file"
    size = MIB // 2
    path.write_text("0" * size)
    seen: List[str] = []
    done = threading.Event()

    def write(number: int) -> None:
        content = str(number % 10) * size
        if how == "write":
            client.file.write_file(file=str(path), content=content)
        else:
            client.file.upload_file(file=("name", content), path=str(path))

    def look() -> None:
        while not done.is_set():
            content = client.file.read_file(file=str(path)).data.content
            seen.append(content[0] if len(content) == size and len(set(content)) == 1 else "mixed")

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(look)
        try:
            at_once(write, 40)
        finally:
            done.set()
        reader.result()

    assert seen and "mixed" not in seen
    final = path.read_text()
    assert len(final) == size and len(set(final)) == 1
    assert names(folder) == ["file"]


def test_one_of_many_creates_wins(client: Sandbox, folder: Path) -> None:
    def create(number: int) -> bool:
        try:
            client.file.str_replace_editor(command="create", path=str(folder / "file"), file_text=str(number))
        except Exception as error:
            assert getattr(error, "status_code", None) == 400, error
            return False
        return True

    assert at_once(create, 50).count(True) == 1


def test_parallel_writes_below_a_missing_directory_all_succeed(client: Sandbox, folder: Path) -> None:
    def write(number: int) -> bool:
        return client.file.write_file(file=str(folder / f"a/b/c/{number}"), content="x").success

    assert all(at_once(write, 100))
    assert len(names(folder / "a/b/c")) == 100


def test_parallel_searches_all_get_their_answer(client: Sandbox, folder: Path) -> None:
    """More than may run at once: the rest wait for their turn."""
    for number in range(200):
        (folder / f"{number}.txt").write_text(f"needle {number}\n" * 50)

    def search(number: int) -> int:
        return client.file.grep_files(path=str(folder), pattern=f"needle {number}$", max_results=1000).data.match_count

    assert at_once(search, 40) == [50] * 40
