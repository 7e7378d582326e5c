"""Child processes draw what their parent draws, after the parent has drawn on all cores."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import worldenv  # noqa: F401, registers the environments

OPTIONS = {"family": "plain", "size": (48, 36), "max_frames": 9}
ACTIONS = ([1, 5], [5, 5], [4, 6], [8, 0])


def walk_alone(seed: int, actions: list[int]) -> list[np.ndarray]:
    """Walk one environment in this process, on all its cores."""
    env = gym.make("Reference-v0", **OPTIONS)
    frames = [env.reset(seed=seed)[0]] + [env.step(a)[0] for a in actions]
    env.close()
    return frames


@pytest.mark.parametrize("method", sorted(multiprocessing.get_all_start_methods()))
def test_vector_environments_draw_what_one_draws(method: str) -> None:
    alone = [walk_alone(7 + k, [pair[k] for pair in ACTIONS]) for k in range(2)]
    assert (alone[0][0] != alone[1][0]).any()
    envs = gym.make_vec(
        "Reference-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": method},
        **OPTIONS,
    )
    try:
        together = [envs.reset(seed=7)[0]]
        together += [envs.step(np.array(pair))[0] for pair in ACTIONS]
        np.testing.assert_array_equal(np.stack(together, axis=1), np.stack(alone))
    finally:
        envs.close()


FIRST_FRAME = """
import hashlib
from worldenv.world import Start
from worldenv.worlds.reference import make
world = make(family="plain", size=(48, 36), cache=False, threads=1)
print(hashlib.sha256(world.reset(Start(), seed=1).frames.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_may_compile_at_once(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": root}

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", FIRST_FRAME],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    results = [child.communicate(timeout=300) for child in (start(), start())]
    # A third one finds what those two have left.
    results.append(start().communicate(timeout=300))
    assert not [error for _, error in results if error]
    assert len({digest for digest, _ in results}) == 1 and len(results[0][0]) == 65
    assert list(tmp_path.rglob("*.nbc"))
