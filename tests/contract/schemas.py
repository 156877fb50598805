"""Compares JSON schemas from two documents, as far as the wire is concerned.

Two questions are answered, each with a list of complaints (empty when all is well):

* `response_problems`: can a client written for *theirs* read what *ours* sends?
* `request_problems`: does *ours* accept whatever a client written for *theirs* sends?

A schema is first reduced to a `Shape`: references followed, unions flattened, null kept apart. Texts, formats and
numeric bounds are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Iterator, List, Optional

SCALARS = ("string", "integer", "number", "boolean")


@dataclass
class Alternative:
    """One non-null kind of value a schema allows."""

    kind: str  # a JSON type, or "any"
    values: Optional[FrozenSet[Any]] = None  # the closed set of an enum
    items: Any = None  # element schema of an array
    properties: Dict[str, Any] = field(default_factory=dict)
    required: FrozenSet[str] = frozenset()
    additional: Any = True  # schema of further properties, or a boolean


@dataclass
class Shape:
    """What a schema allows."""

    nullable: bool
    alternatives: List[Alternative]

    @property
    def is_any(self) -> bool:
        return any(alternative.kind == "any" for alternative in self.alternatives)


class Schemas:
    """A schema together with the document its references point into."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self.document = document

    def resolve(self, schema: Any) -> Dict[str, Any]:
        """Follows references; `true` becomes the empty schema."""
        if schema is True or schema is None:
            return {}
        while "$ref" in schema:
            target: Any = self.document
            for part in schema["$ref"].lstrip("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **rest}
        return schema

    def shape(self, schema: Any) -> Shape:
        found = list(self._flatten(self.resolve(schema)))
        nullable = any(alternative.kind == "null" for alternative in found)
        merged: Dict[str, Alternative] = {}
        others: List[Alternative] = []
        for alternative in found:
            if alternative.kind == "null":
                continue
            if alternative.kind in SCALARS and alternative.kind in merged:
                known = merged[alternative.kind]
                closed = known.values is not None and alternative.values is not None
                known.values = known.values | alternative.values if closed else None
            elif alternative.kind in SCALARS:
                merged[alternative.kind] = alternative
            else:
                nullable = nullable or alternative.kind == "any"
                others.append(alternative)
        return Shape(nullable, [*merged.values(), *others])

    def _flatten(self, schema: Dict[str, Any]) -> Iterator[Alternative]:
        for union in ("anyOf", "oneOf"):
            if union in schema:
                for member in schema[union]:
                    yield from self._flatten(self.resolve(member))
                return
        if "allOf" in schema:
            yield from self._flatten(self._merge_all(schema))
            return
        values = schema.get("enum", [schema["const"]] if "const" in schema else None)
        kinds = schema.get("type")
        if kinds is None:
            kinds = _kinds_of(values) if values else "object" if "properties" in schema else "any"
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            yield Alternative(
                kind=kind,
                values=frozenset(values) if values and kind in SCALARS else None,
                items=schema.get("items"),
                properties=schema.get("properties", {}),
                required=frozenset(schema.get("required", [])),
                additional=schema.get("additionalProperties", True),
            )

    def _merge_all(self, schema: Dict[str, Any]) -> Dict[str, Any]:
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for member in schema["allOf"]:
            member = self.resolve(member)
            if "allOf" in member:
                member = self._merge_all(member)
            for key, value in member.items():
                if key == "properties":
                    merged[key] = {**merged.get(key, {}), **value}
                elif key == "required":
                    merged[key] = [*merged.get(key, []), *value]
                else:
                    merged.setdefault(key, value)
        return merged


def response_problems(
    ours: Schemas, our_schema: Any, theirs: Schemas, their_schema: Any, where: str = "response"
) -> List[str]:
    """Why a client of theirs could not read our answer."""
    our_shape, their_shape = ours.shape(our_schema), theirs.shape(their_schema)
    if their_shape.is_any:
        return []
    if our_shape.is_any:
        return [f"{where}: untyped, must be {_describe(their_shape)}"]
    problems = []
    if our_shape.nullable and not their_shape.nullable:
        problems.append(f"{where}: may be null, must not")
    for ours_now in our_shape.alternatives:
        attempts = [
            _response_alternative(ours, ours_now, theirs, candidate, where)
            for candidate in their_shape.alternatives
            if _fits(ours_now.kind, candidate.kind)
        ]
        if not attempts:
            problems.append(f"{where}: may be {ours_now.kind}, must be {_describe(their_shape)}")
        else:
            problems.extend(min(attempts, key=len))
    return problems


def _response_alternative(
    ours: Schemas, our: Alternative, theirs: Schemas, their: Alternative, where: str
) -> List[str]:
    problems = []
    if their.values is not None:
        unknown = sorted((our.values or {"any text"}) - their.values, key=str)
        if unknown:
            problems.append(f"{where}: may be {unknown}, unknown to clients")
    if our.kind == "array":
        problems += response_problems(ours, our.items, theirs, their.items, f"{where}[]")
    if our.kind == "object":
        for name, schema in their.properties.items():
            if name not in our.properties:
                problems.append(f"{where}.{name}: missing")
                continue
            if name not in our.required:
                problems.append(f"{where}.{name}: must always be sent, clients apply no defaults")
            problems += response_problems(ours, our.properties[name], theirs, schema, f"{where}.{name}")
        if isinstance(their.additional, dict) and not their.properties:
            entries = dict(our.properties)
            if our.additional is not False:
                entries["*"] = our.additional
            for name, schema in entries.items():
                problems += response_problems(ours, schema, theirs, their.additional, f"{where}.{name}")
    return problems


def request_problems(
    ours: Schemas,
    our_schema: Any,
    theirs: Schemas,
    their_schema: Any,
    where: str = "request",
    null_means_absent: bool = False,
) -> List[str]:
    """Why we would refuse or misread a request meant for theirs.

    With `null_means_absent` a null is taken as leaving the field out, which the server does for every input.
    """
    our_shape, their_shape = ours.shape(our_schema), theirs.shape(their_schema)
    if our_shape.is_any:
        return []
    if their_shape.is_any:
        return [f"{where}: only {_describe(our_shape)}, must take anything"]
    problems = []
    if their_shape.nullable and not our_shape.nullable and not null_means_absent:
        problems.append(f"{where}: must take null")
    for their_now in their_shape.alternatives:
        attempts = [
            _request_alternative(ours, candidate, theirs, their_now, where, null_means_absent)
            for candidate in our_shape.alternatives
            if _fits(their_now.kind, candidate.kind)
        ]
        if not attempts:
            problems.append(f"{where}: must take {their_now.kind}, only {_describe(our_shape)}")
        else:
            problems.extend(min(attempts, key=len))
    return problems


def _request_alternative(
    ours: Schemas,
    our: Alternative,
    theirs: Schemas,
    their: Alternative,
    where: str,
    null_means_absent: bool,
) -> List[str]:
    problems = []
    if our.values is not None and their.values is not None:
        refused = sorted(their.values - our.values, key=str)
        if refused:
            problems.append(f"{where}: must take {refused}")
    if their.kind == "array":
        problems += request_problems(ours, our.items, theirs, their.items, f"{where}[]", null_means_absent)
    if their.kind == "object":
        for name in sorted(our.required - their.required):
            problems.append(f"{where}.{name}: required, must be optional")
        for name, schema in their.properties.items():
            if name not in our.properties:
                problems.append(f"{where}.{name}: missing")
                continue
            ours_now = our.properties[name]
            problems += default_problems(ours, ours_now, theirs, schema, f"{where}.{name}")
            problems += request_problems(ours, ours_now, theirs, schema, f"{where}.{name}", null_means_absent)
        if isinstance(their.additional, dict) and not their.properties:
            problems += request_problems(
                ours, our.additional, theirs, their.additional, f"{where}.*", null_means_absent
            )
    return problems


def default_problems(
    ours: Schemas, our_schema: Any, theirs: Schemas, their_schema: Any, where: str
) -> List[str]:
    """Complains when a default that is stated on their side is another one on ours."""
    their_default = theirs.resolve(their_schema).get("default")
    our_default = ours.resolve(our_schema).get("default")
    if their_default is None or our_default == their_default:
        return []
    return [f"{where}: default is {our_default!r}, must be {their_default!r}"]


def _fits(sent: str, taken: str) -> bool:
    return sent == taken or (sent == "integer" and taken == "number")


def _kinds_of(values: List[Any]) -> List[str]:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return sorted({names[type(value)] for value in values})


def _describe(shape: Shape) -> str:
    kinds = [alternative.kind for alternative in shape.alternatives]
    return " or ".join(kinds + ["null"] * shape.nullable)
