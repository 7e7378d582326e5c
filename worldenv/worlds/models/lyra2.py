"""Lyra 2.0: stepped in chunks of 80 frames by a world-to-camera pose and intrinsics for each.

Poses are absolute in the frame of the first image. Their unit is that of the depth which the model
estimates for this image, meant to be metres. The interactive server of the official code is what is
driven; it has no factor on translations, where the official command line has 1.1.

Facts from ``gui/api/lyra_persistent.py`` of nv-tlabs/lyra, folder Lyra-2, at 9fffc9a.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import GenerationFailed, Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import inverse, speeds
from worldenv.worlds.models.driving import (
    at_repo,
    chosen_options,
    fit_image,
    found,
    official_module,
    pixels,
    seed_all,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make", "official"]

SPEC = WorldSpec(
    "Lyra 2.0",
    (768, 448),
    # The official server estimates the intrinsics of the first image and keeps to them.
    tuple(map(tuple, intrinsics((768, 448), 60.0).tolist())),
    16.0,
    chunk=80,
    first_chunk=80,
    K_exactness="estimated",
    quantum=speeds(1.0, 0.03),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    image_start=True,
    prompt="chunk",
    pose_exactness="calibrated",
    context_policies=("fov", "sliding"),
    state="native",
    deterministic=False,
    licence="Apache-2.0 code; weights under the NVIDIA Internal Scientific Research licence",
    citation="Shen et al., Lyra 2.0: Explorable Generative 3D Worlds, arXiv 2604.13036, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``w2c`` (n, 4, 4) and ``intrinsics`` (n, 3, 3) in pixels, a row a frame."""
    return {
        "w2c": inverse(path.poses),
        "intrinsics": np.tile(SPEC.intrinsics(), (len(path), 1, 1)),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path itself: every frame has its own pose."""
    return CameraPath(inverse(native["w2c"]), fps=SPEC.fps)


MODEL = Model(
    id="Lyra2",
    title="Lyra 2.0 (14B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={
        "steps": 35,
        "guidance": 5.0,
        "shift": 5.0,
        "dmd": False,
        "retrieval_views": 1,
        "update_cache": True,
    },
    # Without updates only the first image stays in the memory of depths; recent frames remain.
    context={"fov": {"update_cache": True}, "sliding": {"update_cache": False}},
    verified=(
        "official server class run on the CPU by its adapter with the generator stubbed, which got "
        "the control that was meant; never run with its weights by us"
    ),
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


class Official(ModelWorld):
    """Lyra 2.0 through the stateful class of its interactive server, without the server.

    The class would load a captioner and write videos. Prompts are given here, so the captioner is
    left out, and frames come as they are. The camera that the model estimates for itself is not
    believed, so that the poses asked for stay those of the path.
    """

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        self.chosen = chosen_options(MODEL, options)
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._lyra: Any = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._prompt = ""
        self._K = SPEC.intrinsics()
        self._made = 0

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Seed the model with the image and keep the intrinsics that it estimates."""
        image = fit_image(start, MODEL)
        folder = found(self._repo / "Lyra-2", MODEL)
        with at_repo(folder, folder / "gui" / "api"):
            if self._lyra is None:
                self._lyra = self._load()
            seed_all(seed)
            # Each chunk adds its number to it.
            self._lyra.args.seed = seed
            width, height = SPEC.size
            nominal = SPEC.intrinsics()
            seeded = self._lyra.seed_model_from_values(
                images_np=image[None],
                depths_np=None,
                masks_np=None,
                world_to_cameras_np=np.eye(4)[None],
                focal_lengths_np=np.array([[nominal[0, 0], nominal[1, 1]]]),
                principal_point_rel_np=np.array([[0.5, 0.5]]),
                resolutions=np.array([[width, height]]),
                request_id="worldenv",
            )
        (fx, fy), (x, y) = seeded["focal_lengths"][0], seeded["principal_points"][0]
        self._K = np.array([[fx, 0, x * width], [0, fy, y * height], [0, 0, 1]], dtype=np.float64)
        self._prompt, self._made = start.prompt or "", 1
        return image[None], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Make the next 80 frames."""
        if prompt is not None:
            self._prompt = prompt
        folder = self._repo / "Lyra-2"
        w2c = native["w2c"][self._made : self._made + len(poses)]
        with at_repo(folder, folder / "gui" / "api"):
            # A prompt of nothing would call the captioner.
            text = self._prompt or " "
            if text != self._lyra.manual_prompt:
                self._lyra.manual_prompt, self._lyra.manual_t5 = text, None
            made = self._lyra.inference_on_cameras(
                w2c,
                np.tile(self._K, (len(w2c), 1, 1)),
                fps=SPEC.fps,
                save_buffer=False,
                request_id="worldenv",
            )
        self._made += len(poses)
        frames = pixels(made["video_no_overlap"], "BTCHW")
        if len(frames) != len(poses):
            raise GenerationFailed(f"{MODEL.title} made {len(frames)} frames, not {len(poses)}")
        return frames, None

    def close(self) -> None:
        """Drop the episode; the model stays until the process ends."""
        super().close()
        if self._lyra is not None:
            self._lyra.clear_cache()

    def _load(self) -> Any:
        checkpoints = found(self._weights / "Lyra-2.0" / "checkpoints", MODEL)
        # Half of the official code looks for them in the folder that it runs in.
        here = self._repo / "Lyra-2" / "checkpoints"
        if not here.exists():
            here.symlink_to(checkpoints.resolve())
        for name, value in (
            ("SAMPLING_STEPS", self.chosen["steps"]),
            ("GUIDANCE", self.chosen["guidance"]),
            ("SHIFT", self.chosen["shift"]),
            ("USE_DMD", int(self.chosen["dmd"])),
            ("RETRIEVAL_VIEWS", self.chosen["retrieval_views"]),
            ("DA3_USE_PREDICTED_POSE", 0),
        ):
            os.environ[f"LYRA_GUI_{name}"] = str(value)
        # The class makes a captioner at once; prompts make it idle, so none is loaded.
        idle: Any = ModuleType("qwen_captioner")
        idle.DEFAULT_QWEN_MODEL = ""
        idle.QwenCaptioner = lambda **_: None
        sys.modules["qwen_captioner"] = idle
        self._folder = tempfile.TemporaryDirectory()
        lyra = official_module("lyra_persistent", MODEL).Lyra2PersistentModel(
            checkpoint_path=str(checkpoints / "model"), output_root=self._folder.name
        )
        lyra.args.disable_cache_update = not self.chosen["update_cache"]
        unwritten = Path(self._folder.name) / "unwritten.mp4"
        lyra._save_chunk = lambda *_, **__: unwritten
        lyra._rebuild_full_video = lambda *_, **__: unwritten
        return lyra


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return the model run by its official code, in an environment that has what this needs.

    Args:
        repo: Checkout of the official repository.
        weights: Folder of the weights, laid out as in the recipe.
        options: Options of the model.
    """
    world: World = Official(Path(repo).absolute(), Path(weights).absolute(), options)
    return world
