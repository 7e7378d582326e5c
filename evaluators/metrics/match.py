"""Local features of two frames: how many match, and how many of those share one geometry."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.checks import InvalidInput


class Keypoints(NamedTuple):
    """Local features of a frame.

    Attributes:
        points: Shape (n, 2) float32, pixels (x, y).
        descriptors: Shape (n, d) float32.
    """

    points: NDArray[np.float32]
    descriptors: NDArray[np.float32]


class Matches(NamedTuple):
    """What a matcher found between two frames; the answer of role ``matches``.

    Attributes:
        first: Matched points of the first frame, shape (m, 2) float32, pixels (x, y), the centre
            of the top left pixel at (0, 0).
        second: The same points in the second frame, shape (m, 2).
        counts: Keypoints detected in the first and in the second frame.
    """

    first: NDArray[np.float32]
    second: NDArray[np.float32]
    counts: tuple[int, int]


class Correspondence(NamedTuple):
    """What two sets of keypoints have in common.

    Attributes:
        match_ratio: Matches over the smaller number of keypoints, in [0, 1]; higher is better.
        inlier_ratio: Matches that obey one fundamental matrix, in [0, 1]; higher is better.
        matches: Number of matches.
        inliers: Number of inliers.
    """

    match_ratio: float
    inlier_ratio: float
    matches: int
    inliers: int


def matched(a: Keypoints, b: Keypoints) -> NDArray[np.int64]:
    """Return index pairs (m, 2) that pass the ratio test, one to one, nearest first kept."""
    if len(a.points) < 1 or len(b.points) < 2:
        return np.zeros((0, 2), np.int64)
    distance, index = cv2.batchDistance(
        a.descriptors, b.descriptors, cv2.CV_32F, normType=cv2.NORM_L2, K=2
    )
    good = np.flatnonzero(distance[:, 0] < constant("sift.ratio") * distance[:, 1])
    target = index[good, 0]
    # Several points of a may claim one of b; without this the ratio could exceed 1.
    order = np.lexsort((good, distance[good, 0], target))
    _, first = np.unique(target[order], return_index=True)
    keep = np.sort(order[first])
    return np.stack([good[keep], target[keep]], axis=1).astype(np.int64)


def correspondence(a: Keypoints, b: Keypoints) -> Correspondence:
    """Return match ratio and RANSAC inlier ratio of two frames; higher is better.

    ``|M| / max(min(K_a, K_b), 1)`` and ``|I| / |M|`` with a fundamental matrix fitted by RANSAC
    (3 px, 0.99); under 8 matches, or when the fit fails, the inlier ratio is 0. Source: R2M-Bench
    Eqs. 19-21; the ratio test (0.8) is ours.

    Raises:
        InvalidInput: points and descriptors do not fit, or are not finite.

    Example:
        >>> none = Keypoints(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32))
        >>> correspondence(none, none)
        Correspondence(match_ratio=0.0, inlier_ratio=0.0, matches=0, inliers=0)
    """
    for side in (a, b):
        points, descriptors = np.asarray(side.points), np.asarray(side.descriptors)
        if points.ndim != 2 or points.shape[1] != 2 or descriptors.ndim != 2:
            raise InvalidInput(
                f"keypoints must be points (n, 2) and descriptors (n, d), got {points.shape} and "
                f"{descriptors.shape}"
            )
        if len(points) != len(descriptors):
            raise InvalidInput(f"{len(points)} points beside {len(descriptors)} descriptors")
        if not (np.isfinite(points).all() and np.isfinite(descriptors).all()):
            raise InvalidInput("keypoints must be finite")
    if a.descriptors.shape[1] != b.descriptors.shape[1]:
        raise InvalidInput("the descriptors of both frames must have one length")
    return counted(ratio_matches(a, b))


def ratio_matches(a: Keypoints, b: Keypoints) -> Matches:
    """Return the matches that pass the ratio test, one to one."""
    pairs = matched(a, b)
    counts = (len(a.points), len(b.points))
    return Matches(a.points[pairs[:, 0]], b.points[pairs[:, 1]], counts)


def counted(matches: Matches) -> Correspondence:
    """Return match ratio and RANSAC inlier ratio of what a matcher found; see correspondence."""
    found = len(matches.first)
    inliers = int(np.count_nonzero(verified(matches.first, matches.second)))
    ratio = found / max(min(matches.counts), 1)
    return Correspondence(ratio, inliers / found if inliers else 0.0, found, inliers)


def verified(points_a: NDArray[np.float32], points_b: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which matches obey one fundamental matrix fitted to them, shape (m,); none if few."""
    nothing = np.zeros(len(points_a), dtype=np.bool_)
    if len(points_a) < whole("ransac.min_matches"):
        return nothing
    F, mask = cv2.findFundamentalMat(
        points_a,
        points_b,
        cv2.FM_RANSAC,
        constant("ransac.pixels"),
        constant("ransac.confidence"),
    )
    # Degenerate sets give no matrix, or a stack of three, together with a meaningless mask.
    if F is None or F.shape != (3, 3) or mask is None:
        return nothing
    return np.asarray(mask.ravel().astype(np.bool_))
