"""The controls that a run walks beside the world under test, and what each is for."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["CONTROLS", "FLOORS", "PERFECT", "PROBES", "Control"]

Role = Literal["ceiling", "floor", "gaming check"]


class Control(NamedTuple):
    """A world between which and others a score is read.

    Attributes:
        faults: What it plants in Reference-v0, each with its dose.
        role: ``ceiling`` and ``floor`` bound what a score can be; a ``gaming check`` remembers or
            shows nothing worth a score, and should get none for it.
        meaning: What it is and what to hold against it, as one sentence.
    """

    faults: dict[str, float]
    role: Role
    meaning: str


CONTROLS: dict[str, Control] = {
    "perfect": Control({}, "ceiling", "The reference world forgets nothing: the best there is."),
    "codec": Control(
        {"compression": 0.5},
        "ceiling",
        "The perfect world after a video codec: what lies above it may be lost to mp4 alone.",
    ),
    "amnesiac": Control(
        {"forget": 1.0},
        "floor",
        "All that was out of view comes back as something else: nothing is remembered.",
    ),
    "frozen": Control(
        {"frozen": 1.0},
        "gaming check",
        "Frame 0 for ever: it never leaves, so it shows which scores a still picture wins.",
    ),
    "slow": Control(
        {"slow_motion": 1.0},
        "gaming check",
        "A perfect memory at a quarter of the pace: shows which scores reward hardly moving.",
    ),
    "drift": Control(
        {"camera_drift": 0.3},
        "floor",
        "A perfect memory behind a camera that wanders off: what bad control alone costs.",
    ),
}
"""Name -> control, in the order in which reports show them."""

PERFECT = "perfect"
"""Walks every item."""

FLOORS = ("amnesiac", "frozen")
"""Walk, in each suite, the first item with people, with other things, and with an event."""

PROBES = ("codec", "slow", "drift")
"""Walk one item of each benchmark."""
