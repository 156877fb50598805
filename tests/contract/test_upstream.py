"""Our document against upstream's, operation by operation, where that file is at hand.

It says more than the SDK does: defaults, closed sets of values, what may be null, and the newest operations.
"""

from __future__ import annotations

from typing import Any, Dict

import missing
import pytest
from documents import UPSTREAM, Operation, our_document, upstream_document
from schemas import default_problems, request_problems, response_problems
from sdk_surface import sdk_calls

THEIRS = upstream_document()
OPERATIONS = (
    []
    if THEIRS is None
    else [operation for operation in THEIRS.operations.values() if operation.key not in missing.listed()]
)
each_operation = pytest.mark.parametrize(
    "theirs", OPERATIONS, ids=[f"{each.verb} {each.path}" for each in OPERATIONS]
)
pytestmark = pytest.mark.skipif(THEIRS is None, reason=f"{UPSTREAM} is not at hand")


def ours(theirs: Operation) -> Operation:
    operation = our_document().operations.get(theirs.key)
    assert operation is not None, f"{theirs.verb} {theirs.path} is not in our document"
    return operation


def test_something_is_compared() -> None:
    assert len(OPERATIONS) >= 22


def test_every_call_of_the_sdk_is_an_operation_of_that_name() -> None:
    assert THEIRS is not None
    for call in sdk_calls():
        operation = THEIRS.operations[call.key]
        assert operation.sdk_name in (call.name, None)


@each_operation
def test_it_has_the_same_sdk_name_in_the_same_form(theirs: Operation) -> None:
    for extension in ("x-fern-sdk-group-name", "x-fern-sdk-method-name"):
        if extension in theirs.value:
            assert ours(theirs).value.get(extension) == theirs.value[extension]


@each_operation
@pytest.mark.parametrize("place", ["query", "path", "header"])
def test_it_takes_the_same_parameters(theirs: Operation, place: str) -> None:
    assert THEIRS is not None
    ours_now, theirs_now = ours(theirs).parameters(place), theirs.parameters(place)
    problems = []
    for name, parameter in theirs_now.items():
        if name not in ours_now:
            problems.append(f"{place} {name}: missing")
            continue
        our_schema, their_schema = ours_now[name].get("schema"), parameter.get("schema")
        schemas = (our_document().schemas, our_schema, THEIRS.schemas, their_schema)
        problems += request_problems(*schemas, f"{place} {name}")
        problems += default_problems(*schemas, f"{place} {name}")
    for name in _required(ours_now) - _required(theirs_now):
        problems.append(f"{place} {name}: required, must be optional")
    assert problems == []


def _required(parameters: Dict[str, Any]) -> set:
    return {name for name, parameter in parameters.items() if parameter.get("required")}


@each_operation
def test_it_takes_the_same_body(theirs: Operation) -> None:
    assert THEIRS is not None
    for content_type, schema in theirs.body.items():
        assert content_type in ours(theirs).body
        our_schema = ours(theirs).body[content_type]
        problems = request_problems(our_document().schemas, our_schema, THEIRS.schemas, schema)
        assert problems == []
    if not theirs.value.get("requestBody", {}).get("required"):
        assert not ours(theirs).value.get("requestBody", {}).get("required")


@each_operation
def test_it_gives_the_same_answer(theirs: Operation) -> None:
    assert THEIRS is not None
    for content_type, schema in theirs.answer.items():
        assert content_type in ours(theirs).answer
        our_schema = ours(theirs).answer[content_type]
        problems = response_problems(our_document().schemas, our_schema, THEIRS.schemas, schema)
        assert problems == []
