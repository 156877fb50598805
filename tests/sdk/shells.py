"""A shell session as the tests use it."""

from __future__ import annotations

from typing import Any

from agent_sandbox import Sandbox
from waiting import eventually


def lines(*each: str) -> str:
    """The text of these lines as a shell's output carries it."""
    return "".join(f"{line}\n" for line in each)


class Shell:
    """One session, driven by the SDK."""

    def __init__(self, client: Sandbox, **options: Any) -> None:
        self.client = client
        self.id = client.shell.create_session(**options).data.session_id

    def run(self, command: str, **options: Any) -> Any:
        """Runs a command and returns its result."""
        return self.client.shell.exec_command(id=self.id, command=command, **options).data

    def start(self, command: str, **options: Any) -> Any:
        """Starts a command without waiting for it."""
        return self.run(command, async_mode=True, **options)

    def view(self, **extensions: Any) -> Any:
        return self.client.shell.view(id=self.id, request_options=extension(**extensions)).data

    def wait(self, seconds: int = 60) -> str:
        return self.client.shell.wait_for_process(id=self.id, seconds=seconds).data.status

    def wait_for_text(self, text: str) -> Any:
        """The view once it shows this text."""
        return eventually(lambda: self._showing(text), f"the session shows {text!r}")

    def wait_for_offset(self, offset: int) -> None:
        """Waits until the session's stream is longer than this."""
        eventually(lambda: self.view().offset > offset, f"output past byte {offset}")

    def _showing(self, text: str) -> Any:
        view = self.view()
        return view if text in view.output else None

    def type(self, text: str, press_enter: bool = True) -> str:
        written = self.client.shell.write_to_process(id=self.id, input=text, press_enter=press_enter)
        return written.data.status

    def kill(self) -> Any:
        return self.client.shell.kill_process(id=self.id).data

    def close(self) -> None:
        self.client.shell.cleanup_session(self.id)

    def is_usable(self) -> bool:
        """Whether an ordinary command gets exactly its own output and exit code, under the same id."""
        result = self.run("echo usable; (exit 42)")
        return (
            result.session_id == self.id
            and result.status == "completed"
            and result.output == lines("usable")
            and result.exit_code == 42
        )


def extension(**fields: Any) -> Any:
    """Request options that add body fields the SDK does not know; no retries, so that errors are seen as they are."""
    return {"additional_body_parameters": fields, "max_retries": 0}
