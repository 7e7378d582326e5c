"""Distorted-v0: another world with planted faults on its frames (``worldenv.distortion``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldenv.distortion import Distorted
from worldenv.faults import FRAME_FAULTS
from worldenv.world import Unsupported
from worldenv.worlds import load_world

__all__ = ["NEEDS", "make"]

NEEDS = "base=, faults="
"""What the list of worlds says that it still needs."""


def make(
    base: str | None = None, *, faults: Mapping[str, float] | None = None, **options: Any
) -> Distorted:
    """Return a world whose frames are spoilt.

    Args:
        base: Another world: an id (``Panorama-v0``), ``module:factory`` or ``file.py:factory``.
        faults: Names of ``worldenv.faults.FRAME_FAULTS`` -> dose in [0, 1].
        options: Keywords of that world.

    Raises:
        UnknownName: there is no such world, option or fault.
        Unsupported: ``base`` or ``faults`` is missing, or a dose lies outside [0, 1].
    """
    if not isinstance(base, str) or not base:
        raise Unsupported(
            "Distorted needs base=, the world whose frames it spoils, such as Panorama-v0; got "
            f"{base!r}"
        )
    if faults is None:
        raise Unsupported(
            "Distorted needs faults=, such as {'blur': 0.5}; it knows " + ", ".join(FRAME_FAULTS)
        )
    world = load_world(base, **options)
    try:
        return Distorted(world, faults)
    except BaseException:
        world.close()
        raise
