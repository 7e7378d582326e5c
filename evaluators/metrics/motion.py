"""Camera motion: twists against commands, and matches against estimated poses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.checks import InvalidInput, number, numbers

Array = NDArray[np.float64]


def twist_alignment(estimated: Array, commanded: Array, depth: float | None = None) -> float | None:
    """Return the mean cosine of estimated and commanded twists, in [-1, 1]; higher is better.

    Rotations in radians; translations divided by ``depth`` so that both have no unit. Steps where
    nothing was commanded are left out; a (near) zero estimate where motion was commanded scores
    0. Source: MBench, Action; the scale is ours.

    Args:
        estimated: Shape (n, 6), degrees and metres.
        commanded: Shape (n, 6), degrees and metres.
        depth: Median scene depth in the units of the translations; None leaves them raw.

    Returns:
        None when no step commands a motion.

    Raises:
        InvalidInput: unequal shapes, or numbers that are not finite.

    Example:
        >>> right = np.array([[0, 1.0, 0, 0, 0, 0]])
        >>> twist_alignment(right, right), twist_alignment(-right, right)
        (1.0, -1.0)
    """
    steps = twist_cosines(estimated, commanded, depth)
    return float(np.mean(steps)) if len(steps) else None


def twist_cosines(estimated: Array, commanded: Array, depth: float | None = None) -> Array:
    """Return the cosine of every step that commands a motion, shape (m,)."""
    if np.shape(estimated) != np.shape(commanded):
        raise InvalidInput(
            f"twists must have one shape (n, 6), got {np.shape(estimated)} and "
            f"{np.shape(commanded)}"
        )
    if np.shape(estimated) == (0, 6):
        return np.zeros(0)
    estimated, commanded = (numbers("twists", rows, "n", 6) for rows in (estimated, commanded))
    depth = number("depth", depth, 1e-9) if depth else None
    scale = np.array([math.pi / 180] * 3 + [1 / depth if depth else 1.0] * 3)
    e, c = estimated * scale, commanded * scale
    still = constant("mbench.still") * math.pi / 180
    moving = np.linalg.norm(c, axis=1) > still
    e, c = e[moving], c[moving]
    norm_e, norm_c = np.linalg.norm(e, axis=1), np.linalg.norm(c, axis=1)
    cosines = np.sum(e * c, axis=1) / np.maximum(norm_e * norm_c, 1e-300)
    return np.clip(np.where(norm_e > still, cosines, 0.0), -1.0, 1.0)


def fundamental(pose_a: Array, pose_b: Array, K: Array) -> Array:
    """Return F (3, 3) with ``x_b^T F x_a = 0`` from camera-to-world poses and intrinsics."""
    relative = np.linalg.inv(pose_b) @ pose_a
    t = relative[:3, 3]
    cross = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]])
    inverse = np.linalg.inv(K)
    return np.asarray(inverse.T @ cross @ relative[:3, :3] @ inverse)


def epipolar_error(points_a: Array, points_b: Array, F: Array) -> float:
    """Return the mean distance of points to their epipolar lines, both ways, in pixels.

    Args:
        points_a: Shape (n, 2), n >= 1.
        points_b: Shape (n, 2).
        F: ``x_b^T F x_a = 0``, shape (3, 3).
    """
    one = np.ones((len(points_a), 1))
    a, b = np.hstack([points_a, one]), np.hstack([points_b, one])
    lines_b, lines_a = a @ F.T, b @ F
    residual = np.abs(np.sum(b * lines_b, axis=1))
    length_b = np.maximum(np.linalg.norm(lines_b[:, :2], axis=1), 1e-12)
    length_a = np.maximum(np.linalg.norm(lines_a[:, :2], axis=1), 1e-12)
    return float(np.mean(0.5 * (residual / length_b + residual / length_a)))


def transfer_error(points_a: Array, points_b: Array, rotation: Array, K: Array) -> float:
    """Return the mean distance of points to where a pure rotation takes them, in pixels.

    Args:
        points_a: Shape (n, 2), n >= 1.
        points_b: Shape (n, 2).
        rotation: Camera a to camera b, shape (3, 3).
        K: Intrinsics, shape (3, 3).
    """
    H = K @ rotation @ np.linalg.inv(K)
    moved = np.hstack([points_a, np.ones((len(points_a), 1))]) @ H.T
    ahead = moved[:, 2] > 1e-9
    # A point that the rotation takes behind the camera is as far off as the image is wide.
    far = np.full(len(points_a), 2 * K[0, 2])
    safe = np.where(ahead, moved[:, 2], 1.0)[:, None]
    distance = np.linalg.norm(moved[:, :2] / safe - points_b, axis=1)
    return float(np.mean(np.where(ahead, distance, far)))


def epipolar_consistency(errors: Sequence[float]) -> float | None:
    """Return exp(-mean error), in (0, 1]; higher is better.

    Source: MBench, Epipolar Geometry: errors are the mean of the two point-line distances of
    verified matches (``epipolar_error``), or transfer errors where there is no baseline.

    Args:
        errors: Pixels, one a frame pair.

    Returns:
        None without pairs.

    Raises:
        InvalidInput: an error is negative or not finite.

    Example:
        >>> epipolar_consistency([0.0, 0.0])
        1.0
    """
    if not np.size(errors):
        return None
    pixels = numbers("errors", errors, "pairs")
    if pixels.min() < 0:
        raise InvalidInput(f"errors must be at least 0, got {pixels.min():g}")
    return math.exp(-float(pixels.mean()))


def reprojection_error(
    points_a: Array, points_b: Array, pose_a: Array, pose_b: Array, K: Array
) -> float:
    """Return the mean distance of triangulated points to their observations, in pixels.

    Source: MBench, Reprojection; linear triangulation, mean over both images.
    """
    views = [K @ np.linalg.inv(pose)[:3] for pose in (pose_a, pose_b)]
    rows = [
        points[:, k : k + 1] * view[2] - view[k]
        for points, view in zip((points_a, points_b), views, strict=True)
        for k in (0, 1)
    ]
    _, _, basis = np.linalg.svd(np.stack(rows, axis=1))
    X = basis[:, -1]
    errors = []
    for points, view in zip((points_a, points_b), views, strict=True):
        seen = X @ view.T
        depth = np.where(np.abs(seen[:, 2]) > 1e-12, seen[:, 2], 1e-12)[:, None]
        errors.append(np.linalg.norm(seen[:, :2] / depth - points, axis=1))
    # Far points that triangulate at infinity would swamp the mean of an otherwise good pair.
    return float(np.mean(np.minimum(np.concatenate(errors), 2 * K[0, 2])))
