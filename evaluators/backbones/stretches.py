"""Long paths in stretches: which frames are estimated together, and how stretches join into one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Layout(NamedTuple):
    """How a path is cut.

    Attributes:
        frames: Number of frames of the path.
        length: Frames of a stretch.
        overlap: Frames that two neighbours share, at least.
    """

    frames: int
    length: int
    overlap: int

    def starts(self) -> tuple[int, ...]:
        """Return the first frame of every stretch.

        The last is moved back until it has the full length: estimators are worse on few frames.
        """
        step, last = self.length - self.overlap, max(self.frames - self.length, 0)
        return (*range(0, last, step), last)

    def stretch(self, start: int) -> range:
        """Return the frames of the stretch that begins at a frame."""
        return range(start, min(start + self.length, self.frames))

    def holding(self, frame: int) -> int:
        """Return the start of the first stretch that holds a frame; the others agree with it."""
        return next(s for s in self.starts() if frame < s + self.length)

    def before(self, start: int) -> int | None:
        """Return the start of the stretch before, None for the first."""
        starts = self.starts()
        place = starts.index(start)
        return starts[place - 1] if place else None


class Similarity(NamedTuple):
    """A change of frame and unit: x -> scale * rotation @ x + shift.

    Attributes:
        scale: Positive.
        rotation: Shape (3, 3).
        shift: Shape (3,), in the new unit.
    """

    scale: float
    rotation: Floats
    shift: Floats

    def poses(self, poses: Floats) -> Floats:
        """Return camera-to-world poses (n, 4, 4) in the new frame and unit."""
        out = np.tile(np.eye(4), (len(poses), 1, 1))
        out[:, :3, :3] = self.rotation @ poses[:, :3, :3]
        out[:, :3, 3] = self.scale * poses[:, :3, 3] @ self.rotation.T + self.shift
        return out


def join(known: Floats, found: Floats, ratio: float | None = None) -> Similarity:
    """Return what carries a stretch onto the one before, from the frames that both hold.

    The rotation is the mean (chordal) over the frames. The scale is the ratio of depths where
    depths are known: it is the only measure while the camera turns in place. Otherwise it is that
    of the camera's moves, and 1 where it does not move.

    Args:
        known: Camera-to-world poses of the shared frames in the stretch before, shape (n, 4, 4).
        found: Of the same frames in this stretch.
        ratio: Depth in the stretch before over depth in this one.
    """
    U, _, Vt = np.linalg.svd(np.einsum("nij,nkj->ik", known[:, :3, :3], found[:, :3, :3]))
    rotation = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    mine = found[:, :3, 3] @ rotation.T
    theirs = known[:, :3, 3]
    if ratio is not None:
        scale = ratio
    else:
        a, b = mine - mine.mean(axis=0), theirs - theirs.mean(axis=0)
        spread = float((a * a).sum())
        scale = float((a * b).sum()) / spread if spread > 1e-12 else 1.0
        # Estimates that contradict each other have no common scale.
        scale = scale if scale > 1e-6 else 1.0
    return Similarity(scale, rotation, (theirs - scale * mine).mean(axis=0))


def depth_ratio(known: NDArray[np.float32], found: NDArray[np.float32]) -> float | None:
    """Return the median of known over found where both are positive, None where they never are."""
    both = (known > 0) & (found > 0)
    return float(np.median(known[both].astype(np.float64) / found[both])) if both.any() else None


def rebased(poses: Floats) -> Floats:
    """Return poses (n, 4, 4) relative to the first."""
    return np.asarray(np.linalg.inv(poses[0]) @ poses, np.float64)
