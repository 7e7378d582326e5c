"""A run folder: who may write to it, what it is for, and what killed processes left in it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.store import StoreError

PARTS = " (parts of one run in parallel: --shard i/n with one n, or --workers n)"
"""What a shard is told that cannot have its folder; only ``bench`` has shards."""


def new_folder() -> Path:
    """Return a new folder under ``./runs``, named by the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = Path("runs") / stamp
    for count in range(2, 1000):
        if not folder.exists():
            return folder
        folder = Path("runs") / f"{stamp}-{count}"
    raise StoreError("Cannot find a free folder under ./runs; choose one with --out.")


@contextlib.contextmanager
def hold(run: Path, shard: tuple[int, int] | None = None) -> Iterator[None]:
    """Hold a run folder; the lock goes with the process, however it ends.

    A whole run holds it alone. Shards (i, n) of one n hold it together, each shard once.

    Raises:
        StoreError: another process holds it.
    """
    with contextlib.ExitStack() as held:
        parts = "" if shard is None else PARTS
        held.enter_context(_lock(run, ".run.lock", parts, shared=shard is not None))
        if shard is not None:
            i, n = shard
            for path in run.glob(".shard-*-of-*.lock"):
                match = re.fullmatch(r"\.shard-\d+-of-(\d+)\.lock", path.name)
                if match and int(match.group(1)) != n:
                    # Held for a moment only: it must not be at work.
                    with _lock(run, path.name, parts):
                        pass
            held.enter_context(_lock(run, f".shard-{i}-of-{n}.lock", parts))
        yield


@contextlib.contextmanager
def _lock(run: Path, name: str, hint: str, *, shared: bool = False) -> Iterator[None]:
    path = run / name
    with store.explain_os_errors(path):
        run.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    with file:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"Another run is writing to {run}; wait for it, or choose another folder with "
                f"--out{hint}."
            ) from None
        yield


def claim(run: Path, settings: Mapping[str, Any]) -> None:
    """Write ``run.json``, or refuse a folder that holds something else.

    Args:
        run: The run folder, held by this process.
        settings: What must be equal for two runs to share a folder.

    Raises:
        StoreError: the folder holds other files, or a run with other settings.
    """
    mine = {"schema": store.SCHEMA, **settings}
    theirs = read_run(run)
    if theirs is None:
        others = [p.name for p in run.iterdir() if not p.name.startswith(".")]
        if others:
            raise StoreError(
                f"{run} holds other files ({others[0]}, ...) and no run.json; choose an empty "
                "folder with --out."
            )
        store.write_json(run / "run.json", mine)
        return
    for key, value in mine.items():
        if theirs.get(key) != value:
            raise StoreError(
                f"{run} holds a run with {key} = {theirs.get(key)!r}, and this one has "
                f"{value!r}; choose another folder with --out."
            )


def read_run(run: Path) -> dict[str, Any] | None:
    """Return ``run.json`` of a folder, None where there is none.

    Raises:
        StoreError: the file is damaged.
    """
    path = run / "run.json"
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError(f"a {type(found).__name__} instead of an object")
    except (OSError, ValueError) as error:
        raise StoreError(f"Cannot read {path} ({error}); choose another folder.") from error
    return found


def sweep(run: Path) -> None:
    """Remove what killed processes left half-written, in a folder that is held alone."""
    for pattern in (".*.tmp", "episodes/*/.*.partial", "episodes/*/*/.*.tmp"):
        for path in run.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
