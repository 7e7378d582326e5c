"""Realised path against target path: Sim(3) alignment and relative pose errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import geodesic_deg
from worldenv.evaluators.metrics.checks import InvalidInput, numbers

Floats = NDArray[np.float64]

_STILL = 1e-9


def align(source: Floats, target: Floats) -> tuple[float, Floats, Floats]:
    """Return (scale, R, t) of the least-squares similarity taking source points to target points.

    Umeyama 1991: minimises ``sum |target - (s R source + t)|^2``. A source without extent has
    scale 0.

    Args:
        source: Shape (n, 3).
        target: Shape (n, 3).
    """
    mean_s, mean_t = source.mean(axis=0), target.mean(axis=0)
    s, t = source - mean_s, target - mean_t
    variance = float((s**2).sum()) / len(s)
    if variance < _STILL**2:
        return 0.0, np.eye(3), mean_t
    U, singular, Vt = np.linalg.svd(t.T @ s / len(s))
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(U) * np.linalg.det(Vt))])
    R = (U * signs) @ Vt
    scale = float((singular * signs).sum()) / variance
    return scale, R, mean_t - scale * R @ mean_s


def _check(target_poses: Floats, poses: Floats) -> tuple[Floats, Floats]:
    target = numbers("target_poses", target_poses, "n", 4, 4)
    realised = numbers("poses", poses, "n", 4, 4)
    if target.shape != realised.shape:
        raise InvalidInput(
            f"poses must have one shape (n, 4, 4), got {target.shape} and {realised.shape}"
        )
    return target, realised


def rotation_rpe(target_poses: Floats, poses: Floats, stride: int = 1) -> float | None:
    """Return the accumulated angular disagreement over the target's angular path; lower is better.

    ``sum theta(dR_t^T dRhat_t) / sum theta(dR_t)``: 0 for a perfect camera, exactly 1 for one that
    does not turn. Source: WorldMemBench Eq. 3.

    Args:
        target_poses: Shape (n, 4, 4).
        poses: Realised or estimated, same shape.
        stride: Frames between compared poses; 1 is the paper's.

    Returns:
        None for a target without rotation.

    Raises:
        InvalidInput: unequal shapes, numbers that are not finite, or a stride under 1.
    """
    if isinstance(stride, bool) or not isinstance(stride, int) or stride < 1:
        raise InvalidInput(f"stride must be a whole number of at least 1, got {stride!r}")
    target, realised = _check(target_poses, poses)
    step = [p[::stride, :3, :3] for p in (target, realised)]
    turn, turned = (np.swapaxes(R[:-1], 1, 2) @ R[1:] for R in step)
    path = _sum(geodesic_deg(turn, np.eye(3)))
    if path < 1e-6:
        return None
    return _sum(geodesic_deg(turn, turned)) / path


def translation_rpe(target_poses: Floats, poses: Floats) -> float | None:
    """Return the summed disagreement of translations on a path of length 1; lower is better.

    ``sum |trans(dQ_t^-1 dQhat_t)|`` after Sim(3) alignment of the realised path to the target
    path scaled to length 1. A realised path without extent has scale 0 and scores exactly 1.
    Source: WorldMemBench Eq. 2; the sum is ours.

    Args:
        target_poses: Shape (n, 4, 4).
        poses: Realised or estimated, same shape.

    Returns:
        None for a target without extent.

    Raises:
        InvalidInput: unequal shapes, or numbers that are not finite.
    """
    target, realised = _check(target_poses, poses)
    length = _sum(np.linalg.norm(np.diff(target[:, :3, 3], axis=0), axis=1))
    if length < 1e-6:
        return None
    points = target[:, :3, 3] / length
    scale, R, t = align(realised[:, :3, 3], points)
    moved = scale * realised[:, :3, 3] @ R.T + t
    turned = R @ realised[:, :3, :3]
    # trans(dQ^-1 dQhat) = dR^T (that - t): the rotation does not change its length.
    here = np.swapaxes(target[:-1, :3, :3], 1, 2)
    there = np.swapaxes(turned[:-1], 1, 2)
    step = (here @ np.diff(points, axis=0)[..., None])[..., 0]
    stepped = (there @ np.diff(moved, axis=0)[..., None])[..., 0]
    if scale == 0.0:
        return 1.0
    return _sum(np.linalg.norm(stepped - step, axis=1))


def _sum(values: Floats) -> float:
    return float(np.sum(values))
