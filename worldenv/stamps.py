"""Stamps of weight sets: what a fetch brought, and whether the files are still the same."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from worldenv.world import WeightsNotFound

STAMP = "weights.json"
"""File in the folder of a set, written last: what was fetched, the SHA-256 of every file."""

LOCAL = "local"
"""Revision of what was brought by ``--from`` and names no commit of its own."""


class DamagedWeights(WeightsNotFound):
    """Weights are here, but they are not what was fetched, or not those of the network."""


class Mark(NamedTuple):
    """What tells cheaply that a file was not written again.

    Attributes:
        size: Its bytes.
        mtime_ns: When it was written, nanoseconds.
    """

    size: int
    mtime_ns: int


class Stamp(NamedTuple):
    """What the last fetch of a set left in its folder.

    Attributes:
        revision: What was fetched: the version of an archive; the commit of a repository, where
            the hub said it or a folder of the hub's cache is named by it; ``local`` for a folder
            whose files the table does not pin one by one.
        files: Path -> SHA-256 of the file as it lies there. Where the table pins none, it is that
            of whatever came.
        origin: Path -> SHA-256 of what it was made from; for pickles another than ``files``.
        asked: Revision that the table wanted, a branch where nothing is pinned; empty where it is
            ``revision``.
        marks: Path -> mark of the file when its SHA-256 was taken.
    """

    revision: str
    files: dict[str, str]
    origin: dict[str, str]
    asked: str = ""
    marks: Mapping[str, Mark] = MappingProxyType({})

    @property
    def wanted(self) -> str:
        """Return the revision that the table wanted when this was fetched."""
        return self.asked or self.revision

    @property
    def checksum(self) -> str:
        """Return the SHA-256 over the names and SHA-256s of what was fetched."""
        lines = "".join(f"{self.origin[path]}  {path}\n" for path in sorted(self.origin))
        return hashlib.sha256(lines.encode()).hexdigest()


def is_inside(path: str) -> bool:
    """Return whether a path of a table or an archive stays below the folder it is put in."""
    parts = PurePosixPath(path).parts
    plain = bool(parts) and "\\" not in path and "\0" not in path and ":" not in path
    return plain and not path.startswith("/") and ".." not in parts


def read_stamp(folder: Path) -> Stamp | None:
    """Return what a fetch left in the folder of a set, None when none was completed there.

    Raises:
        DamagedWeights: there is a stamp, and it cannot be read.
    """
    try:
        found = json.loads((folder / STAMP).read_text("utf-8"))
        files = {str(path): str(digest) for path, digest in found["files"].items()}
        made = found.get("origin", files)
        origin = {str(path): str(digest) for path, digest in made.items()}
        if set(files) != set(origin) or not all(map(is_inside, files)):
            raise ValueError("its lists of files differ")
        marks = {
            str(path): Mark(int(size), int(mtime))
            for path, (size, mtime) in found.get("marks", {}).items()
        }
        return Stamp(str(found["revision"]), files, origin, str(found.get("asked", "")), marks)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedWeights(f"{folder / STAMP} cannot be read: {error}") from None


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Write the stamp of a set; it is what makes the set count as fetched, so it comes last."""
    about = {**stamp._asdict(), "marks": dict(stamp.marks), "checksum": stamp.checksum}
    text = json.dumps(about, indent=1, sort_keys=True)
    part = folder / f"{STAMP}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / STAMP)


def mark_of(path: Path) -> Mark:
    """Return the mark of a file.

    Raises:
        OSError: it cannot be looked at.
    """
    about = path.stat()
    return Mark(about.st_size, about.st_mtime_ns)


def changed(folder: Path, stamp: Stamp) -> str | None:
    """Return the first file of a set that is not what was fetched, None when all are.

    A file of the size and time of writing that the stamp holds is taken for unchanged; any other
    is read, once a process. One whose time was set back on purpose passes: ``verify`` reads all.

    Raises:
        OSError: a file cannot be read.
    """
    for path, digest in stamp.files.items():
        about = (folder / path).stat()
        mark = Mark(about.st_size, about.st_mtime_ns)
        if stamp.marks.get(path) == mark:
            continue
        if _digest(folder / path, *mark, about.st_ino) != digest:
            return path
    return None


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, mtime_ns: int, inode: int) -> str:
    """Return the SHA-256 of a file; the rest says which state of it is meant."""
    return sha256_of(path)


def sha256_of(path: Path, progress: Callable[[int], None] = lambda count: None) -> str:
    """Return the SHA-256 of a file.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            progress(len(block))
    return digest.hexdigest()
