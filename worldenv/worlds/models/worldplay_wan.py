"""HY-WorldPlay (WAN-5B): stepped chunk by chunk by a pose and a label for every latent frame.

Poses, labels and units are those of the 8B variant (see ``worldplay``). The official pipeline has a
step of its own: one call a chunk of four latent frames, then one decode a latent frame.

Facts from ``wan/generate.py`` and ``wan/inference`` of Tencent-Hunyuan/HY-WorldPlay at da2d0c2.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from worldenv.camera import CameraPath
from worldenv.world import World
from worldenv.worlds.models import open_model, worldplay
from worldenv.worlds.models.control import pinhole
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make"]

SPEC = dataclasses.replace(
    worldplay.SPEC,
    name="HY-WorldPlay WAN-5B",
    size=(1280, 704),
    K=pinhole(worldplay.K_SHARE[0] * 1280, worldplay.K_SHARE[1] * 704, 640.0, 352.0),
    fps=16.0,
    drive="stream",
    context_policies=("fov", "sliding"),
)


def compile(path: CameraPath) -> Native:
    """Return ``w2c`` (m, 4, 4), ``K`` (3, 3) over the image size and ``action`` (m,) int64."""
    return worldplay.native_of(path, SPEC)


def decode(native: Native) -> CameraPath:
    """Return the path through the latent frames' poses, even in between."""
    return worldplay.path_of(native, SPEC)


MODEL = Model(
    id="WorldPlayWan",
    title="HY-WorldPlay (WAN-5B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(frames=worldplay.STRIDE),
    options={"use_memory": True, "window": 16, "max_frames": 961, "negative_prompt": ""},
    # Retrieval looks for the nearest views once the window is full; without it only the window is
    # kept.
    context={"fov": {"use_memory": True}, "sliding": {"use_memory": False}},
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
