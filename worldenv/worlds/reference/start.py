"""Finding places to start from: views with room for scripts, and what is well seen from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

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
NOT_TARGETS = ("wall", "floor", "ceiling", "ceiling light", "skirting", "doorway", "rug", "beam")
MIN_SHARE = 0.015
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

Free = Callable[[float, float], bool]
Look = Callable[[str, Array], View]


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
    mirrored = scene.tags["mirrored"] == "True"
    things = [i for i in scene.instances if not i.flat]
    boxes = {i.name: box_of(i) for i in things}
    obstacles, room = plan_boxes(scene.instances), room_of(scene)

    def look(name: str, pose: Array) -> View:
        seen = []
        for thing in things:
            if thing.category in NOT_TARGETS:
                continue
            rectangle = frame_box(thing, pose)
            if rectangle is None or abs(rectangle).max() > 0.98:
                continue
            share = share_of_frame(rectangle)
            if share < MIN_SHARE:
                continue
            near = np.linalg.norm(boxes[thing.name].mean(axis=0) - pose[:3, 3])
            others = np.array(
                [boxes[o.name] for o in things if o is not thing and o.category not in NOT_TARGETS]
            )
            sight = in_sight(boxes[thing.name], pose[:3, 3], others)
            if sight > 0.7 and near < 7:
                person = 2.0 if thing.category == "person" else 1.0
                seen.append((-person * sight * min(share, 0.12) ** 0.5, thing.name))
        scripts = list(TURNING)
        for script, walk in WALKS.items():
            if free_way(walked(pose, walk), obstacles, room):
                scripts.append(script)
        return View(name, pose, tuple(scripts), tuple(n for _, n in sorted(seen)))

    def free(x: float, z: float) -> bool:
        return free_way(np.array([[x, z]]), obstacles, room)

    side = -1.0 if mirrored else 1.0
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
    views = clear_first(views, (i for i in things if i.category not in NOT_TARGETS))
    people = [i for i in things if i.category == "person"]
    for person in people:
        facing = _face(person, free, look)
        if facing is not None:
            views.append(facing)
    pairs = _pair(people, free, look)
    if pairs is not None:
        views.append(pairs)
    wanted = [i for i in things if i.category in landmarks]
    for thing in wanted:
        if len(views) >= 16:
            break
        facing = _face(thing, free, look)
        if facing is not None:
            views.append(facing)
    views += [look(name, pose) for name, pose in (more or {}).items()]
    return replace(scene, views=tuple(views))


def _face(thing: Instance, free: Free, look: Look) -> View | None:
    """Return a view from in front of a thing, 2.2 to 3.4 m off, that sees it well, or None."""
    pose = thing.pose
    x, z = pose[0, 3], pose[2, 3]
    front = np.degrees(np.arctan2(pose[0, 2], pose[2, 2]))
    for distance in (2.4, 2.9, 3.4, 2.0):
        for off in (10, -12, 28, -30, 45, -48):
            a = np.radians(front + off)
            cx, cz = x + distance * np.sin(a), z + distance * np.cos(a)
            if free(cx, cz):
                heading = np.degrees(np.arctan2(x - cx, -(z - cz))) + (6 if off > 0 else -6)
                view = look(thing.name, camera_at(cx, cz, heading))
                if thing.name in view.targets:
                    return view
    return None


def _pair(people: list[Instance], free: Free, look: Look) -> View | None:
    """Return a view of two or more people at once, or None."""
    best: tuple[float, View] | None = None
    for x in np.arange(-4.8, 4.9, 0.6):
        for z in np.arange(-3.2, 3.3, 0.6):
            if not free(x, z):
                continue
            for i, a in enumerate(people):
                for b in people[i + 1 :]:
                    to = [np.arctan2(p.pose[0, 3] - x, -(p.pose[2, 3] - z)) for p in (a, b)]
                    apart = (to[1] - to[0] + np.pi) % (2 * np.pi) - np.pi
                    reach = [np.hypot(p.pose[0, 3] - x, p.pose[2, 3] - z) for p in (a, b)]
                    if abs(apart) < 0.95 and max(reach) < 4.6 and min(reach) > 1.9:
                        score = max(reach)
                        if best is None or score < best[0]:
                            view = look("people", camera_at(x, z, np.degrees(to[0] + apart / 2)))
                            if {a.name, b.name} <= set(view.targets):
                                best = (score, view)
    return None if best is None else best[1]
