"""What changes from frame to frame: the form and shadow of moving things, the light of lamps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.parts import is_rigid
from worldenv.worlds.reference.raster import Geometry
from worldenv.worlds.reference.scene import Scene

__all__ = ["Dimmer", "Form", "make_dimmer", "make_form", "shades_of", "sphere_at", "sphere_of"]


class Form(NamedTuple):
    """What a moving thing looks like in its own frame.

    Attributes:
        local: Vertices, shape (n, 3) float32.
        normals: Shape (n, 3) float32.
        low: Least corner, shape (3,).
        high: Greatest corner.
    """

    local: NDArray[np.float32]
    normals: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]


def make_form(local: NDArray[np.float32], normals: NDArray[np.float32]) -> Form:
    """Return the form of vertices and normals (n, 3)."""
    return Form(local, normals, local.min(axis=0), local.max(axis=0))


def sphere_of(local: NDArray[np.float32], pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return centre and radius (4,) of a sphere around vertices (n, 3) at a pose (4, 4)."""
    centre = (local.min(axis=0).astype(np.float64) + local.max(axis=0)) / 2
    return sphere_at(centre, float(np.linalg.norm(local - centre, axis=1).max()), pose)


def sphere_at(
    centre: NDArray[np.float64], radius: float, pose: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return centre and radius (4,) of a sphere around one that is put at a pose (4, 4)."""
    if not is_rigid(pose):
        radius *= float(np.linalg.norm(pose[:3, :3], 2))
    return np.append(pose[:3, :3] @ centre + pose[:3, 3], radius * 1.0001 + 1e-6)


def shades_of(form: Form, pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return up to 8 spheres (centre, radius) along the longest side of a thing, shape (s, 4).

    Args:
        form: The thing in its own frame.
        pose: Where it is, shape (4, 4).
    """
    low, high = form.low, form.high
    if not is_rigid(pose):
        # A stretch along the thing's own axes goes to its corners, and a turn is left.
        stretch = np.linalg.norm(pose[:3, :3], axis=0)
        low, high = (np.asarray(c * stretch, np.float32) for c in (low, high))
        pose = pose / np.append(stretch, 1.0)
    extent = (high - low).astype(np.float64)
    axis = int(np.argmax(extent))
    radius = float(np.sort(extent)[:2].mean()) / 2
    if np.sort(extent)[0] < 0.25 * np.sort(extent)[1]:
        # A sheet, such as a door, has no round shadow.
        radius = float(extent.min()) / 2
    radius = max(radius, 1e-3)
    count = int(np.clip(round(float(extent[axis]) / (2 * radius)), 1, 8))
    middle = np.tile((low.astype(np.float64) + high) / 2, (count, 1))
    middle[:, axis] = low[axis] + extent[axis] * (np.arange(count) + 0.5) / count
    return np.column_stack([middle @ pose[:3, :3].T + pose[:3, 3], np.full(count, radius)])


class Dimmer(NamedTuple):
    """What changes with the brightness of an event's lamps.

    Attributes:
        light: The arrays that are drawn from, the light without these lamps, and what they add.
        faces: Which faces glow with them.
        tint: Their emission at full brightness, shape (f, 3).
    """

    light: tuple[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]], ...]
    faces: NDArray[np.int64]
    tint: NDArray[np.float32]


def make_dimmer(
    geometry: Geometry,
    unlit: tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]],
    face_id: NDArray[np.uint16],
    scene: Scene,
) -> Dimmer:
    """Return what an event's lamps change.

    Args:
        geometry: As drawn with the lamps at full brightness.
        unlit: Light at vertices and light maps without them, part by part.
        face_id: Instance of each face, shape (m,).
        scene: With the event.
    """
    assert scene.event is not None
    light = []
    for drawn, columns in zip((geometry.light, geometry.light_map), unlit, strict=True):
        dark = np.concatenate(columns)
        light.append((drawn, dark, drawn - dark))
    faces = np.flatnonzero((face_id == scene.event.instance) & (geometry.glows > 0))
    return Dimmer(tuple(light), faces, geometry.tint[faces].copy())
