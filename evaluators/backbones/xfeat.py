"""Roles match and matches, learned: XFeat keypoints, and mutual nearest neighbours of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import load_state
from worldenv.evaluators.backbones.inference import once, one_thread
from worldenv.evaluators.metrics.match import Keypoints, Matches
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

KEYPOINTS = 1024
"""Most keypoints of a frame, the most reliable ones; as many as the papers keep."""

_THRESHOLD = 0.05
_RADIUS = 2
_CELL = 8
_DIVISOR = 32


def _layer(inside: int, out: int, kernel: int = 3, stride: int = 1) -> nn.Module:
    padding = kernel // 2
    convolution = nn.Conv2d(inside, out, kernel, stride, padding, bias=False)
    layer = nn.Sequential(convolution, nn.BatchNorm2d(out, affine=False), nn.ReLU())
    return nn.ModuleDict({"layer": layer})


class _Chain(nn.Sequential):
    """Layers one after the other; those of the release lie one level deeper, under ``layer``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self:
            x = part["layer"](x) if isinstance(part, nn.ModuleDict) else part(x)
        return x


class XFeatNet(nn.Module):
    """The network; names of its tensors are those of the checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.skip1 = nn.Sequential(nn.AvgPool2d(4, 4), nn.Conv2d(1, 24, 1))
        self.block1 = _Chain(_layer(1, 4), _layer(4, 8, 3, 2), _layer(8, 8), _layer(8, 24, 3, 2))
        self.block2 = _Chain(_layer(24, 24), _layer(24, 24))
        self.block3 = _Chain(_layer(24, 64, 3, 2), _layer(64, 64), _layer(64, 64, 1))
        self.block4 = _Chain(_layer(64, 64, 3, 2), _layer(64, 64), _layer(64, 64))
        self.block5 = _Chain(
            _layer(64, 128, 3, 2), _layer(128, 128), _layer(128, 128), _layer(128, 64, 1)
        )
        self.block_fusion = _Chain(_layer(64, 64), _layer(64, 64), nn.Conv2d(64, 64, 1))
        self.heatmap_head = _Chain(
            _layer(64, 64, 1), _layer(64, 64, 1), nn.Conv2d(64, 1, 1), nn.Sigmoid()
        )
        self.keypoint_head = _Chain(
            *(_layer(64, 64, 1) for _ in range(3)), nn.Conv2d(64, _CELL * _CELL + 1, 1)
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return descriptors (n, 64, h / 8, w / 8), keypoint map (n, 1, h, w) and reliability.

        Args:
            x: Grey image, shape (n, 1, h, w), sides multiples of 32.
        """
        x = functional.instance_norm(x)
        first = self.block2(self.block1(x) + self.skip1(x))
        third = self.block3(first)
        fourth = self.block4(third)
        fifth = self.block5(fourth)
        size = third.shape[-2:]
        coarse = [functional.interpolate(y, size, mode="bilinear") for y in (fourth, fifth)]
        features = self.block_fusion(third + coarse[0] + coarse[1])
        # Every 8 x 8 cell of the image has one of 65 answers: its pixel with a keypoint, or none.
        logits = self.keypoint_head(functional.pixel_unshuffle(x, _CELL))
        chance = functional.softmax(logits, dim=1)[:, :-1]
        return (
            functional.normalize(features, dim=1),
            functional.pixel_shuffle(chance, _CELL),
            self.heatmap_head(features),
        )


class XFeat:
    """Answers ``match`` with up to 1024 Keypoints of a frame; descriptors (n, 64) of unit length.

    Keypoints are maxima of the network's map within 2 pixels, the most reliable first.
    """

    name = "xfeat-1024"
    batch = 1

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load the network; the part that refines matches of its dense mode is not used.

        Raises:
            DamagedWeights: the file is not of this network.
        """
        self.revision = f"{located.revision}; grey, sides to multiples of {_DIVISOR} bilinear; 1"
        self.checksum = located.checksum
        self._device = device
        self._net = XFeatNet()

        def rename(key: str) -> str | None:
            return None if key.startswith("fine_matcher.") else key

        load_state(self._net, located, "xfeat.safetensors", rename, device=device)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Detect and describe."""
        with one_thread():
            return once([ask.frames for ask in asks], lambda k: self.keypoints(inputs[k][0]))

    def keypoints(self, frame: NDArray[np.uint8]) -> Keypoints:
        """Return the Keypoints of a frame (height, width, 3) uint8; sides of at least 32 pixels."""
        height, width = frame.shape[:2]
        sides = [max(side // _DIVISOR, 1) * _DIVISOR for side in (height, width)]
        with torch.inference_mode():
            image = torch.from_numpy(np.array(frame)).to(self._device)
            grey = image.float().mean(dim=2)[None, None] / 255
            grey = functional.interpolate(grey, sides, mode="bilinear", align_corners=False)
            features, chance, reliability = self._net(grey)
            reach = 2 * _RADIUS + 1
            highest = functional.max_pool2d(chance, reach, stride=1, padding=_RADIUS)
            rows, columns = ((chance == highest) & (chance > _THRESHOLD))[0, 0].nonzero().T
            points = torch.stack([columns, rows], dim=1).float()
            # The release samples where the corners of the map are the corners of the image.
            last = torch.tensor([sides[1] - 1, sides[0] - 1]).to(points)
            grid = (2 * points / last - 1)[None, None]
            sure = functional.grid_sample(reliability, grid, mode="bilinear", align_corners=False)
            score = chance[0, 0, rows, columns] * sure[0, 0, 0]
            order = torch.sort(score, descending=True, stable=True).indices[:KEYPOINTS]
            order = order[score[order] > 0]
            at = grid[:, :, order]
            sampled = functional.grid_sample(features, at, mode="bicubic", align_corners=False)
            found = functional.normalize(sampled[0, :, 0].T, dim=1).cpu().numpy()
            # A pixel's centre lies half a pixel from its corner, at every scale.
            scale = torch.tensor([width / sides[1], height / sides[0]]).to(points)
            native = ((points[order] + 0.5) * scale - 0.5).cpu().numpy()
        return Keypoints(native.astype(np.float32), found.astype(np.float32))


class MutualMatcher:
    """Answers ``matches``, asked as (i, j): descriptors that are each other's nearest."""

    name = "mutual-nearest"
    batch = 1

    def __init__(self, located: Located, least: float = 0.82) -> None:
        """Make it.

        Args:
            located: Weights of what describes the keypoints; they are not read.
            least: Smallest cosine of a match; 0.82 is what XFeat's release uses.
        """
        self._least = least
        self.checksum = located.checksum
        self.revision = f"cosine {least:g}; 1"

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the keypoints of both frames."""
        return tuple(Ask("match", (frame,)) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Match every pair."""
        return [mutual_matches(first, second, self._least) for first, second in inputs]


def mutual_matches(a: Keypoints, b: Keypoints, least: float = 0.82) -> Matches:
    """Return the pairs of keypoints that are each other's nearest by cosine.

    Args:
        a: Keypoints with unit descriptors.
        b: The other frame's.
        least: Smallest cosine of a match.
    """
    counts = (len(a.points), len(b.points))
    if not all(counts):
        return Matches(np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32), counts)
    cosines = a.descriptors @ b.descriptors.T
    forth, back = cosines.argmax(axis=1), cosines.argmax(axis=0)
    rows = np.arange(counts[0])
    good = (back[forth] == rows) & (cosines[rows, forth] > least)
    return Matches(a.points[good], b.points[forth[good]], counts)
