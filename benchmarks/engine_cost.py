"""What scoring a rollout costs: the engine against its own parts, and against plain pairs.

Records 481 frames of Reference-v0, scores them by R2M-Bench and sets the wall time beside (1) the
sum over roles of unique asks times the cost of one, taken in the same run, and (2) the plain way:
every pair of every metric from its two frames, nothing shared: at the same costs, which other
programs disturb alike, and from a sample that is timed; then scores again from a feature cache.

Usage: python benchmarks/engine_cost.py [--profile light] [--size 640x360] [--rule paper]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

import worldenv
from worldenv.camera import CameraPath
from worldenv.env import WorldEnv
from worldenv.evaluators.backbones.base import Backbone
from worldenv.evaluators.engine import Engine, build_engine
from worldenv.evaluators.plan import PIXELS, Ask
from worldenv.evaluators.profile import PROFILES
from worldenv.world import Chunk

CHUNK = 16
Frames = NDArray[np.uint8]


class Timed:
    """A backbone that writes down what its calls take."""

    def __init__(self, backbone: Backbone) -> None:
        self.name, self.revision = backbone.name, backbone.revision
        self.checksum, self.batch = backbone.checksum, backbone.batch
        self.needs = backbone.needs
        self._compute = backbone.compute
        self.seconds: dict[int, list[float]] = defaultdict(list)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Answer, and note the seconds of an ask."""
        began = time.perf_counter()
        answers = self._compute(asks, inputs)
        each = (time.perf_counter() - began) / len(asks)
        self.seconds[len(asks[0].frames)].append(each)
        return answers


def record(script: str, size: tuple[int, int]) -> tuple[Frames, CameraPath, Any]:
    """Return frames, target path and intrinsics of a perfect rollout."""
    env = gym.make("Reference-v0", control="plan", script=script, size=size, truth=())
    env.reset(seed=0)
    world = env.unwrapped
    assert isinstance(world, WorldEnv) and world.path is not None
    chunks, truncated = [world.chunk.frames], False
    while not truncated:
        truncated = env.step(0)[3]
        chunks.append(world.chunk.frames)
    path, K = world.path, world.world_spec.intrinsics()
    env.close()
    return np.concatenate(chunks)[: len(path)], path, K


def run(engine: Engine, frames: Frames, path: CameraPath) -> float:
    """Return the seconds that the engine takes for a whole rollout."""
    began = time.perf_counter()
    for start in range(0, len(frames), CHUNK):
        stop = start + CHUNK
        engine.observe(Chunk(frames[start:stop], path.poses[start:stop]))
    engine.finish()
    return time.perf_counter() - began


def timed(engine: Engine) -> dict[str, Timed]:
    """Put a watch on every backbone that the plan asks."""
    profile = engine._profile
    watches = {role: Timed(backbone) for role, backbone in profile._made.items()}
    profile._made.update(watches)
    return watches


def parts(watches: dict[str, Timed], engine: Engine) -> dict[str, dict[str, float]]:
    """Return role -> how often it was asked, and milliseconds an ask."""
    return {
        role: {
            "asks": engine.counts[role],
            "ms": 1e3 * float(np.mean(np.concatenate(list(watch.seconds.values())))),
        }
        for role, watch in watches.items()
        if watch.seconds
    }


def plain(engine: Engine, frames: Frames, asks: Sequence[Ask], sample: int) -> float:
    """Return the seconds of answering pairs one by one with nothing shared, from a sample."""

    def answer(ask: Ask) -> Any:
        if ask.role == PIXELS:
            return frames[ask.frames[0]]
        backbone = engine._profile.backbone(ask.role)
        inputs = tuple(answer(need) for need in backbone.needs(ask))
        return backbone.compute([ask], [inputs])[0]

    by_role: dict[tuple[str, Any], list[Ask]] = defaultdict(list)
    for ask in asks:
        by_role[ask.role, ask.subject].append(ask)
    total = 0.0
    for group in by_role.values():
        chosen = [group[k] for k in np.linspace(0, len(group) - 1, sample).astype(int)]
        began = time.perf_counter()
        for ask in chosen:
            answer(ask)
        total += (time.perf_counter() - began) / len(chosen) * len(group)
    return total


def unshared(engine: Engine, watches: dict[str, Timed], asks: Sequence[Ask]) -> float:
    """Return the seconds of answering pairs with nothing shared, at the costs of the run itself."""
    costs = {
        (role, frames): float(np.mean(seconds))
        for role, watch in watches.items()
        for frames, seconds in watch.seconds.items()
    }
    total, pending = 0.0, list(asks)
    while pending:
        ask = pending.pop()
        if ask.role != PIXELS:
            total += costs[ask.role, len(ask.frames)]
            pending += engine._profile.backbone(ask.role).needs(ask)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="classic", choices=PROFILES)
    parser.add_argument("--script", default="r2m:out_and_back")
    parser.add_argument("--rule", default="paper")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--sample", type=int, default=24, help="pairs timed of a metric")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    width, _, height = arguments.size.partition("x")
    frames, path, K = record(arguments.script, (int(width), int(height)))
    settings: dict[str, Any] = {
        "benchmarks": {"r2m": {"rule": arguments.rule}},
        "profile": arguments.profile,
        "K": K,
    }
    began = time.perf_counter()
    engine = build_engine(path, **settings)
    planned = time.perf_counter() - began
    asks = sorted({ask for m in engine._open.values() for ask in m.asks}, key=repr)
    # Whatever is loaded or compiled at first use is none of the engine's cost.
    plain(engine, frames, asks, 1)
    watches = timed(engine)
    total = run(engine, frames, path)
    roles = parts(watches, engine)
    ideal = sum(entry["asks"] * entry["ms"] for entry in roles.values()) / 1e3
    apart = unshared(engine, watches, asks)
    pairs = plain(build_engine(path, **settings), frames, asks, arguments.sample)
    with tempfile.TemporaryDirectory() as folder:
        cold = run(build_engine(path, cache=Path(folder), **settings), frames, path)
        warm = run(build_engine(path, cache=Path(folder), **settings), frames, path)
        kept = sum(file.stat().st_size for file in Path(folder).iterdir())
    measured = {
        "worldenv": worldenv.__version__,
        "frames": len(frames),
        "unique pairs": len(asks),
        "plan_s": planned,
        "score_s": total,
        "parts_s": ideal,
        "score / parts": total / ideal,
        "plain_s, at the run's own costs": apart,
        "plain / score": apart / total,
        "plain_s, from a sample": pairs,
        "cache: first_s": cold,
        "cache: again_s": warm,
        "cache: MiB": kept / 2**20,
    }
    if arguments.json:
        print(json.dumps({**measured, "roles": roles}, indent=2))
        return
    for role, entry in sorted(roles.items(), key=lambda item: -item[1]["asks"] * item[1]["ms"]):
        seconds = entry["asks"] * entry["ms"] / 1e3
        print(f"{role:16} {entry['asks']:6.0f} asks x {entry['ms']:8.3f} ms = {seconds:7.2f} s")
    print(
        ", ".join(
            f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in measured.items()
        )
    )


if __name__ == "__main__":
    main()
