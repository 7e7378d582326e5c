"""Bringing one frame into the view of another, and comparing inside a mask."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.image import ssim_map
from worldenv.evaluators.metrics.match import Matches

Floats = NDArray[np.float64]
Frame = NDArray[np.uint8]


def warp_by_depth(
    source: Frame, depth: NDArray[np.float32], pose: Floats, source_pose: Floats, K: Floats
) -> tuple[Frame, NDArray[np.bool_]]:
    """Return ``source`` as seen from ``pose``, and where it is defined.

    Args:
        source: Shape (height, width, 3).
        depth: Planar metres of the view to fill, shape (height, width), 0 where nothing was hit.
        pose: Camera-to-world pose of that view.
        source_pose: Camera-to-world pose of ``source``.
        K: Intrinsics, shape (3, 3), pixels.
    """
    height, width = depth.shape
    v, u = np.meshgrid(np.arange(height) + 0.5, np.arange(width) + 0.5, indexing="ij")
    z = depth.astype(np.float64)
    camera = np.stack([(u - K[0, 2]) / K[0, 0] * z, (v - K[1, 2]) / K[1, 1] * z, z], axis=-1)
    relative = np.linalg.inv(source_pose) @ pose
    if np.array_equal(source_pose, pose):
        # Arithmetic would move pixels by 1e-14 and let bilinear sampling touch a neighbour.
        relative = np.eye(4)
    there = camera @ relative[:3, :3].T + relative[:3, 3]
    ahead = (z > 0) & (there[..., 2] > 1e-6)
    safe = np.where(ahead, there[..., 2], 1.0)
    x = there[..., 0] / safe * K[0, 0] + K[0, 2] - 0.5
    y = there[..., 1] / safe * K[1, 1] + K[1, 2] - 0.5
    x, y = np.round(x, 6), np.round(y, 6)
    valid = ahead & (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
    maps = np.where(valid, x, -1).astype(np.float32), np.where(valid, y, -1).astype(np.float32)
    return np.asarray(cv2.remap(source, *maps, cv2.INTER_LINEAR), np.uint8), valid


def warp_by_homography(source: Frame, matches: Matches) -> tuple[Frame, NDArray[np.bool_]] | None:
    """Return ``source`` under a RANSAC homography to the target view; None when there is none.

    Args:
        source: Shape (height, width, 3).
        matches: Between the target view (first) and the source (second).
    """
    if len(matches.first) < whole("ransac.min_matches"):
        return None
    H, _ = cv2.findHomography(matches.second, matches.first, cv2.RANSAC, constant("ransac.pixels"))
    if H is None or not np.isfinite(H).all():
        return None
    height, width = source.shape[:2]
    moved = cv2.warpPerspective(source, H, (width, height))
    everywhere = np.full((height, width), 255, np.uint8)
    valid = cv2.warpPerspective(everywhere, H, (width, height)) == 255
    return np.asarray(moved, np.uint8), valid


def masked_ssim(a: Frame, b: Frame, mask: NDArray[np.bool_]) -> float | None:
    """Return the mean of the SSIM map inside a mask, in [-1, 1]; None for an empty mask."""
    return float(ssim_map(a, b)[mask].mean()) if mask.any() else None
