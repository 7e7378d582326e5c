"""Finding places to start from outdoors: walks around the middle, and what is well seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worldenv.worlds.reference.rooms import MIDDLE, SQUARE
from worldenv.worlds.reference.scene import Instance, Scene, View
from worldenv.worlds.reference.start import MIN_SHARE, TURNING, WALKS
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

FAR = {"tree": 16.0, "gazebo": 12.0, "kiosk": 12.0, "van": 11.0, "car": 10.0}
"""How far a thing may be to count as well seen, in metres; others 9."""

MOST = 24
"""How many views are enough."""


class Looker:
    """Finds out what is seen from where in a scene, and which walks there is room for."""

    def __init__(self, scene: Scene) -> None:
        setting = scene.tags.get("setting", "").split(",")
        self.things = [i for i in scene.instances if not i.flat and i.category not in setting]
        self.boxes = np.array([box_of(i) for i in self.things])
        self.scene = scene
        self.obstacles, self.room = plan_boxes(scene.instances), room_of(scene)

    def free(self, x: float, z: float) -> bool:
        """Return whether a camera may stand there."""
        return free_way(np.array([[x, z]]), self.obstacles, self.room)

    def look(self, name: str, pose: Array) -> View:
        """Return the view from a pose: the scripts it allows, and its targets, best first."""
        seen = []
        for k, thing in enumerate(self.things):
            middle = self.boxes[k].mean(axis=0) - pose[:3, 3]
            if middle @ pose[:3, 2] < 0.5 or np.linalg.norm(middle) > FAR.get(thing.category, 9.0):
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

    def facing(self, thing: Instance) -> View | None:
        """Return a view from in front of a thing that sees it well, or None."""
        x, z = thing.pose[0, 3], thing.pose[2, 3]
        low, high = box_of(thing)
        size = float((high - low).max())
        front = np.degrees(np.arctan2(thing.pose[0, 2], thing.pose[2, 2]))
        near = max(2.0, 0.75 * size) if thing.category != "person" else 2.3
        for distance in (near + 0.4, near + 1.0, near + 1.8, near + 2.8):
            for off in (12, -14, 32, -34, 55, -58):
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
        best: tuple[float, Array, set[str]] | None = None
        for x in np.arange(-6.0, 6.1, 0.8):
            for z in np.arange(-5.0, 5.1, 0.8):
                if not self.free(x, z):
                    continue
                for i, a in enumerate(people):
                    for b in people[i + 1 :]:
                        to = [np.arctan2(p.pose[0, 3] - x, -(p.pose[2, 3] - z)) for p in (a, b)]
                        apart = (to[1] - to[0] + np.pi) % (2 * np.pi) - np.pi
                        reach = [np.hypot(p.pose[0, 3] - x, p.pose[2, 3] - z) for p in (a, b)]
                        if abs(apart) > 0.95 or max(reach) > 5.5 or min(reach) < 1.9:
                            continue
                        if best is None or max(reach) < best[0]:
                            pose = camera_at(x, z, np.degrees(to[0] + apart / 2))
                            if {a.name, b.name} <= set(self.look("people", pose).targets):
                                best = (max(reach), pose, {a.name, b.name})
        return None if best is None else self.look("people", best[1])


def find_outdoor_views(scene: Scene, sights: Sequence[str]) -> Scene:
    """Return the scene with its views: fixed ones for walks, found ones for targets.

    Args:
        scene: Without views.
        sights: Categories that views are sought for, after people.
    """
    looker = Looker(scene)
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
        facing = looker.facing(person)
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
                facing = looker.facing(thing)
                if facing is not None:
                    views.append(facing)
                    break
    return replace(scene, views=tuple(views))
