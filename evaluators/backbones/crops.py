"""Crops of masked things: the tight box, with what lies around the thing painted over."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.metrics.checks import InvalidInput

Background = Literal["white", "mean", "keep"]
"""``white`` as R2M-Bench has it, ``mean`` colour of the thing, or ``keep`` the frame."""


def crop(
    frame: NDArray[np.uint8],
    mask: NDArray[np.bool_],
    background: Background = "white",
    margin: float = 0.0,
) -> NDArray[np.uint8]:
    """Return the tight crop around a mask.

    Args:
        frame: Shape (height, width, 3) uint8.
        mask: Shape (height, width) bool, not empty.
        background: What the pixels outside the mask become.
        margin: Widening of the box on every side, share of its longer side; clipped at the frame.

    Raises:
        InvalidInput: the mask is empty or of another size.
    """
    if mask.shape != frame.shape[:2] or not mask.any():
        raise InvalidInput(
            f"a mask {mask.shape} of a frame {frame.shape} must fit and not be empty"
        )
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    pad = round(margin * max(bottom - top, right - left))
    box = np.s_[max(top - pad, 0) : bottom + pad, max(left - pad, 0) : right + pad]
    inside, part = mask[box], frame[box]
    if background == "keep":
        return part.copy()
    colour = np.full(3, 255.0) if background == "white" else part[inside].mean(axis=0)
    return np.where(inside[..., None], part, np.rint(colour).astype(np.uint8))


def squared(image: NDArray[np.uint8], colour: int = 255) -> NDArray[np.uint8]:
    """Return the image centred on a square of one grey level, so that resizing keeps its shape."""
    height, width = image.shape[:2]
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2
    square = np.full((side, side, 3), colour, np.uint8)
    square[top : top + height, left : left + width] = image
    return square


def resized(image: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """Return the image at a size: by area where it shrinks, bilinear where it grows."""
    if image.shape[:2] == (height, width):
        return image
    shrinks = image.shape[0] >= height and image.shape[1] >= width
    how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (width, height), interpolation=how), np.uint8)


def normalised(
    images: list[NDArray[np.uint8]],
    mean: tuple[float, float, float],
    deviation: tuple[float, float, float],
) -> NDArray[np.float32]:
    """Return RGB images of one size as (n, 3, height, width) float32.

    Every value is ``(x / 255 - mean) / deviation`` of its channel.
    """
    stack = np.stack(images).astype(np.float32) / np.float32(255)
    scaled = (stack - np.asarray(mean, np.float32)) / np.asarray(deviation, np.float32)
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))
