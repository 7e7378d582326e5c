"""Helios in this process: latents are carried from chunk to chunk, as in one long call."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.world import Unsupported, World
from worldenv.worlds.diffusion.world import DiffusionWorld, to_tensor
from worldenv.worlds.models.helios import MODEL
from worldenv.worlds.models.model import Model, Native
from worldenv.worlds.models.text import SENTENCES

__all__ = ["HeliosWorld", "make_local"]

LATENTS = 9
"""Latent frames of a chunk."""
NOISE = (0.111, 0.135)
"""Range of the noise that the model expects on the frames that it starts from."""


@dataclasses.dataclass(frozen=True)
class Memory:
    """What goes on between chunks: all that the next one is made from.

    Attributes:
        anchor: Latent of the first frame, shape (1, c, 1, h, w).
        history: Latents that the model looks back on, newest last, shape (1, c, n, h, w).
        first: Whether nothing has been made yet.
    """

    anchor: Any
    history: Any
    first: bool


class HeliosWorld(DiffusionWorld):
    """Helios-Base; each chunk is told in words how the camera moves."""

    kind = "HeliosPipeline"
    parts = {  # noqa: RUF012, a constant
        "tokenizer": "",
        "text_encoder": "",
        "transformer": "",
        "vae": "float32",
        "scheduler": "",
    }
    size = "14 billion parameters and a text encoder; a GPU of 80 GB"

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        super().__init__(model, options)
        if self.chosen["keep_first_frame"] is not True:
            raise Unsupported(
                "Helios cannot drop its first frame here: diffusers 0.42 splits the history into "
                "one latent more than it keeps; leave keep_first_frame out"
            )

    def remember(
        self, image: NDArray[np.uint8], K: NDArray[np.float64], native: Native | None
    ) -> Memory:
        """Return the first frame's latents with the noise that the model was trained with."""
        import torch
        from diffusers.utils.torch_utils import randn_tensor

        pipeline, generator = self.pipeline, self._generator
        device = pipeline._execution_device
        vae = pipeline.vae
        shape = (1, vae.config.z_dim, 1, 1, 1)
        mean = torch.tensor(vae.config.latents_mean).view(shape).to(device, vae.dtype)
        scale = 1.0 / torch.tensor(vae.config.latents_std).view(shape).to(device, vae.dtype)
        with torch.no_grad():
            latents = pipeline.prepare_image_latents(
                to_tensor(image[None])[:, :, 0],
                latents_mean=mean,
                latents_std=scale,
                num_latent_frames_per_chunk=LATENTS,
                dtype=torch.float32,
                device=device,
                generator=generator,
            )
        noised = []
        # Drawn once and in the pipeline's order: in a chunk of its own it would noise them again.
        for latent in latents:
            share = torch.rand(1, generator=generator) * (NOISE[1] - NOISE[0]) + NOISE[0]
            share = share.to(device)
            noise = randn_tensor(latent.shape, generator=generator, device=latent.device)
            noised.append(share * noise + (1 - share) * latent)
        return Memory(noised[0], noised[1], True)

    def go_on(
        self, memory: Memory, native: Native, poses: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], Memory]:
        """Return the next chunk of 33 frames."""
        import torch

        sizes = [int(size) for size in self.chosen["history_sizes"]]
        last: dict[str, Any] = {}

        def keep(pipeline: Any, step: int, time: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            last["latents"] = tensors["latents"]
            return {}

        made = self.generate(
            self.pipeline,
            prompt=SENTENCES.prompt(native["captions"][-1], self._scene),
            num_frames=self.spec.chunk,
            image_latents=memory.anchor,
            fake_image_latents=memory.history if memory.first else None,
            video_latents=None if memory.first else memory.history,
            add_noise_to_image_latents=False,
            add_noise_to_video_latents=False,
            history_sizes=sizes,
            num_latent_frames_per_chunk=LATENTS,
            keep_first_frame=True,
            callback_on_step_end=keep,
            output_type="np",
        )
        history = torch.cat([memory.history, last["latents"]], dim=2)[:, :, -sum(sizes) :]
        return self.to_pictures(made.frames[0]), Memory(memory.anchor, history, False)


def make_local(**options: Any) -> World:
    """Return Helios-v0; options as in ``worldenv.worlds.models.helios.MODEL``."""
    return HeliosWorld(MODEL, options)
