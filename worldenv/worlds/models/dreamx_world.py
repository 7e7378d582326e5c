"""DreamX-World (5B, autoregressive): a pose for every latent frame, relative to the block before.

Latent frames are asked for at pixel frames 0, 1, 5, 9, ...: the first of the four that each makes.
The poses of a block of three are relative to the last of the block before, so the model is never
told where it is, only how it goes on. Intrinsics are fixed. One unit is taken as a metre; trained
speeds are 0.075 units and 1.5 degrees a pixel frame. The whole path is read first.

Facts from ``inference_ar_forcing.py`` and ``utils/trajectory_processor.py`` of AMAP-ML/DreamX-World
at a1f4c6e, with chunk-relative poses as its shell script has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import Start, WeightsNotFound, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import hold, inverse, pinhole, speeds, spread, whole_steps
from worldenv.worlds.models.driving import (
    TINY,
    PlannedWorld,
    at_repo,
    found,
    official_module,
    pixels,
    seed_all,
)
from worldenv.worlds.models.model import Model, Native, Quantum
from worldenv.worlds.models.worldplay import K_SHARE

__all__ = [
    "BLOCK",
    "MODEL",
    "STRIDE",
    "compile",
    "decode",
    "make",
    "native_of",
    "official",
]

STRIDE = 4
"""Pixel frames of a latent frame."""

BLOCK = 3
"""Latent frames of a block."""

SPEC = WorldSpec(
    "DreamX-World",
    (1280, 704),
    pinhole(K_SHARE[0] * 1280, K_SHARE[1] * 704, 640.0, 352.0),
    16.0,
    chunk=STRIDE * BLOCK,
    first_chunk=STRIDE * (BLOCK - 1),
    drive="plan",
    quantum=speeds(1.5, 0.075),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    image_start=True,
    prompt="episode",
    pose_exactness="calibrated",
    state="native",
    deterministic=False,
    licence="Apache-2.0",
    citation="DreamX Team, DreamX-World 1.0, arXiv 2606.16993, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``viewmats`` (m, 4, 4), world-to-camera within each block, and ``K`` (3, 3).

    One row a latent frame, the end held to a whole block; ``K`` is over the image size.
    """
    return native_of(path, SPEC)


def native_of(path: CameraPath, spec: WorldSpec) -> Native:
    """Return the control in whole blocks of a spec."""
    poses = hold(path.poses, whole_steps(len(path), spec))
    # The first pixel frame that each latent frame makes.
    poses = np.concatenate([poses[:1], poses[1::STRIDE]])
    views = inverse(poses)
    for start in range(BLOCK, len(poses), BLOCK):
        views[start : start + BLOCK] = views[start : start + BLOCK] @ poses[start - 1]
    return {
        "viewmats": views,
        "K": np.array([[K_SHARE[0], 0, 0.5], [0, K_SHARE[1], 0.5], [0, 0, 1]]),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path that the blocks make one after the other, even between latent frames."""
    steps = inverse(native["viewmats"])
    poses = steps.copy()
    for start in range(BLOCK, len(poses), BLOCK):
        poses[start : start + BLOCK] = poses[start - 1] @ steps[start : start + BLOCK]
    frames = native["frames"]
    if len(poses) == 1:
        return CameraPath(poses, fps=SPEC.fps)
    # No pose is given for the last three frames; the camera is taken to be held there.
    asked = spread(poses[1:], STRIDE, 1 + STRIDE * (len(poses) - 2))
    whole = hold(np.concatenate([poses[:1], asked]), 1 + STRIDE * (len(poses) - 1))
    return CameraPath(whole[:frames], fps=SPEC.fps)


MODEL = Model(
    id="DreamXWorld",
    title="DreamX-World (5B, autoregressive)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(frames=STRIDE),
    options={"color_correction_strength": 1.0},
    verified=TINY,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


TOKENS = 880
"""Tokens of a latent frame; each is given the pose of its frame."""


class Official(PlannedWorld):
    """DreamX-World through its official pipeline, one call an episode, colours corrected alike."""

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._pipe: Any = None

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        import torch

        with at_repo(found(self._repo, MODEL)), torch.no_grad():
            if self._pipe is None:
                self._pipe = self._load()
            pipe, latents = self._pipe, len(native["viewmats"])
            place = {"device": self._device(), "dtype": torch.bfloat16}
            # Noise and what is added between steps come from the global generator.
            seed_all(seed)
            first = torch.as_tensor(image / 127.5 - 1.0).permute(2, 0, 1)[None, :, None].to(**place)
            known = pipe.vae.encode_to_latent(first).to(**place)
            noise = torch.randn([1, latents, 48, 44, 80], **place)
            noise[:, 0] = known
            views = torch.as_tensor(native["viewmats"]).to(**place)
            K = torch.as_tensor(native["K"]).to(**place)
            video = pipe.inference(
                noise=noise,
                text_prompts=[start.prompt or ""],
                y=None,
                y_camera={
                    "viewmats": views[:, None].expand(-1, TOKENS, -1, -1).reshape(1, -1, 4, 4),
                    "K": K.expand(1, latents * TOKENS, 3, 3),
                },
            )
            video = 255.0 * video.permute(0, 1, 3, 4, 2).cpu()
            pipe.vae.model.clear_cache()
            video = official_module("utils.postprocess", MODEL).postprocess_video_frames(
                video,
                reference_frame=video[0, 0],
                color_correction_strength=self.chosen["color_correction_strength"],
            )
        return pixels(video, "BTHWC", low=0.0, high=255.0)

    def _device(self) -> Any:
        import torch

        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _load(self) -> Any:
        import torch

        omegaconf = official_module("omegaconf", MODEL).OmegaConf
        configs = self._repo / "configs" / "dreamx-ar"
        files = sorted(found(self._weights / "DreamX-World-5B", MODEL).glob("*.safetensors"))
        if len(files) != 1:
            # The official code reads one file and says nothing of weights that are not in it.
            raise WeightsNotFound(
                f"{MODEL.title} needs its weights as one .safetensors file in "
                f"{self._weights / 'DreamX-World-5B'}, found {len(files)}; run 'worldenv setup "
                f"{MODEL.id} --plan' to see what belongs there"
            )
        checkpoint = files[0]
        config = omegaconf.merge(
            omegaconf.load(configs / "default_config.yaml"),
            omegaconf.load(configs / "causal_camera_forcing_5b.yaml"),
        )
        pipe = (
            official_module("inference_ar_forcing", MODEL)
            .load_pipeline(
                SimpleNamespace(
                    model_name=str(found(self._weights / "Wan2.2-TI2V-5B", MODEL)),
                    transformer_path=str(configs),
                    vae_path=None,
                    base_checkpoint_path=str(found(checkpoint, MODEL)),
                    lora_ckpt=None,
                    # Only the size of a cache is made from it, and the window sets that.
                    num_output_frames=252,
                ),
                config,
                self._device(),
            )
            .to(dtype=torch.bfloat16)
        )
        for part in (pipe.text_encoder, pipe.generator, pipe.vae):
            part.to(device=self._device())
        return pipe


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return the model run by its official code, in an environment that has what this needs.

    Args:
        repo: Checkout of the official repository.
        weights: Folder of the weights, laid out as in the recipe.
        options: Options of the model.
    """
    world: World = Official(Path(repo).absolute(), Path(weights).absolute(), options)
    return world
