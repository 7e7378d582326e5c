"""Resizing as image libraries of networks do it: kernels widen when an image shrinks, 8 bits."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kernel = Literal["bilinear", "bicubic"]
Image = NDArray[np.uint8]

IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_DEVIATION = (0.26862954, 0.26130258, 0.27577711)

_REACH = {"bilinear": 1.0, "bicubic": 2.0}


def resample(image: Image, width: int, height: int, kernel: Kernel = "bicubic") -> Image:
    """Return an image at another size, within one grey level of Pillow's result.

    First along rows, then along columns, each pass rounded to 8 bits, as Pillow and through it
    the image processors of most networks do. OpenCV's kernels do not widen, so that they alias.

    Args:
        image: Shape (h, w, channels) uint8.
        width: Wanted width in pixels.
        height: Wanted height in pixels.
        kernel: ``bilinear`` (triangle) or ``bicubic`` (a = -0.5).
    """
    h, w, channels = image.shape
    out = image
    if w != width:
        rows = out.transpose(0, 2, 1).reshape(h * channels, w).astype(np.float32)
        wide = _rounded(rows @ _weights(w, width, kernel).T)
        out = wide.reshape(h, channels, width).transpose(0, 2, 1)
    if h != height:
        columns = np.ascontiguousarray(out).reshape(h, width * channels).astype(np.float32)
        out = _rounded(_weights(h, height, kernel) @ columns).reshape(height, width, channels)
    return np.ascontiguousarray(out)


def _rounded(values: NDArray[np.float32]) -> Image:
    return np.asarray(np.clip(np.floor(values + np.float32(0.5)), 0, 255), np.uint8)


@lru_cache(maxsize=64)
def _weights(size: int, wanted: int, kernel: Kernel) -> NDArray[np.float32]:
    """Return what each old pixel gives to each new one, shape (wanted, size), rows of sum 1."""
    scale = size / wanted
    spread = max(scale, 1.0)
    reach = _REACH[kernel] * spread
    out = np.zeros((wanted, size))
    for row in range(wanted):
        centre = (row + 0.5) * scale
        low = max(int(centre - reach + 0.5), 0)
        high = min(int(centre + reach + 0.5), size)
        away = np.abs((np.arange(low, high) - centre + 0.5) / spread)
        out[row, low:high] = _triangle(away) if kernel == "bilinear" else _cubic(away)
    return np.asarray(out / out.sum(axis=1, keepdims=True), np.float32)


def _triangle(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(0.0, 1.0 - x)


def _cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    a = -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def short_side(image: Image, side: int, kernel: Kernel = "bicubic", longest: int = 0) -> Image:
    """Return the image with its shorter side at ``side`` pixels, its shape kept.

    Args:
        image: Shape (h, w, channels) uint8.
        side: Wanted length of the shorter side.
        kernel: See resample.
        longest: Upper bound of the longer side, 0 for none.
    """
    h, w = image.shape[:2]
    exact = float(side)
    if longest and max(h, w) / min(h, w) * side > longest:
        exact = longest * min(h, w) / max(h, w)
        side = round(exact)
    other = max(int(exact * max(h, w) / min(h, w)), 1)
    width, height = (side, other) if w < h else (other, side)
    return resample(image, width, height, kernel)


def centre(image: Image, side: int) -> Image:
    """Return the central square; the image must not be smaller than it."""
    top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
    return np.ascontiguousarray(image[top : top + side, left : left + side])


def central(image: Image, side: int, kernel: Kernel = "bicubic") -> Image:
    """Return the central square of an image whose shorter side is resized to ``side`` first.

    Of an image that is more than four times as long as wide, the ends go before, not after: a
    sliver would otherwise become a gigantic image.
    """
    longest = 4 * min(image.shape[:2])
    top, left = (max((extent - longest) // 2, 0) for extent in image.shape[:2])
    middle = image[top : top + longest, left : left + longest]
    return centre(short_side(middle, side, kernel), side)
