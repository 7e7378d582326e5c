"""Scores of memory: planners for three benchmarks, one engine, metrics as pure functions."""
