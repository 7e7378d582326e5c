"""Repositories of the model hub: downloaded, or copied from a folder, and which commit came.

What pins a set is the table: a revision that is a commit, and the SHA-256 of a file where it is
listed. A set whose revision is a branch, and a file without a SHA-256 that comes from a folder, are
taken as they are; the commit, where it can be known, and the SHA-256s are recorded.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from fnmatch import fnmatchcase
from pathlib import Path

from worldenv.archives import FetchFailed, Progress, put
from worldenv.stamps import LOCAL
from worldenv.weights import WeightSet
from worldenv.world import Unsupported

_POINTER = b"version https://git-lfs.github.com/spec/"


def is_commit(revision: str) -> bool:
    """Return whether a revision is a commit, which always means the same files."""
    return re.fullmatch(r"[0-9a-f]{40}", revision) is not None


def copy(entry: WeightSet, folder: Path, part: Path, progress: Progress) -> str:
    """Copy a repository that someone brought: a plain folder, or a cache of the hub.

    Returns:
        What came: the commit that the folder of a cache is named by; else the table's revision,
        where it is no branch and every file is pinned by its SHA-256; else ``local``.

    Raises:
        FetchFailed: there is none.
    """
    owner, _, name = entry.name.rpartition("/")
    cache = f"models--{owner}--{name}"
    commit = entry.revision
    if not is_commit(commit):
        # A branch of the cache is a file that holds the commit.
        branch = folder / cache / "refs" / commit
        commit = branch.read_text("utf-8").strip() if branch.is_file() else commit
    cached = f"{cache}/snapshots/{commit}"
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
                put(written, block)
                progress(len(block))
    if source == folder / cached and is_commit(commit):
        return commit
    pinned = not entry.patterns and all(file.sha256 for file in entry.files.values())
    branch_only = entry.source == "hub" and not is_commit(entry.revision)
    return entry.revision if entry.files and pinned and not branch_only else LOCAL


def is_wanted(entry: WeightSet, path: str) -> bool:
    """Return whether a file of a repository belongs to a set; hidden ones never do."""
    if any(part.startswith(".") for part in path.split("/")):
        return False
    return any(fnmatchcase(path, pattern) for pattern in patterns(entry))


def patterns(entry: WeightSet) -> list[str]:
    """Return the patterns of the files of a repository that a set consists of."""
    named = [file.member or path for path, file in entry.files.items()]
    return [*named, *entry.patterns] or ["*"]


def download(entry: WeightSet, part: Path, progress: Progress) -> str:
    """Download the files of a repository of the model hub at the revision of the table.

    Returns:
        The commit that came; of a branch, the one that it names now.

    Raises:
        FetchFailed: it cannot be had, or not at that commit.
        Unsupported: the hub's client is not installed.
    """
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
        about = HfApi(endpoint=endpoint).model_info(entry.name, revision=entry.revision)
        commit = about.sha or ""
        if not is_commit(commit) or (is_commit(entry.revision) and commit != entry.revision):
            raise ValueError(f"the hub answers with commit {commit or 'none'}")
        snapshot_download(
            entry.name,
            revision=commit,
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
    listed = [file.rfilename for file in about.siblings or ()]
    absent = [path for path in listed if is_wanted(entry, path) and not (part / path).is_file()]
    if absent:
        raise FetchFailed(f"{entry.name}: {absent[0]} did not come; try again.")
    progress(entry.download)
    # What the client keeps for going on after an interruption is of no use once all is here.
    shutil.rmtree(part / ".cache", ignore_errors=True)
    return commit


def refuse_junk(path: Path, entry: WeightSet) -> None:
    """Refuse a file that is not of the kind that its name says, and throw it away.

    Of safetensors the header is read, which must account for every byte; json is parsed; of any
    file, the few lines that stand for it in a clone without its large files are no file.

    Raises:
        FetchFailed: it is junk.
        Unsupported: the reader of safetensors is not installed.
    """
    with path.open("rb") as file:
        start = file.read(len(_POINTER))
    wrong = ""
    if start == _POINTER:
        wrong = "it only points to the file: fetch the large files of that clone (git lfs pull)"
    elif path.suffix == ".json":
        try:
            json.loads(path.read_bytes())
        except ValueError as error:
            wrong = f"it is no json ({error})"
    elif path.suffix == ".safetensors":
        wrong = _wrong_header(path, entry)
    if wrong:
        path.unlink()
        raise FetchFailed(f"{entry.id}: {path.name} of {entry.name} is refused: {wrong}.")


def _wrong_header(path: Path, entry: WeightSet) -> str:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise Unsupported(
            f"{path.name} of {entry.id} can be read by safetensors only; install it by: "
            "pip install 'worldenv[models]'"
        ) from None
    try:
        with safe_open(str(path), framework="numpy") as file:
            return "" if list(file.keys()) else "it holds no tensors"
    except (SafetensorError, OSError) as error:
        return f"it is no safetensors ({' '.join(str(error).split())})"
