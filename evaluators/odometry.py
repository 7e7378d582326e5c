"""Camera motion from tracked points alone: pose and inverse depths together, up to one scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant, whole

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """Points that are followed, in frame-0 coordinates, in units of the first view's depth.

    A point is ``origin + ray / inverse``: one that is far, or whose depth is not known yet, is a
    direction, so that a camera that only turns needs no depth at all.

    Attributes:
        origin: Where the camera was when the point was first seen, shape (n, 3).
        ray: Unit direction from there, shape (n, 3).
        inverse: Inverse depth along the ray, shape (n,).
        information: Inverse variance of ``inverse``, shape (n,).
    """

    origin: Floats
    ray: Floats
    inverse: Floats
    information: Floats

    def __len__(self) -> int:
        return len(self.inverse)

    def take(self, keep: NDArray[np.bool_]) -> Points:
        """Return the points of a mask."""
        return Points(self.origin[keep], self.ray[keep], self.inverse[keep], self.information[keep])

    def join(self, other: Points) -> Points:
        """Return these points and others."""
        return Points(
            np.concatenate([self.origin, other.origin]),
            np.concatenate([self.ray, other.ray]),
            np.concatenate([self.inverse, other.inverse]),
            np.concatenate([self.information, other.information]),
        )


class Fit(NamedTuple):
    """A camera pose that explains where points are seen.

    Attributes:
        pose: Camera-to-world, shape (4, 4).
        inverse: Inverse depths that go with it, shape (n,).
        stiffness: Information that this view adds to them, shape (n,).
        residual: Distance of every point from where it is seen, pixels, shape (n,).
        cost: Robust sum of squares over the noise.
    """

    pose: Floats
    inverse: Floats
    stiffness: Floats
    residual: Floats
    cost: float


def sight(pixels: Floats, pose: Floats, K: Floats, prior: float) -> Points:
    """Return points first seen now.

    Args:
        pixels: Shape (n, 2), the centre of the top left pixel at (0.5, 0.5).
        pose: Camera-to-world pose, shape (4, 4).
        K: Intrinsics, shape (3, 3).
        prior: Inverse depth to begin with; it is believed to within a factor of about two.
    """
    rays = np.column_stack([pixels, np.ones(len(pixels))]) @ np.linalg.inv(K).T @ pose[:3, :3].T
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    n = len(pixels)
    information = (constant("odometry.depth_spread") * prior) ** -2
    return Points(np.tile(pose[:3, 3], (n, 1)), rays, np.full(n, prior), np.full(n, information))


def exponential(turn: Floats) -> Floats:
    """Return the rotation matrix of a rotation vector in radians."""
    angle = float(np.linalg.norm(turn))
    x, y, z = turn
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0.0]])
    if angle < 1e-8:
        return np.asarray(np.eye(3) + cross)
    return np.asarray(
        np.eye(3) + np.sin(angle) / angle * cross + (1 - np.cos(angle)) / angle**2 * cross @ cross
    )


def fit(points: Points, seen: Floats, pose: Floats, K: Floats, *, moves: bool, noise: float) -> Fit:
    """Return the pose from which points are seen where they are, by robust least squares.

    Inverse depths are solved for with the pose (their block is diagonal), each held to what is
    known of it; residuals count by a Cauchy loss, so that what moves by itself has little say.

    Args:
        points: What is followed.
        seen: Where it is seen, shape (n, 2), the centre of the top left pixel at (0.5, 0.5).
        pose: Where to start from, shape (4, 4).
        K: Intrinsics, shape (3, 3).
        moves: Whether the position may change; else only the orientation.
        noise: Standard deviation of ``seen``, pixels; outliers are told by it.
    """
    R, t = pose[:3, :3].copy(), pose[:3, 3].copy()
    inverse = points.inverse.copy()
    free = 6 if moves else 3
    f = np.array([K[0, 0], K[1, 1]])
    c = np.array([K[0, 2], K[1, 2]])
    n = len(points)
    for step in range(whole("odometry.iterations")):
        camera = (points.ray + inverse[:, None] * (points.origin - t)) @ R
        z = np.maximum(camera[:, 2], 1e-6)
        ahead = camera[:, 2] > 1e-3
        at = camera[:, :2] / z[:, None]
        error = seen - (at * f + c)
        size = np.where(ahead, np.hypot(error[:, 0], error[:, 1]), 1e3)
        # From far off, the spread of the residuals is what tells an outlier.
        spread = max(noise, 1.4826 * float(np.median(size)) / 1.5) if step < 4 else noise
        weight = np.where(ahead, 1 / (1 + (size / (2 * spread)) ** 2), 0.0) / spread**2
        # du / dcamera, shape (n, 2, 3)
        D = np.zeros((n, 2, 3))
        D[:, 0, 0], D[:, 1, 1] = f[0] / z, f[1] / z
        D[:, :, 2] = -at * f / z[:, None]
        x, y, w = camera.T
        cross = np.zeros((n, 3, 3))
        cross[:, 0, 1], cross[:, 0, 2] = -w, y
        cross[:, 1, 0], cross[:, 1, 2] = w, -x
        cross[:, 2, 0], cross[:, 2, 1] = -y, x
        J = np.empty((n, 2, free))
        J[:, :, :3] = D @ cross
        if moves:
            J[:, :, 3:] = D * -inverse[:, None, None]
        j = (D @ ((points.origin - t) @ R)[:, :, None])[:, :, 0]
        along = weight * np.einsum("ni,ni->n", j, j)
        h = along + points.information
        g = weight * np.einsum("ni,ni->n", j, error) + points.information * (
            points.inverse - inverse
        )
        mixed = weight[:, None] * np.einsum("nif,ni->nf", J, j)
        A = np.einsum("n,nif,nig->fg", weight, J, J) - (mixed / h[:, None]).T @ mixed
        b = np.einsum("n,nif,ni->f", weight, J, error) - mixed.T @ (g / h)
        A[np.diag_indices(free)] += 1e-9 * np.trace(A) / free + 1e-12
        delta = np.linalg.solve(A, b)
        change = (g - mixed @ delta) / h
        if moves:
            t = t + R @ delta[3:]
        R = R @ exponential(delta[:3])
        inverse = np.clip(inverse + change, 1e-3, 1e3)
        if step >= 4 and float(np.abs(delta).max()) < 1e-6:
            break
    out = np.eye(4)
    U, _, Vt = np.linalg.svd(R)
    out[:3, :3], out[:3, 3] = U @ Vt, t
    camera = (points.ray + inverse[:, None] * (points.origin - t)) @ R
    z = np.where(camera[:, 2] > 1e-3, camera[:, 2], 1e-3)
    error = seen - (camera[:, :2] / z[:, None] * f + c)
    residual = np.where(camera[:, 2] > 1e-3, np.hypot(error[:, 0], error[:, 1]), 1e3)
    prior = points.information * (inverse - points.inverse) ** 2
    cost = float(np.sum(4 * np.log1p((residual / (2 * noise)) ** 2) + np.minimum(prior, 9.0)))
    return Fit(out, inverse, along, residual, cost)


def choose(
    points: Points, seen: Floats, pose: Floats, K: Floats, noise: float, moving: bool
) -> tuple[Fit, bool]:
    """Return the simplest motion that explains what is seen, and whether the camera moved.

    A turn alone is fitted first, then a turn with a step; the step is believed only where it
    explains clearly more, so that noise moves nothing.

    Args:
        points: What is followed.
        seen: Where it is seen now, shape (n, 2).
        pose: Pose of the frame before, shape (4, 4).
        K: Intrinsics, shape (3, 3).
        noise: Standard deviation of ``seen``, pixels.
        moving: Whether the camera moved in the frame before; then less is enough.
    """
    turned = fit(points, seen, pose, K, moves=False, noise=noise)
    moved = fit(points, seen, turned.pose, K, moves=True, noise=noise)
    gain = turned.cost - moved.cost
    least = 0.0 if moving else constant("odometry.gain") * moved.cost
    if gain < max(least, constant("odometry.least_gain")):
        return turned, False
    if not settled(points, moved, noise):
        if not moving and float(np.median(turned.residual)) < constant("odometry.parallax"):
            # Too little to tell a step aside from a look aside, and a wrong depth would stay.
            return turned, False
        # Looking aside and stepping aside look alike: the best of several starts is taken.
        length = constant("odometry.start") / max(float(np.median(points.inverse)), 1e-3)
        for step in length * np.vstack([np.eye(3), -np.eye(3)]):
            start = pose.copy()
            start[:3, 3] += start[:3, :3] @ step
            other = fit(points, seen, start, K, moves=True, noise=noise)
            moved = min(moved, other, key=lambda found: found.cost)
    return moved, True


def settled(points: Points, found: Fit, noise: float) -> bool:
    """Return whether most depths were known before and the fit leaves little but noise."""
    spread = np.sqrt(1 / points.information) / np.maximum(points.inverse, 1e-6)
    known = float(np.mean(spread < constant("odometry.known")))
    return known > 0.5 and float(np.median(found.residual)) < 2 * noise


def learn(points: Points, found: Fit) -> Points:
    """Return points with the depths that a view taught; older knowledge fades slowly."""
    information = constant("odometry.memory") * (points.information + found.stiffness)
    return replace(points, inverse=found.inverse, information=information)
