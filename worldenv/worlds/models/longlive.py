"""LongLive 1.0: text made into blocks of three latents, its cache made anew at each new text."""

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
)


def make(**options: Any) -> World:
    """Return LongLive-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
