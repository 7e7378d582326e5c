"""A model wrapped as a World: ``worldenv bench --world examples/wrap_a_model.py:make``."""

from __future__ import annotations

import numpy as np

from worldenv import CameraPath, Chunk, Start, WorldSpec
from worldenv.camera import intrinsics, yaw_pitch


class Panorama:
    """Stands for your model: it shows a strip of random blocks and forgets nothing."""

    def __init__(self, width: int, height: int, fov: float) -> None:
        K = tuple(tuple(row) for row in intrinsics((width, height), fov).tolist())
        self.spec = WorldSpec(name="Panorama", size=(width, height), K=K, fps=16, chunk=4)
        self._columns = np.linspace(-fov / 2, fov / 2, width)
        self._strip = np.zeros((height, 360, 3), np.uint8)

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Return the frame that exists before any action; load prompt or image here."""
        blocks = np.random.default_rng(seed).integers(0, 256, (8, 45, 3), np.uint8)
        rows = np.arange(self.spec.size[1]) * 8 // self.spec.size[1]
        self._strip = blocks[rows].repeat(8, axis=1)
        return self.step(np.eye(4)[None])

    def step(self, poses: np.ndarray, prompt: str | None = None) -> Chunk:
        """Return one frame a pose; this is where your model generates a chunk."""
        degrees = yaw_pitch(poses)[:, :1] + self._columns
        frames = self._strip[:, np.round(degrees).astype(int) % 360].swapaxes(0, 1)
        return Chunk(np.ascontiguousarray(frames), poses)

    def close(self) -> None:
        """Free the model."""


def make(width: int = 96, height: int = 64, fov: float = 75.0) -> Panorama:
    return Panorama(width, height, fov)
