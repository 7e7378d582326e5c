"""Worlds: one module or package each."""
