"""HY-WorldPlay (HY-8B): a pose and an action label for every latent frame, the path known first.

The model is told world-to-camera matrices, intrinsics divided by the image size, and one of 81
labels per latent frame: nine times the way it moves plus the way it turns. One unit of its poses
is taken as a metre; it was trained at 0.08 units and 3 degrees a latent frame of four pixel frames.
The official code takes every pose before it begins, although it generates chunk by chunk.

Facts from ``hyvideo/generate.py`` and ``hyvideo/generate_custom_trajectory.py`` of
Tencent-Hunyuan/HY-WorldPlay at da2d0c2.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
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
    CHECKED,
    PlannedWorld,
    at_repo,
    found,
    lone_rank,
    official_module,
    pixels,
    seed_all,
)
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = [
    "K_SHARE",
    "MODEL",
    "STRIDE",
    "action_labels",
    "compile",
    "decode",
    "make",
    "native_of",
    "official",
    "path_of",
]

STRIDE = 4
"""Pixel frames of a latent frame."""

K_SHARE = (969.6969696969696 / 1920, 969.6969696969696 / 1080)
"""Focal lengths over width and height that every pose of the official code has."""

MOVED = 1e-4
"""Length of a step, in units, above which the label names its direction."""

TURNED = 0.05
"""Degrees above which the label names a turn."""

LICENCE = (
    "Tencent HY-WorldPlay community licence: not in the EU, the UK and South Korea; outputs may "
    "not be used to improve other models"
)
CITATION = (
    "Sun et al., WorldPlay: Towards Long-Term Geometric Consistency for Real-Time Interactive "
    "World Model, 2025"
)

SPEC = WorldSpec(
    "HY-WorldPlay 8B",
    (832, 480),
    pinhole(K_SHARE[0] * 832, K_SHARE[1] * 480, 416.0, 240.0),
    24.0,
    chunk=16,
    first_chunk=12,
    drive="plan",
    quantum=speeds(0.75, 0.02),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    image_start=True,
    prompt="episode",
    pose_exactness="calibrated",
    state="native",
    deterministic=False,
    licence=LICENCE,
    citation=CITATION,
)

_PAIRS = {
    (0, 0, 0, 0): 0,
    (1, 0, 0, 0): 1,
    (0, 1, 0, 0): 2,
    (0, 0, 1, 0): 3,
    (0, 0, 0, 1): 4,
    (1, 0, 1, 0): 5,
    (1, 0, 0, 1): 6,
    (0, 1, 1, 0): 7,
    (0, 1, 0, 1): 8,
}


def action_labels(c2w: np.ndarray) -> np.ndarray:
    """Return the label of each latent frame: 9 x movement + turn, 0 to 80.

    Both halves count nothing, first, second, third, fourth and the four pairs of a first or second
    with a third or fourth. Movement: forward, backward, right, left, within 60 degrees of the axis
    of the camera before the turn. Turn: right, left, up, down, by more than ``TURNED``.

    Args:
        c2w: Camera-to-world poses of the latent frames, shape (n, 4, 4).

    Returns:
        Shape (n,) int64; the first is 0.
    """
    labels = np.zeros(len(c2w), dtype=np.int64)
    for i, step in enumerate(inverse(c2w[:-1]) @ c2w[1:], start=1):
        labels[i] = 9 * _PAIRS[_movement(step[:3, 3])] + _PAIRS[_turn(step[:3, :3])]
    return labels


def _movement(step: np.ndarray) -> tuple[int, int, int, int]:
    length = float(np.linalg.norm(step))
    if length <= MOVED:
        return (0, 0, 0, 0)
    x, z = step[0] / length, step[2] / length
    return (int(z > 0.5), int(z < -0.5), int(x > 0.5), int(x < -0.5))


def _turn(rotation: np.ndarray) -> tuple[int, int, int, int]:
    # Euler angles about the fixed axes x, then y, then z, as the official code takes them.
    yaw = np.degrees(np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0])))
    pitch = np.degrees(np.arctan2(rotation[2, 1], rotation[2, 2]))
    return (int(yaw > TURNED), int(yaw < -TURNED), int(pitch > TURNED), int(pitch < -TURNED))


def compile(path: CameraPath) -> Native:
    """Return ``w2c`` (m, 4, 4), ``K`` (3, 3) over the image size and ``action`` (m,) int64.

    One row a latent frame, the end held to a whole chunk.
    """
    return native_of(path, SPEC)


def native_of(path: CameraPath, spec: WorldSpec) -> Native:
    """Return the control that both variants of the model take, in whole chunks of a spec."""
    poses = sample(hold(path.poses, whole_steps(len(path), spec)), STRIDE)
    return {
        "w2c": inverse(poses),
        "K": np.array([[K_SHARE[0], 0, 0.5], [0, K_SHARE[1], 0.5], [0, 0, 1]]),
        "action": action_labels(poses),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path through the latent frames' poses, even in between."""
    return path_of(native, SPEC)


def path_of(native: Native, spec: WorldSpec) -> CameraPath:
    """Return the path that the control of either variant asks for."""
    return CameraPath(spread(inverse(native["w2c"]), STRIDE, native["frames"]), fps=spec.fps)


MODEL = Model(
    id="WorldPlay",
    title="HY-WorldPlay (HY-8B, autoregressive)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(frames=STRIDE),
    # 0 steps are as many as the weights want: 4 distilled, 50 not.
    options={"few_step": True, "steps": 0, "negative_prompt": ""},
    verified=CHECKED,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


class Official(PlannedWorld):
    """HY-WorldPlay 8B through its own pipeline, one call an episode.

    Importing the official script would start its parallel state with what the command line says, so
    the pipeline is imported by itself.
    """

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._pipe: Any = None

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        import torch
        from PIL import Image

        with at_repo(found(self._repo, MODEL)), tempfile.TemporaryDirectory() as folder:
            if self._pipe is None:
                self._pipe = self._load()
            file = os.path.join(folder, "image.png")
            Image.fromarray(image).save(file)
            # The memory picks views by points drawn from the global generator.
            seed_all(seed)
            few = bool(self.chosen["few_step"])
            # The official code keeps these two in double precision, whatever the model's is.
            made = self._pipe(
                enable_sr=False,
                prompt=start.prompt or "",
                aspect_ratio="16:9",
                num_inference_steps=self.chosen["steps"] or (4 if few else 50),
                sr_num_inference_steps=None,
                video_length=1 + STRIDE * (len(native["w2c"]) - 1),
                negative_prompt=self.chosen["negative_prompt"],
                seed=seed,
                output_type="pt",
                prompt_rewrite=False,
                return_pre_sr_video=False,
                viewmats=torch.as_tensor(native["w2c"])[None],
                Ks=torch.as_tensor(native["K"]).expand(len(native["w2c"]), 3, 3)[None],
                action=torch.as_tensor(native["action"])[None],
                few_step=few,
                chunk_latent_frames=4,
                model_type="ar",
                user_height=SPEC.size[1],
                user_width=SPEC.size[0],
                transformer_resident_ar_rollout=True,
                reference_image=file,
            )
        return pixels(made.videos, "BCTHW", low=0.0)

    def _load(self) -> Any:
        import torch

        lone_rank()
        parallel = official_module("hyvideo.commons.parallel_states", MODEL)
        parallel.initialize_parallel_state(sp=int(os.environ["WORLD_SIZE"]))
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        official_module("hyvideo.commons.infer_state", MODEL).initialize_infer_state(
            SimpleNamespace(
                sage_blocks_range="0-53",
                use_sageattn=False,
                enable_torch_compile=False,
                use_fp8_gemm=False,
                quant_type="fp8-per-block",
                include_patterns="double_blocks",
                use_vae_parallel=False,
            )
        )
        variant = "ar_distilled_action_model" if self.chosen["few_step"] else "ar_model"
        folder = self._weights / "HY-WorldPlay" / variant
        file = folder / "diffusion_pytorch_model.safetensors"
        # The distilled weights have been published under either name.
        if not file.exists():
            file = folder / "model.safetensors"
        pipelines = official_module("hyvideo.pipelines.worldplay_video_pipeline", MODEL)
        return pipelines.HunyuanVideo_1_5_Pipeline.create_pipeline(
            pretrained_model_name_or_path=str(found(self._weights / "HunyuanVideo-1.5", MODEL)),
            transformer_version="480p_i2v",
            enable_offloading=False,
            enable_group_offloading=False,
            create_sr_pipeline=False,
            force_sparse_attn=False,
            transformer_dtype=torch.bfloat16,
            action_ckpt=str(found(file, MODEL)),
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
