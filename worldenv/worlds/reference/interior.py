"""The interior scene family: a large furnished room, built from a seed.

Plan (before mirroring): x runs east, z south, north is -z. A ring of free floor runs around the
island in the west for walks of up to 4 m, a free strip along the south for strafes of 7.2 m, and
the east part stays open for a 2 m square and for what rolls or swings there.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.layout import Layout
from worldenv.worlds.reference.rooms import fill
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.shell import (
    Palette,
    add_shell,
    ceiling_lights,
    redraw,
    window_lights,
)
from worldenv.worlds.reference.start import find_views

PALETTE = Palette(
    floors=("planks", "planks", "parquet", "tiles", "concrete"),
    ceilings=("tiles", "boards", "plaster"),
    walls=("brick", "plaster", "wallpaper", "panelling", "wallpaper", "concrete", "plaster"),
)
"""What rooms are made of."""


def build(seed: int, *, event: str | None = None) -> Scene:
    """Return the interior of that seed.

    Args:
        seed: Decides the room, its materials, its furniture and its people.
        event: None for a static scene, or a name of ``EVENTS``. The room is the same; an
            event may add things to it, and views of them.

    Raises:
        ValueError: unknown event.
    """
    if event is not None and event not in EVENTS:
        raise ValueError(f"unknown event {event!r}; expected one of {', '.join(EVENTS)}")
    rng = np.random.default_rng([seed, zlib.crc32(b"interior")])
    room = (rng.uniform(11.8, 12.2), rng.uniform(2.8, 3.2), rng.uniform(8.1, 8.7))
    layout = Layout(rng, room, mirrored=bool(rng.random() < 0.5))
    add_shell(layout, PALETTE)
    layout.lamps = ceiling_lights(layout)
    fill(layout)
    layout.lamps += window_lights(layout)
    change = None if event is None else EVENTS[event](layout)
    scene = layout.scene("interior", seed, change)
    return find_views(scene, layout.watch)


def reimagine(
    scene: Scene, instance: Instance, seed: int
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another draw of an instance and the textures it adds, see ``furniture.redrawn``."""
    return redraw(scene, instance, seed, PALETTE)
