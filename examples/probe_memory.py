"""Train PPO to find where a forgetful world breaks, and compare it with simpler walkers."""

import argparse

from worldenv.case import Policy, load_script
from worldenv.env import WorldEnv
from worldenv.policies.explore import PoseObservation, RandomWalk, explore, train
from worldenv.worlds import load_world
from worldenv.wrappers import ProbeReward

BUDGET = 481
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000, help="environment steps of training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 102, 103, 104])
    arguments = parser.parse_args()

    env = make_env()
    spec = env.unwrapped.world.spec  # type: ignore[attr-defined]
    walkers: dict[str, Policy] = {"random walk": RandomWalk(env.action_space, seed=0)}
    walkers |= {name: load_script(name).policy(spec, "primitive") for name in SCRIPTS}
    env.close()
    print(f"training PPO for {arguments.steps} steps of 15 frames ...", flush=True)
    walkers["PPO"] = train(make_env, arguments.steps, seed=0)

    print(f"{'walker':26} {'per 1000 frames':>16} {'revisits':>9}  on seeds {arguments.seeds}")
    for name, policy in walkers.items():
        found = explore(policy, make_env, arguments.seeds)
        per_frame = sum(walk.per_frame for walk in found) / len(found)
        revisits = sum(walk.revisits for walk in found) / len(found)
        print(f"{name:26} {1000 * per_frame:16.1f} {revisits:9.1f}", flush=True)


if __name__ == "__main__":
    main()
