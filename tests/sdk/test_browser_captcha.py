"""`browser_captcha`: captchas are known by the marks their makers leave, and waited for until they are solved."""

from __future__ import annotations

import pytest
from agents import Agent, agent, make_agent  # noqa: F401
from sites import site  # noqa: F401

BOX = "width:300px;height:74px"
PAGES = {
    "recaptcha": f"""<div class="g-recaptcha" data-sitekey="key" style="{BOX}">
        <textarea name="g-recaptcha-response" style="display:none"></textarea></div>""",
    "hcaptcha": f"""<div class="h-captcha" data-sitekey="key" style="{BOX}">
        <textarea name="h-captcha-response" style="display:none"></textarea></div>""",
    "turnstile": f"""<div class="cf-turnstile" data-sitekey="key" style="{BOX}">
        <input type="hidden" name="cf-turnstile-response"></div>""",
    "friendly_captcha": f"""<div class="frc-captcha" data-sitekey="key" style="{BOX}">
        <input type="hidden" name="frc-captcha-solution" value=".UNSTARTED"></div>""",
    "cloudflare_challenge": """<title>Just a moment...</title><form id="challenge-form"></form>""",
    "geetest": f"""<div class="geetest_holder" style="{BOX}"></div>""",
    "perimeterx": f"""<div id="px-captcha" style="{BOX}"></div>""",
    "image": """<img src="{{here}}/pixel.png?captcha" width="120" height="40">""",
}


def detect(agent: Agent) -> dict:  # noqa: F811
    answer = agent.client.browser_captcha.detect(request_options=agent.options)
    assert answer.success
    return answer.data


@pytest.mark.parametrize("kind", PAGES)
def test_a_captcha_is_known_by_its_maker(agent: Agent, kind: str) -> None:
    agent.show(f"<h1>Who are you?</h1>{PAGES[kind]}")
    found = detect(agent)
    assert (found["detected"], found["solved"], found["type"]) == (True, False, kind)
    if "data-sitekey" in PAGES[kind]:
        assert found["site_key"] == "key"
        assert found["bounding_box"]["width"] == 300


def test_a_page_without_one_has_none(agent: Agent) -> None:
    agent.open("form.html")
    found = detect(agent)
    assert (found["detected"], found["type"], found["bounding_box"]) == (False, None, None)
    assert agent.client.browser_captcha.wait(timeout=0, request_options=agent.options).data.resolved is True


def test_one_in_a_frame_of_another_site_is_found_where_it_is(agent: Agent) -> None:
    inner = "<style>body{margin:0}</style>" + PAGES["hcaptcha"].replace("\n", " ")
    source = agent.site.other + "/page?html=" + inner.replace('"', "%22").replace("<", "%3C").replace(">", "%3E").replace(" ", "%20")
    agent.show(
        "<style>body{margin:0}</style><div style='height:100px'></div>"
        f"<iframe style='border:0' width=400 height=200 src='{source}'></iframe>"
    )
    found = detect(agent)
    assert (found["detected"], found["type"]) == (True, "hcaptcha")
    assert found["bounding_box"]["y"] == 100


def test_an_invisible_badge_is_no_captcha_to_solve(agent: Agent) -> None:
    agent.show("""<div class="g-recaptcha" data-size="invisible" data-sitekey="k"></div><div class="grecaptcha-badge">x</div>""")
    assert detect(agent)["detected"] is False


@pytest.mark.parametrize("kind", ["recaptcha", "hcaptcha", "turnstile"])
def test_one_with_an_answer_is_solved(agent: Agent, kind: str) -> None:
    agent.show(PAGES[kind])
    agent.value("document.querySelector('[name$=-response]').value = 'a token'")
    found = detect(agent)
    assert (found["detected"], found["solved"], found["type"]) == (False, True, kind)


def test_waiting_ends_when_it_is_solved(agent: Agent) -> None:
    # Long pauses: what the page does must wake the wait.
    agent.show(
        PAGES["turnstile"]
        + """<script>setTimeout(() => {
            document.querySelector('[name$=-response]').value = 'a token';
            document.body.append('done');
        }, 300)</script>"""
    )
    wait = agent.client.browser_captcha.wait
    assert wait(timeout=60, poll_interval=60, request_options=agent.options).data.resolved is True


def test_waiting_ends_when_the_page_moves_on(agent: Agent) -> None:
    target = agent.site.page("form.html")
    agent.show(PAGES["cloudflare_challenge"] + f"<script>setTimeout(() => location = '{target}', 300)</script>")
    wait = agent.client.browser_captcha.wait
    assert wait(timeout=60, poll_interval=60, request_options=agent.options).data.resolved is True
    assert agent.value("location.pathname") == "/form.html"


def test_a_solution_that_changes_no_element_is_found_at_the_next_look(agent: Agent) -> None:
    agent.show(
        PAGES["recaptcha"]
        + "<script>setTimeout(() => { document.querySelector('textarea').value = 'a token' }, 300)</script>"
    )
    wait = agent.client.browser_captcha.wait
    assert wait(timeout=60, poll_interval=0.05, request_options=agent.options).data.resolved is True


def test_one_that_nobody_solves_is_told_when_time_is_up(agent: Agent) -> None:
    agent.show(PAGES["recaptcha"])
    wait = agent.client.browser_captcha.wait
    assert wait(timeout=0.3, poll_interval=0.05, request_options=agent.options).data.resolved is False
