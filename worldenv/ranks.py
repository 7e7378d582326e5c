"""Further processes of a server that runs one model over several ranks.

Rank 0 serves; it starts the others as copies of its own command with ``RANK``, ``LOCAL_RANK``,
``WORLD_SIZE``, ``MASTER_ADDR`` and ``MASTER_PORT`` set, as ``torch.distributed`` and others read
them, and hands every message on by a pipe. What the ranks exchange while they work is the model's
own affair. A rank that dies ends the whole group.

This module is packed into the world server (see ``world``).
"""

import contextlib
import json
import os
import queue
import socket
import struct
import subprocess
import threading
import time
from typing import Any, BinaryIO, Callable, Dict, List, Optional, Tuple

from worldenv.world import GenerationFailed, WorldEnvError

__all__ = ["PIPES", "RankDied", "Ranks", "follow"]

PIPES = "WORLDENV_RANK_PIPES"
"""Environment variable that makes a process a rank: the numbers of its two pipes."""

_LENGTH = struct.Struct("<Q")
# How long the ranks may differ: one has failed, another still works, perhaps waiting for it.
_PATIENCE = 30.0


class RankDied(GenerationFailed):
    """A rank is gone, so the group cannot go on."""


class _Rank:
    """A process of the group, seen from rank 0."""

    def __init__(self, number: int, process: "subprocess.Popen[bytes]", to: int, back: int) -> None:
        self.number = number
        self.process = process
        self.to: BinaryIO = os.fdopen(to, "wb")
        self.back: BinaryIO = os.fdopen(back, "rb")


class Ranks:
    """The ranks 1 to n - 1 of a group.

    Args:
        command: What starts this server, e.g. python and its arguments.
        n: Ranks, at least 2.
        fail: Called once with a text when a rank is gone, or fails while another goes on.
    """

    def __init__(self, command: List[str], n: int, fail: Callable[[str], None]) -> None:
        self._fail = fail
        self._closed = False
        self._answers: "queue.SimpleQueue[Tuple[int, Optional[Dict[str, Any]]]]" = (
            queue.SimpleQueue()
        )
        self._troubled: Optional[float] = None
        group = {
            "WORLD_SIZE": str(n),
            "LOCAL_WORLD_SIZE": str(n),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(_free_port()),
        }
        os.environ.update(group, RANK="0", LOCAL_RANK="0")
        self._ranks: List[_Rank] = []
        for number in range(1, n):
            there, to = os.pipe()
            back, here = os.pipe()
            environment = dict(os.environ, RANK=str(number), LOCAL_RANK=str(number))
            environment[PIPES] = "{}:{}:{}".format(there, here, os.getpid())
            process = subprocess.Popen(
                command, env=environment, pass_fds=(there, here), stdin=subprocess.DEVNULL
            )
            os.close(there)
            os.close(here)
            rank = _Rank(number, process, to, back)
            self._ranks.append(rank)
            threading.Thread(target=self._listen, args=(rank,), daemon=True).start()

    def ready(self) -> None:
        """Wait until every rank has made its world.

        Raises:
            GenerationFailed: one could not.
        """
        for number, text in self.answers().items():
            raise GenerationFailed("rank {} cannot make the world: {}".format(number, text))

    def tell(self, raw: bytes) -> None:
        """Hand a message to every rank.

        Raises:
            RankDied: one is gone.
        """
        for rank in self._ranks:
            try:
                rank.to.write(_LENGTH.pack(len(raw)) + raw)
                rank.to.flush()
            except OSError:
                raise RankDied(_gone(rank)) from None

    def answers(self) -> Dict[int, str]:
        """Wait until every rank has followed; return rank -> error of those that could not.

        Raises:
            RankDied: one is gone.
        """
        failed = {}
        for _ in self._ranks:
            number, answer = self._answers.get()
            if answer is None:
                raise RankDied(_gone(self._ranks[number - 1]))
            if "error" in answer:
                failed[number] = str(answer["error"])
        self._troubled = None
        return failed

    @property
    def stuck(self) -> bool:
        """Whether a rank failed long ago while others have not come back since."""
        return self._troubled is not None and time.monotonic() - self._troubled > _PATIENCE

    def close(self) -> None:
        """End every rank, by force where asking does not help."""
        self._closed = True
        for rank in self._ranks:
            with contextlib.suppress(OSError):  # it is gone, and left something unread
                rank.to.close()
        end = time.monotonic() + 3
        for rank in self._ranks:
            try:
                rank.process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                rank.process.kill()
                rank.process.wait(5)

    def _listen(self, rank: _Rank) -> None:
        for line in rank.back:
            answer = json.loads(line)
            if "error" in answer and self._troubled is None:
                self._troubled = time.monotonic()
            self._answers.put((rank.number, answer))
        if not self._closed:
            self._fail(_gone(rank))
            self._answers.put((rank.number, None))


def _gone(rank: _Rank) -> str:
    try:
        code = rank.process.wait(2)
    except subprocess.TimeoutExpired:
        return "rank {} closed its pipe; the group ends".format(rank.number)
    how = "signal {}".format(-code) if code < 0 else "exit code {}".format(code)
    return "rank {} died ({}); the group ends".format(rank.number, how)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def follow(run: Callable[[bytes], None]) -> None:
    """Be a rank: do what rank 0 hands on, until it closes the pipe.

    Args:
        run: Follows a message; first called with none, to make the world. A WorldEnvError is told
            to rank 0; anything else ends the rank, and so the group.
    """
    there, here, _ = (int(part) for part in os.environ[PIPES].split(":"))
    with os.fdopen(there, "rb") as messages, os.fdopen(here, "wb") as answers:
        raw = b""
        while True:
            answer: Dict[str, Any] = {"done": True}
            try:
                run(raw)
            except WorldEnvError as error:
                answer = {"error": str(error)}
            answers.write(json.dumps(answer).encode("utf-8") + b"\n")
            answers.flush()
            head = messages.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                return
            raw = messages.read(_LENGTH.unpack(head)[0])
