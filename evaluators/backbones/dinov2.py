"""Role embed: DINOv2 (facebook/dinov2-base, Apache-2.0), the class token of a frame or thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.crops import crop, normalised
from worldenv.evaluators.backbones.detections import noun_of
from worldenv.evaluators.backbones.inference import batch_of
from worldenv.evaluators.backbones.pretrained import in_batches, load_pretrained, unit
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.backbones.resample import (
    IMAGENET_DEVIATION,
    IMAGENET_MEAN,
    central,
)
from worldenv.evaluators.backbones.truth import ANYTHING
from worldenv.evaluators.constants import constant
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

Image = NDArray[np.uint8]


class Dinov2:
    """Answers ``embed``, asked as (frame,), with unit vectors.

    With a subject: track -> (Region without its mask, vector) for every region of the ``cutout``
    that is large enough. R2M-Bench's objects (noun ``*``) are cropped onto white and cut square as
    its code does; other things, of which the papers only say that features are taken inside the
    mask, lie uncut on a square of their own mean colour.
    """

    def __init__(self, located: Located, device: str = "cpu", side: int = 518) -> None:
        """Load it.

        Args:
            located: Weights of a ``Dinov2Model``.
            device: Where it runs, in float32.
            side: Side of its square input in pixels; R2M-Bench: 518.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self.name = f"{located.id}-{side}"
        self.revision = located.revision
        self.checksum = located.checksum
        self.batch = batch_of(device, 8)
        self._side = side
        self._device = device
        self._network = load_pretrained("Dinov2Model", located, device)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame, or its cutout where a subject is given."""
        if not ask.subject:
            return (pixels(ask.frames[0]),)
        return (Ask("cutout", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Embed the frames in one batch, then the regions of each ask by themselves."""
        out: list[Any] = [None] * len(asks)
        whole = [k for k, ask in enumerate(asks) if not ask.subject]
        for k, vector in zip(whole, self._embed([inputs[k][0] for k in whole]), strict=True):
            out[k] = vector
        # A padded batch asks the last again.
        made: dict[Ask, Any] = {}
        for k, ask in enumerate(asks):
            if ask.subject:
                if ask not in made:
                    frame, regions = inputs[k][0]
                    white = noun_of(ask.subject) == ANYTHING
                    made[ask] = self._regions(frame, regions, white)
                out[k] = made[ask]
        return out

    def _regions(
        self, frame: Image, regions: Sequence[Region], white: bool
    ) -> dict[int, tuple[Region, NDArray[np.float32]]]:
        least = constant("worldmembench.min_area")
        kept = [r for r in regions if r.area >= least]
        images = [
            crop(frame, r.mask, "white") if white else on_its_mean(frame, r.mask) for r in kept
        ]
        vectors = self._embed(images)
        return {
            r.track: (r._replace(mask=r.mask[:0]), vector)
            for r, vector in zip(kept, vectors, strict=True)
        }

    def _embed(self, images: Sequence[Image]) -> list[NDArray[np.float32]]:
        return in_batches(images, self.batch, self._forward)

    def _forward(self, images: list[Image]) -> NDArray[np.float32]:
        import torch

        squares = [central(image, self._side) for image in images]
        values = normalised(squares, IMAGENET_MEAN, IMAGENET_DEVIATION)
        with torch.inference_mode():
            out = self._network(pixel_values=torch.from_numpy(values).to(self._device))
        return unit(out.pooler_output.cpu().numpy())


def on_its_mean(frame: Image, mask: NDArray[np.bool_]) -> Image:
    """Return the tight crop of a masked thing, uncut, on a square of its own mean colour."""
    image = crop(frame, mask, "mean")
    height, width = image.shape[:2]
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2
    square = np.empty((side, side, 3), np.uint8)
    square[:] = np.rint(frame[mask].mean(axis=0))
    square[top : top + height, left : left + width] = image
    return square
