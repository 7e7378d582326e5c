"""Lyra 2.0: stepped in chunks of 80 frames by a world-to-camera pose and intrinsics for each.

Poses are absolute in the frame of the first image. Their unit is that of the depth which the model
estimates for this image, meant to be metres. The interactive server of the official code is what is
driven; it has no factor on translations, where the official command line has 1.1.

Facts from ``gui/api/lyra_persistent.py`` of nv-tlabs/lyra, folder Lyra-2, at 9fffc9a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import inverse, speeds
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make"]

SPEC = WorldSpec(
    "Lyra 2.0",
    (768, 448),
    # The official server estimates the intrinsics of the first image and keeps to them.
    tuple(map(tuple, intrinsics((768, 448), 60.0).tolist())),
    16.0,
    chunk=80,
    first_chunk=80,
    K_exactness="estimated",
    quantum=speeds(1.0, 0.03),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    image_start=True,
    prompt="chunk",
    pose_exactness="calibrated",
    context_policies=("fov", "sliding"),
    state="native",
    deterministic=False,
    licence="Apache-2.0 code; weights under the NVIDIA Internal Scientific Research licence",
    citation="Shen et al., Lyra 2.0: Explorable Generative 3D Worlds, arXiv 2604.13036, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``w2c`` (n, 4, 4) and ``intrinsics`` (n, 3, 3) in pixels, a row a frame."""
    return {
        "w2c": inverse(path.poses),
        "intrinsics": np.tile(SPEC.intrinsics(), (len(path), 1, 1)),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path itself: every frame has its own pose."""
    return CameraPath(inverse(native["w2c"]), fps=SPEC.fps)


MODEL = Model(
    id="Lyra2",
    title="Lyra 2.0 (14B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={
        "steps": 35,
        "guidance": 5.0,
        "shift": 5.0,
        "dmd": False,
        "retrieval_views": 1,
        "update_cache": True,
    },
    # Without updates only the first image stays in the memory of depths; recent frames remain.
    context={"fov": {"update_cache": True}, "sliding": {"update_cache": False}},
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
