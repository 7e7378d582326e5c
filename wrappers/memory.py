"""ScoreMemory: scores memory while the rollout runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from worldenv.case import BENCHMARKS, Case, load_suite
from worldenv.env import InvalidOption, ResetNeeded, WorldEnv
from worldenv.evaluators.engine import Engine, build_engine
from worldenv.world import PlanRequired, UnknownName

Benchmarks = Mapping[str, dict[str, Any]] | Sequence[str] | None


class ScoreMemory(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Puts Scores into ``info`` as soon as their last frame has arrived.

    ``info["memory"]`` is a tuple of the Scores that became final at this step, absent when none
    did. At the end ``info["memory_summary"]`` is the engine's frozen Summary with all of them.

    Args:
        env: A WorldEnv, wrapped or not.
        benchmarks: Names, or names -> options; None takes the benchmark of the case's suite, else
            of the script, else ``r2m``, which needs no script.
        profile: Which backbones answer which roles.

    Raises:
        PlanRequired: on reset, when the episode has no path to plan measurements on.
        UnknownName: on reset, when a benchmark, option or profile does not exist.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        benchmarks: Benchmarks = None,
        profile: str = "classic+truth",
    ) -> None:
        RecordConstructorArgs.__init__(self, benchmarks=benchmarks, profile=profile)
        super().__init__(env)
        if not isinstance(env.unwrapped, WorldEnv):
            raise InvalidOption(f"ScoreMemory wraps a WorldEnv, got {type(env.unwrapped).__name__}")
        self._world_env = env.unwrapped
        self._benchmarks = benchmarks
        self._profile = profile
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine of the running episode.

        Raises:
            ResetNeeded: there is none before the first reset.
        """
        if self._engine is None:
            raise ResetNeeded("there is no engine before reset; call reset first")
        return self._engine

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset and plan the measurements of the new path."""
        observation, info = self.env.reset(seed=seed, options=options)
        env = self._world_env
        if env.path is None:
            raise PlanRequired(
                "ScoreMemory plans its measurements on a path: give script=, case= or plan=, or "
                "use ProbeReward for free walks"
            )
        benchmarks = self._benchmarks
        if benchmarks is None:
            benchmarks = benchmarks_of(env.case, env.script)
        self._engine = build_engine(
            env.path,
            benchmarks=benchmarks,
            profile=self._profile,
            case=env.case,
            spec=env.world_spec,
            seed=env.episode_seed,
            truth=env.world_spec.truth,
            script=env.script,
        )
        self._observe(info)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step and score what became final."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._observe(info)
        if terminated or truncated:
            info["memory_summary"] = self.engine.finish()
        return observation, reward, terminated, truncated, info

    def _observe(self, info: dict[str, Any]) -> None:
        scores = self.engine.observe(self._world_env.chunk)
        if scores:
            info["memory"] = scores


def benchmarks_of(case: Case | None, script: str | None) -> dict[str, dict[str, Any]]:
    """Return the benchmark, with its options, that a case's suite or a script belongs to."""
    if case is not None:
        try:
            suite = load_suite(case.id.split("/")[0])
            return {suite.benchmark: dict(suite.options)}
        except UnknownName:
            # A case of the caller's own belongs to no suite.
            pass
    name = (script or "").split(":")[0]
    return {name if name in BENCHMARKS else "r2m": {}}
