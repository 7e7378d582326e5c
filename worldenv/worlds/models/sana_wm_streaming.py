"""SANA-WM (streaming): the control of SANA-WM, generated in chunks of 24 frames, the path known.

The official generator makes one chunk after the other but builds the rays of the whole path first.
The conditioning frame is not among its frames.

Facts from ``inference_video_scripts/wm`` of NVlabs/Sana at 451442f.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from worldenv.camera import CameraPath
from worldenv.world import World
from worldenv.worlds.models import open_model, sana_wm
from worldenv.worlds.models.control import speeds
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make"]

SPEC = dataclasses.replace(
    sana_wm.SPEC,
    name="SANA-WM streaming",
    chunk=24,
    first_chunk=24,
    quantum=speeds(0.6, 0.025),
    pitch_limit=60.0,
    state="native",
    backend="official",
    deterministic=False,
    context_policies=("full", "sliding"),
)


def compile(path: CameraPath) -> Native:
    """Return ``c2w`` (n, 4, 4) and ``intrinsics`` (n, 4), fx fy cx cy, held to n = 24 k + 1."""
    return sana_wm.native_of(path, SPEC)


def decode(native: Native) -> CameraPath:
    """Return the path itself: every frame has its own pose."""
    return sana_wm.path_of(native, SPEC)


MODEL = Model(
    id="SanaWMStreaming",
    title="SANA-WM (1.6B, streaming, distilled)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={
        "num_cached_blocks": 2,
        "sink_token": True,
        "refiner_kv_max_frames": 11,
        "refiner_seed": 42,
        "denoising_steps": "1000,960,889,727,0",
    },
    # Chunks that the softmax layers look back on, -1 for all; the others carry a state anyway.
    context={"full": {"num_cached_blocks": -1}, "sliding": {"num_cached_blocks": 2}},
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
