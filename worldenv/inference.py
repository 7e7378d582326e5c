"""The one thread of a server that makes a world and runs it, alone or beside further ranks.

This module is packed into the world server (see ``world``).
"""

import queue
import sys
import threading
import traceback
from typing import Any, Callable, Dict, List, Optional

from worldenv.parcels import read_path, read_start
from worldenv.ranks import RankDied, Ranks
from worldenv.wire import (
    Message,
    WireError,
    read_poses,
    read_text,
    read_whole,
)
from worldenv.world import Chunk, GenerationFailed, Unsupported, World, check_chunk

__all__ = ["Driver", "Inference", "read_numbers", "say"]

_MOST_SNAPSHOTS = 1024


class Driver:
    """Does in a world what messages say; every rank has one, and all do the same.

    Args:
        world: The world.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._tokens: Dict[int, Any] = {}

    @property
    def snapshots(self) -> bool:
        """Whether the world can be put back to an earlier moment."""
        return hasattr(self.world, "snapshot") and hasattr(self.world, "restore")

    def run(self, message: Message) -> Optional[Chunk]:
        """Do what a message says and return the chunk it gives, if any.

        Raises:
            WorldEnvError: what the world raises, or the message cannot be followed.
            Exception: whatever else the world raises.
        """
        kind, world = message.kind, self.world
        if kind == "reset":
            start, plan = read_start(message), read_path(message)
            chunk = world.reset(start, seed=read_whole(message, "seed"), plan=plan)
            return check_chunk(chunk, world.spec, None)
        if kind == "step":
            # A world may keep or change what it is given; the message is to stay as it came.
            poses = read_poses(message).copy()
            chunk = world.step(poses, read_text(message, "prompt"))
            return check_chunk(chunk, world.spec, len(poses))
        if kind == "forget":
            for number in read_numbers(message):
                self._tokens.pop(number, None)
            return None
        if kind == "leave":
            self._tokens.clear()
            return None
        if not self.snapshots:
            raise Unsupported("{} keeps no snapshots".format(world.spec.name))
        number = read_whole(message, "token")
        moment: Any = world
        if kind == "snapshot":
            if len(self._tokens) >= _MOST_SNAPSHOTS:
                raise Unsupported(
                    "the server holds {} snapshots already; drop some".format(_MOST_SNAPSHOTS)
                )
            self._tokens[number] = moment.snapshot()
            return None
        if number not in self._tokens:
            raise Unsupported("restore needs a token that snapshot of this session returned")
        moment.restore(self._tokens[number])
        return None


def read_numbers(message: Message) -> List[int]:
    """Return the numbers of the tokens that a message drops.

    Raises:
        WireError: they are something else.
    """
    numbers = message.fields.get("tokens")
    if not isinstance(numbers, list) or not all(type(n) is int for n in numbers):
        raise WireError("tokens must be a list of whole numbers")
    return numbers


class Inference:
    """The thread of the world: it makes it, then does one task after the other.

    Args:
        make: Returns the world; called in the thread, where a model may bind its device.
        ranks: Further ranks that follow the same messages, or None.
        fail: Called with a text when a rank is lost, so that the server must end.
    """

    def __init__(
        self, make: Callable[[], World], ranks: Optional[Ranks], fail: Callable[[str], None]
    ) -> None:
        self._make = make
        self._ranks = ranks
        self._fail = fail
        self._tasks: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self._ready = threading.Event()
        self._driver: Optional[Driver] = None
        self._error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._work, name="world", daemon=True)
        self._thread.start()

    def wait(self, timeout: Optional[float] = None) -> Optional[Driver]:
        """Return the world's driver once it is made, None where that takes longer.

        Raises:
            BaseException: what making the world raised.
        """
        if not self._ready.wait(timeout):
            return None
        if self._error is not None:
            raise self._error
        return self._driver

    def submit(self, task: Callable[[], None]) -> threading.Event:
        """Do a task in the world's thread; the event is set when it is over."""
        done = threading.Event()

        def run() -> None:
            try:
                task()
            finally:
                done.set()

        self._tasks.put(run)
        return done

    def follow(self, raw: bytes, message: Message) -> Optional[Chunk]:
        """Do what a message says, on every rank; to be called in the world's thread.

        Args:
            raw: The message as it came, for the other ranks.
            message: The same, read.

        Raises:
            Exception: whatever the world raises.
        """
        assert self._driver is not None
        if self._ranks is None:
            return self._driver.run(message)
        try:
            self._ranks.tell(raw)
            try:
                chunk = self._driver.run(message)
            finally:
                others = self._ranks.answers()
        except RankDied as error:
            self._fail(str(error))
            raise
        for rank, text in others.items():
            raise GenerationFailed("rank {} failed: {}".format(rank, text))
        return chunk

    def stop(self, timeout: float) -> bool:
        """Close the world and end the thread; return whether that was done in time."""
        self._tasks.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _work(self) -> None:
        try:
            self._driver = Driver(self._make())
            if self._ranks is not None:
                self._ranks.ready()
        except BaseException as error:  # a model may raise anything; the server says it
            self._error = error
            self._ready.set()
            return
        self._ready.set()
        while True:
            task = self._tasks.get()
            if task is None:
                break
            try:
                task()
            except BaseException:  # a session that breaks must not end the world
                traceback.print_exc()
        self._driver.world.close()


def say(text: str) -> None:
    """Write a line to the server's log."""
    print("worldenv: " + text, file=sys.stderr, flush=True)
