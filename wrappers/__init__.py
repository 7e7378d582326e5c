"""Wrappers: RecordRollout, ScoreMemory, ProbeReward."""
