"""Role embed, classic: a colour and gradient descriptor of a frame or of a region."""

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
_LIGHT, _COLOUR, _REACH = 8, 11, 60
_CELLS = 4
_ORIENTATIONS = 8


class Descriptor:
    """Answers ``embed`` with unit vectors.

    ``Ask("embed", (frame,))`` gives the vector of the frame; with a subject it gives
    track -> (Region without its mask, vector) for every region of the ``cutout`` that is large
    enough.
    """

    name = "colour-gradient-descriptor"
    revision = "1"
    checksum = ""
    batch = 1

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
    # Every second pixel each way: the crop is smooth, and the histogram is the costly part.
    bins = np.array([_LIGHT, _COLOUR, _COLOUR], np.float32)
    low_end, width = np.array([0, -_REACH, -_REACH], np.float32), 2 * _REACH
    span = np.array([100, width, width], np.float32) / (bins - 1)
    place = np.clip((lab[::2, ::2].reshape(-1, 3) - low_end) / span, 0, bins - 1.001)
    low = place.astype(np.int64)
    part = place - low
    share = np.stack([1 - part, part]) * np.ones(3, np.float32)
    w = weight[::2, ::2].reshape(1, 1, 1, -1)
    weights = (
        share[:, None, None, :, 0] * share[None, :, None, :, 1] * share[None, None, :, :, 2] * w
    )
    index = (low @ np.array([_COLOUR * _COLOUR, _COLOUR, 1]))[None, :] + _CORNERS[:, None]
    total = np.bincount(index.ravel(), weights.ravel(), minlength=_LIGHT * _COLOUR**2)
    return _unit(np.sqrt(total).astype(np.float32))


def _pooling() -> NDArray[np.float32]:
    """Return Gaussian weights of overlapping cells, shape (cells, SIDE), rows of sum 1."""
    centers = (np.arange(_CELLS) + 0.5) * SIDE / _CELLS
    away = (np.arange(SIDE) + 0.5 - centers[:, None]) / (SIDE / _CELLS / 2)
    weights = np.exp(-0.5 * away**2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


_CORNERS = np.array([(k // 4 * _COLOUR + k // 2 % 2) * _COLOUR + k % 2 for k in range(8)])
_POOL = _pooling()


def _pool(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return cell means of channels (n, SIDE, SIDE), shape (n, cells, cells)."""
    return np.asarray(_POOL @ channels @ _POOL.T, np.float32)


def _layout(lab: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    colour = (lab - np.array([50, 0, 0], np.float32)) * weight[..., None]
    cells = _pool(np.ascontiguousarray(colour.transpose(2, 0, 1)))
    return _unit((cells / (_pool(weight[None]) + np.float32(0.05))).ravel())


def _gradients(lightness: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    smooth = cv2.GaussianBlur(lightness, (0, 0), 1.0)
    gx = cv2.Sobel(smooth, cv2.CV_32F, 1, 0) * weight
    gy = cv2.Sobel(smooth, cv2.CV_32F, 0, 1) * weight
    size = np.sqrt(np.hypot(gx, gy)).ravel()
    place = ((np.arctan2(gy, gx) % np.pi) * (_ORIENTATIONS / np.pi)).ravel()
    low = place.astype(np.int64)
    part = place - low
    channels = np.zeros((_ORIENTATIONS, SIDE * SIDE), np.float32)
    here = np.arange(SIDE * SIDE)
    channels[low % _ORIENTATIONS, here] = size * (1 - part)
    channels[(low + 1) % _ORIENTATIONS, here] = size * part
    cells = _pool(channels.reshape(_ORIENTATIONS, SIDE, SIDE))
    return _unit((cells - cells.mean(axis=0)).ravel())
