"""WebSocket clients as the tests use them: JSON messages, every wait with a deadline."""

from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict, List, Optional

from server import Server
from waiting import DEADLINE
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

Message = Dict[str, Any]


class Socket:
    """A JSON conversation. Pings of the server are answered on the way."""

    # How long a polite end may take.
    goodbye = DEADLINE

    def __init__(self, server: Server, path: str, **query: Any) -> None:
        text = "&".join(f"{name}={value}" for name, value in query.items())
        url = server.socket_url(f"{path}?{text}" if text else path)
        self._connection = connect(url, max_size=None, open_timeout=DEADLINE, close_timeout=self.goodbye)
        self.messages: List[Message] = []
        self.session_id = self.receive()["data"]
        assert self.messages[0]["type"] == "session_id"

    def __enter__(self) -> "Socket":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def send(self, **message: Any) -> None:
        self._connection.send(json.dumps(message))

    def send_raw(self, data: Any) -> None:
        """Sends text or bytes as they are."""
        self._connection.send(data)

    def receive(self, deadline: Optional[float] = None) -> Message:
        """The next message, pings aside."""
        while True:
            message = json.loads(self._connection.recv(timeout=deadline or DEADLINE))
            if message["type"] == "ping":
                assert message["timestamp"] == message["data"]
                self.send(type="pong", data={"timestamp": message["timestamp"]})
                continue
            self.messages.append(message)
            return message

    def receive_until(self, condition: Callable[[], bool], what: str) -> None:
        """Takes messages in until the condition holds."""
        end = time.monotonic() + DEADLINE
        while not condition():
            left = end - time.monotonic()
            assert left > 0, f"still waiting for {what}; received {self.messages[-20:]}"
            try:
                self.receive(left)
            except TimeoutError:
                continue

    def wait_until_closed(self) -> None:
        """Takes messages in until the server closes the socket."""
        end = time.monotonic() + DEADLINE
        try:
            while time.monotonic() < end:
                self.receive()
        except ConnectionClosed:
            return
        raise AssertionError(f"the socket is still open; received {self.messages[-20:]}")

    def of_type(self, kind: str) -> List[Message]:
        return [message for message in self.messages if message["type"] == kind]


class Terminal(Socket):
    """A terminal attached to a shell session."""

    def __init__(self, server: Server, **query: Any) -> None:
        super().__init__(server, "/v1/shell/ws", **query)

    @property
    def text(self) -> str:
        """Everything printed so far."""
        return "".join(message["data"] for message in self.of_type("output"))

    @property
    def offset(self) -> int:
        """Where the stream stands after the last output."""
        return self.of_type("output")[-1]["offset"]

    def type(self, keys: str) -> None:
        self.send(type="input", data=keys)

    def wait_for(self, text: str, count: int = 1) -> None:
        """Waits until the terminal has printed this text so many times."""
        found, rest, taken = 0, "", 0

        def printed() -> bool:
            # Each message is searched once, with the end of the one before it.
            nonlocal found, rest, taken
            for message in self.messages[taken:]:
                if message["type"] == "output":
                    rest += message["data"]
                    found += rest.count(text)
                    rest = rest[rest.rindex(text) + len(text) :] if text in rest else rest
                    rest = rest[-len(text) + 1 :] if len(text) > 1 else ""
            taken = len(self.messages)
            return found >= count

        self.receive_until(printed, f"{text!r} on the terminal")


class SilentTerminal(Terminal):
    """A terminal that will not read: it leaves without waiting for the other side's goodbye behind a flood."""

    goodbye = 0.1


class BashSocket(Socket):
    """A socket that runs commands in a bash session."""

    def __init__(self, server: Server, **query: Any) -> None:
        super().__init__(server, "/v1/bash/ws", **query)

    @property
    def stdout(self) -> str:
        return "".join(message["data"] for message in self.of_type("output"))

    @property
    def stderr(self) -> str:
        return "".join(message["data"] for message in self.of_type("stderr"))

    def wait_for(self, text: str) -> None:
        self.receive_until(lambda: text in self.stdout, f"{text!r} on standard output")

    def started(self) -> str:
        """Waits for a command to start and returns its id."""
        count = len(self.of_type("command_started"))
        self.receive_until(lambda: len(self.of_type("command_started")) > count, "a start")
        return self.of_type("command_started")[-1]["command_id"]

    def done(self, count: int = 1) -> Message:
        """Waits until so many commands have ended and returns the last one's message."""
        self.receive_until(lambda: len(self.of_type("command_done")) >= count, "the end")
        return self.of_type("command_done")[-1]
