"""Weight sets for tests: random tiny networks, saved where the real ones would lie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from worldenv import weights


def stamped(root: Path, name: str, save: Callable[[Path], object]) -> weights.Located:
    """Save files for a set of ``weights.toml``, stamp them as a fetch does, and locate them."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    save(folder)
    stamp(folder)
    entry = weights.table().get(name)
    found = json.loads((folder / weights.STAMP).read_text())
    licence = entry.licence if entry is not None else "test"
    return weights.Located(name, folder, found["revision"], found["checksum"], licence)


def stamp(folder: Path) -> None:
    """Write ``weights.json`` over whatever lies in a folder."""
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != weights.STAMP
    }
    checksum = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    about = {"revision": "test", "checksum": checksum, "files": files}
    (folder / weights.STAMP).write_text(json.dumps(about))
