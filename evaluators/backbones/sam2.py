"""Role segment: SAM 2.1 (facebook/sam2.1-hiera-*, Apache-2.0), from boxes to masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.crops import normalised
from worldenv.evaluators.backbones.detections import box_of, noun_of
from worldenv.evaluators.backbones.pretrained import load_pretrained
from worldenv.evaluators.backbones.regions import Region, region
from worldenv.evaluators.backbones.resample import IMAGENET_DEVIATION, IMAGENET_MEAN, resample
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import Located

Image = NDArray[np.uint8]
Masks = NDArray[np.bool_]


class Sam2Segmenter:
    """Answers ``segment``: what ``detect`` boxes, as masks; in a window, what ``follow`` holds.

    Asked for a Thing with a window, the regions keep their track over its frames. Otherwise every
    frame stands by itself and tracks only number the regions.
    """

    batch = 1

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load it.

        Args:
            located: Weights of a ``Sam2Model`` or ``Sam2VideoModel``.
            device: Where it runs, in float32.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self.name = located.id
        self.revision = located.revision
        self.checksum = located.checksum
        self._device = device
        self._network = load_pretrained("Sam2Model", located, device)
        self._side = int(self._network.config.prompt_encoder_config.image_size)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the tracker's answer inside a window, else the frame and its boxes."""
        if windowed(ask):
            return (Ask("follow", ask.frames, ask.subject),)
        return pixels(ask.frames[0]), Ask("detect", ask.frames, alone(ask))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Segment every frame."""
        return [
            values[0].regions if windowed(ask) else self._segment(*values)
            for ask, values in zip(asks, inputs, strict=True)
        ]

    def _segment(self, frame: Image, detected: Sequence[Region]) -> tuple[Region, ...]:
        import torch

        if not detected:
            return ()
        boxes = scaled_boxes(detected, frame.shape, self._side)
        values = torch.from_numpy(sam2_input(frame, self._side))
        with torch.inference_mode():
            out = self._network(
                pixel_values=values.to(self._device),
                input_boxes=torch.from_numpy(boxes)[None].to(self._device),
                multimask_output=False,
            )
            masks = sized(out.pred_masks[0, :, 0], frame.shape)
        found = [
            region(0, box.category, mask, box.score)
            for box, mask in zip(detected, masks, strict=True)
            if mask.any()
        ]
        found.sort(key=lambda r: -r.area)
        return tuple(r._replace(track=k) for k, r in enumerate(found, start=1))


def windowed(ask: Ask) -> bool:
    """Return whether an ask is about a frame of a window over which things are followed."""
    return isinstance(ask.subject, Thing) and ask.frames[0] in ask.subject.window


def alone(ask: Ask) -> Thing:
    """Return what is asked for, without a window."""
    return Thing(noun_of(ask.subject))


def sam2_input(frame: Image, side: int) -> NDArray[np.float32]:
    """Return a frame as SAM 2 takes it, squashed to a square, shape (1, 3, side, side)."""
    return normalised([resample(frame, side, side, "bilinear")], IMAGENET_MEAN, IMAGENET_DEVIATION)


def scaled_boxes(
    detected: Sequence[Region], shape: tuple[int, ...], side: int
) -> NDArray[np.float32]:
    """Return the boxes of regions in the pixels of the squashed square, shape (n, 4)."""
    boxes = np.array([box_of(r.mask) for r in detected], np.float32)
    return boxes * np.array([side / shape[1], side / shape[0]] * 2, np.float32)


def sized(logits: Any, shape: tuple[int, ...]) -> Masks:
    """Return low-resolution mask logits (n, h, w), a tensor, as masks of the frame's size."""
    import torch

    large = torch.nn.functional.interpolate(
        logits[:, None].float(), size=shape[:2], mode="bilinear", align_corners=False
    )
    return np.asarray((large[:, 0] > 0).cpu().numpy(), np.bool_)
