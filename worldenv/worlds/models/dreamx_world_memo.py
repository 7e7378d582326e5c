"""DreamX-World-Memo: the model with memory of the DreamX-World report, which nobody has published.

Neither code nor weights are public, so only its stand-in runs. Its control is taken to be that of
the autoregressive model of the same report.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from worldenv.world import World
from worldenv.worlds.models import dreamx_world, open_model
from worldenv.worlds.models.model import Model

__all__ = ["MODEL", "compile", "decode", "make"]

SPEC = dataclasses.replace(dreamx_world.SPEC, name="DreamX-World-Memo")

compile = dreamx_world.compile
decode = dreamx_world.decode

MODEL = Model(
    id="DreamXWorldMemo",
    title="DreamX-World-Memo (unpublished)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=dreamx_world.MODEL.quantum,
    verified="nothing is published that could be run",
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
