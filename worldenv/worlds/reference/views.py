"""What a camera sees of boxes, and whether it has room to walk: projection, sight, clearance."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.scene import Instance, Scene, View

Array = NDArray[np.float64]

EYE = 1.5
"""Camera height in metres."""
CLEARANCE = 0.3
"""Least distance in metres, on the floor plan, between a camera path and anything standing."""
FLAT = 0.1
"""What is lower than this (rugs) is no obstacle, in metres."""
NEAREST, BEFORE = 0.1, 1.7
"""From how many metres ahead to what distance from the eye a thing stands before a camera."""
BELOW = 0.5
"""What lies deeper than this below the eye is looked over, in metres."""
CROWDING = 0.02
"""Share of the frame above which something before the camera is in the way."""
HALF = float(np.tan(np.radians(75.0) / 2))
"""How far a square frame reaches from its middle, in metres a metre ahead."""
_SIGHTS = np.arange(-15, 16, 2) / 16 * HALF
"""Where it is looked through, across and down, in metres a metre ahead."""


def camera_at(x: float, z: float, heading: float, height: float = EYE) -> Array:
    """Return a level camera's pose (4, 4), camera to scene.

    Args:
        x: Metres to the right.
        z: Metres towards the south wall.
        heading: Degrees to the right of north (-z).
        height: Metres above the floor.
    """
    a = np.radians(heading)
    right, forward = [np.cos(a), 0, np.sin(a)], [np.sin(a), 0, -np.cos(a)]
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2] = right, [0, -1, 0], forward
    pose[:3, 3] = x, height, z
    return pose


def box_of(instance: Instance) -> Array:
    """Return the lowest and highest corner (2, 3) of an instance in the scene."""
    points = points_of(instance)
    return np.stack([points.min(axis=0), points.max(axis=0)])


def points_of(instance: Instance, step: int = 1) -> Array:
    """Return every step-th vertex (n, 3) of an instance in the scene."""
    points = instance.mesh.vertices[::step].astype(np.float64)
    return np.asarray(points @ instance.pose[:3, :3].T + instance.pose[:3, 3])


def corners(box: Array) -> Array:
    """Return the eight corners (8, 3) of a box (2, 3)."""
    index = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    return np.asarray(box[index, [0, 1, 2]])


def project(points: Array, pose: Array, fov: float = 75.0, aspect: float = 1.0) -> Array:
    """Return image places (n, 3): x and y with -1..1 across the frame, and depth in metres.

    Args:
        points: Scene points (n, 3).
        pose: Camera to scene.
        fov: Horizontal field of view in degrees.
        aspect: Width over height.
    """
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    depth = local[:, 2]
    focal = 1 / np.tan(np.radians(fov) / 2)
    safe = np.maximum(depth, 1e-6)
    return np.stack(
        [focal * local[:, 0] / safe, focal * aspect * local[:, 1] / safe, depth], axis=1
    )


def frame_box(instance: Instance, pose: Array) -> Array | None:
    """Return the rectangle (2, 2) an instance's vertices span in a square frame, -1..1.

    None when part of it lies behind the camera.
    """
    points = points_of(instance, max(1, len(instance.mesh.vertices) // 400))
    image = project(points, pose)
    if image[:, 2].min() < 0.05:
        return None
    return np.stack([image[:, :2].min(axis=0), image[:, :2].max(axis=0)])


def share_of_frame(rectangle: Array | None) -> float:
    """Return a rectangle's share of the frame, 0 to 1, after cutting it at the borders."""
    if rectangle is None:
        return 0.0
    cut = np.clip(rectangle, -1, 1)
    return float(np.prod(cut[1] - cut[0]) / 4)


def in_sight(box: Array, eye: Array, others: Array) -> float:
    """Return the share (0 to 1) of sample points of a box that no other box hides from the eye.

    Args:
        box: The target, (2, 3).
        eye: Camera centre (3,).
        others: What may stand between, (n, 2, 3).
    """
    steps = np.linspace(0.15, 0.85, 4)
    mesh = np.stack(np.meshgrid(steps, steps, [0.5], indexing="ij"), -1).reshape(-1, 3)
    spans = []
    for order in ((0, 1, 2), (2, 1, 0)):
        spans.append(box[0] + mesh[:, order] * (box[1] - box[0]))
    points = np.concatenate(spans)
    direction = points - eye
    safe = np.where(abs(direction) < 1e-9, 1e-9, direction)
    near = (others[:, None] - eye)[:, :, 0] / safe
    far = (others[:, None] - eye)[:, :, 1] / safe
    enter = np.minimum(near, far).max(axis=-1)
    leave = np.maximum(near, far).min(axis=-1)
    hidden = ((enter < leave) & (leave > 0) & (enter < 0.97)).any(axis=0)
    return float(1 - hidden.mean())


def in_the_way(thing: Instance, pose: Array) -> bool:
    """Return whether a thing right before a camera, at the height of its eye, fills the view.

    What lies low there, like the rim of a fountain, does not count.
    """
    box = box_of(thing)
    if np.linalg.norm(np.clip(pose[:3, 3], box[0], box[1]) - pose[:3, 3]) > BEFORE:
        return False
    side, down, ahead = ((corners(box) - pose[:3, 3]) @ pose[:3, :3]).T
    edge = HALF * ahead
    beyond = [ahead < NEAREST, down > BELOW]
    beyond += [sign * off > edge for off in (side, down) for sign in (-1, 1)]
    if any(border.all() for border in beyond):
        return False
    points = (points_of(thing) - pose[:3, 3]) @ pose[:3, :3]
    return _share_before(points, thing.mesh.faces) > CROWDING


def _share_before(points: Array, faces: NDArray[np.int32]) -> float:
    """Return the share (0 to 1) of a square frame that a mesh fills right before the camera.

    Args:
        points: Vertices (n, 3) as the camera has them: right, down, forward.
        faces: Triangles (m, 3).
    """
    triangles = points[faces]
    low, high = triangles.min(axis=1), triangles.max(axis=1)
    near = (high[:, 2] > NEAREST) & (low[:, 1] < BELOW)
    near &= np.linalg.norm(np.clip(0.0, low, high), axis=1) < BEFORE
    if not near.any():
        return 0.0
    triangles, met = triangles[near], 0
    for down in _SIGHTS:
        # Only what crosses the level plane of a row of rays can meet one of them.
        off = triangles[..., 1] - down * triangles[..., 2]
        crossing = (off.min(axis=1) <= 0) & (off.max(axis=1) >= 0)
        if not crossing.any():
            continue
        a, b, c = np.moveaxis(triangles[crossing], 1, 0)
        rays = np.stack([_SIGHTS, np.full_like(_SIGHTS, down), np.ones_like(_SIGHTS)], axis=1)
        # A ray from the eye meets a triangle where it passes all its sides on the same side.
        sides = np.stack([rays @ np.cross(p, q).T for p, q in ((a, b), (b, c), (c, a))])
        total = sides.sum(axis=0)
        hit = ((sides >= 0).all(axis=0) | (sides <= 0).all(axis=0)) & (total != 0)
        depth = (a * np.cross(b, c)).sum(axis=1) / np.where(hit, total, 1.0)
        hit &= (depth > NEAREST) & (depth * down < BELOW)
        hit &= depth * np.linalg.norm(rays, axis=1)[:, None] < BEFORE
        met += int(hit.any(axis=1).sum())
    return met / len(_SIGHTS) ** 2


def clear_first(views: Iterable[View], things: Iterable[Instance]) -> list[View]:
    """Return views, first one where nothing is in the way, with as many scripts as any such.

    The first view of a scene is the one that a rollout starts from unless it asks for another.
    """
    listed, known = list(views), list(things)
    for view in sorted(listed, key=lambda v: -len(v.scripts)):
        if not any(in_the_way(thing, view.pose) for thing in known):
            return [view, *(v for v in listed if v is not view)]
    return listed


def plan_boxes(instances: Iterable[Instance]) -> Array:
    """Return the floor rectangles (n, 2, 2) (x, z) of what blocks a camera's way."""
    boxes = [box_of(i) for i in instances if not i.flat]
    blocking = [b[:, [0, 2]] for b in boxes if b[1, 1] > FLAT and b[0, 1] < EYE + CLEARANCE]
    return np.array(blocking).reshape(-1, 2, 2)


def free_way(points: Array, obstacles: Array, room: Array) -> bool:
    """Return whether floor points (n, 2) keep ``CLEARANCE`` from obstacles and from the walls.

    Args:
        points: Places (x, z) of the camera.
        obstacles: Rectangles (m, 2, 2).
        room: The floor's rectangle (2, 2).
    """
    if (points < room[0] + CLEARANCE).any() or (points > room[1] - CLEARANCE).any():
        return False
    if not len(obstacles):
        return True
    low, high = obstacles[:, 0], obstacles[:, 1]
    gap = np.maximum(low[None] - points[:, None], points[:, None] - high[None])
    distance = np.linalg.norm(np.maximum(gap, 0), axis=-1)
    return bool((distance.min(axis=1) >= CLEARANCE - 1e-9).all())


def room_of(scene: Scene) -> Array:
    """Return the rectangle (2, 2) in x and z that may be walked: the floor, or as tagged."""
    if "walkable" in scene.tags:
        return np.array(scene.tags["walkable"].split(","), np.float64).reshape(2, 2)
    return box_of(scene.instance("floor"))[:, [0, 2]]


def walked(pose: Array, poses: Array) -> Array:
    """Return the floor points (n, 2) of a path of camera poses (n, 4, 4) walked from a view."""
    places = poses[:, :3, 3] @ pose[:3, :3].T + pose[:3, 3]
    return np.asarray(places[:, [0, 2]])
