"""The world server: one world, made here, driven by clients elsewhere, one at a time.

It runs inside the environment of a model, often from a zipapp (``python server.pyz --world
MODULE:FACTORY``), and needs nothing but Python 3.9 and numpy. ``session`` talks to one client,
``inference`` runs the world. This module is packed into the world server (see ``world``).
"""

import argparse
import ctypes
import hmac
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from worldenv.camera import WorldEnvError
from worldenv.inference import Driver, Inference, say
from worldenv.ranks import PIPES, Ranks, follow
from worldenv.session import Desk, attend, keep_alive
from worldenv.vendored.websockets.sync.server import Server, ServerConnection, serve
from worldenv.wire import PROTOCOL, Limits, decode, request_limits
from worldenv.world import Unsupported, World
from worldenv.worlds import load_world

__all__ = ["PARENT", "TOKEN", "main", "parse_options", "read_token"]

TOKEN = "WORLDENV_TOKEN"
"""Environment variable that may hold the token a client must show."""

PARENT = "WORLDENV_PARENT"
"""Environment variable that may hold the process whose end is also the server's."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MOST_CONNECTIONS = 64
_CLOSING_SECONDS = 5.0
_FAILED = 3


def parse_options(pairs: Sequence[str]) -> Dict[str, Any]:
    """Return key=value texts as a dict; values are JSON where they can be, else text.

    Raises:
        WorldEnvError: a text has no ``=``.
    """
    options: Dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key:
            raise WorldEnvError(
                "--world-option {!r} has no value; expected key=value, e.g. fov=90.".format(pair)
            )
        try:
            options[key] = json.loads(text)
        except ValueError:
            options[key] = text
    return options


def read_token(file: Optional[str]) -> Optional[str]:
    """Return the token from a file, else from the environment, else None.

    Raises:
        Unsupported: the file cannot be read or is empty, or the token has odd characters.
    """
    if file is None:
        token = os.environ.get(TOKEN, "")
    else:
        try:
            token = Path(file).read_text("utf-8").strip()
        except (OSError, ValueError, TypeError) as error:
            raise Unsupported("the token file {} cannot be read: {}".format(file, error)) from error
        if not token:
            raise Unsupported("the token file {} is empty".format(file))
    if not token.isascii() or not (token.isprintable() and " " not in token):
        raise Unsupported("a token must be printable ASCII without spaces")
    return token or None


class _Server:
    """What the threads of a server share."""

    def __init__(self, arguments: argparse.Namespace, command: List[str]) -> None:
        self.token = read_token(arguments.token_file)
        if arguments.host not in _LOOPBACK and self.token is None:
            raise Unsupported(
                "binding to {} lets other machines in: give a token in {} or --token-file".format(
                    arguments.host, TOKEN
                )
            )
        self.stop = threading.Event()
        self.reason = ""
        self.connections = 0
        self.lock = threading.Lock()
        self.desk: Optional[Desk] = None
        options = parse_options(arguments.world_option)
        name = arguments.world
        # Where the model lies on this machine is nobody's business.
        self.told = {k: v for k, v in options.items() if k not in ("repo", "weights")}
        self.ranks = Ranks(command, arguments.nproc, self.fail) if arguments.nproc > 1 else None
        self.inference = Inference(lambda: load_world(name, **options), self.ranks, self.fail)

    def fail(self, text: str) -> None:
        """End the server because of what ``text`` says."""
        if not self.stop.is_set():
            self.reason = text
            say(text)
            if self.desk is not None:
                self.desk.fail(text)
            self.stop.set()

    def admit(self, connection: ServerConnection, request: Any) -> Any:
        """Answer a plain question for health; refuse who has no token, or comes as one too many."""
        if "Upgrade" not in request.headers:
            if request.path == "/health":
                return connection.respond(HTTPStatus.OK, json.dumps({"protocol": PROTOCOL}) + "\n")
            return connection.respond(HTTPStatus.UPGRADE_REQUIRED, "worldenv speaks WebSocket\n")
        if self.token is not None:
            shown = request.headers.get("Authorization", "")
            if not hmac.compare_digest(
                shown.encode("utf-8", "replace"), ("Bearer " + self.token).encode("utf-8")
            ):
                return connection.respond(HTTPStatus.UNAUTHORIZED, "wrong or no token\n")
        with self.lock:
            if self.connections >= _MOST_CONNECTIONS:
                return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients\n")
        return None

    def handle(self, connection: ServerConnection) -> None:
        """Attend to a connection until it ends."""
        assert self.desk is not None
        keep_alive(connection.socket)
        with self.lock:
            self.connections += 1
        try:
            attend(connection, self.desk)
        finally:
            with self.lock:
                self.connections -= 1


def main(arguments: Optional[Sequence[str]] = None, world: str = "") -> int:
    """Run the server until it is told to end; return the exit code.

    Args:
        arguments: Command line, None for that of the process.
        world: World to serve when ``--world`` names none.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(world)
    chosen = parser.parse_args(given)
    if not chosen.world:
        parser.error("--world is missing: MODULE:FACTORY or FILE.py:FACTORY")
    if chosen.nproc < 1:
        parser.error("--nproc must be at least 1")
    try:
        if PIPES in os.environ:
            return _be_rank(chosen)
        return _serve(chosen, [*_launcher(), *given, "--world", chosen.world])
    except WorldEnvError as error:
        say("Error: {}".format(error))
        return 2


def _parser(world: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="server", description="Serve a world to worldenv.")
    add = parser.add_argument
    add("--world", default=world, help="MODULE:FACTORY or FILE.py:FACTORY")
    add("--world-option", action="append", default=[], help="keyword of the world, key=value")
    add("--host", default="127.0.0.1", help="address to bind; beyond this machine needs a token")
    add("--port", type=int, default=0, help="0 takes a free one")
    add("--token-file", help="file that holds the token; without: " + TOKEN)
    add("--nproc", type=int, default=1, help="ranks of the model")
    add("--idle", type=float, default=300.0, help="seconds after which a silent client gives way")
    add("--announce", help="file to write the address to")
    add("--with-parent", action="store_true", help="end when standard input closes")
    return parser


def _launcher() -> List[str]:
    """Return what starts this program again: the zipapp it came from, or the module."""
    for place in Path(__file__).parents:
        if place.is_file():
            return [sys.executable, str(place)]
    return [sys.executable, "-m", "worldenv.serve"]


def _be_rank(chosen: argparse.Namespace) -> int:
    parent = int(os.environ[PIPES].split(":")[2])
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver: Optional[Driver] = None
    limits = Limits(0)

    def run(raw: bytes) -> None:
        nonlocal driver, limits
        if driver is None:
            world: World = load_world(chosen.world, **parse_options(chosen.world_option))
            driver, limits = Driver(world), request_limits(world.spec)
        else:
            driver.run(decode(raw, limits))

    follow(run)
    if driver is not None:
        driver.world.close()
    return 0


def _die_with(parent: int) -> None:
    """Ask the system to kill this process when its parent ends, where it can."""
    if sys.platform.startswith("linux"):
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # It ended before we asked.
        os._exit(1)


def _serve(chosen: argparse.Namespace, command: List[str]) -> int:
    parent = os.environ.pop(PARENT, "")
    if parent == str(os.getppid()):
        _die_with(int(parent))
    server = _Server(chosen, command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop.set())
    if chosen.with_parent:
        threading.Thread(target=_watch_input, args=(server.stop,), daemon=True).start()
    try:
        driver = None
        while driver is None and not server.stop.is_set():
            driver = server.inference.wait(0.2)
        if driver is None:
            return _end(server, None)
        spec = driver.world.spec
        desk = Desk(server.inference, driver, server.ranks, server.fail, chosen.idle, server.told)
        server.desk = desk
        logger = logging.getLogger("worldenv.serve")
        # What clients do wrong is answered to them; the headers would hold the token.
        logger.setLevel(logging.CRITICAL)
        try:
            listener = serve(
                server.handle,
                chosen.host,
                chosen.port,
                compression=None,
                origins=[None],
                process_request=server.admit,
                max_size=desk.limits.message,
                ping_interval=None,
                close_timeout=1,
                logger=logger,
                family=socket.AF_INET6 if ":" in chosen.host else socket.AF_INET,
            )
        except (OSError, OverflowError, UnicodeError) as error:
            raise Unsupported(
                "cannot listen on {}:{}: {}".format(chosen.host, chosen.port, error)
            ) from error
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        port = listener.socket.getsockname()[1]
        host = "[{}]".format(chosen.host) if ":" in chosen.host else chosen.host
        address = "ws://{}:{}".format(host, port)
        say("serving {} at {}".format(spec.name, address))
        if chosen.announce:
            _announce(Path(chosen.announce), address)
        # A bare wait() could not be interrupted by signals everywhere.
        while not server.stop.wait(0.5):
            pass
        return _end(server, listener)
    except BaseException:
        if server.ranks is not None:
            server.ranks.close()
        raise


def _end(server: _Server, listener: Optional[Server]) -> int:
    """Close what is open and leave; a model that does not come back is not waited for."""
    say("ending")
    if listener is not None:
        listener.shutdown()
    if server.desk is not None:
        server.desk.fail(server.reason or "the server was told to end")
        # Those who wait for an answer get it before the process is gone.
        end = time.monotonic() + 1.0
        while server.desk.working and time.monotonic() < end:
            time.sleep(0.02)
        server.desk.close()
    if not server.reason:
        server.inference.stop(_CLOSING_SECONDS)
    if server.ranks is not None:
        server.ranks.close()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the model may still run; a plain return would wait for them.
    os._exit(_FAILED if server.reason else 0)


def _watch_input(stop: threading.Event) -> None:
    # Not through sys.stdin, whose lock must not be held when the interpreter ends.
    while os.read(0, 4096):
        pass
    stop.set()
    # A model that holds the interpreter cannot keep the process alive for long.
    time.sleep(3 * _CLOSING_SECONDS)
    os._exit(1)


def _announce(file: Path, address: str) -> None:
    draft = file.with_name(file.name + ".part")
    draft.write_text(json.dumps({"address": address, "process": os.getpid()}), "utf-8")
    os.replace(draft, file)


if __name__ == "__main__":
    sys.exit(main())
