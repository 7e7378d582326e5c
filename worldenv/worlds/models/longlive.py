"""LongLive 1.0: text made into blocks of three latents, its cache made anew at each new text."""

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
from worldenv.worlds.models.blocks import RecachedWorld, load_base, load_lora
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
    name="LongLive",
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
    context_policies=("sliding",),
    state="native",
    held=True,
    licence="Apache-2.0",
    citation="Yang et al., LongLive: real-time interactive long video generation "
    "(arXiv 2509.22622)",
)

_CONTROL = CaptionControl(SPEC)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="LongLive",
    title="LongLive 1.0 (Wan2.1-T2V-1.3B, LoRA)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"local_attn_size": 12, "sink_size": 3, "global_sink": True},
    context={"sliding": {"local_attn_size": 12, "sink_size": 3}},
    verified="its step equals the official loop on a toy network; never run with its weights",
)


def make(**options: Any) -> World:
    """Return LongLive-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return LongLive 1.0 by its official code, in the model's own environment.

    Args:
        repo: Checkout of the branch v1.0 of NVlabs/LongLive.
        weights: Folder with ``wan_models/Wan2.1-T2V-1.3B`` and ``LongLive-1.3B``.
        options: Options of ``MODEL``.
    """
    repo, weights = places(repo, weights)
    chosen = chosen_options(MODEL, options)

    def build() -> Any:
        base = weights_file(weights, "LongLive-1.3B", "models", "longlive_base.pt")
        lora = weights_file(weights, "LongLive-1.3B", "models", "lora.pt")
        enter(repo, weights)
        import torch
        from omegaconf import OmegaConf
        from pipeline.interactive_causal_inference import InteractiveCausalInferencePipeline

        config = OmegaConf.merge(
            OmegaConf.load(f"{repo}/configs/longlive_interactive_inference.yaml"),
            {
                "model_kwargs": {key: chosen[key] for key in ("local_attn_size", "sink_size")},
                "global_sink": chosen["global_sink"],
            },
        )
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        pipeline = InteractiveCausalInferencePipeline(config, device=device)
        load_base(pipeline, base, "generator")
        load_lora(pipeline, config, lora)
        return pipeline.to(dtype=torch.bfloat16).to(device)

    return RecachedWorld(MODEL, options, build)
