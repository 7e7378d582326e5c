"""Evoke: camera poses and intrinsics that warp a remembered point cloud, 36 frames a chunk."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make"]

FOV = 60.0
SIZE = (640, 384)
CHUNK = 36
FIRST = 32
"""New frames of the first chunk: it makes 33, of which the first repeats the image."""

_K = intrinsics(SIZE, FOV)
_TURNS = dict.fromkeys(("YAW_LEFT", "YAW_RIGHT", "PITCH_UP", "PITCH_DOWN"), 0.625)
_MOVES = dict.fromkeys(("FORWARD", "BACKWARD", "LEFT", "RIGHT"), 1 / 24)

SPEC = WorldSpec(
    name="Evoke",
    size=SIZE,
    K=intrinsic_rows(_K),
    K_exactness="nominal",
    fps=24.0,
    chunk=CHUNK,
    first_chunk=FIRST,
    drive="plan",
    # The speeds of the authors' interface: 15 degrees and one unit a second.
    quantum={**_MOVES, **_TURNS},
    image_start=True,
    prompt="episode",
    pose_exactness="exact",
    context_policies=("fov", "sliding"),
    state="native",
    licence="Apache-2.0; the depth weights that it needs are CC-BY-NC-4.0",
    citation="Yin et al., Alaya-EVOKE: from linear-scaling supervision to endless world "
    "(arXiv 2608.13546)",
)


def compile(path: CameraPath) -> Native:
    """Return ``cam_c2w`` (n, 4, 4) float32 at 24 a second, ``intrinsics`` (n, 3, 3), ``frames``.

    Poses are OpenCV camera-to-world matrices, absolute, the first that of the image. The model
    fits them to a depth that it estimates, whose median it sets to 5: a metre is a unit of that.
    """
    return {
        "cam_c2w": path.poses.astype(np.float32),
        "intrinsics": np.asarray(_K, dtype=np.float32)[None].repeat(len(path), 0),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path of camera-to-world matrices."""
    return CameraPath(np.asarray(native["cam_c2w"], dtype=np.float64), fps=SPEC.fps)


MODEL = Model(
    id="Evoke",
    title="Alaya-EVOKE (stage 3, post-distilled, 14B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    # The poses are rounded to float32.
    quantum=Quantum(degrees=1e-4, metres=1e-4),
    options={"geo_hist_max_frames": 0, "steps": (1, 1, 1)},
    # The bank of depth is read by what the camera sees; an age limit makes it a window.
    context={"fov": {"geo_hist_max_frames": 0}, "sliding": {"geo_hist_max_frames": 72}},
)


def make(**options: Any) -> World:
    """Return Evoke-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
