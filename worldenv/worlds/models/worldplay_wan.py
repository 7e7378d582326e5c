"""HY-WorldPlay (WAN-5B): stepped chunk by chunk by a pose and a label for every latent frame.

Poses, labels and units are those of the 8B variant (see ``worldplay``). The official pipeline has a
step of its own: one call a chunk of four latent frames, then one decode a latent frame.

Facts from ``wan/generate.py`` and ``wan/inference`` of Tencent-Hunyuan/HY-WorldPlay at da2d0c2.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import GenerationFailed, Start, World
from worldenv.worlds.models import open_model, worldplay
from worldenv.worlds.models.control import pinhole
from worldenv.worlds.models.driving import (
    CHECKED,
    at_repo,
    chosen_options,
    fit_image,
    found,
    lone_rank,
    official_module,
    pixels,
    seed_all,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make", "official"]

SPEC = dataclasses.replace(
    worldplay.SPEC,
    name="HY-WorldPlay WAN-5B",
    size=(1280, 704),
    K=pinhole(worldplay.K_SHARE[0] * 1280, worldplay.K_SHARE[1] * 704, 640.0, 352.0),
    fps=16.0,
    drive="stream",
    context_policies=("fov", "full"),
)


def compile(path: CameraPath) -> Native:
    """Return ``w2c`` (m, 4, 4), ``K`` (3, 3) over the image size and ``action`` (m,) int64."""
    return worldplay.native_of(path, SPEC)


def decode(native: Native) -> CameraPath:
    """Return the path through the latent frames' poses, even in between."""
    return worldplay.path_of(native, SPEC)


MODEL = Model(
    id="WorldPlayWan",
    title="HY-WorldPlay (WAN-5B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(frames=worldplay.STRIDE),
    options={"window": 16, "max_frames": 961, "negative_prompt": ""},
    # From ``window`` latent frames on the nearest views are looked for; until then all are kept.
    # The official switch that turns the memory off breaks at the second chunk.
    context={"fov": {"window": 16}, "full": {"window": 1_000_000}},
    verified=CHECKED,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


CHUNK = 4
"""Latent frames of a chunk."""


class Official(ModelWorld):
    """HY-WorldPlay WAN-5B through its own step, one call a chunk."""

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        self.chosen = chosen_options(MODEL, options)
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._runner: Any = None
        self._arguments: dict[str, Any] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._step = 0

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the conditioning image; the first chunk is made at the first step."""
        from PIL import Image

        image = fit_image(start, MODEL)
        with at_repo(found(self._repo, MODEL), self._repo / "wan"):
            if self._runner is None:
                self._runner = self._load()
        self._drop()
        self._folder = tempfile.TemporaryDirectory()
        file = os.path.join(self._folder.name, "image.png")
        Image.fromarray(image).save(file)
        # Noise and the points of the memory both come from the global generator.
        seed_all(seed)
        self._step = 0
        width, height = SPEC.size
        self._arguments = {
            "prompt": start.prompt or "",
            "negative_prompt": self.chosen["negative_prompt"],
            "height": height,
            "width": width,
            "num_frames": self.chosen["max_frames"],
            "num_inference_steps": 50,
            "guidance_scale": 1.0,
            "few_step": True,
            "first_chunk_size": CHUNK,
            "return_dict": False,
            "image_path": file,
            "use_memory": True,
            "context_window_length": self.chosen["window"],
        }
        return image[None], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Make the next chunk of four latent frames."""
        import torch

        first = self._step * CHUNK
        rows = slice(first, first + CHUNK)
        frames = 1 + 4 * (first + CHUNK - 1)
        if frames > self.chosen["max_frames"]:
            raise GenerationFailed(
                f"{MODEL.title} holds {self.chosen['max_frames']} frames; give max_frames="
                f"{frames} or more"
            )
        with at_repo(self._repo, self._repo / "wan"):
            self._runner.pipe(
                **self._arguments,
                chunk_i=self._step,
                viewmats=torch.as_tensor(native["w2c"][rows])[None],
                Ks=torch.as_tensor(native["K"]).expand(CHUNK, 3, 3)[None],
                action=torch.as_tensor(native["action"][rows])[None],
                output_type="latent",
            )
            parts = [
                pixels(self._runner.pipe.decode_next_latent(output_type="np"), "BTHWC", low=0.0)
                for _ in range(CHUNK)
            ]
        made = np.concatenate(parts)
        # The first latent frame is the conditioning image.
        new = made[1:] if self._step == 0 else made
        self._step += 1
        if len(new) < len(poses):
            raise GenerationFailed(f"{MODEL.title} made {len(new)} frames, not {len(poses)}")
        return new[: len(poses)], None

    def close(self) -> None:
        """Drop the episode; the model stays until the process ends."""
        super().close()
        self._drop()

    def _drop(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _load(self) -> Any:
        lone_rank()
        folder = self._weights / "HY-WorldPlay"
        return official_module("wan.generate", MODEL).WanRunner(
            model_id=str(found(self._weights / "Wan2.2-TI2V-5B-Diffusers", MODEL)),
            ckpt_path=str(found(folder / "wan_distilled_model" / "model.pt", MODEL)),
            ar_model_path=str(found(folder / "wan_transformer", MODEL)),
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
