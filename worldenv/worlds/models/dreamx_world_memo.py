"""DreamX-World-Memo: the model with memory of the DreamX-World report, which nobody has published.

Neither code nor weights are public, so only its stand-in runs. Its control is taken to be that of
the autoregressive model of the same report.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import Chunk, Start, WeightsNotFound, World
from worldenv.worlds.models import dreamx_world, open_model
from worldenv.worlds.models.model import Model

__all__ = ["MODEL", "Unpublished", "compile", "decode", "make", "make_local"]

SPEC = dataclasses.replace(dreamx_world.SPEC, name="DreamX-World-Memo")

compile = dreamx_world.compile
decode = dreamx_world.decode


class Unpublished:
    """A world that can be described but not run."""

    spec = SPEC

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Refuse.

        Raises:
            WeightsNotFound: always.
        """
        raise WeightsNotFound(
            "there is nothing to install for DreamX-World-Memo: neither its code nor its weights "
            "have been published; use DreamXWorld-v0, or stand_in=True to walk its control"
        )

    def step(self, poses: np.ndarray, prompt: str | None = None) -> Chunk:
        """Refuse; see ``reset``."""
        return self.reset(Start(), seed=0, plan=None)

    def close(self) -> None:
        """Hold nothing to free."""


def make_local() -> World:
    """Return the world that refuses to run."""
    world: World = Unpublished()
    return world


MODEL = Model(
    id="DreamXWorldMemo",
    title="DreamX-World-Memo (unpublished)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=dreamx_world.MODEL.quantum,
    local="worldenv.worlds.models.dreamx_world_memo:make_local",
    verified="nothing is published that could be run",
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
