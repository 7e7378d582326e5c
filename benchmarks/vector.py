"""Training speed: several small environments together, in one process and in one process each.

Prints steps a second of all environments together and memory a process (resident, and with what
processes share, such as libraries, divided among them), RGB only, chunk 1, for full and coarse
detail: ``python benchmarks/vector.py [--envs 4] [--size 64] [--steps 400]``.
"""

from __future__ import annotations

import argparse
import functools
import time
from pathlib import Path

import gymnasium as gym
import numpy as np

import worldenv.camera


def memory(process: str = "self") -> tuple[float, float]:
    """Return resident and proportional memory of a process, MB."""
    sizes: dict[str, float] = {}
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
        name, value, _ = line.split()
        sizes[name] = int(value) * 1024 / 1e6
    return sizes["Rss:"], sizes["Pss:"]


def make(family: str, detail: str, size: int) -> gym.Env:
    return gym.make(
        "Reference-v0",
        family=family,
        detail=detail,
        size=(size, size),
        truth=(),
        threads=1,
        control="primitive",
        max_frames=None,
        chunk_in_info=False,
        disable_env_checker=True,
    )


def measure(kind: str, family: str, detail: str, envs: int, size: int, steps: int) -> None:
    makers = [functools.partial(make, family, detail, size)] * envs
    vector: gym.vector.AsyncVectorEnv | gym.vector.SyncVectorEnv
    if kind == "processes":
        vector = gym.vector.AsyncVectorEnv(makers, context="spawn")
        pids = [str(process.pid) for process in vector.processes]
    else:
        vector, pids = gym.vector.SyncVectorEnv(makers), ["self"]
    vector.reset(seed=0)
    count = len(worldenv.camera.PRIMITIVES)
    actions = np.random.default_rng(0).integers(0, count, (steps, envs))
    for row in actions[:20]:
        vector.step(row)
    start = time.perf_counter()
    for row in actions[20:]:
        vector.step(row)
    rate = envs * (steps - 20) / (time.perf_counter() - start)
    resident, proportional = (max(sizes) for sizes in zip(*map(memory, pids), strict=True))
    print(
        f"{family:9} {detail:7} {kind:10} {rate:8.0f} steps/s {resident:6.0f} MB a process, "
        f"{proportional:.0f} MB of it its own share"
    )
    vector.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=int, default=4)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=400)
    chosen = parser.parse_args()
    for family in ("plain", "interior"):
        for detail in ("auto", "coarse"):
            for kind in ("processes", "together"):
                measure(kind, family, detail, chosen.envs, chosen.size, chosen.steps)


if __name__ == "__main__":
    main()
