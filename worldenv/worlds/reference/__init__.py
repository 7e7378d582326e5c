"""Reference-v0: a real 3D scene rendered on the CPU, with depth, ids, pose and event truth."""

from __future__ import annotations

from typing import Any

from worldenv.world import UnknownName, World

__all__ = ["OPTIONS", "make"]

OPTIONS = (
    "size",
    "fov",
    "fps",
    "chunk",
    "first_chunk",
    "supersample",
    "detail",
    "threads",
    "faults",
    "truth",
    "family",
    "cache",
)


def make(**options: Any) -> World:
    """Return the reference world; see ``worldenv.worlds.reference.world.ReferenceWorld``.

    Raises:
        UnknownName: there is no such option.
        Unsupported: a value is out of range.
    """
    for name in options:
        if name not in OPTIONS:
            raise UnknownName("option of Reference", name, OPTIONS)
    from worldenv.worlds.reference.world import ReferenceWorld

    return ReferenceWorld(**options)
