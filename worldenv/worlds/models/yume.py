"""YUME 1.0: an image walked on by captions of keys, one caption for every 32 frames."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import Keys, chunk_lengths, intrinsic_rows
from worldenv.worlds.models.model import Model, Native, Quantum
from worldenv.worlds.models.text import nominal, twist_limit

__all__ = ["MODEL", "KeyCaptions", "compile", "decode", "make"]

FOV = 60.0
SIZE = (960, 544)
CHUNK = 32
# 30 degrees and one metre a caption of two seconds: the words name a direction, not a speed.
_QUANTUM = nominal(CHUNK, 30.0, 1.0)

SPEC = WorldSpec(
    name="YUME 1.0",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=16.0,
    chunk=CHUNK,
    first_chunk=CHUNK,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    state="native",
    held=True,
    licence="Apache-2.0",
    citation="Mao et al., Yume: an interactive world generation model (arXiv 2507.17744)",
)

# The model's own words (fastvideo/sample/sample.py, vocab_k and vocab_c). The order of moves and
# turns is that of ``_MOVES`` and ``_TURNS``.
_STILL = "Person stands still (·)."
_WALKS = (
    _STILL,
    "Person moves forward (W).",
    "Person moves backward (S).",
    "Person moves left (A).",
    "Person moves right (D).",
    "Person moves forward and left (W+A).",
    "Person moves forward and right (W+D).",
    "Person moves backward and left (S+A).",
    "Person moves backward and right (S+D).",
)
_LOOKS = (
    "Camera remains still (·).",
    "Camera turns right (→).",
    "Camera turns left (←).",
    "Camera tilts up (↑).",
    "Camera tilts down (↓).",
    "Camera tilts up and turns right (↑→).",
    "Camera tilts up and turns left (↑←).",
    "Camera tilts down and turns right (↓→).",
    "Camera tilts down and turns left (↓←).",
)
# (right, forward) and (yaw right, pitch up), in whole steps.
_MOVES = ((0, 0), (0, 1), (0, -1), (-1, 0), (1, 0), (-1, 1), (1, 1), (-1, -1), (1, -1))
_TURNS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


@dataclasses.dataclass(frozen=True)
class KeyCaptions:
    """Captions that name one way to move and one way to turn at once.

    Attributes:
        spec: The spec of the model.
        prefix: What every caption begins with.
        walks: Words for each of the nine ways to move.
        looks: Words for each of the nine ways to turn.
    """

    spec: WorldSpec
    prefix: str
    walks: tuple[str, ...]
    looks: tuple[str, ...]

    def keys(self) -> Keys:
        """Return the nominal keys: as fast along a diagonal as along an axis."""
        metres, degrees = self.spec.quantum["FORWARD"], self.spec.quantum["YAW_RIGHT"]
        return Keys(_scaled(_MOVES, metres), _scaled(_TURNS, degrees))

    def compile(self, path: CameraPath) -> Native:
        """Return ``captions``, one motion text a step, and ``frames``."""
        moves, turns = self.keys().choose(path, chunk_lengths(len(path), self.spec))
        captions = [self.caption(move, turn) for move, turn in zip(moves, turns)]
        return {"captions": captions, "frames": len(path)}

    def decode(self, native: Native) -> CameraPath:
        """Return the nominal path of captions."""
        back = {
            self.caption(move, turn): (move, turn)
            for move in range(len(self.walks))
            for turn in range(len(self.looks))
        }
        chosen = [back[caption] for caption in native["captions"]]
        holds = chunk_lengths(native["frames"], self.spec)
        poses = self.keys().replay([m for m, _ in chosen], [t for _, t in chosen], holds)
        return CameraPath(poses, fps=self.spec.fps)

    def caption(self, move: int, turn: int) -> str:
        """Return the motion text of a way to move and a way to turn."""
        return self.prefix + self.walks[move] + self.looks[turn]

    @property
    def quantum(self) -> Quantum:
        """How far a decoded path may miss: by what a caption moves while it is held."""
        chunk = max(self.spec.chunk, self.spec.first_chunk)
        metres, degrees = self.spec.quantum["FORWARD"], self.spec.quantum["YAW_RIGHT"]
        return Quantum(chunk, chunk * degrees, chunk * metres)


def _scaled(steps: tuple[tuple[int, int], ...], size: float) -> tuple[tuple[float, float], ...]:
    return tuple(
        (size * a / math.hypot(a, b), size * b / math.hypot(a, b)) if a or b else (0.0, 0.0)
        for a, b in steps
    )


# The three numbers after the words stay at their means in the authors' caption.txt, which the
# model was shown; captions without them are the authors' simpler way.
_CONTROL = KeyCaptions(
    SPEC, "This video depicts a city walk scene with a first-person view (FPV).", _WALKS, _LOOKS
)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="Yume",
    title="YUME 1.0 (I2V, 14B, 540p)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"steps": 50, "guidance": 5.0, "shift": 3.0},
)


def make(**options: Any) -> World:
    """Return Yume-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
