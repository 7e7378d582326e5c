"""What a world has shown of its instances, and what faults draw for them while they are away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENCE", "Memory", "chance", "seen_in"]

ABSENCE = 16
"""Frames out of view after which an instance may be forgotten."""
SALTS = {
    "forget": 41,
    "vanish": 47,
    "swap_objects": 53,
    "swap_people": 59,
    "duplicate": 89,
    "deform": 97,
    "layout_shuffle": 101,
    "restyle": 103,
}
"""Fault -> what sets its draws apart from those of the others."""
_GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: whole multiples of it, modulo 2^64, spread evenly."""


def chance(seed: int, *what: int) -> float:
    """Return the dose from which an all-or-nothing fault strikes, uniform in [0, 1).

    Over consecutive seeds the values of one thing are spread evenly (an additive recurrence of the
    golden ratio), so that it is struck in as many of a few episodes as the dose says. Within an
    episode the values of many things are as good as independent; those of two given things stay
    equally far apart in all episodes.

    Args:
        seed: Of the episode.
        what: Whole numbers that name what may be struck; they shift the values of all seeds.
    """
    shift = int(np.random.default_rng(what).integers(1 << 64, dtype=np.uint64))
    return ((int(seed) * _GOLDEN + shift) % (1 << 64) >> 11) / (1 << 53)


@dataclass(frozen=True)
class Memory:
    """When each instance was last in view, and how often it has come back since it was lost.

    Attributes:
        seed: Of the episode.
        absence: Frames out of view that count as an absence.
        last: Instance id -> frame in which it was last seen.
        absences: Instance id -> absences that have been decided about.
        settled: Instance id -> its ``last`` when that was done last.
    """

    seed: int
    absence: int = ABSENCE
    last: Mapping[int, int] = field(default_factory=dict)
    absences: Mapping[int, int] = field(default_factory=dict)
    settled: Mapping[int, int] = field(default_factory=dict)

    def away(self, frame: int) -> list[int]:
        """Return the ids that are absent before a frame and not decided about, ascending."""
        return [i for i in sorted(self.last) if self._lost(i, frame)]

    def returned(self, frame: int, ids: NDArray[np.uint16]) -> list[int]:
        """Return those of the ids in an id image that are absent and not decided about."""
        return [i for i in seen_in(ids) if i in self.last and self._lost(i, frame)]

    def _lost(self, instance: int, frame: int) -> bool:
        last = self.last[instance]
        return frame - last - 1 >= self.absence and self.settled.get(instance) != last

    def draw(self, fault: str, instance: int, doses: Mapping[str, float]) -> int | None:
        """Return the seed of what a fault makes of an instance as it comes back, None for nothing.

        The draw depends on episode, instance, absence and fault only, so whatever a dose does, a
        larger dose does too, with the same seed.
        """
        if fault not in doses:
            return None
        least, seed = self._drawn(fault, instance)
        return seed if least < doses[fault] else None

    def seed_of(self, fault: str, instance: int) -> int:
        """Return the seed of what a graded fault makes of an instance as it comes back."""
        return self._drawn(fault, instance)[1]

    def _drawn(self, fault: str, instance: int) -> tuple[float, int]:
        count = self.absences.get(instance, 0)
        what = (instance, count, SALTS[fault])
        rng = np.random.default_rng([self.seed, *what])
        return chance(self.seed, *what), int(rng.integers(1 << 31))

    def decided(self, instances: Collection[int]) -> Memory:
        """Return the memory once it has been decided what becomes of instances after an absence."""
        absences, settled = dict(self.absences), dict(self.settled)
        for i in instances:
            absences[i] = absences.get(i, 0) + 1
            settled[i] = self.last[i]
        return replace(self, absences=absences, settled=settled)

    def after(self, frame: int, ids: NDArray[np.uint16]) -> Memory:
        """Return the memory once a frame with this id image has been shown."""
        return replace(self, last={**self.last, **dict.fromkeys(seen_in(ids), frame)})


def seen_in(ids: NDArray[np.uint16]) -> list[int]:
    """Return the instance ids in an id image, ascending."""
    counts = np.bincount(ids.ravel())
    return [int(i) for i in np.flatnonzero(counts) if i]
