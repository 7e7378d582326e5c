"""A frame with the regions that are looked at, as it is or turned to face the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.camera import geodesic_deg
from worldenv.evaluators.backbones.regions import Region, region
from worldenv.evaluators.plan import Ask, Thing, pixels

Floats = NDArray[np.float64]


class Facing(NamedTuple):
    """Subject of an ask: things as they would be seen in the orientation of frame 0.

    Attributes:
        thing: What is segmented.
        limit: Largest angle from the start in degrees; further frames give no regions.
        turn: Rotation from this frame to frame 0 (3 x 3, row by row) where poses are not asked
            for, else None.
    """

    thing: Thing
    limit: float
    turn: tuple[float, ...] | None = None


class Cutout:
    """Answers ``cutout`` with (frame, regions); the subject is a Thing or a Facing.

    A rotation of the camera stretches what is seen near the border of a pinhole image. Facing
    undoes it by its homography, so that what is left is the thing, not the lens.
    """

    name = "cutout"
    revision = "1"
    checksum = ""
    batch = 1

    def __init__(self, K: Floats | None = None) -> None:
        self._K = K

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return frame and regions; the poses of this frame and of frame 0 for a Facing."""
        frame = ask.frames[0]
        if not isinstance(ask.subject, Facing):
            return pixels(frame), Ask("segment", ask.frames, ask.subject)
        plain = (pixels(frame), Ask("segment", ask.frames, ask.subject.thing))
        if ask.subject.turn is not None:
            return plain
        return (*plain, Ask("pose", (frame,)), Ask("pose", (0,)))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Cut out, turning where asked."""
        out: list[Any] = []
        for ask, values in zip(asks, inputs, strict=True):
            frame, regions = values[:2]
            if not isinstance(ask.subject, Facing):
                out.append((frame, regions))
                continue
            if ask.subject.turn is not None:
                turn = np.array(ask.subject.turn).reshape(3, 3)
            elif np.array_equal(values[2][:3, :3], values[3][:3, :3]):
                turn = np.eye(3)
            else:
                turn = values[3][:3, :3].T @ values[2][:3, :3]
            out.append(self._turned(frame, regions, turn, ask.subject.limit))
        return out

    def _turned(
        self, frame: NDArray[np.uint8], regions: Sequence[Region], turn: Floats, limit: float
    ) -> tuple[NDArray[np.uint8], tuple[Region, ...]]:
        angle = float(geodesic_deg(turn, np.eye(3)))
        if angle > limit:
            return frame, ()
        if angle == 0.0:
            return frame, tuple(regions)
        if self._K is None:
            raise ValueError("facing the start needs the camera intrinsics K")
        # OpenCV puts the centre of a pixel at a whole number, K at a half.
        half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1.0]])
        lens = np.linalg.inv(half) @ self._K
        H = lens @ turn @ np.linalg.inv(lens)
        size = (frame.shape[1], frame.shape[0])
        image = np.asarray(cv2.warpPerspective(frame, H, size), np.uint8)
        found = []
        for old in regions:
            soft = cv2.warpPerspective(old.mask.astype(np.float32), H, size)
            mask = np.asarray(soft) >= 0.5
            if mask.any():
                new = region(old.track, old.category, mask, old.score)
                # Whether it counts is decided in the frame as it was.
                found.append(new._replace(area=old.area, cut=max(old.cut, new.cut)))
        return image, tuple(found)
