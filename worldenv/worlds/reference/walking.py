"""A person's walk in closed form: planted feet, bent knees, swinging arms, any moment by itself.

Steps are counted by a phase u: step k lasts from u = k - 1 to k. In a step one foot stands where it
is and the other swings past it; the knees follow from where hips and feet are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.bodies import Array
from worldenv.worlds.reference.figure import Figure, make_figure
from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.people import make_person, wears_skirt

__all__ = ["PACE", "STEP", "bearing", "pulled", "stride", "travelled", "turned", "walker"]

STEP, PACE = 0.54, 0.72
"""Length of a step in metres and how long it takes in seconds: an unhurried walk."""
LIFT, TOE_OFF = 0.05, np.radians(32)
"""How high a swinging foot is lifted (metres), and how far a heel has come up as it leaves."""
SWING, ELBOW = 1.15, 0.22
"""Turn of an arm in radians per metre its foot is behind, and how far a walker's elbow bends."""
TWIST = 0.3
"""Turn of the shoulders in radians per metre that one foot is ahead of the other."""


def walker(seed: int) -> tuple[Piece, Figure]:
    """Return a person who can walk, the first from a seed on, and the figure that is posed.

    It wears trousers, as a skirt hides how the legs go.
    """
    while wears_skirt(seed):
        seed += 1
    piece = make_person(seed, ease=True)
    figure = make_figure(piece, seed)
    mesh = piece.mesh._replace(vertices=stride(figure, 0.0, 1))
    return piece._replace(mesh=mesh, coarse=None), figure


def travelled(u: float, steps: int) -> float:
    """Return how far the body has come at a phase, in metres: it starts and stops smoothly."""
    u = min(max(u, 0.0), float(steps))
    if u <= 1:
        return STEP * 0.5 * u * u
    if u >= steps - 1:
        return STEP * (steps - 1 - 0.5 * (steps - u) ** 2)
    return STEP * (u - 0.5)


def stride(figure: Figure, u: float, steps: int) -> NDArray[np.float32]:
    """Return the vertices (n, 3) of a figure at a phase of its walk, relative to its body's place.

    Args:
        figure: Who walks.
        u: Phase, 0 before the first step to ``steps`` after the last; it stands outside.
        steps: How many steps the walk has; the last one comes alongside.
    """
    u = min(max(u, 0.0), float(steps))
    joints, points = figure.joints, figure.points
    feet = [_foot(side, u, steps, figure.ball, joints[side, 2, 1]) for side in (0, 1)]
    hip, knee, ankle = joints[0, 0, 1:], joints[0, 1, 1:], joints[0, 2, 1:]
    rest = ankle - hip
    reach = 0.9995 * float(np.hypot(*rest))
    # The hips ride as high as both legs let them.
    goals = [ankle + np.array([rise, ahead]) for ahead, rise, _ in feet]
    high = min(g[0] + np.sqrt(reach**2 - (g[1] - hip[1]) ** 2) for g in goals)
    drop = high - hip[0]
    moved = points.copy()
    moved[:, 1] += drop
    walking = _smooth(u) * _smooth(steps - u)
    for side, (ahead, _, pitch) in enumerate(feet):
        start = hip + np.array([drop, 0])
        first, second = _bend(goals[side] - start, hip, knee, ankle)
        bent = start + turned(knee - hip, first)
        end = bent + turned(ankle - knee, second)
        chain = ((hip, start, first), (knee, bent, second), (ankle, end, -pitch))
        legs, arms = figure.legs[side], figure.arms[side]
        shares = [s[legs] for s in (figure.thigh[side], figure.shin, figure.foot)]
        moved[legs, 1:] += pulled(points[legs, 1:], drop, chain, shares)
        angle = -SWING * ahead
        fold = angle + walking * (ELBOW + 0.35 * max(angle, 0.0))
        shoulder, elbow = joints[side, 3, 1:], joints[side, 4, 1:]
        top = shoulder + np.array([drop, 0])
        arm = ((shoulder, top, angle), (elbow, turned(elbow - shoulder, angle) + top, fold))
        shares = [s[arms] for s in (figure.upper[side], figure.lower)]
        moved[arms, 1:] += pulled(points[arms, 1:], drop, arm, shares)
    # Shoulders turn against the hips.
    turn = TWIST * (feet[0][0] - feet[1][0]) * figure.twist
    c, s = np.cos(turn), np.sin(turn)
    x, z = moved[:, 0].copy(), moved[:, 2] - hip[1]
    moved[:, 0], moved[:, 2] = c * x + s * z, c * z - s * x + hip[1]
    # Toes bend where the foot rolls over them.
    moved[:, 1] = np.maximum(moved[:, 1], 0.0)
    return moved.astype(np.float32)


def pulled(
    points: Array,
    drop: float,
    chain: Sequence[tuple[Array, Array, float]],
    shares: Sequence[Array],
) -> Array:
    """Return how far points (n, 2) are taken along by a limb, beyond the drop of the hips.

    Args:
        points: (y, z) at rest.
        drop: Metres.
        chain: From the body outwards, a joint at rest, where it is, and the turn beyond it.
        shares: How far each point follows each, (n,).
    """
    (joint, place, turn), inner = chain[-1], shares[-1]
    at = turned(points - joint, turn) + place
    for (joint, place, turn), share in zip(chain[-2::-1], shares[-2::-1], strict=True):
        there = turned(points - joint, turn) + place
        at = there + inner[:, None] * (at - there)
        inner = share
    return np.asarray(inner[:, None] * (at - points - [drop, 0]))


def _foot(
    side: int, u: float, steps: int, ball: float, height: float
) -> tuple[float, float, float]:
    """Return how far an ankle is ahead of the body and above its rest, and the foot's pitch.

    Metres, metres, and radians with the toes down.
    """

    def place(k: int) -> float:
        return STEP * min(max(k, 0), steps - 1)

    def rolled(behind: float) -> float:
        share = np.clip((behind - 0.1 * STEP) / (0.4 * STEP), 0, 1)
        return float(TOE_OFF * share**2)

    step = min(int(u) + 1, steps)
    if step % 2 != side:
        # It stands where the step before put it, and the heel comes up as the body passes.
        at = place(step - 1)
        pitch = rolled(travelled(u, steps) - at)
        lift = 0.0
    else:
        w = float(np.clip((u - (step - 1) - 0.04) / 0.92, 0, 1))
        start, end = place(step - 2), place(step)
        at = start + (end - start) * float(_smooth(w))
        leaves = rolled(travelled(step - 1, steps) - start)
        pitch = leaves * (1 - w) ** 2 * (1 + 2 * w) - 0.25 * np.sin(np.pi * w) * w
        lift = LIFT * float(np.sin(np.pi * w))
    # The foot rolls about its ball, which stays where it is.
    sine, loss = np.sin(max(pitch, 0.0)), 1 - np.cos(max(pitch, 0.0))
    ahead = at - travelled(u, steps) + ball * loss + height * sine
    return float(ahead), float(ball * sine - height * loss + lift), float(pitch)


def _bend(goal: Array, hip: Array, knee: Array, ankle: Array) -> tuple[float, float]:
    """Return the turns of thigh and shin that bring the ankle to ``goal`` from the hip, (y, z)."""
    first, second = float(np.hypot(*(knee - hip))), float(np.hypot(*(ankle - knee)))
    far = min(float(np.hypot(*goal)), first + second - 1e-9)
    cosine = (first**2 + far**2 - second**2) / (2 * first * far)
    thigh = bearing(goal) + float(np.arccos(np.clip(cosine, -1, 1)))
    bent = np.array([-np.cos(thigh), np.sin(thigh)]) * first
    return thigh - bearing(knee - hip), bearing(goal - bent) - bearing(ankle - knee)


def bearing(line: Array) -> float:
    """Return how far a hanging line (y, z) points forward of straight down, in radians."""
    return float(np.arctan2(line[1], -line[0]))


def turned(points: Array, angle: float) -> Array:
    """Return points (..., 2) of (y, z) turned forward by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points @ np.array([[c, -s], [s, c]]))


def _smooth(share: float) -> float:
    share = min(max(share, 0.0), 1.0)
    return share * share * (3 - 2 * share)
