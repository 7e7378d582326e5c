"""What an action is in each control mode, and the poses it asks for."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from worldenv.camera import Primitive, WorldEnvError, integrate, walk, yaw_pitch
from worldenv.world import WorldSpec

CONTROLS = ("plan", "primitive", "twist", "path", "prompt")
PROMPT_LENGTH = 2000


class InvalidAction(WorldEnvError):
    """An action lies outside the action space."""


def action_space(spec: WorldSpec, control: str) -> spaces.Space[Any]:
    """Return the action space of a control mode."""
    if control == "plan":
        return spaces.Discrete(1)
    if control == "primitive":
        return spaces.Discrete(len(spec.primitives))
    if control == "prompt":
        return spaces.Text(PROMPT_LENGTH, charset=string.printable)
    rows = (max(spec.first_chunk, spec.chunk), 6) if control == "path" else (6,)
    return spaces.Box(-1.0, 1.0, rows, np.float32)


def read_index(action: Any, count: int) -> int:
    """Return an action of a Discrete space of ``count``.

    Raises:
        InvalidAction: it is none.
    """
    array = np.asarray(action)
    if array.size != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidAction(f"expected a whole number from 0 to {count - 1}, got {action!r}")
    choice = int(array.reshape(()))
    if not 0 <= choice < count:
        raise InvalidAction(f"expected a whole number from 0 to {count - 1}, got {choice}")
    return choice


def read_twists(action: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return an action of a Box from -1 to 1, shape ``shape``.

    Raises:
        InvalidAction: it is none.
    """
    try:
        rows = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.shape != shape:
        raise InvalidAction(f"expected numbers of shape {shape}, got shape {np.shape(action)}")
    if not (abs(rows) <= 1 + 1e-6).all():
        raise InvalidAction(f"expected values from -1 to 1, got {rows.min():g} to {rows.max():g}")
    return np.clip(rows, -1, 1)


class Motion:
    """Where the camera is while actions move it, before the world's own rounding.

    Args:
        spec: The world's spec.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._spec = spec
        # Position x, y, z in metres, yaw and pitch in degrees: walking stays level.
        self._state = np.zeros(5)
        self._pose = np.eye(4)

    def held(self, n: int) -> NDArray[np.float64]:
        """Return n poses of a camera at rest."""
        return self._pose[None].repeat(n, 0)

    def primitive(self, primitive: Primitive, n: int) -> NDArray[np.float64]:
        """Return n poses of a primitive, walking level whatever the pitch."""
        amount = self._spec.step_of(primitive)
        count = np.arange(1, n + 1) * amount
        state = np.tile(self._state, (n, 1))
        heading = np.radians(self._state[3])
        ahead = np.array([np.sin(heading), 0.0, np.cos(heading)])
        aside = np.array([np.cos(heading), 0.0, -np.sin(heading)])
        if primitive in (Primitive.FORWARD, Primitive.BACKWARD):
            state[:, :3] += (1 if primitive is Primitive.FORWARD else -1) * count[:, None] * ahead
        elif primitive in (Primitive.RIGHT, Primitive.LEFT):
            state[:, :3] += (1 if primitive is Primitive.RIGHT else -1) * count[:, None] * aside
        elif primitive in (Primitive.YAW_RIGHT, Primitive.YAW_LEFT):
            state[:, 3] += (1 if primitive is Primitive.YAW_RIGHT else -1) * count
        elif primitive in (Primitive.PITCH_UP, Primitive.PITCH_DOWN):
            limit = self._spec.pitch_limit
            state[:, 4] += (1 if primitive is Primitive.PITCH_UP else -1) * count
            if limit is not None:
                state[:, 4] = np.clip(state[:, 4], -limit, limit)
        poses = walk(state[:, :3], state[:, 3], state[:, 4])
        self._state, self._pose = state[-1], poses[-1]
        return poses

    def twists(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return poses that compose twists (n, 6); a turn past the pitch limit is not made."""
        limit = self._spec.pitch_limit
        poses = np.empty((len(rows), 4, 4))
        for i in range(len(rows)):
            pose = self._pose @ integrate(rows[i : i + 1])[1]
            if limit is not None:
                before, after = abs(yaw_pitch(np.stack([self._pose, pose]))[:, 1])
                if after > limit + 1e-6 and after > before:
                    pose[:3, :3] = self._pose[:3, :3]
            poses[i] = self._pose = pose
        return poses
