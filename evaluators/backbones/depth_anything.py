"""Role depth: Depth Anything V2 metric, small (Apache-2.0), metres of every pixel of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.crops import normalised
from worldenv.evaluators.backbones.pretrained import load_pretrained
from worldenv.evaluators.backbones.resample import IMAGENET_DEVIATION, IMAGENET_MEAN, resample
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located


class DepthAnything:
    """Answers ``depth``, asked as (frame,), with (height, width) float32 metres.

    Every frame is looked at by itself. The network saturates at the largest distance it was
    trained for (20 m indoors, 80 m outdoors); what reaches it counts as nothing (0), like sky.
    """

    batch = 1

    def __init__(self, located: Located, device: str = "cpu", side: int = 518) -> None:
        """Load it.

        Args:
            located: Weights of a metric ``DepthAnythingForDepthEstimation``.
            device: Where it runs, in float32.
            side: Shorter side of its input in pixels.

        Raises:
            DamagedWeights: the weights are of another network, or of one without metres.
        """
        from worldenv.evaluators.backbones.pretrained import wrong

        self.name = f"{located.id}-{side}"
        self.revision = located.revision
        self.checksum = located.checksum
        self._device, self._side = device, side
        self._network = load_pretrained("DepthAnythingForDepthEstimation", located, device)
        config = self._network.config
        if config.depth_estimation_type != "metric":
            raise wrong(located, "DepthAnythingForDepthEstimation", "it gives no metres")
        self._far = float(config.max_depth)
        self._patch = int(config.patch_size)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Estimate every frame."""
        return [self._estimate(frame) for (frame,) in inputs]

    def _input(self, frame: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the frame with its shorter side resized, both sides multiples of a patch."""
        height, width = frame.shape[:2]
        scale = self._side / min(height, width)
        sides = [max(round(s * scale / self._patch), 1) * self._patch for s in (height, width)]
        image = resample(frame, sides[1], sides[0])
        return normalised([image], IMAGENET_MEAN, IMAGENET_DEVIATION)

    def _estimate(self, frame: NDArray[np.uint8]) -> NDArray[np.float32]:
        import torch

        values = torch.from_numpy(self._input(frame)).to(self._device)
        with torch.inference_mode():
            found = self._network(pixel_values=values).predicted_depth
            large = torch.nn.functional.interpolate(
                found[:, None], size=frame.shape[:2], mode="bicubic", align_corners=False
            )[0, 0]
        depth = np.asarray(large.cpu().numpy(), np.float32)
        depth[(depth <= 0) | (depth >= 0.99 * self._far)] = 0
        return depth
