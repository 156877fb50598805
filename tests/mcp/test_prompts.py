"""Skills as prompts and resources, with the official client in both modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, List

import anyio
import pytest
from clients import MODES, refusal, use
from mcp import Client
from server import Server
from skills import put, text


def register(server: Server, path: Path) -> None:
    server.client.skills.register_skills(file=None, path=str(path))


@pytest.mark.parametrize("mode", MODES)
def test_a_skill_is_a_prompt_and_a_resource(start_server: Callable[..., Server], tmp_path: Path, mode: str) -> None:
    server = start_server()
    url = f"{server.url}/mcp"
    directory = put(tmp_path / "skills" / "a b", "two words")
    (directory / "SKILL.md").write_text(text("two words", "Do it so."))
    register(server, tmp_path / "skills")

    async def look(client: Client) -> Any:
        prompts = (await client.list_prompts()).prompts
        prompt = await client.get_prompt("two words")
        resources = (await client.list_resources()).resources
        address = next(each for each in resources if str(each.uri).startswith("skill://"))
        read = await client.read_resource(str(address.uri))
        return prompts, prompt, address, read

    prompts, prompt, address, read = use(url, look, mode=mode)
    assert [(each.name, each.description) for each in prompts] == [("two words", "Does two words.")]
    (message,) = prompt.messages
    assert message.role == "user"
    assert "Do it so." in message.content.text and str(directory) in message.content.text
    assert str(address.uri) == "skill://two%20words/SKILL.md"
    assert read.contents[0].text == "Do it so.\n"

    assert "nothing" in str(refusal(url, lambda client: client.get_prompt("nothing"), mode=mode))
    refusal(url, lambda client: client.read_resource("skill://nothing/SKILL.md"), mode=mode)


def test_clients_are_told_when_skills_come_and_go(start_server: Callable[..., Server], tmp_path: Path) -> None:
    server = start_server()
    put(tmp_path / "skills" / "a", "alpha")
    heard: List[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(getattr(message, "root", message)).__name__)

    async def work(client: Client) -> None:
        assert (await client.list_prompts()).prompts == []
        await anyio.to_thread.run_sync(register, server, tmp_path / "skills")
        for wanted in ("PromptListChanged", "ResourceListChanged"):
            with anyio.fail_after(60):
                while not any(wanted in name for name in heard):
                    await anyio.sleep(0.05)
        assert [each.name for each in (await client.list_prompts()).prompts] == ["alpha"]

    use(f"{server.url}/mcp", work, message_handler=hear, cache=None)
