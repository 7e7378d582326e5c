"""Changes of the interior in closed form of time: a ball that rolls off, a door that opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.layout import Layout
from worldenv.worlds.reference.rooms import BALL, BALL_END, BALL_START
from worldenv.worlds.reference.scene import Instance, SceneEvent
from worldenv.worlds.reference.shapes import placed

ROLL_SECONDS = 13.0
SWING_SECONDS = 14.0
SWING_DEGREES = 64.0


def eased(t: float, duration: float) -> float:
    """Return the share (0 to 1) of a motion that starts at full speed and slows to rest evenly.

    Constant friction: the distance is v t - a t^2 / 2 with a = v / duration.
    """
    share = min(max(t / duration, 0.0), 1.0)
    return share * (2 - share)


def ball_rolls_off(layout: Layout) -> SceneEvent:
    """Roll the ball across the open floor until friction stops it; it turns without slipping."""
    instance = _mark(layout, "ball")
    start = instance.pose.copy()
    way = (BALL_END - BALL_START) * layout.mirror

    def pose(t: float) -> NDArray[np.float64]:
        distance = way * eased(t, ROLL_SECONDS)
        a = -distance / BALL  # Rolling towards +x turns clockwise seen from +z.
        turn = np.eye(4)
        turn[:2, :2] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
        lift, drop = placed(0, BALL, 0), placed(0, -BALL, 0)
        return np.asarray(placed(distance, 0, 0) @ start @ lift @ turn @ drop)

    return SceneEvent(
        "ball_rolls_off",
        "moving",
        instance.id,
        pose,
        lambda t: eased(t, ROLL_SECONDS),
        ROLL_SECONDS,
    )


def door_opens(layout: Layout) -> SceneEvent:
    """Swing the door leaf into the room about its hinge edge, slowing down to rest."""
    instance = _mark(layout, "door")
    start = instance.pose.copy()

    def pose(t: float) -> NDArray[np.float64]:
        return np.asarray(start @ placed(turn=-SWING_DEGREES * eased(t, SWING_SECONDS)))

    return SceneEvent(
        "door_opens", "opening", instance.id, pose, lambda t: eased(t, SWING_SECONDS), SWING_SECONDS
    )


EVENTS: dict[str, Callable[[Layout], SceneEvent]] = {
    "ball_rolls_off": ball_rolls_off,
    "door_opens": door_opens,
}


def _mark(layout: Layout, category: str) -> Instance:
    for i, instance in enumerate(layout.instances):
        if instance.category == category:
            layout.instances[i] = replace(instance, moves=True)
            return layout.instances[i]
    raise ValueError(f"the room has no {category} to move")
