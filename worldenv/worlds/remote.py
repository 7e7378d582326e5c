"""Remote-v0: a world that runs in another process or on another machine."""

from __future__ import annotations

import dataclasses
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.line import Line, Progress, ServerBusy, ServerLost, read_address
from worldenv.parcels import write_path, write_start
from worldenv.serve import read_token
from worldenv.wire import (
    MOST_TEXT,
    WireError,
    encode,
    read_whole,
    request_limits,
)
from worldenv.world import (
    Chunk,
    GenerationFailed,
    Start,
    Unsupported,
    WorldEnvError,
    WorldSpec,
    check_chunk,
    check_image,
)

if TYPE_CHECKING:
    from worldenv.installed import Launch, ServerProcess

__all__ = ["NEEDS", "RemoteWorld", "ServerBusy", "ServerLost", "make", "read_addresses"]

NEEDS = "a server: worldenv serve"
"""What the list of worlds says that it still needs."""

# In all else two servers of one world, or a spec known beforehand and a server, must agree.
_MAY_DIFFER = ("weights_revision", "licence", "citation", "deterministic")
_PAUSE_SECONDS = 0.5


def make(
    address: str | None = None,
    addresses: Sequence[str] | str | None = None,
    token_file: str | None = None,
    silence: float = 60.0,
    launch: str | None = None,
) -> RemoteWorld:
    """Return the world of a server.

    Args:
        address: Where it listens, ``ws://host:port``.
        addresses: Several servers of one world, as a list or separated by commas; the first that
            is free is taken.
        token_file: File that holds the servers' token; without, ``WORLDENV_TOKEN`` may hold it.
        silence: Seconds after which a server that says nothing is given up.
        launch: Instead: start the server of this world as ``worldenv setup`` saved it.

    Raises:
        Unsupported: not exactly one of the three was given.
        ServerLost: no server can be reached.
    """
    if sum(given is not None for given in (address, addresses, launch)) != 1:
        raise Unsupported(
            "Remote needs one of address=ws://host:port, addresses= and launch=WORLD; start a "
            "server with 'worldenv serve'"
        )
    if launch is not None:
        from worldenv.installed import require

        return RemoteWorld.launched(require(launch), launch, silence=silence)
    return RemoteWorld(
        address if addresses is None else addresses, token=read_token(token_file), silence=silence
    )


class RemoteWorld:
    """Drives the world of a server; see ``World``.

    A session with the server begins at the first ``reset`` and lasts until ``close``. A lost
    server is an error at once and is looked for again at the next ``reset`` only, since the
    episode is lost with it. ``snapshot`` and ``restore`` exist where the server's world has them.

    Args:
        address: Where the server listens, ``ws://host:port``; or several of one world, of which
            the first free one is taken.
        token: Shown to the server.
        spec: What the world is, where that is known: then no connection is made before ``reset``.
        silence: Seconds after which a server that says nothing is given up.
        launch: Instead of an address: how this process starts the server, and the world's name.

    Attributes:
        spec: What the world is.
        progress: Called while the server works, see ``Progress``; None by default.
    """

    spec: WorldSpec

    def __init__(
        self,
        address: str | Sequence[str] | None = None,
        *,
        token: str | None = None,
        spec: WorldSpec | None = None,
        silence: float = 60.0,
        launch: tuple[Launch, str] | None = None,
    ) -> None:
        if (
            isinstance(silence, bool)
            or not isinstance(silence, (int, float))
            or not 2 <= silence <= 1e6
        ):
            raise Unsupported(f"silence must be 2 to 1,000,000 seconds, got {silence!r}")
        self.progress: Progress | None = None
        self._token = token
        self._silence = float(silence)
        self._addresses = [] if launch is not None else read_addresses(address)
        self._launch = launch
        self._process: ServerProcess | None = None
        self._line: Line | None = None
        self._open = False
        self._index = 0
        # Part of what a run is known by, so it outlives the connection.
        self._told: tuple[dict[str, Any], str] | None = None
        if spec is None:
            self._line = self._connect()
            spec = self._line.spec
        self.spec = spec

    @classmethod
    def launched(
        cls,
        launch: Launch,
        world: str,
        *,
        spec: WorldSpec | None = None,
        silence: float = 60.0,
    ) -> RemoteWorld:
        """Return a world whose server this process starts, and ends with itself.

        Args:
            launch: How to start it.
            world: Name of the world, for messages.
            spec: What the world is, where that is known: then nothing starts before ``reset``.
            silence: Seconds after which a server that says nothing is given up.

        Raises:
            ServerLost: it does not start; the message ends with its log.
        """
        return cls(spec=spec, silence=silence, launch=(launch, world))

    def __getattr__(self, name: str) -> Any:
        # Asked only for what is not there: these two exist where the server's world has them.
        if name in ("snapshot", "restore"):
            line = self.__dict__.get("_line")
            if line is not None and line.snapshots:
                return self._snapshot if name == "snapshot" else self._restore
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def served(self) -> dict[str, Any]:
        """What the server's world was made with; connects where that was never done."""
        return dict(self._known()[0])

    @property
    def device(self) -> str:
        """What the server's world runs on; connects where that was never done."""
        return self._known()[1]

    def _known(self) -> tuple[dict[str, Any], str]:
        if self._told is None:
            self._line = self._connect()
        assert self._told is not None
        return self._told

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None = None) -> Chunk:
        """Begin an episode; connect, and wait for the world to be free, where needed.

        Raises:
            WorldEnvError: what the server's world raises.
            ServerLost: the server cannot be reached or was lost.
        """
        whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
        if not (whole and 0 <= seed < 1 << 64):
            raise Unsupported(f"the seed must be a whole number from 0 below 2**64, got {seed!r}")
        _check_text(start.prompt)
        if start.image is not None:
            check_image(start.image)
        first, arrays = write_start(start)
        second, more = write_path(plan)
        pieces = encode("reset", {**first, **second, "seed": int(seed)}, {**arrays, **more})
        most = request_limits(self.spec).message
        if sum(len(piece) for piece in pieces) > most:
            raise Unsupported(
                f"start and plan have more than the {most} bytes that a server of "
                f"{self.spec.name} accepts; make the start image smaller"
            )
        old = self._open
        self._session()
        try:
            return self._chunk(pieces, 0, None)
        except ServerLost:
            # The session of an earlier episode may have been given to another client since.
            if not old:
                raise
        self._session()
        return self._chunk(pieces, 0, None)

    def step(self, poses: np.ndarray, prompt: str | None = None) -> Chunk:
        """Make one frame per pose, shape (n, 4, 4) camera-to-world in frame-0 coordinates.

        Raises:
            WorldEnvError: what the server's world raises.
            ServerLost: the server was lost, and the episode with it.
        """
        if self._line is None or not self._open:
            raise GenerationFailed("there is no running episode on a server; call reset first")
        _check_text(prompt)
        try:
            asked = np.asarray(poses, dtype=np.float64)
        except (TypeError, ValueError):
            asked = np.zeros(0)
        if asked.ndim != 3 or asked.shape[1:] != (4, 4) or not len(asked):
            raise Unsupported(
                f"step takes poses (n, 4, 4), one for each new frame, got {np.shape(poses)}"
            )
        fields = {"index": self._index, "prompt": prompt}
        return self._chunk(encode("step", fields, {"poses": asked}), self._index, len(asked))

    def close(self) -> None:
        """Leave the server, and end it where this process started it; may be called twice."""
        line, self._line, self._open = self._line, None, False
        if line is not None:
            line.close()
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _snapshot(self) -> object:
        """Return a token of this moment of the episode; it stays valid until ``close``."""
        line = self._running()
        self._forget(line)
        message = self._ask(line, encode("snapshot"), "token")
        token = _Token(line, read_whole(message, "token"), self._index)
        weakref.finalize(token, line.dropped.append, token.number)
        return token

    def _restore(self, token: object) -> None:
        """Go back to the moment of a token of this world."""
        line = self._running()
        if not isinstance(token, _Token) or token.line is not line:
            raise Unsupported("restore needs a token that snapshot of this world returned")
        self._ask(line, encode("restore", {"token": token.number}), "restored")
        self._index = token.index

    def _forget(self, line: Line) -> None:
        tokens = line.dropped[:1000]
        if tokens:
            del line.dropped[: len(tokens)]
            self._ask(line, encode("forget", {"tokens": tokens}), "forgotten")

    def _running(self) -> Line:
        if self._line is None or not self._open:
            raise GenerationFailed("there is no running episode on a server; call reset first")
        return self._line

    def _chunk(self, pieces: list[Any], index: int, n: int | None) -> Chunk:
        line = self._running()
        message = self._ask(line, pieces, "chunk")
        try:
            if read_whole(message, "index") != index:
                raise WireError(f"it answers step {message.fields['index']}, not {index}")
            chunk = check_chunk(line.chunk(message), self.spec, n)
        except WorldEnvError as error:
            self._lose()
            raise ServerLost(f"{line.address} answers what makes no sense: {error}") from None
        self._index = index + 1
        return chunk

    def _ask(self, line: Line, pieces: list[Any], answer: str) -> Any:
        try:
            return line.ask(pieces, answer, self.progress)
        except ServerLost as error:
            self._lose()
            raise self._with_log(error) from None
        except WorldEnvError:
            raise
        except BaseException:
            # Interrupted within an answer: what comes next could not be told apart.
            self._lose()
            raise

    def _lose(self) -> None:
        if self._line is not None:
            self._line.drop()
        self._line, self._open = None, False

    def _with_log(self, error: ServerLost) -> ServerLost:
        """Return the error with the end of the log of a server that this process started."""
        process, self._process = self._process, None
        if process is None:
            return error
        lost = ServerLost(f"{error}. {process.last_words()}")
        process.stop(patience=1.0)
        return lost

    def _session(self) -> None:
        """Make sure that this client has the world of a server."""
        if self._line is not None and self._open:
            return
        line = self._line = self._line or self._connect()
        self._check_spec(line)
        try:
            self._enter(line)
        except ServerLost as error:
            self._lose()
            raise self._with_log(error) from None
        self._open = True

    def _enter(self, line: Line) -> None:
        """Take the first server that is free; wait while none is."""
        if len(self._addresses) < 2:
            line.open(True, self.progress)
            return
        began, lost = time.monotonic(), 0
        while True:
            for address in list(self._addresses):
                try:
                    if line.address != address:
                        line.close()
                        line = self._line = self._meet(address, self._token)
                        self._check_spec(line)
                    line.open(False)
                    return
                except ServerBusy:
                    continue
                except ServerLost:
                    lost += 1
                    if lost >= 3 * len(self._addresses):
                        raise
            if self.progress is not None:
                self.progress(time.monotonic() - began, None, "all servers are busy")
            time.sleep(_PAUSE_SECONDS)

    def _connect(self) -> Line:
        """Return a connection to the server: started now, or the first that answers."""
        if self._launch is not None:
            from worldenv.installed import start

            if self._process is None or not self._process.alive:
                self._process = start(*self._launch)
                weakref.finalize(self, self._process.stop)
            try:
                return self._meet(self._process.address, self._process.token)
            except ServerLost as error:
                raise self._with_log(error) from None
        last: ServerLost | None = None
        for address in self._addresses:
            try:
                return self._meet(address, self._token)
            except ServerLost as error:
                last = error
        assert last is not None
        raise last

    def _meet(self, address: str, token: str | None) -> Line:
        line = Line(address, token, self._silence)
        self._told = line.options, line.device
        return line

    def _check_spec(self, line: Line) -> None:
        spec = self.__dict__.get("spec", line.spec)
        for field in dataclasses.fields(spec):
            ours, theirs = getattr(spec, field.name), getattr(line.spec, field.name)
            if ours != theirs and field.name not in _MAY_DIFFER:
                line.close()
                self._line = None
                raise Unsupported(
                    f"{line.address} serves another world than expected: its {field.name} is "
                    f"{theirs!r}, not {ours!r}"
                )


class _Token:
    """A moment that a server keeps."""

    def __init__(self, line: Line, number: int, index: int) -> None:
        self.line = line
        self.number = number
        self.index = index


def read_addresses(address: Any) -> list[str]:
    """Return addresses given as a list, or as a text with commas.

    Raises:
        Unsupported: one of them is no address.
    """
    if isinstance(address, str):
        address = [part.strip() for part in address.split(",")]
    if not isinstance(address, (list, tuple)) or not address:
        raise Unsupported(f"expected the address of a server, ws://host:port, got {address!r}")
    return [read_address(part) for part in address]


def _check_text(prompt: str | None) -> None:
    """Raise Unsupported where a prompt cannot be sent."""
    if prompt is None:
        return
    try:
        size = len(prompt.encode())
    except (AttributeError, UnicodeEncodeError):
        raise Unsupported(f"a prompt must be Unicode text, got {prompt!r:.60}") from None
    if size > MOST_TEXT:
        raise Unsupported(f"a prompt has {size} bytes; a server accepts up to {MOST_TEXT}")
