"""A figure that can be posed, derived from a dressed person.

The stored bodies have no skeleton. Joints and weights come from the shares along arm and leg that
each body vertex carries; clothes take them over from the body vertices next to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.bodies import (
    ARM,
    CLOTH,
    FOOT,
    LEG,
    SKIN,
    SKIRT,
    Array,
    load_body,
)
from worldenv.worlds.reference.furniture import Piece

__all__ = ["Figure", "make_figure"]

STANCE = 0.095
"""How far a walker's ankles are from the middle, at most, in metres."""


class Figure(NamedTuple):
    """A dressed person that can be posed; n vertices. Sides: 0 is the left (+x), 1 the right.

    Attributes:
        points: At rest, shape (n, 3).
        thigh: Share that each vertex follows of each thigh, shape (2, n).
        shin: Of each shin beyond its knee.
        foot: Of each foot beyond its ankle.
        upper: Of each upper arm.
        lower: Of each lower arm beyond its elbow.
        twist: How far it turns with the shoulders, shape (n,).
        legs: Which vertices each leg moves.
        arms: Which vertices each arm moves.
        joints: Hip, knee, ankle, shoulder and elbow of each side, shape (2, 5, 3).
        ball: How far the balls of the feet lie ahead of the ankles, in metres.
    """

    points: Array
    thigh: Array
    shin: Array
    foot: Array
    upper: Array
    lower: Array
    twist: Array
    legs: tuple[NDArray[np.int64], ...]
    arms: tuple[NDArray[np.int64], ...]
    joints: Array
    ball: float


def make_figure(piece: Piece, seed: int) -> Figure:
    """Return the figure of a person that ``make_person(seed, ease=True)`` made."""
    body = load_body(seed, ease=True)
    rows = body.rows[np.unique(body.faces[body.parts != SKIRT])]
    points = piece.mesh.vertices.astype(np.float64)
    index, share = _nearest(points, np.concatenate([rows[:, SKIN], rows[:, CLOTH]]), len(rows))

    def worn(values: Array) -> Array:
        return np.asarray((values[index] * share).sum(axis=1))

    x, leg, arm = rows[:, 0], rows[:, LEG], rows[:, ARM]
    # At the crotch both thighs pull; further down each leg is alone.
    left = _ramp(x, -1, 1, np.clip(0.03 - 0.12 * leg, 0.004, 0.03))
    sides = np.stack([left, 1 - left])
    thigh = sides * _ramp(leg, -0.04, 0.2)
    joints = np.zeros((2, 5, 3))
    for side, sign in enumerate((1, -1)):
        own = sign * x > 0
        for k, (column, low, high) in enumerate(
            (
                (leg, 0.0, 0.16),
                (leg, 0.44, 0.56),
                (leg, 0.9, 0.99),
                (arm, 0.0, 0.14),
                (arm, 0.44, 0.56),
            )
        ):
            ring = rows[own & (column > low) & (column < high)][:, SKIN]
            joints[side, k] = (ring.min(axis=0) + ring.max(axis=0)) / 2
    # Both sides alike, and hips where thighs turn rather than in the middle of the seat.
    joints[:, :, 1:] = joints[:, :, 1:].mean(axis=0)
    joints[:, 0, 2] = 0.5 * (joints[:, 1, 2] + joints[:, 0, 2])
    toes = rows[rows[:, FOOT] > 0.5][:, SKIN]
    ball = 0.62 * (toes[:, 2].max() - joints[0, 2, 2])
    worn_thigh = np.stack([worn(t) for t in thigh])
    # Feet come in under the hips: the stored bodies stand astride.
    spread = abs(joints[:, 2, 0])
    hip, ankle = joints[0, 0, 1], joints[0, 2, 1]
    for side, sign in enumerate((1, -1)):
        inward = sign * max(spread[side] - STANCE, 0.0) / (hip - ankle)
        points[:, 0] -= worn_thigh[side] * inward * (hip - np.clip(points[:, 1], ankle, hip))
        for k in (1, 2):
            joints[side, k, 0] -= inward * (hip - joints[side, k, 1])
    arms = np.stack([(x > 0), (x <= 0)]) * _ramp(arm, 0.0, 0.22)
    upper = np.stack([worn(a) for a in arms])
    shoulder = joints[0, 3, 1]
    height = points[:, 1]
    trunk = _ramp(height, hip + 0.08, shoulder - 0.08)
    trunk *= 1 - 0.6 * _ramp(height, shoulder + 0.02, shoulder + 0.12)
    return Figure(
        points,
        worn_thigh,
        worn(_ramp(leg, 0.43, 0.57)),
        worn(_ramp(leg, 0.93, 1.0)),
        upper,
        worn(_ramp(arm, 0.42, 0.56)),
        np.maximum(trunk, upper.sum(axis=0)),
        tuple(np.flatnonzero(t > 0) for t in worn_thigh),
        tuple(np.flatnonzero(u > 0) for u in upper),
        joints,
        float(ball),
    )


def _ramp(values: Array, low: float, high: float, unit: Array | float = 1.0) -> Array:
    """Return a smooth step of values from 0 at ``low`` units to 1 at ``high`` units."""
    share = np.clip((values / unit - low) / (high - low), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))


def _nearest(points: Array, known: Array, count: int) -> tuple[NDArray[np.int64], Array]:
    """Return the three nearest known places of each point modulo ``count``, and their shares."""
    index = np.empty((len(points), 3), np.int64)
    share = np.empty((len(points), 3))
    for first in range(0, len(points), 256):
        block = points[first : first + 256]
        square = ((block[:, None] - known) ** 2).sum(axis=-1)
        best = np.argpartition(square, 3, axis=1)[:, :3]
        weight = 1 / (np.take_along_axis(square, best, axis=1) + 1e-6)
        index[first : first + 256] = best % count
        share[first : first + 256] = weight / weight.sum(axis=1, keepdims=True)
    return index, share
