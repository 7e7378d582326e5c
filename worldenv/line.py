"""A connection to a world server, seen from the client: questions, answers, and their failures."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from worldenv.channel import Channel, ChannelClosed
from worldenv.parcels import read_chunk, read_error, read_spec
from worldenv.states import Memo
from worldenv.vendored.websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
from worldenv.wire import (
    PROTOCOL,
    Limits,
    Message,
    WireError,
    decode,
    encode,
    reply_limits,
)
from worldenv.world import Chunk, GenerationFailed, Unsupported, WorldSpec

__all__ = ["Line", "Progress", "ServerBusy", "ServerLost", "read_address"]

Progress = Callable[[float, "float | None", str], None]
"""Called while a world works: seconds since it began, fraction done or None, what it says."""

_HELLO = Limits(1 << 20)
_OPEN_SECONDS = 10.0


class ServerLost(GenerationFailed):
    """The world server cannot be reached, died, fell silent, or answers what makes no sense."""


class ServerBusy(GenerationFailed):
    """Another client has the world, and this one was not to wait."""


def read_address(address: Any) -> str:
    """Return an address as ``ws://host:port``.

    Raises:
        Unsupported: it is something else.
    """
    if not isinstance(address, str):
        raise Unsupported(f"{address!r} is no address of a server; expected ws://host:port")
    text = address if "://" in address else f"ws://{address}"
    scheme, _, rest = text.partition("://")
    bad = not rest or any(c.isspace() for c in rest) or "@" in rest
    if scheme not in ("ws", "wss") or bad:
        raise Unsupported(f"{address!r} is no address of a server; expected ws://host:port")
    return text


class Line:
    """A connection whose server has said what its world is.

    Args:
        address: As ``ws://host:port``.
        token: Shown to the server, None for none.
        silence: Seconds after which a server that says nothing is given up.

    Attributes:
        address: See above.
        spec: The world's spec.
        snapshots: Whether the world keeps snapshots.
        device: What the world runs on, as it says itself.
        options: What the world was made with, as its server says.
        dropped: Numbers of snapshots that nobody holds any more.

    Raises:
        ServerLost: there is no server, or it refuses, or speaks another version.
    """

    def __init__(self, address: str, token: str | None, silence: float) -> None:
        self.address = read_address(address)
        self._silence = silence
        self.dropped: list[int] = []
        self._limits = _HELLO
        self._memo = Memo()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            self._channel = Channel(self.address, headers, min(_OPEN_SECONDS, silence), silence)
        except InvalidStatus as error:
            raise ServerLost(self._refusal(error.response.status_code)) from None
        except (OSError, InvalidHandshake, InvalidURI, ValueError) as error:
            raise ServerLost(
                f"there is no world server at {self.address} ({type(error).__name__}: {error}); "
                "start one with 'worldenv serve'"
            ) from None
        try:
            welcome = self.ask(encode("hello", {"protocol": PROTOCOL}), "welcome")
            self.spec: WorldSpec = read_spec(welcome.fields.get("spec"))
        except WireError as error:
            self.drop()
            raise ServerLost(f"{self.address} cannot be used: {error}") from None
        self.snapshots = welcome.fields.get("snapshots") is True
        device = welcome.fields.get("device")
        self.device = device if isinstance(device, str) else "unknown"
        options = welcome.fields.get("options")
        self.options: dict[str, Any] = options if isinstance(options, dict) else {}
        self._limits = reply_limits(self.spec)

    def _refusal(self, status: int) -> str:
        if status == 401:
            return (
                f"{self.address} refuses the token; give the server's in WORLDENV_TOKEN or with "
                "token_file="
            )
        if status == 503:
            return f"{self.address} has too many clients; try again later"
        return f"{self.address} is no world server (HTTP status {status})"

    def open(self, wait: bool, progress: Progress | None = None) -> None:
        """Get the world for this client alone.

        Args:
            wait: Whether to wait for other clients to leave.
            progress: Told the place in the queue.

        Raises:
            ServerBusy: another client has it, and ``wait`` is False.
            ServerLost: the server cannot be used any more.
        """
        began = time.monotonic()
        self._send(encode("open", {"wait": wait}))
        while True:
            message = self._receive()
            if message.kind == "opened":
                return
            if message.kind != "busy":
                raise self._wrong("opened", message)
            place = message.fields.get("position")
            if not wait:
                raise ServerBusy(f"{self.address} is busy: this client would be number {place}")
            if progress is not None:
                progress(time.monotonic() - began, None, f"{place} in the queue")

    def ask(self, pieces: list[Any], answer: str, progress: Progress | None = None) -> Message:
        """Send a message and return its answer, however long the server works on it.

        Args:
            pieces: The message.
            answer: The kind it must have.
            progress: Told what the server says while it works.

        Raises:
            WorldEnvError: the error that the server answers with.
            ServerLost: it died, fell silent or answers what makes no sense.
        """
        self._send(pieces)
        while True:
            message = self._receive()
            if message.kind == "progress":
                if progress is not None:
                    progress(*_said(message))
            elif message.kind == answer:
                return message
            else:
                raise self._wrong(answer, message)

    def chunk(self, message: Message) -> Chunk:
        """Return the chunk that an answer holds.

        Raises:
            WireError: it holds none.
        """
        return read_chunk(message, self._limits, self._memo)

    def close(self) -> None:
        """Leave, politely where the server still listens."""
        with contextlib.suppress(GenerationFailed):
            self._send(encode("close"))
        self.drop()

    def drop(self) -> None:
        """Cut the connection."""
        self._channel.close()

    def _send(self, pieces: list[Any]) -> None:
        try:
            self._channel.send(pieces)
        except OSError:
            # What the server said last tells more than that it no longer reads.
            try:
                while True:
                    self._receive()
            except ServerLost as error:
                raise error from None

    def _receive(self) -> Message:
        """Return the next message, an error that it holds raised."""
        try:
            message = decode(self._channel.receive(self._limits.message), self._limits)
        except ChannelClosed as error:
            raise self._lost(str(error)) from None
        except TimeoutError:
            raise self._gone(
                f"has said nothing for {self._silence:g} s; it hangs, or the network is down"
            ) from None
        except OSError as error:
            raise self._lost(str(error) if error.errno is None else "") from None
        except (ValueError, WireError) as error:
            raise self._gone(f"answers what makes no sense: {error}") from None
        if message.kind == "error":
            raise read_error(message.fields)
        return message

    def _lost(self, reason: str) -> ServerLost:
        if reason:
            return self._gone(f"ended the session: {reason}")
        return self._gone("broke the connection while it was in use; it died or was ended")

    def _wrong(self, expected: str, message: Message) -> ServerLost:
        return self._gone(f"answers {message.kind[:40]!r} where {expected!r} was expected")

    def _gone(self, what: str) -> ServerLost:
        self.drop()
        return ServerLost(f"{self.address} {what}")


def _said(message: Message) -> tuple[float, float | None, str]:
    elapsed, fraction, text = (message.fields.get(k) for k in ("elapsed", "fraction", "text"))
    return (
        float(elapsed) if isinstance(elapsed, (int, float)) else 0.0,
        float(fraction) if isinstance(fraction, (int, float)) else None,
        text if isinstance(text, str) else "",
    )
