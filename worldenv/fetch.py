"""Bring sets of weights: over the network or from a folder, checked, whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import shutil
import urllib.error
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from worldenv import archives, repositories, weights
from worldenv.archives import FetchFailed
from worldenv.stamps import mark_of
from worldenv.weights import Located, Stamp, WeightSet
from worldenv.world import Unsupported

Progress = Callable[[str, int], None]
"""Called with the name of what is being read and the number of bytes that came."""

# Room that is left on the disk, so that a fetch does not take the last byte.
_SPARE = 256 << 20
_PARTS = ".parts"


@dataclass(frozen=True)
class Request:
    """What is to be brought, and from where.

    Attributes:
        names: Ids of sets.
        folder: Local folder to take everything from, None for the network.
        index: Package index to use instead of pip's.
        non_commercial: Whether sets whose licence forbids commercial use are wanted too.
    """

    names: tuple[str, ...]
    folder: Path | None = None
    index: str = ""
    non_commercial: bool = False


@dataclass(frozen=True)
class Plan:
    """What a request will do.

    Attributes:
        present: Ids of sets that are here.
        bring: Sets that will be fetched.
        refused: Sets left out: their licence forbids commercial use and this was not agreed to.
        supplied: Sets left out: nobody hands them out, and no folder to take them from was given.
        download: Bytes that come over the network, each archive counted once.
        disk: Bytes that the weights folder grows by, at most, while it goes on.
        free: Bytes that are free there.
    """

    present: tuple[str, ...]
    bring: tuple[WeightSet, ...]
    refused: tuple[WeightSet, ...]
    supplied: tuple[WeightSet, ...]
    download: int
    disk: int
    free: int


def plan(request: Request) -> Plan:
    """Say what a request will do; nothing is fetched or written.

    Raises:
        UnknownName: there is no such set.
    """
    present, bring, refused, supplied = [], [], [], []
    for name in dict.fromkeys(request.names):
        state, chosen = weights.state(name), weights.table()[name]
        if state == "here":
            present.append(name)
        elif not chosen.commercial and not request.non_commercial:
            refused.append(chosen)
        elif chosen.source == "local" and request.folder is None:
            supplied.append(chosen)
        else:
            bring.append(chosen)
    sizes = {chosen.sha256 or chosen.id: chosen.download for chosen in bring}
    download = 0 if request.folder is not None else sum(sizes.values())
    unpacked = sum(c.stored for c in bring)
    copies = sum(size for c in bring if c.source == "archive" for size in [sizes.pop(c.sha256, 0)])
    free = shutil.disk_usage(_existing(weights.weights_folder())).free
    return Plan(
        tuple(present),
        tuple(bring),
        tuple(refused),
        tuple(supplied),
        download,
        unpacked + (0 if request.folder is not None else copies),
        free,
    )


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def fetch(
    request: Request,
    *,
    say: Callable[[str], None] = lambda text: None,
    progress: Progress = lambda name, count: None,
) -> tuple[Located, ...]:
    """Bring what is not here, and what is here but damaged; returns all of it.

    A set appears in its folder when every file of it was checked, never before; what was
    downloaded of an interrupted fetch is used by the next one.

    Raises:
        UnknownName: there is no such set.
        FetchFailed: something cannot be had, does not fit on the disk, is not what was pinned, or
            another fetch is at work.
        DamagedWeights: a pickled file holds more than numbers.
    """
    folder = weights.weights_folder()
    try:
        with _hold(folder):
            for name in plan(request).present:
                problems = weights.verify(name)
                if problems:
                    say(f"{name}: {problems[0]}; it is fetched anew.")
                    (folder / name / weights.STAMP).unlink(missing_ok=True)
            chosen = plan(request)
            if chosen.bring and chosen.disk + _SPARE > chosen.free:
                raise FetchFailed(
                    f"{folder} has {chosen.free / 1e6:,.0f} MB free and this needs "
                    f"{(chosen.disk + _SPARE) / 1e6:,.0f} MB; make room, or set {weights.FOLDER}."
                )
            for at, entry in enumerate(chosen.bring):
                later = {other.sha256 for other in chosen.bring[at + 1 :]}
                _bring(entry, request, folder, progress)
                if entry.sha256 and entry.sha256 not in later:
                    (folder / _PARTS / entry.archive).unlink(missing_ok=True)
                say(f"{entry.id} is here: {folder / entry.id}")
            with contextlib.suppress(OSError):
                (folder / _PARTS).rmdir()
            left_out = {entry.id for entry in (*chosen.refused, *chosen.supplied)}
    except OSError as error:
        raise _as_failure(error, folder) from error
    return tuple(weights.locate(name) for name in request.names if name not in left_out)


def _as_failure(error: OSError, folder: Path) -> FetchFailed:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FetchFailed(
            f"the disk of {folder} is full; make room and run the same command again, or set "
            f"{weights.FOLDER} to another folder."
        )
    if error.errno == errno.EFBIG:
        return FetchFailed(
            f"{error.filename or folder} may not grow as large as it has to; raise the limit on "
            "the size of files (ulimit -f) and run the same command again."
        )
    if isinstance(error, urllib.error.URLError):
        return FetchFailed(f"the network failed: {error.reason}")
    where = f"{error.filename}: " if error.filename else ""
    return FetchFailed(f"{where}{error.strerror or error}")


@contextlib.contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Hold the weights folder; the lock goes with the process, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".fetch.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FetchFailed(
                f"another fetch is at work in {folder}; wait until it is done."
            ) from None
        yield


def _bring(entry: WeightSet, request: Request, folder: Path, progress: Progress) -> None:
    """Bring one set into a folder of its own, which takes its name when it is whole."""
    # Of another revision nothing may be left among the files of this one.
    part = folder / _PARTS / f"{entry.id}@{entry.revision.replace('/', '-')}"
    part.mkdir(parents=True, exist_ok=True)

    def count(size: int) -> None:
        progress(entry.id, size)

    if entry.source == "archive" or request.folder is not None:
        for left in part.iterdir():
            _remove(left)
    revision = entry.revision
    if entry.source == "archive":
        archive = _archive(entry, request, folder, count)
        archives.unpack(archive, entry.files, part)
    elif request.folder is not None:
        revision = repositories.copy(entry, request.folder, part, count)
    else:
        revision = repositories.download(entry, part, count)
    stamp = _settle(entry, part, revision)
    weights.write_stamp(part, stamp)
    target = folder / entry.id
    if target.exists():
        old = folder / _PARTS / f"{entry.id}.old"
        _remove(old)
        target.replace(old)
        part.replace(target)
        _remove(old)
    else:
        part.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _archive(entry: WeightSet, request: Request, folder: Path, progress: archives.Progress) -> Path:
    if request.folder is not None:
        for place in (request.folder, request.folder / entry.name):
            if (place / entry.archive).is_file():
                found = weights.sha256_of(place / entry.archive, progress)
                if found != entry.sha256:
                    raise FetchFailed(
                        f"{place / entry.archive} is not the pinned file: its SHA-256 is {found}, "
                        f"expected {entry.sha256}."
                    )
                return place / entry.archive
        raise FetchFailed(f"{request.folder} holds no {entry.archive}.")
    target = folder / _PARTS / entry.archive
    if target.is_file() and weights.sha256_of(target) == entry.sha256:
        return target
    index = request.index or archives.index_url()
    source = archives.find_archive(index, entry.name, entry.archive)
    archives.download(source, target, entry.sha256, progress)
    return target


def _settle(entry: WeightSet, part: Path, revision: str) -> Stamp:
    """Check every file of a set, turn pickles into safetensors, and say what is there.

    Raises:
        FetchFailed: a file is absent, not what was pinned, or no file of its kind.
    """
    origin: dict[str, str] = {}
    for path, file in entry.files.items():
        # An archive's members were already put to their paths.
        lies = path if entry.source == "archive" else file.member or path
        if not (part / lies).is_file():
            raise FetchFailed(f"{entry.id}: {entry.name} has no file {file.member or path}")
        found = weights.sha256_of(part / lies)
        if file.sha256 and found != file.sha256:
            (part / lies).unlink()
            raise FetchFailed(
                f"{entry.id}: {lies} is not the pinned file: its SHA-256 is {found}, expected "
                f"{file.sha256}; it was thrown away."
            )
        origin[path] = found
        if file.pickled:
            _convert(part / lies, Path(file.member or path).suffix, part / path)
        elif lies != path:
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            (part / lies).replace(part / path)
    files, marks = {}, {}
    for lying in sorted(part.rglob("*")):
        name = lying.relative_to(part).as_posix()
        if lying.is_file() and not name.startswith((weights.STAMP, ".")):
            repositories.refuse_junk(lying, entry)
            marks[name] = mark_of(lying)
            files[name] = weights.sha256_of(lying)
    made_from = {name: origin.get(name, files[name]) for name in files}
    return Stamp(revision, files, made_from, entry.revision, marks)


def _convert(lying: Path, suffix: str, target: Path) -> None:
    from worldenv import pickles

    pickled = lying.with_name(lying.name + ".pickled" + suffix)
    lying.replace(pickled)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        pickles.convert(pickled, target)
    except ImportError as error:
        raise Unsupported(
            f"{target.name} is made from a pickle, which needs {error.name}; install it by: "
            "pip install 'worldenv[light]'"
        ) from None
    finally:
        pickled.unlink(missing_ok=True)
