"""Repositories of the model hub: downloaded at the pinned revision, or copied from a folder."""

from __future__ import annotations

import errno
import os
import shutil
from fnmatch import fnmatchcase
from pathlib import Path

from worldenv.archives import FetchFailed, Progress
from worldenv.weights import WeightSet
from worldenv.world import Unsupported


def copy(entry: WeightSet, folder: Path, part: Path, progress: Progress) -> None:
    """Copy a repository that someone brought: a plain folder, or a cache of the hub."""
    owner, _, name = entry.name.rpartition("/")
    cached = f"models--{owner}--{name}/snapshots/{entry.revision}"
    places = [folder / place for place in (entry.id, entry.name, f"{owner}--{name}", cached, name)]
    if entry.source == "local":
        places.append(folder)
    source = next((place for place in places if place.is_dir()), None)
    if source is None:
        raise FetchFailed(
            f"{folder} holds no {entry.name}; expected a folder {entry.name} or {cached} in it."
        )
    files = [path for path in sorted(source.rglob("*")) if path.is_file()]
    for path in files:
        inside = path.relative_to(source)
        if not is_wanted(entry, inside.as_posix()):
            continue
        target = part / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as read, target.open("wb") as written:
            while block := read.read(1 << 20):
                written.write(block)
                progress(len(block))


def is_wanted(entry: WeightSet, path: str) -> bool:
    """Return whether a file of a repository belongs to a set; hidden ones never do."""
    if any(part.startswith(".") for part in path.split("/")):
        return False
    return any(fnmatchcase(path, pattern) for pattern in patterns(entry))


def patterns(entry: WeightSet) -> list[str]:
    """Return the patterns of the files of a repository that a set consists of."""
    named = [file.member or path for path, file in entry.files.items()]
    return [*named, *entry.patterns] or ["*"]


def download(entry: WeightSet, part: Path, progress: Progress) -> None:
    """Download the files of a repository of the model hub at the pinned revision."""
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError:
        raise Unsupported(
            f"{entry.id} comes from the model hub, which needs huggingface_hub; install it by: "
            "pip install 'worldenv[models]'"
        ) from None
    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        # Asked first: without a network the client takes whatever lies in the folder for all.
        listed = HfApi(endpoint=endpoint).list_repo_files(entry.name, revision=entry.revision)
        snapshot_download(
            entry.name,
            revision=entry.revision,
            allow_patterns=patterns(entry),
            local_dir=str(part),
            endpoint=endpoint,
        )
    except (OSError, ValueError, RuntimeError) as error:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise FetchFailed(
            f"{entry.name} at {entry.revision} could not be had from the model hub: "
            f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        ) from error
    absent = [path for path in listed if is_wanted(entry, path) and not (part / path).is_file()]
    if absent:
        raise FetchFailed(f"{entry.name}: {absent[0]} did not come; try again.")
    progress(entry.download)
    # What the client keeps for going on after an interruption is of no use once all is here.
    shutil.rmtree(part / ".cache", ignore_errors=True)
