"""RecordRollout: writes every finished episode to a folder of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from worldenv.env import InvalidOption, WorldEnv
from worldenv.rollout import RolloutWriter, StorageError, safe_folder_name

Observation = NDArray[np.uint8]
TruthFrames = Mapping[str, Collection[int]] | str | None


class RecordRollout(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Streams each episode to disk, as a folder that ``Rollout.load`` reads.

    When an episode ends ``info["rollout"]`` names its folder. An episode that is reset or closed
    before its end leaves nothing. Environments that run side by side need a folder each.

    Args:
        env: A WorldEnv, wrapped or not.
        folder: Episodes become ``folder/000000``, ``folder/000001``, ..., after those it has.
        truth_frames: Frames whose truth is kept, per key of ``Chunk.truth``; ``scored`` keeps what
            a ScoreMemory below wants; None keeps everything the world offers.
        name: Names an episode's folder from the environment, instead of a number.

    Attributes:
        rollout: Folder of the newest finished episode, None before.

    Raises:
        StorageError: the folder cannot be written; raised by ``reset`` and ``step``.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        folder: str | Path,
        *,
        truth_frames: TruthFrames = None,
        name: Callable[[WorldEnv], str] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, folder=str(folder), truth_frames=truth_frames, name=name
        )
        super().__init__(env)
        if isinstance(truth_frames, str) and truth_frames != "scored":
            raise InvalidOption(
                f"truth_frames must be frames per key, 'scored' or None, got {truth_frames!r}"
            )
        self.folder = Path(folder)
        self.rollout: Path | None = None
        self._truth_frames = truth_frames
        self._name = name
        self._writer: RolloutWriter | None = None
        self._next = self._first_free()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset and begin a recording."""
        self._drop()
        began = time.perf_counter()
        observation, info = self.env.reset(seed=seed, options=options)
        took = time.perf_counter() - began
        self._writer = self._begin()
        self._writer.add(self.env.get_wrapper_attr("chunk"), took)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, record the chunk, and at the end of the episode complete the folder."""
        began = time.perf_counter()
        observation, reward, terminated, truncated, info = self.env.step(action)
        took = time.perf_counter() - began
        if self._writer is not None:
            self._writer.add(self.env.get_wrapper_attr("chunk"), took)
            if terminated or truncated:
                self.rollout = self._writer.finish()
                self._writer = None
                info["rollout"] = str(self.rollout)
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Drop an unfinished episode and close the environment."""
        self._drop()
        super().close()

    def _begin(self) -> RolloutWriter:
        env = self.env.unwrapped
        if not isinstance(env, WorldEnv):
            raise InvalidOption(f"RecordRollout wraps a WorldEnv, got {type(env).__name__}")
        spec = env.world_spec
        if self._name is not None:
            folder = self.folder / safe_folder_name(self._name(env))
        else:
            folder = self.folder / f"{self._next:06d}"
            self._next += 1
        frames = self._truth_frames
        if isinstance(frames, str):
            frames = self.env.get_wrapper_attr("engine").wanted_truth
        return RolloutWriter(
            folder,
            spec=spec,
            path=env.path,
            case=env.case,
            script=env.script,
            seed=env.episode_seed,
            K=spec.intrinsics(),
            K_exactness=spec.K_exactness,
            control=env.control,
            options=env.world_options,
            truth_frames=frames,
        )

    def _drop(self) -> None:
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def _first_free(self) -> int:
        try:
            taken = [int(f.name) for f in self.folder.iterdir() if f.name.isdigit()]
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StorageError(f"{self.folder} cannot be read: {error.strerror}") from error
        return max(taken, default=-1) + 1
