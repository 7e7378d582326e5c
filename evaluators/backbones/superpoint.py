"""Roles match and matches: SuperPoint keypoints (non-commercial licence), matched by LightGlue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.pretrained import load_pretrained
from worldenv.evaluators.backbones.resample import resample
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.match import Keypoints, Matches
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

Floats = NDArray[np.float32]
_GREY = np.array([0.299, 0.587, 0.114], np.float32)
_DIVISOR = 8


class SizedKeypoints(Keypoints):
    """Keypoints that know the size of their frame, which the matcher places them by.

    Attributes:
        size: Height and width of the frame.
    """

    size: tuple[int, int]

    def __new__(cls, points: Floats, descriptors: Floats, size: tuple[int, int]) -> SizedKeypoints:
        """Make them."""
        self = super().__new__(cls, points, descriptors)
        self.size = size
        return self


class SuperPoint:
    """Answers ``match`` with the SizedKeypoints of a frame, at most 1024, score above 5e-4.

    As in the released code of R2M-Bench the frame is grey and its longer side is resized first.
    """

    batch = 1

    def __init__(self, located: Located, device: str = "cpu", longest: int = 1024) -> None:
        """Load it.

        Args:
            located: Weights of a ``LightGlueForKeypointMatching``, which holds its SuperPoint.
            device: Where it runs, in float32.
            longest: Longer side of its input in pixels.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self.name = f"{located.id}-{longest}"
        self.revision = located.revision
        self.checksum = located.checksum
        self._longest = longest
        self._device = device
        network = load_pretrained("LightGlueForKeypointMatching", located, device)
        self._network = network.keypoint_detector
        decoder = self._network.keypoint_decoder
        decoder.keypoint_threshold = constant("superpoint.score")
        decoder.max_keypoints = whole("superpoint.points")

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Detect and describe."""
        return [self._keypoints(frame) for (frame,) in inputs]

    def _keypoints(self, frame: NDArray[np.uint8]) -> SizedKeypoints:
        import torch

        height, width = frame.shape[:2]
        scale = self._longest / max(height, width)
        sides = [max(int(side * scale) // _DIVISOR, 1) * _DIVISOR for side in (height, width)]
        image = resample(frame, sides[1], sides[0], "bilinear")
        grey = (image.astype(np.float32) / 255) @ _GREY
        values = torch.from_numpy(np.repeat(grey[None, None], 3, axis=1)).to(self._device)
        with torch.inference_mode():
            out = self._network(pixel_values=values)
            there = out.mask[0].bool()
            share = out.keypoints[0][there].cpu().numpy()
            descriptors = out.descriptors[0][there].cpu().numpy()
        # The network counts from the centre of its first pixel; so do Keypoints, in the frame's.
        points = (share * np.array(sides[::-1]) + 0.5) * np.array(
            [width / sides[1], height / sides[0]]
        ) - 0.5
        return SizedKeypoints(
            points.astype(np.float32), descriptors.astype(np.float32), (height, width)
        )


class LightGlue:
    """Answers ``matches``, asked as (i, j), by LightGlue over the SuperPoints of both frames."""

    batch = 1

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load it.

        Args:
            located: Weights of a ``LightGlueForKeypointMatching``.
            device: Where it runs, in float32.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        import torch

        self.name = f"{located.id}-matcher"
        self.revision = located.revision
        self.checksum = located.checksum
        self._device = device
        self._network = load_pretrained(
            "LightGlueForKeypointMatching",
            located,
            device,
            filter_threshold=constant("lightglue.score"),
        )

        class Given(torch.nn.Module):
            """Stands where the detector was, and returns what was detected before."""

            found: tuple[Any, ...] = ()

            def forward(self, values: Any) -> tuple[Any, ...]:
                return self.found

        self._given = Given()
        self._network.keypoint_detector = self._given

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the keypoints of both frames."""
        return tuple(Ask("match", (frame,)) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Match every pair."""
        return [self._match(first, second) for first, second in inputs]

    def _match(self, first: SizedKeypoints, second: SizedKeypoints) -> Matches:
        import torch

        counts = (len(first.points), len(second.points))
        if not all(counts):
            none = np.zeros((0, 2), np.float32)
            return Matches(none, none, counts)
        most, width = max(counts), first.descriptors.shape[1]
        share, described = (
            np.zeros((2, most, 2), np.float32),
            np.zeros((2, most, width), np.float32),
        )
        mask = np.zeros((2, most), np.int32)
        for k, side in enumerate((first, second)):
            share[k, : counts[k]] = side.points / np.array(side.size[::-1], np.float32)
            described[k, : counts[k]] = side.descriptors
            mask[k, : counts[k]] = 1
        scores = np.zeros((2, most), np.float32)
        self._given.found = tuple(
            torch.from_numpy(x).to(self._device) for x in (share, scores, described, mask)
        )
        # Of the images only the size is looked at.
        size = torch.empty(1, device=self._device).expand(1, 2, 3, *first.size)
        with torch.inference_mode():
            found = self._network(pixel_values=size).matches[0, 0].cpu().numpy()
        rows = np.flatnonzero(found[: counts[0]] >= 0)
        return Matches(first.points[rows], second.points[found[rows]], counts)
