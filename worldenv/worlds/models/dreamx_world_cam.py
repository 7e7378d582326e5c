"""DreamX-World-Cam (5B, bidirectional): a pose for every latent frame of one short clip.

Latent frames are asked for at pixel frames 0, 4, 8, ..., all relative to the first. Its intrinsics
are fixed and have the principal point at 0 where the autoregressive model has it at a half. It was
made for clips of 81 or 121 frames and is said to reach 121 at 16 frames a second; longer paths are
beyond what it was trained for.

Facts from ``inference_dreamx5b.py`` and ``utils/inference_utils.py`` of AMAP-ML/DreamX-World at
a1f4c6e.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import World
from worldenv.worlds.models import dreamx_world, open_model
from worldenv.worlds.models.control import hold, inverse, sample, speeds, spread, whole_steps
from worldenv.worlds.models.model import Model, Native, Quantum
from worldenv.worlds.models.worldplay import K_SHARE

__all__ = ["MODEL", "compile", "decode", "make"]

STRIDE = dreamx_world.STRIDE

SPEC = dataclasses.replace(
    dreamx_world.SPEC,
    name="DreamX-World-Cam",
    chunk=STRIDE,
    first_chunk=STRIDE,
    quantum=speeds(1.0, 0.1),
    state="whole",
)


def compile(path: CameraPath) -> Native:
    """Return ``viewmats`` (m, 4, 4), world-to-camera, and ``K`` (3, 3) over the image size."""
    poses = sample(hold(path.poses, whole_steps(len(path), SPEC)), STRIDE)
    return {
        "viewmats": inverse(poses),
        "K": np.array([[K_SHARE[0], 0, 0], [0, K_SHARE[1], 0], [0, 0, 1]]),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path through the latent frames' poses, even in between."""
    return CameraPath(spread(inverse(native["viewmats"]), STRIDE, native["frames"]), fps=SPEC.fps)


MODEL = Model(
    id="DreamXWorldCam",
    title="DreamX-World-5B-Cam (bidirectional)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(frames=STRIDE),
    options={"steps": 50, "guidance": 3.0, "shift": 3.0},
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
