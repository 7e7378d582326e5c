"""RecordRollout: writes every finished episode to a folder of its own."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from worldenv.env import InvalidOption, WorldEnv
from worldenv.rollout import RolloutWriter, StorageError, is_taken

TruthFrames = Mapping[str, Collection[int]] | str | None


class RecordRollout(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Streams each episode to disk, as a folder that ``Rollout.load`` reads.

    When an episode ends ``info["rollout"]`` names its folder. An episode that is reset or closed
    before its end leaves nothing. Environments that run side by side need a folder each.

    Args:
        env: A WorldEnv, wrapped or not.
        folder: The first episode's folder; later ones get ``folder-1``, ``folder-2``, ... beside
            it. Must not exist, unless as an empty folder.
        truth_frames: Frames whose truth is kept, per key of ``Chunk.truth``. None keeps what a
            ScoreMemory below wants, or everything where there is none; ``all`` keeps everything.
        options: Plain options of the world, for the record; None takes those of ``gym.make``.

    Attributes:
        rollout: Folder of the newest finished episode, None before.

    Raises:
        StorageError: the folder is taken or cannot be written; raised also by ``reset`` and
            ``step``.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        folder: str | Path,
        *,
        truth_frames: TruthFrames = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, folder=str(folder), truth_frames=truth_frames, options=options
        )
        super().__init__(env)
        if not isinstance(env.unwrapped, WorldEnv):
            raise InvalidOption(
                f"RecordRollout wraps a WorldEnv, got {type(env.unwrapped).__name__}"
            )
        if isinstance(truth_frames, str) and truth_frames != "all":
            raise InvalidOption(
                f"truth_frames must be frames per key, 'all' or None, got {truth_frames!r}"
            )
        self.folder = Path(folder)
        if is_taken(self.folder):
            raise StorageError(f"{self.folder} exists already; choose another folder")
        self.rollout: Path | None = None
        self._world_env = env.unwrapped
        self._truth_frames = truth_frames
        self._options = options
        self._writer: RolloutWriter | None = None
        self._finished = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset and begin a recording."""
        self.abort()
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
                self._finished += 1
                info["rollout"] = str(self.rollout)
        return observation, reward, terminated, truncated, info

    def abort(self) -> None:
        """Drop the running episode, if any, and remove what was written of it."""
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def close(self) -> None:
        """Drop an unfinished episode and close the environment."""
        self.abort()
        super().close()

    def _begin(self) -> RolloutWriter:
        env = self._world_env
        spec = env.world_spec
        folder = self.folder
        if self._finished:
            folder = folder.with_name(f"{folder.name}-{self._finished}")
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
            options=env.world_options if self._options is None else self._options,
            truth_frames=self._wanted(),
        )

    def _wanted(self) -> Mapping[str, Collection[int]] | None:
        if self._truth_frames == "all":
            return None
        if self._truth_frames is not None and not isinstance(self._truth_frames, str):
            return self._truth_frames
        if not self.env.has_wrapper_attr("engine"):
            return None
        wanted: Mapping[str, Collection[int]] = self.env.get_wrapper_attr("engine").wanted_truth
        return wanted
