"""How far the look of surfaces drifts: distances of Gram matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.checks import InvalidInput, number, numbers


def gram_distance(a: Sequence[NDArray[np.floating]], b: Sequence[NDArray[np.floating]]) -> float:
    """Return the mean over layers of the Frobenius distance of two frames' Gram matrices, >= 0.

    Args:
        a: One matrix (channels, channels) a layer.
        b: The same layers of the other frame.

    Raises:
        InvalidInput: the layers differ in number or size, or there is none.

    Example:
        >>> gram_distance([np.eye(2)], [np.eye(2)]), gram_distance([np.eye(1)], [4 * np.eye(1)])
        (0.0, 3.0)
    """
    if len(a) != len(b) or not len(a):
        raise InvalidInput(f"both frames need the same layers, got {len(a)} and {len(b)}")
    distances = []
    for first, second in zip(a, b, strict=True):
        x = numbers("a Gram matrix", first, "channels", "channels")
        y = numbers("a Gram matrix", second, *x.shape)
        distances.append(float(np.linalg.norm(x - y)))
    return float(np.mean(distances))


def style_consistency(distances: Sequence[float], tau: float | None = None) -> float:
    """Return how well the style returns, in (0, 1]; higher is better.

    ``exp(-mean distance / tau)``. Source: MBench, Style (the distance); the map and tau (1) are
    ours.

    Args:
        distances: ``gram_distance`` of paired frames, at least one.
        tau: Temperature, above 0.

    Raises:
        InvalidInput: there is no pair, a distance is negative or not finite, or tau not above 0.

    Example:
        >>> style_consistency([0.0]), round(style_consistency([0.5, 1.5]), 4)
        (1.0, 0.3679)
    """
    found = numbers("distances", distances, "n")
    if found.min() < 0:
        raise InvalidInput(f"distances must be at least 0, got {found.min():g}")
    t = constant("mbench.style_tau") if tau is None else number("tau", tau)
    if t <= 0:
        raise InvalidInput(f"tau must be above 0, got {t:g}")
    return math.exp(-float(found.mean()) / t)
