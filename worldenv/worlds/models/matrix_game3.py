"""Matrix-Game 3.0: six keys and a mouse for every pixel frame, stepped in clips of 40 new frames.

Row i leads from frame i to frame i + 1, by 0.1235 metres along the mean of both headings and by 15
degrees a unit of mouse: the official code integrates the keys so and gives the model these poses
too. The row of a clip's last frame is used up before the next clip is asked for, so it repeats the
row before it; what that misses is made good afterwards.

Looking up is ambiguous: the key that the official code calls up makes its own poses look down. The
key's name is taken at its word here; paths that stay level are not touched by it.

Facts from ``utils/utils.py``, ``utils/cam_utils.py`` and ``pipeline`` of SkyworkAI/Matrix-Game,
folder Matrix-Game-3.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import follow, speeds
from worldenv.worlds.models.matrix_game2 import DEGREES, KEYS, METRES, indices, rows
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make"]

# The official diagonal is 8.73 units an axis, one straight move 12.35, both in centimetres.
_DIAGONAL = 0.0873
_MOVES = tuple(
    (np.sign(right) * _DIAGONAL, np.sign(forward) * _DIAGONAL)
    if right and forward
    else (right, forward)
    for right, forward in KEYS.moves
)
MEAN_KEYS = dataclasses.replace(KEYS, moves=_MOVES, turn_first=0.5)

QUANTUM = Quantum(degrees=3.1, metres=0.26)

SPEC = WorldSpec(
    "Matrix-Game 3.0",
    (1280, 704),
    # The official code gives both axes 90 degrees, whatever the shape of the image.
    ((640.0, 0.0, 640.0), (0.0, 352.0, 352.0), (0.0, 0.0, 1.0)),
    17.0,
    chunk=40,
    first_chunk=56,
    quantum=speeds(DEGREES, METRES),
    max_twist=(DEGREES, DEGREES, 0.0, METRES, 0.0, METRES),
    image_start=True,
    prompt="episode",
    pose_exactness="calibrated",
    state="native",
    discrete=True,
    deterministic=False,
    licence="Apache-2.0",
    citation="Skywork AI, Matrix-Game 3.0, technical report, 2026",
)


def _holds(frames: int) -> tuple[list[int], list[int]]:
    """Return the frames of each stretch of equal keys, and the frame each is aimed at."""
    holds = [1] * (frames - 1)
    end = SPEC.first_chunk
    last = frames - 1
    while end <= last:
        # The last row of a clip repeats the one before it, beyond the path where this is its end.
        holds[end - 1] = 2
        if end < last:
            holds[end] = 0
        end += SPEC.chunk
    holds = [held for held in holds if held]
    return holds, [1] * len(holds)


def compile(path: CameraPath) -> Native:
    """Return ``keyboard`` (n, 6) of W, S, A, D and two unused, and ``mouse`` (n, 2) of pitch, yaw.

    Raises:
        Unsupported: the path rolls, leaves the ground or is faster than the keys.
    """
    holds, aims = _holds(len(path))
    moves, turns = MEAN_KEYS.choose(path, holds, aims)
    moves = [move for move, held in zip(moves, holds) for _ in range(held)]
    turns = [turn for turn, held in zip(turns, holds) for _ in range(held)]
    # Within a clip the row of the last frame has no frame to lead to.
    rest = len(path) - len(moves)
    keyboard, mouse = rows([*moves, *[0] * rest], [*turns, *[0] * rest], 6)
    native = {"keyboard": keyboard, "mouse": mouse, "frames": len(path)}
    follow(path, decode(native), *QUANTUM.bound(path))
    return native


def decode(native: Native) -> CameraPath:
    """Return the path that the official code integrates, with up as the key says."""
    moves, turns = indices(native["keyboard"][:-1], native["mouse"][:-1])
    return CameraPath(MEAN_KEYS.replay(moves, turns, [1] * len(moves)), fps=SPEC.fps)


MODEL = Model(
    id="MatrixGame3",
    title="Matrix-Game 3.0 (5B, first person)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=QUANTUM,
    control="keys",
    options={
        "base": False,
        "steps": 3,
        "guidance": 5.0,
        "vae": "mg_lightvae_v2",
        "max_clips": 1000,
    },
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
