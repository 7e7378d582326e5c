"""SkyReels-V2 by diffusion forcing: clips of 97 frames that overlap by 17; runs here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from worldenv.camera import intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.model import Model
from worldenv.worlds.models.text import CaptionControl, nominal, twist_limit

__all__ = ["MODEL", "OVERLAP", "compile", "decode", "make"]

FOV = 60.0
SIZE = (960, 544)
CLIP = 97
OVERLAP = 17
"""Frames of the clip before that a clip begins on: five latents."""
CHUNK = CLIP - OVERLAP
# 30 degrees and one metre a clip: slow, as a caption that is held for three seconds asks for.
_QUANTUM = nominal(CHUNK, 30.0, 1.0)

SPEC = WorldSpec(
    name="SkyReels-V2",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=24.0,
    chunk=CHUNK,
    first_chunk=CLIP - 1,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    state="reanchored",
    backend="diffusers",
    held=True,
    licence="Skywork Community License (weights and code)",
    citation="Chen et al., SkyReels-V2: infinite-length film generative model (arXiv 2504.13074)",
)

_CONTROL = CaptionControl(SPEC)
compile = _CONTROL.compile
decode = _CONTROL.decode


def specify(spec: WorldSpec, options: Mapping[str, Any]) -> WorldSpec:
    """Return the spec at the option ``size``, (width, height) in pixels."""
    width, height = options["size"]
    size = (int(width), int(height))
    return dataclasses.replace(spec, size=size, K=intrinsic_rows(intrinsics(size, FOV)))


MODEL = Model(
    id="SkyReelsV2",
    title="SkyReels-V2 (DF 1.3B, 540p)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={
        "weights": "Skywork/SkyReels-V2-DF-1.3B-540P-Diffusers",
        "revision": None,
        "device": None,
        "dtype": "bfloat16",
        "steps": 30,
        "guidance": 5.0,
        "shift": 5.0,
        "addnoise_condition": 20.0,
        "ar_step": 0,
        "size": SIZE,
    },
    specify=specify,
    local="worldenv.worlds.diffusion.skyreels_v2:make_local",
    verified="whole episodes with tiny random weights; the released weights have not been run",
)


def make(**options: Any) -> World:
    """Return SkyReelsV2-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
