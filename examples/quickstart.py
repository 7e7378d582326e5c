"""Walk a leave-and-return path through the reference world and print its memory scores."""

import tempfile

import gymnasium as gym

import worldenv  # registers the ids
from worldenv.wrappers import RecordRollout, ScoreMemory

gym.register_envs(worldenv)
script = "worldmembench:lrlr(hold=16,leg=16)"
env = gym.make("Reference-v0", control="plan", script=script, size=(128, 128))
env = RecordRollout(ScoreMemory(env), tempfile.mkdtemp(prefix="worldenv-"))

observation, info = env.reset(seed=0)
truncated = False
while not truncated:
    observation, reward, terminated, truncated, info = env.step(0)
    for score in info.get("memory", ()):
        if score.revisit is not None and score.value is not None:
            print(f"frame {info['t']}: {score.metric} at R{score.revisit} is {score.value:.3f}")
print("recorded in", info["rollout"])
env.close()
