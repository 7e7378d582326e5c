"""Write the world server as one file that Python 3.9 with numpy can run."""

from __future__ import annotations

import contextlib
import os
import re
import zipfile
from importlib import resources
from pathlib import Path

from worldenv.world import Unsupported, WorldEnvError

__all__ = ["MODULES", "export"]

MODULES = (
    "camera",
    "world",
    "wire",
    "states",
    "parcels",
    "ranks",
    "inference",
    "session",
    "serve",
)
"""Modules of worldenv that are packed; ``worlds``, its ``models`` and ``vendored`` come beside."""

_INIT = '''"""worldenv, as far as a world server needs it."""

from worldenv.camera import CameraPath, Primitive
from worldenv.world import (
    Chunk,
    GenerationFailed,
    PlanRequired,
    Start,
    UnknownName,
    Unsupported,
    WeightsNotFound,
    World,
    WorldEnvError,
    WorldSpec,
)

__version__ = "{version}"
'''
_MAIN = '''"""Start the world server."""

import sys

from worldenv.serve import main

sys.exit(main(world={world!r}))
'''
# One fixed date, so that equal contents give equal files.
_DATE = (2020, 1, 1, 0, 0, 0)


def export(file: str | Path, adapter: str = "") -> Path:
    """Write the server as a zipapp and return its path.

    Args:
        file: Where to; written under another name, then renamed.
        adapter: World that it serves unless told: ``module:factory``, found where it runs or, one
            of worldenv's own worlds, packed with its package; or ``file.py:factory``, packed too.
            Empty: ``--world`` must say.

    Raises:
        Unsupported: the adapter has another form.
        WorldEnvError: a file cannot be read or written.
    """
    from worldenv import __version__

    contents = {"worldenv/__init__.py": _INIT.format(version=__version__).encode()}
    root = resources.files("worldenv")
    for name in MODULES:
        contents[f"worldenv/{name}.py"] = root.joinpath(f"{name}.py").read_bytes()
    contents["worldenv/worlds/__init__.py"] = root.joinpath("worlds", "__init__.py").read_bytes()
    folders = ["worlds/models", "vendored"]
    package = re.match(r"worldenv\.worlds\.(\w+)\.", adapter)
    if package is not None:
        folders.append(f"worlds/{package[1]}")
    for folder in folders:
        contents.update(_tree(Path(str(root)) / folder, f"worldenv/{folder}"))
    place, separator, factory = adapter.rpartition(":")
    if adapter.endswith(".py"):
        place, separator, factory = adapter, ":", "make"
    if adapter and (not separator or not re.fullmatch(r"[A-Za-z_]\w*", factory)):
        raise Unsupported(f"--adapter {adapter!r} is neither module:factory nor file.py:factory")
    if place.endswith(".py") and not Path(place).is_file():
        raise Unsupported(f"there is no file {place!r} to pack; --adapter names the world's file")
    target = Path(file)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.exists() and not target.is_file():
            raise WorldEnvError(f"{file} is no file; name one that is to be written, server.pyz")
        if place.endswith(".py"):
            contents["worldenv_adapter.py"] = Path(place).read_bytes()
            adapter = f"worldenv_adapter:{factory}"
        contents["__main__.py"] = _MAIN.format(world=adapter).encode()
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(contents):
                info = zipfile.ZipInfo(name, _DATE)
                archive.writestr(info, contents[name], zipfile.ZIP_DEFLATED)
        os.replace(draft, target)
    except OSError as error:
        raise WorldEnvError(f"{file} cannot be written: {error}") from error
    finally:
        # On a full disk a part of it would be left.
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return target


def _tree(folder: Path, name: str) -> dict[str, bytes]:
    """Return the Python files and licences below a folder, by their names in the archive."""
    return {
        f"{name}/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and (file.suffix == ".py" or file.name in ("LICENSE", "COPYING"))
    }
