"""Roles pose and depth by programs that need an environment of their own: DA3 and ViPE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.programs import KNOWN, Program, Worker
from worldenv.evaluators.backbones.stretches import Floats, Layout, depth_ratio, join, rebased
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located


@dataclass(frozen=True)
class Stretch:
    """What was estimated of the frames of a stretch, in the frame and unit of the first stretch.

    Attributes:
        first: Its first frame.
        poses: Camera-to-world relative to frame 0, shape (n, 4, 4).
        depth: Shape (n, h, w), 0 = nothing, at the program's own size; None where it gives none.
        size: Height and width of the frames.
    """

    first: int
    poses: Floats
    depth: NDArray[np.float32] | None
    size: tuple[int, int]


class Stretches:
    """Answers ``stretch``, asked as (first frame,), and needs the frames of it and the one before.

    Memory holds two stretches and their frames, however long the path.
    """

    batch = 1

    def __init__(
        self,
        *located: Located,
        device: str = "cpu",
        frames: int = 0,
        program: str | Program = "da3",
        length: int = 32,
        overlap: int = 8,
        role: str = "stretch",
    ) -> None:
        """Make it; the program starts with the first stretch.

        Args:
            located: Its weights, where it does not bring them itself.
            device: Where it runs.
            frames: Number of frames of the path.
            program: Which.
            length: Frames of a stretch.
            overlap: Frames that two neighbours share.
            role: Role that it answers.
        """
        chosen = KNOWN[program] if isinstance(program, str) else program
        self.name, self.revision, self.checksum = _identity(located, chosen.name)
        self._layout = Layout(frames, length, overlap)
        self._role = role
        self._worker = Worker(chosen, str(located[0].folder) if located else "", device)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frames of the stretch, then the stretch before."""
        start = ask.frames[0]
        wanted = tuple(pixels(frame) for frame in self._layout.stretch(start))
        before = self._layout.before(start)
        return wanted if before is None else (*wanted, Ask(self._role, (before,)))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Estimate every stretch and join it to the one before."""
        out: list[Any] = []
        for ask, values in zip(asks, inputs, strict=True):
            before = values[-1] if isinstance(values[-1], Stretch) else None
            frames = np.stack(values[:-1] if before is not None else values)
            out.append(self._join(ask.frames[0], frames, before))
        return out

    def _join(self, first: int, frames: NDArray[np.uint8], before: Stretch | None) -> Stretch:
        found = self._worker.estimate(frames)
        poses, depth = checked(found, len(frames))
        size = (frames.shape[1], frames.shape[2])
        if before is None:
            return Stretch(first, rebased(poses), depth, size)
        shared = before.first + len(before.poses) - first
        known = before.poses[len(before.poses) - shared :]
        ratio = None
        if depth is not None and before.depth is not None:
            ratio = depth_ratio(before.depth[len(before.depth) - shared :], depth[:shared])
        change = join(known, poses[:shared], ratio)
        scaled = None if depth is None else np.asarray(depth * change.scale, np.float32)
        return Stretch(first, change.poses(poses), scaled, size)


def checked(
    found: dict[str, NDArray[Any]], count: int
) -> tuple[Floats, NDArray[np.float32] | None]:
    """Return poses and depth of an answer.

    Raises:
        ValueError: they are not of the frames that were asked for, or no poses at all.
    """
    poses = np.asarray(found.get("poses", np.zeros(0)), np.float64)
    if poses.shape != (count, 4, 4) or not np.isfinite(poses).all():
        raise ValueError(f"{count} frames gave poses of shape {poses.shape}, or not finite ones")
    gram = poses[:, :3, :3] @ poses[:, :3, :3].transpose(0, 2, 1)
    if np.abs(gram - np.eye(3)).max() > 1e-2:
        raise ValueError("the poses hold something else than rotations")
    if "depth" not in found:
        return poses, None
    depth = np.asarray(found["depth"], np.float32)
    if depth.ndim != 3 or len(depth) != count:
        raise ValueError(f"{count} frames gave depth of shape {depth.shape}")
    return poses, np.where(np.isfinite(depth) & (depth > 0), depth, 0).astype(np.float32)


class OfStretch:
    """Answers ``pose`` or ``depth``, asked as (frame,), out of the stretch that holds the frame."""

    batch = 1

    def __init__(
        self,
        *located: Located,
        frames: int = 0,
        part: str = "pose",
        program: str = "da3",
        length: int = 32,
        overlap: int = 8,
        role: str = "stretch",
    ) -> None:
        """Make it; arguments as of Stretches, and ``part``: ``pose`` or ``depth``."""
        self.name, self.revision, self.checksum = _identity(located, program)
        self._layout = Layout(frames, length, overlap)
        self._part = part
        self._role = role

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the stretch that holds the frame."""
        return (Ask(self._role, (self._layout.holding(ask.frames[0]),)),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Pick the frame out of its stretch; depth at the size of the frame."""
        out: list[Any] = []
        for ask, (stretch,) in zip(asks, inputs, strict=True):
            place = ask.frames[0] - stretch.first
            if self._part == "pose":
                out.append(stretch.poses[place].copy())
                continue
            if stretch.depth is None:
                raise ValueError(f"{self.name} gives no depth")
            height, width = stretch.size
            # Nearest: between a thing and what is behind it there is nothing.
            large = cv2.resize(
                stretch.depth[place], (width, height), interpolation=cv2.INTER_NEAREST
            )
            out.append(np.asarray(large, np.float32))
        return out


def _identity(located: Sequence[Located], program: str) -> tuple[str, str, str]:
    if not located:
        return program, "1", ""
    return f"{program}:{located[0].id}", f"{located[0].revision}; 1", located[0].checksum
