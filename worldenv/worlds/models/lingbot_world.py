"""LingBot-World (base, camera control): poses and intrinsics of a whole clip, in one pass.

The official code samples the poses every fourth frame, takes each relative to the one before, and
divides all steps by the longest of the clip. So only the shape of a path is asked for: how fast the
camera goes as a whole is left to the model, and the same path at twice the speed is the same
control. The decoded path keeps the metres of the path asked for (``metres``, which the model is not
told); that is why the poses are nominal.

Facts from ``wan/image2video.py`` and ``wan/utils/cam_utils.py`` of Robbyant/lingbot-world at
65d29dd.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import Start, World, WorldSpec
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
from worldenv.worlds.models.driving import (
    TINY,
    PlannedWorld,
    at_repo,
    fit_intrinsics,
    found,
    official_module,
    pixels,
    seed_all,
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
    "official",
    "path_of",
    "write_control",
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
    verified=TINY,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


def write_control(folder: Path, native: Native, start: Start) -> None:
    """Write ``poses.npy`` and ``intrinsics.npy`` as the official code reads them.

    Args:
        folder: Where to.
        native: The control.
        start: What the episode begins from; its intrinsics win over the nominal ones.
    """
    rows = native["intrinsics"]
    if start.K is not None:
        K = fit_intrinsics(start, MODEL)
        x, y = INTRINSICS_SIZE[0] / SIZE[0], INTRINSICS_SIZE[1] / SIZE[1]
        rows = np.tile([K[0, 0] * x, K[1, 1] * y, K[0, 2] * x, K[1, 2] * y], (len(rows), 1))
    np.save(folder / "poses.npy", native["poses"])
    np.save(folder / "intrinsics.npy", rows)


class Official(PlannedWorld):
    """LingBot-World through its official class, one call an episode."""

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._pipe: Any = None
        self._plain: dict[str, bool] = {}

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        from PIL import Image

        with at_repo(found(self._repo, MODEL)), tempfile.TemporaryDirectory() as folder:
            if self._pipe is None:
                self._pipe = self._load()
                # Newer code draws keys over every frame unless told not to.
                draws = "vis_ui" in inspect.signature(self._pipe.generate).parameters
                self._plain = {"vis_ui": False} if draws else {}
            write_control(Path(folder), native, start)
            seed_all(seed)
            made = self._pipe.generate(
                start.prompt or "",
                Image.fromarray(image),
                action_path=folder,
                max_area=480 * 832,
                frame_num=len(native["poses"]),
                shift=self.chosen["shift"],
                sample_solver=self.chosen["solver"],
                sampling_steps=self.chosen["steps"],
                guide_scale=self.chosen["guidance"],
                seed=seed,
                offload_model=True,
                **self._plain,
            )
        return pixels(made, "CTHW")

    def _load(self) -> Any:
        return official_module("wan", MODEL).WanI2V(
            config=official_module("wan.configs", MODEL).WAN_CONFIGS["i2v-A14B"],
            # The official code tells poses from keys by this folder's name, which must hold "cam".
            checkpoint_dir=str(found(self._weights / "lingbot-world-base-cam", MODEL)),
            device_id=int(os.environ.get("LOCAL_RANK", "0")),
            rank=int(os.environ.get("RANK", "0")),
        )


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return the model run by its official code, in an environment that has what this needs.

    Args:
        repo: Checkout of the official repository.
        weights: Folder of the weights, laid out as in the recipe.
        options: Options of the model.
    """
    world: World = Official(Path(repo).absolute(), Path(weights).absolute(), options)
    return world
