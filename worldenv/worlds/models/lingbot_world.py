"""LingBot-World (base, camera control): poses and intrinsics of a whole clip, in one pass.

The official code samples the poses every fourth frame, takes each relative to the one before, and
divides all steps by the longest of the clip. So only the shape of a path is asked for: how fast the
camera goes as a whole is left to the model, and the same path at twice the speed is the same
control. The decoded path keeps the metres of the path asked for (``metres``, which the model is not
told); that is why the poses are nominal.

Facts from ``wan/image2video.py`` and ``wan/utils/cam_utils.py`` of Robbyant/lingbot-world at
6ca87d4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import (
    hold,
    inverse,
    pinhole,
    sample,
    speeds,
    spread,
    whole_steps,
)
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = [
    "MODEL",
    "SIZE",
    "STRIDE",
    "compile",
    "conditioning",
    "decode",
    "make",
    "native_of",
    "path_of",
]

STRIDE = 4
"""Pixel frames of a latent frame."""

SIZE = (832, 464)
"""What the official rounding makes of the size 480*832."""

INTRINSICS_SIZE = (832, 480)
"""Size that the official code takes intrinsics to be given at, whatever the image's."""

STILL = 1e-6
"""Metres of the longest step below which a path counts as turning in place.

Dividing by the longest step would blow rounding up to full speed.
"""

# Focal length of the official examples.
FOCAL = 502.9

SPEC = WorldSpec(
    "LingBot-World",
    SIZE,
    pinhole(FOCAL, FOCAL, SIZE[0] / 2, SIZE[1] / 2),
    16.0,
    chunk=STRIDE,
    first_chunk=STRIDE,
    drive="plan",
    quantum=speeds(2.0, 0.05),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    pitch_limit=85.0,
    image_start=True,
    prompt="episode",
    pose_exactness="nominal",
    state="whole",
    deterministic=False,
    licence="Apache-2.0",
    citation="Robbyant Team, Advancing Open-source World Models, arXiv 2601.20540, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``poses`` (n, 4, 4), ``intrinsics`` (n, 4) at 832 x 480, and ``metres``.

    ``metres`` is the longest step between latent frames, for which the model is told 1.
    """
    return native_of(path, SPEC)


def native_of(path: CameraPath, spec: WorldSpec) -> Native:
    """Return the control that every variant takes, in whole steps of a spec."""
    poses = np.array(hold(path.poses, whole_steps(len(path), spec)))
    metres = float(_lengths(sample(poses, STRIDE)).max(initial=0.0))
    if metres < STILL:
        poses[:, :3, 3] = 0.0
        metres = 0.0
    K = spec.intrinsics()
    x, y = INTRINSICS_SIZE[0] / spec.size[0], INTRINSICS_SIZE[1] / spec.size[1]
    row = [K[0, 0] * x, K[1, 1] * y, K[0, 2] * x, K[1, 2] * y]
    return {
        "poses": poses,
        "intrinsics": np.tile(np.array(row), (len(poses), 1)),
        "metres": metres,
        "frames": len(path),
    }


def conditioning(native: Native) -> np.ndarray:
    """Return what the model sees of the control: steps between latent frames, the longest 1.

    Shape (latent frames, 4, 4); the first is the identity.
    """
    poses = sample(native["poses"], STRIDE)
    steps = np.concatenate([np.eye(4)[None], inverse(poses[:-1]) @ poses[1:]])
    longest = np.linalg.norm(steps[:, :3, 3], axis=1).max()
    if longest > 0:
        steps[:, :3, 3] /= longest
    return np.asarray(steps)


def decode(native: Native) -> CameraPath:
    """Return the path that the steps make, its longest being ``metres``."""
    return path_of(native, SPEC)


def path_of(native: Native, spec: WorldSpec) -> CameraPath:
    """Return the path that the control of any variant asks for."""
    steps = conditioning(native)
    steps[:, :3, 3] *= native["metres"]
    poses = [np.eye(4)]
    for step in steps[1:]:
        poses.append(poses[-1] @ step)
    return CameraPath(spread(np.stack(poses), STRIDE, native["frames"]), fps=spec.fps)


def _lengths(poses: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1))


MODEL = Model(
    id="LingBotWorld",
    title="LingBot-World (base-cam, 2 x 14B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(frames=STRIDE, degrees=1e-6, metres=1e-6),
    options={"steps": 70, "shift": 10.0, "guidance": 5.0, "solver": "unipc"},
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
