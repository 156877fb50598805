"""Watching under load and at its limits: nothing is told twice or lost without a word."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, List

import httpx
import pytest
from agent_sandbox import Sandbox
from files import PATIENCE, Watch, follow, refused, take
from server import Server
from waiting import eventually

StartServer = Callable[..., Server]


def test_a_burst_of_files_is_told_exactly_once(client: Sandbox, folder: Path) -> None:
    watch = Watch(client, folder)
    wanted = set()

    for directory in range(10):
        (folder / f"d{directory}").mkdir()
        for number in range(400):
            path = folder / f"d{directory}" / f"f{number}"
            path.touch()
            wanted.add(str(path))

    def created() -> List[str]:
        return [event["path"] for event in watch.events if event["type"] == "create" and not event["is_dir"]]

    def complete() -> bool:
        watch.read()
        return wanted <= set(created())

    eventually(complete, "all 4,000 files are told")
    # A later event proves that nothing of the burst is still to come.
    (folder / "last").touch()
    watch.wait_for(folder / "last")
    counts = Counter(created())
    assert set(counts) == wanted | {str(folder / "last")}
    assert set(counts.values()) == {1}
    assert [event["seq"] for event in watch.events] == list(range(1, len(watch.events) + 1))
    watch.stop()


def test_two_readers_of_a_watcher_and_two_watchers_see_the_same(
    client: Sandbox, http: httpx.Client, folder: Path
) -> None:
    first, second = Watch(client, folder), Watch(client, folder)
    with follow(http, first.id) as one, follow(http, first.id) as two, follow(http, second.id) as three:
        for number in range(50):
            (folder / f"{number:02}").mkdir()
        paths = [[event.data["path"] for event in take(events, 50)] for events in (one, two, three)]

    assert paths[0] == paths[1] == paths[2] == [str(folder / f"{number:02}") for number in range(50)]
    first.stop()
    second.stop()


def test_a_chain_of_renames_keeps_its_pairs(client: Sandbox, folder: Path) -> None:
    watch = Watch(client, folder)
    (folder / "name-0").touch()

    for number in range(200):
        (folder / f"name-{number}").rename(folder / f"name-{number + 1}")

    watch.wait_for(folder / "name-200", "rename")
    renames = [(event["old_path"], event["path"]) for event in watch.events if event["type"] == "rename"]
    assert renames == [(str(folder / f"name-{n}"), str(folder / f"name-{n + 1}")) for n in range(200)]
    watch.stop()


def test_a_renamed_directory_goes_on_being_watched(client: Sandbox, folder: Path) -> None:
    (folder / "old/sub").mkdir(parents=True)
    watch = Watch(client, folder)

    (folder / "old").rename(folder / "new")
    assert watch.wait_for(folder / "new", "rename")["old_path"] == str(folder / "old")
    (folder / "new/sub/file").touch()

    assert watch.wait_for(folder / "new/sub/file", "create")["relative_path"] == "new/sub/file"
    watch.stop()


def test_an_overflow_is_told_and_reading_goes_on(start_server: StartServer, folder: Path) -> None:
    server = start_server(environment={"ATOLL_LIMIT_FILE_WATCH_EVENTS": "100"})
    watch = Watch(server.client, folder)
    for number in range(300):
        (folder / f"{number:03}").mkdir()
    eventually(lambda: watch.poll(since=299)["cursor"] >= 300, "all events were seen")

    lost = watch.poll(since=0, limit=1000)
    assert lost["overflow"] is True
    assert [event["seq"] for event in lost["events"]] == list(range(201, 301))
    assert (lost["cursor"], lost["has_more"]) == (300, False)
    kept = watch.poll(since=200, limit=1000)
    assert (kept["overflow"], len(kept["events"])) == (False, 100)

    (folder / "after").mkdir()
    after = watch.poll(since=lost["cursor"], timeout=60)
    assert (after["overflow"], [event["relative_path"] for event in after["events"]]) == (False, ["after"])
    with server.http as http, follow(http, watch.id, last_event_id=f"{watch.id}:5") as events:
        names = [next(events).name for _ in range(3)]
    assert "overflow" in names and "file_change" in names


def test_a_reader_past_twenty_thousand_events_is_told(client: Sandbox, http: httpx.Client, folder: Path) -> None:
    kept = http.get("/v1/limits").json()["data"]["file_watch_events"]
    watch = Watch(client, folder, recursive=False, debounce=50)
    count = kept + 1000

    for start in range(0, count, 1000):
        for number in range(start, start + 1000):
            os.mkdir(folder / str(number))
        # Not faster than the kernel's own queue: this is about a reader that is slow, not about the server.
        wanted = start + 1000
        eventually(lambda: watch.poll(since=wanted - 1)["cursor"] >= wanted, "the events so far were seen")

    answer = watch.poll(since=0, limit=1000)
    assert answer["overflow"] is True
    assert answer["events"][0]["seq"] == count - kept + 1
    assert answer["has_more"] is True
    watch.stop()


def test_watchers_are_limited(start_server: StartServer, folder: Path) -> None:
    client = start_server(environment={"AIO_FILE_WATCH_MAX_WATCHERS": "2"}).client
    first, second = Watch(client, folder), Watch(client, folder)

    error = refused(client.file.watch_create, path=str(folder))
    assert (error.status_code, error.body["error_code"]) == (429, "watch.watchers_exhausted")
    assert "2" in error.body["message"]

    first.stop()
    third = Watch(client, folder)
    (folder / "sub").mkdir()
    for watch in (second, third):
        watch.wait_for(folder / "sub")


def test_unknown_watchers_are_not_found(http: httpx.Client) -> None:
    for method, path in (
        ("POST", "/v1/file/watch/unknown/poll"),
        ("GET", "/v1/file/watch/unknown/events"),
        ("DELETE", "/v1/file/watch/unknown"),
    ):
        response = http.request(method, path, headers={"Accept": "text/event-stream"})
        assert (response.status_code, response.json()["error_code"]) == (404, "watch.not_found")
        assert "unknown" in response.json()["message"]


def test_watchers_end_with_the_thing_they_watch_told(client: Sandbox, folder: Path) -> None:
    (folder / "sub").mkdir()
    watch = Watch(client, folder / "sub")

    (folder / "sub").rmdir()

    assert watch.wait_for(folder / "sub", "remove")["path"] == str(folder / "sub")
    watch.stop()


@pytest.mark.parametrize("name", [b"bad-\xff-name", b"line\nbreak", b"quote\"", "漢字".encode()])
def test_any_name_can_be_told(client: Sandbox, http: httpx.Client, folder: Path, name: bytes) -> None:
    watch = Watch(client, folder)

    with follow(http, watch.id) as events:
        os.mkdir(os.path.join(os.fsencode(folder), name))
        (event,) = take(events, 1)

    assert event.data["relative_path"] == name.decode(errors="replace")
    watch.stop()


def test_a_server_that_stops_ends_those_who_wait(start_server: StartServer, folder: Path) -> None:
    server = start_server()
    watch = Watch(server.client, folder)

    with ThreadPoolExecutor(1) as pool, server.http as http, follow(http, watch.id) as events:
        next(events)
        waiting = pool.submit(watch.poll, since=0, timeout=60)
        assert server.stop() == 0
        assert list(events) == []
        # Answered, or refused when it came too late; it does not hang.
        waiting.exception(PATIENCE)


def test_a_following_reader_that_leaves_is_forgotten(start_server: StartServer, folder: Path) -> None:
    server = start_server()
    watch = Watch(server.client, folder)
    with server.http as http:
        for _ in range(20):
            with follow(http, watch.id) as events:
                next(events)

    (folder / "sub").mkdir()
    watch.wait_for(folder / "sub")
    watch.stop()
