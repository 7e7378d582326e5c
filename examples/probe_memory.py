"""Train PPO to find where a forgetful world breaks, beside simpler walkers: [steps]."""

import sys
import time
from statistics import mean
from typing import Any

from gymnasium.spaces import Discrete
from gymnasium.wrappers import TransformAction

from worldenv.camera import Primitive
from worldenv.case import load_script
from worldenv.env import WorldEnv
from worldenv.policies.explore import PoseObservation, RandomWalk, Repeat, explore, train
from worldenv.worlds import load_world
from worldenv.wrappers import ProbeReward

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1536
BUDGET, SEEDS = 481, (101, 102, 103, 104, 105)
# An action moves 30 frames: 30 degrees or 1 m. The agent is not told of the fault.
OPTIONS: dict[str, Any] = {"size": (64, 64), "detail": "coarse", "truth": (), "chunk": 30}
OPTIONS |= {"family": "plain", "faults": {"forget": 1.0}, "threads": 1}
SCRIPTS = ("worldmembench:lrlrlr", "worldmembench:square", "r2m:translation_rotation")


def make_env() -> PoseObservation:
    """Return a reference world that pays for inconsistency."""
    env = WorldEnv(load_world("Reference-v0", **OPTIONS), max_frames=BUDGET)
    return PoseObservation(ProbeReward(env), BUDGET)


def make_turning_env() -> TransformAction:
    """Return the same environment with two actions, left and right: few steps suffice to learn."""
    turns = (Primitive.YAW_LEFT, Primitive.YAW_RIGHT)
    return TransformAction(make_env(), lambda action: turns[int(action)], Discrete(2))


def main() -> None:
    began = time.monotonic()
    print(f"training PPO for {STEPS} steps of 30 frames ...", flush=True)
    agent = train(make_turning_env, STEPS, seed=0, envs=2)
    print(f"... took {time.monotonic() - began:.0f} s; now seeds {SEEDS}")
    spec = load_world("Reference-v0", **OPTIONS).spec
    walkers: list[tuple[str, Any, Any]] = [
        ("random walk", RandomWalk(Discrete(2), seed=0), make_turning_env),
        *((name, load_script(name).policy(spec, "primitive"), make_env) for name in SCRIPTS),
        ("turning right for ever", Repeat(1), make_turning_env),
        ("PPO", agent, make_turning_env),
    ]
    print(f"{'inconsistency per 1000 frames':30} {'mean':>6} {'least':>6} {'most':>6} revisits")
    for name, policy, make in walkers:
        found = explore(policy, make, SEEDS)
        paid = [1000 * walk.per_frame for walk in found]
        revisits = mean(walk.revisits for walk in found)
        print(f"{name:30} {mean(paid):6.1f} {min(paid):6.1f} {max(paid):6.1f} {revisits:8.1f}")


if __name__ == "__main__":
    main()
