"""Our document serves every call of the installed PyPI SDK, field by field.

Operations on the list of missing ones are left out; everything else the SDK can call is compared.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import missing
import pytest
from documents import our_document
from schemas import Schemas, request_problems, response_problems
from sdk_surface import Call, sdk_calls

CALLS = [call for call in sdk_calls() if call.key not in missing.listed()]
each_call = pytest.mark.parametrize("call", CALLS, ids=[call.name for call in CALLS])


def test_the_sdk_is_the_one_the_contract_is_about() -> None:
    assert importlib.metadata.version("agent-sandbox") == "0.0.30"
    assert len(sdk_calls()) == 131
    assert len({call.key for call in sdk_calls()}) == 131


@each_call
def test_it_is_served_under_the_same_name(call: Call) -> None:
    operation = our_document().operations.get(call.key)
    assert operation is not None, f"{call.verb} {call.path} is not in our document"
    assert operation.sdk_name == call.name


# Fields the SDK sends under a name that our document does not show; the dialect takes them, and tests/sdk uses them.
ALIASES = {"file.watch_poll": {"since"}}


@each_call
def test_its_request_fits(call: Call) -> None:
    document = our_document()
    operation = document.operations[call.key]
    query = operation.parameters("query")
    assert not call.query - query.keys(), "query parameters are missing"

    theirs = Schemas(call.request)
    if call.content_type is not None:
        assert call.content_type in operation.body
        fields = call.request
        if call.body:
            elsewhere = call.query | ALIASES.get(call.name, set())
            names = {k: v for k, v in fields.get("properties", {}).items() if k not in elsewhere}
            required = [name for name in fields.get("required", []) if name in names]
            fields = {**fields, "properties": names, "required": required}
        ours = operation.body[call.content_type]
        problems = request_problems(document.schemas, ours, theirs, fields, null_means_absent=True)
        assert problems == []
    for name in call.query:
        problems = request_problems(
            document.schemas,
            query[name].get("schema"),
            theirs,
            call.request["properties"][name],
            f"query.{name}",
            null_means_absent=True,
        )
        assert problems == []
    surplus = {name for name, each in query.items() if each.get("required")} - call.query
    assert not surplus, "query parameters are required that the SDK does not send"


def without_refusals(envelope: Any) -> Any:
    """The envelope of a success. A file system's refusal in `data` carries more on the wire, see tests/sdk."""
    data = envelope.get("properties", {}).get("data", {})
    for choice in data.get("anyOf", []):
        kept = [each for each in choice.get("anyOf", []) if "FileOperationError" not in each.get("$ref", "")]
        if len(kept) < len(choice.get("anyOf", [])):
            properties = {**envelope["properties"], "data": {"anyOf": [*kept, {"type": "null"}]}}
            return {**envelope, "properties": properties}
    return envelope


@each_call
def test_its_answer_can_be_read(call: Call) -> None:
    document = our_document()
    answer = document.operations[call.key].answer
    if call.answer is None:
        assert "application/json" not in answer
        return
    ours = without_refusals(document.schemas.resolve(answer["application/json"]))
    theirs = Schemas(call.answer)
    assert response_problems(document.schemas, ours, theirs, call.answer) == []
