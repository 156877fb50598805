"""The README's examples, run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from server import Server

README = (Path(__file__).parents[2] / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8080"


def example(language: str, containing: str) -> str:
    """The one example in this language that contains this text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    (block,) = [block for block in blocks if containing in block]
    return block


def run(server: Server, *command: str) -> str:
    words = [word.replace(ADDRESS, server.url) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout


def test_the_first_call_with_curl_answers_as_shown(server: Server) -> None:
    answer = run(server, "bash", "-c", example("sh", "curl"))

    for shown in ('"status":"completed"', '"exit_code":0', r'"stdout":"hello\nLinux\n"', '"stderr":""'):
        assert shown in example("json", "success").replace(" ", "")
        assert shown in answer


def test_the_python_example_runs_and_prints_what_it_says(server: Server) -> None:
    printed = run(server, sys.executable, "-c", example("python", "shell.create_session"))

    assert printed.startswith("atoll in /tmp\n")
    assert "step 1" in printed and printed.rstrip().endswith("running")


def test_the_files_and_code_example_runs_and_prints_what_it_says(server: Server) -> None:
    printed = run(server, sys.executable, "-c", example("python", "jupyter.execute_code"))

    assert printed.split() == ["6", "1"]
