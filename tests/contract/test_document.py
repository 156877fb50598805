"""The committed OpenAPI document is what the program emits, and keeps to a few rules of its own."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from documents import COMMITTED, emitted_text, our_document


def test_the_committed_document_is_what_the_program_emits() -> None:
    emitted = emitted_text()
    if emitted is None:
        pytest.skip("ATOLL_BIN is not set")
    assert COMMITTED.exists(), "make contract"
    assert json.loads(COMMITTED.read_text()) == json.loads(emitted), "stale: make contract"


def test_no_two_operations_share_an_id_or_an_sdk_name() -> None:
    operations = our_document().operations.values()
    ids = Counter(operation.value["operationId"] for operation in operations)
    names = Counter(operation.sdk_name for operation in operations if operation.sdk_name)
    assert [name for name, count in (ids + names).items() if count > 1] == []


def test_every_reference_leads_somewhere() -> None:
    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                our_document().schemas.resolve(value)
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(our_document().value)
