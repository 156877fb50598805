"""Acting on a page: every method of the SDK's `browser_page` that presses, types, fills or scrolls."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import httpx
import pytest
from sites import Page, page, patient, refused, site  # noqa: F401  (fixtures)
from waiting import eventually


def said(page: Page) -> str:
    return page.value("document.querySelector('#log').textContent")


def events(page: Page, kind: str) -> List[Dict[str, Any]]:
    return [each for each in page.value("window.events") if each["type"] == kind]


def test_an_element_is_clicked_by_selector_index_and_coordinates(page: Page) -> None:
    page.open("form.html")
    answer = page.api.click(selector="text=Far below")
    assert answer.success and answer.data["title"] == "Form"
    assert said(page) == "far clicked"
    page.value("document.querySelector('#log').textContent = ''")
    page.api.click(index=page.index(name="Far below"))
    assert said(page) == "far clicked"
    page.value("document.querySelector('#log').textContent = ''; scrollTo(0, 1e6)")
    box = next(each for each in page.elements() if each["name"] == "Far below")["bounding_box"]
    page.api.click(x=box["x"] + box["width"] / 2, y=box["y"] + box["height"] / 2)
    assert said(page) == "far clicked"
    assert all(event["trusted"] for event in events(page, "click"))


def test_buttons_and_double_clicks_are_real(page: Page) -> None:
    page.open("form.html")
    page.api.click(selector="#double", click_count=2)
    assert said(page) == "double"
    page.api.click(selector="#menu", button="right")
    assert events(page, "contextmenu")[0]["target"] == "menu"
    page.api.hover(selector="#menu")
    assert said(page) == "hovered"


def test_a_click_waits_until_a_person_could_do_it(page: Page) -> None:
    page.open("form.html")
    page.api.click(selector="#moving")
    assert said(page) == "caught"
    page.value("setTimeout(() => { document.querySelector('#soon').disabled = false }, 300)")
    page.api.click(selector="#soon")
    assert said(page) == "soon clicked"


@pytest.mark.parametrize(
    "selector, status, code, words",
    [
        ("#never", 409, "browser.element_not_actionable", ["enabled", "disabled"]),
        ("#files", 409, "browser.element_not_actionable", ["visible", "display: none"]),
        ("#nowhere", 404, "browser.element_not_found", ["#nowhere"]),
        ("button[", 422, "browser.invalid_selector", ["never closed"]),
        ("foo=bar", 422, "browser.invalid_selector", ["role="]),
    ],
)
def test_what_cannot_be_clicked_is_explained(page: Page, selector: str, status: int, code: str, words: List[str]) -> None:
    page.open("form.html")
    message = refused(status, code, page.api.click, selector=selector, request_options=patient(0.5))
    assert all(word in message for word in words), message


def test_of_several_elements_the_first_is_taken_and_the_caller_told(page: Page) -> None:
    page.open("form.html")
    answer = page.api.click(selector="button")
    assert answer.success and said(page).startswith("sent ")
    for word in ['"button" matches 6', "Send order", "nth=1"]:
        assert word in answer.hint, answer.hint
    # Of those that can be seen: the hidden one comes first in the page.
    page.show("<button hidden>No</button><button onclick='document.title=1'>Yes</button>")
    assert page.api.click(selector="button").hint is None and page.value("document.title") == "1"
    page.show("<input><input id=second>")
    assert "matches 2" in page.api.fill(selector="input", text="x").hint
    assert page.value("[...document.querySelectorAll('input')].map((each) => each.value)") == ["x", ""]
    assert page.api.fill(selector="input >> nth=1", text="y").hint is None
    assert page.value("document.querySelector('#second').value") == "y"


def test_what_covers_an_element_is_named(page: Page) -> None:
    page.open("form.html")
    page.value("document.body.insertAdjacentHTML('beforeend', '<div class=overlay id=banner>Cookies?</div>')")
    options = patient(0.5)
    message = refused(409, "browser.element_not_actionable", page.api.click, selector="#double", request_options=options)
    assert "banner" in message and "receive pointer events" in message


def test_a_click_without_a_target_or_off_the_screen_is_refused(page: Page) -> None:
    page.open("form.html")
    refused(400, "browser.no_target", page.api.click)
    refused(422, "browser.off_screen", page.api.click, x=-5, y=10)
    refused(422, "browser.off_screen", page.api.hover, x=10, y=99999)


def test_an_index_is_stale_once_its_element_is_gone(page: Page) -> None:
    page.open("form.html")
    index = page.index(name="Double")
    page.value("document.querySelector('#double').remove()")
    message = refused(409, "browser.element_stale", page.api.click, index=index)
    assert "list the page's elements again" in message
    refused(409, "browser.element_stale", page.api.click, index=9999)
    listed = page.index(name="Moving")
    page.open("article.html")
    refused(409, "browser.element_stale", page.api.click, index=listed)


def test_fields_are_filled_by_label_index_and_selector(page: Page) -> None:
    page.open("form.html")
    page.api.fill(selector="text=Your name", text="Zoë")
    page.api.fill(index=page.index(name="Mail"), text="zoe@example.org")
    page.api.fill(selector="#note", text="two\nlines")
    page.api.fill(selector="#day", text="2026-12-31")
    page.api.fill(selector="#editor", text="plain")
    page.api.fill(selector="#count", text="12")
    page.api.click(selector="role=button[name='Send order']")
    for part in ['"name":"Zoë"', '"mail":"zoe@example.org"', '"note":"two\\nlines"', '"day":"2026-12-31"', '"count":"12"']:
        assert part in said(page)
    assert page.value("document.querySelector('#editor').innerText") == "plain"
    assert all(event["trusted"] for event in events(page, "input") if event["target"] in ("name", "note", "editor"))
    page.api.fill(selector="#name", text="")
    assert page.value("document.querySelector('#name').value") == ""


def test_what_a_field_does_not_take_is_refused(page: Page) -> None:
    page.open("form.html")
    options = patient(0.5)
    refused(409, "browser.element_not_actionable", page.api.fill, selector="#locked", text="x", request_options=options)
    refused(409, "browser.element_not_actionable", page.api.fill, selector="#off", text="x", request_options=options)
    for selector, text, word in [("#gift", "x", "uncheck"), ("#day", "soon", "2026-12-31"), ("h1", "x", "not a field"), ("#count", "x", "number")]:
        message = refused(422, "browser.element_unsuitable", page.api.fill, selector=selector, text=text)
        assert word in message


def test_typing_goes_to_the_focus_key_by_key(page: Page) -> None:
    page.open("form.html")
    page.api.click(selector="#note")
    page.api.hot_key(keys=["ctrl", "a"])
    page.api.press_key(key="Delete")
    page.api.type_text(text="Hi, 漢字 🙂!\nEnd")
    assert page.value("document.querySelector('#note').value") == "Hi, 漢字 🙂!\nEnd"
    page.api.type_text(text="ab", delay=5)
    keys = [event["key"] for event in events(page, "keydown")]
    assert keys[:3] == ["Control", "a", "Delete"] and keys[-2:] == ["a", "b"] and "Enter" in keys
    assert all(event["trusted"] for event in events(page, "keydown"))
    page.api.click(selector="#name")
    page.api.type_text(text="Jo\n")
    assert '"name":"Jo"' in said(page)


@pytest.mark.parametrize("key, expected", [("enter", "Enter"), ("Return", "Enter"), ("pageup", "PageUp"), ("Left", "ArrowLeft"), ("F5", "F5"), ("x", "x"), ("Shift+x", "X")])
def test_keys_have_several_names(page: Page, key: str, expected: str) -> None:
    page.show("<p id=log></p><script>window.events = []; document.addEventListener('keydown', (e) => { e.preventDefault(); window.events.push(e.key) })</script>")
    page.api.press_key(key=key)
    assert page.value("window.events")[-1] == expected


def test_a_key_nobody_has_is_refused(page: Page) -> None:
    refused(422, "browser.unknown_key", page.api.press_key, key="AnyKey")
    refused(422, "browser.unknown_key", page.api.hot_key, keys=["ctrl", "nothing"])


def test_options_are_selected_by_value_label_and_index(page: Page) -> None:
    page.open("form.html")
    for choice, expected in [({"value": "l"}, "l"), ({"label": "Medium"}, "m"), ({"index": 0}, "s"), ({"value": "Large"}, "l")]:
        answer = page.api.select_option(selector="#size", **choice)
        assert answer.data["selected"] == [expected]
        assert page.value("document.querySelector('#size').value") == expected
    assert {"change", "input"} <= {event["type"] for event in page.value("window.events") if event["target"] == "size"}
    options = patient(0.5)
    message = refused(409, "browser.element_not_actionable", page.api.select_option, selector="#size", value="xl", request_options=options)
    assert '"s" (Small)' in message
    refused(400, "browser.no_target", page.api.select_option, selector="#size")
    refused(422, "browser.element_unsuitable", page.api.select_option, selector="#name", value="x")


def test_boxes_are_checked_and_unchecked_by_pressing_them(page: Page) -> None:
    page.open("form.html")

    def checked(name: str) -> bool:
        return page.value(f"document.querySelector('#{name}').checked")

    for name in ["gift", "styled", "fast"]:
        page.api.check(selector=f"#{name}")
        page.api.check(selector=f"#{name}")
        assert checked(name)
    page.api.check(selector="text=Slow")
    assert checked("slow") and not checked("fast")
    page.api.uncheck(selector="#gift")
    page.api.uncheck(selector="#gift")
    assert not checked("gift")
    assert all(event["trusted"] for event in events(page, "click") if event["target"] == "gift")
    refused(422, "browser.element_unsuitable", page.api.check, selector="#name")
    assert "radio" in refused(422, "browser.element_unsuitable", page.api.uncheck, selector="#slow")


def test_files_of_the_sandbox_are_uploaded(page: Page) -> None:
    page.open("form.html")
    workspace = page.server.workspace
    for name in ["one.txt", "two.txt"]:
        (workspace / name).write_text(name)
    names = "[...document.querySelector('#%s').files].map((file) => file.name)"
    page.api.upload_file(selector="#file", files=[str(workspace / "one.txt")])
    assert page.value(names % "file") == ["one.txt"]
    page.api.upload_file(selector="#files", files=[str(workspace / "one.txt"), "two.txt"])
    assert page.value(names % "files") == ["one.txt", "two.txt"]
    assert page.value("document.querySelector('#file').files[0].text()") == "one.txt"
    refused(422, "browser.element_unsuitable", page.api.upload_file, selector="#file", files=["one.txt", "two.txt"])
    refused(422, "browser.element_unsuitable", page.api.upload_file, selector="#name", files=["one.txt"])
    assert page.value(names % "file") == ["one.txt"]


def test_a_form_is_filled_at_once(page: Page) -> None:
    page.open("form.html")
    upload = page.server.workspace / "upload.txt"
    upload.write_text("x")
    answer = page.api.fill_form(
        items=[
            {"selector": "#name", "value": "Jo"},
            {"index": page.index(name="Mail"), "text": "jo@example.org"},
            {"selector": "#gift", "value": True},
            {"selector": "#fast", "value": "on"},
            {"selector": "#size", "value": "Large"},
            {"selector": "#extras", "value": ["Nuts", "Salt"]},
            {"selector": "#file", "files": [str(upload)]},
        ]
    )
    assert answer.data["filled"] == 7
    page.api.click(selector="#send")
    for part in ['"name":"Jo"', '"mail":"jo@example.org"', '"gift":"on"', '"speed":"fast"', '"size":"l"']:
        assert part in said(page)
    assert page.value("[...document.querySelector('#extras').selectedOptions].map((each) => each.text)") == ["Nuts", "Salt"]


def test_a_form_that_makes_no_sense_is_not_begun(page: Page) -> None:
    page.open("form.html")
    first = {"selector": "#name", "value": "changed"}
    for bad in [{"value": "x"}, {"selector": "#mail"}, {"selector": "][", "value": "x"}]:
        with pytest.raises(Exception) as caught:
            page.api.fill_form(items=[first, bad])
        assert caught.value.status_code == 422, caught.value  # type: ignore[attr-defined]
        assert page.value("document.querySelector('#name').value") == ""


def test_scrolling_by_to_and_to_an_element(page: Page) -> None:
    page.open("form.html")
    assert page.api.scroll().data["y"] == 300
    assert page.api.scroll(direction="down", amount=100).data["y"] == 400
    assert page.api.scroll(direction="up", amount=250).data["y"] == 150
    assert page.value("scrollY") == 150
    end = page.api.scroll_to(y=100000).data
    assert end["y"] == end["max_y"] > 500
    assert page.api.scroll_to().data["y"] == 0
    page.api.scroll_to_element(selector="#late-box")
    assert 0 < page.value("document.querySelector('#late-box').getBoundingClientRect().top") < page.value("innerHeight")
    with pytest.raises(Exception) as caught:
        page.api.scroll(direction="sideways")
    assert caught.value.status_code == 422  # type: ignore[attr-defined]


def test_frames_of_this_and_another_site_are_acted_on(page: Page) -> None:
    page.open("frames.html")
    for selector, told in [
        ("#near >> #inner", "near trusted"),
        ("#far >> text=Press me", "far trusted"),
        ("data-testid=far-button", "far trusted"),
        ("frame=near >> role=button", "near trusted"),
    ]:
        page.value("document.querySelector('#log').textContent = ''")
        page.api.click(selector=selector)
        eventually(lambda: said(page) == told + ";", f"{selector} says {told}")
    page.api.fill(selector="#far >> #field", text="over there")
    far = next(each for each in page.elements() if each["frame"] and each["frame"].endswith("?far") and each["tag"] == "input")
    assert far["value"] == "over there"
    page.api.fill(index=far["index"], text="by index")
    assert "by index" in page.api.get_text().data


def test_open_shadow_roots_are_no_obstacle(page: Page) -> None:
    page.open("shadow.html")
    for selector in ["text=Deep button", "my-card .deep", "my-card section > my-button > button", "role=button[name='Deep button']"]:
        page.value("document.querySelector('#log').textContent = ''")
        page.api.click(selector=selector)
        assert said(page) == "deep clicked", selector
    page.api.fill(selector="#deep-field", text="x")
    assert page.index(name="Deep field") >= 0
    assert "Card title" in page.api.get_text().data and "Deep button" in page.api.get_text().data


def test_a_click_that_leads_elsewhere_waits_for_the_next_page(page: Page) -> None:
    page.open("spa.html")
    page.api.click(selector="#leave")
    assert "The sea is large" in page.api.get_text().data


def test_acting_at_once_on_one_page_does_not_mix_up(page: Page, http: httpx.Client) -> None:
    from concurrent.futures import ThreadPoolExecutor

    page.open("form.html")
    texts = {"#name": "a" * 50, "#mail": "b@example.org", "#note": "c" * 500}
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda each: page.api.fill(selector=each[0], text=each[1]), texts.items()))
    for selector, text in texts.items():
        assert page.value(f"document.querySelector('{selector}').value") == text
