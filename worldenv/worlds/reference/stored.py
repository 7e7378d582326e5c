"""Keeps built light on disk, by digest, in the user's cache folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["folder", "read", "write"]

_KEPT = 256
"""Most files kept; the least recently used go first."""
_PART, _STALE = ".part", 86400.0
"""Ending of a file that is being written, and seconds after which its writer must have died."""


def folder() -> Path:
    """Return the folder of built light: under XDG_CACHE_HOME, else ~/.cache."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "worldenv" / "light"


def read(key: str, receivers: int) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Return (direct, around), each (receivers, 3), or None when absent or damaged."""
    path = folder() / f"{key}.npz"
    try:
        with np.load(path, allow_pickle=False) as data:
            direct, around = data["direct"], data["around"]
    except Exception:
        # Whatever a damaged file raises (zip, zlib, format, key errors), it is built again.
        return None
    for array in (direct, around):
        if array.dtype != np.int32 or array.shape != (receivers, 3) or array.min(initial=0) < 0:
            return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return direct, around


def write(key: str, direct: NDArray[np.int32], around: NDArray[np.int32]) -> None:
    """Keep built light where that works: a folder may be unwritable or full."""
    home, temporary = folder(), ""
    try:
        home.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=home, suffix=_PART)
        with os.fdopen(handle, "wb") as file:
            np.savez(file, direct=direct, around=around)
        os.replace(temporary, home / f"{key}.npz")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    # Another process may tidy up at the same time.
    with contextlib.suppress(OSError):
        files = sorted(home.glob("*.npz"), key=lambda path: path.stat().st_mtime)
        for old in files[:-_KEPT]:
            old.unlink(missing_ok=True)
        for part in home.glob(f"*{_PART}"):
            if part.stat().st_mtime < time.time() - _STALE:
                part.unlink(missing_ok=True)
