"""Roles embed and place, classic: a colour and gradient descriptor of a frame or of a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.constants import constant
from worldenv.evaluators.plan import Ask, pixels

SIDE = 64
_BINS = 7
_CELLS = 4
_ORIENTATIONS = 8


class Descriptor:
    """Answers ``embed`` (and ``place``) with unit vectors.

    ``Ask(role, (frame,))`` gives the vector of the frame; ``Ask(role, (frame,), subject)`` gives
    track -> (Region without its mask, vector) for every region of the ``cutout`` that is large
    enough.
    """

    name = "colour-gradient-descriptor"
    revision = "1"
    checksum = ""
    batch = 1

    def __init__(self, role: str = "embed") -> None:
        self._role = role

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame, or its cutout where a subject is given."""
        whole = pixels(ask.frames[0])
        return (Ask("cutout", ask.frames, ask.subject) if ask.subject else whole,)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Describe every frame or its regions."""
        return [
            describe_regions(*value) if isinstance(value, tuple) else describe(value)
            for (value,) in inputs
        ]


def describe_regions(
    frame: NDArray[np.uint8], regions: Sequence[Region]
) -> dict[int, tuple[Region, NDArray[np.float32]]]:
    """Return track -> (region, vector) of the regions that are large enough."""
    least = constant("worldmembench.min_area")
    return {
        r.track: (r._replace(mask=r.mask[:0]), describe(frame, r.mask))
        for r in regions
        if r.area >= least
    }


def describe(
    frame: NDArray[np.uint8], mask: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    """Return a unit vector that says how a frame, or a masked thing in it, looks.

    Three parts of fixed weight, each of unit length: a soft colour histogram in CIELAB (square
    roots, so that the product is the Bhattacharyya coefficient), the colour of each cell of a
    grid around the mean, and gradient orientations a cell around their mean. The last two can
    disagree below zero: without centring, every pair of images looks alike.

    Args:
        frame: Shape (height, width, 3) uint8.
        mask: Shape (height, width) bool, not empty; the crop is its tight box.
    """
    crop, weight = _crop(frame, mask)
    lab = np.asarray(cv2.cvtColor(crop.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    colour = _histogram(lab, weight)
    cells = _layout(lab, weight)
    edges = _gradients(lab[..., 0], weight)
    return np.concatenate([np.sqrt(0.5) * colour, np.sqrt(0.2) * cells, np.sqrt(0.3) * edges])


def _crop(
    frame: NDArray[np.uint8], mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the tight crop and its weight, both SIDE x SIDE."""
    size = (SIDE, SIDE)
    if mask is None:
        small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        return np.asarray(small, np.uint8), np.ones(size, np.float32)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    inside, crop = mask[box], frame[box]
    # What lies around the thing must not be described: it takes the mean colour of the thing.
    mean = crop[inside].mean(axis=0)
    filled = np.where(inside[..., None], crop, np.rint(mean).astype(np.uint8))
    big = min(crop.shape[:2]) >= SIDE
    how = cv2.INTER_AREA if big else cv2.INTER_LINEAR
    weight = cv2.resize(inside.astype(np.float32), size, interpolation=how)
    return np.asarray(cv2.resize(filled, size, interpolation=how), np.uint8), np.asarray(weight)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    norm = float(np.linalg.norm(vector))
    # A flat image has no gradients; a constant vector keeps equal flat images equal.
    return vector / norm if norm > 1e-6 else np.full_like(vector, len(vector) ** -0.5)


def _histogram(lab: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the square root of a trilinear Lab histogram, unit length."""
    span = np.array([100 / (_BINS - 1), 160 / (_BINS - 1), 160 / (_BINS - 1)], np.float32)
    place = (lab.reshape(-1, 3) - np.array([0, -80, -80], np.float32)) / span
    place = np.clip(place, 0, _BINS - 1.001)
    low = place.astype(np.int32)
    part = place - low
    total = np.zeros(_BINS**3)
    w = weight.ravel()
    for corner in range(8):
        shift = [(corner >> axis) & 1 for axis in range(3)]
        share = w.copy()
        for axis in range(3):
            share *= part[:, axis] if shift[axis] else 1 - part[:, axis]
        index = ((low[:, 0] + shift[0]) * _BINS + low[:, 1] + shift[1]) * _BINS
        total += np.bincount(index + low[:, 2] + shift[2], share, minlength=_BINS**3)
    return _unit(np.sqrt(total).astype(np.float32))


def _pool(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return means of a grid of overlapping cells, shape (cells, cells, ...)."""
    blurred = cv2.GaussianBlur(image, (0, 0), SIDE / _CELLS / 2, borderType=cv2.BORDER_REFLECT)
    at = ((np.arange(_CELLS) + 0.5) * SIDE / _CELLS).astype(int)
    return np.asarray(blurred[np.ix_(at, at)])


def _layout(lab: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    colour = lab - np.array([50, 0, 0], np.float32)
    cells = _pool(colour * weight[..., None]) / (_pool(weight)[..., None] + 0.05)
    return _unit(cells.ravel())


def _gradients(lightness: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    smooth = cv2.GaussianBlur(lightness, (0, 0), 1.0)
    gx = cv2.Sobel(smooth, cv2.CV_32F, 1, 0) * weight
    gy = cv2.Sobel(smooth, cv2.CV_32F, 0, 1) * weight
    size = np.sqrt(np.hypot(gx, gy))
    place = (np.arctan2(gy, gx) % np.pi) * (_ORIENTATIONS / np.pi)
    low = place.astype(np.int32)
    part = place - low
    low %= _ORIENTATIONS
    channels = [
        size * (np.where(low == k, 1 - part, 0) + np.where((low + 1) % _ORIENTATIONS == k, part, 0))
        for k in range(_ORIENTATIONS)
    ]
    cells = np.stack([_pool(np.asarray(c, np.float32)) for c in channels], axis=-1)
    cells = cells - cells.mean(axis=-1, keepdims=True)
    return _unit(cells.ravel())
