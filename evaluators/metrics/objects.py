"""Objects of two frames: are the anchors of the first still there, and alike?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.appearance import cosine


def appearance_persistence(first: Mapping[int, Any], second: Mapping[int, Any]) -> float:
    """Return how far the objects of one frame persist in another, in [0, 1]; higher is better.

    The (at most 10) largest objects of the first frame are anchors; each is compared with the (at
    most 5) largest of its category in the second by ``clip01((1 + cos) / 2)``; the best counts
    when it is at least 0.5, else the anchor scores 0; mean over anchors, 0 without any. Source:
    R2M-Bench Eqs. 12 and 17; without a semantic score the match rests on appearance alone.

    Args:
        first: Track -> (Region, vector).
        second: Same, of the later frame.
    """
    least = constant("r2m.object_area")

    def largest(objects: Mapping[int, Any]) -> list[tuple[Any, Any]]:
        kept = [(r, v) for r, v in objects.values() if r.area >= least]
        return sorted(kept, key=lambda entry: (-entry[0].area, entry[0].track))

    anchors = largest(first)[: whole("r2m.anchors")]
    if not anchors:
        return 0.0
    later = largest(second)
    total = 0.0
    for anchor, vector in anchors:
        candidates = [v for r, v in later if r.category == anchor.category]
        best = max(
            ((1 + cosine(vector, v)) / 2 for v in candidates[: whole("r2m.candidates")]),
            default=0.0,
        )
        total += best if best >= constant("r2m.object_match") else 0.0
    return total / len(anchors)
