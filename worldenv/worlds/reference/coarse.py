"""Lights a coarse mesh by the light that was built for the full mesh of the same thing.

A coarse face cuts through the full mesh, which is what stands in the way of light: receivers on it
would lie inside the thing, in its own shadow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.compile import kernel
from worldenv.worlds.reference.parts import Part

__all__ = ["lend"]

SHARE = 0.1
"""A coarse receiver takes the light of full ones within this share of the thing's radius."""
UNLIT = 0.005
"""Receivers below this share of the thing's brightest one count as dark within it."""


@kernel
def _lend(points, directions, light, axis, both, where, facing, reach, least, out):  # type: ignore[no-untyped-def]
    """Write the light around each place; ``points`` ascend along ``axis``.

    Receivers below ``least`` lie within the thing, in its own shadow, and lend nothing.
    """
    one, zero = np.float32(1.0), np.float32(0.0)
    square = reach * reach
    along = points[:, axis]
    for v in range(where.shape[0]):
        first = np.searchsorted(along, where[v, axis] - reach)
        end = np.searchsorted(along, where[v, axis] + reach)
        total, closest, gap = zero, -1, np.float32(1e30)
        red, green, blue = zero, zero, zero
        # The second pass looks everywhere, for places that have nothing near.
        for attempt in range(2):
            if attempt == 1:
                if closest >= 0:
                    break
                first, end = 0, points.shape[0]
            for k in range(first, end):
                d = zero
                for c in range(3):
                    d += (points[k, c] - where[v, c]) ** 2
                if d >= square and (attempt == 0 or d >= gap):
                    continue
                bright = light[k, 0] + light[k, 1] + light[k, 2]
                if bright < least:
                    continue
                like = zero
                for c in range(3):
                    like += facing[v, c] * directions[k, c]
                if both:
                    like = abs(like)
                apart = d + square * (one - like)
                if apart < gap:
                    closest, gap = k, apart
                if d < square and like > zero:
                    near = one - d / square
                    # Receivers under clothes and in folds are dark and seen by nobody.
                    w = near * near * like * like
                    w *= np.sqrt(bright)
                    total += w
                    red += w * light[k, 0]
                    green += w * light[k, 1]
                    blue += w * light[k, 2]
        if total > np.float32(1e-6):
            out[v, 0], out[v, 1], out[v, 2] = red / total, green / total, blue / total
        elif closest >= 0:
            for c in range(3):
                out[v, c] = light[closest, c]


def lend(full: Part, light: NDArray[np.float32], part: Part) -> NDArray[np.float32]:
    """Return the light at the receivers of a coarse part, shape (c, 3).

    Args:
        full: The part of the full mesh.
        light: Shape (k, 3), linear light at its receivers.
        part: The part of the coarse mesh.
    """
    out = np.zeros((len(part.points), 3), np.float32)
    if not len(light):
        return out
    axis = int(np.argmax(np.ptp(full.points, axis=0)))
    order = np.argsort(full.points[:, axis], kind="stable")
    _lend(
        full.points[order],
        full.directions[order],
        light[order],
        axis,
        full.two_sided,
        part.points,
        part.directions,
        np.float32(max(SHARE * full.radius, 1e-3)),
        np.float32(UNLIT * light.sum(axis=1).max()),
        out,
    )
    return out
