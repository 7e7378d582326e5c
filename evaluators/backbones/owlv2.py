"""Role detect: OWLv2 (google/owlv2-base-patch16-ensemble, Apache-2.0), boxes of a noun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.crops import normalised
from worldenv.evaluators.backbones.detections import ENTITIES, boxed, concept, noun_of
from worldenv.evaluators.backbones.pretrained import load_pretrained, load_tokenizer
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.backbones.resample import CLIP_DEVIATION, CLIP_MEAN, resample
from worldenv.evaluators.backbones.truth import ANYTHING
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located


class Owlv2:
    """Answers ``detect`` for a noun with regions whose masks are filled boxes.

    The noun is asked for as ``a photo of a <noun>``, ``*`` as the common entities of R2M-Bench one
    by one; a region of ``*`` is categorised as the entity it is most like.
    """

    batch = 1

    def __init__(
        self, located: Located, device: str = "cpu", threshold: str = "detect.box"
    ) -> None:
        """Load it.

        Args:
            located: Weights of an ``Owlv2ForObjectDetection`` with its tokenizer.
            device: Where it runs, in float32.
            threshold: Constant that holds the smallest confidence of a box.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self._threshold = constant(threshold)
        self.name = f"{located.id}-{self._threshold:g}"
        self.revision = located.revision
        self.checksum = located.checksum
        self._device = device
        self._network = load_pretrained("Owlv2ForObjectDetection", located, device)
        config = self._network.config
        self._side = int(config.vision_config.image_size)
        self._words = int(config.text_config.max_position_embeddings)
        self._tokenizer = load_tokenizer(located, config.text_config.vocab_size, "CLIPTokenizer")

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Detect in every frame."""
        return [
            self._detect(frame, noun_of(ask.subject))
            for ask, (frame,) in zip(asks, inputs, strict=True)
        ]

    def _detect(self, frame: NDArray[np.uint8], noun: str) -> tuple[Region, ...]:
        import torch

        anything = noun == ANYTHING
        nouns = ENTITIES if anything else (noun,)
        words = self._tokenizer(
            [f"a photo of a {concept(n)}" for n in nouns],
            padding="max_length",
            max_length=self._words,
            truncation=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            out = self._network(
                pixel_values=torch.from_numpy(self._input(frame)).to(self._device),
                input_ids=words["input_ids"].to(self._device),
                attention_mask=words["attention_mask"].to(self._device),
            )
            confidence = out.logits[0].sigmoid().cpu().numpy()
            boxes = np.asarray(out.pred_boxes[0].cpu().numpy(), np.float32)
        found = np.asarray(confidence.max(axis=1), np.float32)
        sure = np.flatnonzero(found > self._threshold)
        best = confidence.argmax(axis=1)
        categories = [nouns[best[k]] for k in sure.tolist()]
        # Boxes are shares of the padded square.
        longest = float(max(frame.shape[:2]))
        centres, extents = boxes[sure, :2] * longest, boxes[sure, 2:] * longest
        corners = np.concatenate([centres - extents / 2, centres + extents / 2], axis=1)
        size = frame.shape[0], frame.shape[1]
        return boxed(
            corners, found[sure], categories, size, whole("r2m.anchors") if anything else 0
        )

    def _input(self, frame: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the frame at the top left of a black square, resized, as the port has it."""
        side = max(frame.shape[:2])
        square = np.zeros((side, side, 3), np.uint8)
        square[: frame.shape[0], : frame.shape[1]] = frame
        image = resample(square, self._side, self._side, "bilinear")
        return normalised([image], CLIP_MEAN, CLIP_DEVIATION)
