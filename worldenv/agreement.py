"""Do a video and its camera path go together? The video's own motion against what poses predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, intrinsics
from worldenv.conventions import AXES, DIRECTIONS, Convention

Floats = NDArray[np.float64]

WIDTH = 160
_PAIRS = 240
_MOST_SHIFT = 40
_NOMINAL_FOV = 75.0
# Shares of the width a step: less is noise of the flow.
_STILL = 1.5e-3
_FEW = 8
# Depth is unknown: a translation is predicted for near, middling and far scenes.
_DEPTHS = (0.5, 2.0, 8.0)


class Agreement(NamedTuple):
    """How far a video moves as its poses say.

    Attributes:
        value: Cosine of measured and predicted motion in [-1, 1], None when it cannot be told:
            nothing moves, or the poses do not.
        better: Another reading of the poses that fits much better, in words; None when none does.
        better_value: Its cosine.
        repeated: Frames that equal the frame before them although the poses move.
        late: Frames by which the video seems to follow (or, below 0, lead) its poses, where that
            fits a little better; None where it does not.
    """

    value: float | None
    better: str | None = None
    better_value: float | None = None
    repeated: int = 0
    late: int | None = None


class MotionMeter:
    """Measures the motion of a video while it is decoded: frames in, rows of motion out.

    A row is what most of the picture does from one looked-at frame to the next: shift right and
    down, growth and turn, in shares of the width.
    """

    def __init__(self, frames: int) -> None:
        """Choose which frames to look at.

        Args:
            frames: Number of frames of the path.
        """
        # Steps long enough that slow walks show, short enough that fast turns overlap.
        self.stride = max(1, min(4, frames // _PAIRS)) if frames else 1
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
        self._last: NDArray[np.uint8] | None = None
        self._previous: bytes = b""
        self._rows: list[Floats] = []
        self._equal: list[int] = []
        self._t = -1

    def add(self, frame: NDArray[np.uint8]) -> None:
        """Take the next frame, shape (height, width, 3)."""
        self._t += 1
        small = np.asarray(
            cv2.resize(frame, (WIDTH, _height(frame)), interpolation=cv2.INTER_AREA), np.uint8
        )
        data = small.tobytes()
        if data == self._previous:
            self._equal.append(self._t)
        self._previous = data
        if self._t % self.stride:
            return
        grey = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), np.uint8)
        if self._last is not None:
            start = np.zeros((*grey.shape, 2), np.float32)
            flow = self._flow.calc(self._last, grey, start) / WIDTH
            offsets = _grid(len(grey)).reshape(-1, 2)
            self._rows.append(_summary(flow.reshape(-1, 2).astype(np.float64), offsets))
        self._last = grey

    @property
    def rows(self) -> Floats:
        """Motion from frame ``k * stride`` to the next looked-at one, shape (m, 4)."""
        return np.array(self._rows).reshape(-1, 4)

    def repeated(self, path: CameraPath) -> int:
        """Return how many frames equal the one before although the poses move between them."""
        moved = np.abs(np.diff(path.poses, axis=0)).max(axis=(1, 2)) > 1e-6
        return sum(bool(moved[t - 1]) for t in self._equal if 0 < t <= len(moved))


def _height(frame: NDArray[np.uint8]) -> int:
    return max(16, round(int(frame.shape[0]) * WIDTH / int(frame.shape[1])))


def _grid(height: int) -> Floats:
    """Return pixel offsets from the centre in widths, shape (height, WIDTH, 2)."""
    y, x = np.mgrid[:height, :WIDTH]
    return np.stack([x - (WIDTH - 1) / 2, y - (height - 1) / 2], axis=-1) / WIDTH


def _summary(flow: Floats, offsets: Floats) -> Floats:
    """Return shift right, shift down, growth and turn of flow fields, shape (..., 4).

    Args:
        flow: Shape (..., points, 2).
        offsets: Of the points from the centre, shape (points, 2).
    """
    shift: Floats = np.median(flow, axis=-2)
    rest = flow - shift[..., None, :]
    square = np.maximum((offsets**2).sum(axis=-1), 0.02)
    growth: Floats = np.median((rest * offsets).sum(axis=-1) / square, axis=-1)
    across = rest[..., 1] * offsets[..., 0] - rest[..., 0] * offsets[..., 1]
    turn: Floats = np.median(across / square, axis=-1)
    # Growth and turn act over the half width.
    return np.concatenate([shift, growth[..., None] / 4, turn[..., None] / 4], axis=-1)


def predict(poses: Floats, stride: int, K: Floats, size: tuple[int, int], depth: float) -> Floats:
    """Return the motion that poses predict for a scene all at one depth, shape (m, 4).

    Args:
        poses: Shape (n, 4, 4).
        stride: Frames a step.
        K: Intrinsics, pixels at ``size``.
        size: (width, height).
        depth: Metres.
    """
    ends = poses[::stride]
    relative = np.linalg.inv(ends[1:]) @ ends[:-1]
    f = float(K[0, 0]) / size[0]
    grid = _grid(round(WIDTH * size[1] / size[0]))[4::12, 4::12].reshape(-1, 2)
    rays = np.concatenate([grid / f, np.ones((len(grid), 1))], axis=1) * depth
    moved = rays @ np.swapaxes(relative[:, :3, :3], 1, 2) + relative[:, None, :3, 3]
    z = np.maximum(moved[..., 2], 0.05 * depth)
    flow = moved[..., :2] / z[..., None] * f - grid
    return _summary(flow, grid)


def _cosine(measured: Floats, predicted: Floats) -> float | None:
    """Return the cosine over the steps in which either moves; None when too few do."""
    moving = (np.abs(predicted).max(axis=1) > _STILL) & (np.abs(measured).max(axis=1) > _STILL)
    if moving.sum() < _FEW:
        return None
    # One wild step, as at a cut, must not decide alone.
    limit = 0.25
    a, b = np.clip(measured[moving], -limit, limit), np.clip(predicted[moving], -limit, limit)
    # Steps count alike: what matters is which way they go.
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    return float(np.mean(np.sum(a * b, axis=1)))


def _readings(poses: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield other ways to read the poses: in words, and as the path they would be."""
    seen = set()
    for axes, signs in AXES.items():
        # Axes that mean the same are named once.
        if signs in seen:
            continue
        seen.add(signs)
        for direction in DIRECTIONS:
            words = [] if axes == "opencv" else [f"camera axes of {axes}"]
            if direction == "w2c":
                words.insert(0, "the inverse matrices (w2c for c2w, or the other way round)")
            if words:
                yield " and ".join(words), Convention(direction, axes).path(poses, 1.0).poses
    yield "the poses in reverse order", np.linalg.inv(poses[-1]) @ poses[::-1]


def compare(
    meter: MotionMeter, path: CameraPath, size: tuple[int, int], K: Floats | None = None
) -> Agreement:
    """Return whether a video moves as its poses say, and which other reading fits better.

    A video that stays still, or moves in ways that no reading explains, is no disagreement: that
    is what a world model may do. Only a reading that fits much better is.

    Args:
        meter: Fed with every frame.
        path: One pose a frame.
        size: (width, height) of the video.
        K: Intrinsics in pixels; 75 degrees across where None.
    """
    measured = meter.rows
    steps = len(path.poses[:: meter.stride]) - 1
    if len(measured) != steps:
        raise ValueError(f"the meter saw {len(measured)} steps and the path has {steps}")
    lens = intrinsics(size, _NOMINAL_FOV) if K is None else np.asarray(K, np.float64)
    repeated = meter.repeated(path)

    def fit(poses: Floats) -> float | None:
        rows = (predict(poses, meter.stride, lens, size, depth) for depth in _DEPTHS)
        return max(
            (v for v in (_cosine(measured, row) for row in rows) if v is not None), default=None
        )

    stated = fit(path.poses)
    if stated is None:
        return Agreement(None, repeated=repeated)
    fits = [(fit(poses), words) for words, poses in _readings(path.poses)]
    known = [(value, words) for value, words in fits if value is not None]
    best = max((value for value, _ in known), default=-1.0)
    if best >= _FITS and best >= stated + 0.4:
        # On walks of one axis several readings fit alike: none of them is left out.
        words = " or ".join(words for value, words in known if value >= best - 0.02)
        return Agreement(stated, words, best, repeated)
    late, gain, value = _offset(measured, path, meter.stride, lens, size)
    if abs(late) >= _SURE_OFFSET and value >= _FITS and gain >= 0.1:
        word = "after" if late > 0 else "before"
        words = f"the video about {abs(late)} frames {word} the poses"
        return Agreement(stated, words, value, repeated, late)
    slight = late if late and value >= 0.9 and gain >= 0.01 else None
    return Agreement(stated, repeated=repeated, late=slight)


# Cosine from which another reading explains a video.
_FITS = 0.8
# Frames from which an offset is refused; a model may follow its camera a few frames late.
_SURE_OFFSET = 4


def _offset(
    measured: Floats, path: CameraPath, stride: int, K: Floats, size: tuple[int, int]
) -> tuple[int, float, float]:
    """Return by how many frames the video is late, what that gains, and the cosine it gives."""
    predicted = [predict(path.poses, stride, K, size, depth) for depth in _DEPTHS]
    n = len(measured)
    most = min(_MOST_SHIFT // stride, n // 4)

    def fit(shift: int) -> float:
        cut = abs(shift)
        values = [
            _timing(measured[cut:], rows[: n - cut])
            if shift >= 0
            else _timing(measured[: n - cut], rows[cut:])
            for rows in predicted
        ]
        return max((value for value in values if value is not None), default=-1.0)

    found = {shift: fit(shift) for shift in range(-most, most + 1)}
    # The least of equals.
    best = min(found, key=lambda shift: (-round(found[shift], 9), abs(shift)))
    return best * stride, found[best] - found[0], found[best]


def _timing(measured: Floats, predicted: Floats) -> float | None:
    """Return the cosine over all steps together, in which starts and stops count."""
    a, b = np.clip(measured, -0.25, 0.25).ravel(), np.clip(predicted, -0.25, 0.25).ravel()
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norm if norm > 1e-9 else None
