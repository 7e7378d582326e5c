"""A WebSocket connection of a client, read by one thread, straight into where a message stays.

The library's own client copies every message several times and hands it from thread to thread,
which takes longer than a small frame takes to render. The library does the handshake and writes;
what a server sends (no masks, no extensions) is read here (RFC 6455, section 5).
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import time
from typing import Any

from worldenv.session import keep_alive
from worldenv.vendored.websockets.client import ClientProtocol
from worldenv.vendored.websockets.exceptions import InvalidHandshake, InvalidStatus
from worldenv.vendored.websockets.frames import Close, Frame, Opcode
from worldenv.vendored.websockets.http11 import Response
from worldenv.vendored.websockets.uri import parse_uri

__all__ = ["Channel", "ChannelClosed"]

_MOST_HANDSHAKE = 1 << 16


class ChannelClosed(Exception):
    """The connection is over; the text is the reason that the other end gave, or empty."""


class Channel:
    """An open connection.

    Args:
        address: As ``ws://host:port``.
        headers: Further headers of the request.
        opening: Seconds that opening it may take.
        silence: Seconds without a byte after which reading raises TimeoutError.

    Raises:
        OSError: it cannot be reached, or takes too long.
        InvalidStatus: it refuses.
        InvalidHandshake: it is no WebSocket server.
        ValueError: the address is none.
    """

    def __init__(
        self, address: str, headers: dict[str, str], opening: float, silence: float
    ) -> None:
        place = parse_uri(address)
        self._socket = socket.create_connection((place.host, place.port), opening)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            keep_alive(self._socket)
            if place.secure:
                context = ssl.create_default_context()
                self._socket = context.wrap_socket(self._socket, server_hostname=place.host)
            protocol = ClientProtocol(place, max_size=_MOST_HANDSHAKE)
            self._shake_hands(protocol, headers, time.monotonic() + opening)
            self._socket.settimeout(silence)
        except BaseException:
            self._socket.close()
            raise

    def _shake_hands(self, protocol: ClientProtocol, headers: dict[str, str], end: float) -> None:
        request = protocol.connect()
        for name, value in headers.items():
            request.headers[name] = value
        protocol.send_request(request)
        self._socket.sendall(b"".join(protocol.data_to_send()))
        events: list[Any] = []
        total = 0
        while not events and protocol.handshake_exc is None:
            # A server that sends a byte now and then must not hold us for ever.
            self._socket.settimeout(max(0.01, end - time.monotonic()))
            # One byte after the other, since what follows the answer is not the library's.
            data = self._socket.recv(1)
            total += len(data)
            if not data or total > _MOST_HANDSHAKE:
                raise InvalidHandshake("the answer to the handshake ends too early or never")
            protocol.receive_data(data)
            events = protocol.events_received()
        if protocol.handshake_exc is not None:
            raise protocol.handshake_exc
        response = events[0]
        if not isinstance(response, Response):
            raise InvalidHandshake("the answer to the handshake is none")
        if response.status_code != 101:
            raise InvalidStatus(response)

    def send(self, pieces: list[Any]) -> None:
        """Send the pieces as one message.

        Raises:
            OSError: the connection is broken, or the other end does not read.
        """
        self._socket.sendall(Frame(Opcode.BINARY, b"".join(pieces)).serialize(mask=True))

    def receive(self, limit: int) -> bytearray:
        """Return the next message.

        Args:
            limit: Most bytes it may have; no more are allocated.

        Raises:
            ChannelClosed: there is none.
            ValueError: what comes is no binary message of at most ``limit`` bytes.
            TimeoutError: no byte came for too long.
            OSError: the connection is broken.
        """
        message: bytearray | None = None
        while True:
            first, second = self._read(2)
            length = second & 0x7F
            if first & 0x70 or second & 0x80:
                raise ValueError("it sends frames that are masked or extended")
            if length > 125:
                size = 2 if length == 126 else 8
                (length,) = struct.unpack("!H" if size == 2 else "!Q", self._read(size))
            opcode, final = first & 0x0F, first & 0x80
            if opcode >= 8:
                if length > 125 or not final:
                    raise ValueError("it sends a control frame that is too long")
                self._control(opcode, bytes(self._read(length)))
                continue
            if opcode != (2 if message is None else 0):
                raise ValueError("it sends something else than binary messages")
            if length + len(message or b"") > limit:
                raise ValueError(f"it sends a message of {length} bytes; at most {limit} may come")
            data = self._read(length)
            message = data if message is None else message + data
            if final:
                return message

    def _control(self, opcode: int, data: bytes) -> None:
        if opcode == Opcode.PING:
            self._socket.sendall(Frame(Opcode.PONG, data).serialize(mask=True))
        elif opcode == Opcode.CLOSE:
            reason = ""
            with contextlib.suppress(Exception):
                reason = Close.parse(data).reason
            with contextlib.suppress(OSError):
                self._socket.sendall(Frame(Opcode.CLOSE, data).serialize(mask=True))
            raise ChannelClosed(reason)

    def _read(self, n: int) -> bytearray:
        data = bytearray(n)
        view = memoryview(data)
        while view:
            got = self._socket.recv_into(view)
            if not got:
                raise ChannelClosed("")
            view = view[got:]
        return data

    def close(self) -> None:
        """Cut the connection; may be called twice."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
