"""Role text: CLIP or OpenCLIP ViT-B/32 (MIT), how well words describe a frame or a thing in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.crops import crop, normalised
from worldenv.evaluators.backbones.inference import batch_of
from worldenv.evaluators.backbones.pretrained import (
    in_batches,
    load_pretrained,
    load_tokenizer,
    unit,
)
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.backbones.resample import CLIP_DEVIATION, CLIP_MEAN, central
from worldenv.evaluators.constants import constant
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]


class Clip:
    """Answers ``text``, asked as (frame,).

    Without a subject: the unit vector of the frame. With a prompt (text): its cosine to the frame.
    With a Thing: track -> cosine of the region, cut out onto white, to its category, for every
    region of the ``cutout`` that is large enough. Words that do not fit into the network's 77
    tokens are cut off at the end.
    """

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load it.

        Args:
            located: Weights of a ``CLIPModel`` with its tokenizer.
            device: Where it runs, in float32.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self.name = located.id
        self.revision = located.revision
        self.checksum = located.checksum
        self.batch = batch_of(device, 8)
        self._device = device
        self._network = load_pretrained("CLIPModel", located, device)
        config = self._network.config
        self._side = int(config.vision_config.image_size)
        self._words = int(config.text_config.max_position_embeddings)
        self._tokenizer = load_tokenizer(located, config.text_config.vocab_size, "CLIPTokenizer")
        self._known: dict[str, Floats] = {}

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame, its vector for a prompt, its cutout for a Thing."""
        if isinstance(ask.subject, str):
            if ask.subject:
                return (Ask("text", ask.frames),)
            return (pixels(ask.frames[0]),)
        return (Ask("cutout", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Answer what each asks for; whole frames go through the network together."""
        out: list[Any] = [None] * len(asks)
        whole = [k for k, ask in enumerate(asks) if ask.subject == ""]
        vectors = in_batches([inputs[k][0] for k in whole], self.batch, self.images)
        for k, vector in zip(whole, vectors, strict=True):
            out[k] = vector
        # A padded batch asks the last again.
        made: dict[Ask, Any] = {}
        for k, ask in enumerate(asks):
            if not isinstance(ask.subject, str):
                if ask not in made:
                    made[ask] = self._regions(*inputs[k][0])
                out[k] = made[ask]
            elif ask.subject:
                out[k] = float(inputs[k][0] @ self.words(ask.subject))
        return out

    def _regions(self, frame: Image, regions: Sequence[Region]) -> dict[int, float]:
        least = constant("worldmembench.min_area")
        kept = [r for r in regions if r.area >= least]
        crops = [crop(frame, r.mask, "white") for r in kept]
        vectors = in_batches(crops, self.batch, self.images)
        return {
            r.track: float(vector @ self.words(r.category))
            for r, vector in zip(kept, vectors, strict=True)
        }

    def images(self, images: Sequence[Image]) -> Floats:
        """Return unit vectors (n, d) of RGB images."""
        import torch

        squares = [central(image, self._side) for image in images]
        values = normalised(squares, CLIP_MEAN, CLIP_DEVIATION)
        with torch.inference_mode():
            out = self._network.get_image_features(
                pixel_values=torch.from_numpy(values).to(self._device)
            )
        return unit(_vectors(out))

    def words(self, text: str) -> Floats:
        """Return the unit vector (d,) of a text."""
        import torch

        if text not in self._known:
            tokens = self._tokenizer(
                [text],
                padding="max_length",
                max_length=self._words,
                truncation=True,
                return_tensors="pt",
            )
            with torch.inference_mode():
                out = self._network.get_text_features(
                    input_ids=tokens["input_ids"].to(self._device),
                    attention_mask=tokens["attention_mask"].to(self._device),
                )
            self._known[text] = unit(_vectors(out)[0])
        return self._known[text]


class ClipPair:
    """Answers ``text`` as the papers do: things by CLIP (R2M-Bench), words by OpenCLIP (MBench)."""

    def __init__(self, things: Located, prompts: Located, device: str = "cpu") -> None:
        """Load both; see Clip."""
        self._things, self._prompts = Clip(things, device), Clip(prompts, device)
        self.batch = self._things.batch
        self.name = f"{things.id}+{prompts.id}"
        self.revision = f"{things.revision}+{prompts.revision}"
        self.checksum = f"{things.checksum}+{prompts.checksum}"

    def _of(self, ask: Ask) -> Clip:
        return self._prompts if isinstance(ask.subject, str) else self._things

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return what the one of the two needs that answers."""
        return self._of(ask).needs(ask)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Let each answer what is asked of it."""
        out: list[Any] = [None] * len(asks)
        for clip in (self._things, self._prompts):
            mine = [k for k, ask in enumerate(asks) if self._of(ask) is clip]
            found = clip.compute([asks[k] for k in mine], [inputs[k] for k in mine])
            for k, answer in zip(mine, found, strict=True):
                out[k] = answer
        return out


def _vectors(out: Any) -> Floats:
    """Return the vectors of an answer; the library gives an object since version 5."""
    return np.asarray(getattr(out, "pooler_output", out).cpu().numpy(), np.float32)
