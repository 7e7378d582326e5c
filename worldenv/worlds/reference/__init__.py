"""Reference-v0: a real 3D scene rendered on the CPU, with depth, ids, pose and event truth."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from worldenv.camera import fov_of
from worldenv.faults import FRAME_FAULTS, check_faults
from worldenv.world import Start, UnknownName, World

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OPTIONS", "REVISION", "first_view", "make"]

REVISION = 3
"""Counts up when a seed shows other pictures or faults draw otherwise: a run that is resumed then
makes its episodes anew."""

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
    "absence",
    "truth",
    "family",
    "cache",
    "context",
    "budget",
)


def make(**options: Any) -> World:
    """Return the reference world; see ``worldenv.worlds.reference.world.ReferenceWorld``.

    Its ``faults`` may be of its state and of its frames; with any of the latter it is
    ``worldenv.distortion.Distorted``.

    Raises:
        UnknownName: there is no such option or fault.
        Unsupported: a value is out of range.
    """
    for name in options:
        if name not in OPTIONS:
            raise UnknownName("option of Reference", name, OPTIONS)
    from worldenv.worlds.reference.world import ReferenceWorld

    doses = check_faults(options.pop("faults", None))
    of_frames = {name: dose for name, dose in doses.items() if name in FRAME_FAULTS}
    of_state = {name: dose for name, dose in doses.items() if name not in of_frames}
    world = ReferenceWorld(**options, faults=of_state)
    if not any(of_frames.values()):
        return world
    from worldenv.distortion import Distorted

    return Distorted(world, of_frames)


def first_view(
    scene: dict[str, Any], size: tuple[int, int], K: NDArray[np.float64]
) -> NDArray[np.uint8]:
    """Return the first view of a scene: the conditioning image of worlds that start from one.

    Args:
        scene: As in ``Start.scene``.
        size: (width, height) in pixels.
        K: Intrinsics (3, 3) in pixels at that size; only the horizontal field of view is used.
    """
    fov = fov_of(K, size[0])
    return _first_view(json.dumps(scene, sort_keys=True), tuple(size), fov).copy()


@functools.lru_cache(maxsize=32)
def _first_view(scene: str, size: tuple[int, int], fov: float) -> NDArray[np.uint8]:
    world = make(size=size, fov=fov, supersample=2, truth=())
    try:
        frame: NDArray[np.uint8] = world.reset(
            Start(scene=json.loads(scene)), seed=0, plan=None
        ).frames[0]
    finally:
        world.close()
    return frame
