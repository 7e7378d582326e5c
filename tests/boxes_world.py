"""A ray-cast room of textured boxes with exact depth, ids and state: a world for tests."""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from worldenv.camera import CameraPath, intrinsics, walk
from worldenv.world import Chunk


@dataclass(frozen=True)
class Box:
    id: int
    category: str
    low: tuple
    high: tuple
    variant: int

    def moved(self, offset):
        low = tuple(np.add(self.low, offset))
        return replace(self, low=low, high=tuple(np.add(self.high, offset)))


ROOM = Box(1, "wall", (-5.0, -1.6, -5.0), (5.0, 1.4, 5.0), 1)
THINGS = (
    ROOM,
    Box(2, "person", (-0.9, -0.6, 2.6), (-0.3, 1.4, 3.1), 2),
    Box(3, "chair", (0.3, 0.4, 2.4), (1.0, 1.4, 3.0), 3),
    Box(4, "chair", (-4.0, 0.4, 0.5), (-3.2, 1.4, 1.3), 4),
    Box(5, "lamp", (3.2, -1.0, -1.0), (3.7, 1.4, -0.4), 5),
    Box(6, "plant", (-2.0, 0.2, -3.6), (-1.2, 1.4, -3.0), 6),
)


def texture(variant):
    """A random texture whose colours and scale depend on the variant."""
    rng = np.random.default_rng(variant)
    base = rng.uniform(40, 215, 3)
    coarse = cv2.resize(rng.normal(0, 45, (8, 8, 3)), (128, 128), interpolation=cv2.INTER_CUBIC)
    fine = cv2.resize(rng.normal(0, 35, (32, 32, 3)), (128, 128), interpolation=cv2.INTER_LINEAR)
    return np.clip(base + coarse + fine, 0, 255).astype(np.uint8)


class ToyWorld:
    """Renders any pose; ``boxes`` may be a function of the frame index."""

    def __init__(self, size=(96, 96), fov=75.0, boxes=THINGS, event=None):
        self.size, self.K = size, intrinsics(size, fov)
        self.boxes = boxes if callable(boxes) else lambda frame: boxes
        self.event = event or (lambda frame: None)
        u, v = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
        self.rays = np.stack(
            [(u - self.K[0, 2]) / self.K[0, 0], (v - self.K[1, 2]) / self.K[1, 1], np.ones_like(u)],
            axis=-1,
        ).reshape(-1, 3)
        self._textures = {}

    def frame(self, index, pose):
        """Return (image, depth, ids, state)."""
        boxes = self.boxes(index)
        rays, origin = self.rays @ pose[:3, :3].T, pose[:3, 3]
        best = np.full(len(rays), np.inf)
        ids = np.zeros(len(rays), np.uint16)
        colour = np.zeros((len(rays), 3), np.uint8)
        safe = np.where(np.abs(rays) < 1e-12, 1e-12, rays)
        for box in boxes:
            near = (np.array(box.low) - origin) / safe
            far = (np.array(box.high) - origin) / safe
            enter, leave = np.minimum(near, far), np.maximum(near, far)
            inside = box.category == "wall"
            t = leave.min(axis=1) if inside else enter.max(axis=1)
            hit = (
                (t > 1e-6) & (t < best)
                if inside
                else ((t > 1e-6) & (t < best) & (t <= leave.min(axis=1)))
            )
            axis = (leave.argmin(axis=1) if inside else enter.argmax(axis=1))[hit]
            point = origin + rays[hit] * t[hit, None] - np.array(box.low)
            other = np.array([[1, 2], [0, 2], [0, 1]])[axis]
            uv = np.take_along_axis(point, other, axis=1) * (40 if not inside else 25)
            if box.variant not in self._textures:
                self._textures[box.variant] = texture(box.variant)
            image = self._textures[box.variant]
            place = (uv + 17 * axis[:, None]).astype(int) % 128
            colour[hit] = image[place[:, 1], place[:, 0]]
            best[hit], ids[hit] = t[hit], box.id
        height, width = self.size[1], self.size[0]
        state = {
            "instances": {
                b.id: {
                    "category": b.category,
                    "variant": f"{b.category}/{b.variant}",
                    "pose": walk(np.array([b.low]), np.zeros(1), np.zeros(1))[0].tolist(),
                }
                for b in boxes
            },
            "event": self.event(index),
        }
        depth = np.where(np.isfinite(best), best, 0).astype(np.float32)
        return (
            colour.reshape(height, width, 3),
            depth.reshape(height, width),
            ids.reshape(height, width),
            state,
        )

    def chunk(self, poses, start=0, realised=None):
        """Render poses as a chunk whose first frame has index ``start``."""
        shown = poses if realised is None else realised
        parts = [self.frame(start + k, pose) for k, pose in enumerate(shown)]
        truth = {
            "pose": np.array(shown),
            "depth": np.stack([p[1] for p in parts]),
            "ids": np.stack([p[2] for p in parts]),
            "state": [p[3] for p in parts],
        }
        return Chunk(np.stack([p[0] for p in parts]), np.array(poses), truth)


def play(engine, world, path, chunk=16, frozen=False, until=None, truth=True):
    """Feed a rollout to an engine; return (scores as they came, summary)."""
    n = len(path) if until is None else until
    came = []
    for start in range(0, n, chunk):
        poses = path.poses[start : min(start + chunk, n)]
        realised = np.tile(np.eye(4), (len(poses), 1, 1)) if frozen else None
        piece = world.chunk(poses, start, realised)
        came.extend(engine.observe(piece if truth else piece._replace(truth=None)))
    return came, engine.finish()


def path_of(legs, scale=1):
    """Build a path from (phase, frames, yaw to, pitch to, position to) legs in closed form."""
    position, yaw, pitch = [np.zeros(3)], [0.0], [0.0]
    phases = []
    for phase, frames, yaw_to, pitch_to, place in legs:
        frames //= scale
        y0, p0, x0 = yaw[-1], pitch[-1], position[-1]
        first = not phases
        for k in range(1, frames + (0 if first else 1)):
            # Out and back must meet bit for bit: interpolate from the smaller end both ways.
            s = k / frames
            yaw.append(
                y0 + (yaw_to - y0) * s if abs(yaw_to) >= abs(y0) else y0 * (frames - k) / frames
            )
            pitch.append(
                p0 + (pitch_to - p0) * s if abs(pitch_to) >= abs(p0) else p0 * (frames - k) / frames
            )
            position.append(x0 + (np.array(place) - x0) * s)
        phases += [phase] * frames
    poses = walk(np.array(position), np.round(yaw, 9), np.round(pitch, 9))
    return CameraPath(poses, phases=tuple(phases))


HOME = (0.0, 0.0, 0.0)


def lrlr(scale=1, cycles=2):
    legs = [("V", 60, 0, 0, HOME)]
    for k in range(1, cycles + 1):
        legs += [(f"D{k}", 60, -60, 0, HOME), (f"R{k}", 60, 0, 0, HOME)]
    return path_of([*legs, ("H", 60, 0, 0, HOME)], scale)


def lrud(scale=1):
    legs = [
        ("V", 60, 0, 0, HOME),
        ("D1", 60, -60, 0, HOME),
        ("R1", 60, 0, 0, HOME),
        ("D2", 60, 0, 60, HOME),
        ("R2", 60, 0, 0, HOME),
        ("H", 60, 0, 0, HOME),
    ]
    return path_of(legs, scale)


def dynamic(scale=1):
    legs = [
        ("V", 60, 0, 0, HOME),
        ("D1", 120, -60, 0, HOME),
        ("D1", 120, -60, 0, HOME),
        ("R1", 120, 0, 0, HOME),
        ("H", 60, 0, 0, HOME),
    ]
    return path_of(legs, scale)


def exit_reenter(scale=1):
    legs = [
        ("V", 30, 0, 0, HOME),
        ("D1", 60, 90, 0, HOME),
        ("D1", 60, 90, 0, HOME),
        ("R1", 60, 0, 0, HOME),
        ("H", 30, 0, 0, HOME),
    ]
    return path_of(legs, scale)


def out_and_back(frames=481, distance=2.4):
    half = (frames - 1) // 2
    x = np.concatenate([np.arange(half + 1), np.arange(half - 1, -1, -1)]) * distance / half
    position = np.zeros((len(x), 3))
    position[:, 0] = x
    return CameraPath(walk(position, np.zeros(len(x)), np.zeros(len(x))))
