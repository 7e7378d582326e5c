"""Silhouette against silhouette."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import whole
from worldenv.evaluators.metrics.checks import InvalidInput


def silhouette(mask: NDArray[np.bool_], canvas: int | None = None) -> NDArray[np.bool_]:
    """Return a mask cropped to its tight box, scaled and centred on a square canvas.

    The longest side of the box fills the canvas, the aspect ratio stays; shape (canvas, canvas).

    Raises:
        InvalidInput: the mask is empty or no image, or the canvas has no pixel.
    """
    side = whole("worldmembench.canvas") if canvas is None else canvas
    if np.ndim(mask) != 2 or side < 1:
        raise InvalidInput(
            f"a mask must have shape (height, width) and a canvas a side of at least 1, got "
            f"{np.shape(mask)} and {side}"
        )
    mask = np.asarray(mask, dtype=np.bool_)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        raise InvalidInput("an empty mask has no silhouette")
    crop = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = side / max(crop.shape)
    height = max(1, round(crop.shape[0] * scale))
    width = max(1, round(crop.shape[1] * scale))
    # Linear then half: a nearest-neighbour resize shifts thin outlines by up to a source pixel.
    soft = cv2.resize(crop.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    out = np.zeros((side, side), dtype=np.bool_)
    top, left = (side - height) // 2, (side - width) // 2
    out[top : top + height, left : left + width] = soft >= 0.5
    return out


def silhouette_iou(a: NDArray[np.bool_], b: NDArray[np.bool_], canvas: int | None = None) -> float:
    """Return the overlap of two normalised silhouettes, in [0, 1]; higher is better.

    ``IoU(C(a), C(b))`` with C the crop, scale and centring of ``silhouette``: blind to image
    translation and uniform scale, not to shape. Source: WorldMemBench Eq. 5; the canvas (128) is
    ours.

    Args:
        a: Shape (height, width) bool, not empty.
        b: Any (height, width) bool, not empty.
        canvas: Side of the common canvas in pixels.

    Raises:
        InvalidInput: a mask is empty or no image.

    Example:
        >>> small, large = np.zeros((9, 9), bool), np.zeros((9, 9), bool)
        >>> small[1:3, 1:3] = large[2:8, 3:9] = True
        >>> silhouette_iou(small, large)
        1.0
    """
    return overlap(silhouette(a, canvas), silhouette(b, canvas))


def overlap(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """Return intersection over union of two masks of one shape; 1 when both are empty."""
    union = int(np.count_nonzero(a | b))
    return 1.0 if union == 0 else int(np.count_nonzero(a & b)) / union
