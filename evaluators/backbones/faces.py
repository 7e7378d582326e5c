"""A face: what a face detector found in one frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Face(NamedTuple):
    """One face in one frame; the answer of role ``faces`` is a tuple of them, best first.

    The answer of role ``identity`` is a tuple of (Face, unit vector (d,) float32) of the same
    frame, without the faces that are too small to be told apart.

    Attributes:
        box: Left, top, right, bottom in pixels, shape (4,).
        landmarks: Eyes (left in the picture first), nose tip, mouth corners (left first) in
            pixels, shape (5, 2).
        score: Confidence of the detector in [0, 1].
    """

    box: NDArray[np.float32]
    landmarks: NDArray[np.float32]
    score: float
