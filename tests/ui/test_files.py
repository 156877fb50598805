"""The Files pane: browsing, previews, editing without losing anybody's work, files in and out."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from screens import PATIENCE, pane
from server import Server
from waiting import eventually

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg=="
)
PDF = b"""%PDF-1.1
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]>>endobj
trailer<</Root 1 0 R>>
"""


@pytest.fixture
def folder(server: Server, tmp_path: Path) -> Path:
    """A directory of the workspace that only this test has."""
    made = server.workspace / tmp_path.name
    made.mkdir()
    return made


@pytest.fixture
def files(visit: Callable[..., Page], server: Server, folder: Path) -> Callable[[], Locator]:
    """Opens the pane, maximised, in that directory."""

    def open_pane() -> Locator:
        page = visit(f"{server.url}/")
        panel = pane(page, "files")
        panel.get_by_role("button", name="Maximise").click()
        panel.get_by_role("button", name=folder.name, exact=True).click()
        expect(panel.get_by_role("navigation", name="Path")).to_contain_text(folder.name, timeout=PATIENCE)
        expect(panel.locator(".loading")).to_have_count(0, timeout=PATIENCE)
        return panel

    return open_pane


def entry(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("button", name=name, exact=True)


def source(panel: Locator) -> Locator:
    return panel.get_by_role("textbox", name=re.compile("Content of"))


def test_text_is_edited_and_saved(files: Callable[[], Locator], folder: Path) -> None:
    (folder / "notes.txt").write_text("one\n")
    panel = files()
    entry(panel, "notes.txt").click()
    expect(source(panel)).to_have_value("one\n")
    source(panel).fill("one\ntwo\n")
    expect(panel.get_by_text("Not saved")).to_be_visible()
    source(panel).press("Control+s")
    expect(panel.get_by_text("Saved", exact=True)).to_be_visible(timeout=PATIENCE)
    assert (folder / "notes.txt").read_text() == "one\ntwo\n"


def test_a_change_of_somebody_else_is_not_overwritten_unseen(files: Callable[[], Locator], folder: Path) -> None:
    (folder / "shared.txt").write_text("theirs 1\n")
    panel = files()
    entry(panel, "shared.txt").click()
    source(panel).fill("mine\n")
    (folder / "shared.txt").write_text("theirs 2\n")
    panel.get_by_role("button", name="Save").click()
    dialog = panel.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Changed by somebody else")
    dialog.get_by_role("button", name="Cancel").click()
    assert (folder / "shared.txt").read_text() == "theirs 2\n"
    expect(source(panel)).to_have_value("mine\n")
    panel.get_by_role("button", name="Save").click()
    dialog.get_by_role("button", name="Show theirs").click()
    expect(source(panel)).to_have_value("theirs 2\n", timeout=PATIENCE)
    source(panel).fill("mine after all\n")
    (folder / "shared.txt").write_text("theirs 3\n")
    panel.get_by_role("button", name="Save").click()
    dialog.get_by_role("button", name="Overwrite").click()
    expect(panel.get_by_text("Saved", exact=True)).to_be_visible(timeout=PATIENCE)
    assert (folder / "shared.txt").read_text() == "mine after all\n"


def test_markdown_is_shown_as_a_page_and_cannot_smuggle_anything_in(
    files: Callable[[], Locator], folder: Path
) -> None:
    picture = '<img src=x onerror="window.owned=1">'
    hostile = f"# Title\n\n{picture}\n\n[bad](javascript:window.owned=1) [good](https://h.test)\n"
    (folder / "read.md").write_text(hostile)
    panel = files()
    entry(panel, "read.md").click()
    shown = panel.locator(".markdown")
    expect(shown.get_by_role("heading", name="Title")).to_be_visible(timeout=PATIENCE)
    expect(shown.locator("img")).to_have_count(0)
    expect(shown.get_by_role("link")).to_have_count(1)
    assert panel.page.evaluate("window.owned") is None
    panel.get_by_role("button", name="Edit", exact=True).click()
    expect(source(panel)).to_have_value(hostile)


def test_pictures_and_documents_are_shown_and_the_rest_is_named(files: Callable[[], Locator], folder: Path) -> None:
    (folder / "dot.png").write_bytes(PICTURE)
    (folder / "page.pdf").write_bytes(PDF)
    (folder / "blob.bin").write_bytes(bytes(range(256)) * 10)
    panel = files()
    entry(panel, "dot.png").click()
    picture = panel.get_by_role("img", name="dot.png")
    expect(picture).to_be_visible(timeout=PATIENCE)
    eventually(lambda: picture.evaluate("image => image.naturalWidth") == 2, "the picture is drawn")
    entry(panel, "page.pdf").click()
    expect(panel.locator('iframe[title="page.pdf"]')).to_have_attribute("src", re.compile("^blob:"), timeout=PATIENCE)
    entry(panel, "blob.bin").click()
    expect(panel.get_by_text("No preview")).to_be_visible(timeout=PATIENCE)


def test_files_are_dropped_into_a_directory(files: Callable[[], Locator], folder: Path) -> None:
    panel = files()
    drop = panel.page.evaluate_handle(
        "() => { const carried = new DataTransfer();"
        " carried.items.add(new File(['dropped content'], 'dropped.txt'));"
        " carried.items.add(new File([new Uint8Array(3_000_000)], 'large.bin'));"
        " return carried; }"
    )
    place = panel.locator(".files")
    place.dispatch_event("dragover", {"dataTransfer": drop})
    expect(panel.get_by_text("Drop to send to")).to_be_visible()
    place.dispatch_event("drop", {"dataTransfer": drop})
    expect(entry(panel, "dropped.txt")).to_be_visible(timeout=PATIENCE)
    expect(entry(panel, "large.bin")).to_be_visible(timeout=PATIENCE)
    assert (folder / "dropped.txt").read_text() == "dropped content"
    assert (folder / "large.bin").stat().st_size == 3_000_000


def test_folders_are_made_renamed_and_deleted_after_a_question(files: Callable[[], Locator], folder: Path) -> None:
    panel = files()
    dialog = panel.page.get_by_role("dialog")
    panel.get_by_role("button", name="New folder").click()
    dialog.get_by_role("textbox").fill("new")
    dialog.get_by_role("button", name="Create").click()
    expect(entry(panel, "new")).to_be_visible(timeout=PATIENCE)
    assert (folder / "new").is_dir()
    entry(panel, "new").hover()
    panel.get_by_role("button", name="Rename new").click()
    dialog.get_by_role("textbox").fill("renamed")
    dialog.get_by_role("textbox").press("Enter")
    expect(entry(panel, "renamed")).to_be_visible(timeout=PATIENCE)
    (folder / "renamed" / "inside").touch()
    entry(panel, "renamed").hover()
    panel.get_by_role("button", name="Delete renamed").click()
    dialog.get_by_role("button", name="Cancel").click()
    assert (folder / "renamed" / "inside").exists()
    panel.get_by_role("button", name="Delete renamed").click()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(entry(panel, "renamed")).to_have_count(0, timeout=PATIENCE)
    assert not (folder / "renamed").exists()


def test_what_is_fetched_is_what_is_there(files: Callable[[], Locator], folder: Path, tmp_path: Path) -> None:
    (folder / "fetch me.txt").write_text("fetched\n")
    panel = files()
    entry(panel, "fetch me.txt").hover()
    with panel.page.expect_download() as coming:
        panel.get_by_role("link", name="Download fetch me.txt").first.click()
    coming.value.save_as(tmp_path / "fetched")
    assert (tmp_path / "fetched").read_text() == "fetched\n"


def test_a_directory_that_cannot_be_read_is_named(files: Callable[[], Locator], folder: Path) -> None:
    (folder / "going").mkdir()
    panel = files()
    (folder / "going").rmdir()
    entry(panel, "going").click()
    expect(panel.get_by_role("alert")).to_contain_text("going", timeout=PATIENCE)
