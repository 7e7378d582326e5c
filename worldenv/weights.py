"""Pretrained weights: where they come from, where they lie, whether they are what they claim."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from worldenv.world import UnknownName, WeightsNotFound

FOLDER = "WORLDENV_WEIGHTS"
"""Environment variable: the folder that weights are fetched to and read from."""

STAMP = "weights.json"
"""File in the folder of a set, written last: what was fetched, the SHA-256 of every file."""


class DamagedWeights(WeightsNotFound):
    """Weights are here, but they are not what was fetched, or not those of the network."""


@dataclass(frozen=True)
class WeightFile:
    """One file of a set.

    Attributes:
        sha256: Its SHA-256, of the pickle where it is one; None where the hub's revision is what
            is pinned.
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
        revision: Commit or tag of the repository, or version of the package.
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
        revision: What was fetched.
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


def is_inside(path: str) -> bool:
    """Return whether a path of a table or an archive stays below the folder it is put in."""
    parts = PurePosixPath(path).parts
    plain = bool(parts) and "\\" not in path and "\0" not in path and ":" not in path
    return plain and not path.startswith("/") and ".." not in parts


def weights_folder() -> Path:
    """Return the folder that weights lie in: ``$WORLDENV_WEIGHTS``, else in the user's cache."""
    chosen = os.environ.get(FOLDER)
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "worldenv" / "weights"


class Stamp(NamedTuple):
    """What the last fetch of a set left in its folder.

    Attributes:
        revision: What was fetched.
        files: Path -> SHA-256 of the file as it lies there.
        origin: Path -> SHA-256 of what it was made from; for pickles another than ``files``.
    """

    revision: str
    files: dict[str, str]
    origin: dict[str, str]

    @property
    def checksum(self) -> str:
        """Return the SHA-256 over the names and SHA-256s of what was fetched."""
        lines = "".join(f"{self.origin[path]}  {path}\n" for path in sorted(self.origin))
        return hashlib.sha256(lines.encode()).hexdigest()


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
        return Stamp(str(found["revision"]), files, origin)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedWeights(f"{folder / STAMP} cannot be read: {error}") from None


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Write the stamp of a set; it is what makes the set count as fetched, so it comes last."""
    text = json.dumps({**stamp._asdict(), "checksum": stamp.checksum}, indent=1, sort_keys=True)
    part = folder / f"{STAMP}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / STAMP)


State = Literal["here", "absent", "outdated", "incomplete", "damaged stamp"]


def state(name: str) -> State:
    """Return how a set stands on this machine; files are not read.

    ``outdated``: another revision than this worldenv wants. ``incomplete``: files are gone.

    Raises:
        UnknownName: there is no such set.
    """
    if name not in table():
        raise UnknownName("weights", name, table())
    folder, wanted = weights_folder() / name, table()[name]
    try:
        stamp = read_stamp(folder)
    except DamagedWeights:
        return "damaged stamp"
    if stamp is None:
        return "absent"
    pinned = {path: file.sha256 for path, file in wanted.files.items() if file.sha256}
    if stamp.revision != wanted.revision or any(
        stamp.origin.get(path) != digest for path, digest in pinned.items()
    ):
        return "outdated"
    expected = {*stamp.files, *wanted.files}
    whole = all(path in stamp.files and (folder / path).is_file() for path in expected)
    return "here" if whole else "incomplete"


def find(name: str) -> Located | None:
    """Return a set if it was fetched, None otherwise; files are not read.

    Raises:
        UnknownName: there is no such set.
    """
    if state(name) != "here":
        return None
    folder = weights_folder() / name
    stamp = read_stamp(folder)
    if stamp is None:
        return None
    return Located(name, folder, stamp.revision, stamp.checksum, table()[name].licence)


def locate(name: str) -> Located:
    """Return a set that was fetched.

    Raises:
        UnknownName: there is no such set.
        WeightsNotFound: it was not; the message holds the command that brings it.
    """
    found = find(name)
    if found is None:
        raise WeightsNotFound(missing(name))
    return found


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


def command(name: str) -> str:
    """Return the command that brings a set, or makes a damaged one good again."""
    chosen = table()[name]
    flag = "" if chosen.commercial else " --non-commercial"
    given = " --from FOLDER" if chosen.source == "local" else ""
    return f"worldenv weights fetch {name}{given}{flag}"


def verify(name: str, progress: Callable[[int], None] = lambda count: None) -> list[str]:
    """Read every file of a set and return what is wrong with it, nothing when all is well.

    Args:
        name: Id of a set that is not absent.
        progress: Called with the number of bytes read.

    Raises:
        UnknownName: there is no such set.
    """
    found = state(name)
    folder = weights_folder() / name
    if found in ("absent", "damaged stamp"):
        return [f"{folder / STAMP} is {'absent' if found == 'absent' else 'damaged'}"]
    stamp = read_stamp(folder)
    assert stamp is not None
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
