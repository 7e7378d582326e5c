"""The five camera scripts of WorldMemBench."""

from __future__ import annotations

from worldenv.policies.script import Leg, Walk, lengthened, script_name

Waypoint = tuple[float, float, float, float]
ORIGIN: Waypoint = (0.0, 0.0, 0.0, 0.0)


def _returns(
    name: str,
    away: tuple[Waypoint, ...],
    hold: int,
    leg: int,
    end: int | None,
    frames: int | None,
) -> Walk:
    """Return V, then out to each waypoint and back, then H."""
    legs = [Leg("V", hold)]
    for k, waypoint in enumerate(away, start=1):
        legs += [Leg(f"D{k}", leg, waypoint), Leg(f"R{k}", leg, ORIGIN)]
    legs.append(Leg("H", hold if end is None else end))
    made = lengthened(legs, frames)
    return Walk(name, lambda case: made)


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
    name = script_name(lrlr, dict(locals()))
    return _returns(name, ((0.0, 0.0, -angle, 0.0),) * 2, hold, leg, end, frames)


def lrlrlr(
    hold: int = 60,
    leg: int = 60,
    angle: float = 60.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Left and right, three times: K = 3, 481 frames at the defaults; arguments as ``lrlr``."""
    name = script_name(lrlrlr, dict(locals()))
    return _returns(name, ((0.0, 0.0, -angle, 0.0),) * 3, hold, leg, end, frames)


def lrud(
    hold: int = 60,
    leg: int = 60,
    angle: float = 60.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Left and right, then up and down: K = 2, 361 frames; the first revisit equals ``lrlr``'s."""
    name = script_name(lrud, dict(locals()))
    away = ((0.0, 0.0, -angle, 0.0), (0.0, 0.0, 0.0, angle))
    return _returns(name, away, hold, leg, end, frames)


def square(
    hold: int = 60,
    leg: int = 60,
    side: float = 2.0,
    end: int | None = None,
    frames: int | None = None,
) -> Walk:
    """Forward, right, back and left with the view fixed: K = 1, 361 frames, sides in metres."""
    arguments = dict(locals())
    legs = [
        Leg("V", hold),
        Leg("D1", leg, (0.0, side, 0.0, 0.0)),
        Leg("D1", leg, (side, side, 0.0, 0.0)),
        Leg("D1", leg, (side, 0.0, 0.0, 0.0)),
        Leg("R1", leg, ORIGIN),
        Leg("H", hold if end is None else end),
    ]
    made = lengthened(legs, frames)
    return Walk(script_name(square, arguments), lambda case: made)


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
    arguments = dict(locals())
    legs = [
        Leg("V", hold),
        Leg("D1", leg, (0.0, 0.0, -angle, 0.0)),
        Leg("D1", away),
        Leg("R1", leg, ORIGIN),
        Leg("H", hold if end is None else end),
    ]
    made = lengthened(legs, frames)
    return Walk(script_name(dynamic, arguments), lambda case: made)
