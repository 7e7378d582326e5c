"""Cosmos-Predict2.5 in this process: each clip begins on the last frames of the one before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.world import WeightsNotFound, World
from worldenv.worlds.diffusion.world import Clip, DiffusionWorld, to_tensor
from worldenv.worlds.models.cosmos_predict25 import CLIP, MODEL, OVERLAP
from worldenv.worlds.models.model import Native
from worldenv.worlds.models.text import SENTENCES

__all__ = ["CosmosWorld", "guardrail", "make_local"]


class CosmosWorld(DiffusionWorld):
    """Cosmos-Predict2.5 (2B); each clip is told in words how the camera moves."""

    kind = "Cosmos2_5_PredictBasePipeline"
    parts = {  # noqa: RUF012, a constant
        "tokenizer": "",
        "text_encoder": "",
        "transformer": "",
        "vae": "",
        "scheduler": "",
    }
    size = "2 billion parameters, a text encoder of 7 billion, and the guardrail; a GPU of 48 GB"

    def load(self) -> Any:
        """Return the pipeline, where everything is there that its transformer calls."""
        pipeline = super().load()
        from diffusers.utils import is_torchvision_available

        if pipeline.transformer.config.concat_padding_mask and not is_torchvision_available():
            raise WeightsNotFound(
                f"{MODEL.title} needs torchvision, which its transformer in diffusers calls; "
                "install the torchvision that belongs to this torch"
            )
        return pipeline

    def given(self) -> dict[str, Any]:
        """Return the guardrail, without which the licence allows no use."""
        return {"safety_checker": guardrail()}

    def remember(
        self, image: NDArray[np.uint8], K: NDArray[np.float64], native: Native | None
    ) -> Clip:
        """Return the first frame."""
        return Clip(image[None])

    def go_on(
        self, memory: Clip, native: Native, poses: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], Clip]:
        """Return the new frames of the next clip."""
        seen = len(memory.frames)
        made = self.generate(
            self.pipeline,
            # A clip of one frame is an image; given so, it is read without torchvision.
            video=to_tensor(memory.frames),
            num_latent_conditional_frames=1 if seen == 1 else 2,
            prompt=SENTENCES.prompt(native["captions"][-1], self._scene),
            num_frames=CLIP,
            output_type="np",
        )
        frames = self.to_pictures(made.frames[0])[seen:]
        return frames, Clip(frames[-OVERLAP:].copy())


def guardrail() -> Any:
    """Return the checker of prompts and frames that the licence of the weights requires.

    Raises:
        WeightsNotFound: it is not installed.
    """
    try:
        from cosmos_guardrail import CosmosSafetyChecker
    except ImportError as error:
        raise WeightsNotFound(
            f"{MODEL.title} must run with its guardrail (NVIDIA Open Model License); install it "
            "with pip install cosmos_guardrail, and accept the terms of its weights on the hub"
        ) from error
    return CosmosSafetyChecker()


def make_local(**options: Any) -> World:
    """Return CosmosPredict25-v0; options as in its ``MODEL``."""
    return CosmosWorld(MODEL, options)
