"""`browser.execute_action`: mouse and keyboard of the desktop, on a real page in the browser shown there."""

from __future__ import annotations

import pytest
from desktops import ACTIONS, Desktop, seen  # noqa: F401  (fixtures)
from sites import site  # noqa: F401

pytestmark = pytest.mark.usefixtures("page")


@pytest.fixture
def page(seen: Desktop) -> None:  # noqa: F811
    seen.open("desktop.html")


def test_clicks_of_every_kind_arrive_where_they_are_meant_to(seen: Desktop) -> None:  # noqa: F811
    x, y = seen.place("#pad")
    seen.act("MOVE_TO", x=x - 20, y=y)
    seen.act("MOVE_REL", x_offset=20, y_offset=0)
    seen.act("CLICK")
    seen.until("seen.includes('click 0')", "the click")
    assert seen.evaluate("at")[0] == pytest.approx(300, abs=1)
    seen.evaluate("seen.length = 0")
    seen.act("RIGHT_CLICK", x=x, y=y)
    seen.until("seen.includes('contextmenu 2')", "the right click")
    seen.act("CLICK", x=x, y=y, button="middle")
    seen.until("seen.includes('mouseup 1')", "the middle click")
    seen.act("DOUBLE_CLICK", x=x, y=y)
    seen.until("seen.includes('dblclick 0')", "the double click")
    seen.evaluate("seen.length = 0")
    seen.act("MOUSE_DOWN")
    seen.until("seen.includes('mousedown 0')", "the button goes down")
    seen.act("MOUSE_UP")
    seen.until("seen.includes('mouseup 0')", "the button comes up")
    assert seen.ask("GET", "/v1/desktop/pointer") == {"x": int(x), "y": int(y)}


@pytest.mark.parametrize("use_clipboard", [True, False, None])
def test_any_text_can_be_written_into_a_field(seen: Desktop, use_clipboard: bool) -> None:  # noqa: F811
    text = "Hello, Wörld! 世界 🌍 “quotes” €5 \\ ~ñ"
    seen.focus("#field")
    seen.act("TYPING", text=text, use_clipboard=use_clipboard)
    assert seen.until(f"field.value.length >= {len(text)} && field.value", "the text") == text


def test_new_lines_press_enter(seen: Desktop) -> None:  # noqa: F811
    seen.focus("#many")
    for text in ("plain\nlines\n", "日本\nзима\r\nend"):
        seen.evaluate("many.value = '', keys.length = 0")
        seen.act("TYPING", text=text)
        wanted = text.replace("\r", "")
        assert seen.until(f"many.value.length >= {len(wanted)} && many.value", "the text") == wanted
        assert seen.evaluate("keys.filter(key => key === 'keydown Enter').length") == 2


def test_keys_go_by_the_names_of_pyautogui_web_pages_and_x(seen: Desktop) -> None:  # noqa: F811
    seen.focus("#field")
    seen.evaluate("field.value = 'one two', field.setSelectionRange(7, 7)")
    seen.act("HOTKEY", keys=["ctrl", "a"])
    seen.until("field.selectionEnd - field.selectionStart === 7", "all is selected")
    seen.act("HOTKEY", keys=["Control", "C"])
    seen.act("PRESS", key="End")
    seen.act("PRESS", key="space")
    seen.act("HOTKEY", keys=["Control_L", "v"])
    seen.until("field.value === 'one two one two'", "the text twice")
    assert seen.ask("GET", "/v1/desktop/clipboard") == {"text": "one two"}
    for key in ("BackSpace", "backspace", "Backspace"):
        seen.act("PRESS", key=key)
    seen.until("field.value === 'one two one '", "three characters less")
    seen.act("KEY_DOWN", key="shift")
    for key in ("left", "ArrowLeft", "Left"):
        seen.act("PRESS", key=key)
    seen.act("KEY_UP", key="Shift")
    seen.until("field.selectionEnd - field.selectionStart === 3", "three are selected")
    seen.act("PRESS", key="A")
    seen.until("field.value === 'one two oA'", "a capital")


def test_a_slider_is_dragged_in_both_ways(seen: Desktop) -> None:  # noqa: F811
    start, end = seen.place("#slider", 0.02), seen.place("#slider", 0.9)
    seen.act("MOVE_TO", x=start[0], y=start[1])
    seen.act("DRAG_TO", x=end[0], y=end[1])
    seen.until("slider.value > 80", "the slider is at its end")
    # As some agents do it: with the button held by hand.
    seen.act("MOVE_TO", x=end[0], y=end[1])
    seen.act("MOUSE_DOWN", button="left")
    seen.act("DRAG_REL", x_offset=start[0] - end[0], y_offset=0)
    seen.act("MOUSE_UP", button="left")
    seen.until("slider.value < 20", "the slider is at its beginning")


def test_the_wheel_turns_both_ways_and_never_without_end(seen: Desktop) -> None:  # noqa: F811
    seen.act("MOVE_TO", x=1000, y=800)
    seen.act("SCROLL", dy=-5)
    seen.until("scrollY > 100", "the page is scrolled down")
    seen.act("SCROLL", dy=10)
    seen.until("scrollY === 0", "the page is scrolled up")
    seen.act("SCROLL", dx=-5)
    seen.until("scrollX > 100", "the page is scrolled to the right")
    seen.act("SCROLL", dx=10)
    seen.until("scrollX === 0", "the page is scrolled to the left")
    # Pixels, for agents that count in them.
    seen.act("SCROLL", dy=-600)
    seen.until("scrollY > 300", "the page is scrolled down")
    assert seen.evaluate("scrollY") < 2000
    seen.act("SCROLL", dy=2**40)
    seen.until("scrollY === 0", "the page is scrolled up")


def test_waiting_waits(seen: Desktop) -> None:  # noqa: F811
    seen.act("WAIT", duration=0.01)


@pytest.mark.parametrize(
    "action, status, code, named",
    [
        ({}, 422, None, "action_type"),
        ({"action_type": "FLY"}, 422, None, "action_type"),
        ({"action_type": "MOVE_TO", "x": 1}, 422, None, "y"),
        ({"action_type": "MOVE_TO", "x": "left", "y": 1}, 422, None, "x"),
        ({"action_type": "MOVE_TO", "x": 5000, "y": 1}, 422, "desktop.off_screen", "1280x1024"),
        ({"action_type": "MOVE_REL", "x_offset": -9999, "y_offset": 0}, 422, "desktop.off_screen", "not on the screen"),
        ({"action_type": "CLICK", "x": -1, "y": 10}, 422, "desktop.off_screen", "not on the screen"),
        ({"action_type": "CLICK", "num_clicks": 4}, 422, None, "num_clicks"),
        ({"action_type": "CLICK", "button": "fourth"}, 422, None, "button"),
        ({"action_type": "PRESS", "key": "nosuchkey"}, 422, "desktop.unknown_key", "nosuchkey"),
        ({"action_type": "PRESS", "key": ""}, 422, "desktop.unknown_key", "no key"),
        ({"action_type": "HOTKEY", "keys": []}, 422, None, "keys"),
        ({"action_type": "HOTKEY", "keys": ["ctrl", "nosuchkey"]}, 422, "desktop.unknown_key", "nosuchkey"),
        ({"action_type": "TYPING", "text": ""}, 422, None, "text"),
        ({"action_type": "WAIT", "duration": -1}, 422, None, "duration"),
        ({"action_type": "WAIT", "duration": 1e9}, 422, None, "duration"),
    ],
)
def test_what_cannot_be_done_is_named_and_leaves_nothing_down(
    seen: Desktop, action: dict, status: int, code: str, named: str  # noqa: F811
) -> None:
    answer = seen.refused(**action)
    assert answer["status"] == status, answer
    assert code is None or answer["error_code"] == code
    assert named in answer["message"] + str(answer.get("detail"))
    seen.focus("#field")
    seen.act("TYPING", text="plain")
    seen.until("field.value === 'plain'", "a key that was left down would show")


def test_several_actions_are_performed_together_and_the_result_is_shown(seen: Desktop) -> None:  # noqa: F811
    seen.focus("#field")
    x, y = seen.place("#field")
    actions = [
        {"action_type": "CLICK", "x": x, "y": y, "num_clicks": 3},
        {"action_type": "TYPING", "text": "together"},
        {"action_type": "KEY_DOWN", "key": "shift"},
        {"action_type": "KEY_UP", "key": "shift"},
    ]
    done = seen.ask("POST", "/v1/desktop/actions", actions=actions, screenshot=True, format="jpeg", quality=50)
    assert done["performed"] == ["CLICK", "TYPING", "KEY_DOWN", "KEY_UP"]
    shown = done["screenshot"]
    assert (shown["media_type"], shown["width"], shown["height"]) == ("image/jpeg", 1280, 1024)
    assert shown["data"].startswith("/9j/")
    seen.until("field.value === 'together'", "the text")
    broken = [{"action_type": "KEY_DOWN", "key": "shift"}, {"action_type": "MOVE_TO", "x": -1, "y": 0}]
    answer = seen.http.post("/v1/desktop/actions", json={"actions": broken})
    assert answer.status_code == 422 and answer.json()["error_code"] == "desktop.off_screen"
    assert answer.json()["details"] == {"position": 1, "performed": ["KEY_DOWN"]}
    seen.act("TYPING", text=" again")
    seen.until("field.value === 'together again'", "shift was let go of")
    for wrong in ({}, {"actions": []}, {"actions": [{"action_type": "FLY"}]}):
        assert seen.http.post("/v1/desktop/actions", json=wrong).status_code == 422


def test_every_action_of_the_sdk_is_used_here() -> None:
    text = open(__file__).read()
    assert [kind for kind in ACTIONS if f'act("{kind}"' not in text] == []
