"""Going from page to page, waiting, running code, dialogs, downloads, the console, recordings."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from agent_sandbox.core.api_error import ApiError
from sites import Page, page, refused, site  # noqa: F401  (fixtures)
from waiting import eventually


@pytest.fixture
def meanwhile() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Runs something beside the test, which must not fail."""
    running = []
    failures = []

    def start(work: Callable[[], Any]) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)

        running.append(threading.Thread(target=guarded))
        running[-1].start()

    yield start
    for thread in running:
        thread.join()
    assert not failures, failures


def test_a_page_is_opened_and_its_history_walked(page: Page) -> None:
    data = page.api.navigate(url=page.site.page("article.html")).data
    assert (data["url"], data["title"], data["status"]) == (page.site.page("article.html"), "An article", 200)
    page.open("form.html")
    assert page.api.back().data["title"] == "An article"
    assert page.api.forward().data["title"] == "Form"
    page.value("window.mark = 1")
    assert page.api.reload().data["title"] == "Form"
    assert page.value("typeof window.mark") == "undefined"
    refused(409, "browser.no_history", page.api.forward)


@pytest.mark.parametrize("wait_until", ["load", "domcontentloaded", "networkidle", "commit"])
def test_every_kind_of_arrival_can_be_waited_for(page: Page, wait_until: str) -> None:
    data = page.api.navigate(url=page.site.page("article.html"), wait_until=wait_until).data
    assert data["url"] == page.site.page("article.html")


def test_redirects_and_error_pages_are_pages(page: Page) -> None:
    target = page.site.page("article.html")
    assert page.api.navigate(url=page.site.page(f"redirect?to={target}")).data["url"] == target
    assert page.api.navigate(url=page.site.page("status/404")).data["status"] == 404


@pytest.mark.parametrize("url", ["", "http://", "http://exa mple/", "ht!tp://x", "://"])
def test_what_is_no_address_is_refused(page: Page, url: str) -> None:
    page.open("article.html")
    with pytest.raises(ApiError) as caught:
        page.api.navigate(url=url)
    # Some are found out by the browser only.
    assert caught.value.status_code in (409, 422)
    page.api.wait(type="load")
    assert page.value("1") == 1


@pytest.mark.parametrize("url", ["chrome://crash", "chrome://kill", "chrome://hang"])
def test_addresses_that_do_harm_are_refused(page: Page, url: str) -> None:
    refused(403, "browser.refused_url", page.api.navigate, url=url)
    assert page.value("1 + 1") == 2


def test_a_server_nobody_runs_is_told_of(page: Page) -> None:
    message = refused(409, "browser.navigation_failed", page.api.navigate, url="http://127.0.0.1:9/")
    assert "ERR_" in message


def test_pages_that_do_not_end_run_into_the_timeout_and_can_be_left(page: Page) -> None:
    refused(504, "browser.timeout", page.api.navigate, url=page.site.page("endless"), timeout=1)
    assert page.api.navigate(url=page.site.page("endless"), wait_until="commit").success
    page.api.wait(type="selector", selector="h1:has-text('It begins')")
    gate = page.site.new_gate()
    refused(504, "browser.timeout", page.api.navigate, url=page.site.page(f"slow/{gate}"), timeout=1)
    page.site.gate(gate).set()
    assert page.open("article.html")["title"] == "An article"


def test_a_slow_page_is_waited_for(page: Page, meanwhile: Any) -> None:
    gate = page.site.new_gate()
    address = f"/slow/{gate}"
    meanwhile(lambda: (eventually(lambda: address in page.site.requests, "the slow page is asked for"), page.site.gate(gate).set()))
    assert page.open(address.lstrip("/"))["title"] == "slow"


def test_a_single_page_application_is_followed(page: Page) -> None:
    page.open("spa.html")
    page.api.click(selector="text=List")
    assert page.api.wait(type="url", url="**/spa/list").data["url"].endswith("/spa/list")
    page.api.wait(type="selector", selector="text=list view")
    page.api.click(selector="#more")
    seen = page.api.wait(type="response", url_pattern="**/mirror/more").data
    assert seen["status"] == 200 and seen["url"].endswith("/mirror/more")
    page.api.wait(type="selector", selector="#loaded", state="visible")
    page.api.wait(type="network_idle")
    assert page.api.back().success
    page.api.wait(type="function", expression="document.title !== 'list'")


def test_each_state_of_an_element_can_be_waited_for(page: Page) -> None:
    page.show(
        """<p id=here>x</p><script>
        setTimeout(() => { here.insertAdjacentHTML('afterend', '<p id=come hidden>y</p>') }, 200);
        setTimeout(() => { come.hidden = false }, 400);
        setTimeout(() => { here.style.display = 'none' }, 600);
        setTimeout(() => { here.remove() }, 800);
        </script>"""
    )
    for selector, state in [("#come", "attached"), ("#come", "visible"), ("#here", "hidden"), ("#here", "detached")]:
        assert page.api.wait(type="selector", selector=selector, state=state).success
    message = refused(504, "browser.timeout", page.api.wait, type="selector", selector="#never", timeout=0.5)
    assert "#never" in message
    refused(422, "browser.unknown_word", page.api.wait, type="selector", selector="#come", state="odd")


def test_functions_requests_loads_and_time_can_be_waited_for(page: Page) -> None:
    page.open("spa.html")
    assert page.api.wait(type="load").success
    page.value("setTimeout(() => { window.ready = { count: 3 } }, 200); setTimeout(() => fetch('/mirror/later'), 300); 0")
    assert page.api.wait(type="function", expression="() => window.ready", polling=50).data["value"] == {"count": 3}
    seen = page.api.wait(type="request", url_pattern="/mirror\\/later/").data
    assert seen["url"].endswith("/mirror/later")
    assert page.api.wait(type="timeout", timeout=0.1).success
    refused(504, "browser.timeout", page.api.wait, type="function", expression="false", timeout=0.5)
    refused(504, "browser.timeout", page.api.wait, type="url", url="**/nowhere", timeout=0.5)
    with pytest.raises(ApiError) as caught:
        page.api.wait(type="selector")
    assert caught.value.status_code == 422


@pytest.mark.parametrize(
    "expression, value",
    [
        ("1 + 1", 2),
        ("() => ({ a: [1, 'b', null] })", {"a": [1, "b", None]}),
        ("async () => (await fetch('/mirror/x')).status", 200),
        ("function () { return 7 }", 7),
        ("return document.title", "An article"),
        ("const x = 5; return x * 2", 10),
        ("await Promise.resolve('later')", "later"),
        ("({ a: 1 })", {"a": 1}),
        ("undefined", None),
        ("'é漢🙂'", "é漢🙂"),
    ],
)
def test_code_is_evaluated_however_it_is_written(page: Page, expression: str, value: Any) -> None:
    page.open("article.html")
    assert page.value(expression) == value


def test_code_that_fails_or_never_ends_is_named(page: Page) -> None:
    page.open("article.html")
    assert "boom" in refused(422, "browser.script_failed", page.api.evaluate, expression="throw new TypeError('boom')")
    refused(422, "browser.script_failed", page.api.evaluate, expression="nowhere.to.be")
    refused(422, "browser.script_failed", page.api.evaluate, expression="][")
    options = {"additional_body_parameters": {"timeout": 1}}
    for endless in ["while (true) {}", "new Promise(() => {})"]:
        refused(504, "browser.timeout", page.api.evaluate, expression=endless, request_options=options)
    assert page.value("document.title") == "An article"


@pytest.mark.parametrize("expression", ["const a = {}; a.self = a; return a", "10n ** 30n", "document.body", "() => () => 1", "window", "Symbol('x')"])
def test_values_that_are_no_json_are_answered_anyway(page: Page, expression: str) -> None:
    page.open("article.html")
    try:
        page.value(expression)
    except ApiError as error:
        assert error.status_code == 422, error
    assert page.value("1") == 1


def test_dialogs_are_answered_and_told_of(page: Page) -> None:
    page.open("dialogs.html")
    for name, words, said in [("alert", "Look out", "alert done"), ("confirm", "Sure?", "confirm false"), ("prompt", "Who?", "prompt null")]:
        answer = page.api.click(selector=f"#{name}")
        assert page.value("document.querySelector('#log').textContent") == said
        assert words in (answer.hint or ""), answer


def test_new_tabs_are_told_of_and_do_not_take_over(page: Page) -> None:
    page.open("dialogs.html")
    hints = ""
    for name in ["popup", "open"]:
        hints += page.api.click(selector=f"#{name}").hint or ""
    tabs = page.client.browser_tabs
    eventually(lambda: len(tabs.list().data) == 3, "both tabs are open")
    assert page.value("document.title") == "Dialogs"
    hints += page.api.evaluate(expression="0").hint or ""
    assert "tab" in hints


def test_downloads_are_in_the_sandbox_at_once(page: Page) -> None:
    page.open("dialogs.html")
    page.api.click(selector="#download")
    place = page.server.workspace / "saved.txt"
    data = page.api.wait(type="download", save_path=str(place)).data
    assert place.read_text() == "numbers" and data["path"] == str(place)
    answer = page.api.navigate(url=page.site.page("download/direct.txt?content=direct")).data
    path = page.server.home / "Downloads" / Path(answer["download"]).name
    assert path.name.startswith("direct")
    eventually(lambda: path.exists() and path.read_text() == "direct", "the download is there")
    assert page.value("document.title") == "Dialogs"


def test_the_console_is_kept_and_exported(page: Page) -> None:
    page.api.get_console(clear=True)
    page.open("article.html")
    page.value("console.log('plain', { a: 1 }); console.error('bad'); setTimeout(() => { throw new Error('late') }); 0")
    records = eventually(lambda: [each for each in [page.api.get_console().data] if len(each) >= 3], "three records")[0]
    texts = {record["type"]: record["text"] for record in records}
    assert texts["log"].startswith("plain") and texts["error"] and any("late" in record["text"] for record in records)
    place = page.server.workspace / "console.json"
    assert page.api.export_console(save_path=str(place), clear=True).data["count"] == len(records)
    assert json.loads(place.read_text())
    assert page.api.get_console().data == []


def test_a_page_is_recorded(page: Page) -> None:
    page.open("form.html")
    assert page.api.record(action="status").data["status"] == "idle"
    place = page.server.workspace / "movie.mp4"
    page.api.record(action="start", save_path=str(place))
    page.api.scroll(amount=200)
    eventually(lambda: page.api.record(action="status").data["frames"] >= 1, "the first frame")
    assert page.api.record(action="pause").data["status"] == "paused"
    assert page.api.record(action="resume").data["status"] == "recording"
    page.api.scroll(amount=200)
    done = page.api.record(action="stop").data
    assert done["frames"] >= 1 and done["size_bytes"] == place.stat().st_size > 0
    refused(409, "browser.recording_state", page.api.record, action="stop")
    once = page.api.record(action="once", duration=0.5, fps=5, quality=50).data
    assert Path(once["path"]).stat().st_size == once["size_bytes"] > 0
    for film in (str(place), once["path"]):
        check_film(film)


def check_film(path: str) -> None:
    """A film that players show, and pages too: H.264, every picture of it decoded without complaint."""
    show = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name,pix_fmt", "-of", "csv=p=0", path]
    assert subprocess.run(show, capture_output=True, text=True, timeout=60).stdout.strip() == "h264,yuv420p"
    decode = ["ffmpeg", "-v", "error", "-xerror", "-i", path, "-f", "null", "-"]
    decoded = subprocess.run(decode, capture_output=True, text=True, timeout=60)
    assert (decoded.returncode, decoded.stderr) == (0, "")


def test_a_recording_plays_in_a_page(page: Page) -> None:
    page.show("<body style='background:#0a0'>green")
    film = Path(page.api.record(action="once", duration=1, fps=10, quality=90).data["path"])
    content = base64.b64encode(film.read_bytes()).decode()
    shown = page.value(
        f"const film = await (await fetch('data:video/mp4;base64,{content}')).blob();"
        """
        const video = document.createElement('video');
        video.muted = true;
        video.src = URL.createObjectURL(film);
        await video.play();
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
        canvas.getContext('2d').drawImage(video, 0, 0);
        return [video.videoWidth, [...canvas.getContext('2d').getImageData(600, 600, 1, 1).data]];
        """
    )
    width, (red, green, blue, _) = shown
    assert width > 1000 and green > 120 and red < 60 and blue < 60, shown
