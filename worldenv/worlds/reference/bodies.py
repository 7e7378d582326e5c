"""The stored bodies of people, and triangles over them that can be cut along a level."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import NamedTuple

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


class Body(NamedTuple):
    """One stored body: working vertices (n, 18), faces and parts at two levels, traits."""

    rows: Array
    faces: NDArray[np.int64]
    parts: NDArray[np.int64]
    coarse: NDArray[np.int64]
    coarse_parts: NDArray[np.int64]
    traits: Array


@lru_cache(maxsize=1)
def _data() -> dict[str, NDArray[np.float64]]:
    path = resources.files("worldenv.worlds.reference") / "data" / "people.npz"
    with resources.as_file(path) as file, np.load(file, allow_pickle=False) as data:
        return {k: data[k] for k in data.files}


def body_count() -> int:
    """Return how many bodies there are."""
    return len(_data()["traits"])


@lru_cache(maxsize=32)
def load_body(index: int) -> Body:
    """Return a stored body by its number."""
    d = _data()
    columns = [d["skin"][index] / 1e4, d["cloth"][index] / 1e4, d["uv"]]
    columns += [d[k][:, None] for k in ("wrap", "arm", "leg", "torso", "foot", "scalp", "height")]
    rows = np.concatenate([*columns, np.zeros((len(d["uv"]), 3))], axis=1).astype(np.float64)
    faces, parts = d["faces"].astype(np.int64), d["faces_part"].astype(np.int64)
    coarse, coarse_parts = d["coarse"].astype(np.int64), d["coarse_part"].astype(np.int64)
    rows, patch, seam = _crown(rows, _rim("faces"), (0.35, 0.7))
    rows, coarse_patch, _ = _crown(rows, _rim("coarse"), (0.55,))
    faces, parts = _with_head(faces, parts, patch)
    coarse, coarse_parts = _with_head(coarse, coarse_parts, coarse_patch)
    for part in range(5):
        own = faces[parts == part]
        used = np.unique(own)
        rows[used, OUT] = _normals(rows[:, CLOTH if part in (TIGHTS, SKIRT) else SKIN], own)[used]
    # Hair stands off along the normals, so both sides of the patch's seam need the same ones.
    joined = rows[seam, OUT].sum(axis=0)
    rows[seam, OUT] = joined / np.maximum(np.linalg.norm(joined, axis=-1, keepdims=True), 1e-12)
    return Body(
        rows,
        faces,
        parts,
        coarse,
        coarse_parts,
        d["traits"][index].astype(np.float64),
    )


@lru_cache(maxsize=2)
def _rim(level: str) -> list[int]:
    """Return the vertices around the hole at the back of the head, in order; alike in all bodies.

    Args:
        level: ``faces`` or ``coarse``.
    """
    d = _data()
    parts = d["faces_part" if level == "faces" else "coarse_part"]
    head = d[level][parts == HEAD].astype(np.int64)
    depth = d["skin"][0][:, 2] / 1e4
    edges = {tuple(e) for k in range(3) for e in head[:, [k, (k + 1) % 3]].tolist()}
    after = {b: a for a, b in edges if (b, a) not in edges}
    while after:
        rim = [min(after)]
        while rim[-1] in after:
            rim.append(after.pop(rim[-1]))
        rim.pop()
        # The other rims are those of the neck and of the mouth.
        if depth[rim].max() < -0.03:
            return rim
    raise ValueError("the stored heads have no hole at the back")


def _crown(
    rows: Array, rim: list[int], shares: tuple[float, ...]
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Close the stored heads, which are open at the back.

    Args:
        rows: Working vertices (n, 18).
        rim: Rows around the hole, in order.
        shares: Where rings lie between the rim of the hole (0) and its middle (1).

    Returns:
        The rows with those of the patch added, its faces, and the rim: rows of the head above, the
        same places on the patch below, shape (2, k).
    """
    edge = rows[rim].copy()
    # The texture meets itself at the back; on the patch it runs on through there.
    edge[:, UV.start] = (edge[:, UV.start] + 0.25) % 0.5 - 0.25
    middle = edge.mean(axis=0)
    back = min(edge[:, 2])
    rings = [edge]
    for share in shares:
        ring = edge + (middle - edge) * share
        ring[:, 2] = edge[:, 2] + (back - edge[:, 2]) * np.sin(share * np.pi / 2)
        rings.append(ring)
    middle[2] = back
    for ring in (*rings[1:], middle[None]):
        ring[:, CLOTH] = ring[:, SKIN]
    first, k = len(rows), len(rim)
    i = np.arange(k)
    j = (i + 1) % k
    faces = []
    for low in first + k * np.arange(len(shares)):
        faces += [np.stack([low + i, low + j, low + k + i], 1)]
        faces += [np.stack([low + j, low + k + j, low + k + i], 1)]
    last = first + k * len(shares)
    faces.append(np.stack([last + i, last + j, np.full(k, last + k)], 1))
    table = np.concatenate([rows, *rings, middle[None]])
    return table, np.concatenate(faces), np.stack([np.array(rim), first + i])


def _with_head(
    faces: NDArray[np.int64], parts: NDArray[np.int64], patch: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return (
        np.concatenate([faces, patch]),
        np.concatenate([parts, np.full(len(patch), HEAD, np.int64)]),
    )


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
