"""Rounds the corners that paths leave between them where they meet at an acute angle.

Two paths that part slowly would leave a thin wedge of lawn. The ground that no disc of radius
``ROUND`` reaches without touching a path is paved too: the morphological closing of the paths.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Grid = NDArray[np.float64]
"""A value at each point of the grid of an axis with itself."""

ROUND = 0.35
"""Radius of the corners in metres. ``Plan`` keeps the middles of things as far from paths (nearer
to round places); of what is paved between them it knows nothing."""
REACH = 24.0
"""How far from the origin paths are joined, in metres; they end there, under the woods."""
COARSE, FINE = 0.8, 0.1
"""Spacing in metres of the points where joins are sought and where they are drawn."""
INSIDE = 0.006
"""Joins keep so far from the lawn, in metres: along a single path they would stand out by the error
of the grid."""
OVERLAP = 0.05
"""How far a join reaches under the paths that it joins, in metres, so that no gap shows."""


class Ways(NamedTuple):
    """The paths of a park: centre lines with their widths, and round places (x, z, radius)."""

    lines: tuple[tuple[Points, float], ...]
    discs: tuple[tuple[float, float, float], ...]


class Joins:
    """Where the paths of a park are joined.

    Args:
        ways: The paths.
    """

    def __init__(self, ways: Ways) -> None:
        axis = np.arange(-REACH, REACH + FINE / 2, FINE)
        self._axis = axis
        shape = (len(axis), len(axis))
        # Far from where paths meet nothing is computed: NaN, which no comparison accepts.
        self._outside, self._free = np.full(shape, np.nan), np.full(shape, np.nan)
        wanted = _near_two(ways, axis)
        if not wanted.any():
            return
        i, j = np.nonzero(wanted)
        first, second = _two_distances(ways, np.stack([axis[i], axis[j]], axis=1))
        self._outside[i, j] = first
        rim = self._rim()
        inner = (second < 2 * ROUND) & (first < ROUND) & (first > -2 * FINE)
        if len(rim) and inner.any():
            i, j = i[inner], j[inner]
            points = np.stack([axis[i], axis[j]], axis=1)
            self._free[i, j] = np.concatenate(
                [
                    np.sqrt(((part[:, None] - rim) ** 2).sum(axis=2).min(axis=1))
                    for part in np.array_split(points, 1 + len(points) // 512)
                ]
            )

    def _rim(self) -> Points:
        """Return points (n, 2) about ``FINE`` apart whose distance to the paths is ``ROUND``."""
        axis, over = self._axis, self._outside - ROUND
        i, j = np.nonzero(over[:-1] * over[1:] < 0)
        share = over[i, j] / (over[i, j] - over[i + 1, j])
        along_x = np.stack([axis[i] + FINE * share, axis[j]], axis=1)
        i, j = np.nonzero(over[:, :-1] * over[:, 1:] < 0)
        share = over[i, j] / (over[i, j] - over[i, j + 1])
        return np.concatenate([along_x, np.stack([axis[i], axis[j] + FINE * share], axis=1)])

    def triangles(self, wider: float = 0.0) -> tuple[Points, NDArray[np.int64]]:
        """Return the ground (n, 2) that joins the paths, and faces (m, 3) that look up.

        Args:
            wider: How much farther the edging of the paths reaches than they do, in metres.
        """
        paved = self._free - (ROUND - wider) - INSIDE
        known = np.isfinite(paved)
        corners = [(0, 0), (0, 1), (1, 1), (1, 0)]
        last = len(self._axis) - 1

        def all_of(cells: NDArray[np.bool_], join: np.ufunc) -> NDArray[np.bool_]:
            parts = [cells[a : last + a, b : last + b] for a, b in corners]
            return np.asarray(join.reduce(parts))

        cells = (
            all_of(known, np.logical_and)
            & all_of(paved > 0, np.logical_or)
            & all_of(self._outside - wider > -OVERLAP, np.logical_or)
        )
        points: list[tuple[float, float]] = []
        faces: list[tuple[int, int, int]] = []
        for i, j in np.argwhere(cells).tolist():
            ring = self._cut([(i + a, j + b) for a, b in corners], paved)
            faces += [
                (len(points), len(points) + k, len(points) + k + 1) for k in range(1, len(ring) - 1)
            ]
            points += ring
        if not faces:
            return np.zeros((0, 2)), np.zeros((0, 3), np.int64)
        # Cells that touch share their corners, and so the light of one map.
        shared, index = np.unique(np.array(points), axis=0, return_inverse=True)
        return shared, index.reshape(-1)[np.array(faces)]

    def _cut(self, cell: list[tuple[int, int]], paved: Grid) -> list[tuple[float, float]]:
        """Return the corners of what is paved of a cell."""
        axis, ring = self._axis, []
        for a, b in zip(cell, [*cell[1:], cell[0]], strict=True):
            if paved[a] > 0:
                ring.append((float(axis[a[0]]), float(axis[a[1]])))
            if (paved[a] > 0) != (paved[b] > 0):
                # From the lower end in both cells that share the side: the same bits.
                low, high = min(a, b), max(a, b)
                share = paved[low] / (paved[low] - paved[high])
                ring.append(
                    (
                        float(axis[low[0]] + FINE * share * (high[0] - low[0])),
                        float(axis[low[1]] + FINE * share * (high[1] - low[1])),
                    )
                )
        return ring


def _near_two(ways: Ways, axis: Points) -> NDArray[np.bool_]:
    """Return which points of the fine grid may matter: close to two paths, and not deep in one."""
    step = round(COARSE / FINE)
    middle = axis[:-1:step] + COARSE / 2
    x, z = np.meshgrid(middle, middle, indexing="ij")
    first, second = _two_distances(ways, np.stack([x.ravel(), z.ravel()], axis=1))
    slack = COARSE * 0.71
    some = (second < 3 * ROUND + slack) & (first < ROUND + FINE + slack)
    some &= first > -3 * FINE - slack
    block = some.reshape(x.shape).repeat(step, axis=0).repeat(step, axis=1)
    wanted = np.zeros((len(axis), len(axis)), np.bool_)
    wanted[: block.shape[0], : block.shape[1]] = block[: len(axis), : len(axis)]
    return wanted


def _two_distances(ways: Ways, points: Points) -> tuple[Points, Points]:
    """Return the signed distances of points (n, 2) to the nearest and to the next path."""
    each = [
        np.hypot(points[:, 0] - x, points[:, 1] - z) - radius for x, z, radius in ways.discs
    ] + [_line_distance(points, line) - width / 2 for line, width in ways.lines]
    if len(each) < 2:
        return np.full(len(points), np.inf), np.full(len(points), np.inf)
    order = np.sort(np.stack(each), axis=0)
    return order[0], order[1]


def _line_distance(points: Points, line: Points) -> Points:
    """Return the distances of points (n, 2) to a line through points (m, 2)."""
    nearest = np.full(len(points), np.inf)
    for start, end in pairwise(line):
        along = end - start
        share = np.clip((points - start) @ along / max(float(along @ along), 1e-12), 0, 1)
        away = points - start - share[:, None] * along
        np.minimum(nearest, (away**2).sum(axis=1), out=nearest)
    return np.asarray(np.sqrt(nearest))
