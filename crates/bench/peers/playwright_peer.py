"""Playwright on a browser that runs: each line names what to do on a page of its own, whose nanoseconds go out.

A page that somebody else navigates in between would be taken for one that was interrupted.
"""

import sys
import time
from typing import Callable, Dict

from playwright.sync_api import sync_playwright


def main() -> None:
    """Serve until the input ends. Arguments: the browser's CDP address, the page's address."""
    endpoint, address = sys.argv[1:]
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(endpoint)
        page = browser.new_context(no_viewport=True).new_page()
        page.goto(address)
        actions: Dict[str, Callable[[], object]] = {
            "navigate": lambda: page.goto(address),
            "click": lambda: page.click("#button"),
            "fill": lambda: page.fill("#field", "some words"),
            "evaluate": lambda: page.evaluate("1+1"),
            "content": page.content,
            "screenshot": page.screenshot,
        }
        print("ready", flush=True)
        for line in sys.stdin:
            action = actions[line.strip()]
            started = time.perf_counter_ns()
            action()
            print(time.perf_counter_ns() - started, flush=True)


main()
