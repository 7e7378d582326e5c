"""Models that are installed on this machine: how each is started, and starting it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from worldenv.line import ServerLost
from worldenv.pack import export
from worldenv.serve import PARENT, TOKEN
from worldenv.world import Unsupported, WeightsNotFound, WorldEnvError

__all__ = [
    "InvalidSetup",
    "Launch",
    "ServerProcess",
    "home",
    "require",
    "save",
    "saved",
    "saved_file",
    "start",
]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_STOP_SECONDS = 8.0
_TAIL_BYTES = 2000


class InvalidSetup(WorldEnvError):
    """A saved configuration, or what was to be saved as one, cannot be used."""


@dataclasses.dataclass(frozen=True)
class Launch:
    """How the server of a model is started in the model's own environment.

    Attributes:
        python: Interpreter of the model's environment.
        adapter: ``module:factory`` of the world, run there as ``factory(repo=, weights=,
            **options)``; ``file.py:factory`` is packed into the server.
        repo: Checkout of the model's code, also the folder the server runs in; empty for none.
        weights: Folder of the weights; empty for none.
        options: Further options of the factory: plain values.
        environment: Environment variables of the server, beside those of this process.
        arguments: Further arguments of the server.
        nproc: Ranks.
    """

    python: str
    adapter: str
    repo: str = ""
    weights: str = ""
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    nproc: int = 1

    def __post_init__(self) -> None:
        texts = (self.python, self.adapter, self.repo, self.weights, *self.arguments)
        if not all(isinstance(text, str) for text in texts) or not self.python:
            raise InvalidSetup("python, adapter, repo, weights and arguments must be texts")
        if ":" not in self.adapter and not self.adapter.endswith(".py"):
            raise InvalidSetup(
                f"the adapter {self.adapter!r} is neither module:factory nor file.py:factory"
            )
        if not isinstance(self.options, dict) or not all(
            isinstance(k, str) and isinstance(v, str) for k, v in self.environment.items()
        ):
            raise InvalidSetup("options and environment must be tables; variables are texts")
        if isinstance(self.nproc, bool) or not isinstance(self.nproc, int) or self.nproc < 1:
            raise InvalidSetup(f"nproc must be a whole number from 1, got {self.nproc!r}")

    def command(self, server: Path, *, announce: Path) -> list[str]:
        """Return the command line that starts the server.

        Args:
            server: The exported server.
            announce: File that it writes its address to.
        """
        # One factory may know no repo or weights; what is not set is not handed over.
        places = {"repo": self.repo, "weights": self.weights}
        options = {**{k: v for k, v in places.items() if v}, **self.options}
        # Values as JSON: a text such as 007 stays a text.
        pairs = [f"{key}={json.dumps(value)}" for key, value in options.items()]
        return [
            self.python,
            str(server),
            *(word for pair in pairs for word in ("--world-option", pair)),
            "--port",
            "0",
            "--nproc",
            str(self.nproc),
            "--announce",
            str(announce),
            "--with-parent",
            *self.arguments,
        ]


def home() -> Path:
    """Return the folder of saved configurations: ``WORLDENV_HOME``, else the user's own."""
    if os.environ.get("WORLDENV_HOME"):
        return Path(os.environ["WORLDENV_HOME"])
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "worldenv"


def saved_file(world: str) -> Path:
    """Return the file of a world's saved configuration, there or not.

    Raises:
        Unsupported: no world can have that name.
    """
    name = world.removesuffix("-v0") if isinstance(world, str) else ""
    if not _NAME.fullmatch(name):
        raise Unsupported(f"{world!r} is no name of a world that can be set up")
    return home() / "worlds" / f"{name}.json"


def saved(world_name: str) -> Launch | None:
    """Return how a world's server is started, None where ``worldenv setup`` was not run for it.

    Raises:
        InvalidSetup: the saved configuration is broken.
    """
    file = saved_file(world_name)
    try:
        data = json.loads(file.read_text("utf-8"))
        return Launch(**{**data, "arguments": tuple(data.get("arguments", ()))})
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InvalidSetup(
            f"{file} cannot be used ({error}); run 'worldenv setup {world_name}' again"
        ) from error


def require(world: str) -> Launch:
    """Return how a world's server is started.

    Raises:
        WeightsNotFound: ``worldenv setup`` was not run for it.
    """
    launch = saved(world)
    if launch is None:
        raise WeightsNotFound(
            f"{world} is not set up here: 'worldenv setup {world} --plan' says what it takes"
        )
    return launch


def save(world: str, launch: Launch) -> Path:
    """Keep how a world's server is started and return the file; written, then renamed.

    Raises:
        InvalidSetup: the folder cannot be written.
    """
    file = saved_file(world)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(dataclasses.asdict(launch), indent=2) + "\n", "utf-8")
        os.replace(draft, file)
    except (OSError, TypeError) as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise InvalidSetup(f"{file} cannot be written: {error}") from error
    return file


class ServerProcess:
    """A server that this process started; it ends with this process.

    Attributes:
        address: Where it listens.
        token: What it wants to be shown.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, token: str, world: str
    ) -> None:
        self._process = process
        self._folder = folder
        self._world = world
        self.token = token
        self.address = ""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def log(self) -> Path:
        """What it wrote."""
        return self._folder / "server.log"

    def wait(self) -> None:
        """Wait until it listens.

        Raises:
            ServerLost: it ended before; the message ends with its log.
        """
        announced = self._folder / "address.json"
        while not announced.exists():
            if not self.alive:
                words = self.last_words()
                self.stop()
                raise ServerLost(f"the server of {self._world} did not start. {words}")
            time.sleep(0.05)
        self.address = json.loads(announced.read_text("utf-8"))["address"]

    def last_words(self) -> str:
        """Return the end of its log, and where the whole of it is kept."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        try:
            data = self.log.read_bytes()
        except OSError:
            return "It left no log."
        kept = Path(tempfile.gettempdir()) / f"worldenv-{self._world}-{os.getpid()}.log"
        try:
            kept.write_bytes(data)
            place = f", whole in {kept},"
        except OSError:
            place = ""
        tail = data[-_TAIL_BYTES:].decode("utf-8", "replace").strip()
        code = self._process.poll()
        how = "" if code is None else f" (exit code {code})"
        return f"Its log{how}{place} ends:\n{tail}"

    def stop(self, patience: float = _STOP_SECONDS) -> None:
        """End it, by force where asking does not help; may be called twice.

        Args:
            patience: Seconds that asking may take.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self.alive:
            self._process.terminate()
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def start(launch: Launch, world: str) -> ServerProcess:
    """Start the server of a model and wait until it listens.

    Args:
        launch: How.
        world: Name of the world, for messages.

    Raises:
        ServerLost: it does not start; the message ends with its log.
    """
    folder = Path(tempfile.mkdtemp(prefix="worldenv-server-"))
    server = export(folder / "server.pyz", launch.adapter)
    token = secrets.token_hex(16)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    # What this process imports from is no business of the model's environment.
    environment.pop("PYTHONPATH", None)
    environment.pop("PYTHONHOME", None)
    environment.update({**launch.environment, TOKEN: token})
    if sys.platform == "linux" and threading.current_thread() is threading.main_thread():
        # The system tells a child of the end of the thread that made it, not of the process.
        environment[PARENT] = str(os.getpid())
    with (folder / "server.log").open("wb") as log:
        try:
            process = subprocess.Popen(
                launch.command(server, announce=folder / "address.json"),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=launch.repo or None,
                env=environment,
            )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise ServerLost(f"the server of {world} cannot be started: {error}") from error
    made = ServerProcess(process, folder, token, world)
    try:
        made.wait()
    except BaseException:
        made.stop()
        raise
    return made
