"""A model run by its official code, in an environment and a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath
from worldenv.world import Chunk, Start, Unsupported, WeightsNotFound
from worldenv.worlds.models.model import Model

__all__ = ["OfficialModel"]


class OfficialModel:
    """Speaks to the server of a model: one given by address, or started as set up.

    Nothing is started or connected before the first ``reset``, so a spec can be read anywhere.

    Args:
        model: The model.
        options: Options of the model that differ from its defaults.
        server: Address of a running server, None to start the one that was set up.
    """

    def __init__(
        self, model: Model, options: Mapping[str, Any], *, server: str | None = None
    ) -> None:
        self.model = model
        self.options = dict(options)
        self.server = server
        self.spec = model.spec_of(options)
        self._world: Any = None

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Begin an episode, starting the server at first use.

        Raises:
            WeightsNotFound: the model has not been set up here; the message says how.
        """
        if self._world is None:
            self._world = self._connect()
        chunk: Chunk = self._world.reset(start, seed=seed, plan=plan)
        return chunk

    def step(self, poses: NDArray[np.float64], prompt: str | None = None) -> Chunk:
        """Make one frame per pose; see ``worldenv.world.World``."""
        if self._world is None:
            raise Unsupported(f"{self.spec.name} has no running episode; reset it first")
        chunk: Chunk = self._world.step(poses, prompt)
        return chunk

    def close(self) -> None:
        """End the session and the server that was started for it; may be called twice."""
        if self._world is not None:
            self._world.close()
            self._world = None

    def _connect(self) -> Any:
        raise WeightsNotFound(f"{self.model.title} is not set up on this machine")
