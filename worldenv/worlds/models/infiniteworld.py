"""Infinite-World: two discrete ids a frame, one way to move and one way to turn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import Keys, intrinsic_rows
from worldenv.worlds.models.model import Model, Native, Quantum
from worldenv.worlds.models.text import nominal, twist_limit

__all__ = ["MODEL", "compile", "decode", "make"]

FOV = 60.0
SIZE = (896, 448)
CHUNK = 80
GROUP = 4
"""Frames of one latent, over which the model pools its ids."""
# The model knows directions, not speeds: half a degree and a sixtieth of a metre a frame, 15
# degrees and half a metre a second.
_DEGREES, _METRES = 0.5, 1 / 60
_QUANTUM = nominal(1, _DEGREES, _METRES)

SPEC = WorldSpec(
    name="Infinite-World",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=30.0,
    chunk=CHUNK,
    first_chunk=CHUNK,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    context_policies=("full", "sliding"),
    # Each chunk encodes the frames so far again: they are the whole state of the official code.
    state="native",
    discrete=True,
    licence="MIT by its README; the repository has no licence file",
    citation="Wu et al., Infinite-World: scaling interactive world models to 1000-frame horizons "
    "via pose-free hierarchical memory (arXiv 2602.02393)",
)

_DIAGONAL = math.sqrt(0.5)
# In the order of the model's ids (scripts/infworld_inference.py, MOVE_ACTION_MAP and
# VIEW_ACTION_MAP). Moves, (right, forward): no-op, forward, back, left, right, forward left,
# forward right, back left, back right. Turns, (yaw right, pitch up): no-op, up, down, left, right,
# up left, up right, down left, down right; the same numbers. Id 9, uncertain, is never asked for.
_STEPS = ((-1, 1), (1, 1), (-1, -1), (1, -1))
_SLANTED = tuple((_DIAGONAL * across, _DIAGONAL * along) for across, along in _STEPS)
_MOVES = ((0.0, 0.0), (0.0, 1.0), (0.0, -1.0), (-1.0, 0.0), (1.0, 0.0), *_SLANTED)
_TURNS = _MOVES
_KEYS = Keys(
    tuple((_METRES * right, _METRES * forward) for right, forward in _MOVES),
    tuple((_DEGREES * yaw, _DEGREES * pitch) for yaw, pitch in _TURNS),
)


def _holds(frames: int) -> list[int]:
    """Return the frames of each stretch of equal ids: one latent, the last one maybe cut."""
    return [min(GROUP, frames - 1 - start) for start in range(0, frames - 1, GROUP)]


def compile(path: CameraPath) -> Native:
    """Return ``move`` and ``view``, an id (n,) each for every frame, and ``frames``.

    Id i leads to frame i; that of frame 0, which stands, repeats the next, as the model pools the
    ids around a latent.
    """
    holds = _holds(len(path))
    moves, turns = _KEYS.choose(path, holds)
    first = 1 if holds else 0
    return {
        "move": np.array(
            moves[:first] + [m for m, n in zip(moves, holds) for _ in range(n)] or [0]
        ),
        "view": np.array(
            turns[:first] + [t for t, n in zip(turns, holds) for _ in range(n)] or [0]
        ),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the nominal path of ids; the model itself knows no speeds."""
    holds = [1] * (native["frames"] - 1)
    poses = _KEYS.replay(native["move"][1:], native["view"][1:], holds)
    return CameraPath(poses, fps=SPEC.fps)


MODEL = Model(
    id="InfiniteWorld",
    title="Infinite-World (1.3B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(GROUP, GROUP * _DEGREES, GROUP * _METRES),
    control="keys",
    options={"steps": 30, "guidance": 5.0, "shift": 7.0, "history": 0},
    # The model compresses all frames it is given; fewer are the only way to make it forget.
    context={"full": {"history": 0}, "sliding": {"history": 81}},
)


def make(**options: Any) -> World:
    """Return InfiniteWorld-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``.

    ``history`` is the number of last frames that the model is given, 0 for all.
    """
    return open_model(MODEL, options)
