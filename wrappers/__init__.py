"""Wrappers: RecordRollout, ScoreMemory, ProbeReward.

    env = gym.make("worldenv:Reference-v0", control="plan", script="worldmembench:lrlr")
    env = RecordRollout(ScoreMemory(env), "runs/mine")

``RecordRollout`` outside ``ScoreMemory`` keeps only the truth that the scores use.
"""

from worldenv.wrappers.memory import ScoreMemory
from worldenv.wrappers.probe import ProbeReward
from worldenv.wrappers.record import RecordRollout

__all__ = ["ProbeReward", "RecordRollout", "ScoreMemory"]
