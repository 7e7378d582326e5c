"""Roles silhouette, presence and portrait: what a frame shows of the things that are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.shape import silhouette
from worldenv.evaluators.plan import Ask


class Silhouettes:
    """Answers ``silhouette``: track -> (Region without its mask, shape on a canvas)."""

    name = "silhouette"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the cutout of the frame."""
        return (Ask("cutout", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Normalise every mask; small ones keep no shape."""
        least = constant("worldmembench.min_area")
        return [
            {
                r.track: (without_mask(r), silhouette(r.mask) if r.area >= least else None)
                for r in regions
            }
            for ((_, regions),) in inputs
        ]


class Presence:
    """Answers ``presence`` for a Thing with the tracks that are large enough to be seen."""

    name = "presence"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the regions of the frame."""
        return (Ask("segment", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """List the tracks of every frame."""
        least = constant("worldmembench.min_area")
        return [frozenset(r.track for r in found if r.area >= least) for (found,) in inputs]


class Glances:
    """Answers ``glance`` for a Thing: how many a second, more easily convinced detector finds."""

    name = "glance"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return what the second detector finds in the frame."""
        return (Ask("second_detect", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Count."""
        return [len(found) for (found,) in inputs]


class Portrait(NamedTuple):
    """A face, and whose it is.

    Attributes:
        face: Where it was found.
        vector: Who it shows, unit vector.
        owner: The region it belongs to, without its mask; None where it belongs to none.
    """

    face: Face
    vector: NDArray[np.float32]
    owner: Region | None


class Portraits:
    """Answers ``portrait`` for a Thing (people) with a Portrait for every face of ``identity``."""

    name = "portrait"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the faces of the frame and the people in it."""
        return Ask("identity", ask.frames), Ask("segment", ask.frames, ask.subject)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Find the owner of every face."""
        return [portraits(faces, regions) for faces, regions in inputs]


def portraits(
    faces: Sequence[tuple[Face, NDArray[np.float32]]], regions: Sequence[Region]
) -> tuple[Portrait, ...]:
    """Return the faces with their owners.

    A face can belong to a region whose tight box holds enough of the face's box; it goes to the
    one whose mask fills most of it. One face a region, one region a face, fullest first.
    """
    offers = []
    for k, (face, _) in enumerate(faces):
        for region in regions:
            inside, filled = _within(face.box, region.mask)
            if inside >= constant("faces.inside"):
                offers.append((-filled, k, region.track, region))
    owners: dict[int, Region] = {}
    taken: set[int] = set()
    for _, k, track, region in sorted(offers, key=lambda offer: offer[:3]):
        if k not in owners and track not in taken:
            owners[k] = without_mask(region)
            taken.add(track)
    return tuple(Portrait(face, vector, owners.get(k)) for k, (face, vector) in enumerate(faces))


def _within(box: NDArray[np.float32], mask: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the shares of a box in pixels that lie in the tight box of a mask, and in the mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top, right, bottom = (float(x) for x in box)
    area = (right - left) * (bottom - top)
    if not len(rows) or area <= 0:
        return 0.0, 0.0
    width = min(right, columns[-1] + 1) - max(left, columns[0])
    height = min(bottom, rows[-1] + 1) - max(top, rows[0])
    inside = max(width, 0.0) * max(height, 0.0) / area
    part = mask[max(round(top), 0) : round(bottom), max(round(left), 0) : round(right)]
    return inside, int(np.count_nonzero(part)) / area


def without_mask(region: Region) -> Region:
    """Return the region with an empty mask, so that keeping it costs nothing."""
    return region._replace(mask=region.mask[:0])
