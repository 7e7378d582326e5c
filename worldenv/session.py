"""What the world server says to one client, and whose turn it is.

This module is packed into the world server (see ``world``).
"""

import threading
import time
from typing import Any, Callable, Dict, List, Optional

from worldenv.inference import Driver, Inference, Job, read_numbers, say
from worldenv.ranks import Ranks
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
    write_chunk,
    write_error,
    write_spec,
)
from worldenv.world import GenerationFailed, WorldEnvError

__all__ = ["Desk", "attend"]

_BEAT = 1.0
# The first message of a connection must come so soon.
_GREETING = 10.0


class Desk:
    """The queue before a world: one client has it, the others wait.

    Args:
        inference: Runs the world.
        driver: Holds the world.
        ranks: Further ranks, or None.
        fail: Ends the server, for the reason given.
        idle: Seconds without a request after which a client must give way to one that waits; 0
            means never.
    """

    def __init__(
        self,
        inference: Inference,
        driver: Driver,
        ranks: Optional[Ranks],
        fail: Callable[[str], None],
        idle: float,
    ) -> None:
        self.inference = inference
        self.driver = driver
        self.spec = driver.world.spec
        self.limits = request_limits(self.spec)
        self.replies = reply_limits(self.spec)
        self.failed = ""
        self.began = time.monotonic()
        self._ranks = ranks
        self._end = fail
        self._idle = idle
        self._changed = threading.Condition()
        self._waiting: List["_Client"] = []
        self._holder: Optional["_Client"] = None

    def welcome(self) -> Dict[str, Any]:
        """Return what every client is told first."""
        device = getattr(self.driver.world, "device", None)
        return {
            "protocol": PROTOCOL,
            "spec": write_spec(self.spec),
            "snapshots": self.driver.snapshots,
            "device": None if device is None else str(device),
        }

    def health(self) -> Dict[str, Any]:
        """Return how the server is: no session is needed to ask."""
        with self._changed:
            return {
                "world": self.spec.name,
                "busy": self._holder is not None,
                "waiting": len(self._waiting),
                "seconds": time.monotonic() - self.began,
            }

    def fail(self, text: str) -> None:
        """Tell all clients that the server ends."""
        with self._changed:
            self.failed = text
            self._changed.notify_all()

    def close(self) -> None:
        """Send all clients away."""
        with self._changed:
            clients = [*self._waiting, *([self._holder] if self._holder else [])]
        for client in clients:
            client.end("the server was told to end")

    @property
    def working(self) -> bool:
        """Whether a client waits for an answer of the world."""
        holder = self._holder
        return holder is not None and holder.working

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
                if self._holder is client:
                    return 0
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
                self._changed.notify_all()
            holds = self._holder is client
        if holds:
            # What still runs for it must end before the next one begins.
            pieces = b"".join(encode("leave"))
            job = self.inference.submit(pieces, decode(pieces, self.limits))
            while not job.done.wait(_BEAT) and not self.failed:
                pass
            with self._changed:
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
    """One connection: its place in an episode, and its last answer."""

    def __init__(self, connection: ServerConnection, desk: Desk) -> None:
        self.connection = connection
        self.desk = desk
        self.heard = time.monotonic()
        self.working = False
        self.owns = False
        self._next: Optional[int] = None
        self._last_raw: bytes = b""
        self._last: List[Any] = []
        self._tokens: Dict[int, int] = {}
        self._made = 0

    @property
    def quiet(self) -> float:
        """Seconds since the last request was answered; 0 while one runs."""
        return 0.0 if self.working else time.monotonic() - self.heard

    def end(self, reason: str) -> None:
        """Close the connection, from any thread."""
        threading.Thread(
            target=self.connection.close, kwargs={"reason": reason[:120]}, daemon=True
        ).start()

    def send(self, pieces: List[Any]) -> None:
        """Send a message, one fragment a piece, so that arrays are not joined first."""
        self.connection.send(pieces if len(pieces) > 1 else pieces[0])

    def answer(self, raw: bytes, message: Message) -> bool:
        """Answer a message; return whether the connection goes on."""
        kind = message.kind
        if kind == "health":
            self.send(encode("health", self.desk.health()))
        elif kind == "open":
            return self._open(message.fields.get("wait") is not False)
        elif kind == "close":
            self.send(encode("closed"))
            return False
        elif not self.owns:
            raise WireError("a message of kind {!r} needs a session: open one".format(kind))
        elif kind == "reset":
            self._next = None
            self._reply(self._run(raw, message), 0)
            self._next = 1
        elif kind == "step":
            self._step(raw, message)
        elif kind == "snapshot":
            self._snapshot()
        elif kind == "restore":
            number = read_whole(message, "token")
            self._run(raw, message)
            self._next, self._last_raw, self._last = self._tokens[number], b"", []
            self.send(encode("restored", {"index": self._next}))
        elif kind == "forget":
            for number in read_numbers(message):
                self._tokens.pop(number, None)
            self._run(raw, message)
            self.send(encode("forgotten"))
        else:
            raise WireError("there is no message of kind {!r}".format(kind))
        return True

    def _open(self, wait: bool) -> bool:
        if self.owns:
            raise WireError("the session is open already")
        self.desk.join(self)
        place = self.desk.turn(self, 0.0)
        while place and wait:
            self.desk.check()
            self.send(encode("busy", {"position": place}))
            place = self.desk.turn(self, _BEAT)
        if place:
            self.desk.leave(self)
            self.send(encode("busy", {"position": place}))
            return True
        self.owns = True
        self.send(encode("opened"))
        return True

    def _step(self, raw: bytes, message: Message) -> None:
        index = read_whole(message, "index")
        if self._next is None:
            raise WrongIndex("step {} comes before a reset".format(index))
        if index == self._next - 1 and self._last and raw == self._last_raw:
            self.send(self._last)
            return
        if index != self._next:
            raise WrongIndex("step {} came where {} was expected".format(index, self._next))
        if len(message.arrays.get("poses", ())) > max(self.desk.spec.chunk, self.desk.spec.first_chunk):
            raise WireError("a step has more poses than the longest chunk of the world")
        self._reply(self._run(raw, message), index)
        self._next = index + 1
        self._last_raw = raw

    def _snapshot(self) -> None:
        if self._next is None:
            raise WrongIndex("snapshot comes before a reset")
        self._made += 1
        raw = b"".join(encode("snapshot", {"token": self._made}))
        self._run(raw, decode(raw, self.desk.limits))
        self._tokens[self._made] = self._next
        self.send(encode("token", {"token": self._made}))

    def _run(self, raw: bytes, message: Message) -> Job:
        """Let the world follow a message, telling the client every second that it still works."""
        job = self.desk.inference.submit(raw, message)
        self.working = True
        try:
            said = job.began
            while not job.done.wait(_BEAT / 4):
                self.desk.check()
                if time.monotonic() - said < _BEAT:
                    continue
                said = time.monotonic()
                fraction, text = job.progress
                elapsed = said - job.began
                fields = {"elapsed": elapsed, "fraction": fraction, "text": text}
                self.send(encode("progress", fields))
        finally:
            self.working = False
            self.heard = time.monotonic()
        if job.error is not None:
            raise job.error
        return job

    def _reply(self, job: Job, index: int) -> None:
        assert job.chunk is not None
        pieces = write_chunk(job.chunk, {"index": index})
        if sum(len(piece) for piece in pieces) > self.desk.replies.message:
            raise GenerationFailed("the chunk is larger than the spec of the world allows")
        self._last, self._last_raw = pieces, b""
        self.send(pieces)


def attend(connection: ServerConnection, desk: Desk) -> None:
    """Talk to a client until it leaves; whatever it sends is answered, or ends its connection."""
    client = _Client(connection, desk)
    try:
        if not _greet(client):
            return
        while True:
            raw = connection.recv()
            try:
                message = decode(raw, desk.limits)
            except WireError as error:
                client.send(encode("error", write_error(error)))
                return
            try:
                desk.check()
                if not client.answer(bytes(raw) if not isinstance(raw, str) else b"", message):
                    return
            except ConnectionClosed:
                raise
            except Exception as error:  # a model may raise anything; the client is told
                client.send(encode("error", write_error(error)))
                if desk.failed:
                    return
    except ConnectionClosed:
        pass
    finally:
        desk.leave(client)


def _greet(client: _Client) -> bool:
    try:
        message = decode(client.connection.recv(_GREETING), client.desk.limits)
        if message.kind != "hello" or message.fields.get("protocol") != PROTOCOL:
            raise WireError("the first message must be a hello of protocol {}".format(PROTOCOL))
    except TimeoutError:
        return False
    except WorldEnvError as error:
        client.send(encode("error", write_error(error)))
        return False
    client.send(encode("welcome", client.desk.welcome()))
    return True
