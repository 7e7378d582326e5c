"""Pretrained weights: where they come from, where they lie, whether they are what they claim."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

from worldenv.world import UnknownName, WeightsNotFound

FOLDER = "WORLDENV_WEIGHTS"
"""Environment variable: the folder that weights are fetched to and read from."""

STAMP = "weights.json"
"""File in the folder of a set: what was fetched, with the SHA-256 of every file."""


class DamagedWeights(WeightsNotFound):
    """Weights are here, but they are not what was fetched, or not those of the network."""


@dataclass(frozen=True)
class WeightFile:
    """One file of a set.

    Attributes:
        sha256: Its SHA-256; None where the hub's revision is what is pinned.
        bytes: Its size.
        member: Path of it inside the archive; empty for files of a hub repository.
        pickled: Whether it is a pickle, which is read once by an allow-list and kept as
            safetensors.
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
    note: str = ""


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
    return WeightSet(id=name, files=files, **entry)


def weights_folder() -> Path:
    """Return the folder that weights lie in: ``$WORLDENV_WEIGHTS``, else in the user's cache."""
    chosen = os.environ.get(FOLDER)
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "worldenv" / "weights"


def find(name: str) -> Located | None:
    """Return a set if it was fetched, None otherwise; files are not read.

    Raises:
        UnknownName: there is no such set.
    """
    if name not in table():
        raise UnknownName("weights", name, table())
    folder = weights_folder() / name
    try:
        stamp = json.loads((folder / STAMP).read_text("utf-8"))
        present = all((folder / path).is_file() for path in stamp["files"])
        revision, checksum = str(stamp["revision"]), str(stamp["checksum"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    licence = table()[name].licence
    return Located(name, folder, revision, checksum, licence) if present else None


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
    chosen = table()[name]
    flag = "" if chosen.commercial else " --non-commercial"
    return f"{chosen.title} is not here; bring it by: worldenv weights fetch {name}{flag}"
