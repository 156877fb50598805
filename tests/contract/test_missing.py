"""The list of what we lack is true, and only shrinks."""

from __future__ import annotations

import missing


def test_everything_missing_is_listed() -> None:
    assert missing.unlisted() == [], "serve these, or (only with a good reason) add them to the list"


def test_nothing_listed_exists() -> None:
    assert missing.obsolete() == [], "these are served now: remove the lines with `make contract`"


def test_everything_listed_belongs_to_the_surface() -> None:
    assert missing.unknown() == [], "upstream's document has no such operations"


def test_the_list_is_sorted_without_repetition() -> None:
    lines = [line for line in missing.LIST.read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(set(lines))
