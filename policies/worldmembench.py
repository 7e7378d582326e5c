"""The five camera scripts of WorldMemBench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldenv.policies.script import Leg, Walk, fixed, script_name

Waypoint = tuple[float, float, float, float]
ORIGIN: Waypoint = (0.0, 0.0, 0.0, 0.0)


def _returns(script: Callable[..., Walk], arguments: dict[str, Any], turns: str) -> Walk:
    """Return V, then a turn out and back for each letter (left, up), then H."""
    name = script_name(script, arguments)
    hold, leg, angle, end = (arguments[key] for key in ("hold", "leg", "angle", "end"))
    away = {"L": (0.0, 0.0, -angle, 0.0), "U": (0.0, 0.0, 0.0, angle)}
    legs = [Leg("V", hold)]
    for k, turn in enumerate(turns, start=1):
        legs += [Leg(f"D{k}", leg, away[turn]), Leg(f"R{k}", leg, ORIGIN)]
    legs.append(Leg("H", hold if end is None else end))
    return fixed(name, legs, arguments["frames"])


def lrlr(
    hold: int = 60,
    leg: int = 60,
    angle: float = 60.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Left and right, twice: K = 2, 361 frames at the defaults.

    Args:
        hold: Frames of V after frame 0.
        leg: Frames of each leg.
        angle: Degrees of each leg.
        end: Frames of H, None for ``hold``.
        frames: Frames in all; lengthens H.
    """
    return _returns(lrlr, dict(locals()), "LL")


def lrlrlr(
    hold: int = 60,
    leg: int = 60,
    angle: float = 60.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Left and right, three times: K = 3, 481 frames at the defaults; arguments as ``lrlr``."""
    return _returns(lrlrlr, dict(locals()), "LLL")


def lrud(
    hold: int = 60,
    leg: int = 60,
    angle: float = 60.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Left and right, then up and down: K = 2, 361 frames; the first revisit equals ``lrlr``'s."""
    return _returns(lrud, dict(locals()), "LU")


def square(
    hold: int = 60,
    leg: int = 60,
    side: float = 2.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Forward, right, back and left with the view fixed: K = 1, 361 frames, sides in metres."""
    name = script_name(square, dict(locals()))
    legs = [
        Leg("V", hold),
        Leg("D1", leg, (0.0, side, 0.0, 0.0)),
        Leg("D1", leg, (side, side, 0.0, 0.0)),
        Leg("D1", leg, (side, 0.0, 0.0, 0.0)),
        Leg("R1", leg, ORIGIN),
        Leg("H", hold if end is None else end),
    ]
    return fixed(name, legs, frames)


def dynamic(
    hold: int = 60,
    leg: int = 120,
    away: int = 120,
    angle: float = 60.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Watch the event start, look away, come back: K = 1, 481 frames at the defaults.

    Args:
        hold: Frames of V after frame 0; the event starts here.
        leg: Frames of the way out and of the way back.
        away: Frames held out of view, part of D1.
        angle: Degrees turned to the left.
        end: Frames of H, which the judge sees; None for ``hold``.
        frames: Frames in all; lengthens H.
    """
    name = script_name(dynamic, dict(locals()))
    legs = [
        Leg("V", hold),
        Leg("D1", leg, (0.0, 0.0, -angle, 0.0)),
        Leg("D1", away),
        Leg("R1", leg, ORIGIN),
        Leg("H", hold if end is None else end),
    ]
    return fixed(name, legs, frames)
