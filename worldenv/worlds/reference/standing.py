"""How the things of a scene stand: which are its shell, what carries what, where there is room."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.views import CLEARANCE, FLAT, box_of

__all__ = ["SHELL", "Standing", "is_shell", "stand"]

Array = NDArray[np.float64]

SHELL = frozenset(
    "wall floor ceiling sky ground lawn meadow path kerb woods house road pavement building "
    "skirting beam doorway window door radiator".split()
) | {"ceiling light"}
"""Categories of what a place is made of; faults repaint it, but neither remove nor move it."""
ON_GROUND = 0.06
"""What begins below this height in metres stands on the ground."""
REST = 0.06
"""How far above or below the top of a thing another may begin to stand on it, in metres."""
GAP = 0.05
"""Least distance of a moved thing from others, in metres."""
MOST = 1.2
"""Largest displacement in metres that is taken for a thing's own size."""


def is_shell(instance: Instance) -> bool:
    """Return whether an instance is part of the place rather than a thing in it."""
    return instance.flat or instance.category in SHELL


@dataclass(frozen=True)
class Standing:
    """How the things of a scene stand as it was built; n things.

    Attributes:
        things: Ids of the things that faults may touch: neither shell nor part of an event.
        row: Instance id -> row of ``boxes``, of all that is no shell.
        boxes: Shape (n, 2, 3), least and greatest corner in the scene.
        below: Instance id -> id of what carries it.
        hung: Ids of what neither stands on the ground nor on something else.
        limits: Least and greatest corner (2, 3) that things keep within.
        eyes: Places (v, 3) of the views.
        poses: Shape (n, 4, 4), as the things were built.
    """

    things: frozenset[int]
    row: Mapping[int, int]
    boxes: Array
    below: Mapping[int, int]
    hung: frozenset[int]
    limits: Array
    eyes: Array
    poses: Array

    def carried(self, instance: int) -> list[int]:
        """Return the ids of all that an instance carries, directly or not, ascending."""
        found: list[int] = []
        for i in sorted(self.below):
            root: int | None = i
            while root is not None and root != instance:
                root = self.below.get(root)
            if root is not None and i != instance:
                found.append(i)
        return found

    def pose(self, instance: int) -> Array:
        """Return where an instance was built, shape (4, 4)."""
        return np.asarray(self.poses[self.row[instance]])

    def extent(self, instance: int) -> Array:
        """Return width, height and depth (3,) of an instance's box in the scene."""
        low, high = self.boxes[self.row[instance]]
        return np.asarray(high - low)

    def reach(self, instance: int) -> float:
        """Return an instance's own size on the ground in metres, at most ``MOST``."""
        width, _, depth = self.extent(instance)
        return float(min((width + depth) / 2, MOST))

    def clipped(self, instance: int, move: Array) -> Array:
        """Return a displacement (3,) cut so that it does not leave the place's limits."""
        low, high = self.boxes[self.row[instance]]
        least = np.minimum(self.limits[0] - low, 0)
        most = np.maximum(self.limits[1] - high, 0)
        return np.asarray(np.clip(move, least, most))

    def room(self, instance: int, moves: Array, others: Array | None = None) -> Array:
        """Return how free an instance's place would be after each displacement, shape (m,).

        0 is free; else the overlap with other things in square metres on the plan, and infinite
        outside the limits, off what carries it, or around a view.

        Args:
            instance: Which; what it carries and what carries it are not in its way.
            moves: Displacements (m, 3) in metres.
            others: More boxes (k, 2, 3) to keep clear of.
        """
        own = self.boxes[self.row[instance]]
        boxes = own[None] + moves[:, None]
        skipped = {instance, *self.carried(instance)}
        if instance in self.below:
            skipped.add(self.below[instance])
        keep = [k for i, k in self.row.items() if i not in skipped]
        around = self.boxes[keep] if others is None else np.concatenate([self.boxes[keep], others])
        # Rugs are stood upon.
        around = around[around[:, 1, 1] - around[:, 0, 1] > FLAT]
        low = np.maximum(boxes[:, None, 0], around[None, :, 0] - [GAP, -1e-3, GAP])
        high = np.minimum(boxes[:, None, 1], around[None, :, 1] + [GAP, -1e-3, GAP])
        common = np.maximum(high - low, 0)
        taken = np.where(common[..., 1] > 0, common[..., 0] * common[..., 2], 0).sum(axis=1)
        inner = self.limits
        if instance in self.below:
            inner = self.boxes[self.row[self.below[instance]]].copy()
            inner[:, 1] = (-np.inf, np.inf)
        out = (boxes[:, 0] < inner[0] - 1e-6) | (boxes[:, 1] > inner[1] + 1e-6)
        bad = out[:, [0, 2]].any(axis=1) | (out[:, 1] & (instance in self.hung))
        if len(self.eyes) and own[0, 1] < self.eyes[0, 1] + CLEARANCE and own[1, 1] > FLAT:
            near = np.maximum(
                boxes[:, None, 0] - self.eyes[None], self.eyes[None] - boxes[:, None, 1]
            )[..., [0, 2]]
            apart = np.linalg.norm(np.maximum(near, 0), axis=-1)
            bad |= (apart < CLEARANCE).any(axis=1)
        return np.where(bad, np.inf, taken)

    def ways(self, instance: int) -> Array:
        """Return unit directions (m, 3) that a thing may be moved in, along its own axes first."""
        axes = self.pose(instance)[:3, [0, 2]].T * [1, 0, 1]
        x, z = axes / np.maximum(np.linalg.norm(axes, axis=1), 1e-9)[:, None]
        if instance in self.hung:
            return np.array([x, -x])
        corner = np.sqrt(0.5)
        ways = [x, -x, z, -z]
        ways += [corner * (a * x + b * z) for a in (1, -1) for b in (1, -1)]
        return np.array(ways)


class _Same:
    """A scene that equals itself only, so that what is found of it can be kept."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.scene is self.scene

    def __hash__(self) -> int:
        return id(self.scene)


@functools.lru_cache(maxsize=4)
def _stand(scene: _Same) -> Standing:
    return _find(scene.scene)


def stand(scene: Scene) -> Standing:
    """Return how the things of a scene stand; kept for the last four scenes."""
    return _stand(_Same(scene))


def _find(scene: Scene) -> Standing:
    loose = [i for i in scene.instances if not is_shell(i)]
    boxes = np.array([box_of(i) for i in loose]).reshape(-1, 2, 3)
    below: dict[int, int] = {}
    hung = set()
    for k, instance in enumerate(loose):
        low, high = boxes[k]
        seated = instance.variant.startswith("seated/")
        if low[1] <= ON_GROUND and not seated:
            continue
        middle = (low + high) / 2
        over = (boxes[:, 0, [0, 2]] <= middle[[0, 2]]) & (middle[[0, 2]] <= boxes[:, 1, [0, 2]])
        bears = over.all(axis=1) & (boxes[:, 1, 1] > FLAT)
        bears &= (boxes[:, 0, 1] < low[1] + (1.0 if seated else 0.0)) | seated
        bears &= (boxes[:, 1, 1] + REST >= low[1]) & (np.arange(len(loose)) != k)
        # Of a shelf, things stand inside too; a seat has a back that is higher.
        under = np.flatnonzero(
            bears & (boxes[:, 0, 1] <= ON_GROUND + (low[1] if not seated else 0))
        )
        if len(under):
            plan = np.prod(boxes[under, 1][:, [0, 2]] - boxes[under, 0][:, [0, 2]], axis=1)
            below[instance.id] = loose[int(under[np.argmin(plan)])].id
        elif not seated:
            hung.add(instance.id)
    for i in list(below):
        seen, at = {i}, below.get(i)
        while at is not None:
            if at in seen:
                del below[i]
                break
            seen.add(at)
            at = below.get(at)
    event = None if scene.event is None else scene.event.instance
    left = {i.id for i in loose if i.moves or i.id == event}
    for i in list(left):
        while i in below:
            i = below[i]
            left.add(i)
    return Standing(
        frozenset(i.id for i in loose) - frozenset(left),
        {i.id: k for k, i in enumerate(loose)},
        boxes,
        below,
        frozenset(hung),
        _limits(scene),
        np.array([v.pose[:3, 3] for v in scene.views]).reshape(-1, 3),
        np.array([i.pose for i in loose]).reshape(-1, 4, 4),
    )


def _limits(scene: Scene) -> Array:
    floors = [box_of(i) for i in scene.instances if i.category == "floor"]
    limits = np.array([[-np.inf] * 3, [np.inf] * 3])
    if floors:
        limits[:, [0, 2]] = floors[0][:, [0, 2]]
        limits[0, 1] = floors[0][0, 1]
        limits[1, 1] = max(
            (box_of(i)[1, 1] for i in scene.instances if i.category == "ceiling"), default=np.inf
        )
    elif "walkable" in scene.tags:
        walk = np.array(scene.tags["walkable"].split(","), np.float64).reshape(2, 2)
        limits[:, [0, 2]] = walk + np.array([[-1.5], [1.5]])
    return limits
