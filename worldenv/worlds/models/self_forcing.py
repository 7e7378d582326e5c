"""Self-Forcing: text made into blocks of three latents, one after another."""

from __future__ import annotations

from typing import Any

from worldenv.camera import intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.adapter import (
    enter,
    places,
    weights_file,
)
from worldenv.worlds.models.blocks import BlockWorld, load_base
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.driving import (
    chosen_options,
)
from worldenv.worlds.models.model import Model
from worldenv.worlds.models.text import CaptionControl, nominal, twist_limit

__all__ = ["MODEL", "compile", "decode", "make", "official"]

FOV = 60.0
SIZE = (832, 480)
FIRST = 9
CHUNK = 12
# 12 degrees and 0.4 m a block: one degree and a thirtieth of a metre a frame.
_QUANTUM = nominal(CHUNK, 12.0, 0.4)

SPEC = WorldSpec(
    name="Self-Forcing",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=16.0,
    chunk=CHUNK,
    first_chunk=CHUNK,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    reset_frames=FIRST,
    prompt="chunk",
    pose_exactness="nominal",
    context_policies=("sliding", "full"),
    state="native",
    held=True,
    licence="Apache-2.0",
    citation="Huang et al., Self Forcing: bridging the train-test gap in autoregressive video "
    "diffusion (arXiv 2506.08009)",
)

_CONTROL = CaptionControl(SPEC)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="SelfForcing",
    title="Self-Forcing (Wan2.1-T2V-1.3B, DMD)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"local_attn_size": 21, "sink_size": 0},
    # The official default, -1, holds 21 latents and no more, so an episode ends after 81 frames; a
    # window of 21 is the same until then, and slides after that.
    context={"sliding": {"local_attn_size": 21}, "full": {"local_attn_size": -1}},
    verified="its step equals the official loop on a toy network; never run with its weights",
)


def make(**options: Any) -> World:
    """Return SelfForcing-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return Self-Forcing by its official code, in the model's own environment.

    Args:
        repo: Checkout of guandeh17/Self-Forcing.
        weights: Folder with ``wan_models/Wan2.1-T2V-1.3B`` and ``Self-Forcing``.
        options: Options of ``MODEL``.
    """
    repo, weights = places(repo, weights)
    chosen = chosen_options(MODEL, options)

    def build() -> Any:
        checkpoint = weights_file(weights, "Self-Forcing", "checkpoints", "self_forcing_dmd.pt")
        enter(repo, weights)
        import torch
        from omegaconf import OmegaConf
        from pipeline import CausalInferencePipeline

        config = OmegaConf.merge(
            OmegaConf.load(f"{repo}/configs/default_config.yaml"),
            OmegaConf.load(f"{repo}/configs/self_forcing_dmd.yaml"),
            {"model_kwargs": {key: chosen[key] for key in ("local_attn_size", "sink_size")}},
        )
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        pipeline = CausalInferencePipeline(config, device=device)
        load_base(pipeline, checkpoint, "generator_ema")
        return pipeline.to(dtype=torch.bfloat16).to(device)

    return BlockWorld(MODEL, options, build)
