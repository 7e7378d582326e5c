"""Frame against frame: PSNR and SSIM."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.checks import InvalidInput, check_image

Array = NDArray[np.float64]


def psnr(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Return the peak signal-to-noise ratio of two uint8 images, in dB; higher is better.

    ``10 log10(255^2 / max(MSE, 1/12))``: from 0 to 58.92 dB. The floor is the rounding noise of
    uint8; without it equal frames give infinity and decide every mean alone. Source: R2M-Bench
    A.1 (scikit-image); the floor is ours.

    Args:
        a: Shape (height, width, 3) uint8.
        b: Same shape.

    Raises:
        InvalidInput: they are no images, or empty, or of unequal shape.

    Example:
        >>> black = np.zeros((8, 8, 3), np.uint8)
        >>> round(psnr(black, black), 2), psnr(black, black + 255)
        (58.92, 0.0)
    """
    _same_shape(a, b)
    difference = a.astype(np.int32) - b.astype(np.int32)
    mse = float(np.mean(np.square(difference)))
    return 10 * math.log10(255.0**2 / max(mse, constant("psnr.mse_floor")))


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Return the structural similarity of two RGB images, in [-1, 1]; higher is better.

    Uniform 7 x 7 windows, sample covariance, K1 = 0.01, K2 = 0.03, range 255, mean over channels
    and over pixels whose window lies inside: equal to scikit-image's defaults. Source: R2M-Bench
    A.1, Wang et al. 2004.

    Args:
        a: Shape (height, width, 3) uint8, each side at least 7.
        b: Same shape.

    Raises:
        InvalidInput: they are no images, or too small, or of unequal shape.

    Example:
        >>> black = np.zeros((8, 8, 3), np.uint8)
        >>> ssim(black, black), round(ssim(black, black + 255), 4)
        (1.0, 0.0001)
    """
    _check_window(a, b)
    return float(_ssim(a, b).mean())


def ssim_map(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> Array:
    """Return the SSIM of every pixel, shape (height, width), mean over channels.

    Windows at the border are completed by reflection; ``ssim`` leaves those pixels out.
    """
    _check_window(a, b)
    pad = (whole("ssim.window") - 1) // 2
    wide = [cv2.copyMakeBorder(x, pad, pad, pad, pad, cv2.BORDER_REFLECT) for x in (a, b)]
    return np.asarray(_ssim(np.asarray(wide[0]), np.asarray(wide[1])).mean(axis=2))


def _check_window(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> None:
    _same_shape(a, b)
    window = whole("ssim.window")
    if min(a.shape[:2]) < window:
        raise InvalidInput(f"ssim needs images of at least {window} pixels a side, got {a.shape}")


def _ssim(a: NDArray[Any], b: NDArray[Any]) -> Array:
    """Return the SSIM of every pixel and channel whose window lies inside."""
    window, rows = whole("ssim.window"), 16
    out = np.empty((a.shape[0] - window + 1, a.shape[1] - window + 1, 3))
    # Strips that fit the cache: fresh memory for whole images costs more than the arithmetic.
    for start in range(0, len(out), rows):
        part = np.s_[start : start + rows + window - 1]
        out[start : start + rows] = _ssim_strip(a[part], b[part], window)
    return out


def _ssim_strip(a: NDArray[Any], b: NDArray[Any], window: int) -> Array:
    x, y = a.astype(np.float32), b.astype(np.float32)
    count, pad = window**2, (window - 1) // 2
    inside = np.s_[pad : a.shape[0] - pad, pad : a.shape[1] - pad]

    def total(image: NDArray[np.float32]) -> Array:
        # Sums of whole numbers below 2^24 are exact in float32, and half the work.
        sums = cv2.boxFilter(
            image, -1, (window, window), normalize=False, borderType=cv2.BORDER_REFLECT
        )
        return np.asarray(sums[inside], np.float64)

    # All terms times count^2 (means) or count (count - 1) (covariances).
    c1, c2 = (0.01 * 255) ** 2 * count**2, (0.03 * 255) ** 2 * count * (count - 1)
    sx, sy = total(x), total(y)
    sxy, squares = sx * sy, sx * sx + sy * sy
    top = (2 * sxy + c1) * (2 * (count * total(x * y) - sxy) + c2)
    bottom = (squares + c1) * (count * total(x * x + y * y) - squares + c2)
    return np.asarray(top / bottom)


def _same_shape(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> None:
    for image in (a, b):
        check_image(image)
    if a.shape != b.shape:
        raise InvalidInput(f"images must have one shape, got {a.shape} and {b.shape}")
