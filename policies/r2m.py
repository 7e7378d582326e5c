"""The three trajectories of R2M-Bench, 481 frames each at the defaults."""

from __future__ import annotations

from worldenv.policies.script import Leg, Walk, fixed, script_name
from worldenv.policies.worldmembench import ORIGIN


def out_and_back(distance: float = 7.2, leg: int = 240) -> Walk:
    """Strafe right and back.

    Args:
        distance: Metres to the right.
        leg: Frames of each way.
    """
    name = script_name(out_and_back, dict(locals()))
    legs = [Leg("D1", leg, (distance, 0.0, 0.0, 0.0)), Leg("R1", leg, ORIGIN)]
    return fixed(name, legs)


def translation_rotation(distance: float = 2.4, angle: float = 48.0, frames: int = 481) -> Walk:
    """Forward and back, then yaw left, right, right, left, left: seven equal legs.

    It ends at -``angle``; that last leg goes away without a return (D4), yet passes places of D2.

    Args:
        distance: Metres forward.
        angle: Degrees of each yaw leg.
        frames: Frames in all; legs end at round((frames - 1) k / 7).
    """
    name = script_name(translation_rotation, dict(locals()))
    ends = [round((frames - 1) * k / 7) for k in range(8)]
    stops = [
        ("D1", (0.0, distance, 0.0, 0.0)),
        ("R1", ORIGIN),
        ("D2", (0.0, 0.0, -angle, 0.0)),
        ("R2", ORIGIN),
        ("D3", (0.0, 0.0, angle, 0.0)),
        ("R3", ORIGIN),
        ("D4", (0.0, 0.0, -angle, 0.0)),
    ]
    legs = [
        Leg(phase, after - before, waypoint)
        for (phase, waypoint), before, after in zip(stops, ends[:-1], ends[1:], strict=True)
    ]
    return fixed(name, legs)


def closed_loop(side: float = 4.0, leg: int = 117, pause: int = 3) -> Walk:
    """Forward, right, back and left around a square with the view fixed.

    Args:
        side: Metres of each side.
        leg: Frames of each side.
        pause: Frames held after each side; the last pause is H.
    """
    name = script_name(closed_loop, dict(locals()))
    corners = [(0.0, side), (side, side), (side, 0.0)]
    legs = []
    for right, forward in corners:
        legs += [Leg("D1", leg, (right, forward, 0.0, 0.0)), Leg("D1", pause)]
    legs += [Leg("R1", leg, ORIGIN), Leg("H", pause)]
    return fixed(name, legs)
