"""The kernel that draws pinhole views of an equirectangular photograph."""

from __future__ import annotations

import math
from typing import Any

from worldenv.worlds.reference.compile import kernel

__all__ = ["draw"]


@kernel
def draw(
    photograph: Any, turns: Any, lens: Any, samples: int, views: Any, first: int, step: int
) -> None:
    """Draw every ``step``-th row of all views, from the ``first`` on.

    Args:
        photograph: Shape (h, 2 * h, 3) uint8.
        turns: Camera to photograph, shape (n, 3, 3).
        lens: fx, fy, cx, cy in pixels.
        samples: Samples along each side of a pixel.
        views: Shape (n, height, width, 3) uint8, to draw into.
        first: First row.
        step: Rows from one to the next.
    """
    rows, columns = photograph.shape[0], photograph.shape[1]
    n, height, width = views.shape[0], views.shape[1], views.shape[2]
    fx, fy, cx, cy = lens[0], lens[1], lens[2], lens[3]
    share = 1.0 / (samples * samples)
    for view in range(n):
        turn = turns[view]
        for row in range(first, height, step):
            for column in range(width):
                red, green, blue = 0.0, 0.0, 0.0
                for i in range(samples):
                    b = (row + (i + 0.5) / samples - cy) / fy
                    for j in range(samples):
                        a = (column + (j + 0.5) / samples - cx) / fx
                        x = turn[0, 0] * a + turn[0, 1] * b + turn[0, 2]
                        y = turn[1, 0] * a + turn[1, 1] * b + turn[1, 2]
                        z = turn[2, 0] * a + turn[2, 1] * b + turn[2, 2]
                        longitude = math.atan2(x, z)
                        # atan2 stays exact at the poles, where asin does not.
                        latitude = math.atan2(y, math.hypot(x, z))
                        u = (longitude / (2 * math.pi) + 0.5) * columns - 0.5
                        v = (latitude / math.pi + 0.5) * rows - 0.5
                        left, top = math.floor(u), math.floor(v)
                        right_share, low_share = u - left, v - top
                        for down in range(2):
                            at = int(top) + down
                            weight = low_share if down else 1.0 - low_share
                            over = 0
                            # Beyond a pole the sphere goes on half a turn away.
                            if at < 0:
                                at, over = 0, columns // 2
                            elif at >= rows:
                                at, over = rows - 1, columns // 2
                            for right in range(2):
                                near = (int(left) + right + over) % columns
                                part = weight * (right_share if right else 1.0 - right_share)
                                red += part * photograph[at, near, 0]
                                green += part * photograph[at, near, 1]
                                blue += part * photograph[at, near, 2]
                views[view, row, column, 0] = int(red * share + 0.5)
                views[view, row, column, 1] = int(green * share + 0.5)
                views[view, row, column, 2] = int(blue * share + 0.5)
