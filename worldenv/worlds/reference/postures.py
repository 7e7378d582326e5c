"""People who do something other than stand: mid-stride or seated, as a figure poses them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.figure import Figure
from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.people import make_person
from worldenv.worlds.reference.walking import bearing, pulled, stride, turned, walker

POSTURES = ("standing", "walking", "seated")
"""What people do, by name."""
SEAT = 0.45
"""Height of the seats that people sit on, in metres."""


def make_posed(seed: int, posture: str) -> Piece:
    """Return a person in a posture; the variant of one who does not stand names it too.

    Args:
        seed: Equal seeds give equal people. Who walks or sits may be the next one who can.
        posture: One of ``POSTURES``.

    Raises:
        ValueError: unknown posture.
    """
    if posture not in POSTURES:
        raise ValueError(f"unknown posture {posture!r}; expected one of {', '.join(POSTURES)}")
    if posture == "standing":
        return make_person(seed)
    piece, figure = walker(seed)
    share = float(np.random.default_rng([seed, 29]).uniform(0.25, 0.75))
    vertices = seated(figure) if posture == "seated" else stride(figure, 3 + share, 8)
    mesh = piece.mesh._replace(vertices=vertices)
    return piece._replace(mesh=mesh, variant=f"{posture}/{piece.variant}")


def seated(figure: Figure) -> NDArray[np.float32]:
    """Return the vertices (n, 3) of a figure that sits: hips over the origin, shins hanging."""
    joints, points = figure.joints, figure.points
    hip, knee, ankle = joints[0, 0, 1:], joints[0, 1, 1:], joints[0, 2, 1:]
    drop = SEAT + 0.1 - float(hip[0])
    moved = points.copy()
    moved[:, 1] += drop
    for side in (0, 1):
        start, shin = hip + np.array([drop, 0]), np.radians(2.0 + 8.0 * side)
        # The thighs slope as much as it takes for the feet to stand on the ground.
        hanging, length = turned(ankle - knee, shin), float(np.hypot(*(knee - hip)))
        slope = (start[0] + hanging[0] - ankle[0]) / length
        thigh = float(np.arccos(np.clip(slope, -0.3, 0.9))) - bearing(knee - hip)
        bent = start + turned(knee - hip, thigh)
        end = bent + hanging
        chain = ((hip, start, thigh), (knee, bent, shin), (ankle, end, 0.0))
        legs, arms = figure.legs[side], figure.arms[side]
        shares = [s[legs] for s in (figure.thigh[side], figure.shin, figure.foot)]
        moved[legs, 1:] += pulled(points[legs, 1:], drop, chain, shares)
        shoulder, elbow = joints[side, 3, 1:], joints[side, 4, 1:]
        top = shoulder + np.array([drop, 0])
        angle, fold = np.radians((24.0, 66.0))
        arm = ((shoulder, top, angle), (elbow, turned(elbow - shoulder, angle) + top, fold))
        shares = [s[arms] for s in (figure.upper[side], figure.lower)]
        moved[arms, 1:] += pulled(points[arms, 1:], drop, arm, shares)
    moved[:, 1] = np.maximum(moved[:, 1], 0.0)
    moved[:, 2] -= hip[1]
    return moved.astype(np.float32)
