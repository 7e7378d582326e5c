"""What a world has shown of its instances, and which of them it forgets while they are away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENCE", "Memory", "seen_in"]

ABSENCE = 16
"""Frames out of view after which an instance may be forgotten."""


@dataclass(frozen=True)
class Memory:
    """When each instance was last in view, and how often it has come back since it was lost.

    Attributes:
        seed: Of the episode.
        dose: Probability that an absence ends in something else.
        last: Instance id -> frame in which it was last seen.
        absences: Instance id -> absences of at least ``ABSENCE`` frames so far.
    """

    seed: int
    dose: float
    last: Mapping[int, int]
    absences: Mapping[int, int]

    def returned(self, frame: int, ids: NDArray[np.uint16]) -> list[int]:
        """Return the ids seen in an id image that had been out of view for ``ABSENCE`` frames."""
        return [i for i in seen_in(ids) if i in self.last and frame - self.last[i] - 1 >= ABSENCE]

    def forgets(self, instance: int) -> int | None:
        """Return the seed to re-imagine an instance with as it comes back, None to keep it.

        The draw depends on episode, instance and absence only, so whatever a dose forgets, a
        larger dose forgets too, into the same thing.
        """
        draw = np.random.default_rng([self.seed, instance, self.absences.get(instance, 0), 41])
        chance, seed = float(draw.random()), int(draw.integers(1 << 31))
        return seed if chance < self.dose else None

    def after(self, frame: int, ids: NDArray[np.uint16], came_back: list[int]) -> Memory:
        """Return the memory once a frame with this id image has been shown."""
        last = {**self.last, **dict.fromkeys(seen_in(ids), frame)}
        absences = dict(self.absences)
        for i in came_back:
            absences[i] = absences.get(i, 0) + 1
        return replace(self, last=last, absences=absences)


def seen_in(ids: NDArray[np.uint16]) -> list[int]:
    """Return the instance ids in an id image, ascending."""
    counts = np.bincount(ids.ravel())
    return [int(i) for i in np.flatnonzero(counts) if i]
