"""How alike a thing looks over time: feature centroids, cosines, light."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.checks import InvalidInput, check_image, number, numbers

Array = NDArray[np.float64]


def cosine(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    """Return the cosine of two vectors, in [-1, 1]; 0 when either is zero.

    A vector against itself gives exactly 1.

    Raises:
        InvalidInput: they are no vectors of one length, or not finite.
    """
    x = numbers("a", a, "d")
    y = numbers("b", b, len(x))
    if np.array_equal(x, y):
        return 1.0 if x.any() else 0.0
    norm = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
    return 0.0 if norm == 0 else float(np.clip(float(x @ y) / norm, -1.0, 1.0))


def centroid_consistency(features: NDArray[np.floating]) -> float:
    """Return the mean cosine of features to their mean, in [-1, 1]; higher is better.

    ``(1/N) sum cos(f_i, mean(f))``. Source: MBench, Texture, Identity and Appearance.

    Args:
        features: Shape (n, d), n >= 1.

    Raises:
        InvalidInput: another shape, or numbers that are not finite.

    Example:
        >>> centroid_consistency(np.array([[1.0, 0.0], [1.0, 0.0]]))
        1.0
    """
    rows = numbers("features", features, "n", "d")
    centroid = rows[0] if (rows == rows[0]).all() else rows.mean(axis=0)
    return float(np.mean([cosine(row, centroid) for row in rows]))


def lab_mean(frame: NDArray[np.uint8]) -> Array:
    """Return the mean CIELAB colour of a frame, shape (3,): L in 0..100, then a and b."""
    check_image(frame)
    # uint8 input gives Lab squeezed into 0..255; floats keep CIE units.
    lab = cv2.cvtColor(frame.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    return np.asarray(lab.reshape(-1, 3).mean(axis=0, dtype=np.float64))


def lighting_consistency(
    pairs: Sequence[tuple[NDArray[np.floating], NDArray[np.floating]]],
    alpha: float | None = None,
    tau: float | None = None,
) -> float:
    """Return how well light and colour return, in (0, 1]; higher is better.

    ``exp(-D / tau)``, D the mean over segment pairs of ``|L_i - L_j| + alpha |ab_i - ab_j|_2``
    with L and ab averaged over a segment. Source: MBench, Lighting; alpha (1) and tau (10) are
    ours.

    Args:
        pairs: Segments of the outgoing and of the return pass, each the ``lab_mean`` of its
            frames, shape (n, 3).
        alpha: Weight of the colour shift.
        tau: Temperature in units of L, above 0.

    Raises:
        InvalidInput: there is no pair, a segment is empty, or a number is not finite.

    Example:
        >>> there = np.array([[50.0, 0, 0]])
        >>> lighting_consistency([(there, there)])
        1.0
        >>> round(lighting_consistency([(there, there + [[10.0, 0, 0]])]), 4)
        0.3679
    """
    if not len(pairs):
        raise InvalidInput("lighting_consistency needs at least one pair of segments")
    a = constant("mbench.lighting_alpha") if alpha is None else number("alpha", alpha, 0.0)
    t = constant("mbench.lighting_tau") if tau is None else number("tau", tau)
    if t <= 0:
        raise InvalidInput(f"tau must be above 0, got {t:g}")
    deviations = []
    for pair in pairs:
        if len(pair) != 2:
            raise InvalidInput(f"pairs must hold two segments each, got {len(pair)}")
        first, second = (numbers("a segment", segment, "n", 3).mean(axis=0) for segment in pair)
        shift = first - second
        deviations.append(abs(float(shift[0])) + a * math.hypot(float(shift[1]), float(shift[2])))
    return math.exp(-float(np.mean(deviations)) / t)
