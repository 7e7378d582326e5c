"""What the world server says to one client, and whose turn it is.

This module is packed into the world server (see ``world``).
"""

import contextlib
import socket
import struct
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, Optional, Tuple

from worldenv.inference import Driver, Inference, read_numbers, say
from worldenv.parcels import write_chunk, write_error, write_spec
from worldenv.ranks import Ranks
from worldenv.states import Memo
from worldenv.vendored.websockets.exceptions import ConnectionClosed
from worldenv.vendored.websockets.sync.server import ServerConnection
from worldenv.wire import (
    PROTOCOL,
    Message,
    WireError,
    WrongIndex,
    decode,
    encode,
    read_whole,
    reply_limits,
    request_limits,
)
from worldenv.world import Chunk, GenerationFailed, WorldEnvError

__all__ = ["Desk", "attend", "keep_alive"]

_BEAT = 1.0
# The first message of a connection must come so soon.
_GREETING = 10.0
# A client that does not take its leave is cut off so much later.
_LEAVING = 3.0


class Desk:
    """The queue before a world: one client has it, the others wait.

    A world that has an attribute ``progress`` finds there a function (fraction done or None, text)
    to call while it works.

    Args:
        inference: Runs the world.
        driver: Holds the world.
        ranks: Further ranks, or None.
        fail: Ends the server, for the reason given.
        idle: Seconds without a request after which a client must give way to one that waits; 0
            means never.
        options: What the world was made with, as clients are told.
    """

    def __init__(
        self,
        inference: Inference,
        driver: Driver,
        ranks: Optional[Ranks],
        fail: Callable[[str], None],
        idle: float,
        options: Dict[str, Any],
    ) -> None:
        self.inference = inference
        self.spec = driver.world.spec
        self.limits = request_limits(self.spec)
        self.replies = reply_limits(self.spec)
        self.failed = ""
        self.progress: Tuple[Optional[float], str] = (None, "")
        self._driver = driver
        self._ranks = ranks
        self._end = fail
        self._idle = idle
        self._options = options
        self._began = time.monotonic()
        self._changed = threading.Condition()
        self._waiting: List["_Client"] = []
        self._holder: Optional["_Client"] = None
        world: Any = driver.world
        if hasattr(world, "progress"):
            world.progress = self._report

    def _report(self, fraction: Optional[float] = None, text: str = "") -> None:
        known = fraction is not None and 0 <= float(fraction) <= 1
        self.progress = (float(fraction or 0.0) if known else None, str(text)[:200])

    def welcome(self) -> Dict[str, Any]:
        """Return what every client is told first."""
        device = getattr(self._driver.world, "device", None)
        return {
            "protocol": PROTOCOL,
            "spec": write_spec(self.spec),
            "snapshots": self._driver.snapshots,
            "device": None if device is None else str(device),
            "options": self._options,
        }

    def health(self) -> Dict[str, Any]:
        """Return how the server is: no session is needed to ask."""
        with self._changed:
            return {
                "world": self.spec.name,
                "busy": self._holder is not None,
                "waiting": len(self._waiting),
                "seconds": time.monotonic() - self._began,
            }

    def fail(self, text: str) -> None:
        """Let all clients know that the server ends."""
        with self._changed:
            self.failed = text
            self._changed.notify_all()

    @property
    def working(self) -> bool:
        """Whether a client waits for an answer of the world."""
        holder = self._holder
        return holder is not None and holder.working is not None

    def close(self) -> None:
        """Send all clients away."""
        with self._changed:
            clients = [*self._waiting, *([self._holder] if self._holder else [])]
        for client in clients:
            client.end(self.failed)

    def join(self, client: "_Client") -> None:
        """Put a client at the end of the queue."""
        with self._changed:
            self._waiting.append(client)

    def turn(self, client: "_Client", timeout: float) -> int:
        """Return the client's place in the queue, 0 when the world is its own.

        Args:
            client: Who asks.
            timeout: Seconds to wait for a change.
        """
        with self._changed:
            for wait in (timeout, 0.0):
                if self._holder is None and self._waiting[0] is client:
                    self._waiting.pop(0)
                    self._holder = client
                    client.heard = time.monotonic()
                    return 0
                if wait:
                    self._changed.wait(wait)
            place = self._waiting.index(client) + 1
            holder = self._holder
        if holder is not None and self._idle and holder.quiet > self._idle:
            say("a client was silent for {:.0f} s and gives way".format(holder.quiet))
            holder.end("another client waited while this one was silent")
        return place

    def leave(self, client: "_Client") -> None:
        """Take a client out of the queue, or the world from it."""
        with self._changed:
            if client in self._waiting:
                self._waiting.remove(client)
            if self._holder is client:
                self._holder = None
            self._changed.notify_all()

    def check(self) -> None:
        """Raise when the server cannot go on.

        Raises:
            GenerationFailed: it cannot.
        """
        if self._ranks is not None and self._ranks.stuck:
            self._end("a rank failed while others still work; the group ends")
        if self.failed:
            raise GenerationFailed(self.failed)


class _Client:
    """One connection: its place in an episode, and its last answer.

    Attributes:
        heard: When its last request was done, by ``time.monotonic``.
        working: When the request began that runs now, None while none does.
    """

    def __init__(self, connection: ServerConnection, desk: Desk) -> None:
        self.connection = connection
        self.desk = desk
        self.heard = time.monotonic()
        self.working: Optional[float] = None
        self._next: Optional[int] = None
        self._last_raw = b""
        self._memo = Memo()
        self._last: List[Any] = []
        self._tokens: Dict[int, int] = {}
        self._made = 0

    @property
    def quiet(self) -> float:
        """Seconds since the last request was done; 0 while one runs."""
        return 0.0 if self.working is not None else time.monotonic() - self.heard

    def end(self, reason: str) -> None:
        """Close the connection, from any thread and without waiting."""

        def close() -> None:
            timer = threading.Timer(_LEAVING, self.connection.close_socket)
            timer.daemon = True
            timer.start()
            self.connection.close(reason=reason[:100])
            timer.cancel()

        threading.Thread(target=close, daemon=True).start()

    def send(self, pieces: List[Any]) -> None:
        """Send a message as one frame; arrays go to the system as they lie, without a copy."""
        length = sum(len(piece) for piece in pieces)
        if length < 126:
            head = struct.pack("!BB", 0x82, length)
        elif length < 1 << 16:
            head = struct.pack("!BBH", 0x82, 126, length)
        else:
            head = struct.pack("!BBQ", 0x82, 127, length)
        with self.connection.send_context():
            self.connection.socket.sendall(head + bytes(pieces[0]))
            for piece in pieces[1:]:
                self.connection.socket.sendall(piece)

    def send_error(self, error: BaseException) -> None:
        """Send an error as the answer."""
        self.send(encode("error", write_error(error)))

    def wait(self) -> bool:
        """Answer until the client leaves, False, or has the world, True."""
        while True:
            message = decode(self.connection.recv(), self.desk.limits)
            self.desk.check()
            if message.kind == "open":
                if self._open(message.fields.get("wait") is not False):
                    return True
            elif message.kind == "health":
                self.send(encode("health", self.desk.health()))
            elif message.kind == "close":
                return False
            else:
                raise WireError("{!r} needs a session: open one first".format(message.kind[:40]))

    def _open(self, wait: bool) -> bool:
        self.desk.join(self)
        place = self.desk.turn(self, 0.0)
        while place and wait:
            self.desk.check()
            self.send(encode("busy", {"position": place}))
            place = self.desk.turn(self, _BEAT)
        if place:
            self.desk.leave(self)
        self.send(encode("busy", {"position": place}) if place else encode("opened"))
        return not place

    def beat(self) -> None:
        """Tell the client that its request still runs, when it does.

        Raises:
            GenerationFailed: the server cannot go on.
        """
        began = self.working
        if began is None:
            return
        self.desk.check()
        elapsed = time.monotonic() - began
        if elapsed > _BEAT:
            fraction, text = self.desk.progress
            fields = {"elapsed": elapsed, "fraction": fraction, "text": text}
            self.send(encode("progress", fields))

    def converse(self) -> None:
        """Follow the client's messages until it leaves; runs in the world's thread."""
        try:
            while True:
                raw = self.connection.recv()
                self.desk.progress = (None, "")
                self.working = time.monotonic()
                try:
                    message = decode(raw, self.desk.limits)
                    if message.kind == "close":
                        return
                    self._answer(bytes(raw) if isinstance(raw, bytes) else b"", message)
                except ConnectionClosed:
                    raise
                except WorldEnvError as error:
                    self._give(encode("error", write_error(error)))
                except Exception as error:  # a model may raise anything; the client is told
                    traceback.print_exc()
                    self._give(encode("error", write_error(error)))
        except ConnectionClosed:
            pass
        finally:
            self.working = None
            if not self.desk.failed:
                self._follow(encode("leave"))

    def _answer(self, raw: bytes, message: Message) -> None:
        kind = message.kind
        if kind == "reset":
            self._next, self._last = None, []
            self._give_chunk(self.desk.inference.follow(raw, message), 0, raw)
        elif kind == "step":
            self._step(raw, message)
        elif kind == "snapshot":
            if self._next is None:
                raise WrongIndex("snapshot comes before a reset")
            self._made += 1
            self._follow(encode("snapshot", {"token": self._made}))
            self._tokens[self._made] = self._next
            self._give(encode("token", {"token": self._made}))
        elif kind == "restore":
            self.desk.inference.follow(raw, message)
            self._next, self._last = self._tokens[read_whole(message, "token")], []
            self._give(encode("restored", {"index": self._next}))
        elif kind == "forget":
            for number in read_numbers(message):
                self._tokens.pop(number, None)
            self.desk.inference.follow(raw, message)
            self._give(encode("forgotten"))
        elif kind == "health":
            self._give(encode("health", self.desk.health()))
        else:
            raise WireError("there is no message of kind {!r}".format(kind[:40]))

    def _step(self, raw: bytes, message: Message) -> None:
        index, spec = read_whole(message, "index"), self.desk.spec
        if self._next is None:
            raise WrongIndex("step {} comes before a reset".format(index))
        if index == self._next - 1 and self._last and raw == self._last_raw:
            self._give(self._last)
            return
        if index != self._next:
            raise WrongIndex("step {} came where {} was expected".format(index, self._next))
        if len(message.arrays.get("poses", ())) > max(spec.chunk, spec.first_chunk):
            raise WireError("a step has more poses than the longest chunk of the world")
        self._give_chunk(self.desk.inference.follow(raw, message), index, raw)

    def _follow(self, pieces: List[Any]) -> None:
        raw = b"".join(pieces)
        self.desk.inference.follow(raw, decode(raw, self.desk.limits))

    def _give_chunk(self, chunk: Optional[Chunk], index: int, raw: bytes) -> None:
        assert chunk is not None
        # The world went on, whether or not the chunk can be sent.
        self._next, self._last, self._last_raw = index + 1, [], raw
        pieces = write_chunk(chunk, {"index": index}, self._memo)
        if sum(len(piece) for piece in pieces) > self.desk.replies.message:
            raise GenerationFailed("the chunk is larger than the spec of the world allows")
        self._last = pieces
        self._give(pieces)

    def _give(self, pieces: List[Any]) -> None:
        self.working, self.heard = None, time.monotonic()
        self.send(pieces)


def attend(connection: ServerConnection, desk: Desk) -> None:
    """Talk to a client until it leaves; whatever it sends is answered, or ends its connection."""
    client = _Client(connection, desk)
    try:
        if not _greet(client):
            return
        if client.wait():
            over = desk.inference.submit(client.converse)
            while not over.wait(_BEAT / 4):
                try:
                    client.beat()
                except ConnectionClosed:
                    # What still runs for it must end before the next one begins.
                    while not over.wait(_BEAT) and not desk.failed:
                        pass
                    break
    except ConnectionClosed:
        pass
    except WorldEnvError as error:
        with contextlib.suppress(ConnectionClosed, OSError):
            client.send_error(error)
    finally:
        desk.leave(client)


def _greet(client: _Client) -> bool:
    try:
        message = decode(client.connection.recv(_GREETING), client.desk.limits)
    except TimeoutError:
        return False
    if message.kind != "hello" or message.fields.get("protocol") != PROTOCOL:
        raise WireError("the first message must be a hello of protocol {}".format(PROTOCOL))
    client.send(encode("welcome", client.desk.welcome()))
    return True


def keep_alive(connection: socket.socket) -> None:
    """Let the system notice that the other machine is gone, in about a minute and a half."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform.startswith("linux"):
        for option, value in (
            (socket.TCP_KEEPIDLE, 30),
            (socket.TCP_KEEPINTVL, 10),
            (socket.TCP_KEEPCNT, 6),
        ):
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
