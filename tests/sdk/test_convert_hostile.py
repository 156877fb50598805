"""Documents that are damaged, endless or meant to hurt: each is a named error, and the next one is converted."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from pathlib import Path
from typing import Callable, Iterator

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server
from webs import Web

DOCUMENTS = Path(__file__).parent / "documents"
NAMED = {"convert.failed", "convert.too_large", "convert.timeout", "convert.unsupported", "convert.no_text", "convert.protected"}


@pytest.fixture
def web() -> Iterator[Web]:
    """Sites on this machine."""
    made = Web()
    yield made
    made.close()


def attempt(client: Sandbox, uri: str) -> str:
    """The code of the refusal, or nothing where the document was converted all the same."""
    try:
        client.util.convert_to_markdown(uri=uri)
    except ApiError as error:
        assert error.status_code in (400, 413, 504), error
        return str(error.body["error_code"])
    return ""


def sound(client: Sandbox) -> None:
    assert client.util.convert_to_markdown(uri="data:text/csv,a%2Cb").data.startswith("| a | b |")


def test_documents_that_end_early_or_are_garbled_are_named_or_read_as_far_as_they_go(
    client: Sandbox, folder: Path
) -> None:
    chance = random.Random(7)
    for name in ["report.docx", "sightings.xlsx", "slides.pptx", "report.pdf", "lengths.xls"]:
        whole = (DOCUMENTS / name).read_bytes()
        path = folder / name
        for part in (0.1, 0.5, 0.9):
            path.write_bytes(whole[: int(len(whole) * part)])
            assert attempt(client, str(path)) in NAMED | {""}, (name, part)
        garbled = bytearray(whole)
        for _ in range(200):
            garbled[chance.randrange(100, len(garbled))] = chance.randrange(256)
        path.write_bytes(bytes(garbled))
        assert attempt(client, str(path)) in NAMED | {""}, name
    (folder / "garbage.pdf").write_bytes(b"%PDF-1.7\n" + chance.randbytes(100_000))
    assert attempt(client, str(folder / "garbage.pdf")) in NAMED
    (folder / "empty.docx").write_bytes(b"")
    assert attempt(client, str(folder / "empty.docx")) in NAMED | {""}
    sound(client)


def test_bombs_are_refused(start_server: Callable[..., Server], folder: Path) -> None:
    server = start_server(environment={"ATOLL_LIMIT_CONVERT_INPUT_BYTES": str(4 << 20)})

    def packed(name: str, content: bytes) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
        return made.getvalue()

    (folder / "bomb.zip").write_bytes(packed("a.txt", b"x" * (64 << 20)))
    assert attempt(server.client, str(folder / "bomb.zip")) == "convert.too_large"
    laughs = "<!DOCTYPE rss [<!ENTITY a0 'ha'>"
    laughs += "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 20))
    laughs += "]><rss><channel><title>&a19;</title><item><description>&a19;</description></item></channel></rss>"
    (folder / "laughs.xml").write_text(f"<?xml version='1.0'?>{laughs}")
    assert attempt(server.client, str(folder / "laughs.xml")) in NAMED | {""}
    document = packed("word/document.xml", b"<w:p>" * (40 << 20))
    (folder / "bomb.docx").write_bytes(document)
    assert attempt(server.client, str(folder / "bomb.docx")) in NAMED | {""}
    (folder / "line.txt").write_bytes(b"x" * (5 << 20))
    assert attempt(server.client, str(folder / "line.txt")) == "convert.too_large"
    sound(server.client)


def test_pages_nested_without_end_are_refused(client: Sandbox, folder: Path) -> None:
    for name, content in [
        ("deep.html", "<div>" * 200_000),
        ("table.html", "<table><tr><td>" * 50_000),
        ("odd.html", "<b><i><p>" * 50_000),
        ("list.html", "<ul><li>" * 50_000),
        ("deep.json", "[" * 1_000_000),
        ("wide.html", "<p>" + "<b>x</b> " * 20_000),
    ]:
        (folder / name).write_text(content)
        assert attempt(client, str(folder / name)) in NAMED | {""}, name
    assert attempt(client, str(folder / "deep.html")) == "convert.failed"
    sound(client)


def test_a_document_that_takes_too_much_memory_or_time_ends_only_itself(
    start_server: Callable[..., Server], folder: Path
) -> None:
    limits = {"ATOLL_LIMIT_CONVERT_MEMORY_BYTES": str(400 << 20), "ATOLL_LIMIT_CONVERT_TIMEOUT_SECONDS": "30"}
    server = start_server(environment=limits)
    # A tree of many small elements takes far more memory than its text.
    (folder / "large.html").write_text("<html><body>" + "<a><b></b></a>" * 3_000_000)
    assert attempt(server.client, str(folder / "large.html")) in NAMED
    sound(server.client)


def test_sites_that_misbehave_are_named(start_server: Callable[..., Server], web: Web) -> None:
    limits = {"ATOLL_LIMIT_WEB_TIMEOUT_SECONDS": "100", "ATOLL_LIMIT_CONVERT_INPUT_BYTES": str(1 << 20)}
    server = start_server(environment=limits)
    web.redirect("/round", "/round")
    bomb = gzip.compress(b"x" * (64 << 20))
    addresses = {
        web.url + "/round": "web.bad_answer",
        web.at("/bomb", lambda h: h.reply(200, bomb, {"Content-Encoding": "gzip"})): "web.too_large",
        web.at("/garbled", lambda h: h.reply(200, b"no gzip", {"Content-Encoding": "gzip"})): "web.bad_answer",
        web.at("/odd", lambda h: h.reply(200, b"x", {"Content-Encoding": "rot13"})): "web.bad_answer",
        web.serve("/large", b"x" * (2 << 20)): "web.too_large",
        web.at("/lie", lambda h: h.wfile.write(b"not http at all\r\n\r\n")): "web.bad_answer",
    }
    for address, expected in addresses.items():
        with pytest.raises(ApiError) as raised:
            server.client.util.convert_to_markdown(uri=address)
        assert raised.value.body["error_code"] == expected, (address, raised.value)
    hasty = start_server(environment={"ATOLL_LIMIT_WEB_TIMEOUT_SECONDS": "1"})
    with pytest.raises(ApiError) as raised:
        hasty.client.util.convert_to_markdown(uri=web.drip("/drip"))
    assert (raised.value.status_code, raised.value.body["error_code"]) == (504, "web.timeout")
    # What a server says of a type counts less than what the content shows.
    wrong = web.serve("/wrong", b"%PDF-1.4 garbage", {"Content-Type": "text/html"})
    with pytest.raises(ApiError) as raised:
        server.client.util.convert_to_markdown(uri=wrong)
    assert raised.value.body["error_code"] == "convert.failed"
    sound(server.client)
