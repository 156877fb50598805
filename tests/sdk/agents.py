"""An agent with a browser context of its own, as the SDK drives it."""

from __future__ import annotations

import urllib.parse
import uuid
from typing import Any, Callable, Dict, Iterator, List

import pytest
from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from server import Server
from sites import Site


class Agent:
    """Everything the SDK can do with the browser, in one context."""

    def __init__(self, server: Server, site: Site) -> None:
        self.server = server
        self.site = site
        self.context = f"agent-{uuid.uuid4().hex[:12]}"
        self.client: Sandbox = server.client

    @property
    def options(self) -> Any:
        """Request options that name the context; fields are read from the query whatever the verb."""
        return self.extension()

    def extension(self, **fields: Any) -> Any:
        """The same with further fields that the SDK does not know."""
        query = {"context": self.context, **fields}
        return {"additional_query_parameters": query, "max_retries": 0}

    def open(self, name: str) -> Any:
        """Shows one of the site's pages."""
        return self.visit(self.site.page(name))

    def visit(self, url: str) -> Any:
        return self.client.browser_page.navigate(url=url, request_options=self.options).data

    def show(self, html: str) -> Any:
        """Shows a page made of this."""
        return self.open("page?html=" + urllib.parse.quote(html))

    def value(self, expression: str) -> Any:
        """What an expression yields on the page."""
        return self.client.browser_page.evaluate(expression=expression, request_options=self.options).data

    def fetch(self, url: str) -> str:
        """What the page gets when it asks for an address; the error's name when it gets nothing."""
        return self.value(f"fetch({url!r}).then((answer) => answer.text(), (error) => error.name)")

    def tabs(self) -> List[Dict[str, Any]]:
        return self.client.browser_tabs.list(request_options=self.options).data

    def cookies(self, **options: Any) -> List[Dict[str, Any]]:
        return self.client.browser_cookies.get_cookies(**options, request_options=self.options).data

    def requests(self, **options: Any) -> List[Dict[str, Any]]:
        return self.client.browser_network.get_requests(**options, request_options=self.options).data

    def close(self) -> None:
        with self.server.http as http:
            http.delete(f"/v1/browser/contexts/{self.context}")


def refused(code: str, status: int, call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The message of a call that must be refused so."""
    with pytest.raises(ApiError) as error:
        call(*arguments, **options)
    assert error.value.status_code == status, error.value
    body = error.value.body if isinstance(error.value.body, dict) else error.value.body.dict()
    assert body["error_code"] == code, body
    assert body["success"] is False and body["message"]
    return body["message"]


@pytest.fixture
def make_agent(server: Server, site: Site) -> Iterator[Callable[[], Agent]]:
    """Makes agents on the shared server; their contexts are closed at the end."""
    made: List[Agent] = []

    def make() -> Agent:
        made.append(Agent(server, site))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def agent(make_agent: Callable[[], Agent]) -> Agent:
    """An agent with a context of its own."""
    return make_agent()
