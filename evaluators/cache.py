"""Answers kept on disk: what rests on pixels alone is computed once for a frame, ever."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sqlite3
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import WorldEnvError
from worldenv.evaluators.answers import Unstorable, decode, encode
from worldenv.evaluators.constants import CONSTANTS_VERSION
from worldenv.evaluators.plan import Ask

FOLDER = "WORLDENV_CACHE"
"""Environment variable: the folder of the cache; without it, and without ``--cache``, none."""

LIMIT = "WORLDENV_CACHE_GIB"
"""Environment variable: GiB that the cache may take; 8 without it."""

FILE = "features.sqlite"
_FORMAT = 1
# Bytes that are always kept, and bytes that a second of work may take.
_SMALL, _WORTH = 64 << 10, 2 << 20
NOT_KEPT = ("similarity", "cutout", "scene", "judge")
"""Roles whose answers are quicker made than read, as large as a frame, or kept elsewhere."""

_SOFTWARE = (
    "numpy",
    "scipy",
    "opencv-python-headless",
    "torch",
    "transformers",
    "onnxruntime",
    "ai-edge-litert",
)


class CacheUnusable(WorldEnvError):
    """The folder of the cache cannot be made or written."""


class Missing:
    """Stands for an answer that is not kept."""


MISSING = Missing()


def frame_key(frame: NDArray[np.uint8]) -> bytes:
    """Return the SHA-256 of a frame's shape and pixels."""
    head = repr((frame.shape, frame.dtype.str)).encode()
    return hashlib.sha256(head + np.ascontiguousarray(frame).data).digest()


def ask_key(salt: str, ask: Ask, inputs: Sequence[bytes]) -> bytes:
    """Return the SHA-256 of what answers, what it is asked about, and what it is given.

    Args:
        salt: Role, backbone with revision and checksum, and whatever else it was made from.
        ask: What is asked; its frames count, for an answer may name them.
        inputs: Keys of the answers it is given, in order.
    """
    head = repr((_FORMAT, CONSTANTS_VERSION, software(), salt, *ask)).encode()
    return hashlib.sha256(head + b"".join(inputs)).digest()


@lru_cache(maxsize=1)
def software() -> str:
    """Return the versions and the threads that bits may depend on."""
    versions = []
    for name in _SOFTWARE:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"{', '.join(versions)}, {os.cpu_count()} cores, {os.environ.get('OMP_NUM_THREADS')}"


class Cache:
    """Answers by key in one SQLite file, which several processes may share.

    A damaged entry, or a damaged file, reads as if nothing were kept. Beyond the limit the oldest
    entries go first.

    Attributes:
        hits: Answers that were found.
        misses: Answers that were looked for and not found.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        """Open or make the cache.

        Args:
            folder: Its folder.
            limit: Bytes it may take; None asks the environment.

        Raises:
            CacheUnusable: the folder cannot be written, or the limit is no number.
        """
        self.hits = self.misses = 0
        self._limit = _limit() if limit is None else limit
        self._path = Path(folder).expanduser() / FILE
        self._pending: dict[bytes, bytes] = {}
        self._pending_bytes = 0
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._open()
        except (OSError, sqlite3.Error) as error:
            raise CacheUnusable(
                f"the feature cache {folder} cannot be written ({error}); choose another folder "
                f"with --cache or {FOLDER}, or leave it out"
            ) from error

    def _open(self) -> sqlite3.Connection:
        try:
            return _connect(self._path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            # Not a database any more: what it held can be computed again.
            self._path.unlink(missing_ok=True)
            return _connect(self._path)

    def get(self, key: bytes) -> Any:
        """Return the answer of a key, ``MISSING`` where there is none."""
        data = self._pending.get(key)
        if data is None:
            try:
                row = self._connection.execute(
                    "SELECT checked, value FROM answers WHERE key = ?", (key,)
                ).fetchone()
            except sqlite3.Error:
                row = None
            if row is not None and hashlib.sha256(row[1]).digest() == row[0]:
                data = row[1]
        if data is not None:
            try:
                answer = decode(data)
            except (ValueError, TypeError, KeyError, AttributeError, ImportError):
                # Written by another version of a type; it is computed again.
                pass
            else:
                self.hits += 1
                return answer
        self.misses += 1
        return MISSING

    def put(self, key: bytes, answer: Any, seconds: float | None = None) -> bool:
        """Keep an answer; return False where it cannot be, or where it is not worth its place.

        Args:
            key: Its key.
            answer: What to keep.
            seconds: What it took to make; None keeps it however large it is.
        """
        try:
            data = encode(answer)
        except Unstorable:
            return False
        if seconds is not None and len(data) > max(_SMALL, _WORTH * seconds):
            return False
        self._pending[key] = data
        self._pending_bytes += len(data)
        if len(self._pending) >= 256 or self._pending_bytes >= 32 << 20:
            self.flush()
        return True

    def flush(self) -> None:
        """Write what waits, all of it or nothing, and make room."""
        if not self._pending:
            return
        rows = [(k, hashlib.sha256(v).digest(), v) for k, v in self._pending.items()]
        self._pending.clear()
        self._pending_bytes = 0
        try:
            with self._connection as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO answers (key, checked, value) VALUES (?, ?, ?)", rows
                )
            self._shrink()
        except sqlite3.Error:
            # A full disk or a lock that is held for long: scores matter more than the cache.
            return

    def _shrink(self) -> None:
        while self.size > self._limit:
            with self._connection as connection:
                gone = connection.execute(
                    "DELETE FROM answers WHERE id IN (SELECT id FROM answers ORDER BY id LIMIT 64)"
                ).rowcount
            if gone <= 0:
                return

    @property
    def size(self) -> int:
        """Bytes in use."""
        pages, free, each = (
            int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * each

    def close(self) -> None:
        """Write what waits and close the file."""
        self.flush()
        self._connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
    try:
        _use_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS answers (id INTEGER PRIMARY KEY AUTOINCREMENT, "
            "key BLOB UNIQUE NOT NULL, checked BLOB NOT NULL, value BLOB NOT NULL)"
        )
        connection.commit()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log; the file's mode is kept, so that the first opener does it.

    SQLite does not wait for its own time-out here where two processes make the file at once.
    """
    for wait in range(60):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or wait == 59:
                raise
            time.sleep(0.01 * (wait + 1))


def _limit() -> int:
    text = os.environ.get(LIMIT, "8")
    try:
        gib = float(text)
    except ValueError:
        gib = 0.0
    if not 0 < gib < 1e6:
        raise CacheUnusable(f"{LIMIT}={text!r} is no size; expected GiB, e.g. 8.")
    return int(gib * 2**30)


def find_cache(folder: Path | str | None = None) -> Cache | None:
    """Return the cache of a folder, or of the environment's; None where neither names one.

    Raises:
        CacheUnusable: the folder cannot be written.
    """
    chosen = folder or os.environ.get(FOLDER)
    return Cache(Path(chosen)) if chosen else None
