"""SANA-WM (bidirectional): a pose and intrinsics for every pixel frame of a whole clip.

The model sees a ray map per latent frame of eight and the rays of each pixel frame, so every frame
has a pose of its own. Its two key languages differ in what their keys mean; poses do not. One unit
is taken as a metre. It is run in this process through diffusers.

Facts from ``inference_video_scripts/wm/inference_sana_wm.py`` of NVlabs/Sana and from
``pipelines/sana_wm`` of diffusers 0.42.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import hold, intrinsic_rows, speeds, whole_steps
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "STRIDE", "compile", "decode", "make", "native_of", "path_of"]

FOV = 70.0
SIZE = (1280, 704)
STRIDE = 8
"""Pixel frames of a latent frame."""

SPEC = WorldSpec(
    "SANA-WM",
    SIZE,
    # The official code estimates intrinsics where none are given and has no default of its own.
    intrinsic_rows(intrinsics(SIZE, FOV)),
    16.0,
    chunk=STRIDE,
    first_chunk=STRIDE,
    drive="plan",
    quantum=speeds(1.2, 0.05),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    pitch_limit=85.0,
    image_start=True,
    prompt="episode",
    pose_exactness="calibrated",
    state="whole",
    backend="diffusers",
    licence="Apache-2.0",
    citation="SANA-WM, arXiv 2605.15178, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``c2w`` (n, 4, 4) and ``intrinsics`` (n, 4), fx fy cx cy, held to n = 8 k + 1."""
    return native_of(path, SPEC)


def native_of(path: CameraPath, spec: WorldSpec) -> Native:
    """Return the control that both variants take, in whole steps of a spec."""
    poses = hold(path.poses, whole_steps(len(path), spec))
    K = spec.intrinsics()
    row = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
    return {"c2w": poses, "intrinsics": np.tile(row, (len(poses), 1)), "frames": len(path)}


def decode(native: Native) -> CameraPath:
    """Return the path itself: every frame has its own pose."""
    return path_of(native, SPEC)


def path_of(native: Native, spec: WorldSpec) -> CameraPath:
    """Return the path that the control of either variant asks for."""
    return CameraPath(native["c2w"][: native["frames"]], fps=spec.fps)


def specify(spec: WorldSpec, options: Mapping[str, Any]) -> WorldSpec:
    """Return the spec at the option ``size``, (width, height) in pixels."""
    width, height = options["size"]
    size = (int(width), int(height))
    return dataclasses.replace(spec, size=size, K=intrinsic_rows(intrinsics(size, FOV)))


MODEL = Model(
    id="SanaWM",
    title="SANA-WM (1.6B, bidirectional)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={
        "weights": "Efficient-Large-Model/SANA-WM_bidirectional-diffusers",
        "revision": None,
        "device": None,
        "dtype": "bfloat16",
        "steps": 60,
        "guidance": 5.0,
        "size": SIZE,
    },
    specify=specify,
    local="worldenv.worlds.diffusion.sana_wm:make_local",
    verified="run with tiny random weights; the released weights have not been run by us",
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
