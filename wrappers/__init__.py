"""Wrappers: RecordRollout, ScoreMemory, ProbeReward.

    env = ScoreMemory(RecordRollout(gym.make("worldenv:Reference-v0", ...), "runs/mine"))

Put ``RecordRollout`` outside ``ScoreMemory`` to keep only the truth that scores use
(``truth_frames="scored"``).
"""

from worldenv.wrappers.memory import ScoreMemory
from worldenv.wrappers.record import RecordRollout

__all__ = ["RecordRollout", "ScoreMemory"]
