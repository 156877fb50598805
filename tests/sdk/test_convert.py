"""Documents made Markdown through the unmodified SDK: every kind, from every kind of place."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Callable, Dict, Iterator, Tuple
from urllib.parse import quote

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server
from webs import Web

DOCUMENTS = Path(__file__).parent / "documents"
ARTICLE = """<!DOCTYPE html><html><head><title>The Reef</title><script>var x = 'HIDDEN';</script></head><body>
<h1>The Reef</h1><p>See <a href="/coral">the corals</a>.</p><ol><li>Look</li><li>Count</li></ol>
<table><tr><th>Name</th><th>Length</th></tr><tr><td>Great</td><td>2300</td></tr></table></body></html>"""


@pytest.fixture
def web() -> Iterator[Web]:
    """Sites on this machine."""
    made = Web()
    yield made
    made.close()


def convert(client: Sandbox, uri: str) -> str:
    answer = client.util.convert_to_markdown(uri=uri)
    assert answer.success, answer
    assert isinstance(answer.data, str)
    return answer.data


def refusal(client: Sandbox, uri: str) -> Tuple[int, str, str]:
    with pytest.raises(ApiError) as raised:
        client.util.convert_to_markdown(uri=uri)
    body = raised.value.body
    return raised.value.status_code, body["error_code"], body["message"]


def test_a_word_document_keeps_headings_lists_tables_and_links(client: Sandbox) -> None:
    text = convert(client, str(DOCUMENTS / "report.docx"))
    lines = [line.strip() for line in text.splitlines()]
    assert any(line.startswith("#") and "Origins" in line for line in lines), text
    assert any(line.startswith("##") and "Kinds in short" in line for line in lines), text
    assert any(line.startswith(("- ", "* ")) and "Barrier reefs" in line for line in lines), text
    assert any(line.startswith("1. ") for line in lines), text
    assert any(line.startswith("|") and "Mesoamerican" in line and "1000" in line for line in lines), text
    assert "](https://reefs.example/more)" in text and "**Bold words**" in text


def test_a_workbook_keeps_its_sheets_as_tables(client: Sandbox) -> None:
    text = convert(client, (DOCUMENTS / "sightings.xlsx").as_uri())
    assert "Sightings" in text and "Lengths" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) >= 300 and any("Turtle" in row and "2026-01-01" in row for row in rows), rows[:5]
    assert "seen \\| heard 7" in text
    old = convert(client, str(DOCUMENTS / "lengths.xls"))
    assert any("Florida" in row and "560" in row for row in old.splitlines() if row.startswith("|")), old


def test_a_presentation_keeps_titles_bullets_tables_and_notes(client: Sandbox) -> None:
    text = convert(client, str(DOCUMENTS / "slides.pptx"))
    assert any(line.startswith("#") and "Dangers" in line for line in text.splitlines()), text
    assert any(line.strip().startswith(("- ", "* ")) and "Atolls" in line for line in text.splitlines()), text
    assert any(line.startswith("|") and "Florida" in line for line in text.splitlines()), text
    assert "Say something about care." in text


def test_a_pdf_keeps_headings_and_text(client: Sandbox) -> None:
    text = convert(client, str(DOCUMENTS / "report.pdf"))
    assert any(line.startswith("#") and "Dangers" in line for line in text.splitlines()), text
    assert "home to thousands of kinds of fish" in text and "Florida" in text
    status, code, _ = refusal(client, str(DOCUMENTS / "protected.pdf"))
    assert (status, code) == (400, "convert.protected")


def test_text_of_many_kinds_is_converted_by_what_it_is(client: Sandbox, folder: Path) -> None:
    files: Dict[str, Tuple[bytes, str]] = {
        "page.html": (ARTICLE.encode(), "| Great"),
        "table.csv": (b"name;said\nA;\"x; y\"\n", "| A | x; y |"),
        "table.tsv": (b"a\tb\n1\t2\n", "| 1 | 2 |"),
        "data.json": (b'{"a": 1}', "```json"),
        "data.xml": (b"<?xml version='1.0'?><a><b/></a>", "```xml"),
        "feed.xml": (
            b"<rss><channel><title>News</title><item><title>One</title><link>http://n/1</link></item></channel></rss>",
            "## [One](http://n/1)",
        ),
        "book.ipynb": (
            json.dumps({"cells": [{"cell_type": "code", "source": "1+1", "outputs": []}]}).encode(),
            "```python\n1+1\n```",
        ),
        "notes.md": (b"# As it is\n", "# As it is"),
        "latin.txt": ("Schöne Grüße aus Köln und Düsseldorf".encode("latin-1"), "Schöne Grüße"),
    }
    for name, (content, expected) in files.items():
        (folder / name).write_bytes(content)
        text = convert(client, str(folder / name))
        assert expected in text and "HIDDEN" not in text, (name, text)


def test_books_archives_and_pictures_are_converted(client: Sandbox, folder: Path) -> None:
    def packed(members: Dict[str, bytes]) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return made.getvalue()

    book = packed(
        {
            "META-INF/container.xml": b"<container><rootfiles><rootfile full-path='b.opf'/></rootfiles></container>",
            "b.opf": b"<package><metadata><dc:title>Sea</dc:title></metadata><manifest><item id='a' href='a.xhtml' "
            b"media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>",
            "a.xhtml": b"<html><body><h2>First</h2><p>words</p></body></html>",
        }
    )
    (folder / "sea.epub").write_bytes(book)
    assert convert(client, str(folder / "sea.epub")) == "# Sea\n\n## First\n\nwords"
    inner = (DOCUMENTS / "lengths.xls").read_bytes()
    (folder / "box.zip").write_bytes(packed({"a.csv": b"x,y\n1,2\n", "b/lengths.xls": inner}))
    text = convert(client, str(folder / "box.zip"))
    assert "## a.csv" in text and "| 1 | 2 |" in text and "## b/lengths.xls" in text and "Florida" in text
    pixel = bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000020000000308060000001f15c4890000000049454e44ae426082"
    )
    assert "2 × 3 pixels" in convert(client, "data:image/png;base64," + base64.b64encode(pixel).decode())


def test_every_kind_of_place_works(client: Sandbox, server: Server, web: Web) -> None:
    (server.workspace / "near page.html").write_text(ARTICLE)
    url = web.serve("/dir/page", ARTICLE.encode(), {"Content-Type": "text/html; charset=utf-8"})
    places = [
        "near page.html",
        str(server.workspace / "near page.html"),
        f"file://{quote(str(server.workspace / 'near page.html'))}",
        "data:text/html," + quote(ARTICLE),
        "data:text/html;base64," + base64.b64encode(ARTICLE.encode()).decode(),
        url,
        web.redirect("/there", url),
    ]
    for place in places:
        text = convert(client, place)
        assert text.startswith("# The Reef") and "1. Look" in text and "| Great" in text, (place, text)
    assert f"[the corals]({web.url}/coral)" in convert(client, url)


def test_a_page_is_read_in_its_own_encoding(client: Sandbox, web: Web) -> None:
    page = "<html><body><p>Съешь ещё этих мягких французских булок</p></body></html>".encode("windows-1251")
    url = web.serve("/old", page, {"Content-Type": "text/html; charset=windows-1251"})
    assert "французских булок" in convert(client, url)
    packed = web.serve("/packed", ARTICLE.encode(), {"Content-Type": "text/html"}, gzip=True)
    assert "# The Reef" in convert(client, packed)


def test_places_that_are_none_are_refused_with_the_reason(client: Sandbox, folder: Path, web: Web) -> None:
    missing = web.status("/missing", 404)
    for uri, status, code in [
        ("", 400, "convert.invalid_uri"),
        ("ftp://example.test/a", 400, "convert.invalid_uri"),
        ("data:nothing", 400, "convert.invalid_uri"),
        ("http://", 400, "web.invalid_url"),
        ("http://127.0.0.1:9/", 503, "web.unreachable"),
        ("http://169.254.169.254/latest/meta-data", 403, "web.refused"),
        (missing, 404, "web.status"),
        (str(folder / "nowhere.pdf"), 404, "file.not_found"),
        (str(folder), 400, "file.invalid_target"),
        ("data:application/x-thing;base64,AAEC", 400, "convert.unsupported"),
    ]:
        answered = refusal(client, uri)
        assert answered[:2] == (status, code), (uri, answered)


def test_markitdown_converts_the_rest_where_it_is_installed(start_server: Callable[..., Server], tmp_path: Path) -> None:
    server = start_server()
    program = server.home / ".local" / "bin" / "markitdown"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nif [ -f "$1" ]; then echo "# by path $(basename "$1")"; else echo "# $* $(wc -c)"; fi\n')
    program.chmod(0o755)
    path = tmp_path / "mail.msg"
    path.write_bytes(b"\0\x01\x02\x03")
    assert convert(server.client, str(path)).strip() == "# by path mail.msg"
    assert convert(server.client, "data:audio/x-odd;base64,AAEC").strip() == "# -m audio/x-odd 3"
    program.write_text("#!/bin/sh\necho it hurts >&2; exit 3\n")
    status, code, message = refusal(server.client, str(path))
    assert (status, code) == (400, "convert.failed") and "it hurts" in message


def test_the_editor_shows_documents_and_parts_of_them(client: Sandbox) -> None:
    def view(name: str, **options: object) -> str:
        answer = client.file.str_replace_editor(command="view", path=str(DOCUMENTS / name), **options)  # type: ignore[arg-type]
        return answer.data.output

    assert "Florida" in view("report.pdf") and "     1\t" in view("report.pdf")
    second = view("report.pdf", page_range=[2, 2])
    assert "Kinds" in second and "Dangers" not in second
    lengths = view("sightings.xlsx", sheet_name="Lengths")
    assert "Florida" in lengths and "Turtle" not in lengths
    few = view("sightings.xlsx", sheet_name="Sightings", row_range=[1, 3])
    assert "heard 1" in few and "heard 5" not in few
    slide = view("slides.pptx", slide_range=[2, 2])
    assert "Kinds" in slide and "Dangers" not in slide
    answer = client.file.str_replace_editor(
        command="view", path=str(DOCUMENTS / "report.pdf"), enable_metadata=True, view_range=[1, 2]
    )
    assert answer.data.metadata["title"] == "Reefs of the World" and answer.data.metadata["pages"] == "4"
    with pytest.raises(ApiError) as raised:
        view("report.pdf", page_range=[99, 99])
    assert raised.value.body["error_code"] == "editor.range"
