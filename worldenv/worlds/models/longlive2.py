"""LongLive 2.0: one text for each block of eight latents, all given in one call."""

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
SIZE = (1280, 704)
FIRST = 29
CHUNK = 32
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
)


def make(**options: Any) -> World:
    """Return LongLive2-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
