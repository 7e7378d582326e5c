"""The stored bodies of people, and triangles over them that can be cut along a level."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HEAD, HAND, TIGHTS, SKIRT, EYE = range(5)
"""Parts of a body's faces."""
SKIN, CLOTH, OUT = slice(0, 3), slice(3, 6), slice(15, 18)
"""Columns of a working vertex: place on the skin, on the cloth, and outward normal."""
UV, WRAP, ARM, LEG, TORSO, FOOT, SCALP, HEIGHT = slice(6, 8), 8, 9, 10, 11, 12, 13, 14
"""Columns: texture place, metres around the limb (0: no seam), shares along arm, leg and trunk, how
much it is foot, depth inside the hair, height at rest."""
SLEEVE_UV, SLEEVE_WRAP = slice(18, 20), 2 * np.pi * 0.05
"""Columns of the texture place on a sleeve, and metres around that."""


class Body(NamedTuple):
    """One stored body: working vertices (n, 20), faces and parts at two levels, traits."""

    rows: Array
    faces: NDArray[np.int64]
    parts: NDArray[np.int64]
    coarse: NDArray[np.int64]
    coarse_parts: NDArray[np.int64]
    traits: Array


@lru_cache(maxsize=1)
def _data() -> dict[str, NDArray[Any]]:
    path = resources.files("worldenv.worlds.reference") / "data" / "people.npz"
    with resources.as_file(path) as file, np.load(file, allow_pickle=False) as data:
        return {k: data[k] for k in data.files}


def body_count() -> int:
    """Return how many bodies there are."""
    return len(_data()["traits"])


def head_count() -> int:
    """Return how many heads there are, a multiple of the bodies."""
    return len(_data()["head"])


def head_map() -> NDArray[np.float32]:
    """Return what a painter of faces must know at the head's texture places, shape (n, n, 4).

    How open a place is (0 deep in a hollow, 1 free), how deep it lies within the hair (as the
    column ``SCALP``), how much it is lips, and how much it is eyelid.
    """
    image = np.asarray(_data()["map"], np.float32) / np.float32(255)
    image[..., 1] = image[..., 1] * 4 - 2
    return image


@lru_cache(maxsize=8)
def load_body(number: int, ease: bool = False) -> Body:
    """Return a stored body with a head, both counted on from the start when the number is larger.

    Args:
        number: At least 0.
        ease: Whether it stands with its arms hanging rather than in a pose of its own.
    """
    d = _data()
    index, pose = number % body_count(), "ease_" if ease else ""
    head = d["head"][number % head_count()] / 1e4
    if ease:
        head = head + d["ease_head"][index] / 1e4
    skin = np.concatenate([d[f"{pose}skin"][index] / 1e4, head])
    cloth = np.concatenate([d[f"{pose}cloth"][index] / 1e4, head])
    columns = [skin, cloth, d["uv"]]
    columns += [d[k][:, None] for k in ("wrap", "arm", "leg", "torso", "foot", "scalp", "height")]
    columns += [np.zeros((len(d["uv"]), 3)), d["sleeve_uv"]]
    rows = np.concatenate(columns, axis=1).astype(np.float64)
    faces, parts = d["faces"].astype(np.int64), d["faces_part"].astype(np.int64)
    _straighten(rows, np.unique(faces[parts == TIGHTS]))
    for part in range(5):
        own = faces[parts == part]
        used = np.unique(own)
        rows[used, OUT] = _normals(rows[:, CLOTH if part in (TIGHTS, SKIRT) else SKIN], own)[used]
    return Body(
        rows,
        faces,
        parts,
        d["coarse"].astype(np.int64),
        d["coarse_part"].astype(np.int64),
        d["traits"][index].astype(np.float64),
    )


def _straighten(rows: Array, suit: NDArray[np.int64]) -> None:
    """Let patterns and hems run level around each trunk, whose shape differs from that at rest."""
    trunk = rows[suit]
    x, y, z = trunk[:, CLOTH].T
    core = (trunk[:, TORSO] > 0.2) & (trunk[:, ARM] < 0)
    middle = (z[core].min() + z[core].max()) / 2
    places = np.stack([0.15 * np.arctan2(x, z - middle), -y], axis=1)
    places[:, 1] += np.median((trunk[:, UV][:, 1] + y)[core])
    share = np.clip(trunk[:, TORSO] / 0.25, 0, 1) * (trunk[:, LEG] < 0)
    rows[suit, UV] += share[:, None] * (places - trunk[:, UV])
    # Metres above the hips as shares of the trunk, by what most of it says.
    slope, start = np.polyfit(y[core], trunk[core, TORSO], 1)
    share = np.clip((trunk[:, TORSO] + 0.35) / 0.15, 0, 1) * (trunk[:, ARM] < 0)
    rows[suit, TORSO] += share * (slope * y + start - trunk[:, TORSO])


def _normals(points: Array, faces: NDArray[np.int64]) -> Array:
    p = points[faces]
    n = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    total = np.zeros_like(points)
    for k in range(3):
        np.add.at(total, faces[:, k], n)
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12))


class Shell:
    """Triangles over working vertices, which can be cut along a level of any vertex value."""

    def __init__(self, rows: Array, faces: NDArray[np.int64]) -> None:
        self.rows, self.faces = rows, faces

    def where(self, keep: NDArray[np.bool_]) -> Shell:
        """Return the faces whose entry (m,) is true."""
        return Shell(self.rows, self.faces[keep])

    def cut(self, value: Array) -> tuple[Shell, Shell]:
        """Return what lies where a vertex value (n,) is below 0, and the rest."""
        value = np.where(abs(value) < 1e-9, 1e-9, value)
        above = value[self.faces] > 0
        count = above.sum(axis=1)
        low, high = [self.faces[count == 0]], [self.faces[count == 3]]
        rows, extra = [self.rows], len(self.rows)
        for lone_above in (True, False):
            crossing = count == (1 if lone_above else 2)
            faces, side = self.faces[crossing], above[crossing]
            if not len(faces):
                continue
            lone = np.argmax(side == lone_above, axis=1)
            turn = (lone[:, None] + np.arange(3)) % 3
            a, b, c = np.take_along_axis(faces, turn, axis=1).T
            edges = np.sort(
                np.stack([np.stack([a, b], 1), np.stack([a, c], 1)]).reshape(-1, 2), axis=1
            )
            unique, inverse = np.unique(edges, axis=0, return_inverse=True)
            p, q = unique.T
            t = (value[p] / (value[p] - value[q]))[:, None]
            rows.append(self.rows[p] * (1 - t) + self.rows[q] * t)
            new = extra + inverse.reshape(2, -1)
            extra += len(unique)
            tip = np.stack([a, new[0], new[1]], axis=1)
            rest = np.concatenate([np.stack([new[0], b, c], 1), np.stack([new[0], c, new[1]], 1)])
            (high if lone_above else low).append(tip)
            (low if lone_above else high).append(rest)
        table = np.concatenate(rows)
        return Shell(table, np.concatenate(low)), Shell(table, np.concatenate(high))

    def column(self, index: int) -> Array:
        """Return a vertex value (n,)."""
        return np.asarray(self.rows[:, index])
