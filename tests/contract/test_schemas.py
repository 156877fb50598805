"""The comparison itself: each kind of difference that would break a client is found."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from schemas import Schemas, request_problems, response_problems

NO_DOCUMENT = Schemas({})


def obj(required: List[str], **properties: Any) -> Dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
MAYBE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
OPEN_LIST = {"type": "array", "items": STRING}

ANSWERS = [
    ("same", STRING, STRING, []),
    ("an integer where a number is read", INTEGER, {"type": "number"}, []),
    ("more fields", obj(["a", "b"], a=STRING, b=INTEGER), obj(["a"], a=STRING), []),
    ("another spelling of null", {"type": ["string", "null"]}, MAYBE, []),
    ("fewer values", {"enum": ["x"]}, {"type": "string", "enum": ["x", "y"]}, []),
    ("values one by one", {"oneOf": [{"const": "x"}, {"const": "y"}]}, {"enum": ["x", "y"]}, []),
    ("anything goes", STRING, {}, []),
    ("a number where an integer is read", {"type": "number"}, INTEGER, ["response: may be"]),
    ("another type", INTEGER, STRING, ["response: may be integer"]),
    ("null where a value is read", MAYBE, STRING, ["response: may be null"]),
    ("untyped", {}, STRING, ["response: untyped"]),
    ("a field short", obj([]), obj(["a"], a=STRING), ["response.a: missing"]),
    ("a field at times", obj([], a=STRING), obj([], a=STRING), ["response.a: must always be sent"]),
    ("an unknown value", {"enum": ["x", "z"]}, {"enum": ["x"]}, ["response: may be ['z']"]),
    ("free text for an enum", STRING, {"enum": ["x"]}, ["response: may be ['any text']"]),
    ("other elements", {"type": "array", "items": INTEGER}, OPEN_LIST, ["response[]: may be"]),
    (
        "other map values",
        {"type": "object", "additionalProperties": INTEGER},
        {"type": "object", "additionalProperties": STRING},
        ["response.*: may be integer"],
    ),
    (
        "deep inside",
        obj(["a"], a=obj(["b"], b={"type": "array", "items": obj([])})),
        obj(["a"], a=obj(["b"], b={"type": "array", "items": obj(["c"], c=STRING)})),
        ["response.a.b[].c: missing"],
    ),
]

REQUESTS = [
    ("same", STRING, STRING, []),
    ("a number for an integer", {"type": "number"}, INTEGER, []),
    ("more fields", obj([], a=STRING, b=STRING), obj([], a=STRING), []),
    ("optional for required", obj([], a=STRING), obj(["a"], a=STRING), []),
    ("more values", {"enum": ["x", "y"]}, {"enum": ["x"]}, []),
    ("an enum for free text", {"enum": ["x"]}, STRING, []),
    ("null for a value", MAYBE, STRING, []),
    ("null refused", STRING, MAYBE, ["request: must take null"]),
    ("another type", INTEGER, STRING, ["request: must take string"]),
    ("a field short", obj([]), obj([], a=STRING), ["request.a: missing"]),
    ("more required", obj(["a"], a=STRING), obj([], a=STRING), ["request.a: required"]),
    ("a value short", {"enum": ["x"]}, {"enum": ["x", "y"]}, ["request: must take ['y']"]),
    (
        "another default",
        obj([], a={"type": "boolean", "default": True}),
        obj([], a={"type": "boolean", "default": False}),
        ["request.a: default is True"],
    ),
    (
        "a default lost",
        obj([], a=STRING),
        obj([], a={"type": "string", "default": "x"}),
        ["request.a: default is None"],
    ),
]


@pytest.mark.parametrize(
    "ours, theirs, expected", [each[1:] for each in ANSWERS], ids=[each[0] for each in ANSWERS]
)
def test_answers_are_compared(ours: Any, theirs: Any, expected: List[str]) -> None:
    _match(response_problems(NO_DOCUMENT, ours, NO_DOCUMENT, theirs), expected)


@pytest.mark.parametrize(
    "ours, theirs, expected", [each[1:] for each in REQUESTS], ids=[each[0] for each in REQUESTS]
)
def test_requests_are_compared(ours: Any, theirs: Any, expected: List[str]) -> None:
    _match(request_problems(NO_DOCUMENT, ours, NO_DOCUMENT, theirs), expected)


def test_references_are_followed_in_the_document_they_belong_to() -> None:
    ours = Schemas({"defs": {"Name": STRING}})
    theirs = Schemas({"other": {"Thing": INTEGER}})
    problems = response_problems(ours, {"$ref": "#/defs/Name"}, theirs, {"$ref": "#/other/Thing"})
    assert problems == ["response: may be string, must be integer"]


def _match(problems: List[str], expected: List[str]) -> None:
    assert len(problems) == len(expected), problems
    for problem, start in zip(problems, expected):
        assert problem.startswith(start)
