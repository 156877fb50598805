"""Contexts: each agent has a browser of its own, however many work at once."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, List

import pytest
from agents import Agent, agent, make_agent, refused  # noqa: F401
from server import Server
from sites import Site, site  # noqa: F401

AGENTS = 4
ADDRESSES = 48


def test_agents_in_parallel_never_see_each_others_page(make_agent: Callable[[], Agent]) -> None:  # noqa: F811
    agents = [make_agent() for _ in range(AGENTS)]

    def work(number: int) -> List[str]:
        agent, wrong = agents[number], []  # noqa: F811
        for address in range(number, ADDRESSES, AGENTS):
            token = uuid.uuid4().hex
            opened = agent.open(f"page?html=<title>{token}</title><p id=token>{token}</p><input id=field>")
            api, options = agent.client.browser_page, agent.options
            api.fill(selector="#field", text=f"{address}-{token}", request_options=options)
            seen = [
                opened["title"],
                api.get_text(request_options=options).data,
                api.get_html(request_options=options).data,
                agent.value("document.querySelector('#field').value"),
                agent.value("localStorage.setItem('who', document.title), localStorage.who"),
                agent.tabs()[0]["title"],
            ]
            wrong += [text for text in seen if token not in text]
        return wrong

    with ThreadPoolExecutor(AGENTS) as pool:
        assert [wrong for wrongs in pool.map(work, range(AGENTS)) for wrong in wrongs] == []
    assert [len(agent.tabs()) for agent in agents] == [1] * AGENTS


def test_contexts_share_no_storage(make_agent: Callable[[], Agent]) -> None:  # noqa: F811
    one, two = make_agent(), make_agent()
    for each in (one, two):
        each.open("form.html")
    one.value("localStorage.setItem('k', 'v')")
    assert two.value("localStorage.getItem('k')") is None


def test_contexts_are_listed_and_closed(agent: Agent) -> None:
    http = agent.server.http
    agent.open("cookie/a")
    listed = {each["name"]: each["tabs"] for each in http.get("/v1/browser/contexts").json()["data"]}
    assert listed[agent.context] == 1 and "default" in listed
    closed = http.delete(f"/v1/browser/contexts/{agent.context}")
    assert closed.json()["data"] == {"name": agent.context}
    names = [each["name"] for each in http.get("/v1/browser/contexts").json()["data"]]
    assert agent.context not in names
    again = http.delete(f"/v1/browser/contexts/{agent.context}")
    assert (again.status_code, again.json()["error_code"]) == (404, "browser.context_not_found")
    assert agent.cookies() == [], "used again it begins anew"


def test_the_default_context_cannot_be_closed(server: Server) -> None:
    answer = server.http.delete("/v1/browser/contexts/default")
    assert (answer.status_code, answer.json()["error_code"]) == (400, "browser.default_context")


@pytest.mark.parametrize("name", ["a;b", "a b", "x" * 129])
def test_a_name_that_cannot_be_is_refused(server: Server, name: str) -> None:
    answer = server.http.get("/v1/browser/tabs", params={"context": name})
    assert answer.status_code == 422 and "context" in answer.json()["message"]


def test_more_contexts_than_allowed_are_refused(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server(environment={"ATOLL_LIMIT_BROWSER_CONTEXTS": "1"})
    one, two = Agent(server, site), Agent(server, site)
    one.open("form.html")
    message = refused(
        "browser.contexts_exhausted", 429, two.client.browser_tabs.list, request_options=two.options
    )
    assert "close one" in message
    one.close()
    two.open("form.html")
