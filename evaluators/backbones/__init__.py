"""Backbones: one role a module."""
