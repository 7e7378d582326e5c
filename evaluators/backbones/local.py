"""Classic answers about frames: SIFT keypoints, DIS optical flow, mean colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import whole
from worldenv.evaluators.metrics.appearance import lab_mean
from worldenv.evaluators.metrics.match import Keypoints, ratio_matches
from worldenv.evaluators.plan import Ask, pixels


class Sift:
    """Answers ``match`` with the Keypoints of a frame."""

    name = "sift-1024"
    revision = f"opencv-{cv2.__version__}"
    checksum = ""
    batch = 1

    def __init__(self) -> None:
        sift = cv2.SIFT.create(nfeatures=whole("sift.features"))
        # The stubs promise an array where OpenCV returns None for a flat image.
        self._detect: Any = lambda grey: sift.detectAndCompute(grey, None)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Detect and describe."""
        return [self._keypoints(frame) for (frame,) in inputs]

    def _keypoints(self, frame: NDArray[np.uint8]) -> Keypoints:
        grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
        found, descriptors = self._detect(grey)
        if descriptors is None:
            # A flat image: OpenCV gives no array at all.
            return Keypoints(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32))
        points = np.array([k.pt for k in found], np.float32).reshape(-1, 2)
        return Keypoints(points, np.asarray(descriptors, np.float32))


class RatioMatcher:
    """Answers ``matches``, asked as (i, j), by nearest descriptors that pass the ratio test."""

    name = "ratio-test"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the keypoints of both frames."""
        return tuple(Ask("match", (frame,)) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Match every pair."""
        return [ratio_matches(first, second) for first, second in inputs]


class Light:
    """Answers ``light`` with the mean CIELAB colour of a frame, shape (3,)."""

    name = "cielab"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Average every frame."""
        return [lab_mean(frame) for (frame,) in inputs]


class DisFlow:
    """Answers ``flow``, asked as (i, j), with the mean flow magnitude at 320 pixels width."""

    name = "dis-fast"
    revision = f"opencv-{cv2.__version__}"
    checksum = ""
    batch = 1

    def __init__(self) -> None:
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return both frames."""
        return tuple(pixels(frame) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the mean magnitude in pixels of every pair."""
        return [self._magnitude(first, second) for first, second in inputs]

    def _magnitude(self, first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
        width = 320
        height = max(16, round(first.shape[0] * width / first.shape[1]))
        grey = [
            np.asarray(cv2.resize(cv2.cvtColor(f, cv2.COLOR_RGB2GRAY), (width, height)))
            for f in (first, second)
        ]
        start = np.zeros((height, width, 2), np.float32)
        field = self._flow.calc(grey[0], grey[1], start)
        return float(np.linalg.norm(field, axis=2).mean())
