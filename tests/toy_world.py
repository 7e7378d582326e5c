"""A tiny world for tests: the inside of a textured box, sampled by pose, with exact truth."""

from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import Chunk, PlanRequired, Start, WorldSpec

HALF = np.array([6.0, 2.0, 6.0])


class ToyWorld:
    """Renders a box of checks whose colours come from the seed; the camera starts in its middle."""

    def __init__(self, spec: WorldSpec, forget: bool = False) -> None:
        self.spec = spec
        self.forget = forget
        self._seen: dict[int, int] = {}
        self._t = 0
        self.closed = 0
        self.prompts: list[str | None] = []
        self.plan: CameraPath | None = None
        self.asked: list[np.ndarray] = []
        width, height = spec.size
        K = spec.intrinsics()
        u, v = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        self._rays = np.stack(
            [(u - K[0, 2]) / K[0, 0], (v - K[1, 2]) / K[1, 1], np.ones_like(u)], axis=-1
        )
        self._colours = np.zeros((6, 16, 16, 3), np.uint8)

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        if self.spec.drive == "plan" and plan is None:
            raise PlanRequired("the toy needs a plan")
        self.plan, self.prompts, self.asked = plan, [], []
        self._random = np.random.default_rng(seed)
        self._colours = self._random.integers(0, 256, (6, 16, 16, 3), np.uint8)
        self._seen, self._t = {}, 0
        return self._render(np.tile(np.eye(4), (self.spec.reset_frames, 1, 1)))

    def step(self, poses: np.ndarray, prompt: str | None = None) -> Chunk:
        self.prompts.append(prompt)
        self.asked.append(np.array(poses))
        return self._render(np.array(poses))

    def close(self) -> None:
        self.closed += 1

    def _render(self, poses: np.ndarray) -> Chunk:
        shots = [self._shoot(pose) for pose in poses]
        state = [{"instances": {}, "event": None} for _ in poses]
        truth: dict[str, Any] = {
            "pose": poses.copy(),
            "depth": np.stack([depth for _, depth, _ in shots]),
            "ids": np.stack([ids for _, _, ids in shots]),
            "state": state,
        }
        return Chunk(np.stack([frame for frame, _, _ in shots]), poses, truth)

    def _shoot(self, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rays = self._rays @ pose[:3, :3].T
        origin = np.clip(pose[:3, 3], -0.95 * HALF, 0.95 * HALF)
        with np.errstate(divide="ignore"):
            reach = (np.sign(rays) * HALF - origin) / rays
        axis = reach.argmin(axis=-1)
        depth = reach.min(axis=-1)
        hit = origin + rays * depth[..., None]
        side = np.take_along_axis(rays, axis[..., None], -1)[..., 0] > 0
        cell = np.clip((hit / HALF * 8 + 8).astype(int), 0, 15)
        first = np.where(axis == 0, cell[..., 1], cell[..., 0])
        second = np.where(axis == 2, cell[..., 1], cell[..., 2])
        wall = 2 * axis + side
        self._t += 1
        for i in np.unique(wall).tolist() if self.forget else ():
            if self._t - self._seen.get(i, self._t) > 16:
                self._colours[i] = self._random.integers(0, 256, (16, 16, 3), np.uint8)
            self._seen[i] = self._t
        return (
            self._colours[wall, first, second],
            depth.astype(np.float32),
            (wall + 1).astype(np.uint16),
        )


def make(
    size: tuple[int, int] = (32, 24),
    fov: float = 75.0,
    fps: float = 16.0,
    chunk: int = 1,
    first_chunk: int | None = None,
    drive: str = "stream",
    reset_frames: int = 1,
    prompt: str = "none",
    image_start: bool | None = None,
    forget: bool = False,
    **fields: Any,
) -> ToyWorld:
    """Return a toy world; other fields go to its WorldSpec.

    With ``forget`` a wall gets other colours when it was out of view for more than 16 frames.
    """
    K = intrinsics(size, fov)
    spec = WorldSpec(
        name="Toy",
        size=tuple(size),
        K=tuple(tuple(float(x) for x in row) for row in K),
        K_exactness="exact",
        fps=fps,
        chunk=chunk,
        first_chunk=chunk if first_chunk is None else first_chunk,
        drive=drive,
        reset_frames=reset_frames,
        prompt=prompt,
        image_start=reset_frames == 1 if image_start is None else image_start,
        truth=("pose", "depth", "ids", "state"),
        **fields,
    )
    return ToyWorld(spec, forget)
