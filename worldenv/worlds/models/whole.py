"""A model that makes a whole episode in one call, handed out step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from worldenv.world import GenerationFailed, Start
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native

__all__ = ["WholeWorld"]


class WholeWorld(ModelWorld):
    """Makes all frames at reset, from the whole path's control.

    Args:
        model: The model; its drive is ``plan``.
        options: Options of the model that differ from its defaults.
        generate: Returns all frames (n, height, width, 3) uint8 of a start, a seed and a control.
    """

    def __init__(
        self,
        model: Model,
        options: Mapping[str, Any],
        generate: Callable[[Start, int, Native], np.ndarray],
    ) -> None:
        super().__init__(model, options)
        self._generate = generate
        self._frames: np.ndarray | None = None
        self._given = 0

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Make the episode and return its first frames."""
        assert native is not None
        self._frames = self._generate(start, seed, native)
        if len(self._frames) != native["frames"]:
            raise GenerationFailed(
                f"{self.spec.name} made {len(self._frames)} frames of a path of {native['frames']}"
            )
        self._given = self.spec.reset_frames
        return self._frames[: self._given], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the next frames of the episode."""
        assert self._frames is not None
        frames = self._frames[self._given : self._given + len(poses)]
        self._given += len(frames)
        return frames, None

    def close(self) -> None:
        """Free the episode; may be called twice."""
        super().close()
        self._frames = None
