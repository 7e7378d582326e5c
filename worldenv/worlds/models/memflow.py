"""MemFlow: text made into blocks of three latents, with a bank of latents that the text recalls."""

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
    name="MemFlow",
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
    state="native",
    held=True,
    licence="LICENSE says Apache-2.0, file headers say CC BY-NC-SA 4.0",
    citation="Ji et al., MemFlow: flowing adaptive memory for consistent and efficient long video "
    "narratives (arXiv 2512.14699)",
)

_CONTROL = CaptionControl(SPEC)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="MemFlow",
    title="MemFlow (Wan2.1-T2V-1.3B, LoRA)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={
        "local_attn_size": 12,
        "sink_size": 3,
        "global_sink": True,
        "bank_size": 3,
        "record_interval": 3,
        "SMA": False,
    },
    verified="its step equals the official loop on a toy network; never run with its weights",
)


def make(**options: Any) -> World:
    """Return MemFlow-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


class BankWorld(RecachedWorld):
    """MemFlow: each block may also read a bank of latents, chosen by the text."""

    def _clear(self) -> None:
        super()._clear()
        pipeline = self._pipeline
        pipeline._initialize_kv_bank(
            batch_size=1,
            **self._place,
            kv_bank1_size=pipeline.bank_size * pipeline.frame_seq_length,
        )

    def _while_denoising(self, index: int) -> dict[str, Any]:
        return {
            "kv_bank": self._pipeline.kv_bank1,
            "update_bank": False,
            "q_bank": index == 0,
        }

    def _while_keeping(self, steps: int) -> dict[str, Any]:
        pipeline = self._pipeline
        return {
            "kv_bank": pipeline.kv_bank1,
            "update_bank": self._at % (3 * pipeline.record_interval) == 0,
            "q_bank": steps == 1,
            "update_cache": True,
        }


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return MemFlow by its official code, in the model's own environment.

    Args:
        repo: Checkout of KlingTeam/MemFlow.
        weights: Folder with ``wan_models/Wan2.1-T2V-1.3B`` and ``MemFlow``.
        options: Options of ``MODEL``.
    """
    repo, weights = places(repo, weights)
    chosen = chosen_options(MODEL, options)

    def build() -> Any:
        base, lora = (weights_file(weights, "MemFlow", name) for name in ("base.pt", "lora.pt"))
        enter(repo, weights)
        import torch
        from omegaconf import OmegaConf
        from pipeline.interactive_causal_inference import InteractiveCausalInferencePipeline

        keys = ("local_attn_size", "sink_size", "bank_size", "record_interval", "SMA")
        config = OmegaConf.merge(
            OmegaConf.load(f"{repo}/configs/interactive_inference.yaml"),
            {
                "model_kwargs": {key: chosen[key] for key in keys},
                "global_sink": chosen["global_sink"],
            },
        )
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        pipeline = InteractiveCausalInferencePipeline(config, device=device)
        load_base(pipeline, base, "generator")
        load_lora(pipeline, config, lora)
        return pipeline.to(dtype=torch.bfloat16).to(device)

    return BankWorld(MODEL, options, build)
