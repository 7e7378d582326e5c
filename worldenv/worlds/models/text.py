"""Models that are asked in words: one vocabulary of camera sentences, and its compile and decode.

Standard library and numpy only, in Python 3.9 syntax (see ``worldenv.world``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from worldenv.camera import CameraPath, Primitive
from worldenv.world import WorldSpec
from worldenv.worlds.models.control import Captions, speeds
from worldenv.worlds.models.model import Native, Quantum

__all__ = ["SENTENCES", "CaptionControl", "nominal", "twist_limit"]

SENTENCES = Captions(
    {
        "STAY": "The camera stays perfectly still on a tripod.",
        "FORWARD": "The camera moves slowly forward.",
        "BACKWARD": "The camera moves slowly backward.",
        "LEFT": "The camera slides slowly to the left without turning.",
        "RIGHT": "The camera slides slowly to the right without turning.",
        "YAW_LEFT": "The camera pans slowly to the left.",
        "YAW_RIGHT": "The camera pans slowly to the right.",
        "PITCH_UP": "The camera tilts slowly upward.",
        "PITCH_DOWN": "The camera tilts slowly downward.",
    },
    scene="{motion} {scene}",
)
"""Camera sentences for models without a vocabulary of their own; the wording is ours."""


def nominal(chunk: int, degrees: float, metres: float) -> dict[str, float]:
    """Return a quantum under which one chunk of a caption turns or moves by a stated amount.

    No model promises it: it only says how long a caption is held for a leg of a script.

    Args:
        chunk: New frames of a chunk.
        degrees: Turn of a chunk.
        metres: Step of a chunk.
    """
    return speeds(degrees / chunk, metres / chunk)


def twist_limit(quantum: dict[str, float]) -> tuple[float, ...]:
    """Return the ``max_twist`` of a world that moves by its quantum and no faster."""
    yaw, pitch = quantum["YAW_RIGHT"], quantum.get("PITCH_UP", 0.0)
    return (pitch, yaw, 0.0, quantum["RIGHT"], 0.0, quantum["FORWARD"])


@dataclasses.dataclass(frozen=True)
class CaptionControl:
    """Compiles a path into one motion text a chunk, and back into its nominal path.

    Attributes:
        spec: The spec of the model.
        captions: Its vocabulary.
    """

    spec: WorldSpec
    captions: Captions = SENTENCES

    def compile(self, path: CameraPath) -> Native:
        """Return ``captions``, one text a step of the spec's chunks, and ``frames``."""
        return {"captions": self.captions.compile(path, self.spec), "frames": len(path)}

    def decode(self, native: Native) -> CameraPath:
        """Return the nominal path of captions."""
        poses = self.captions.decode(native["captions"], self.spec, native["frames"])
        return CameraPath(poses, fps=self.spec.fps)

    @property
    def quantum(self) -> Quantum:
        """How far a decoded path may miss: by what a caption moves while it is held."""
        longest = max(self.spec.chunk, self.spec.first_chunk)
        turn = max(self.spec.step_of(p) for p in _TURNS)
        move = max(self.spec.step_of(p) for p in _STEPS)
        return Quantum(longest, longest * turn, longest * move)

    def still(self) -> str:
        """Return the motion text of a camera at rest: that of a text world's first chunk."""
        return self.captions.sentences[Primitive.STAY.name]

    def texts(self, native: Native, scene: str | None) -> Sequence[str]:
        """Return what the model is told in each step when the scene's text does not change."""
        return [self.captions.prompt(motion, scene) for motion in native["captions"]]


_TURNS = (Primitive.YAW_LEFT, Primitive.YAW_RIGHT, Primitive.PITCH_UP, Primitive.PITCH_DOWN)
_STEPS = (Primitive.FORWARD, Primitive.BACKWARD, Primitive.LEFT, Primitive.RIGHT)
