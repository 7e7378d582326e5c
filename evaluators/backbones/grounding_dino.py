"""Role detect: GroundingDINO (IDEA-Research/grounding-dino-tiny, Apache-2.0), boxes of a noun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.crops import normalised
from worldenv.evaluators.backbones.detections import ENTITIES, boxed, concept, noun_of
from worldenv.evaluators.backbones.pretrained import load_pretrained, load_tokenizer
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.backbones.resample import IMAGENET_DEVIATION, IMAGENET_MEAN, short_side
from worldenv.evaluators.backbones.truth import ANYTHING
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

_LONGEST_TO_SHORTEST = 1333 / 800


class GroundingDino:
    """Answers ``detect`` for a noun with regions whose masks are filled boxes.

    The noun is asked for as a lower-case phrase that ends with a full stop, ``*`` as the list of
    common entities of R2M-Bench. Confidences of boxes and words and the overlap limit are those
    of R2M-Bench; a region of ``*`` is categorised as the words that name it, any other as the
    noun.
    """

    batch = 1

    def __init__(
        self,
        located: Located,
        device: str = "cpu",
        side: int = 800,
        threshold: str = "detect.box",
    ) -> None:
        """Load it.

        Args:
            located: Weights of a ``GroundingDinoForObjectDetection`` with its tokenizer.
            device: Where it runs, in float32.
            side: Shorter side of its input in pixels; the longer is at most 5/3 of it.
            threshold: Constant that holds the smallest confidence of a box.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self._threshold = constant(threshold)
        self.name = f"{located.id}-{side}-{self._threshold:g}"
        self.revision = located.revision
        self.checksum = located.checksum
        self._device = device
        self._side = side
        self._network = load_pretrained("GroundingDinoForObjectDetection", located, device)
        entries = self._network.config.text_config.vocab_size
        self._tokenizer = load_tokenizer(located, entries)

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
        anything = noun == ANYTHING
        text = ". ".join(ENTITIES if anything else (concept(noun),)) + "."
        ids, logits, boxes = self._forward(frame, text)
        found = logits.max(axis=1)
        sure = np.flatnonzero(found > self._threshold)
        categories = [self._phrase(ids, logits[k]) if anything else noun for k in sure.tolist()]
        size = frame.shape[0], frame.shape[1]
        scale = np.array([size[1], size[0]] * 2, np.float32)
        centres, extents = boxes[sure, :2], boxes[sure, 2:]
        corners = np.concatenate([centres - extents / 2, centres + extents / 2], axis=1) * scale
        most = whole("r2m.anchors") if anything else 0
        return boxed(corners, found[sure], categories, size, most)

    def _forward(
        self, frame: NDArray[np.uint8], text: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
        """Return token ids (t,), confidence of every query and token (q, t), boxes (q, 4)."""
        import torch

        values = torch.from_numpy(self._input(frame))
        words = self._tokenizer(text, return_tensors="pt", return_token_type_ids=True)
        with torch.inference_mode():
            out = self._network(
                pixel_values=values.to(self._device),
                pixel_mask=torch.ones((1, *values.shape[2:]), device=self._device).long(),
                **{key: value.to(self._device) for key, value in words.items()},
            )
            confidence = out.logits[0].sigmoid().cpu().numpy()
        ids = words["input_ids"][0].numpy()
        boxes = np.asarray(out.pred_boxes[0].cpu().numpy(), np.float32)
        # Beyond the text, the logits are minus infinity.
        return ids, np.asarray(confidence[:, : len(ids)], np.float32), boxes

    def _input(self, frame: NDArray[np.uint8]) -> NDArray[np.float32]:
        longest = round(self._side * _LONGEST_TO_SHORTEST)
        image = short_side(frame, self._side, "bilinear", longest)
        return normalised([image], IMAGENET_MEAN, IMAGENET_DEVIATION)

    def _phrase(self, ids: NDArray[np.int64], confidence: NDArray[np.float32]) -> str:
        """Return the words of the text that name a box."""
        named = np.flatnonzero(confidence > constant("detect.text"))
        inner = named[(named > 0) & (named < len(ids) - 1)]
        return concept(str(self._tokenizer.decode(ids[inner].tolist())))
