"""`display.record`: films of the whole desktop that play whatever ended them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List

from desktops import Desktop, seen  # noqa: F401  (fixtures)
from server import Server
from sites import site  # noqa: F401
from waiting import eventually


def probe(path: Path) -> Dict[str, Any]:
    """What a player finds in a film."""
    command = ["ffprobe", "-v", "error", "-count_frames", "-show_streams", "-show_format", "-of", "json", str(path)]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    (stream,) = found["streams"]
    return {
        "codec": stream["codec_name"],
        "size": (stream["width"], stream["height"]),
        "frames": int(stream["nb_read_frames"]),
    }


def makers(path: Path) -> List[int]:
    """The ffmpeg processes that write this film."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if arguments[0].endswith(b"ffmpeg") and str(path).encode() in arguments:
            found.append(int(entry.parent.name))
    return found


def test_a_film_is_made_listed_downloaded_and_played(seen: Desktop, folder: Path) -> None:  # noqa: F811
    record = seen.client.display.record
    path = folder / "films" / "one.mp4"
    started = record(action="start", save_path=str(path), fps=15, crf=30).data
    assert (started.status, started.save_path) == ("recording", str(path))
    again = seen.http.post("/v1/display/record", json={"action": "start"})
    assert again.status_code == 409 and again.json()["error_code"] == "desktop.recording_state"
    assert seen.ask("GET", "/v1/desktop/info")["recording"]
    resized = seen.http.post("/v1/browser/config", json={"resolution": {"width": 800, "height": 600}})
    assert resized.status_code == 409 and resized.json()["error_code"] == "desktop.recording_state"
    eventually(lambda: record(action="status").data.duration > 1, "a second of film")
    stopped = record(action="stop").data
    assert stopped.status == "stopped" and stopped.duration > 0.5
    assert stopped.file_size_bytes == path.stat().st_size > 1000
    film = probe(path)
    assert (film["codec"], film["size"]) == ("h264", (1280, 1024)) and film["frames"] > 5
    assert makers(path) == []
    listed = seen.client.file.list_path(path=str(path.parent)).data
    assert [file.name for file in listed.files] == ["one.mp4"]
    assert b"".join(seen.client.file.download_file(path=str(path))) == path.read_bytes()
    assert record(action="status").data.status == "stopped"
    nothing = seen.http.post("/v1/display/record", json={"action": "stop"})
    assert nothing.status_code == 409 and nothing.json()["error_code"] == "desktop.recording_state"


def test_a_film_ends_by_itself_in_the_size_asked_for(seen: Desktop, folder: Path) -> None:  # noqa: F811
    path = folder / "short.mp4"
    body = {"action": "start", "save_path": str(path), "fps": 10, "max_duration": 1, "width": 640, "height": 361}
    seen.ask("POST", "/v1/display/record", **body)
    status = lambda: seen.ask("POST", "/v1/display/record", action="status")  # noqa: E731
    eventually(lambda: status()["status"] == "stopped", "the film to end")
    film = probe(path)
    assert (film["codec"], film["size"]) == ("h264", (640, 360))
    # Ten pictures are a second; on a busy machine it may become more.
    assert film["frames"] >= 8 and status()["duration"] > 0.7
    assert seen.ask("POST", "/v1/display/record", action="stop")["status"] == "stopped"
    assert makers(path) == []


def test_a_film_survives_the_death_of_the_server_and_its_maker_does_not(
    start_server: Callable[..., Server], site: Any, folder: Path  # noqa: F811
) -> None:
    desktop = Desktop(start_server(), site)
    path = folder / "broken.mp4"
    desktop.ask("POST", "/v1/display/record", action="start", save_path=str(path), fps=10)
    eventually(lambda: path.stat().st_size > 0 and _frames(path) > 10, "a piece of the film")
    desktop.server.process.send_signal(signal.SIGKILL)
    desktop.server.process.wait()
    eventually(lambda: makers(path) == [], "ffmpeg ends with the server")
    assert probe(path)["frames"] > 10


def _frames(path: Path) -> int:
    try:
        return probe(path)["frames"]
    except (subprocess.CalledProcessError, ValueError, KeyError):
        return 0


def test_films_that_cannot_be_made_are_refused(seen: Desktop, folder: Path) -> None:  # noqa: F811
    def refused(**body: Any) -> Dict[str, Any]:
        answer = seen.http.post("/v1/display/record", json={"action": "start", **body})
        assert answer.status_code >= 400 or answer.json()["success"] is False, answer.text
        return {"status": answer.status_code, **answer.json()}

    for wrong in ({"fps": 0}, {"fps": 31}, {"crf": 52}, {"max_duration": 0}, {"width": 0}, {"action": "pause"}):
        assert refused(**wrong)["status"] == 422, wrong
    (folder / "file").write_text("in the way")
    refused(save_path=str(folder / "file" / "film.mp4"))
    refused(save_path=str(folder))
    assert refused(save_path="/proc/film.mp4")["status"] != 500
    assert seen.ask("POST", "/v1/display/record", action="status")["status"] != "recording"


def test_without_a_name_a_film_goes_where_films_go(seen: Desktop) -> None:  # noqa: F811
    started = seen.ask("POST", "/v1/display/record", action="start")
    stopped = seen.ask("POST", "/v1/display/record", action="stop")
    path = Path(stopped["save_path"])
    assert path.parent == Path("/tmp/recordings") and path.name.startswith("recording_")
    assert started["save_path"] == stopped["save_path"] and probe(path)["frames"] >= 1
    os.remove(path)
    with contextlib.suppress(OSError):
        # One that belongs to this user would be in the way of another's.
        path.parent.rmdir()
