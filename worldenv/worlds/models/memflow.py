"""MemFlow: text made into blocks of three latents, with a bank of latents that the text recalls."""

from __future__ import annotations

from typing import Any

from worldenv.camera import intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.model import Model
from worldenv.worlds.models.text import CaptionControl, nominal, twist_limit

__all__ = ["MODEL", "compile", "decode", "make"]

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
)


def make(**options: Any) -> World:
    """Return MemFlow-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
