"""Drift: colours, textures, shapes and places of things that wander with time, seen or not.

Nothing is lit anew: a thing that drifts takes along the light that was built for it, and casts the
shadow that was built. What is drawn, its depth and its ids are those of the drifted thing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.scene import Instance, Mesh, Scene
from worldenv.worlds.reference.standing import Standing

__all__ = ["KINDS", "Guise", "Wander", "dressed", "moved_uv"]

Array = NDArray[np.float64]

KINDS = ("colour", "texture", "shape", "position")
"""What drifts, in the order of their draws."""
KNOT = 32
"""Frames between the points that a drift passes through."""
STEP = 0.75
"""Length of the way from one of them to the next, at a dose of 1."""
KEPT = 0.85
"""Share of a drift that is left at the next point: it wanders about, not off."""
COLOUR = 0.6
"""Change of a tint's logarithm for a drift of length 1."""
SLIDE, TURN, SCALE = 0.12, 8.0, 0.1
"""Change of a texture's place in repeats, of its turn in degrees, of its scale's logarithm."""
SIZE, LEAN = 0.3, 0.3
"""Change of the logarithm of height and widths, and of the shift of the top by the height."""
PLACE = 0.5
"""Change of place by a thing's own size."""


class Guise(NamedTuple):
    """How an instance is drawn otherwise than it was lit.

    Attributes:
        move: Shape (4, 4), what is done to its pose, from the left; None for nothing.
        tint: Shape (3,), factor on its tints; None for 1.
        uv: Shape (2, 3), texture place u, v, 1 -> another; None for the same.
    """

    move: Array | None = None
    tint: Array | None = None
    uv: Array | None = None


@dataclass(frozen=True)
class Wander:
    """The drift of an episode.

    Attributes:
        seed: Of the episode.
        doses: Dose of each of ``KINDS`` that drifts.
        standing: How things stand in the scene as it was built.
        still: Ids of what does not drift at all.
    """

    seed: int
    doses: Mapping[str, float]
    standing: Standing
    still: frozenset[int]
    _worn: dict[int, tuple[Instance, int, Guise | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def path(self, instance: int, kind: str, size: int, frame: int) -> Array:
        """Return how far an instance has drifted at a frame, shape (size,), at a dose of 1.

        It starts at 0, has no corners in time, and is the same at all doses.
        """
        before, share = divmod(frame, KNOT)
        salt = 71 + KINDS.index(kind)
        first, second = (_knot(self.seed, instance, salt, size, before + k) for k in (0, 1))
        s = share / KNOT
        s = s * s * (3 - 2 * s)
        return np.asarray(first + s * (second - first))

    def guise(self, instance: Instance, frame: int) -> Guise | None:
        """Return how an instance is drawn at a frame, None as it is."""
        # A frame asks twice: to draw the thing, and to say how it was drawn.
        last = self._worn.get(instance.id)
        if last is None or last[0] is not instance or last[1] != frame:
            last = instance, frame, self._guise(instance, frame)
            self._worn[instance.id] = last
        return last[2]

    def _guise(self, instance: Instance, frame: int) -> Guise | None:
        i = instance.id
        if frame == 0 or i in self.still:
            return None
        tint = uv = move = None
        colour, texture, shape, place = (self.doses.get(k, 0.0) for k in KINDS)
        if colour > 0:
            tint = np.exp(colour * COLOUR * self.path(i, "colour", 3, frame))
        if texture > 0:
            u, v, turn, scale = texture * self.path(i, "texture", 4, frame)
            if instance.category == "sky":
                # Clouds drift along the horizon, which stays where it is.
                v = turn = scale = 0.0
            a, k = np.radians(TURN) * turn, np.exp(SCALE * scale)
            c, s = k * np.cos(a), k * np.sin(a)
            uv = np.array([[c, -s, SLIDE * u], [s, c, SLIDE * v]])
        if i in self.standing.things and (shape > 0 or place > 0):
            move = np.eye(4)
            if shape > 0:
                drift = shape * self.path(i, "shape", 4, frame)
                move = _stretched(instance.pose, drift, i in self.standing.hung)
            move[:3, 3] += self._moved(i, frame, shape, place)
        return Guise(move, tint, uv)

    def _moved(self, instance: int, frame: int, shape: float, place: float) -> Array:
        """Return the displacement (3,) of an instance or of what carries it."""
        standing, below = self.standing, self.standing.below.get(instance)
        if below is None:
            x, z = place * self.path(instance, "position", 2, frame)
            way = PLACE * standing.reach(instance) * np.array([x, 0, z])
            if instance in standing.hung:
                way = standing.ways(instance)[0] * float(way[0])
            return standing.clipped(instance, way)
        if below not in standing.things:
            return np.zeros(3)
        # What stands on something goes along with it, and with its top.
        drift = shape * self.path(below, "shape", 4, frame)
        form = _stretched(standing.pose(below), drift, below in standing.hung)
        stands = standing.pose(instance)[:, 3]
        return np.asarray(self._moved(below, frame, shape, place) + (form @ stands - stands)[:3])

    def shown(self, scene: Scene, frame: int) -> Scene:
        """Return a scene as it is drawn at a frame."""
        changed = []
        for instance in scene.instances:
            guise = self.guise(instance, frame)
            changed.append(instance if guise is None else dressed(instance, guise))
        return replace(scene, instances=tuple(changed))


@functools.lru_cache(maxsize=1 << 14)
def _knot(seed: int, instance: int, salt: int, size: int, k: int) -> Array:
    """Return the k-th point of a path."""
    if k == 0:
        return np.zeros(size)
    step = np.random.default_rng([seed, instance, k, salt]).normal(size=size)
    step *= STEP / max(float(np.linalg.norm(step)), 1e-9)
    return np.asarray(KEPT * _knot(seed, instance, salt, size, k - 1) + step)


def _stretched(pose: Array, drift: Array, hung: bool) -> Array:
    """Return what stretches and leans a thing at a pose about where it stands, in the scene."""
    form = np.eye(4)
    form[[0, 1, 2], [0, 1, 2]] = np.exp(SIZE * drift[:3])
    form[0, 1] = LEAN * drift[3]
    if hung:
        form[2, 2] = 1.0
    return np.asarray(pose @ form @ np.linalg.inv(pose))


def dressed(instance: Instance, guise: Guise) -> Instance:
    """Return an instance as its guise has it drawn."""

    def worn(mesh: Mesh) -> Mesh:
        if guise.tint is not None:
            tints = [np.array(m.tint) * guise.tint for m in mesh.materials]
            materials = tuple(
                m._replace(tint=(float(t[0]), float(t[1]), float(t[2])))
                for m, t in zip(mesh.materials, tints, strict=True)
            )
            mesh = mesh._replace(materials=materials)
        return mesh if guise.uv is None else mesh._replace(uv=moved_uv(mesh.uv, guise.uv))

    coarse = None if instance.coarse is None else worn(instance.coarse)
    pose = instance.pose if guise.move is None else guise.move @ instance.pose
    return replace(instance, pose=pose, mesh=worn(instance.mesh), coarse=coarse)


def moved_uv(uv: NDArray[np.float32], change: Array) -> NDArray[np.float32]:
    """Return texture places (n, 2) after a change (2, 3)."""
    return np.asarray(uv @ change[:, :2].T + change[:, 2], dtype=np.float32)
