"""LingBot-World 2 (14B, causal, distilled): the control of LingBot-World in chunks of four latents.

The official code takes the whole path first and divides its steps by the longest of all (see
``lingbot_world``); the path is held to whole chunks.

Facts from ``generate.py`` and ``wan/image2video.py`` of robbyant/lingbot-world-v2 at 2648877.
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
from worldenv.worlds.models import lingbot_world, open_model
from worldenv.worlds.models.driving import (
    TINY,
    PlannedWorld,
    at_repo,
    found,
    official_module,
    pixels,
    seed_all,
)
from worldenv.worlds.models.model import Model, Native

__all__ = ["CHUNK", "MODEL", "compile", "decode", "make", "official"]

CHUNK = 4
"""Latent frames of a chunk, as the official command line has it."""

SPEC = dataclasses.replace(
    lingbot_world.SPEC,
    name="LingBot-World 2",
    chunk=4 * CHUNK,
    first_chunk=4 * CHUNK - 4,
    state="native",
    context_policies=("full", "sliding"),
    licence="CC-BY-NC-SA-4.0: not for commercial use",
    citation="Gao et al., Infinite Worlds with Versatile Interactions, arXiv 2607.07534, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``poses`` (n, 4, 4), ``intrinsics`` (n, 4) at 832 x 480, and ``metres``."""
    return lingbot_world.native_of(path, SPEC)


def decode(native: Native) -> CameraPath:
    """Return the path that the steps make, its longest being ``metres``."""
    return lingbot_world.path_of(native, SPEC)


MODEL = Model(
    id="LingBotWorld2",
    title="LingBot-World 2 (14B, causal-fast)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=lingbot_world.MODEL.quantum,
    options={"shift": 10.0, "local_attn_size": 18, "sink_size": 6},
    # Latent frames that attention looks back on, -1 for all; 18 and 6 are the official example's.
    context={
        "full": {"local_attn_size": -1, "sink_size": 0},
        "sliding": {"local_attn_size": 18, "sink_size": 6},
    },
    verified=TINY,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


class Official(PlannedWorld):
    """LingBot-World 2 through its official class, one call an episode."""

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights
        self._pipe: Any = None

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        from PIL import Image

        with at_repo(found(self._repo, MODEL)), tempfile.TemporaryDirectory() as folder:
            if self._pipe is None:
                self._pipe = self._load()
            # The official code leaves the model in main memory after each clip.
            self._pipe.model.to(self._pipe.device)
            lingbot_world.write_control(Path(folder), native, start)
            seed_all(seed)
            made = self._pipe.generate(
                start.prompt or "",
                Image.fromarray(image),
                action_path=folder,
                max_area=480 * 832,
                frame_num=len(native["poses"]),
                chunk_size=CHUNK,
                shift=self.chosen["shift"],
                seed=seed,
                offload_model=True,
            )
        return pixels(made, "CTHW")

    def _load(self) -> Any:
        return official_module("wan", MODEL).WanI2VCausal(
            config=official_module("wan.configs", MODEL).WAN_CONFIGS["i2v-A14B"],
            checkpoint_dir=str(found(self._weights / "lingbot-world-v2-14b-causal-fast", MODEL)),
            device_id=int(os.environ.get("LOCAL_RANK", "0")),
            rank=int(os.environ.get("RANK", "0")),
            local_attn_size=self.chosen["local_attn_size"],
            sink_size=self.chosen["sink_size"],
            infer_mode="causal_fast",
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
