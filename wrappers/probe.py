"""ProbeReward: pays an agent for places that look different when it comes back to them."""

from __future__ import annotations

from typing import Any

import cv2
import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from worldenv.camera import geodesic_deg
from worldenv.env import InvalidOption, WorldEnv
from worldenv.evaluators.metrics import ssim

# Poses that agree to a tenth of a millimetre and a thousandth in every axis are one place.
_PLACE_DECIMALS = 3


class ProbeReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Rewards inconsistency, measured at revisits that the agent makes itself.

    A *place* is a camera pose. The first frame seen there in an episode is what the world should
    show again. When the camera comes back to a place after an absence, the step earns
    ``1 - SSIM(first frame, frame now)``, divided by the step's frames: rewards are inconsistency
    per frame of budget, at most 1, and nothing is subtracted. An absence is ``away_frames`` frames
    or more, each at least ``away_degrees`` or ``away_metres`` from the place. Each place pays once
    per absence; waiting there or passing it again pays nothing.

    A world that remembers earns exactly 0 wherever equal poses give equal frames: only the same
    pose is compared, so parallax is never taken for forgetting. Content that moves by itself earns
    too; probe scenes without an event. Actions that reach equal poses again (control
    ``primitive``) are needed to earn anything.

    ``info["probe"]`` holds ``revisits`` (places paid at this step) and ``inconsistency`` (their
    summed ``1 - SSIM``).

    Args:
        env: A WorldEnv, wrapped or not.
        away_degrees: Least turn from a place that counts as away.
        away_metres: Least distance from a place that counts as away.
        away_frames: Least frames away that make an absence.
        size: Side in pixels that frames are scaled to before they are compared, at least 7.

    Raises:
        InvalidOption: the environment is no WorldEnv, or a number is out of range.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        away_degrees: float = 30.0,
        away_metres: float = 1.0,
        away_frames: int = 16,
        size: int = 64,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            away_degrees=away_degrees,
            away_metres=away_metres,
            away_frames=away_frames,
            size=size,
        )
        super().__init__(env)
        if not isinstance(env.unwrapped, WorldEnv):
            raise InvalidOption(f"ProbeReward wraps a WorldEnv, got {type(env.unwrapped).__name__}")
        if min(away_degrees, away_metres) <= 0 or away_frames < 1 or size < 7:
            raise InvalidOption(
                "away_degrees and away_metres must be positive, away_frames at least 1 and size at "
                f"least 7, got {away_degrees}, {away_metres}, {away_frames} and {size}"
            )
        self._world_env = env.unwrapped
        self._degrees, self._metres, self._frames = away_degrees, away_metres, away_frames
        self._size = size
        self._places: dict[bytes, tuple[NDArray[np.uint8], int]] = {}
        self._poses = np.empty((0, 4, 4))
        self._count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and forget every place."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._places, self._count = {}, 0
        self._visit()
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and pay for what has changed."""
        observation, _, terminated, truncated, info = self.env.step(action)
        paid = self._visit()
        total = float(sum(paid))
        info["probe"] = {"revisits": len(paid), "inconsistency": total}
        return observation, total / info["n"], terminated, truncated, info

    def _visit(self) -> list[float]:
        """Take in the newest chunk and return what each revisit in it pays."""
        chunk = self._world_env.chunk
        paid = []
        for frame, pose in zip(chunk.frames, chunk.poses, strict=True):
            t = self._count
            if t == len(self._poses):
                self._poses = np.concatenate([self._poses, np.empty((max(256, t), 4, 4))])
            self._poses[t] = pose
            self._count += 1
            # Adding 0.0 makes -0.0 and 0.0 one place.
            key = (np.round(pose[:3], _PLACE_DECIMALS) + 0.0).tobytes()
            known = self._places.get(key)
            if known is None:
                self._places[key] = (self._small(frame), t)
                continue
            first, last = known
            if self._was_away(pose, last, t):
                paid.append(max(0.0, 1.0 - ssim(first, self._small(frame))))
            self._places[key] = (first, t)
        return paid

    def _was_away(self, pose: NDArray[np.float64], last: int, now: int) -> bool:
        if now - last <= self._frames:
            return False
        between = self._poses[last + 1 : now]
        turned = geodesic_deg(between[:, :3, :3], pose[:3, :3]) >= self._degrees - 1e-6
        moved = np.linalg.norm(between[:, :3, 3] - pose[:3, 3], axis=1) >= self._metres - 1e-9
        return int((turned | moved).sum()) >= self._frames

    def _small(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        scaled = cv2.resize(frame, (self._size, self._size), interpolation=cv2.INTER_AREA)
        return np.asarray(scaled, dtype=np.uint8)
