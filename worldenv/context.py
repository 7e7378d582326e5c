"""Context policies: which of its past a world may look at while it makes the next frames.

The same names and the same budget in every world that offers ``context=``. The past is counted in
latents of four frames, as video autoencoders have them: latent 0 is frame 0, latent i the frames
4 i - 3 to 4 i.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.world import UnknownName, Unsupported

__all__ = ["LATENT_FRAMES", "POLICIES", "Budget", "accessible", "latent_of", "read_budget"]

POLICIES = ("full", "sliding", "fov", "none")
"""``full``: all of the past. ``sliding``: the first latents (sink) and the last ones. ``fov``:
sink, fewer of the last ones, and those that see most of what is seen now. ``none``: nothing but
the latents in the making."""

LATENT_FRAMES = 4
"""Frames of a latent."""
MOST = 100_000
"""Latents that a part of a budget may have."""

_DEPTHS = (1.0, 2.0, 4.0, 8.0)
_GRID = (8, 6)


@dataclasses.dataclass(frozen=True)
class Budget:
    """Latents that a limited policy may hold at once.

    The defaults are those of the WorldMemBench paper's study of context access, 20 in all;
    ``sliding`` spends what ``fov`` retrieves on recent latents.

    Attributes:
        sink: The first latents of the episode.
        recent: The latents before the current ones.
        retrieved: Older latents chosen by what they see.
        current: Latents in the making, the newest included.
    """

    sink: int = 4
    recent: int = 4
    retrieved: int = 8
    current: int = 4


def read_budget(values: Mapping[str, int] | None) -> Budget:
    """Return a budget from plain data, parts not given having their defaults.

    Raises:
        UnknownName: there is no such part.
        Unsupported: a part is no whole number from 0 (``current``: from 1) to ``MOST``.
    """
    known = [field.name for field in dataclasses.fields(Budget)]
    if values is not None and not isinstance(values, Mapping):
        raise Unsupported(f"budget must map {', '.join(known)} to latents, got {values!r}")
    for name, value in (values or {}).items():
        if name not in known:
            raise UnknownName("part of a context budget", str(name), known)
        low = 1 if name == "current" else 0
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not (whole and low <= value <= MOST):
            raise Unsupported(
                f"budget[{name!r}] must be a whole number of latents from {low} to {MOST:,}, "
                f"got {value!r}"
            )
    return Budget(**{name: int(value) for name, value in (values or {}).items()})


def latent_of(frame: int) -> int:
    """Return the latent that a frame belongs to."""
    return (frame + LATENT_FRAMES - 1) // LATENT_FRAMES


def accessible(
    policy: str,
    budget: Budget,
    poses: Sequence[NDArray[np.float64]],
    pose: NDArray[np.float64],
    fov: tuple[float, float],
) -> list[int]:
    """Return the latents that may be looked at, ascending.

    Args:
        policy: One of ``POLICIES``.
        budget: What a limited policy may hold.
        poses: One pose (4, 4) per latent so far, the newest last.
        pose: Pose of the frame in the making, shape (4, 4).
        fov: Horizontal and vertical field of view in degrees.
    """
    newest = len(poses) - 1
    if policy == "full":
        return list(range(newest + 1))
    first = max(0, newest + 1 - budget.current)
    current = list(range(first, newest + 1))
    if policy == "none":
        return current
    recent = budget.recent + (budget.retrieved if policy == "sliding" else 0)
    held = {*range(min(budget.sink, first)), *range(max(0, first - recent), first)}
    if policy == "fov" and budget.retrieved:
        rest = [i for i in range(first) if i not in held]
        if len(rest) > budget.retrieved:
            seen = overlap(np.stack([poses[i] for i in rest]), pose, fov)
            # Of latents that see equally much the newer one is held.
            best = np.lexsort((-np.array(rest), -seen))[: budget.retrieved]
            rest = [rest[i] for i in best]
        held |= set(rest)
    return [*sorted(held), *current]


def overlap(
    poses: NDArray[np.float64], pose: NDArray[np.float64], fov: tuple[float, float]
) -> NDArray[np.float64]:
    """Return how much of one view lies in the field of view of others, in [0, 1].

    The share of points, on a grid over the view at 1, 2, 4 and 8 m, that fall inside the other
    camera's frustum. What stands between is not looked at, as in the retrieval of the models.

    Args:
        poses: The other cameras, shape (m, 4, 4).
        pose: The view, shape (4, 4).
        fov: Horizontal and vertical field of view in degrees.

    Returns:
        Shape (m,).
    """
    wide, high = np.tan(np.radians(np.asarray(fov)) / 2)
    across = wide * (2 * np.arange(_GRID[0]) + 1 - _GRID[0]) / _GRID[0]
    down = high * (2 * np.arange(_GRID[1]) + 1 - _GRID[1]) / _GRID[1]
    x, y, z = np.meshgrid(across, down, np.array(_DEPTHS), indexing="ij")
    points = np.stack([x * z, y * z, z], axis=-1).reshape(-1, 3)
    world = points @ pose[:3, :3].T + pose[:3, 3]
    local = (world[None] - poses[:, None, :3, 3]) @ poses[:, :3, :3]
    ahead = local[..., 2] > 1e-3
    depth = np.where(ahead, local[..., 2], 1.0)
    inside = ahead & (abs(local[..., 0]) <= wide * depth) & (abs(local[..., 1]) <= high * depth)
    return np.asarray(inside.mean(axis=1))


def vertical_fov(fov: float, size: tuple[int, int]) -> float:
    """Return the vertical field of view in degrees of square pixels."""
    width, height = size
    return float(2 * np.degrees(np.arctan(np.tan(np.radians(fov) / 2) * height / width)))


def check_policy(policy: Any) -> str:
    """Return a policy's name.

    Raises:
        Unsupported: it is no name.
        UnknownName: there is none of that name.
    """
    if not isinstance(policy, str):
        raise Unsupported(f"context must be one of {', '.join(POLICIES)}, got {policy!r}")
    if policy not in POLICIES:
        raise UnknownName("context policy", policy, POLICIES)
    return policy
