"""Explorers that look for what a world forgets: PPO, a random walk, and how to compare them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from worldenv.camera import yaw_pitch
from worldenv.case import Policy
from worldenv.world import Unsupported

MakeEnv = Callable[[], gym.Env[Any, Any]]

_GAMMA = 0.98


class PoseObservation(gym.Wrapper[Any, Any, Any, Any]):
    """Shows an agent where it is instead of what it sees, so that what it learns fits any scene.

    The observation is float32 (11,): position x, y, z (metres, squashed by tanh), sine and cosine
    of yaw, pitch (in units of 90 degrees), the turn made so far (in units of 360 degrees,
    squashed), the share of the budget that is used, and how the last step moved the camera:
    turned right (in units of 30 degrees, squashed), to the right and ahead (metres, squashed).

    The last step's motion lets an agent sweep back and forth: at one place it turns right on the
    way out and left on the way back, which its place alone cannot tell apart.

    Args:
        env: A WorldEnv, wrapped or not.
        budget: Frames of an episode.
    """

    def __init__(self, env: gym.Env[Any, Any], budget: int) -> None:
        super().__init__(env)
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (11,), np.float32)
        self._budget = budget
        self._turned = 0.0
        self._pose = np.eye(4)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Reset and return where the camera is."""
        _, info = self.env.reset(seed=seed, options=options)
        self._turned = 0.0
        self._pose = np.asarray(info["pose"])
        return self._observe(info), info

    def step(self, action: Any) -> tuple[NDArray[np.float32], Any, bool, bool, dict[str, Any]]:
        """Step and return where the camera is."""
        _, reward, terminated, truncated, info = self.env.step(action)
        return self._observe(info), reward, terminated, truncated, info

    def _observe(self, info: dict[str, Any]) -> NDArray[np.float32]:
        pose = np.asarray(info["pose"])
        (before, _), (yaw, pitch) = yaw_pitch(np.stack([self._pose, pose]))
        turn = (yaw - before + 180) % 360 - 180
        moved = self._pose[:3, :3].T @ (pose[:3, 3] - self._pose[:3, 3])
        self._pose = pose
        self._turned += turn
        angle = np.radians(yaw)
        used = min(1.0, (info["t"] + 1) / self._budget)
        values = [
            *np.tanh(pose[:3, 3]),
            *(np.sin(angle), np.cos(angle), pitch / 90, np.tanh(self._turned / 360), used),
            *np.tanh([turn / 30, moved[0], moved[2]]),
        ]
        return np.asarray(np.clip(values, -1, 1), dtype=np.float32)


@dataclass(frozen=True)
class Walked:
    """What a policy found in one episode.

    Attributes:
        seed: Seed of the episode.
        frames: Frames it used.
        revisits: Places it came back to after an absence.
        inconsistency: Sum of what they paid.
    """

    seed: int
    frames: int
    revisits: int
    inconsistency: float

    @property
    def per_frame(self) -> float:
        """Inconsistency found per frame of budget."""
        return self.inconsistency / self.frames


class RandomWalk:
    """Draws every action from the action space, with its own seed.

    Args:
        space: The action space.
        seed: Seed of the draws.
    """

    def __init__(self, space: gym.spaces.Space[Any], seed: int) -> None:
        if not isinstance(space, gym.spaces.Discrete):
            raise Unsupported("a random walk needs control 'primitive'")
        self._count = int(space.n)
        self._random = np.random.default_rng(seed)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[Any], Any]:
        """Return (a random action, None)."""
        shape = (len(episode_start),) if np.ndim(episode_start) == 1 else ()
        return np.asarray(self._random.integers(self._count, size=shape)), None


class Repeat:
    """Takes one action for ever; a whole turn is the simplest way to come back.

    Args:
        action: The action.
    """

    def __init__(self, action: int) -> None:
        self._action = action

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[Any], Any]:
        """Return (the action, None)."""
        shape = (len(episode_start),) if np.ndim(episode_start) == 1 else ()
        return np.full(shape, self._action), None


def train(make_env: MakeEnv, steps: int, seed: int, envs: int = 1) -> Policy:
    """Return a PPO agent of stable-baselines3 trained on copies of one environment.

    Rewards are scaled by their running spread, as they are of the order of 0.01 a step. Updates are
    many and small, because a renderer makes few steps a second.

    Args:
        make_env: Makes the environment, rewarded by ProbeReward.
        steps: Environment steps to train for, over all copies.
        seed: Seed of agent and environments.
        envs: Copies; more than one run in a process each.

    Raises:
        Unsupported: stable-baselines3 is not installed.
    """
    try:
        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize
    except ImportError as error:
        raise Unsupported("training needs stable-baselines3: pip install 'worldenv[rl]'") from error
    # One thread is faster for nets this small, and gives the same numbers everywhere.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    copies = SubprocVecEnv([make_env] * envs) if envs > 1 else DummyVecEnv([make_env])
    try:
        space = copies.observation_space
        images = space.shape is not None and len(space.shape) == 3
        model = PPO(
            "CnnPolicy" if images else "MlpPolicy",
            VecNormalize(copies, norm_obs=False, norm_reward=True, gamma=_GAMMA),
            n_steps=128 // envs,
            batch_size=32,
            learning_rate=2e-3,
            gamma=_GAMMA,
            ent_coef=0.01,
            seed=seed,
            device="cpu",
        )
        model.learn(steps)
    finally:
        copies.close()
        torch.set_num_threads(threads)
    trained: Policy = model
    return trained


def explore(policy: Policy, make_env: MakeEnv, seeds: Sequence[int]) -> list[Walked]:
    """Return what a policy finds in one episode a seed.

    Args:
        policy: Anything with stable-baselines3's ``predict``; draws its actions if it can.
        make_env: Makes the environment, rewarded by ProbeReward.
        seeds: Seeds of the episodes.
    """
    env = make_env()
    found = []
    try:
        for seed in seeds:
            observation, info = env.reset(seed=seed)
            state: Any = None
            revisits, inconsistency, over = 0, 0.0, False
            while not over:
                action, state = policy.predict(observation, state, deterministic=False)
                observation, _, terminated, truncated, info = env.step(action)
                revisits += int(info["probe"]["revisits"])
                inconsistency += float(info["probe"]["inconsistency"])
                over = terminated or truncated
            found.append(Walked(seed, int(info["t"]) + 1, revisits, inconsistency))
    finally:
        env.close()
    return found
