"""LongLive 2.0: one text for each block of eight latents, all given in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from worldenv.camera import intrinsics
from worldenv.world import Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.adapter import (
    enter,
    frames_of,
    places,
    weights_file,
)
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.driving import (
    RECORDED,
    PlannedWorld,
    chosen_options,
    seed_all,
)
from worldenv.worlds.models.model import Model, Native
from worldenv.worlds.models.text import SENTENCES, CaptionControl, nominal, twist_limit

__all__ = ["MODEL", "compile", "decode", "make", "official"]

FOV = 60.0
SIZE = (1280, 704)
FIRST = 29
CHUNK = 32
BLOCK = 8
"""Latents of a block; each block has its own text."""
LATENT = (48, 44, 80)
"""Channels, height and width of a latent."""
# 20 degrees and two thirds of a metre a block: 15 degrees and half a metre a second.
_QUANTUM = nominal(CHUNK, 20.0, 2 / 3)

SPEC = WorldSpec(
    name="LongLive 2.0",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=24.0,
    chunk=CHUNK,
    first_chunk=CHUNK,
    drive="plan",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    reset_frames=FIRST,
    prompt="episode",
    pose_exactness="nominal",
    context_policies=("sliding",),
    state="native",
    held=True,
    licence="Apache-2.0",
    citation="LongLive2.0: an NVFP4 parallel infrastructure for long video generation "
    "(arXiv 2605.18739)",
)

_CONTROL = CaptionControl(SPEC)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="LongLive2",
    title="LongLive 2.0 (Wan2.2-TI2V-5B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"steps": 4, "guidance": 1.0, "local_attn_size": 32, "sink_size": 8},
    context={"sliding": {"local_attn_size": 32, "sink_size": 8}},
    verified=RECORDED,
)


def make(**options: Any) -> World:
    """Return LongLive2-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


class Film(PlannedWorld):
    """LongLive 2.0: all blocks in one call of the official pipeline.

    Args:
        options: Options of the model that differ from its defaults.
        load: Loads the official pipeline; called at the first reset.
    """

    def __init__(self, options: Mapping[str, Any], load: Callable[[], Any]) -> None:
        super().__init__(MODEL, options)
        self._load = load
        self._pipeline: Any = None

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        if self._pipeline is None:
            self._pipeline = self._load()
        import torch

        pipeline = self._pipeline
        texts = [SENTENCES.prompt(_CONTROL.still(), start.prompt)]
        texts += _CONTROL.texts(native, start.prompt)
        seed_all(seed)
        device = next(pipeline.generator.parameters()).device
        with torch.inference_mode():
            noise = torch.randn(
                [1, BLOCK * len(texts), *LATENT], device=device, dtype=torch.bfloat16
            )
            video = pipeline.inference(noise=noise, text_prompts=[texts])
        pipeline.vae.model.clear_cache()
        # The path may end within the last block.
        return frames_of(video[0])[: native["frames"]]

    def close(self) -> None:
        """Free the model; may be called twice."""
        super().close()
        self._pipeline = None


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return LongLive 2.0 by its official code, in the model's own environment.

    Args:
        repo: Checkout of NVlabs/LongLive, branch main.
        weights: Folder with ``wan_models/Wan2.2-TI2V-5B`` and ``LongLive-2.0-5B``.
        options: Options of ``MODEL``.
    """
    repo, weights = places(repo, weights)
    chosen = chosen_options(MODEL, options)

    def load() -> Any:
        checkpoint = weights_file(weights, "LongLive-2.0-5B", "model_bf16.pt")
        enter(repo, weights)
        import torch
        from omegaconf import OmegaConf
        from pipeline import CausalDiffusionInferencePipeline
        from utils.config import normalize_config
        from utils.inference_utils import load_generator_checkpoint

        config = OmegaConf.merge(
            OmegaConf.load(f"{repo}/configs/inference.yaml"),
            {
                "model_kwargs": {"local_attn_size": chosen["local_attn_size"]},
                "inference": {
                    "sampling_steps": chosen["steps"],
                    "guidance_scale": chosen["guidance"],
                    "sink_size": chosen["sink_size"],
                },
            },
        )
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        pipeline = CausalDiffusionInferencePipeline(normalize_config(config), device=device)
        load_generator_checkpoint(pipeline.generator, checkpoint)
        pipeline = pipeline.to(device=device, dtype=torch.bfloat16)
        pipeline.generator.model.eval().requires_grad_(False)
        return pipeline

    return Film(options, load)
