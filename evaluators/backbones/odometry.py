"""Role pose without weights: corners followed from frame to frame, and the camera behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.odometry import Points, choose, learn, sight
from worldenv.evaluators.plan import Ask, pixels

Floats = NDArray[np.float64]
Grey = NDArray[np.uint8]


class Motion(NamedTuple):
    """What is known after a frame; the answer of role ``odometry``.

    Attributes:
        pixels: Where the points are in the frame, shape (n, 2) float32, centres at whole numbers.
        points: The same points in space.
        pose: Camera-to-world, shape (4, 4), relative to frame 0, in units of the first depth.
        lost: Frames so far in which too little could be followed: they repeat the pose before.
        moving: Whether the camera changed its position.
        prior: Inverse depth that new points begin with: the middle of those known last.
    """

    pixels: NDArray[np.float32]
    points: Points
    pose: Floats
    lost: int
    moving: bool
    prior: float


class Odometry:
    """Answers ``odometry`` with the Motion up to a frame, from that of the frame before."""

    name = "klt-odometry"
    revision = f"1-opencv-{cv2.__version__}"
    checksum = ""
    batch = 1

    def __init__(self, K: Floats) -> None:
        """Take the intrinsics in pixels of the frames, shape (3, 3)."""
        self._K = np.asarray(K, np.float64)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame, the frame before it, and the motion up to that."""
        (frame,) = ask.frames
        before = (pixels(frame - 1), Ask("odometry", (frame - 1,))) if frame else ()
        return (pixels(frame), *before)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Follow every frame."""
        return [
            self._step(*values) if len(values) > 1 else self._start(*values) for values in inputs
        ]

    def _start(self, frame: NDArray[np.uint8]) -> Motion:
        none = Points(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0))
        start = Motion(np.zeros((0, 2), np.float32), none, np.eye(4), 0, False, 1.0)
        return self._refill(start, _grey(frame))

    def _step(
        self, frame: NDArray[np.uint8], frame_before: NDArray[np.uint8], before: Motion
    ) -> Motion:
        grey, grey_before = _grey(frame), _grey(frame_before)
        if np.array_equal(grey, grey_before):
            # Shown twice, as in a video of a raised frame rate: it goes on where it was.
            return before
        seen, kept = follow(grey_before, grey, before.pixels)
        points = before.points.take(kept)
        if len(points) < whole("odometry.least"):
            return self._lose(grey, before)
        noise = constant("odometry.noise")
        where = seen[kept].astype(np.float64) + 0.5
        found, moved = choose(points, where, before.pose, self._K, noise, before.moving)
        good = found.residual < constant("odometry.outlier") * noise
        agree = int(np.count_nonzero(good))
        share = constant("odometry.agree")
        if agree < max(whole("odometry.least"), share * len(good), share / 2 * len(kept)):
            return self._lose(grey, before)
        points = learn(points, found) if moved else points
        points = points.take(good)
        prior = float(np.median(points.inverse))
        now = Motion(seen[kept][good], points, found.pose, before.lost, moved, prior)
        return self._refill(now, grey)

    def _lose(self, grey: Grey, before: Motion) -> Motion:
        """Repeat the pose and begin anew: no motion is made up, and the frame is counted."""
        lost = before._replace(
            pixels=np.zeros((0, 2), np.float32),
            points=before.points.take(np.zeros(len(before.points), np.bool_)),
            lost=before.lost + 1,
            moving=False,
        )
        return self._refill(lost, grey)

    def _refill(self, motion: Motion, grey: Grey) -> Motion:
        """Add corners where few points are left."""
        most = whole("odometry.points")
        if len(motion.pixels) > 0.7 * most:
            return motion
        apart = max(4.0, grey.shape[1] / constant("odometry.apart"))
        free = np.full(grey.shape, 255, np.uint8)
        for x, y in np.rint(motion.pixels).astype(int).tolist():
            cv2.circle(free, (x, y), int(apart), 0, -1)
        # The stubs promise an array where OpenCV returns None for a flat image.
        corners: Any = cv2.goodFeaturesToTrack(
            grey, most - len(motion.pixels), 0.005, apart, mask=free
        )
        if corners is None:
            return motion
        new = np.asarray(corners, np.float32).reshape(-1, 2)
        fresh = sight(new.astype(np.float64) + 0.5, motion.pose, self._K, motion.prior)
        return motion._replace(
            pixels=np.concatenate([motion.pixels, new]), points=motion.points.join(fresh)
        )


def _grey(frame: NDArray[np.uint8]) -> Grey:
    return np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), np.uint8)


def follow(
    before: Grey, now: Grey, at: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return where points went, shape (n, 2), and which came back when followed in reverse."""
    if not len(at):
        return at, np.zeros(0, np.bool_)
    side = whole("odometry.window")
    window, levels = (side, side), max(1, int(np.log2(max(min(now.shape) / side, 1))))
    start = at.copy()
    there, ok, _ = cv2.calcOpticalFlowPyrLK(before, now, at, start, winSize=window, maxLevel=levels)
    # Followed back, the search starts where it should end: half the cost of a search from afar.
    back, returned, _ = cv2.calcOpticalFlowPyrLK(
        now,
        before,
        there,
        at.copy(),
        winSize=window,
        maxLevel=levels,
        flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
    )
    height, width = now.shape
    new = np.asarray(there, np.float32)
    inside = (new >= 1).all(1) & (new[:, 0] < width - 2) & (new[:, 1] < height - 2)
    off = np.linalg.norm(np.asarray(back) - at, axis=1)
    kept = (np.ravel(ok) == 1) & (np.ravel(returned) == 1) & inside
    return new, np.asarray(kept & (off < constant("odometry.reverse")), np.bool_)


class OdometryPose:
    """Answers ``pose`` with the camera-to-world pose of a frame, up to one scale a rollout."""

    name = Odometry.name
    revision = Odometry.revision
    checksum = ""
    batch = 1
    scale_free = True

    def __init__(self, K: Floats) -> None:
        """Take the intrinsics, without which the role cannot be answered."""

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the motion up to the frame."""
        return (Ask("odometry", ask.frames),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Take the pose out of every motion."""
        return [motion.pose for (motion,) in inputs]
