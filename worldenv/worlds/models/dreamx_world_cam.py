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
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import Start, World
from worldenv.worlds.models import dreamx_world, open_model
from worldenv.worlds.models.control import hold, inverse, sample, speeds, spread, whole_steps
from worldenv.worlds.models.driving import (
    CHECKED,
    PlannedWorld,
    at_repo,
    found,
    official_module,
    pixels,
    seed_all,
)
from worldenv.worlds.models.model import Model, Native, Quantum
from worldenv.worlds.models.worldplay import K_SHARE

__all__ = ["MODEL", "compile", "decode", "make", "official"]

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
    verified=CHECKED,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


class Official(PlannedWorld):
    """DreamX-World-Cam through its official pipeline, one call an episode."""

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._parts: Any = None

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        import torch
        from PIL import Image

        with at_repo(found(self._repo, MODEL)), tempfile.TemporaryDirectory() as folder:
            if self._parts is None:
                self._parts = self._load()
            arguments, pipe, boundary = self._parts
            file = os.path.join(folder, "image.png")
            Image.fromarray(image).save(file)
            seed_all(seed)
            latents = len(native["viewmats"])
            with torch.no_grad():
                made = pipe(
                    start.prompt or "",
                    num_frames=1 + STRIDE * (latents - 1),
                    negative_prompt=arguments.negative_prompt,
                    height=SPEC.size[1],
                    width=SPEC.size[0],
                    generator=torch.Generator(device="cpu").manual_seed(seed),
                    guidance_scale=self.chosen["guidance"],
                    num_inference_steps=self.chosen["steps"],
                    start_image=file,
                    control_camera_video={
                        "viewmats": torch.as_tensor(native["viewmats"]).float(),
                        "K": torch.as_tensor(native["K"]).float().expand(latents, 3, 3),
                    },
                    boundary=boundary,
                    shift=self.chosen["shift"],
                )
        return pixels(made.videos, "BCTHW", low=0.0)

    def _load(self) -> Any:
        script = official_module("inference_dreamx5b", MODEL)
        command = [
            "inference_dreamx5b.py",
            "--model_name",
            str(found(self._weights / "Wan2.2-TI2V-5B", MODEL)),
            "--transformer_path",
            str(found(self._weights / "DreamX-World-5B-Cam", MODEL)),
            "--input_dir",
            "unused",
            "--output_dir",
            "unused",
            "--cam_method",
            "prope",
            "--add_control_adapter",
        ]
        before, sys.argv = sys.argv, command
        try:
            arguments = script.parse_args()
        finally:
            sys.argv = before
        pipe, _, _, _, _, boundary = script.setup_models(arguments)
        return arguments, pipe, boundary


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return the model run by its official code, in an environment that has what this needs.

    Args:
        repo: Checkout of the official repository.
        weights: Folder of the weights, laid out as in the recipe.
        options: Options of the model.
    """
    world: World = Official(Path(repo).absolute(), Path(weights).absolute(), options)
    return world
