"""LingBot-World-Fast: the control of LingBot-World, generated in chunks of three latent frames.

The official code takes the whole path first and divides its steps by the longest of all (see
``lingbot_world``). Where the latent frames do not fill whole chunks it would stretch the motion
over fewer of them, so the path is held to whole chunks.

Facts from ``wan/image2video_fast.py`` of the LingBot-World code of May 2026.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from worldenv.camera import CameraPath
from worldenv.world import World
from worldenv.worlds.models import lingbot_world, open_model
from worldenv.worlds.models.model import Model, Native

__all__ = ["CHUNK", "MODEL", "compile", "decode", "make"]

CHUNK = 3
"""Latent frames of a chunk."""

SPEC = dataclasses.replace(
    lingbot_world.SPEC,
    name="LingBot-World-Fast",
    chunk=4 * CHUNK,
    first_chunk=4 * CHUNK - 4,
    state="native",
    context_policies=("full", "sliding"),
)


def compile(path: CameraPath) -> Native:
    """Return ``poses`` (n, 4, 4), ``intrinsics`` (n, 4) at 832 x 480, and ``metres``."""
    return lingbot_world.native_of(path, SPEC)


def decode(native: Native) -> CameraPath:
    """Return the path that the steps make, its longest being ``metres``."""
    return lingbot_world.path_of(native, SPEC)


MODEL = Model(
    id="LingBotWorldFast",
    title="LingBot-World-Fast (14B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=lingbot_world.MODEL.quantum,
    options={"shift": 10.0, "local_attn_size": -1, "sink_size": 0},
    # Latent frames that attention looks back on; -1 keeps all.
    context={
        "full": {"local_attn_size": -1, "sink_size": 0},
        "sliding": {"local_attn_size": 18, "sink_size": 6},
    },
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
