"""Helios: text-driven continuation in chunks of 33 frames, its latents carried on; runs here."""

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

__all__ = ["MODEL", "compile", "decode", "make"]

FOV = 60.0
CHUNK = 33
SIZE = (640, 384)
# 20 degrees and two thirds of a metre a chunk: 15 degrees and half a metre a second.
_QUANTUM = nominal(CHUNK, 20.0, 2 / 3)

SPEC = WorldSpec(
    name="Helios",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=24.0,
    chunk=CHUNK,
    first_chunk=CHUNK,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    context_policies=("sliding",),
    state="native",
    backend="diffusers",
    held=True,
    licence="Apache-2.0 (code and weights)",
    citation="Helios: real real-time long video generation model (PKU-YuanGroup, 2026)",
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
    id="Helios",
    title="Helios (14B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={
        "weights": "BestWishYsh/Helios-Base",
        "revision": None,
        "device": None,
        "dtype": "bfloat16",
        "steps": 50,
        "guidance": 5.0,
        "size": SIZE,
        "history_sizes": (16, 2, 1),
        "keep_first_frame": True,
    },
    # The history that is fed back is the whole memory: about 70 frames and the first one.
    context={"sliding": {"history_sizes": (16, 2, 1), "keep_first_frame": True}},
    specify=specify,
    local="worldenv.worlds.diffusion.helios:make_local",
    verified="whole episodes with tiny random weights; the released weights have not been run",
)


def make(**options: Any) -> World:
    """Return Helios-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
