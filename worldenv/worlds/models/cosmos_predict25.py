"""Cosmos-Predict2.5: clips of 93 frames, each begun on the last five of the one before; runs here.

The first clip starts from the image alone.
"""

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
SIZE = (1280, 704)
CLIP = 93
OVERLAP = 5
"""Frames of the clip before that a clip begins on: two latents."""
CHUNK = CLIP - OVERLAP
# 30 degrees and one metre a clip: slow, as a caption that is held for five seconds asks for.
_QUANTUM = nominal(CHUNK, 30.0, 1.0)

SPEC = WorldSpec(
    name="Cosmos-Predict2.5",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=16.0,
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
    licence="NVIDIA Open Model License (weights), Apache-2.0 (code); the guardrail must stay on",
    citation="NVIDIA, World simulation with video foundation models for physical AI (2025)",
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
    id="CosmosPredict25",
    title="Cosmos-Predict2.5 (2B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={
        "weights": "nvidia/Cosmos-Predict2.5-2B",
        "revision": "diffusers/base/post-trained",
        "device": None,
        "dtype": "bfloat16",
        "steps": 36,
        "guidance": 7.0,
        "size": SIZE,
    },
    specify=specify,
    local="worldenv.worlds.diffusion.cosmos_predict25:make_local",
    verified="whole episodes with tiny random weights; the released weights have not been run",
)


def make(**options: Any) -> World:
    """Return CosmosPredict25-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``.

    Example:
        >>> make(stand_in=True).spec.name
        'Cosmos-Predict2.5 (stand-in)'
    """
    return open_model(MODEL, options)
