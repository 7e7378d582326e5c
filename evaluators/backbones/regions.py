"""A region: one thing that a segmenter found in one frame."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray


class Region(NamedTuple):
    """One thing in one frame.

    Attributes:
        track: Same for the same thing in neighbouring frames; it says nothing of whether a thing
            is the one that was there before an absence.
        category: What it was detected as.
        mask: Shape (height, width) bool.
        area: Share of the frame.
        cut: Share of its outline that lies on the border of the frame.
        score: Confidence of the detector in [0, 1]; 1 where it gives none.
    """

    track: int
    category: str
    mask: NDArray[np.bool_]
    area: float
    cut: float
    score: float = 1.0


def region(track: int, category: str, mask: NDArray[np.bool_], score: float = 1.0) -> Region:
    """Measure a mask."""
    pixels = mask.view(np.uint8)
    outline = int(np.count_nonzero(pixels)) - int(
        np.count_nonzero(cv2.erode(pixels, np.ones((3, 3), np.uint8), borderValue=0))
    )
    border = int(np.count_nonzero(mask[[0, -1]]) + np.count_nonzero(mask[1:-1][:, [0, -1]]))
    area = float(np.count_nonzero(pixels)) / mask.size
    return Region(track, category, mask, area, border / max(outline, 1), score)
