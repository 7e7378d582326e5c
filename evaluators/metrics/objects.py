"""Objects of two frames: are the anchors of the first found again, alike, and as what they were?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.appearance import cosine


class Anchor(NamedTuple):
    """An object of the first frame.

    Attributes:
        concept: What it is looked for as.
        vector: How it looks.
    """

    concept: str
    vector: NDArray[np.floating]


class Candidate(NamedTuple):
    """What a concept was found as in the second frame.

    Attributes:
        vector: How it looks.
        score: Confidence of the detector in [0, 1].
        likeness: Cosine of its crop with the concept's text, None without role text.
    """

    vector: NDArray[np.floating]
    score: float
    likeness: float | None = None


class ObjectScores(NamedTuple):
    """Object identity of a pair of frames, each score in [0, 1]; higher is better.

    Attributes:
        appearance: Mean appearance of the matched anchors; Eq. 15.
        semantic: Mean semantics of the matched anchors; Eq. 16.
        app_persist: Appearance over all anchors, unmatched ones 0; Eq. 17.
        sem_persist: Semantics over all anchors, unmatched ones 0; Eq. 18.
        anchors: Number of anchors.
        matched: How many were found again.
    """

    appearance: float
    semantic: float
    app_persist: float
    sem_persist: float
    anchors: int
    matched: int


NOTHING = ObjectScores(0.0, 0.0, 0.0, 0.0, 0, 0)
"""A first frame without anchors."""


def object_identity(
    anchors: Sequence[Anchor], candidates: Mapping[str, Sequence[Candidate]]
) -> ObjectScores:
    """Return how far the objects of one frame are found again in another.

    Appearance ``a = clip01((1 + cos) / 2)`` (Eq. 12), semantics ``u``: confidence and rescaled
    text cosine in equal parts, or the confidence alone without a text role (Eq. 13), match score
    ``r``: both weighted equally (Eq. 14). The candidate with the largest r is the anchor again
    when r is at least 0.5. Source: R2M-Bench A.1.

    Args:
        anchors: Objects of the first frame.
        candidates: Concept -> what was found of it in the second.

    Example:
        >>> x = np.array([1.0, 0.0])
        >>> object_identity([Anchor("chair", x)], {"chair": [Candidate(x, 0.5)]}).sem_persist
        0.5
        >>> object_identity([Anchor("chair", x)], {"chair": []}).app_persist
        0.0
    """
    if not anchors:
        return NOTHING
    weight = constant("r2m.object_appearance")
    looks, means = [], []
    for anchor in anchors:
        best: tuple[float, float, float] | None = None
        for candidate in candidates[anchor.concept]:
            a = _rescaled(cosine(anchor.vector, candidate.vector))
            u = _clip01(candidate.score)
            if candidate.likeness is not None:
                u = (u + _rescaled(candidate.likeness)) / 2
            r = weight * a + (1 - weight) * u
            if best is None or r > best[0]:
                best = (r, a, u)
        if best is not None and best[0] >= constant("r2m.object_match"):
            looks.append(best[1])
            means.append(best[2])
    n, found = len(anchors), len(looks)
    a_sum, u_sum = float(np.sum(looks)), float(np.sum(means))
    return ObjectScores(
        a_sum / found if found else 0.0,
        u_sum / found if found else 0.0,
        a_sum / n,
        u_sum / n,
        n,
        found,
    )


def _clip01(value: float) -> float:
    return min(1.0, max(0.0, value))


def _rescaled(cosine_: float) -> float:
    return _clip01(cosine_ / 2 + 0.5)
