"""DreamX-World (5B, autoregressive): a pose for every latent frame, relative to the block before.

Latent frames are asked for at pixel frames 0, 1, 5, 9, ...: the first of the four that each makes.
The poses of a block of three are relative to the last of the block before, so the model is never
told where it is, only how it goes on. Intrinsics are fixed. One unit is taken as a metre; trained
speeds are 0.075 units and 1.5 degrees a pixel frame. The whole path is read first.

Facts from ``inference_ar_forcing.py`` and ``utils/trajectory_processor.py`` of AMAP-ML/DreamX-World
at a1f4c6e, with chunk-relative poses as its shell script has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import hold, inverse, pinhole, speeds, spread, whole_steps
from worldenv.worlds.models.model import Model, Native, Quantum
from worldenv.worlds.models.worldplay import K_SHARE

__all__ = ["BLOCK", "MODEL", "STRIDE", "compile", "decode", "make", "native_of"]

STRIDE = 4
"""Pixel frames of a latent frame."""

BLOCK = 3
"""Latent frames of a block."""

SPEC = WorldSpec(
    "DreamX-World",
    (1280, 704),
    pinhole(K_SHARE[0] * 1280, K_SHARE[1] * 704, 640.0, 352.0),
    16.0,
    chunk=STRIDE * BLOCK,
    first_chunk=STRIDE * (BLOCK - 1),
    drive="plan",
    quantum=speeds(1.5, 0.075),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    image_start=True,
    prompt="episode",
    pose_exactness="calibrated",
    state="native",
    deterministic=False,
    licence="Apache-2.0",
    citation="DreamX Team, DreamX-World 1.0, arXiv 2606.16993, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``viewmats`` (m, 4, 4), world-to-camera within each block, and ``K`` (3, 3).

    One row a latent frame, the end held to a whole block; ``K`` is over the image size.
    """
    return native_of(path, SPEC)


def native_of(path: CameraPath, spec: WorldSpec) -> Native:
    """Return the control in whole blocks of a spec."""
    poses = hold(path.poses, whole_steps(len(path), spec))
    # The first pixel frame that each latent frame makes.
    poses = np.concatenate([poses[:1], poses[1::STRIDE]])
    views = inverse(poses)
    for start in range(BLOCK, len(poses), BLOCK):
        views[start : start + BLOCK] = views[start : start + BLOCK] @ poses[start - 1]
    return {
        "viewmats": views,
        "K": np.array([[K_SHARE[0], 0, 0.5], [0, K_SHARE[1], 0.5], [0, 0, 1]]),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path that the blocks make one after the other, even between latent frames."""
    steps = inverse(native["viewmats"])
    poses = steps.copy()
    for start in range(BLOCK, len(poses), BLOCK):
        poses[start : start + BLOCK] = poses[start - 1] @ steps[start : start + BLOCK]
    frames = native["frames"]
    if len(poses) == 1:
        return CameraPath(poses, fps=SPEC.fps)
    # No pose is given for the last three frames; the camera is taken to be held there.
    asked = spread(poses[1:], STRIDE, 1 + STRIDE * (len(poses) - 2))
    whole = hold(np.concatenate([poses[:1], asked]), 1 + STRIDE * (len(poses) - 1))
    return CameraPath(whole[:frames], fps=SPEC.fps)


MODEL = Model(
    id="DreamXWorld",
    title="DreamX-World (5B, autoregressive)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(frames=STRIDE),
    options={"color_correction_strength": 1.0},
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
