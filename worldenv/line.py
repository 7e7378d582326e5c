"""A connection to a world server, seen from the client: questions, answers, and their failures."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from worldenv.vendored.websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
)
from worldenv.vendored.websockets.sync.client import ClientConnection, connect
from worldenv.wire import (
    PROTOCOL,
    Limits,
    Message,
    WireError,
    decode,
    encode,
    read_error,
    read_spec,
    reply_limits,
)
from worldenv.world import GenerationFailed, Unsupported, WorldSpec

__all__ = ["Line", "Progress", "ServerBusy", "ServerLost", "read_address"]

Progress = Callable[[float, "float | None", str], None]
"""Called while a world works: seconds since it began, fraction done or None, what it says."""

_HELLO = Limits(1 << 20)
_OPEN_SECONDS = 10.0
_LOOK_SECONDS = 0.5


class ServerLost(GenerationFailed):
    """The world server cannot be reached, died, fell silent, or answers what makes no sense."""


class ServerBusy(GenerationFailed):
    """Another client has the world, and this one was not to wait."""


def read_address(address: str) -> str:
    """Return an address as ``ws://host:port``.

    Raises:
        Unsupported: it is something else.
    """
    text = address if "://" in address else f"ws://{address}"
    scheme, _, rest = text.partition("://")
    if scheme not in ("ws", "wss") or not rest or any(c.isspace() for c in rest) or "@" in rest:
        raise Unsupported(f"{address!r} is no address of a server; expected ws://host:port")
    return text


class _Connection(ClientConnection):
    """Knows when it last heard anything, also within a long message."""

    recv_bufsize = 1 << 20

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self.heard = time.monotonic()
        super().__init__(*arguments, **keywords)

    def recv_events(self) -> None:
        receive = self.protocol.receive_data

        def listen(data: bytes) -> None:
            self.heard = time.monotonic()
            receive(data)

        self.protocol.receive_data = listen  # type: ignore[method-assign]
        super().recv_events()


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

    Raises:
        ServerLost: there is no server, or it refuses.
        WireError: it speaks another version.
    """

    def __init__(self, address: str, token: str | None, silence: float) -> None:
        self.address = read_address(address)
        self._silence = silence
        self._limits = _HELLO
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            self._connection = connect(
                self.address,
                compression=None,
                max_size=_HELLO.message,
                max_queue=64,
                additional_headers=headers,
                user_agent_header=None,
                proxy=None,
                open_timeout=min(_OPEN_SECONDS, silence),
                ping_interval=None,
                close_timeout=1,
                create_connection=_Connection,
            )
        except InvalidStatus as error:
            raise ServerLost(self._refusal(error.response.status_code)) from None
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI, EOFError) as error:
            raise ServerLost(
                f"there is no world server at {self.address} ({type(error).__name__}: {error}); "
                "start one with 'worldenv serve'"
            ) from None
        try:
            welcome = self.ask(encode("hello", {"protocol": PROTOCOL}), "welcome")
            self.spec: WorldSpec = read_spec(welcome.fields.get("spec"))
        except WireError as error:
            self.drop()
            raise ServerLost(f"{self.address} is no world server that can be used: {error}") from None
        self.snapshots = welcome.fields.get("snapshots") is True
        device = welcome.fields.get("device")
        self.device = device if isinstance(device, str) else "unknown"
        self._limits = reply_limits(self.spec)
        self._connection.protocol.max_size = self._limits.message

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

    def ask(
        self, pieces: list[Any], answer: str, progress: Progress | None = None
    ) -> Message:
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

    def close(self) -> None:
        """Leave, politely where the server still listens."""
        with contextlib.suppress(GenerationFailed):
            self._send(encode("close"))
        self.drop()

    def drop(self) -> None:
        """Cut the connection."""
        self._connection.close_socket()

    def _send(self, pieces: list[Any]) -> None:
        # A server that does not read would block us for ever.
        self._connection.socket.settimeout(None)
        try:
            self._connection.send(pieces if len(pieces) > 1 else pieces[0])
        except ConnectionClosed as error:
            raise self._lost(error) from None

    def _receive(self) -> Message:
        """Return the next message, an error that it holds raised."""
        connection = self._connection
        asked = time.monotonic()
        while True:
            left = max(asked, connection.heard) + self._silence - time.monotonic()
            try:
                raw = connection.recv(max(0.0, min(left, _LOOK_SECONDS)))
                break
            except TimeoutError:
                if left <= 0:
                    self.drop()
                    raise ServerLost(
                        f"{self.address} has said nothing for {self._silence:g} s; it hangs or the "
                        "network is down"
                    ) from None
            except ConnectionClosed as error:
                raise self._lost(error) from None
        try:
            message = decode(raw, self._limits)
        except WireError as error:
            self.drop()
            raise ServerLost(f"{self.address} answers what makes no sense: {error}") from None
        if message.kind == "error":
            raise read_error(message.fields)
        return message

    def _lost(self, error: ConnectionClosed) -> ServerLost:
        self.drop()
        said = error.rcvd
        if said is not None and said.reason:
            return ServerLost(f"{self.address} ended the session: {said.reason}")
        return ServerLost(
            f"the connection to {self.address} broke while the world was in use; the server died "
            "or was ended"
        )

    def _wrong(self, expected: str, message: Message) -> ServerLost:
        self.drop()
        return ServerLost(
            f"{self.address} answers {message.kind[:40]!r} where {expected!r} was expected"
        )


def _said(message: Message) -> tuple[float, float | None, str]:
    elapsed, fraction, text = (message.fields.get(k) for k in ("elapsed", "fraction", "text"))
    return (
        float(elapsed) if isinstance(elapsed, (int, float)) else 0.0,
        float(fraction) if isinstance(fraction, (int, float)) else None,
        text if isinstance(text, str) else "",
    )
