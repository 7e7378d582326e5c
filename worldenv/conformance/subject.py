"""A world under examination, and the walks through it that checks share."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from worldenv.actions import Motion
from worldenv.camera import CameraPath, Primitive
from worldenv.case import Case, load_suite
from worldenv.env import WorldEnv
from worldenv.world import Chunk, World, WorldEnvError, WorldSpec, fit_path

__all__ = ["TURNS", "Finding", "Problem", "Subject"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        check: Name of the check.
        state: ``ok``, ``note`` (worth knowing, no fault) or ``problem``.
        note: What was seen; for a problem also what was expected.
    """

    check: str
    state: str
    note: str


class Problem(Exception):
    """A check failed; its text becomes the finding."""


class Subject:
    """A world under examination, and walks through it that checks share.

    Args:
        make: Makes the world; the one before is closed first.
        case: What episodes start from; None is the first case of the first built-in suite.
        frames: New frames of a walk, at least; it always has four steps or more.
    """

    def __init__(
        self, make: Callable[[], World], *, case: Case | None = None, frames: int = 16
    ) -> None:
        if frames < 1:
            raise WorldEnvError(f"check-world needs walks of at least 1 frame, got {frames}")
        self.make = make
        self.world = make()
        self.spec: WorldSpec = self.world.spec
        self.case = next(iter(load_suite("worldmembench"))).case if case is None else case
        self.steps_out = max(2, math.ceil(frames / 2 / self.spec.chunk))
        self._turned: dict[int, list[Chunk]] = {}

    def renew(self) -> World:
        """Close the world and return a new one, which has had no episode."""
        self.world.close()
        self.world = self.make()
        return self.world

    def moved(self, primitive: Primitive, steps: int) -> CameraPath:
        """Return a path that rests during reset and then moves by a primitive for whole steps."""
        spec = self.spec
        motion = Motion(spec)
        rest = motion.held(spec.reset_frames)
        frames = self.new_frames(steps)
        moving = frames
        if primitive in (Primitive.PITCH_UP, Primitive.PITCH_DOWN):
            # Beyond the zenith up is down.
            moving = min(frames, int(_STEEPEST / spec.step_of(primitive)))
        out = [motion.primitive(primitive, moving), motion.held(frames - moving)]
        return CameraPath(np.concatenate([rest, *out]), fps=spec.fps)

    def new_frames(self, steps: int) -> int:
        """Return the new frames of the first ``steps`` steps."""
        return sum(self.spec.chunk_at(i) for i in range(steps))

    def there_and_back(self, steps: int) -> CameraPath:
        """Return a path that moves for some steps and comes back, held to a whole chunk."""
        spec = self.spec
        there, back = self.motions()
        motion = Motion(spec)
        out = self.new_frames(steps)
        poses = [motion.held(spec.reset_frames), motion.primitive(there, out)]
        poses.append(motion.primitive(back, out))
        return fit_path(CameraPath(np.concatenate(poses), fps=spec.fps), spec)

    def walk(self, path: CameraPath, seed: int) -> list[Chunk]:
        """Return the chunks of an episode along a path, the contract of each one checked."""
        env = WorldEnv(self.world, control="plan", max_frames=None, chunk_in_info=False)
        env.reset(seed=seed, options={"case": self.case, "plan": path})
        chunks = [env.chunk]
        truncated = False
        while not truncated:
            truncated = env.step(0)[3]
            chunks.append(env.chunk)
        return chunks

    def begin(self, path: CameraPath, seed: int = 0) -> Chunk:
        """Begin an episode by hand and return what reset gave."""
        plan = path if self.spec.drive == "plan" else None
        return self.world.reset(self.case.start(self.spec), seed=seed, plan=plan)

    def motions(self) -> tuple[Primitive, Primitive]:
        """Return a motion of the world and the one that undoes it: a turn where it has one."""
        for there, back in _PAIRS:
            if {there.name, back.name} <= set(self.spec.primitives):
                return there, back
        return Primitive.STAY, Primitive.STAY

    def turned(self, seed: int) -> list[Chunk]:
        """Return a walk there and back, made once per seed."""
        if seed not in self._turned:
            self._turned[seed] = self.walk(self.there_and_back(self.steps_out), seed)
        return self._turned[seed]


_STEEPEST = 60.0
"""Degrees that a walk pitches at most."""
TURNS = (Primitive.YAW_RIGHT, Primitive.PITCH_UP)
_PAIRS = (
    (Primitive.YAW_RIGHT, Primitive.YAW_LEFT),
    (Primitive.PITCH_UP, Primitive.PITCH_DOWN),
    (Primitive.RIGHT, Primitive.LEFT),
    (Primitive.FORWARD, Primitive.BACKWARD),
)
