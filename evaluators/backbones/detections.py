"""From boxes of a detector to regions: overlapping ones dropped, the largest first."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.regions import Region, region
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.plan import Thing

Floats = NDArray[np.float32]

ENTITIES = (
    "object",
    "furniture",
    "building",
    "vehicle",
    "plant",
    "person",
    "animal",
    "sign",
    "door",
    "window",
    "chair",
    "table",
    "sofa",
    "bed",
    "cabinet",
    "lamp",
    "screen",
    "picture",
    "shelf",
    "tree",
    "road",
    "wall",
    "floor",
)
"""Nouns that stand for every object (``*``); source: the released code of R2M-Bench."""


def noun_of(subject: Hashable) -> str:
    """Return what a subject asks for: a Thing's noun, that of the Thing it holds, or itself."""
    thing: Any = getattr(subject, "thing", subject)
    return thing.noun if isinstance(thing, Thing) else str(getattr(thing, "noun", thing))


def concept(phrase: str) -> str:
    """Return a detected phrase as a noun that can be asked for, ``object`` if nothing is left.

    Example:
        >>> concept("The  Red-Chair (wooden).")
        'the red-chair'
    """
    plain = re.sub(r"\([^)]*\)", " ", phrase.lower())
    plain = re.sub(r"[^a-z0-9 /_-]+", " ", plain)
    return " ".join(plain.split()) or "object"


def overlaps(boxes: Floats, others: Floats) -> Floats:
    """Return the intersection over union of boxes (n, 4) with others (m, 4), shape (n, m)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    own = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)[:, None]
    their = (others[:, 2:] - others[:, :2]).prod(axis=1)[None]
    return np.asarray(shared / np.maximum(own + their - shared, 1e-9), np.float32)


def kept(boxes: Floats, scores: Floats, most: int) -> list[int]:
    """Return which boxes stay, surest first: none overlaps a surer one by more than the limit."""
    limit = constant("detect.overlap")
    share = overlaps(boxes, boxes)
    out: list[int] = []
    # Stable, so that equal scores keep the network's order.
    for k in np.argsort(-scores, kind="stable").tolist():
        if len(out) < most and all(share[k, other] <= limit for other in out):
            out.append(k)
    return out


def boxed(
    boxes: Floats, scores: Floats, categories: Sequence[str], size: tuple[int, int], most: int = 0
) -> tuple[Region, ...]:
    """Return boxes as regions whose masks are filled boxes, largest first, tracks numbered from 1.

    Args:
        boxes: Shape (n, 4), left, top, right, bottom in pixels.
        scores: Shape (n,), confidence in [0, 1].
        categories: What each was detected as.
        size: Height and width of the frame.
        most: Most boxes that stay, 0 for the usual number.
    """
    height, width = size
    found = []
    for k in kept(boxes, scores, most or whole("detect.most")):
        left, top = np.floor(np.clip(boxes[k, :2], 0, (width, height))).astype(int)
        right, bottom = np.ceil(np.clip(boxes[k, 2:], 0, (width, height))).astype(int)
        if right > left and bottom > top:
            mask = np.zeros(size, np.bool_)
            mask[top:bottom, left:right] = True
            found.append((mask, categories[k], min(max(float(scores[k]), 0.0), 1.0)))
    found.sort(key=lambda entry: -np.count_nonzero(entry[0]))
    return tuple(
        region(track, category, mask, score)
        for track, (mask, category, score) in enumerate(found, start=1)
    )


def box_of(mask: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    """Return the tight box of a mask that is not empty: left, top, right, bottom in pixels."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
