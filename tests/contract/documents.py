"""Finds the OpenAPI documents: ours, and upstream's where a developer has it at hand.

Upstream's file is its authors' text. It is read, never copied: nothing of it is committed here.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Tuple

from schemas import Schemas

REPOSITORY = Path(__file__).resolve().parents[2]
COMMITTED = REPOSITORY / "contract" / "openapi.json"
UPSTREAM = REPOSITORY.parent / "shared" / "contract" / "aio-openapi.json"
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Operation:
    """One operation of an OpenAPI document."""

    verb: str
    path: str
    value: Dict[str, Any]

    @property
    def key(self) -> Tuple[str, str]:
        return self.verb, self.path

    @property
    def sdk_name(self) -> Optional[str]:
        """`group.method` as generated SDKs spell it, where the document says."""
        group = self.value.get("x-fern-sdk-group-name")
        method = self.value.get("x-fern-sdk-method-name")
        if isinstance(group, list):
            group = ".".join(group)
        return f"{group.replace('.', '_')}.{method}" if group and method else None

    def parameters(self, place: str) -> Dict[str, Dict[str, Any]]:
        """Parameters in this place (`query`, `path`, `header`) by name."""
        found = self.value.get("parameters", [])
        return {each["name"]: each for each in found if each["in"] == place}

    @property
    def body(self) -> Dict[str, Any]:
        """Request body schemas by content type."""
        return _schemas_of(self.value.get("requestBody", {}))

    @property
    def answer(self) -> Dict[str, Any]:
        """Schemas of the successful answer by content type."""
        return _schemas_of(self.value["responses"].get("200", {}))


class Document:
    """An OpenAPI document."""

    def __init__(self, value: Dict[str, Any]) -> None:
        self.value = value
        self.schemas = Schemas(value)
        self.operations = {operation.key: operation for operation in _operations(value)}


def _operations(document: Dict[str, Any]) -> Iterator[Operation]:
    for path, item in document["paths"].items():
        for method, value in item.items():
            if method in METHODS:
                yield Operation(method.upper(), path, value)


def _schemas_of(body: Dict[str, Any]) -> Dict[str, Any]:
    return {kind: media.get("schema", {}) for kind, media in body.get("content", {}).items()}


def emitted_text() -> Optional[str]:
    """What `$ATOLL_BIN openapi` prints; None when no binary is named."""
    binary = os.environ.get("ATOLL_BIN")
    if not binary:
        return None
    command = [binary, "openapi"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@lru_cache(maxsize=None)
def our_document() -> Document:
    """Our document, from the binary under test or else the committed file."""
    text = emitted_text()
    if text is None:
        if not COMMITTED.exists():
            raise FileNotFoundError(f"{COMMITTED} is missing and ATOLL_BIN is not set: make contract")
        text = COMMITTED.read_text()
    return Document(json.loads(text))


@lru_cache(maxsize=None)
def upstream_document() -> Optional[Document]:
    """Upstream's document, where it is at hand."""
    return Document(json.loads(UPSTREAM.read_text())) if UPSTREAM.exists() else None
