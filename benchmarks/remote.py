"""Measure what the way through a server costs: Reference-v0 remote beside local, in one run.

Both walk the same episodes at the same time, a step here, a step there, in alternating order, so
that other work on the machine disturbs both alike; frames, poses and truth are compared bit for
bit. ``walk`` is the world alone; ``bench`` also records and scores, as a run does.

Usage: python benchmarks/remote.py [--steps 120] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from worldenv.case import load_suite
from worldenv.env import WorldEnv
from worldenv.world import Chunk
from worldenv.worlds import load_world
from worldenv.wrappers import RecordRollout, ScoreMemory

SETTINGS = (((256, 256), 1), ((256, 256), 4), ((640, 360), 1), ((640, 360), 4))
TARGET = 0.15


@contextmanager
def server(options: dict[str, Any]) -> Iterator[str]:
    """Yield the address of a server of Reference-v0 on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        announced = Path(folder) / "address.json"
        command = [sys.executable, "-m", "worldenv.serve", "--world", "Reference-v0"]
        command += ["--announce", str(announced), "--with-parent"]
        for key, value in options.items():
            command += ["--world-option", f"{key}={json.dumps(value)}"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            while not announced.exists():
                if process.poll() is not None:
                    raise RuntimeError("the server did not start")
                time.sleep(0.05)
            yield json.loads(announced.read_text())["address"]
            process.terminate()


def same(a: Chunk, b: Chunk) -> bool:
    """Return whether two chunks are equal, bit for bit."""
    if a.truth is None or b.truth is None or set(a.truth) != set(b.truth):
        return False
    pairs = [(a.frames, b.frames), (a.poses, b.poses)]
    pairs += [(a.truth[k], b.truth[k]) for k in a.truth if k != "state"]
    return list(a.truth["state"]) == list(b.truth["state"]) and all(
        x.dtype == y.dtype and np.array_equal(x, y) for x, y in pairs
    )


def compare(size: tuple[int, int], chunk: int, steps: int, *, score: bool) -> dict[str, Any]:
    """Return medians of the time a step takes, in ms, and whether all chunks were equal."""
    options = {"size": list(size), "chunk": chunk}
    suite = load_suite("worldmembench")
    item = suite.items[0]
    with ExitStack() as held:
        address = held.enter_context(server(options))
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        worlds = (
            load_world("Reference-v0", **options),
            load_world("Remote-v0", address=address),
        )
        envs: list[gym.Env[Any, Any]] = []
        for i, world in enumerate(worlds):
            env: gym.Env[Any, Any] = WorldEnv(world, control="plan", max_frames=None)
            if score:
                benchmarks = {suite.benchmark: dict(suite.options)}
                scored = ScoreMemory(env, benchmarks=benchmarks, profile="classic+truth")
                env = RecordRollout(scored, folder / str(i))
            envs.append(env)
            held.callback(env.close)
        start = {"case": item.case, "script": item.script}
        chunks = [env.reset(seed=0, options=start)[1]["chunk"] for env in envs]
        equal = same(*chunks)
        times: tuple[list[float], list[float]] = ([], [])
        over, step = False, 0
        while not over and step < steps:
            found: dict[int, Chunk] = {}
            for i in (0, 1) if step % 2 else (1, 0):
                began = time.perf_counter()
                _, _, _, over, info = envs[i].step(0)
                times[i].append(time.perf_counter() - began)
                found[i] = info["chunk"]
            equal = equal and same(found[0], found[1])
            step += 1
    # The first steps warm caches up, the last one of an episode also closes it.
    local, remote = (1000 * statistics.median(spent[5:-1]) for spent in times)
    return {
        "what": "bench" if score else "walk",
        "size": "{}x{}".format(*size),
        "chunk": chunk,
        "local ms": round(local, 2),
        "remote ms": round(remote, 2),
        "slower": round(1 - local / remote, 3),
        "equal": equal,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for score in (False, True):
        for size, chunk in SETTINGS:
            rows.append(compare(size, chunk, arguments.steps, score=score))
            row = rows[-1]
            if not arguments.json:
                met = "within" if row["slower"] <= TARGET else "BEYOND"
                print("  ".join(f"{k} {v}" for k, v in row.items()), met, f"{TARGET:.0%}")
    if arguments.json:
        print(json.dumps(rows))
    if not all(row["equal"] for row in rows):
        sys.exit("the remote world is not bit for bit the local one")


if __name__ == "__main__":
    main()
