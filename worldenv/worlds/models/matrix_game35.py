"""Matrix-Game 3.5 (distilled, first person): a metric pose and intrinsics for every pixel frame.

The whole path is read before the first frame, in blocks of 84 frames, the last pose held to a whole
block. The model is causal inside: a rolling window of latent chunks and a memory of reprojected
patches.

Facts from ``infer.py``, ``infer_distilled.py`` and ``distilled_config.py`` of
Riemann-Dynamics/Matrix-Game-3.5 at fa6d2b6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import hold, pinhole, speeds
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["BLOCK", "MODEL", "compile", "decode", "make"]

BLOCK = 84
"""Poses of a block of 21 latent frames."""

# Focal length of the official first-person samples.
K = (650.6, 650.6, 640.0, 352.0)

SPEC = WorldSpec(
    "Matrix-Game 3.5",
    (1280, 704),
    pinhole(*K),
    16.0,
    chunk=12,
    first_chunk=12,
    drive="plan",
    quantum=speeds(1.0, 0.05),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    image_start=True,
    prompt="episode",
    pose_exactness="exact",
    context_policies=("fov", "sliding"),
    state="native",
    deterministic=False,
    licence="Apache-2.0",
    citation="Riemann Dynamics, Matrix-Game 3.5, technical report, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``extrinsics_c2w`` (1 + 84 k, 4, 4) and ``intrinsics`` (1 + 84 k, 4), fx fy cx cy."""
    blocks = max(1, -(-(len(path) - 1) // BLOCK))
    poses = hold(path.poses, 1 + BLOCK * blocks)
    return {
        "extrinsics_c2w": poses,
        "intrinsics": np.tile(np.array(K), (len(poses), 1)),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path itself: every frame has its own pose."""
    return CameraPath(native["extrinsics_c2w"][: native["frames"]], fps=SPEC.fps)


MODEL = Model(
    id="MatrixGame35",
    title="Matrix-Game 3.5 (5B, distilled, first person)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={
        "memory_mode": "c0_plus_generated",
        "dynamic_context": True,
        "context_chunks": 7,
        "cfg_scale": 3.0,
        "profile": "standard",
    },
    # Both memories look past the rolling window; without them only the window is left.
    context={
        "fov": {"memory_mode": "c0_plus_generated", "dynamic_context": True},
        "sliding": {"memory_mode": "empty", "dynamic_context": False},
    },
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
