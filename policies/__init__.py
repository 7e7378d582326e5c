"""Policies: the benchmarks' scripts in closed form, and learned explorers."""
