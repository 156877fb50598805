"""A bash session as the tests use it."""

from __future__ import annotations

from typing import Any

from agent_sandbox import Sandbox
from waiting import eventually


class Bash:
    """One session, driven by the SDK."""

    def __init__(self, client: Sandbox, **options: Any) -> None:
        self.client = client
        self.id = client.bash.create_session(**options).data.session_id

    def run(self, command: str, **options: Any) -> Any:
        """Runs a command and returns its result."""
        return self.client.bash.exec(session_id=self.id, command=command, **options).data

    def start(self, command: str, **options: Any) -> str:
        """Starts a command without waiting for it and returns its id."""
        result = self.run(command, async_mode=True, **options)
        assert (result.status, result.exit_code) == ("running", None)
        return result.command_id

    def output(self, **options: Any) -> Any:
        return self.client.bash.output(session_id=self.id, **options).data

    def finish(self, command_id: str) -> Any:
        """The command's whole output, once it has ended."""

        def ended() -> Any:
            output = self.output(command_id=command_id, wait=True, wait_timeout=5)
            return output if output.command.status != "running" else None

        eventually(ended, f"command {command_id} ends")
        return self.output(command_id=command_id)

    def info(self) -> Any:
        sessions = self.client.bash.sessions().data
        return next(session for session in sessions if session.session_id == self.id)

    def close(self) -> None:
        self.client.bash.close_session(self.id)
