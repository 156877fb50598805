"""The official Python client, driven from tests that are not asynchronous themselves."""

from __future__ import annotations

import json
import socket
import sys
from contextlib import contextmanager
from typing import Any, Awaitable, Callable, Iterator, TypeVar

import anyio
from mcp import Client
from mcp.shared.exceptions import MCPError

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup

T = TypeVar("T")

DEADLINE = 120
# Sessions by a handshake, and the revision without either.
MODES = ["legacy", "2026-07-28"]


def use(target: Any, work: Callable[[Client], Awaitable[T]], mode: str = "legacy", **options: Any) -> T:
    """Connects to a server, does something with it, and leaves."""

    async def main() -> T:
        with anyio.fail_after(DEADLINE):
            async with Client(target, mode=mode, **options) as client:
                return await work(client)

    return anyio.run(main)


def call(target: Any, name: str, arguments: Any = None, **options: Any) -> Any:
    """Calls one tool."""
    return use(target, lambda client: client.call_tool(name, arguments or {}), **options)


def names(target: Any, **options: Any) -> list[str]:
    """The names of all tools."""

    async def work(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    return use(target, work, **options)


def refusal(target: Any, work: Callable[[Client], Awaitable[Any]], **options: Any) -> MCPError:
    """The error of the protocol that something ends with; the client wraps it in groups of tasks."""
    try:
        use(target, work, **options)
    except BaseException as error:  # noqa: BLE001
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        assert isinstance(error, MCPError), repr(error)
        return error
    raise AssertionError("nothing was refused")


@contextmanager
def asked(url: str, path: str, body: Any) -> Iterator[None]:
    """Asks by plain HTTP, and leaves without having waited for the answer."""
    host, port = url.replace("http://", "").split(":")
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + content)
        yield


def text(result: Any) -> str:
    """All text of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")
