"""Measure what wrappers and bookkeeping cost a step, and what recording adds to memory.

Usage: python benchmarks/overhead.py [--frames 10000] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, intrinsics, walk
from worldenv.env import WorldEnv
from worldenv.rollout import Rollout
from worldenv.video import VideoWriter
from worldenv.world import Chunk, Start, WorldSpec
from worldenv.wrappers import RecordRollout, ScoreMemory

SIZE = (256, 256)


class InstantWorld:
    """Returns prepared frames at once, so that what is measured is everything else."""

    def __init__(self, truth: bool) -> None:
        K = tuple((float(a), float(b), float(c)) for a, b, c in intrinsics(SIZE, 75))
        keys = ("depth", "ids") if truth else ()
        self.spec = WorldSpec(name="Instant", size=SIZE, K=K, fps=16, truth=keys)
        across, down = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
        waves = np.sin(across / 9.0) + np.cos(down / 7.0)
        self._frames = np.stack(
            [np.stack([64 * waves + 96 + i, across / 2, down / 2], -1) for i in range(32)]
        ).astype(np.uint8)
        self._depth = (3 + waves)[None].astype(np.float32)
        self._ids = (across // 32)[None].astype(np.uint16)
        self._t = 0

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Return the first frame."""
        self._t = 0
        return self.step(np.eye(4)[None])

    def step(self, poses: NDArray[np.float64], prompt: str | None = None) -> Chunk:
        """Return the next frame."""
        frame = self._frames[self._t % 32][None]
        self._t += 1
        truth = {"depth": self._depth, "ids": self._ids} if self.spec.truth else None
        return Chunk(frame, poses, truth)

    def close(self) -> None:
        """Hold nothing, free nothing."""


def plan_of(frames: int) -> CameraPath:
    turns = 30 * np.sin(np.arange(frames) / 40)
    return CameraPath(walk(np.zeros((frames, 3)), turns, np.zeros(frames)))


def seconds_a_step(env: gym.Env[Any, Any], steps: int) -> float:
    """Return processor seconds a step of all threads, which other programs do not disturb."""
    env.reset(seed=0)
    began = time.process_time()
    for _ in range(steps):
        env.step(0)
    return (time.process_time() - began) / steps


def step_cost(steps: int, folder: Path) -> dict[str, float]:
    """Return milliseconds a step: bare, and with both wrappers, encoding and metrics aside."""
    bare = WorldEnv(InstantWorld(False), control="plan", plan=plan_of(steps + 2), max_frames=None)
    plain = seconds_a_step(bare, steps)
    with mock.patch.object(VideoWriter, "write"), mock.patch.object(VideoWriter, "close"):
        env = WorldEnv(
            InstantWorld(False), control="plan", plan=plan_of(steps + 2), max_frames=None
        )
        wrapped = RecordRollout(ScoreMemory(env, benchmarks={}), folder / "cost")
        both = seconds_a_step(wrapped, steps)
        wrapped.close()
    return {"bare_ms": 1e3 * plain, "wrapped_ms": 1e3 * both, "added_ms": 1e3 * (both - plain)}


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def memory_cost(frames: int, folder: Path, truth: bool) -> dict[str, float]:
    """Return MiB that recording adds at its peak, and what it costs on disk and a frame."""
    env = WorldEnv(InstantWorld(truth), control="plan", plan=plan_of(frames), max_frames=None)
    seconds_a_step(env, 200)
    recorder = RecordRollout(env, folder / f"memory{truth}")
    before = peak = resident()
    began = time.perf_counter()
    recorder.reset(seed=0)
    truncated = False
    while not truncated:
        _, _, _, truncated, info = recorder.step(0)
        if info["t"] % 50 == 0:
            peak = max(peak, resident())
    peak = max(peak, resident())
    took = time.perf_counter() - began
    size = sum(f.stat().st_size for f in Path(info["rollout"]).iterdir())
    assert len(Rollout.load(info["rollout"])) == frames
    return {
        "frames": frames,
        "added_MiB": peak - before,
        "ms_a_frame": 1e3 * took / frames,
        "KiB_a_frame": size / frames / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = {
            "step": step_cost(3000, Path(folder)),
            "recording": memory_cost(arguments.frames, Path(folder), truth=False),
            "recording with truth": memory_cost(arguments.frames // 5, Path(folder), truth=True),
        }
    if arguments.json:
        print(json.dumps(measured, indent=2))
        return
    for name, values in measured.items():
        print(name + ": " + ", ".join(f"{key} {value:.4g}" for key, value in values.items()))


if __name__ == "__main__":
    main()
