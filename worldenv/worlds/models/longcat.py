"""LongCat-Video: clips of 93 frames, each begun on the last thirteen of the one before."""

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
CLIP = 93
OVERLAP = 13
CHUNK = CLIP - OVERLAP
# 30 degrees and one metre a clip: slow, as a caption held for five seconds asks for.
_QUANTUM = nominal(CHUNK, 30.0, 1.0)

SPEC = WorldSpec(
    name="LongCat-Video",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=15.0,
    chunk=CHUNK,
    first_chunk=CLIP - 1,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    state="reanchored",
    held=True,
    licence="MIT",
    citation="Meituan LongCat team, LongCat-Video technical report (arXiv 2510.22200)",
)

_CONTROL = CaptionControl(SPEC)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="LongCatVideo",
    title="LongCat-Video (13.6B, 480p)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"steps": 50, "guidance": 4.0, "distilled": False},
)


def make(**options: Any) -> World:
    """Return LongCatVideo-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
