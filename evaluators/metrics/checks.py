"""Refusing what a metric has no answer for, so that no NaN comes out of one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import WorldEnvError

LARGEST = 1e100
"""Squares and sums of larger numbers could overflow to infinity, and their ratios to NaN."""


class InvalidInput(WorldEnvError, ValueError):
    """A metric was given something of another shape or kind, or numbers that are not finite."""


def numbers(name: str, values: Any, *shape: int | str) -> NDArray[np.float64]:
    """Return values as float64 of a shape.

    Args:
        name: What the caller calls them.
        values: Anything that numpy can read.
        shape: One length an axis; a text stands for any length of at least 1.

    Raises:
        InvalidInput: another shape, or a number that is NaN, infinite or beyond 1e100.
    """
    wanted = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be numbers of shape {wanted}: {error}") from error
    if found.ndim != len(shape) or not all(
        n > 0 if isinstance(length, str) else n == length
        for n, length in zip(found.shape, shape, strict=True)
    ):
        raise InvalidInput(f"{name} must have shape {wanted}, got {found.shape}")
    # Written so that NaN fails it too.
    if not (np.abs(found) <= LARGEST).all():
        raise InvalidInput(f"{name} must be finite, got NaN, infinity or a number beyond 1e100")
    return found


def number(name: str, value: Any, low: float = -LARGEST) -> float:
    """Return one finite number of at least ``low``.

    Raises:
        InvalidInput: it is none.
    """
    found = float(numbers(name, value))
    if found < low:
        raise InvalidInput(f"{name} must be at least {low:g}, got {found:g}")
    return found


def check_image(image: Any) -> None:
    """Raise InvalidInput unless ``image`` is a uint8 image in colour with at least one pixel."""
    kind, shape = getattr(image, "dtype", type(image).__name__), np.shape(image)
    if kind != np.uint8 or len(shape) != 3 or shape[2] != 3 or 0 in shape:
        raise InvalidInput(
            f"images must be uint8 of shape (height, width, 3), not empty, got {kind} {shape}"
        )
