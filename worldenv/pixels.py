"""Faults on single pictures: blur, scaling, noise and brightness, by dose."""

from __future__ import annotations

import math
import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["blurred", "draw", "exposed", "noisy", "scaled"]

BLUR = 0.03
"""Standard deviation of the blur at dose 1, as a share of the picture's width."""
SCALE = 8.0
"""How many times smaller a picture becomes at dose 1 before it is scaled up again."""
NOISE = 48.0
"""Standard deviation of the noise at dose 1, in grey levels."""
STOPS = 3.0
"""How far brightness can wander at dose 1, in stops to either side."""
PERIODS = (2.0, 8.0)
"""Shortest and longest period of a wave of the brightness, seconds."""
_GAMMA = 2.2
_WAVES = 3


def draw(seed: int, fault: str, *index: int) -> np.random.Generator:
    """Return the generator of one decision, independent of other faults' and other frames'."""
    return np.random.default_rng([seed & (2**64 - 1), zlib.crc32(fault.encode()), *index])


def blurred(frame: NDArray[np.uint8], dose: float) -> NDArray[np.uint8]:
    """Return a picture (height, width, 3) under a Gaussian blur that grows with the dose."""
    import cv2

    sigma = BLUR * dose * frame.shape[1]
    return np.asarray(cv2.GaussianBlur(frame, (0, 0), sigma), dtype=np.uint8)


def scaled(frame: NDArray[np.uint8], dose: float) -> NDArray[np.uint8]:
    """Return a picture (height, width, 3) scaled down by area and up again linearly."""
    import cv2

    height, width = frame.shape[:2]
    factor = 1.0 + (SCALE - 1.0) * dose
    small = (max(1, round(width / factor)), max(1, round(height / factor)))
    shrunk = cv2.resize(frame, small, interpolation=cv2.INTER_AREA)
    grown = cv2.resize(shrunk, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(grown, dtype=np.uint8)


def noisy(frame: NDArray[np.uint8], dose: float, seed: int, index: int) -> NDArray[np.uint8]:
    """Return a picture (height, width, 3) with noise; its pattern depends on seed and index only.

    Args:
        frame: The picture.
        dose: Scales the pattern.
        seed: Of the episode.
        index: Of the frame, so that no two frames share a pattern.
    """
    pattern = draw(seed, "noise", index).standard_normal(frame.shape, dtype=np.float32)
    pattern *= np.float32(NOISE * dose)
    pattern += frame
    return np.clip(np.rint(pattern), 0, 255).astype(np.uint8)


def exposed(frame: NDArray[np.uint8], dose: float, seed: int, seconds: float) -> NDArray[np.uint8]:
    """Return a picture (height, width, 3) brighter or darker, as the moment has it.

    Brightness wanders smoothly from what it is at 0 seconds; the course depends on the seed, how
    far it goes on the dose.
    """
    import cv2

    random = draw(seed, "exposure")
    periods = np.exp(random.uniform(math.log(PERIODS[0]), math.log(PERIODS[1]), _WAVES))
    starts = random.uniform(0, 2 * np.pi, _WAVES)
    turns = 2 * np.pi * seconds / periods
    wave = float(np.mean(np.sin(starts + turns) - np.sin(starts)))
    gain = 2.0 ** (STOPS * dose * math.tanh(wave) / _GAMMA)
    table = np.clip(np.rint(np.arange(256) * gain), 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(frame, table), dtype=np.uint8)
