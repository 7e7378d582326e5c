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
    """

    progress: float | None
    name: str | None
    variant: str | None


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
    return Glimpse(None if progress is None else float(progress), event.get("name"), variant)


def started(in_view: Sequence[Glimpse]) -> bool:
    """Return whether at least two frames of the initial hold show concrete, growing progress."""
    least = constant("worldmembench.progress_start")
    seen = [g.progress for g in in_view if g.progress is not None and g.progress > least]
    return len(seen) >= 2 and max(seen) > min(seen)


def judge(
    before: Sequence[Glimpse], away: Sequence[Glimpse], after: Sequence[Glimpse]
) -> dict[str, bool]:
    """Answer the eight questions from the state shown before, during and after the absence.

    Two an aspect, in the order of ASPECTS; True means as a world that kept the event would show.
    """
    every = [*before, *away, *after]
    progress = np.array([np.nan if g.progress is None else g.progress for g in every])
    known = bool(np.isfinite(progress).all()) and bool(before) and bool(after)
    last_seen = progress[len(before) - 1] if before else np.nan
    first_back, final = (progress[-len(after)], progress[-1]) if after else (np.nan, np.nan)
    slack = 1e-6
    least = constant("worldmembench.progress_start")
    steady = known and bool((np.diff(progress) >= -slack).all())
    unseen = progress[len(before) : len(before) + len(away)]
    return {
        # It counts as gone on when it grew, or had nothing left to grow.
        "went on while unseen": bool(known and first_back > min(last_seen + least, 1 - least)),
        "further at the end than when left": bool(
            known and final > min(last_seen + least, 1 - least)
        ),
        "never went back": steady,
        "not reset on return": bool(
            known and first_back >= (unseen[-1] if len(unseen) else last_seen) - slack
        ),
        "reached its final state": bool(known and final >= 1 - least),
        "the thing is there at the end": bool(after) and after[-1].variant is not None,
        "the thing stayed the same": len({g.variant for g in every}) == 1
        and None not in {g.variant for g in every},
        "one event, never out of range": known
        and len({g.name for g in every}) == 1
        and bool(((progress >= 0) & (progress <= 1 + slack)).all()),
    }
