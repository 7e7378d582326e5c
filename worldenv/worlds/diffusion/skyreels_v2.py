"""SkyReels-V2 in this process: each clip begins on the last frames of the one before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.world import World
from worldenv.worlds.diffusion.world import Clip, DiffusionWorld
from worldenv.worlds.models.model import Native
from worldenv.worlds.models.skyreels_v2 import CLIP, MODEL, OVERLAP
from worldenv.worlds.models.text import SENTENCES

__all__ = ["SkyReelsWorld", "make_local"]

BLOCK = 5
"""Latent frames of a block where blocks are made one after the other."""


class SkyReelsWorld(DiffusionWorld):
    """SkyReels-V2 by diffusion forcing; each clip is told in words how the camera moves.

    A single call for a long video carries latents over, but no call goes on from latents that it
    is given, so each clip restarts from the last frames as pictures.
    """

    kind = "SkyReelsV2DiffusionForcingImageToVideoPipeline"
    parts = {  # noqa: RUF012, a constant
        "tokenizer": "",
        "text_encoder": "",
        "transformer": "",
        "vae": "float32",
        "scheduler": "",
    }
    size = "1.3 billion parameters and a text encoder of 6 billion; a GPU of 24 GB"

    def load(self) -> Any:
        """Return the pipeline with the scheduler's shift set, and its sibling for videos."""
        pipeline = super().load()
        import diffusers

        pipeline.scheduler = diffusers.UniPCMultistepScheduler.from_config(
            pipeline.scheduler.config, flow_shift=float(self.chosen["shift"])
        )
        return pipeline

    def remember(
        self, image: NDArray[np.uint8], K: NDArray[np.float64], native: Native | None
    ) -> Clip:
        """Return the first frame."""
        return Clip(image[None])

    def go_on(
        self, memory: Clip, native: Native, poses: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], Clip]:
        """Return the new frames of the next clip."""
        import diffusers
        import torch
        from PIL import Image

        pictures = [Image.fromarray(frame) for frame in memory.frames]
        seen = len(pictures)
        call = self.pipeline
        begun: dict[str, Any] = {"image": pictures[0]}
        if seen > 1:
            later = diffusers.SkyReelsV2DiffusionForcingVideoToVideoPipeline(**call.components)
            later.set_progress_bar_config(disable=True)
            call, begun = later, {"video": pictures, "overlap_history": OVERLAP}
        asynchronous = int(self.chosen["ar_step"])
        seed = int(torch.randint(2**62, (1,), generator=self._generator))
        # The noise on the frames it begins on comes from torch's own generator.
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            made = self.generate(
                call,
                **begun,
                prompt=SENTENCES.prompt(native["captions"][-1], self._scene),
                num_frames=CLIP,
                base_num_frames=CLIP,
                addnoise_condition=float(self.chosen["addnoise_condition"]),
                ar_step=asynchronous,
                causal_block_size=BLOCK if asynchronous else None,
                fps=int(self.spec.fps),
                output_type="np",
            )
        # After the frames that it was given, a clip made from a video shows them once more.
        frames = self.to_pictures(made.frames[0])[-(CLIP - seen) :]
        return frames, Clip(frames[-OVERLAP:].copy())


def make_local(**options: Any) -> World:
    """Return SkyReelsV2-v0; options as in ``worldenv.worlds.models.skyreels_v2.MODEL``."""
    return SkyReelsWorld(MODEL, options)
