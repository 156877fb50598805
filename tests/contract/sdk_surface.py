"""What the installed PyPI `agent-sandbox` really sends and expects, found by driving it.

Every public method of every sub-client is called with made-up arguments against a transport that only takes notes;
the answer it gets is an error, because only the request matters. Types of fields come from the methods' annotations
and the SDK's own pydantic models.
"""

from __future__ import annotations

import collections.abc
import datetime
import inspect
import json
import re
import typing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple

import agent_sandbox.types
import httpx
import pydantic
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.core.file import File
from agent_sandbox.core.serialization import FieldMetadata

BASE = "http://sandbox.test"
NOT_A_FIELD = "request_options"
WHOLE_BODY = "request"


@dataclass(frozen=True)
class Call:
    """One SDK method as it appears on the wire."""

    group: str
    method: str
    verb: str
    path: str
    query: FrozenSet[str]
    body: FrozenSet[str]
    content_type: Optional[str]
    request: Dict[str, Any]  # JSON schema of all named fields, whatever their place; or of the whole body
    answer: Optional[Dict[str, Any]]  # JSON schema of the answer; None when it is not JSON

    @property
    def name(self) -> str:
        return f"{self.group}.{self.method}"

    @property
    def key(self) -> Tuple[str, str]:
        return self.verb, self.path


@lru_cache(maxsize=None)
def sdk_calls() -> Tuple[Call, ...]:
    """Every call the SDK can make."""
    return tuple(
        _record(group, name)
        for group in _groups()
        for name, _ in inspect.getmembers(_client_class(group), inspect.isfunction)
        if not name.startswith("_")
    )


def _groups() -> List[str]:
    """The sub-clients: each is a property of the client."""
    members = inspect.getmembers(Sandbox, lambda member: isinstance(member, property))
    return [name for name, _ in members if not name.startswith("_")]


def _client_class(group: str) -> type:
    return type(getattr(Sandbox(base_url=BASE), group))


def _record(group: str, name: str) -> Call:
    function = getattr(_client_class(group), name)
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = {
        parameter.name: parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", NOT_A_FIELD)
    }
    arguments = {each: _made_up(hints[each], each) for each in parameters}
    request = _send(group, name, arguments)

    path = httpx.URL(str(request.url)).path
    for each, value in arguments.items():
        if isinstance(value, str):
            path = path.replace(f"/{value}", "/{" + each + "}")
    # Only an integer may stand in a path besides text, and it stands there alone.
    for each, value in arguments.items():
        if type(value) is int:
            path = re.sub(rf"/{value}(?=/|$)", "/{" + each + "}", path)

    query = frozenset(request.url.params.keys())
    content_type, body = _body_of(request)
    if WHOLE_BODY in parameters:
        fields = _request_schema(hints[WHOLE_BODY])
    else:
        wire = {each: _wire_name(each, query | body) for each in parameters if f"{{{each}}}" not in path}
        fields = {
            "type": "object",
            "properties": {wire[each]: _request_schema(hints[each]) for each in wire},
            "required": [wire[each] for each in wire if parameters[each].default is inspect.Parameter.empty],
        }
    answer = _answer_schema(hints["return"]) if _is_json(hints["return"]) else None
    return Call(group, name, request.method, path, query, body, content_type, _hoist(fields), answer)


def _send(group: str, name: str, arguments: Dict[str, Any]) -> httpx.Request:
    seen: List[httpx.Request] = []

    def note(request: httpx.Request) -> httpx.Response:
        request.read()
        seen.append(request)
        return httpx.Response(418, json={})

    transport = httpx.Client(transport=httpx.MockTransport(note))
    client = Sandbox(base_url=BASE, httpx_client=transport)
    try:
        result = getattr(getattr(client, group), name)(**arguments)
        if inspect.isgenerator(result):
            next(result)
    except ApiError:
        pass
    assert len(seen) == 1, f"{group}.{name} made {len(seen)} requests"
    return seen[0]


def _body_of(request: httpx.Request) -> Tuple[Optional[str], FrozenSet[str]]:
    """Content type and field names of a request's body."""
    if not request.content:
        return None, frozenset()
    content_type = request.headers["content-type"].split(";")[0]
    if content_type == "multipart/form-data":
        names = re.findall(rb'form-data; name="([^"]+)"', request.content)
        return content_type, frozenset(name.decode() for name in names)
    value = json.loads(request.content)
    return content_type, frozenset(value if isinstance(value, dict) else ())


def _wire_name(parameter: str, sent: FrozenSet[str]) -> str:
    """The key a parameter travels under: its own name, or that without what Python made necessary."""
    for candidate in (parameter, parameter.rstrip("_"), f"_{parameter}"):
        if candidate in sent:
            return candidate
    raise AssertionError(f"{parameter} does not appear among the fields sent: {sorted(sent)}")


def _made_up(annotation: Any, name: str) -> Any:
    """A value of this type; text carries the parameter's name so that it can be found again."""
    if annotation == File:
        return ("made-up.txt", b"made up", "text/plain")
    origin, members = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _made_up(members[0], name)
    if origin is typing.Union:
        return _made_up(next(each for each in members if each is not type(None)), name)
    if origin is typing.Literal:
        return members[0]
    if origin in (list, collections.abc.Sequence) or annotation is list:
        return [_made_up(members[0], name)] if members else ["made-up"]
    if origin is dict or annotation is dict:
        return {"key": _made_up(members[1], name)} if members else {"key": "made-up"}
    if inspect.isclass(annotation) and issubclass(annotation, pydantic.BaseModel):
        fields = typing.get_type_hints(annotation, include_extras=True)
        values = {each: _made_up(fields[each], each) for each in annotation.model_fields}
        return annotation.model_construct(**values)
    if annotation is bool:
        return True
    if annotation is int:
        return 7919
    if annotation is float:
        return 1.5
    if annotation is datetime.datetime:
        return datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    if annotation in (str, Any, object):
        return f"made-up-{name}"
    raise AssertionError(f"no value made up for {name}: {annotation}")


def _is_json(annotation: Any) -> bool:
    streams = typing.get_origin(annotation) is collections.abc.Iterator
    return annotation is not type(None) and not streams


def _request_schema(annotation: Any) -> Dict[str, Any]:
    """Schema of a field to send: of an open set of values only the known ones matter."""
    return _without_any(_schema_of(annotation), lambda members: members)


def _answer_schema(annotation: Any) -> Dict[str, Any]:
    """Schema of an answer: an open set of values stays open, but only to text."""
    return _without_any(_schema_of(annotation), lambda members: [*members, {"type": "string"}])


def _without_any(value: Any, open_set: Callable[[List[Any]], List[Any]]) -> Any:
    """Rewrites `Literal[...] | Any`, the generator's way to write a set of values that may grow."""
    if isinstance(value, list):
        return [_without_any(each, open_set) for each in value]
    if not isinstance(value, dict):
        return value
    value = {key: _without_any(each, open_set) for key, each in value.items()}
    members = value.get("anyOf", [])
    typed = [each for each in members if each != {}]
    if len(typed) < len(members) and any("enum" in each or "const" in each for each in typed):
        value["anyOf"] = open_set(typed)
    return value


def _schema_of(annotation: Any) -> Dict[str, Any]:
    if annotation in (File, Optional[File]):
        return {"type": "string"}
    schema = pydantic.TypeAdapter(annotation).json_schema()
    _rename(annotation, schema)
    for name, model in inspect.getmembers(agent_sandbox.types, inspect.isclass):
        _rename(model, schema.get("$defs", {}).get(name, {}))
    return schema


def _rename(model: Any, schema: Dict[str, Any]) -> None:
    """Gives a model's fields the names they have on the wire, which pydantic is not told."""
    if not (inspect.isclass(model) and issubclass(model, pydantic.BaseModel)):
        return
    for name, field in model.model_fields.items():
        for note in field.metadata:
            if isinstance(note, FieldMetadata) and name in schema.get("properties", {}):
                schema["properties"][note.alias] = schema["properties"].pop(name)
                schema["required"] = [
                    note.alias if each == name else each for each in schema.get("required", [])
                ]


def _hoist(schema: Dict[str, Any]) -> Dict[str, Any]:
    """Moves the `$defs` of each property to the top, where references point."""
    definitions = dict(schema.get("$defs", {}))
    for value in schema.get("properties", {}).values():
        definitions.update(value.pop("$defs", {}))
    return {**schema, "$defs": definitions}
