"""Frame against frame: PSNR and SSIM."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant, whole

Array = NDArray[np.float64]


def psnr(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Return the peak signal-to-noise ratio of two uint8 images, in dB; higher is better.

    ``10 log10(255^2 / max(MSE, 1/12))``: from 0 to 58.92 dB. The floor is the rounding noise of
    uint8; without it equal frames give infinity and decide every mean alone. Source: R2M-Bench
    A.1 (scikit-image); the floor is ours.

    Args:
        a: Shape (height, width, 3) uint8.
        b: Same shape.

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

    Example:
        >>> black = np.zeros((8, 8, 3), np.uint8)
        >>> ssim(black, black), round(ssim(black, black + 255), 4)
        (1.0, 0.0001)
    """
    pad = (whole("ssim.window") - 1) // 2
    return float(ssim_map(a, b)[pad:-pad, pad:-pad].mean())


def ssim_map(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> Array:
    """Return the SSIM of every pixel, shape (height, width), mean over channels.

    Windows at the border are completed by reflection; ``ssim`` leaves those pixels out.
    """
    _same_shape(a, b)
    window = whole("ssim.window")
    if min(a.shape[:2]) < window:
        raise ValueError(f"ssim needs images of at least {window} pixels a side, got {a.shape}")
    x, y = a.astype(np.float64), b.astype(np.float64)

    def box(image: Array) -> Array:
        return np.asarray(cv2.boxFilter(image, -1, (window, window), borderType=cv2.BORDER_REFLECT))

    sample = window**2 / (window**2 - 1)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mean_x, mean_y = box(x), box(y)
    var_x = sample * (box(x * x) - mean_x * mean_x)
    var_y = sample * (box(y * y) - mean_y * mean_y)
    covariance = sample * (box(x * y) - mean_x * mean_y)
    top = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    bottom = (mean_x * mean_x + mean_y * mean_y + c1) * (var_x + var_y + c2)
    return np.asarray((top / bottom).mean(axis=2))


def _same_shape(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> None:
    for image in (a, b):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise ValueError(
                f"images must be uint8 of shape (height, width, 3), got {image.dtype} {image.shape}"
            )
    if a.shape != b.shape:
        raise ValueError(f"images must have one shape, got {a.shape} and {b.shape}")
