"""`browser_tabs`: opening, listing, choosing and closing tabs."""

from __future__ import annotations

from typing import Callable

from agents import Agent, agent, make_agent, refused  # noqa: F401
from server import Server
from sites import Site, site  # noqa: F401
from waiting import eventually


def test_tabs_are_listed_in_order_and_one_is_active(agent: Agent) -> None:
    tabs = agent.client.browser_tabs
    first = tabs.create(url=agent.site.page("article.html"), request_options=agent.options).data
    second = tabs.create(url=agent.site.page("form.html"), request_options=agent.options).data
    assert (first["index"], second["index"]) == (0, 1)
    listed = agent.tabs()
    assert [tab["index"] for tab in listed] == [0, 1]
    assert [tab["url"] for tab in listed] == [agent.site.page("article.html"), agent.site.page("form.html")]
    assert [tab["is_active"] for tab in listed] == [False, True]
    assert all(tab["title"] == agent_title for tab, agent_title in zip(listed, [first["title"], second["title"]]))


def test_operations_act_on_the_active_tab(agent: Agent) -> None:
    tabs = agent.client.browser_tabs
    tabs.create(url=agent.site.page("article.html"), request_options=agent.options)
    tabs.create(url=agent.site.page("form.html"), request_options=agent.options)
    assert agent.value("location.pathname") == "/form.html"
    activated = tabs.activate(0, request_options=agent.options)
    assert activated.success and activated.data["is_active"] is True
    assert agent.value("location.pathname") == "/article.html"
    assert [tab["is_active"] for tab in agent.tabs()] == [True, False]


def test_a_tab_without_an_address_is_empty(agent: Agent) -> None:
    created = agent.client.browser_tabs.create(request_options=agent.options).data
    assert created["url"] == "about:blank" and created["is_active"] is True


def test_closing_a_tab_moves_the_others_up(agent: Agent) -> None:
    tabs = agent.client.browser_tabs
    for name in ["article.html", "form.html", "spa.html"]:
        tabs.create(url=agent.site.page(name), request_options=agent.options)
    assert tabs.close(1, request_options=agent.options).data == {"index": 1, "tabs": 2}
    assert [tab["url"].rsplit("/")[-1] for tab in agent.tabs()] == ["article.html", "spa.html"]
    tabs.close(1, request_options=agent.options)
    assert [tab["is_active"] for tab in agent.tabs()] == [True]
    assert agent.value("location.pathname") == "/article.html"


def test_the_last_tab_can_be_closed_and_the_next_operation_has_a_new_one(agent: Agent) -> None:
    agent.open("article.html")
    agent.client.browser_tabs.close(0, request_options=agent.options)
    assert agent.value("location.href") == "about:blank"


def test_a_tab_that_is_not_there_is_named(agent: Agent) -> None:
    agent.open("article.html")
    tabs = agent.client.browser_tabs
    for index in [1, 99, -1]:
        for call in [tabs.activate, tabs.close]:
            message = refused("browser.tab_not_found", 404, call, index, request_options=agent.options)
            assert f"no tab {index}" in message and "there are 1" in message
    assert len(agent.tabs()) == 1


def test_a_page_that_cannot_be_opened_leaves_no_tab(agent: Agent) -> None:
    agent.open("article.html")
    tabs = agent.client.browser_tabs
    refused("browser.invalid_url", 422, tabs.create, url="http://", request_options=agent.options)
    refused("browser.navigation_failed", 409, tabs.create, url="http://127.0.0.1:1/", request_options=agent.options)
    assert len(agent.tabs()) == 1


def test_a_tab_that_a_page_opens_is_told_in_the_hint_and_listed(agent: Agent) -> None:
    agent.show(f'<button onclick="window.open(\'{agent.site.page("form.html")}\')">open</button>')
    clicked = agent.client.browser_page.click(selector="button", request_options=agent.options)
    hint = clicked.hint or ""
    if not hint:
        # The tab may come a moment after the click is done: the next answer tells of it.
        eventually(lambda: len(agent.tabs()) == 2, "the tab is there")
        hint = agent.client.browser_page.evaluate(expression="1", request_options=agent.options).hint or ""
    assert "tab" in hint, clicked
    urls = eventually(
        lambda: [tab["url"] for tab in agent.tabs()] if len(agent.tabs()) == 2 else None, "the tab is listed"
    )
    assert agent.site.page("form.html") in urls or "about:blank" in urls
    assert "html" in agent.value("location.search"), "the active tab stays the active one"


def test_more_tabs_than_allowed_are_refused(start_server: Callable[..., Server], site: Site) -> None:  # noqa: F811
    server = start_server(environment={"ATOLL_LIMIT_BROWSER_TABS": "2"})
    agent = Agent(server, site)  # noqa: F811
    tabs = agent.client.browser_tabs
    tabs.create(request_options=agent.options)
    tabs.create(request_options=agent.options)
    message = refused("browser.tabs_exhausted", 429, tabs.create, request_options=agent.options)
    assert "2" in message and "close" in message
    tabs.close(0, request_options=agent.options)
    tabs.create(request_options=agent.options)
