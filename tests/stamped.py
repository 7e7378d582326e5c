"""Weight sets for tests: random tiny networks, saved where the real ones would lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from worldenv import weights


def stamped(root: Path, name: str, save: Callable[[Path], object]) -> weights.Located:
    """Save files for a set of ``weights.toml``, stamp them as a fetch does, and locate them."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    save(folder)
    files = {
        path.relative_to(folder).as_posix(): weights.sha256_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != weights.STAMP
    }
    entry = weights.table().get(name)
    revision = entry.revision if entry is not None else "test"
    stamp = weights.Stamp(revision, files, files)
    weights.write_stamp(folder, stamp)
    licence = entry.licence if entry is not None else "test"
    return weights.Located(name, folder, revision, stamp.checksum, licence)
