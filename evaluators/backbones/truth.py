"""Roles depth, pose, segment and judge, answered by a world that knows what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.regions import Region, region
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.plan import Ask, Thing, truth

STRUCTURE = ("wall", "floor", "ceiling", "sky", "ground")
"""Categories that no object detector returns."""

ANYTHING = "*"
"""Noun that asks for every object."""


class TruthSource:
    """Answers ``depth`` (height, width) or ``pose`` (4, 4) with what the world says."""

    revision = "1"
    checksum = ""
    batch = 1

    def __init__(self, key: str) -> None:
        self.name = f"truth-{key}"
        self._key = key

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the truth of the frame."""
        return (truth(self._key, ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Pass it on."""
        return [value for (value,) in inputs]


class TruthSegmenter:
    """Answers ``segment`` for a Thing with the visible instances of its noun, whatever the window.

    It plays a detector: it finds whatever is of the category, and never asks whether that is the
    instance that was there before.

    Attributes:
        lasting: A track number, the instance's id, means the same thing in every window.
    """

    name = "truth-segment"
    revision = "1"
    checksum = ""
    batch = 1
    lasting = True

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return ids and state of the frame."""
        frame = ask.frames[0]
        return truth("ids", frame), truth("state", frame)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Find the regions of every frame, largest first."""
        return [
            find_regions(ids, shown(state), noun_of(ask.subject))
            for ask, (ids, state) in zip(asks, inputs, strict=True)
        ]


def noun_of(subject: Any) -> str:
    """Return what a subject of segment asks for: the noun of a Thing, or a bare noun."""
    return subject.noun if isinstance(subject, Thing) else str(subject)


def shown(state: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Return id -> instance of a state; ids may have become text in a file."""
    return {int(key): value for key, value in state.get("instances", {}).items()}


def find_regions(
    ids: NDArray[np.uint16], instances: Mapping[int, Mapping[str, Any]], noun: str
) -> tuple[Region, ...]:
    """Return the visible instances of a category, largest first."""
    counts = np.bincount(ids.ravel())
    found = []
    for track, instance in instances.items():
        category = str(instance.get("category", ""))
        wanted = category not in STRUCTURE if noun == ANYTHING else category == noun
        if wanted and track < len(counts) and counts[track]:
            found.append((int(counts[track]), track, category))
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    return tuple(region(track, category, ids == track) for _, track, category in found)


class View(NamedTuple):
    """What co-visibility is judged from, on a grid of points.

    Attributes:
        points: Shape (n, 3), metres, frame-0 coordinates, of the grid points that hit something.
        owner: Shape (n,), instance id of each.
        total: Number of grid points.
        depth: Shape (height, width).
        ids: Shape (height, width).
        pose: Shape (4, 4).
        instances: id -> shown instance.
    """

    points: NDArray[np.float64]
    owner: NDArray[np.int64]
    total: int
    depth: NDArray[np.float32]
    ids: NDArray[np.uint16]
    pose: NDArray[np.float64]
    instances: dict[int, Mapping[str, Any]]


class TruthView:
    """Answers ``view``: the surface points that a frame shows, for the judge."""

    name = "truth-view"
    revision = "1"
    checksum = ""
    batch = 1

    def __init__(self, K: NDArray[np.float64]) -> None:
        self._K = K

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return everything the world knows of the frame."""
        frame = ask.frames[0]
        return tuple(truth(key, frame) for key in ("depth", "ids", "pose", "state"))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Lift a grid of points of every frame."""
        return [self._lift(*values) for values in inputs]

    def _lift(
        self,
        depth: NDArray[np.float32],
        ids: NDArray[np.uint16],
        pose: NDArray[np.float64],
        state: Mapping[str, Any],
    ) -> View:
        side = whole("r2m.covisible_grid")
        height, width = depth.shape
        rows = ((np.arange(side) + 0.5) * height / side).astype(int)
        columns = ((np.arange(side) + 0.5) * width / side).astype(int)
        v, u = (g.ravel() for g in np.meshgrid(rows, columns, indexing="ij"))
        z = depth[v, u].astype(np.float64)
        hit = z > 0
        v, u, z = v[hit], u[hit], z[hit]
        K = self._K
        camera = np.stack(
            [(u + 0.5 - K[0, 2]) / K[0, 0] * z, (v + 0.5 - K[1, 2]) / K[1, 1] * z, z], axis=1
        )
        points = camera @ pose[:3, :3].T + pose[:3, 3]
        owner = ids[v, u].astype(np.int64)
        return View(points, owner, side * side, depth, ids, np.asarray(pose), shown(state))


class TruthJudge:
    """Answers ``judge``, asked as (i, j), with the persistent-state score of a pair, 1 to 5."""

    name = "truth-judge"
    revision = "1"
    checksum = ""
    batch = 1

    def __init__(self, K: NDArray[np.float64]) -> None:
        self._K = K

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the views of both frames."""
        return tuple(Ask("view", (frame,)) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Judge every pair."""
        return [persistent_state(first, second, self._K) for first, second in inputs]


def persistent_state(first: View, second: View, K: NDArray[np.float64]) -> float:
    """Return how far the surface that two frames share is unchanged, 1 to 5; higher is better.

    With o the co-visible share of the first frame: o < 0.05 gives 1, else
    ``1 + 4 min(1, o / 0.3) x`` (share of the co-visible surface with unchanged instance, variant
    and pose). A point counts as co-visible when it projects into the second frame and is not
    hidden there by something that is itself unchanged. Source: ours.
    """
    inverse = np.linalg.inv(second.pose)
    camera = first.points @ inverse[:3, :3].T + inverse[:3, 3]
    ahead = camera[:, 2] > 1e-6
    z = np.where(ahead, camera[:, 2], 1.0)
    height, width = second.depth.shape
    u = np.floor(camera[:, 0] / z * K[0, 0] + K[0, 2])
    v = np.floor(camera[:, 1] / z * K[1, 1] + K[1, 2])
    inside = ahead & (u >= 0) & (u < width) & (v >= 0) & (v < height)
    u, v, z, owner = u[inside].astype(int), v[inside].astype(int), z[inside], first.owner[inside]
    seen, seen_depth = second.ids[v, u].astype(np.int64), second.depth[v, u]
    same = np.zeros(len(owner), dtype=np.bool_)
    changed = np.zeros(len(owner), dtype=np.bool_)
    for instance in np.unique(np.concatenate([owner, seen])).tolist():
        kept = _unchanged(first.instances.get(instance), second.instances.get(instance))
        same |= (owner == instance) & (seen == instance) & kept
        changed |= ((owner == instance) | (seen == instance)) & (not kept)
    # The nearest pixel of a slanted surface is a little off; 3 % and 3 cm cover the grid.
    slack = 0.03 * z + 0.03
    hidden = (seen_depth > 0) & (seen_depth < z - slack) & ~changed
    covisible = ~hidden
    share = int(np.count_nonzero(covisible)) / first.total
    if share < constant("r2m.covisible_min"):
        return 1.0
    good = covisible & same & ~changed
    agreement = int(np.count_nonzero(good)) / int(np.count_nonzero(covisible))
    return 1.0 + 4.0 * min(1.0, share / constant("r2m.covisible_full")) * agreement


def _unchanged(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> bool:
    if first is None or second is None:
        return first is None and second is None
    if first.get("variant") != second.get("variant"):
        return False
    a, b = first.get("pose", 0.0), second.get("pose", 0.0)
    # Most things stay where they are; np.allclose takes fifty times as long to say so.
    return (a == b) is True or bool(np.allclose(a, b, atol=1e-4))
