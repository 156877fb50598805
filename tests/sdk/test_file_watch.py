"""`client.file.watch_*`: the six methods, the events, and what is told in which form."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import httpx
import pytest
from agent_sandbox import Sandbox
from files import Watch, field_of, follow, make_tree, refused, refused_field, take
from waiting import eventually

MakeWatch = Callable[..., Watch]


@pytest.fixture
def watch(client: Sandbox) -> Iterator[MakeWatch]:
    """Makes watchers that end with the test."""
    made: List[Watch] = []

    def make(path: Path, **options: Any) -> Watch:
        made.append(Watch(client, path, **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_create_tells_what_is_watched_in_both_places(client: Sandbox, watch: MakeWatch, folder: Path) -> None:
    made = watch(folder, recursive=False, exclude=["*.log"], debounce=50, include_patterns=["*.py"])

    answer = made.created
    assert answer["success"] is True
    data = answer["data"]
    assert data["watcher_id"] == answer["watcher_id"] == made.id
    assert (data["path"], data["recursive"], data["debounce"]) == (str(folder), False, 50)
    assert (data["exclude"], data["include_patterns"]) == (["*.log"], ["*.py"])
    assert (data["cursor"], data["buffered"], data["directories"]) == (0, 0, 1)
    assert data["created_at"]


def test_the_defaults_are_the_documented_ones(watch: MakeWatch, folder: Path) -> None:
    data = watch(folder).created["data"]

    assert (data["recursive"], data["debounce"], data["include_patterns"]) == (True, 300, [])
    assert ".git" in data["exclude"] and "node_modules" in data["exclude"] and "*.pyc" in data["exclude"]


def test_list_shows_the_watchers(client: Sandbox, watch: MakeWatch, folder: Path) -> None:
    first, second = watch(folder), watch(folder)

    answer = client.file.watch_list()

    assert answer["success"] is True and answer["watchers"] == answer["data"]["watchers"]
    listed = {each["watcher_id"]: each for each in answer["watchers"]}
    assert answer["count"] == len(listed) and {first.id, second.id} <= set(listed)
    assert listed[first.id]["path"] == str(folder)


def test_stop_forgets_the_watcher(client: Sandbox, folder: Path) -> None:
    made = Watch(client, folder)

    answer = client.file.watch_stop(made.id)

    assert (answer["stopped"], answer["data"]["watcher_id"]) == (True, made.id)
    assert made.id not in [each["watcher_id"] for each in client.file.watch_list()["watchers"]]
    for call in (client.file.watch_poll, client.file.watch_events, client.file.watch_stop):
        error = refused(call, made.id)
        assert (error.status_code, error.body["error_code"]) == (404, "watch.not_found")
        assert made.id in error.body["message"]


def test_every_change_is_an_event(watch: MakeWatch, folder: Path) -> None:
    made = watch(folder, debounce=50)
    file = folder / "file.txt"

    file.write_text("text")
    created = made.wait_for(file, "create")
    file.write_text("longer text")
    written = made.wait_for(file, "write")
    file.chmod(0o600)
    made.wait_for(file, "chmod")
    file.rename(folder / "renamed.txt")
    renamed = made.wait_for(folder / "renamed.txt", "rename")
    (folder / "renamed.txt").unlink()
    removed = made.wait_for(folder / "renamed.txt", "remove")

    assert created["seq"] == 1
    assert (created["relative_path"], created["is_dir"], created["old_path"]) == ("file.txt", False, None)
    assert isinstance(created["timestamp"], float) and isinstance(written["mtime"], float)
    assert written["inode"] == renamed["inode"] and written["inode"] > 0
    assert renamed["old_path"] == str(file) and renamed["size"] == 11
    assert (removed["mtime"], removed["size"], removed["inode"]) == (None, None, None)
    assert [event["seq"] for event in made.events] == list(range(1, len(made.events) + 1))
    assert made.poll(since=0)["data"]["events"] == made.events


def test_what_the_api_writes_is_told_by_the_names_it_was_written_to(
    client: Sandbox, watch: MakeWatch, folder: Path
) -> None:
    make_tree(folder, {"known": "old", "uploaded": "old"})
    made = watch(folder, debounce=50)

    client.file.write_file(file=str(folder / "known"), content="new")
    client.file.write_file(file=str(folder / "new"), content="new")
    client.file.upload_file(file=("uploaded", b"new"), path=str(folder / "uploaded"))
    client.file.upload_file(file=("other", b"new"), path=str(folder / "other"))
    made.wait_for(folder / "other")

    told = [(event["relative_path"], event["type"]) for event in made.events]
    assert told == [("known", "write"), ("new", "create"), ("uploaded", "write"), ("other", "create")]


def test_a_move_in_appears_and_a_move_out_vanishes(watch: MakeWatch, folder: Path) -> None:
    make_tree(folder, {"inside/leaving": "", "outside/coming": ""})
    made = watch(folder / "inside", debounce=50)

    (folder / "outside/coming").rename(folder / "inside/came")
    came = made.wait_for(folder / "inside/came")
    (folder / "inside/leaving").rename(folder / "outside/left")
    left = made.wait_for(folder / "inside/leaving")

    assert (came["type"], came["old_path"]) == ("create", None)
    assert left["type"] == "remove"


def test_directories_made_later_are_watched_with_what_is_in_them(watch: MakeWatch, folder: Path) -> None:
    made = watch(folder)

    # At once, so that files are there before anybody can look at the directory.
    make_tree(folder, {"a/b/c/file": "text"})
    event = made.wait_for(folder / "a/b/c/file")
    assert (event["type"], event["relative_path"]) == ("create", "a/b/c/file")
    assert made.wait_for(folder / "a/b", "create")["is_dir"] is True
    (folder / "a/b/c/later").write_text("")
    made.wait_for(folder / "a/b/c/later", "create")


def test_without_recursion_only_the_directory_itself_is_watched(watch: MakeWatch, folder: Path) -> None:
    make_tree(folder, {"sub/": ""})
    made = watch(folder, recursive=False)

    make_tree(folder, {"sub/hidden-from-it": "", "seen": ""})

    made.wait_for(folder / "seen")
    assert made.kinds(folder / "sub/hidden-from-it") == []


@pytest.mark.parametrize(
    "options, quiet",
    [
        ({}, [".git/config", "node_modules/x/y", "a.pyc", "sub/__pycache__/b"]),
        ({"exclude": ["*.log", "tmp"]}, ["x.log", "sub/y.log", "tmp/z", "sub/tmp/deep/z"]),
        ({"include_patterns": ["*.py", "last"]}, ["a.txt", "sub/b.txt"]),
    ],
)
def test_what_is_left_out_is_not_told(
    watch: MakeWatch, folder: Path, options: Dict[str, Any], quiet: List[str]
) -> None:
    make_tree(folder, {f"{os.path.dirname(name)}/": "" for name in quiet if "/" in name})
    made = watch(folder, **options)

    make_tree(folder, {**{name: "" for name in quiet}, "told.py": "", "last": ""})

    made.wait_for(folder / "last")
    assert made.kinds(folder / "told.py")[0] == "create"
    for name in quiet:
        assert made.kinds(folder / name) == [], name


def test_one_file_can_be_watched(watch: MakeWatch, folder: Path) -> None:
    make_tree(folder, {"file": "", "neighbour": ""})
    made = watch(folder / "file", debounce=50)

    (folder / "neighbour").write_text("changed")
    (folder / "file").write_text("changed")

    made.wait_for(folder / "file", "write")
    assert made.kinds(folder / "neighbour") == []


def test_repeated_writes_count_once(watch: MakeWatch, folder: Path) -> None:
    (folder / "file").write_text("")
    made = watch(folder, debounce=1000)

    for number in range(200):
        with (folder / "file").open("a") as file:
            file.write(f"{number}\n")

    made.wait_for(folder / "file", "write")
    (folder / "last").touch()
    made.wait_for(folder / "last")
    # One, but for a machine so slow that the writes take longer than that.
    assert made.kinds(folder / "file").count("write") < 20


def test_poll_pages_with_a_cursor(watch: MakeWatch, folder: Path) -> None:
    made = watch(folder)
    for number in range(25):
        (folder / f"{number:02}").mkdir()
    eventually(lambda: made.poll(limit=1000)["cursor"] >= 25, "all 25 events are there")

    pages, cursor, more = [], 0, True
    while more:
        page = made.poll(since=cursor, limit=10)
        assert page["watcher_id"] == made.id and page["overflow"] is False
        assert page["cursor"] == page["events"][-1]["seq"]
        pages += page["events"]
        cursor, more = page["cursor"], page["has_more"]

    assert [event["seq"] for event in pages] == list(range(1, 26))
    assert [event["relative_path"] for event in pages] == [f"{number:02}" for number in range(25)]
    assert made.poll(since=cursor)["events"] == []


def test_poll_takes_cursor_and_since_and_an_empty_body(http: httpx.Client, watch: MakeWatch, folder: Path) -> None:
    made = watch(folder)
    for name in "ab":
        (folder / name).mkdir()
    made.wait_for(folder / "b")
    url = f"/v1/file/watch/{made.id}/poll"

    def sequence(**body: Any) -> List[int]:
        response = http.post(url, json=body).json()
        assert response["data"]["events"] == response["events"]
        return [event["seq"] for event in response["events"]]

    assert sequence() == [1, 2]
    assert sequence(cursor=1) == sequence(since=1) == [2]
    empty = http.post(url, content=b"", headers={"Content-Type": "application/json"}).json()
    assert (empty["cursor"], len(empty["events"])) == (2, 2)
    assert made.poll()["cursor"] == 2


def test_poll_waits_for_an_event(client: Sandbox, watch: MakeWatch, folder: Path) -> None:
    made = watch(folder)

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(made.poll, since=0, timeout=60)
        (folder / "late").mkdir()
        events = answer.result()["events"]

    assert [event["relative_path"] for event in events] == ["late"]
    assert made.poll(since=1, timeout=1)["events"] == []


def test_events_without_a_stream_are_returned_at_once(client: Sandbox, watch: MakeWatch, folder: Path) -> None:
    """The SDK reads the whole answer as JSON, which no stream would ever give it."""
    made = watch(folder)
    (folder / "sub").mkdir()
    made.wait_for(folder / "sub")

    answer = client.file.watch_events(made.id)

    assert [event["relative_path"] for event in answer["events"]] == ["sub"]
    assert answer["data"]["cursor"] == answer["cursor"] == 1


def test_events_are_streamed_and_resumed(http: httpx.Client, watch: MakeWatch, folder: Path) -> None:
    made = watch(folder)

    with follow(http, made.id) as events:
        started = next(events)
        assert started.name == "watch_started" and started.data["watcher_id"] == made.id
        for name in "abc":
            (folder / name).mkdir()
        seen = take(events, 3)
    assert [event.data["relative_path"] for event in seen] == ["a", "b", "c"]
    assert [event.id for event in seen] == [f"{made.id}:{number}" for number in (1, 2, 3)]

    for name in "de":
        (folder / name).mkdir()
    with follow(http, made.id, last_event_id=seen[1].id) as events:
        resumed = take(events, 3)
    assert [event.data["seq"] for event in resumed] == [3, 4, 5]
    assert [event.data["relative_path"] for event in resumed] == ["c", "d", "e"]


def test_wait_returns_at_once_for_a_file_that_exists(client: Sandbox, folder: Path) -> None:
    (folder / "file").write_text("abc")

    answer = client.file.watch_wait(path=str(folder / "file"))

    event = answer["event"]
    assert answer["data"]["event"] == event and answer["success"] is True
    assert (event["type"], event["path"], event["size"]) == ("create", str(folder / "file"), 3)


@pytest.mark.parametrize("name", ["file", "not/there/yet/file"])
def test_wait_returns_when_the_file_appears(client: Sandbox, folder: Path, name: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(client.file.watch_wait, path=str(folder / name), timeout=60)
        make_tree(folder, {"other": "", name: "text"})
        event = answer.result()["event"]

    assert event["path"] == str(folder / name)
    assert event["type"] in ("create", "write")


@pytest.mark.parametrize(
    "kind, change",
    [
        ("remove", lambda path: path.unlink()),
        ("chmod", lambda path: path.chmod(path.stat().st_mode ^ 0o100)),
        ("write", lambda path: path.write_text("changed")),
    ],
)
def test_wait_returns_for_the_types_asked_for(
    client: Sandbox, folder: Path, kind: str, change: Callable[[Path], Any]
) -> None:
    """The change is repeated until it is noticed, since nobody knows when the waiting has begun."""
    file = folder / "file"
    done = threading.Event()

    def keep_changing() -> None:
        while not done.wait(0.05):
            file.exists() or file.write_text("")
            change(file)

    file.write_text("")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(keep_changing)
        try:
            answer = client.file.watch_wait(path=str(file), timeout=60, event_types=[kind])
        finally:
            done.set()

    assert (answer["event"]["type"], answer["event"]["path"]) == (kind, str(file))


def test_wait_gives_up_in_the_time_given(client: Sandbox, folder: Path) -> None:
    (folder / "file").touch()

    for path, kinds in ((folder / "missing", None), (folder / "file", ["remove"])):
        error = refused(client.file.watch_wait, path=str(path), timeout=1, event_types=kinds)
        assert (error.status_code, error.body["error_code"]) == (504, "watch.timeout")


@pytest.mark.parametrize(
    "method, field, value",
    [
        ("watch_create", "debounce", 49),
        ("watch_create", "debounce", 5001),
        ("watch_create", "exclude", "*.log"),
        ("watch_create", "path", "/with\0nul"),
        ("watch_create", "recursive", "perhaps"),
        ("watch_wait", "timeout", 0),
        ("watch_wait", "timeout", 301),
        ("watch_wait", "event_types", ["explode"]),
        ("watch_wait", "path", 1.5),
    ],
)
def test_a_wrong_option_is_named(client: Sandbox, folder: Path, method: str, field: str, value: Any) -> None:
    count = client.file.watch_list()["count"]
    options = {"path": str(folder), field: value}

    assert refused_field(getattr(client.file, method), **options) == field
    assert client.file.watch_list()["count"] == count


@pytest.mark.parametrize(
    "field, value", [("limit", 0), ("limit", 1001), ("timeout", 61), ("timeout", -1), ("cursor", -1)]
)
def test_a_wrong_option_of_poll_is_named(
    http: httpx.Client, watch: MakeWatch, folder: Path, field: str, value: int
) -> None:
    response = http.post(f"/v1/file/watch/{watch(folder).id}/poll", json={field: value})

    assert field_of(response) == field


def test_what_cannot_be_watched_is_refused(client: Sandbox, folder: Path) -> None:
    (folder / "file").touch()
    count = client.file.watch_list()["count"]

    for name, status in (("missing", 404), ("file/below", 400), ("x" * 5000, 400)):
        error = refused(client.file.watch_create, path=str(folder / name))
        assert (error.status_code, error.body["error_code"]) == (status, "watch.path")
        assert str(folder) in error.body["message"] and error.body["success"] is False
    assert refused_field(client.file.watch_create, path=str(folder), exclude=["[z"]) == "exclude"
    assert refused_field(client.file.watch_create, path=str(folder), include_patterns=["{a"]) == "include_patterns"
    assert client.file.watch_list()["count"] == count
