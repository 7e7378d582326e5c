"""Finding places to start from: views with room for scripts, and what is well seen from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np

from worldenv.worlds.reference.rooms import MIDDLE, SQUARE
from worldenv.worlds.reference.scene import Instance, Scene, View
from worldenv.worlds.reference.views import (
    Array,
    box_of,
    camera_at,
    clear_first,
    frame_box,
    free_way,
    in_sight,
    plan_boxes,
    room_of,
    share_of_frame,
    walked,
)

TURNING = (
    "worldmembench:lrlr",
    "worldmembench:lrlrlr",
    "worldmembench:lrud",
    "worldmembench:dynamic",
    "mbench:exit_reenter(motion=yaw)",
)
"""Scripts that turn on the spot: there is room for them anywhere."""
NOT_TARGETS = ("wall", "floor", "ceiling", "ceiling light", "skirting", "doorway", "rug", "beam")
"""Categories that belong to a room: never sought, and nothing is hidden by them."""
MIN_SHARE = 0.015
"""Least share of the frame of what counts as well seen."""
MOST = 16
"""How many views are enough, those of events aside."""
LANDMARKS = (
    "armchair",
    "bookshelf",
    "piano",
    "refrigerator",
    "barrel",
    "plant",
    "desk",
    "television",
    "lamp",
    "chair",
    "cabinet",
    "bed",
    "sofa",
)
"""What views are sought for in interiors, after people."""


def line(points: list[tuple[float, float]]) -> Array:
    """Return camera poses (n, 4, 4) every 10 cm along (x, z) corners in frame-0 coordinates."""
    places = [np.zeros(2)]
    for a, b in pairwise(points):
        count = int(np.ceil(np.hypot(b[0] - a[0], b[1] - a[1]) / 0.1))
        places += [np.array(a) + (np.array(b) - a) * (i + 1) / count for i in range(count)]
    poses = np.tile(np.eye(4), (len(places), 1, 1))
    poses[:, [0, 2], 3] = places
    return poses


def square(side: float) -> Array:
    """Return the poses of a square walk: forward, right, back, left."""
    return line([(0, 0), (0, side), (side, side), (side, 0), (0, 0)])


WALKS: dict[str, Array] = {
    "worldmembench:square": square(2.0),
    "r2m:out_and_back": line([(0, 0), (7.2, 0)]),
    "r2m:translation_rotation": line([(0, 0), (0, 2.4)]),
    "r2m:closed_loop": square(4.0),
    "mbench:exit_reenter(motion=strafe)": line([(0, 0), (3.6, 0)]),
    "mbench:exit_reenter(motion=dolly)": line([(0, 0), (0, 3.2)]),
}


@dataclass(frozen=True)
class Spans:
    """Where a ``Looker`` looks from, and how far; lengths in metres.

    Attributes:
        far: How far things may be to count as well seen.
        offs: Degrees off a thing's front at which it is looked at, in turn.
        grid: x and z of the places that two people are looked at from.
        group: How far the farther of them may be.
        others: Category -> how far such things may be, where not ``far``.
        ahead: How far ahead the middle of what is seen lies at least.
    """

    far: float
    offs: tuple[float, ...]
    grid: tuple[Array, Array]
    group: float
    others: Mapping[str, float] = field(default_factory=dict)
    ahead: float = -np.inf


INDOORS = Spans(
    far=7.0,
    offs=(10, -12, 28, -30, 45, -48),
    grid=(np.arange(-4.8, 4.9, 0.6), np.arange(-3.2, 3.3, 0.6)),
    group=4.6,
)


class Looker:
    """Finds out what is seen from where in a scene, and which walks there is room for."""

    def __init__(self, scene: Scene, setting: Collection[str], spans: Spans) -> None:
        """Look at a scene.

        Args:
            scene: What is looked at.
            setting: Categories that are never looked for, besides all that is flat.
            spans: How far.
        """
        self.things = [i for i in scene.instances if not i.flat and i.category not in setting]
        self.boxes = np.array([box_of(i) for i in self.things])
        self.obstacles, self.room = plan_boxes(scene.instances), room_of(scene)
        self.spans = spans

    def free(self, x: float, z: float) -> bool:
        """Return whether a camera may stand there."""
        return free_way(np.array([[x, z]]), self.obstacles, self.room)

    def look(self, name: str, pose: Array) -> View:
        """Return the view from a pose: the scripts it allows, and its targets, best first."""
        spans, seen = self.spans, []
        for k, thing in enumerate(self.things):
            middle = self.boxes[k].mean(axis=0) - pose[:3, 3]
            far = spans.others.get(thing.category, spans.far)
            if middle @ pose[:3, 2] < spans.ahead or np.linalg.norm(middle) > far:
                continue
            rectangle = frame_box(thing, pose)
            if rectangle is None or abs(rectangle).max() > 0.98:
                continue
            share = share_of_frame(rectangle)
            if share < MIN_SHARE:
                continue
            sight = in_sight(self.boxes[k], pose[:3, 3], np.delete(self.boxes, k, axis=0))
            if sight > 0.7:
                person = 2.0 if thing.category == "person" else 1.0
                seen.append((-person * sight * min(share, 0.12) ** 0.5, thing.name))
        scripts = list(TURNING)
        for script, walk in WALKS.items():
            if free_way(walked(pose, walk), self.obstacles, self.room):
                scripts.append(script)
        return View(name, pose, tuple(scripts), tuple(n for _, n in sorted(seen)))

    def facing(self, thing: Instance, distances: Sequence[float]) -> View | None:
        """Return a view from in front of a thing that sees it well, or None.

        Args:
            thing: What is looked at.
            distances: Metres from it, in turn.
        """
        pose = thing.pose
        x, z = pose[0, 3], pose[2, 3]
        front = np.degrees(np.arctan2(pose[0, 2], pose[2, 2]))
        for distance in distances:
            for off in self.spans.offs:
                a = np.radians(front + off)
                cx, cz = x + distance * np.sin(a), z + distance * np.cos(a)
                if self.free(cx, cz):
                    heading = np.degrees(np.arctan2(x - cx, -(z - cz))) + (6 if off > 0 else -6)
                    view = self.look(thing.name, camera_at(cx, cz, heading))
                    if thing.name in view.targets:
                        return view
        return None

    def group(self, people: list[Instance]) -> View | None:
        """Return a near view of two or more people at once, or None."""
        best: tuple[float, View] | None = None
        for x, z in ((x, z) for x in self.spans.grid[0] for z in self.spans.grid[1]):
            if not self.free(x, z):
                continue
            for a, b in combinations(people, 2):
                to = [np.arctan2(p.pose[0, 3] - x, -(p.pose[2, 3] - z)) for p in (a, b)]
                apart = (to[1] - to[0] + np.pi) % (2 * np.pi) - np.pi
                reach = [np.hypot(p.pose[0, 3] - x, p.pose[2, 3] - z) for p in (a, b)]
                if abs(apart) > 0.95 or max(reach) > self.spans.group or min(reach) < 1.9:
                    continue
                if best is None or max(reach) < best[0]:
                    view = self.look("people", camera_at(x, z, np.degrees(to[0] + apart / 2)))
                    if {a.name, b.name} <= set(view.targets):
                        best = (max(reach), view)
        return None if best is None else best[1]


def find_views(
    scene: Scene,
    more: Mapping[str, Array] | None = None,
    landmarks: tuple[str, ...] = LANDMARKS,
) -> Scene:
    """Return the scene with its views: fixed ones for walks, found ones for targets.

    Args:
        scene: Without views.
        more: Name -> camera pose (4, 4) of further views, which come last.
        landmarks: Categories that views are sought for, after people.
    """
    looker = Looker(scene, NOT_TARGETS, INDOORS)
    look = looker.look
    side = -1.0 if scene.tags["mirrored"] == "True" else 1.0
    left = min(side * (MIDDLE - 2.0), side * (MIDDLE + 2.0))
    views = [
        look("loop", camera_at(left, 2.1, 0)),
        look("gallery", camera_at(-3.6, 2.1, 0)),
        look("square", camera_at(min(side * SQUARE, side * (SQUARE + 2.0)), 2.1, 0)),
        look("open", camera_at(side * 3.05, 2.1, -6)),
        look("door", camera_at(side * 2.0, 0.6, 90 * side)),
        look("aisle", camera_at(left + 4.0, 2.1, 0)),
        look("hall", camera_at(side * 0.4, 2.1, -42 * side)),
        look("corner", camera_at(side * -3.6, -1.9, 135 * side)),
    ]
    views = clear_first(views, looker.things)
    people = [i for i in looker.things if i.category == "person"]
    near = (2.4, 2.9, 3.4, 2.0)
    for person in people:
        facing = looker.facing(person, near)
        if facing is not None:
            views.append(facing)
    group = looker.group(people)
    if group is not None:
        views.append(group)
    for thing in looker.things:
        if len(views) >= MOST:
            break
        facing = looker.facing(thing, near) if thing.category in landmarks else None
        if facing is not None:
            views.append(facing)
    views += [look(name, pose) for name, pose in (more or {}).items()]
    return replace(scene, views=tuple(views))
