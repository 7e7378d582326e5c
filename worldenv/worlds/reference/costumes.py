"""Draws instances otherwise than they were lit, by writing over their rows of the drawn arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.changing import sphere_at
from worldenv.worlds.reference.parts import Part, place
from worldenv.worlds.reference.raster import Geometry
from worldenv.worlds.reference.scene import Instance
from worldenv.worlds.reference.wander import Guise, moved_uv

__all__ = ["Costumes", "Rows"]


class Rows(NamedTuple):
    """Where a level of detail of an instance lies in the drawn arrays.

    Attributes:
        part: What lies there.
        vertices: Rows of its vertices.
        faces: Rows of its faces.
        charts: Rows of its light maps.
    """

    part: Part
    vertices: slice
    faces: slice
    charts: slice


class _Plain(NamedTuple):
    """What was drawn before."""

    vertices: NDArray[np.float32]
    uv: NDArray[np.float32]
    tint: NDArray[np.float32]
    density: NDArray[np.float32]
    frames: NDArray[np.float32]


class Costumes:
    """What instances wear in the drawn arrays; these are changed in place.

    Args:
        geometry: What is drawn.
        levels: Instance id -> rows of its levels of detail.
        instances: In the order of ``spheres``.
        spheres: Centre and radius (n, 4) by which instances are found in view.
    """

    def __init__(
        self,
        geometry: Geometry,
        levels: dict[int, tuple[Rows, ...]],
        instances: tuple[Instance, ...],
        spheres: NDArray[np.float64],
    ) -> None:
        self._geometry, self._levels = geometry, levels
        self._instances, self._spheres = instances, spheres
        self._before = spheres.copy()
        self._plain: dict[tuple[int, int], _Plain] = {}
        self._worn: dict[tuple[int, int], Guise] = {}
        self._guises: dict[int, Guise | None] = {}

    def choose(self, guise: Callable[[Instance], Guise | None] | None) -> None:
        """Ask what everything is to wear, and move the spheres accordingly."""
        chosen: dict[int, Guise | None] = {}
        for k, instance in enumerate(self._instances):
            if instance.moves:
                continue
            new = None if guise is None else guise(instance)
            old = self._guises.get(instance.id)
            chosen[instance.id] = new
            if new is not None and new.move is not None:
                part, pose = self._levels[instance.id][0].part, new.move @ instance.pose
                self._spheres[k] = sphere_at(part.centre, part.radius, pose)
            elif old is not None and old.move is not None:
                self._spheres[k] = self._before[k]
        self._guises = chosen

    def put_on(self, seen: Iterable[tuple[int, int]]) -> None:
        """Let instances wear what was chosen.

        Args:
            seen: Rows of instances and their levels of detail that are going to be drawn.
        """
        for row, k in seen:
            instance = self._instances[row]
            if instance.moves:
                continue
            key, guise = (instance.id, k), self._guises.get(instance.id)
            if guise is self._worn.get(key):
                continue
            self._write(instance, key, guise)
            if guise is None:
                del self._worn[key]
            else:
                self._worn[key] = guise

    def _write(self, instance: Instance, key: tuple[int, int], guise: Guise | None) -> None:
        rows, geometry = self._levels[instance.id][key[1]], self._geometry
        if key not in self._plain:
            self._plain[key] = _Plain(
                geometry.vertices[rows.vertices].copy(),
                geometry.uv[rows.vertices].copy(),
                geometry.tint[rows.faces].copy(),
                geometry.density[rows.faces].copy(),
                geometry.chart_frame[rows.charts].copy(),
            )
        plain, old = self._plain[key], self._worn.get(key)
        move, tint, uv = (None, None, None) if guise is None else guise
        if move is not None:
            geometry.vertices[rows.vertices] = place(rows.part.local, move @ instance.pose)
            back = np.linalg.inv(move)
            frames = plain.frames.astype(np.float64)
            turned = frames[..., :3] @ back[:3, :3]
            shifted = frames[..., :3] @ back[:3, 3] + frames[..., 3]
            geometry.chart_frame[rows.charts] = np.concatenate([turned, shifted[..., None]], -1)
        elif old is not None and old.move is not None:
            geometry.vertices[rows.vertices] = plain.vertices
            geometry.chart_frame[rows.charts] = plain.frames
        if tint is not None:
            geometry.tint[rows.faces] = plain.tint * tint.astype(np.float32)
        elif old is not None and old.tint is not None:
            geometry.tint[rows.faces] = plain.tint
        if uv is not None:
            geometry.uv[rows.vertices] = moved_uv(plain.uv, uv)
            scale = np.sqrt(abs(np.linalg.det(uv[:, :2])))
            geometry.density[rows.faces] = plain.density * np.float32(scale)
        elif old is not None and old.uv is not None:
            geometry.uv[rows.vertices] = plain.uv
            geometry.density[rows.faces] = plain.density
