"""LingBot-World 2 (14B, causal, distilled): the control of LingBot-World in chunks of four latents.

The official code takes the whole path first and divides its steps by the longest of all (see
``lingbot_world``); the path is held to whole chunks.

Facts from ``generate.py`` and ``wan/image2video.py`` of robbyant/lingbot-world-v2 at 2648877.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from worldenv.camera import CameraPath
from worldenv.world import World
from worldenv.worlds.models import lingbot_world, open_model
from worldenv.worlds.models.model import Model, Native

__all__ = ["CHUNK", "MODEL", "compile", "decode", "make"]

CHUNK = 4
"""Latent frames of a chunk, as the official command line has it."""

SPEC = dataclasses.replace(
    lingbot_world.SPEC,
    name="LingBot-World 2",
    chunk=4 * CHUNK,
    first_chunk=4 * CHUNK - 4,
    state="native",
    context_policies=("full", "sliding"),
    licence="CC-BY-NC-SA-4.0: not for commercial use",
    citation="Gao et al., Infinite Worlds with Versatile Interactions, arXiv 2607.07534, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``poses`` (n, 4, 4), ``intrinsics`` (n, 4) at 832 x 480, and ``metres``."""
    return lingbot_world.native_of(path, SPEC)


def decode(native: Native) -> CameraPath:
    """Return the path that the steps make, its longest being ``metres``."""
    return lingbot_world.path_of(native, SPEC)


MODEL = Model(
    id="LingBotWorld2",
    title="LingBot-World 2 (14B, causal-fast)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=lingbot_world.MODEL.quantum,
    options={"shift": 10.0, "local_attn_size": 18, "sink_size": 6},
    # Latent frames that attention looks back on, -1 for all; 18 and 6 are the official example's.
    context={
        "full": {"local_attn_size": -1, "sink_size": 0},
        "sliding": {"local_attn_size": 18, "sink_size": 6},
    },
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
