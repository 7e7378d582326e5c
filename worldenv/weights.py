"""Pretrained weights: where they come from, where they lie, whether they are what they claim."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

from worldenv.stamps import (
    STAMP,
    DamagedWeights,
    Stamp,
    changed,
    is_inside,
    read_stamp,
    sha256_of,
    write_stamp,
)
from worldenv.world import UnknownName, WeightsNotFound

__all__ = [
    "FOLDER",
    "STAMP",
    "DamagedWeights",
    "Located",
    "Stamp",
    "State",
    "WeightFile",
    "WeightSet",
    "command",
    "find",
    "is_inside",
    "locate",
    "missing",
    "read_stamp",
    "sha256_of",
    "state",
    "table",
    "unpinned",
    "verify",
    "weights_folder",
    "write_stamp",
]

FOLDER = "WORLDENV_WEIGHTS"
"""Environment variable: the folder that weights are fetched to and read from."""


@dataclass(frozen=True)
class WeightFile:
    """One file of a set.

    Attributes:
        sha256: Its SHA-256, of the pickle where it is one. None where it is not pinned: what comes
            is then whatever the repository holds at the revision of the set, or the folder of
            ``--from``; its SHA-256 is recorded in the stamp, and later compared with that.
        bytes: Its size.
        member: Path of it inside the archive or repository; empty where it is the same.
        pickled: Whether it is a pickle, which is read once by an allow-list and kept as
            safetensors; its hash must be pinned, and its path end in ``.safetensors``.
    """

    sha256: str | None = None
    bytes: int = 0
    member: str = ""
    pickled: bool = False


@dataclass(frozen=True)
class WeightSet:
    """Weights of one network.

    Attributes:
        id: E.g. ``efficientnet-lite0``.
        title: What it is, in a few words.
        source: ``hub`` (a repository of the model hub), ``archive`` (a file of the package
            registry) or ``local`` (a folder that only the user can supply).
        name: Repository, or package name.
        revision: Commit, tag or branch of the repository, or version of the package. Of a branch
            nothing is pinned but the SHA-256s of ``files``; the stamp holds the commit that came.
        licence: SPDX id, or the licence's name.
        commercial: Whether the licence allows commercial use.
        files: Path in the set's folder -> file.
        archive: File name of the archive.
        sha256: SHA-256 of the archive.
        bytes: Size of the archive, or of a repository's files where they do not say.
        patterns: Files of a repository that are wanted beside ``files``, e.g. ``*.json``.
        note: What a user should know.
    """

    id: str
    title: str
    source: Literal["hub", "archive", "local"]
    name: str
    revision: str
    licence: str
    commercial: bool = True
    files: Mapping[str, WeightFile] = field(default_factory=dict)
    archive: str = ""
    sha256: str = ""
    bytes: int = 0
    patterns: tuple[str, ...] = ()
    note: str = ""

    @property
    def stored(self) -> int:
        """Return about how many bytes it takes when it is here."""
        return sum(file.bytes for file in self.files.values()) or self.bytes

    @property
    def download(self) -> int:
        """Return about how many bytes have to come over the network."""
        return self.bytes or self.stored


class Located(NamedTuple):
    """Weights that lie on this machine.

    Attributes:
        id: Id of the set.
        folder: Folder with its files.
        revision: What was fetched; see Stamp.revision.
        checksum: SHA-256 over the names and SHA-256s of its files.
        licence: Its licence.
    """

    id: str
    folder: Path
    revision: str
    checksum: str
    licence: str


@lru_cache(maxsize=1)
def table() -> dict[str, WeightSet]:
    """Return id -> set, as listed in ``weights.toml``."""
    text = resources.files("worldenv").joinpath("weights.toml").read_text("utf-8")
    return {name: _set(name, entry) for name, entry in tomllib.loads(text).items()}


def _set(name: str, entry: dict[str, Any]) -> WeightSet:
    files = {path: WeightFile(**about) for path, about in entry.pop("files", {}).items()}
    patterns = tuple(entry.pop("patterns", ()))
    found = WeightSet(id=name, files=files, patterns=patterns, **entry)
    for path, file in files.items():
        if not is_inside(path) or not is_inside(file.member or path):
            raise ValueError(f"weights.toml, {name}: {path!r} leads out of the folder")
        if file.pickled and not (file.sha256 and path.endswith(".safetensors")):
            raise ValueError(f"weights.toml, {name}: the pickle {path!r} is not pinned")
    if found.source == "archive" and not all((found.sha256, *(f.sha256 for f in files.values()))):
        raise ValueError(f"weights.toml, {name}: everything of an archive must be pinned")
    return found


def weights_folder() -> Path:
    """Return the folder that weights lie in: ``$WORLDENV_WEIGHTS``, else in the user's cache."""
    chosen = os.environ.get(FOLDER)
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "worldenv" / "weights"


State = Literal["here", "absent", "outdated", "incomplete", "damaged stamp"]


def state(name: str) -> State:
    """Return how a set stands on this machine; its files are not read.

    ``outdated``: another revision than this worldenv wants. ``incomplete``: files are gone.

    Raises:
        UnknownName: there is no such set.
    """
    return _look(name)[0]


def _look(name: str) -> tuple[State, Stamp | None]:
    if name not in table():
        raise UnknownName("weights", name, table())
    folder, wanted = weights_folder() / name, table()[name]
    try:
        stamp = read_stamp(folder)
    except DamagedWeights:
        return "damaged stamp", None
    if stamp is None:
        return "absent", None
    pinned = {path: file.sha256 for path, file in wanted.files.items() if file.sha256}
    if stamp.wanted != wanted.revision or any(
        stamp.origin.get(path) != digest for path, digest in pinned.items()
    ):
        return "outdated", stamp
    expected = {*stamp.files, *wanted.files}
    whole = all(path in stamp.files and (folder / path).is_file() for path in expected)
    return ("here" if whole else "incomplete"), stamp


def find(name: str) -> Located | None:
    """Return a set if it was fetched, None otherwise; its files are not read.

    Raises:
        UnknownName: there is no such set.
    """
    found, stamp = _look(name)
    return _located(name, stamp) if found == "here" and stamp is not None else None


def _located(name: str, stamp: Stamp) -> Located:
    folder, licence = weights_folder() / name, table()[name].licence
    return Located(name, folder, stamp.revision, stamp.checksum, licence)


def locate(name: str) -> Located:
    """Return a set that was fetched, for something to be made from it.

    Every file is held against the stamp. A file of the size and time of writing that the fetch
    recorded is taken for the one it left; any other is hashed, once a process. Whoever changes a
    file and sets its time back is found by ``verify`` alone, which reads everything.

    Raises:
        UnknownName: there is no such set.
        WeightsNotFound: it was not; the message holds the command that brings it.
        DamagedWeights: a file is another than the one that was fetched, or cannot be read; the
            message holds the command that repairs it.
    """
    found, stamp = _look(name)
    if found != "here" or stamp is None:
        raise WeightsNotFound(missing(name))
    folder = weights_folder() / name
    try:
        other = changed(folder, stamp)
    except OSError as error:
        raise DamagedWeights(
            f"{error.filename or folder} cannot be read: {error.strerror or error}; repair it by: "
            f"{command(name)}"
        ) from None
    if other is not None:
        raise DamagedWeights(
            f"{folder / other} was changed after it was fetched; bring it anew by: {command(name)}"
        )
    return _located(name, stamp)


def unpinned(name: str) -> tuple[str, ...]:
    """Return the files of a set that is here whose SHA-256 this worldenv does not know itself.

    ``verify`` can say of them only that they are as they were when they were fetched.

    Raises:
        UnknownName: there is no such set.
    """
    _, stamp = _look(name)
    files = table()[name].files
    known = {path for path, file in files.items() if file.sha256}
    return tuple(path for path in (stamp.files if stamp else ()) if path not in known)


def missing(name: str) -> str:
    """Return what is missing and the command that brings it."""
    chosen, found = table()[name], state(name)
    how = "no weights here" if found == "absent" else f"the weights here are {_HOW[found]}"
    return f"{chosen.title}: {how}; bring them by: {command(name)}"


_HOW = {
    "outdated": "of another revision",
    "incomplete": "incomplete",
    "damaged stamp": "not readable",
    "here": "good",
}


def command(name: str, profile: str = "") -> str:
    """Return the command that brings a set, or makes a damaged one good again.

    Args:
        name: Id of the set.
        profile: Profile to bring as a whole instead; what only the user has is named by its id.
    """
    chosen = table()[name]
    flag = "" if chosen.commercial else " --non-commercial"
    if chosen.source == "local":
        return f"worldenv weights fetch {name} --from FOLDER{flag}"
    return f"worldenv weights fetch {profile or name}{flag}"


def verify(name: str, progress: Callable[[int], None] = lambda count: None) -> list[str]:
    """Read every file of a set and return what is wrong with it, nothing when all is well.

    Files are compared with the SHA-256s of the stamp, and those with what the table pins; of the
    files that ``unpinned`` names, the stamp is all there is.

    Args:
        name: Id of a set that is not absent.
        progress: Called with the number of bytes read.

    Raises:
        UnknownName: there is no such set.
    """
    found, stamp = _look(name)
    folder = weights_folder() / name
    if stamp is None:
        return [f"{folder / STAMP} is {'absent' if found == 'absent' else 'damaged'}"]
    problems = []
    if found == "outdated":
        problems.append(f"{folder} is of revision {stamp.revision}, not as this worldenv wants it")
    problems += [
        f"{folder / path} was never fetched"
        for path in table()[name].files
        if path not in stamp.files
    ]
    for path, digest in stamp.files.items():
        try:
            if sha256_of(folder / path, progress) != digest:
                problems.append(f"{folder / path} is damaged")
        except FileNotFoundError:
            problems.append(f"{folder / path} is gone")
        except OSError as error:
            problems.append(f"{folder / path} cannot be read: {error.strerror}")
    return problems
