"""Depth against depth: rank order, and surfaces on a sphere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.checks import InvalidInput, number, numbers

Array = NDArray[np.float64]

_FINEST = 1e-3


def depth_spearman(
    a: NDArray[np.float32], b: NDArray[np.float32], grid: int | None = None
) -> float | None:
    """Return the rank correlation of two depth images, in [-1, 1]; higher is better.

    Spearman's rho over a grid of points; sky (0 or not finite) ranks farthest, ties are averaged.
    Source: WorldMemBench, Environment Depth; grid (32 x 32) and sky are ours.

    Args:
        a: Shape (height, width), metres, 0 where nothing was hit.
        b: Same shape.
        grid: Points a side.

    Returns:
        None when either depth is constant: order has no meaning there.

    Raises:
        InvalidInput: they are no (height, width) images of one shape, or empty.

    Example:
        >>> slope = np.arange(1, 65, dtype=np.float32).reshape(8, 8)
        >>> depth_spearman(slope, 3 * slope), depth_spearman(slope, slope[::-1, ::-1])
        (1.0, -1.0)
    """
    points = whole("worldmembench.depth_grid") if grid is None else grid
    _check_depths(a, b)
    if points < 1:
        raise InvalidInput(f"grid must be at least 1, got {points}")
    rows = ((np.arange(points) + 0.5) * a.shape[0] / points).astype(int)
    columns = ((np.arange(points) + 0.5) * a.shape[1] / points).astype(int)
    ranks = []
    for image in (a, b):
        values = image[np.ix_(rows, columns)].astype(np.float64).ravel()
        values[~np.isfinite(values) | (values <= 0)] = np.inf
        rank = rankdata(values) - (len(values) + 1) / 2
        norm = float(np.sqrt(rank @ rank))
        if norm == 0:
            return None
        ranks.append(rank / norm)
    # Equal order is exactly 1; the product of equal unit vectors may miss it by rounding.
    if np.array_equal(ranks[0], ranks[1]):
        return 1.0
    return float(np.clip(ranks[0] @ ranks[1], -1.0, 1.0))


def _check_depths(a: NDArray[np.float32], b: NDArray[np.float32]) -> None:
    shapes = np.shape(a), np.shape(b)
    if shapes[0] != shapes[1] or len(shapes[0]) != 2 or 0 in shapes[0]:
        raise InvalidInput(
            f"depths must be arrays of one (height, width) shape, got {shapes[0]} and {shapes[1]}"
        )
    for depth in (a, b):
        if not isinstance(depth, np.ndarray) or depth.dtype.kind not in "fiu":
            raise InvalidInput("depths must be arrays of real numbers")


def spherical_field(
    depth: NDArray[np.float32], pose: Array, K: Array, bin_degrees: float | None = None
) -> tuple[NDArray[np.int64], Array]:
    """Return the occupied angular bins of a depth image and the nearest log-range in each.

    Points are placed by pose; directions are taken from the origin of frame-0 coordinates, azimuth
    and elevation in equal steps. Sky occupies no bin.

    Returns:
        (bins, log ranges): shapes (n,) ascending and (n,).
    """
    step = constant("worldmembench.bin_degrees") if bin_degrees is None else bin_degrees
    width = depth.shape[1]
    z = depth.astype(np.float64).ravel()
    hit = np.isfinite(z) & (z > 0)
    v, u = np.divmod(np.flatnonzero(hit), width)
    z = z[hit]
    x = (u + 0.5 - K[0, 2]) / K[0, 0] * z
    y = (v + 0.5 - K[1, 2]) / K[1, 1] * z
    points = np.stack([x, y, z], axis=1) @ pose[:3, :3].T + pose[:3, 3]
    distance = np.linalg.norm(points, axis=1)
    points, distance = points[distance > 1e-6], distance[distance > 1e-6]
    azimuth = np.degrees(np.arctan2(points[:, 0], points[:, 2])) + 180
    elevation = np.degrees(np.arcsin(np.clip(-points[:, 1] / distance, -1, 1))) + 90
    columns = int(np.ceil(360 / step))
    rows = int(np.ceil(180 / step))
    column = np.minimum((azimuth / step).astype(np.int64), columns - 1)
    row = np.minimum((elevation / step).astype(np.int64), rows - 1)
    key = row * columns + column
    order = np.lexsort((distance, key))
    bins, first = np.unique(key[order], return_index=True)
    return bins, np.log(distance[order][first])


def spherical_reconstruction(
    depth_a: NDArray[np.float32],
    pose_a: Array,
    depth_b: NDArray[np.float32],
    pose_b: Array,
    K: Array,
    bin_degrees: float | None = None,
    min_bins: int | None = None,
) -> float | None:
    """Return how well two depth images describe the same surfaces, in [0, 1]; higher is better.

    ``(1/|U|) sum over C of exp(-|H - G - median_C(H - G)|)`` with H and G the nearest log-ranges a
    bin, C the common and U all occupied bins: global scale is removed; missing, extra and
    displaced surfaces cost. Source: WorldMemBench Eq. 6; bin (1 degree), kernel and the least
    number of common bins (100) are ours.

    Args:
        depth_a: Reference, shape (height, width), metres, planar, 0 where nothing was hit.
        pose_a: Its camera-to-world pose, shape (4, 4).
        depth_b: Revisit, same shape.
        pose_b: Its pose.
        K: Intrinsics, shape (3, 3), pixels of the depth images.
        bin_degrees: Side of an angular bin.
        min_bins: Fewest common bins.

    Returns:
        None with too few common bins.

    Raises:
        InvalidInput: unequal depths, or poses or intrinsics that are none.
    """
    _check_depths(depth_a, depth_b)
    pose_a, pose_b = numbers("pose_a", pose_a, 4, 4), numbers("pose_b", pose_b, 4, 4)
    K = numbers("K", K, 3, 3)
    if min(K[0, 0], K[1, 1]) <= 0:
        raise InvalidInput("K must have focal lengths above 0")
    if bin_degrees is not None:
        number("bin_degrees", bin_degrees, _FINEST)
    value, common, _ = spherical_agreement(depth_a, pose_a, depth_b, pose_b, K, bin_degrees)
    fewest = whole("worldmembench.min_bins") if min_bins is None else min_bins
    return None if common < fewest else value


def spherical_agreement(
    depth_a: NDArray[np.float32],
    pose_a: Array,
    depth_b: NDArray[np.float32],
    pose_b: Array,
    K: Array,
    bin_degrees: float | None = None,
) -> tuple[float, int, int]:
    """Return (agreement, common bins, all occupied bins); agreement is 0 without common bins."""
    bins_a, range_a = spherical_field(depth_a, pose_a, K, bin_degrees)
    bins_b, range_b = spherical_field(depth_b, pose_b, K, bin_degrees)
    common, at_a, at_b = np.intersect1d(bins_a, bins_b, assume_unique=True, return_indices=True)
    union = len(bins_a) + len(bins_b) - len(common)
    if not len(common):
        return 0.0, 0, union
    residual = range_a[at_a] - range_b[at_b]
    residual = residual - np.median(residual)
    return float(np.exp(-np.abs(residual)).sum()) / union, len(common), union
