"""The block loop that the Self-Forcing family shares, a block of latents a step.

The official pipelines make all blocks of one call and decode at the end. Here the same calls are
made block by block, and each block is decoded with the autoencoder's own cache, as in the
authors' demo. Noise is drawn a block at a time, so equal seeds give other videos than one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from worldenv.world import Start, Unsupported
from worldenv.worlds.models.adapter import (
    frames_of,
)
from worldenv.worlds.models.driving import (
    fit_image,
    seed_all,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native
from worldenv.worlds.models.text import SENTENCES

__all__ = ["LATENT", "BlockWorld", "RecachedWorld", "load_base", "load_lora"]

LATENT = (16, 60, 104)
"""Channels, height and width of a latent of 480 x 832 pixels."""
HELD = 21
"""Latents that a cache without a window holds (32,760 tokens)."""


class BlockWorld(ModelWorld):
    """A model of the Self-Forcing family, stepped by its blocks.

    Args:
        model: The model.
        options: Options of the model that differ from its defaults.
        build: Loads the official pipeline; called at the first reset.
    """

    def __init__(self, model: Model, options: Mapping[str, Any], build: Callable[[], Any]) -> None:
        super().__init__(model, options)
        self._build = build
        self._pipeline: Any = None
        self._scene: str | None = None
        self._text: str | None = None
        self._words: Any = None
        self._at = 0
        self._blocks = 0
        self._latents: Any = None

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the image, or the first block made with the camera at rest."""
        import torch

        image = fit_image(start, self.model) if self.spec.image_start else None
        if self._pipeline is None:
            self._pipeline = self._build()
        seed_all(seed)
        self._scene, self._text, self._words = start.prompt, None, None
        self._at, self._blocks, self._latents = 0, 0, None
        still = SENTENCES.prompt(SENTENCES.sentences["STAY"], self._scene)
        with torch.no_grad():
            self._clear()
            if image is None:
                return self._block(still, self._pipeline.num_frame_per_block), None
            self._say(still)
            self._show(image)
        return image[None], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the frames of the next block."""
        import torch

        if prompt is not None:
            self._scene = prompt
        text = SENTENCES.prompt(native["captions"][-1], self._scene)
        with torch.no_grad():
            return self._block(text, self._pipeline.num_frame_per_block), None

    def close(self) -> None:
        """Free the model; may be called twice."""
        super().close()
        self._pipeline = self._words = self._latents = None

    @property
    def _place(self) -> dict[str, Any]:
        import torch

        device = next(self._pipeline.generator.parameters()).device
        return {"device": device, "dtype": torch.bfloat16}

    def _clear(self) -> None:
        """Empty every cache, as a new call of the official pipeline does."""
        self._pipeline._initialize_kv_cache(batch_size=1, **self._place)
        self._pipeline._initialize_crossattn_cache(batch_size=1, **self._place)

    def _say(self, text: str) -> None:
        """Take a text for the blocks to come."""
        if text == self._text:
            return
        self._words = self._pipeline.text_encoder(text_prompts=[text])
        if self._text is not None:
            self._switch()
        self._text = text

    def _switch(self) -> None:
        """Make the model heed a new text."""
        for block in self._pipeline.crossattn_cache:
            block["is_init"] = False

    def _show(self, image: np.ndarray) -> None:
        """Take an image for the first latent."""
        import torch

        vae = self._pipeline.vae
        pixels = torch.tensor(image).permute(2, 0, 1)[None, :, None].to(**self._place)
        latent = vae.encode_to_latent(pixels / 127.5 - 1).to(**self._place)
        self._call(latent, 0)
        self._keep(latent)
        vae.model.clear_cache()
        # The autoencoder goes on from this latent when it decodes the next.
        vae.decode_to_pixel(latent, use_cache=True)

    def _block(self, text: str, count: int) -> np.ndarray:
        """Return the frames of ``count`` new latents."""
        import torch

        pipeline = self._pipeline
        if pipeline.local_attn_size == -1 and self._at + count > HELD:
            raise Unsupported(
                f"{self.spec.name} without a window holds {HELD} latents, {4 * HELD - 3} frames, "
                "and the episode is longer; use context='sliding'"
            )
        self._say(text)
        latents = torch.randn([1, count, *LATENT], **self._place)
        steps = pipeline.denoising_step_list
        first = getattr(pipeline, "denoising_step_list_first_chunk", None)
        if self._blocks == 0 and first is not None:
            steps = first
        for index, step in enumerate(steps):
            clean = self._call(latents, step, **self._while_denoising(index))
            if index + 1 < len(steps):
                flat = clean.flatten(0, 1)
                time = steps[index + 1] * torch.ones([count], device=flat.device, dtype=torch.long)
                latents = pipeline.scheduler.add_noise(
                    flat, torch.randn_like(flat), time
                ).unflatten(0, clean.shape[:2])
        self._call(clean, pipeline.args.context_noise, **self._while_keeping(len(steps)))
        if self._at == 0:
            pipeline.vae.model.clear_cache()
        self._keep(clean)
        self._blocks += 1
        video = pipeline.vae.decode_to_pixel(clean, use_cache=True)
        return frames_of(video[0] * 0.5 + 0.5)

    def _while_denoising(self, index: int) -> dict[str, Any]:
        """Return what the generator is told beside the rest in a denoising step."""
        return {}

    def _while_keeping(self, steps: int) -> dict[str, Any]:
        """Return what the generator is told beside the rest when it stores a clean block."""
        return {}

    def _call(self, latents: Any, time: Any, **more: Any) -> Any:
        """Return the clean latents that the generator sees in noisy ones."""
        import torch

        pipeline = self._pipeline
        times = torch.ones(latents.shape[:2], device=latents.device, dtype=torch.int64) * time
        _, clean = pipeline.generator(
            noisy_image_or_video=latents,
            conditional_dict=self._words,
            timestep=times,
            kv_cache=pipeline.kv_cache1,
            crossattn_cache=pipeline.crossattn_cache,
            current_start=self._at * pipeline.frame_seq_length,
            **more,
        )
        return clean

    def _keep(self, latents: Any) -> None:
        self._at += latents.shape[1]


class RecachedWorld(BlockWorld):
    """A model that makes its cache anew at each new text: LongLive 1.0 and MemFlow."""

    def _clear(self) -> None:
        pipeline = self._pipeline
        size = pipeline.local_attn_size
        pipeline._initialize_kv_cache(
            batch_size=1,
            **self._place,
            kv_cache_size_override=size * pipeline.frame_seq_length,
        )
        pipeline._initialize_crossattn_cache(batch_size=1, **self._place)
        pipeline.generator.model.local_attn_size = size
        pipeline._set_all_modules_max_attention_size(size)

    def _switch(self) -> None:
        self._pipeline._recache_after_switch(self._latents, self._at, self._words)

    def _keep(self, latents: Any) -> None:
        import torch

        # The official code finds the latents that it replays by their places in the whole video.
        parts = [latents] if self._latents is None else [self._latents, latents]
        self._latents = torch.cat(parts, dim=1)
        super()._keep(latents)


def load_base(pipeline: Any, file: str, key: str) -> None:
    """Load a checkpoint's generator into a pipeline.

    Args:
        pipeline: The official pipeline.
        file: The checkpoint.
        key: ``generator`` or ``generator_ema``.
    """
    import torch

    state = torch.load(file, map_location="cpu", weights_only=True)[key]
    # Checkpoints of sharded training name the wrapper too.
    plain = {name.replace("_fsdp_wrapped_module.", ""): value for name, value in state.items()}
    pipeline.generator.load_state_dict(plain)


def load_lora(pipeline: Any, config: Any, file: str) -> None:
    """Wrap a pipeline's generator in its low-rank adapter and load that."""
    import peft
    import torch
    from utils.lora_utils import configure_lora_for_model

    pipeline.generator.model = configure_lora_for_model(
        pipeline.generator.model,
        model_name="generator",
        lora_config=config.adapter,
        is_main_process=True,
    )
    state = torch.load(file, map_location="cpu", weights_only=True)
    peft.set_peft_model_state_dict(pipeline.generator.model, state.get("generator_lora", state))
