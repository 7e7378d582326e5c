"""Train PPO to find where a forgetful world breaks, beside simpler walkers: [steps]."""

import sys
from typing import Any

import gymnasium as gym
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TransformAction

from worldenv.camera import Primitive
from worldenv.case import Policy, load_script
from worldenv.env import WorldEnv
from worldenv.policies.explore import MakeEnv, PoseObservation, RandomWalk, explore, train
from worldenv.worlds import load_world
from worldenv.wrappers import ProbeReward

BUDGET, SEEDS = 481, (101, 102, 103)
# The agent is not told of the fault: what was out of view for a while is imagined anew.
FAULTS = {"forget": 1.0}
SCRIPTS = ("worldmembench:lrlrlr", "worldmembench:square", "r2m:translation_rotation")


def make_env(family: str = "plain") -> PoseObservation:
    """Return a small reference world that pays for inconsistency; an action moves 15 frames."""
    world = load_world(
        "Reference-v0",
        size=(64, 64),
        detail="coarse",
        chunk=15,
        family=family,
        faults=FAULTS,
        threads=1,
    )
    return PoseObservation(ProbeReward(WorldEnv(world)), BUDGET)


def make_turning_env() -> gym.Env[Any, Any]:
    """Return the same environment with two actions, left and right: few steps suffice to learn."""
    turns = (Primitive.YAW_LEFT, Primitive.YAW_RIGHT)
    return TransformAction(make_env(), lambda action: turns[int(action)], Discrete(len(turns)))


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    env = make_env()
    spec = env.unwrapped.world.spec  # type: ignore[attr-defined]
    scripted = {name: load_script(name).policy(spec, "primitive") for name in SCRIPTS}
    env.close()
    print(f"training PPO for {steps} steps of 15 frames ...", flush=True)
    agent = train(make_turning_env, steps, seed=0)
    walkers: list[tuple[str, Policy, MakeEnv]] = [
        ("random walk", RandomWalk(Discrete(2), seed=0), make_turning_env),
        *((name, policy, make_env) for name, policy in scripted.items()),
        ("PPO", agent, make_turning_env),
    ]

    print(f"{'walker':26} {'per 1000 frames':>16} {'revisits':>9}  on seeds {SEEDS}")
    for name, policy, make in walkers:
        found = explore(policy, make, SEEDS)
        per_frame = sum(walk.per_frame for walk in found) / len(found)
        revisits = sum(walk.revisits for walk in found) / len(found)
        print(f"{name:26} {1000 * per_frame:16.1f} {revisits:9.1f}", flush=True)


if __name__ == "__main__":
    main()
