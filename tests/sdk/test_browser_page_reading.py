"""Reading a page: source, text, Markdown, elements, the accessibility tree, pictures, and only what changed."""

from __future__ import annotations

import re
import struct
from typing import Any, Dict

import httpx
import pytest
from sites import Page, asking, page, refused, site  # noqa: F401  (fixtures)
from waiting import eventually


def test_the_source_is_read_with_and_without_its_root(page: Page) -> None:
    page.open("article.html")
    inner = page.api.get_html().data
    outer = page.api.get_html(outer=True).data
    assert inner.startswith("<head>") and "<title>An article</title>" in inner
    assert outer.startswith("<!DOCTYPE html>") and '<html lang="en">' in outer and inner in outer
    part = page.api.get_html(outer=True, request_options=asking(selector="footer")).data
    assert part == "<footer>Imprint and legal notes</footer>"


def test_visible_text_is_read_in_order(page: Page) -> None:
    page.open("article.html")
    text = page.api.get_text().data
    parts = ["Start", "Subscribe", "The sea\n", "large and blue", "small ones\nlarge ones", "Sea\tDepth\nNorth\t95 m", "Imprint"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert "hidden line" not in text


def test_markdown_is_what_a_reader_came_for(page: Page) -> None:
    page.open("article.html")
    data = page.api.get_markdown().data
    assert (data["title"], data["url"]) == ("An article", page.site.page("article.html"))
    markdown = data["markdown"]
    for part in [
        "# The sea",
        "**large** and *blue*",
        f"[this form]({page.site.page('form.html')})",
        "## Waves",
        "- small ones\n- large ones\n  1. first\n  2. second",
        "| Sea | Depth |\n| --- | --- |\n| North | 95 m |",
        '```python\ndef sea():\n    return "water"\n```',
        "> A quiet sea",
        f"![A wave]({page.site.page('pixel.png')})",
        "`inline()`",
    ]:
        assert part in markdown, f"{part!r} in {markdown}"
    for noise in ["Contact", "newsletter", "Imprint", "hidden line"]:
        assert noise not in markdown


def test_interactive_elements_are_listed_with_their_boxes(page: Page) -> None:
    page.open("form.html")
    elements = page.elements()
    assert [each["index"] for each in elements] == list(range(len(elements)))
    by_name = {each["name"]: each for each in elements}
    name = by_name["Your name"]
    expected: Dict[str, Any] = {
        "tag": "input", "role": "textbox", "text": "", "placeholder": "Jane Doe", "href": None, "type": "text",
        "value": "", "checked": None, "is_visible": True, "is_enabled": True, "frame": None,
    }
    assert {field: name[field] for field in expected} == expected
    box = name["bounding_box"]
    assert set(box) == {"x", "y", "width", "height"} and box["width"] > 50
    assert page.value(f"document.elementFromPoint({box['x']} + 5, {box['y']} + 5).id") == "name"
    assert by_name["Slow"]["checked"] is True and by_name["Never"]["is_enabled"] is False
    assert by_name["Size"]["value"] == "Small" and by_name["Size"]["role"] == "combobox"
    assert "hunter2" not in str(elements)
    hidden = [each for each in elements if not each["is_visible"]]
    assert {each["type"] for each in hidden} == {"file", "checkbox"}


def test_the_accessibility_tree_names_what_can_be_acted_on(page: Page, http: httpx.Client) -> None:
    page.open("form.html")
    data = http.get("/v1/browser/page/accessibility").json()["data"]
    lines = [line.strip() for line in data["tree"].splitlines()]
    assert '- heading "Order" [level=1]' in lines
    line = next(line for line in lines if line.startswith('- button "Double"'))
    page.api.click(index=int(line.split("[index=")[1].rstrip("]:")), click_count=2)
    assert page.value("document.querySelector('#log').textContent") == "double"
    assert any(line.startswith('- radio "Slow" [checked]') for line in lines)
    assert any(line.startswith('- button "Never" [disabled]') for line in lines)


def test_text_is_found_where_it_is_said(page: Page) -> None:
    page.open("article.html")
    found = page.api.find_text(keyword="QUIET  sea").data
    assert len(found) == 1
    assert found[0]["text"] == "quiet sea" and "never made a skilled sailor" in found[0]["context"]
    assert found[0]["tag"] == "p" and found[0]["bounding_box"]["width"] > 10
    assert page.value(f"document.querySelector({found[0]['selector']!r}).textContent").startswith("A quiet sea")
    across = page.api.find_text(keyword="is large and").data
    assert len(across) == 1
    assert page.api.find_text(keyword="hidden line").data == []
    assert page.api.find_text(keyword="no such words").data == []


def test_what_frames_hold_is_read_in_its_place(page: Page) -> None:
    page.open("frames.html")
    page.api.wait(type="selector", selector="#far >> #where:has-text('far')")
    text = page.api.get_text().data
    assert text.index("Outer button") < text.index("This is near") < text.index("This is far")
    assert "This is far" in page.api.get_markdown().data["markdown"]
    elements = page.elements()
    near = next(each for each in elements if each["frame"] and each["frame"].endswith("?near") and each["tag"] == "button")
    page.api.click(x=near["bounding_box"]["x"] + 5, y=near["bounding_box"]["y"] + 5)
    eventually(lambda: "near trusted" in page.value("document.querySelector('#log').textContent"), "the frame says so")
    assert page.api.find_text(keyword="this is far").data[0]["frame"].endswith("?far")


def test_snapshots_are_cut_and_narrowed(page: Page) -> None:
    page.open("article.html")
    whole = page.api.get_text().data
    cut = page.api.get_text(request_options=asking(max_chars=60))
    assert len(cut.data) <= 60 and whole.startswith(cut.data) and "left out" in cut.hint
    markdown = page.api.get_markdown(request_options=asking(max_chars=40)).data
    assert len(markdown["markdown"]) <= 40 and markdown["omitted_chars"] > 100
    table = page.api.get_text(request_options=asking(selector="table")).data
    assert table.splitlines()[0] == "Sea\tDepth"
    page.open("form.html")
    everything = len(page.elements())
    some = page.api.get_elements(request_options=asking(selector="#order p >> nth=0"))
    assert [each["name"] for each in some.data] == ["Your name"]
    few = page.api.get_elements(request_options=asking(max_chars=2000))
    assert 0 < len(few.data) < everything and "left out" in few.hint
    refused(404, "browser.element_not_found", page.api.get_text, request_options=asking(selector="#nowhere"))
    refused(422, "browser.invalid_selector", page.api.get_elements, request_options=asking(selector="a["))


def test_only_what_changed_is_told(page: Page) -> None:
    page.open("form.html")

    def token(hint: str) -> str:
        found = re.search(r"snapshot (s\d+):", hint)
        assert found, hint
        return found[1]

    first = page.api.get_text(request_options=asking(max_chars=100000))
    page.value("document.querySelector('#log').textContent = 'order saved'")
    changed = page.api.get_text(request_options=asking(since=token(first.hint)))
    assert changed.data == "+ order saved"
    same = page.api.get_text(request_options=asking(since=token(changed.hint)))
    assert same.data == "" and "nothing has changed" in same.hint

    listed = page.api.get_elements(request_options=asking(max_chars=1000000))
    soon = next(each for each in listed.data if each["name"] == "Soon")
    page.value("document.querySelector('#soon').disabled = false; document.querySelector('#double').remove()")
    delta = page.api.get_elements(request_options=asking(since=token(listed.hint)))
    enabled = next(each for each in delta.data if each["name"] == "Soon")
    assert enabled["index"] == soon["index"] and enabled["is_enabled"] is True
    assert len(delta.data) < len(listed.data) and "gone" in delta.hint
    page.api.click(index=soon["index"])
    assert page.value("document.querySelector('#log').textContent") == "soon clicked"
    forgotten = page.api.get_elements(request_options=asking(since="s0"))
    assert len(forgotten.data) == len(listed.data) - 1


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG")
    return struct.unpack(">II", png[16:24])


def test_screenshots_of_the_viewport_the_page_and_an_element(page: Page, http: httpx.Client) -> None:
    page.open("form.html")
    viewport = (page.value("innerWidth"), page.value("innerHeight"))
    assert size_of(b"".join(page.api.screenshot())) == viewport
    full = size_of(b"".join(page.api.screenshot(full_page=True)))
    assert full[1] > viewport[1]
    assert b"".join(page.api.screenshot(format="jpeg", quality=50)).startswith(b"\xff\xd8")
    box = page.value("(({ width, height }) => [width, height])(document.querySelector('#late-box').getBoundingClientRect())")
    element = http.get("/v1/browser/page/screenshot", params={"selector": "#late-box"})
    assert element.status_code == 200 and element.headers["content-type"] == "image/png"
    width, height = size_of(element.content)
    assert abs(width - box[0]) <= 2 and abs(height - box[1]) <= 2
    assert http.get("/v1/browser/page/screenshot", params={"quality": 101}).status_code == 422
    assert http.get("/v1/browser/page/screenshot", params={"selector": "a["}).status_code == 422


def test_a_page_is_printed_as_pdf(page: Page, http: httpx.Client) -> None:
    page.open("article.html")
    answer = http.get("/v1/browser/page/pdf")
    assert answer.headers["content-type"] == "application/pdf" and answer.content.startswith(b"%PDF-")


@pytest.mark.parametrize("count", [20_000])
def test_a_huge_page_is_read_without_harm(page: Page, count: int) -> None:
    page.show(f"<ul></ul><script>document.querySelector('ul').innerHTML = Array.from({{ length: {count} }}, (_, at) => `<li><a href=/${{at}}>Item ${{at}}</a></li>`).join('')</script>")
    elements = page.api.get_elements()
    assert 0 < len(elements.data) <= count and "left out" in elements.hint
    cut = page.api.get_text(request_options=asking(max_chars=1000))
    assert len(cut.data) <= 1000
    assert f"Item {count - 1}" in page.api.get_text().data
