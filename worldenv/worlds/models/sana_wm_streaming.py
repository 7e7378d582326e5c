"""SANA-WM (streaming): the control of SANA-WM, generated in chunks of 24 frames, the path known.

The official generator makes one chunk after the other but builds the rays of the whole path first.
The conditioning frame is not among its frames.

Facts from ``inference_video_scripts/wm`` of NVlabs/Sana at 451442f.
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
from worldenv.world import Start, World
from worldenv.worlds.models import open_model, sana_wm
from worldenv.worlds.models.control import speeds
from worldenv.worlds.models.driving import (
    RECORDED,
    PlannedWorld,
    at_repo,
    fit_intrinsics,
    found,
    official_module,
    seed_all,
)
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make", "official"]

SPEC = dataclasses.replace(
    sana_wm.SPEC,
    name="SANA-WM streaming",
    chunk=24,
    first_chunk=24,
    quantum=speeds(0.6, 0.025),
    pitch_limit=60.0,
    state="native",
    backend="official",
    deterministic=False,
    context_policies=("full", "sliding"),
)


def compile(path: CameraPath) -> Native:
    """Return ``c2w`` (n, 4, 4) and ``intrinsics`` (n, 4), fx fy cx cy, held to n = 24 k + 1."""
    return sana_wm.native_of(path, SPEC)


def decode(native: Native) -> CameraPath:
    """Return the path itself: every frame has its own pose."""
    return sana_wm.path_of(native, SPEC)


MODEL = Model(
    id="SanaWMStreaming",
    title="SANA-WM (1.6B, streaming, distilled)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={
        "num_cached_blocks": 2,
        "sink_token": True,
        "refiner_kv_max_frames": 11,
        "refiner_seed": 42,
        "denoising_steps": "1000,960,889,727,0",
    },
    # Chunks that the softmax layers look back on, -1 for all; the others carry a state anyway.
    context={"full": {"num_cached_blocks": -1}, "sliding": {"num_cached_blocks": 2}},
    verified=RECORDED,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


SCRIPT = "inference_video_scripts.wm.inference_sana_wm"


class Official(PlannedWorld):
    """SANA-WM streaming through its official generator, one call an episode.

    The generator drops the conditioning frame, so frame 0 is the image itself.
    """

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._pipe: Any = None

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        from PIL import Image

        os.environ.setdefault("DISABLE_XFORMERS", "1")
        with at_repo(found(self._repo, MODEL)), tempfile.TemporaryDirectory() as folder:
            if self._pipe is None:
                self._pipe = self._load()
            K = fit_intrinsics(start, MODEL)
            frames = len(native["c2w"])
            row = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
            chunks: list[np.ndarray] = []
            seed_all(seed)
            self._pipe.generate_streaming(
                Image.fromarray(image),
                start.prompt or "",
                native["c2w"].astype(np.float32),
                np.tile(row, (frames, 1)).astype(np.float32),
                official_module(SCRIPT, MODEL).GenerationParams(
                    num_frames=frames,
                    fps=int(SPEC.fps),
                    cfg_scale=1.0,
                    flow_shift=8.0,
                    seed=seed,
                    negative_prompt="",
                    sampling_algo="self_forcing",
                    num_cached_blocks=self.chosen["num_cached_blocks"],
                    sink_token=self.chosen["sink_token"],
                    num_frame_per_block=3,
                    denoising_step_list=[
                        int(step) for step in self.chosen["denoising_steps"].split(",")
                    ],
                ),
                output_path=os.path.join(folder, "unused.mp4"),
                # Frames are handed over as they are and nothing is encoded.
                output_mode="cpu",
                decoded_chunk_callback=lambda part, *_: chunks.append(np.array(part)),
            )
        return np.concatenate([image[None], *chunks])

    def _load(self) -> Any:
        import torch

        script = official_module(SCRIPT, MODEL)
        folder = found(self._weights / "SANA-WM_streaming", MODEL)
        config = official_module("pyrallis", MODEL).parse(
            config_class=script.InferenceConfig,
            config_path=str(self._repo / "configs/sana_wm/sana_wm_streaming_1600m_720p.yaml"),
            args=[],
        )
        config.vae.vae_type = "LTX2VAE_diffusers_causal"
        config.vae.vae_pretrained = str(folder / "ltx2_causal_vae")
        # Nothing is compiled: a compiled decoder turns later chunks grey.
        return script.SanaWMPipeline(
            config=config,
            model_path=str(folder / "sana_dit" / "model.pt"),
            device=torch.device("cuda" if torch.cuda.is_available() else "cpu"),
            refiner=script.RefinerSettings(
                root=str(folder / "refiner_diffusers"),
                gemma_root=str(folder / "gemma3_12b"),
                sink_size=1,
                seed=self.chosen["refiner_seed"],
                block_size=3,
                kv_max_frames=self.chosen["refiner_kv_max_frames"],
            ),
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
