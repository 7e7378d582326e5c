"""Role segment: SAM 2.1 by its authors' package in place of the port; WORLDENV_SAM2=package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.checkpoint import fill
from worldenv.evaluators.backbones.detections import box_of
from worldenv.evaluators.backbones.pretrained import wrong
from worldenv.evaluators.backbones.regions import Region, region
from worldenv.evaluators.backbones.sam2 import alone, windowed
from worldenv.evaluators.constants import constant
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import Located

Image = NDArray[np.uint8]
_A_FRAME = 1000
"""Track numbers that are free for the things that appear in a frame."""


class Sam2Package:
    """Answers ``segment`` with masks of what ``detect`` boxes.

    In a window every frame is segmented by itself and a region takes the track of the region of
    the frame before that it overlaps most, from an overlap (IoU) of 0.5; the package's own tracker
    wants the whole video as files. What is hidden for a frame therefore gets another track, which
    the port's tracker avoids.
    """

    batch = 1

    def __init__(
        self,
        located: Located,
        device: str = "cpu",
        file: str = "sam2.1_hiera_large.pt",
        config: str = "configs/sam2.1/sam2.1_hiera_l.yaml",
        overrides: Sequence[str] = (),
    ) -> None:
        """Load it.

        Args:
            located: Folder with the authors' checkpoint.
            device: Where it runs, in float32.
            file: The checkpoint.
            config: Configuration of the package.
            overrides: Changes of the configuration, as Hydra takes them.

        Raises:
            DamagedWeights: the file is of another network.
        """
        import torch
        from sam2.build_sam import build_sam2
        from sam2.sam2_image_predictor import SAM2ImagePredictor

        self.name = f"{located.id}-package"
        self.revision = located.revision
        self.checksum = located.checksum
        network = build_sam2(config, None, device="cpu", hydra_overrides_extra=list(overrides))
        try:
            state = torch.load(located.folder / file, map_location="cpu", weights_only=True)
        except Exception as error:
            # What torch raises depends on what is wrong with the file.
            raise wrong(located, file, f"it cannot be read ({type(error).__name__})") from error
        fill(network, state.get("model", {}), located, file)
        self._predictor: Any = SAM2ImagePredictor(network.to(device).eval())

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame and its boxes; in a window also the same ask of the frame before."""
        plain = (pixels(ask.frames[0]), Ask("detect", ask.frames, alone(ask)))
        if not windowed(ask):
            return plain
        assert isinstance(ask.subject, Thing)
        before = ask.subject.before(ask.frames[0])
        return plain if before is None else (*plain, Ask("segment", (before,), ask.subject))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Segment every frame."""
        out: list[Any] = []
        for ask, values in zip(asks, inputs, strict=True):
            found = self._segment(*values[:2])
            first = ask.frames[0] * _A_FRAME if windowed(ask) else 0
            out.append(linked(found, values[2] if len(values) > 2 else (), first))
        return out

    def _segment(self, frame: Image, detected: Sequence[Region]) -> list[Region]:
        import torch

        if not detected:
            return []
        boxes = np.array([box_of(r.mask) for r in detected], np.float32)
        with torch.inference_mode():
            self._predictor.set_image(frame)
            masks, _, _ = self._predictor.predict(box=boxes, multimask_output=False)
        shaped = np.asarray(masks).reshape(len(boxes), *frame.shape[:2]) > 0
        return [
            region(0, box.category, mask, box.score)
            for box, mask in zip(detected, shaped, strict=True)
            if mask.any()
        ]


def linked(found: Sequence[Region], before: Sequence[Region], first: int = 0) -> tuple[Region, ...]:
    """Return regions, largest first, with the tracks of those of the frame before they overlap.

    Args:
        found: Regions of a frame.
        before: Regions of the frame before.
        first: New tracks are numbered from one above it.
    """
    offers = []
    for k, new in enumerate(found):
        for old in before:
            union = int(np.count_nonzero(new.mask | old.mask))
            share = int(np.count_nonzero(new.mask & old.mask)) / max(union, 1)
            if share >= constant("follow.overlap"):
                offers.append((-share, k, old.track))
    tracks: dict[int, int] = {}
    for _, k, track in sorted(offers):
        if k not in tracks and track not in tracks.values():
            tracks[k] = track
    order = sorted(range(len(found)), key=lambda k: -found[k].area)
    for number, k in enumerate((k for k in order if k not in tracks), start=first + 1):
        tracks[k] = number
    return tuple(found[k]._replace(track=tracks[k]) for k in order)
