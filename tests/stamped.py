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
    # The table may pin the real file, which a fake is not: the stamp says that it was made from it.
    pinned = {} if entry is None else {p: f.sha256 for p, f in entry.files.items() if f.sha256}
    stamp = weights.Stamp(revision, files, {path: pinned.get(path, files[path]) for path in files})
    weights.write_stamp(folder, stamp)
    licence = entry.licence if entry is not None else "test"
    return weights.Located(name, folder, revision, stamp.checksum, licence)
