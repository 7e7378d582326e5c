"""WonderWorld: a scene of 3D Gaussians rendered along view matrices, outpainted where it ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import intrinsic_rows, inverse
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make"]

SIZE = (512, 512)
FOCAL = 960.0
"""Focal length in pixels of the authors' example configurations."""

_K = np.array([[FOCAL, 0, SIZE[0] / 2], [0, FOCAL, SIZE[1] / 2], [0, 0, 1.0]])

SPEC = WorldSpec(
    name="WonderWorld",
    size=SIZE,
    K=intrinsic_rows(_K),
    K_exactness="exact",
    fps=16.0,
    chunk=1,
    first_chunk=1,
    drive="stream",
    quantum={"YAW_LEFT": 1.0, "YAW_RIGHT": 1.0, "PITCH_UP": 1.0, "PITCH_DOWN": 1.0},
    image_start=True,
    prompt="chunk",
    pose_exactness="exact",
    state="native",
    # Atomic additions of the rasterizer and of the training of Gaussians keep no order.
    deterministic=False,
    licence="none: the repository has no licence file",
    citation="Yu et al., WonderWorld: interactive 3D scene generation from a single image "
    "(CVPR 2025)",
)

# The world's axes are PyTorch3D's: x left, y up, z forward.
_FLIP = np.diag([-1.0, -1.0, 1.0])


def compile(path: CameraPath) -> Native:
    """Return ``view_matrix`` (n, 16), one row-major matrix a frame, and ``frames``.

    A row vector times the matrix leads from the world (x left, y up, z forward) to the camera
    (x right, y down, z forward); the last row moves. One metre is one unit of the official viewer,
    a thousandth of which is a unit of its depth (``xyz_scale``).
    """
    back = inverse(path.poses)
    view = np.zeros((len(path), 4, 4))
    view[:, :3, :3] = _FLIP @ np.swapaxes(back[:, :3, :3], 1, 2)
    view[:, 3, :3] = back[:, :3, 3]
    view[:, 3, 3] = 1.0
    return {"view_matrix": view.reshape(-1, 16) + 0.0, "frames": len(path)}


def decode(native: Native) -> CameraPath:
    """Return the path of view matrices."""
    view = np.asarray(native["view_matrix"], dtype=np.float64).reshape(-1, 4, 4)
    back = np.tile(np.eye(4), (len(view), 1, 1))
    back[:, :3, :3] = np.swapaxes(_FLIP @ view[:, :3, :3], 1, 2)
    back[:, :3, 3] = view[:, 3, :3]
    return CameraPath(inverse(back) + 0.0, fps=SPEC.fps)


MODEL = Model(
    id="WonderWorld",
    title="WonderWorld",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={"uncovered": 0.2, "generate": True},
)


def make(**options: Any) -> World:
    """Return WonderWorld-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``.

    Its authors let a user say when to outpaint. Here it is done before a frame whose uncovered
    part exceeds ``uncovered`` (0 to 1), unless ``generate`` is False.
    """
    return open_model(MODEL, options)
