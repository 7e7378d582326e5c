"""What the shown state says of an event: did it start, go on unseen, and end as it should?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from worldenv.evaluators.backbones.truth import shown
from worldenv.evaluators.constants import constant
from worldenv.evaluators.plan import Ask, truth

ASPECTS = ("dynamic_progress", "dynamic_persistence", "dynamic_final_state", "dynamic_causal")


INVARIANTS = (
    "never went back",
    "not reset on return",
    "the thing is there at the end",
    "the thing stayed the same",
    "one event, never out of range",
)
"""Answers of ``judge`` that hold of any event that obeys its own course."""


class Glimpse(NamedTuple):
    """The event in one frame.

    Attributes:
        progress: 0 (start) to 1 (final state), None when no event is shown.
        name: Name of the shown event.
        variant: Variant of the thing that changes, None when it is gone.
        in_view: Whether the frame shows that thing; a world that does not say so shows it.
    """

    progress: float | None
    name: str | None
    variant: str | None
    in_view: bool = True


class TruthEvent:
    """Answers ``event`` with a Glimpse; the subject is the id of the thing that changes."""

    name = "truth-event"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the state of the frame."""
        return (truth("state", ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Read the event of every frame."""
        return [glimpse(state, ask.subject) for ask, (state,) in zip(asks, inputs, strict=True)]


def glimpse(state: Mapping[str, Any], instance: Any) -> Glimpse:
    """Return what a state says of its event."""
    event = state.get("event") or {}
    progress = event.get("progress")
    things = shown(state)
    thing = things.get(int(instance)) if isinstance(instance, int) else None
    variant = None if thing is None else str(thing.get("variant"))
    if not isinstance(instance, int):
        variant = ""
    shows = bool(event.get("in_view", True))
    return Glimpse(None if progress is None else float(progress), event.get("name"), variant, shows)


def started(in_view: Sequence[Glimpse]) -> bool:
    """Return whether at least two frames of the initial hold show concrete, growing progress."""
    least = constant("worldmembench.progress_start")
    seen = [g.progress for g in in_view if g.progress is not None and g.progress > least]
    return len(seen) >= 2 and max(seen) > min(seen)


class Absence(NamedTuple):
    """Where an event is left and met again.

    Attributes:
        left: Index of the last glimpse before the longest absence.
        back: Index of the first glimpse after it.
        met: Whether it is in view there.
    """

    left: int
    back: int
    met: bool


def absence(
    before: Sequence[Glimpse], away: Sequence[Glimpse], after: Sequence[Glimpse]
) -> Absence:
    """Return where an event is left and met again, as indices into the three parts end to end.

    An event that never goes out of view is left with ``before`` and met with ``after``.
    """
    every = [*before, *away, *after]
    longest = (0, 0)
    start: int | None = None
    for index, glimpse in enumerate(every):
        if glimpse.in_view:
            start = index
        elif start is not None and index - start > longest[1] - longest[0]:
            longest = (start, index)
    left, gone = longest
    if gone == left:
        return Absence(len(before) - 1, len(before) + len(away), True)
    if gone + 1 == len(every):
        return Absence(left, gone, False)
    return Absence(left, gone + 1, True)


def judge(
    before: Sequence[Glimpse], away: Sequence[Glimpse], after: Sequence[Glimpse]
) -> dict[str, bool]:
    """Answer the eight questions from the state shown before, during and after the absence.

    Two an aspect, in the order of ASPECTS; True means as a world that kept the event would show.
    What is not in view on return has neither gone on nor come to its end.
    """
    every = [*before, *away, *after]
    progress = np.array([np.nan if g.progress is None else g.progress for g in every])
    known = bool(np.isfinite(progress).all()) and bool(before) and bool(after)
    slack = 1e-6
    least = constant("worldmembench.progress_start")
    steady = known and bool((np.diff(progress) >= -slack).all())
    left, back, met = absence(before, away, after)
    # What it did in view just before and after the absence is not what it did unseen.
    in_view = 0.0
    if known and not all(g.in_view for g in every):
        in_view = 3 * float(np.diff(progress[max(left - 2, 0) : left + 1]).max(initial=0.0))
    at_left, at_back = (progress[left], progress[back]) if known else (np.nan, np.nan)
    reached = max(at_left, progress[back - 1]) if known else np.nan
    final, ends_in_view = (progress[-1], after[-1].in_view) if after else (np.nan, False)
    return {
        # It counts as gone on when it grew, or had nothing left to grow.
        "went on while unseen": bool(
            known and met and at_back > min(at_left + in_view + least, 1 - least)
        ),
        "further at the end than when left": bool(
            known and ends_in_view and final > min(at_left + least, 1 - least)
        ),
        "the thing stayed the same": len({g.variant for g in every}) == 1
        and None not in {g.variant for g in every},
        # Back at the start is what has lost more than half of the way it had come.
        "not reset on return": bool(known and at_back >= reached / 2 - slack),
        "reached its final state": bool(known and ends_in_view and final >= 1 - least),
        "the thing is there at the end": ends_in_view and after[-1].variant is not None,
        "never went back": steady,
        "one event, never out of range": known
        and len({g.name for g in every}) == 1
        and bool(((progress >= 0) & (progress <= 1 + slack)).all()),
    }
