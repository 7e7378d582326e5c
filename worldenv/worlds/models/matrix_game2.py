"""Matrix-Game 2.0: four keys and a mouse for every pixel frame, stepped in blocks of 12 frames.

Row i of the keys is what is held while frame i is made, the row of frame 0 that of frame 1. Nobody
has said how far a key moves the camera, so the path is nominal: 0.1 of mouse is taken as 1.5
degrees a frame and a key as 0.1235 metres a frame, as the successor defines them. The universal
checkpoint was hardly trained to go back or to look up and down.

Facts from ``pipeline/causal_inference.py`` and ``utils/conditions.py`` of SkyworkAI/Matrix-Game,
folder Matrix-Game-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import Keys, follow, speeds
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = [
    "DEGREES",
    "KEYS",
    "METRES",
    "MODEL",
    "MOUSE",
    "compile",
    "decode",
    "indices",
    "make",
    "rows",
]

MOUSE = 0.1
"""What the mouse says for a turn."""

DEGREES = 1.5
"""Nominal turn of a frame."""

METRES = 0.1235
"""Nominal step of a frame."""

_DIAGONAL = METRES / 2**0.5

MOVES = {
    (0, 0, 0, 0): (0.0, 0.0),
    (1, 0, 0, 0): (0.0, METRES),
    (0, 1, 0, 0): (0.0, -METRES),
    (0, 0, 1, 0): (-METRES, 0.0),
    (0, 0, 0, 1): (METRES, 0.0),
    (1, 0, 1, 0): (-_DIAGONAL, _DIAGONAL),
    (1, 0, 0, 1): (_DIAGONAL, _DIAGONAL),
    (0, 1, 1, 0): (-_DIAGONAL, -_DIAGONAL),
    (0, 1, 0, 1): (_DIAGONAL, -_DIAGONAL),
}
"""Keys W, S, A, D -> metres right and forward a frame."""

TURNS = {
    (0.0, 0.0): (0.0, 0.0),
    (0.0, MOUSE): (DEGREES, 0.0),
    (0.0, -MOUSE): (-DEGREES, 0.0),
    (MOUSE, 0.0): (0.0, DEGREES),
    (-MOUSE, 0.0): (0.0, -DEGREES),
}
"""Mouse (pitch, yaw) -> degrees right and up a frame."""

KEYS = Keys(tuple(MOVES.values()), tuple(TURNS.values()), turn_first=1.0)

QUANTUM = Quantum(degrees=1.6, metres=0.1)

SPEC = WorldSpec(
    "Matrix-Game 2.0",
    (640, 352),
    tuple(map(tuple, intrinsics((640, 352), 90.0).tolist())),
    12.0,
    chunk=12,
    first_chunk=8,
    quantum=speeds(DEGREES, METRES),
    max_twist=(DEGREES, DEGREES, 0.0, METRES, 0.0, METRES),
    image_start=True,
    prompt="none",
    pose_exactness="nominal",
    state="native",
    discrete=True,
    deterministic=False,
    licence="MIT",
    citation="He et al., Matrix-Game 2.0, arXiv 2508.13009, 2025",
)


def rows(moves: Sequence[int], turns: Sequence[int], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return keyboard (n, width) and mouse (n, 2) of indices into ``MOVES`` and ``TURNS``."""
    keyboard = np.zeros((len(moves), width))
    keyboard[:, :4] = np.array(list(MOVES), dtype=np.float64)[list(moves)]
    return keyboard, np.array(list(TURNS))[list(turns)]


def indices(keyboard: np.ndarray, mouse: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the indices into ``MOVES`` and ``TURNS`` of rows, the inverse of ``rows``."""
    moves, turns = list(MOVES), list(TURNS)
    return (
        [moves.index(tuple(row)) for row in np.asarray(keyboard)[:, :4].astype(int).tolist()],
        [turns.index(tuple(row)) for row in np.asarray(mouse).tolist()],
    )


def compile(path: CameraPath) -> Native:
    """Return ``keyboard`` (n, 4) of W, S, A, D and ``mouse`` (n, 2) of pitch, yaw, a row a frame.

    Raises:
        Unsupported: the path rolls, leaves the ground or is faster than the keys.
    """
    moves, turns = KEYS.choose(path, [1] * (len(path) - 1))
    # Frame 0 is made in the first block, whose keys it shares.
    moves, turns = [*(moves[:1] or [0]), *moves], [*(turns[:1] or [0]), *turns]
    keyboard, mouse = rows(moves, turns, 4)
    native = {"keyboard": keyboard, "mouse": mouse, "frames": len(path)}
    follow(path, decode(native), *QUANTUM.bound(path))
    return native


def decode(native: Native) -> CameraPath:
    """Return the nominal path of the keys."""
    moves, turns = indices(native["keyboard"][1:], native["mouse"][1:])
    return CameraPath(KEYS.replay(moves, turns, [1] * len(moves)), fps=SPEC.fps)


MODEL = Model(
    id="MatrixGame2",
    title="Matrix-Game 2.0 (universal, distilled)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=QUANTUM,
    control="keys",
    options={"max_latents": 360},
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)
