"""Finding places to start from outdoors: walks around the middle, and what is well seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worldenv.worlds.reference.rooms import MIDDLE, SQUARE
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.start import Looker, Spans
from worldenv.worlds.reference.views import box_of, camera_at, clear_first

OUTDOORS = Spans(
    far=9.0,
    offs=(12, -14, 32, -34, 55, -58),
    grid=(np.arange(-6.0, 6.1, 0.8), np.arange(-5.0, 5.1, 0.8)),
    group=5.5,
    others={"tree": 16.0, "gazebo": 12.0, "kiosk": 12.0, "van": 11.0, "car": 10.0},
    ahead=0.5,
)
MOST = 24
"""How many views are enough."""


def _before(thing: Instance) -> tuple[float, ...]:
    """Return how far off a thing is looked at, in metres, in turn."""
    low, high = box_of(thing)
    size = float((high - low).max())
    near = max(2.0, 0.75 * size) if thing.category != "person" else 2.3
    return (near + 0.4, near + 1.0, near + 1.8, near + 2.8)


def find_outdoor_views(scene: Scene, sights: Sequence[str]) -> Scene:
    """Return the scene with its views: fixed ones for walks, found ones for targets.

    Args:
        scene: Without views.
        sights: Categories that views are sought for, after people.
    """
    looker = Looker(scene, scene.tags.get("setting", "").split(","), OUTDOORS)
    side = -1.0 if scene.tags["mirrored"] == "True" else 1.0
    left = min(side * (MIDDLE - 2.0), side * (MIDDLE + 2.0))
    fixed = {
        "loop": camera_at(left, 2.1, 0),
        "gallery": camera_at(-3.6, 2.1, 0),
        "square": camera_at(min(side * SQUARE, side * (SQUARE + 2.0)), 2.1, 0),
        "return": camera_at(3.6, 2.1, 180),
        "corner": camera_at(left + 4.0, -1.9, 180),
        "east": camera_at(left + 4.0, 2.1, -90) if side > 0 else camera_at(left, -1.9, 90),
        "open": camera_at(side * 3.2, 2.1, -35 * side),
        "across": camera_at(side * 3.4, 0.4, 75 * side),
    }
    views = [
        looker.look(name, pose) for name, pose in fixed.items() if looker.free(*pose[[0, 2], 3])
    ]
    views = clear_first(views, looker.things)
    people = [i for i in looker.things if i.category == "person"]
    for person in people:
        facing = looker.facing(person, _before(person))
        if facing is not None:
            views.append(facing)
    group = looker.group(people)
    if group is not None:
        views.append(group)
    for category in sights:
        if len(views) >= MOST:
            break
        for thing in looker.things:
            if thing.category == category:
                facing = looker.facing(thing, _before(thing))
                if facing is not None:
                    views.append(facing)
                    break
    return replace(scene, views=tuple(views))
