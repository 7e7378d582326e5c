"""Answers of place-recognition networks: a frame squashed to a square, a unit descriptor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from worldenv.evaluators.backbones.crops import normalised
from worldenv.evaluators.backbones.inference import batch_of
from worldenv.evaluators.backbones.pretrained import in_batches, unit
from worldenv.evaluators.backbones.resample import IMAGENET_DEVIATION, IMAGENET_MEAN, resample
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located


class PlaceNetwork:
    """Answers a role, asked as (frame,), with the unit descriptor of a network."""

    def __init__(self, net: nn.Module, located: Located, side: int, device: str) -> None:
        """Make it.

        Args:
            net: Images (n, 3, side, side) -> descriptors (n, d); its weights are loaded.
            located: Where they came from.
            side: Side of the square that a frame is squashed to, bicubic, in pixels.
            device: Where it runs, in float32.
        """
        self.name = f"{located.id}-{side}"
        self.revision = f"{located.revision}; 1"
        self.checksum = located.checksum
        self.batch = batch_of(device, 8)
        self._net, self._side, self._device = net, side, device

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Describe every frame."""
        return in_batches([frame for (frame,) in inputs], self.batch, self._describe)

    def _describe(self, frames: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        squares = [resample(frame, self._side, self._side) for frame in frames]
        values = normalised(squares, IMAGENET_MEAN, IMAGENET_DEVIATION)
        with torch.inference_mode():
            return unit(self._net(torch.from_numpy(values).to(self._device)).cpu().numpy())
