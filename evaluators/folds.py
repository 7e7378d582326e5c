"""MBench's pairs: outgoing frames beside return frames, or segments beside the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, geodesic_deg
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.windows import Segment, uniform

_OFFSETS = (8, 6, 4, 3, 2, 1)


class Folds(NamedTuple):
    """Frame pairs of a leave-and-return path.

    Attributes:
        pairs: (outgoing, return) of closest target pose, at most 32, evenly spread.
        straddling: Pairs across the absence for two-view geometry.
        segments: (outgoing frames, return frames) around each pair.
        moving: Frames of the exit and of the return, in order.
    """

    pairs: tuple[tuple[int, int], ...]
    straddling: tuple[tuple[int, int], ...]
    segments: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    moving: tuple[tuple[int, ...], tuple[int, ...]]


def folds(path: CameraPath) -> Folds | None:
    """Return the pairs of a path, None when it does not leave and come back."""
    away, back = path.frames_of("D1"), path.frames_of("R1")
    if not len(away) or not len(back):
        return None
    apart = _apart(path)
    # The wait shows the far end only: it is neither outgoing nor returning.
    outgoing = away[[apart(int(f), int(f) - 1) > 1e-9 if f else False for f in away]]
    back = back[[apart(int(f), int(f) - 1) > 1e-9 for f in back]]
    if not len(outgoing) or not len(back):
        return None
    # The return starts from the last waiting frame, whose pose the exit ended in.
    back = np.concatenate([[back[0] - 1], back])
    chosen = outgoing[:: whole("mbench.stride")]
    if len(chosen) > whole("mbench.pairs"):
        spread = np.linspace(0, len(chosen) - 1, whole("mbench.pairs")).round().astype(int)
        chosen = chosen[spread]
    pairs = []
    for i in chosen.tolist():
        distances = np.array([apart(i, j) for j in back.tolist()])
        pairs.append((i, int(back[int(np.argmin(distances))])))
    segments = tuple(
        (
            tuple(range(i, min(i + whole("mbench.segment"), int(outgoing[-1]) + 1))),
            tuple(range(max(j - whole("mbench.segment") + 1, int(back[0])), j + 1)),
        )
        for i, j in pairs
    )
    near = _near(path)
    # A return to the very same place has no baseline, so no triangulation: where the path
    # translates, the partner is taken a few frames on.
    translates = np.ptp(path.poses[:, :3, 3], axis=0).max() > 1e-6
    straddling = []
    for i, j in pairs:
        later = (min(j + offset, int(back[-1])) for offset in _OFFSETS)
        fits = (other for other in later if translates and near(i, other))
        straddling.append((i, next(fits, j)))
    return Folds(
        tuple(pairs),
        tuple(dict.fromkeys(straddling)),
        segments,
        (tuple(outgoing.tolist()), tuple(back.tolist())),
    )


def neighbours(path: CameraPath, segments: Sequence[Segment]) -> Folds:
    """Return the pairs of a path that text drives and that prescribes no return.

    Each segment is held against the next, frame by frame of as many uniform ones. Two views are
    compared where the path comes near itself again after at least 8 frames, the latest such frame
    of every 4th.
    """
    count = whole("mbench.text_frames")
    parts = [tuple(uniform(segment.frames, count)) for segment in segments]
    beside = tuple(pairwise(parts))
    pairs = [pair for a, b in beside for pair in zip(a, b, strict=False)]
    near, frames = _near(path), [f for segment in segments for f in segment.frames]
    straddling = []
    for i in frames[:: whole("mbench.stride")]:
        later = (j for j in reversed(frames) if j - i >= whole("mbench.neighbour_gap"))
        found = next((j for j in later if near(i, j)), None)
        if found is not None:
            straddling.append((i, found))
    return Folds(tuple(pairs), tuple(_spread(straddling)), beside, ((), ()))


def _spread(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    most = whole("mbench.pairs")
    if len(pairs) <= most:
        return list(pairs)
    places = np.linspace(0, len(pairs) - 1, most).round().astype(int)
    return [pairs[place] for place in places.tolist()]


def _apart(path: CameraPath) -> Callable[[int, int], float]:
    """Return a function: how far two frames' poses are, in radians plus shares of the path."""
    P = path.poses
    length = float(np.linalg.norm(np.diff(P[:, :3, 3], axis=0), axis=1).sum())

    def apart(i: int, j: int) -> float:
        angle = np.radians(geodesic_deg(P[i, :3, :3], P[j, :3, :3]))
        distance = float(np.linalg.norm(P[i, :3, 3] - P[j, :3, 3]))
        return float(angle) + (distance / length if length > 1e-9 else 0.0)

    return apart


def _near(path: CameraPath) -> Callable[[int, int], bool]:
    """Return a function: whether two frames are close enough for two-view geometry."""
    P = path.poses
    length = float(np.linalg.norm(np.diff(P[:, :3, 3], axis=0), axis=1).sum())

    def near(i: int, j: int) -> bool:
        angle = float(geodesic_deg(P[i, :3, :3], P[j, :3, :3]))
        distance = float(np.linalg.norm(P[i, :3, 3] - P[j, :3, 3]))
        return (
            angle <= constant("mbench.pair_angle")
            and distance <= constant("mbench.pair_path") * length + 1e-9
        )

    return near


def median_depth(depth: NDArray[np.float32]) -> float | None:
    """Return the median over what was hit, metres, None when nothing was."""
    hit = depth[depth > 0]
    return float(np.median(hit)) if hit.size else None
