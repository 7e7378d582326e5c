"""R2M's frame pairs: revisits mined from a path, gap-matched baselines, short-range references."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from worldenv.camera import CameraPath, geodesic_deg
from worldenv.evaluators import released
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.checks import InvalidInput, numbers
from worldenv.world import UnknownName

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

RULES = ("paper", "paper_strict", "code", "se3")
_BLOCK = 256
_STILL = 1e-6


class Thresholds(NamedTuple):
    """What counts as the same place.

    Attributes:
        first: First frame after leading stillness.
        last: Last frame before trailing stillness.
        position: tau_pos, metres.
        rotation: tau_rot, degrees.
        gap: Smallest temporal gap, frames.
        exclusion: Radius eta around revisit ends, frames.
    """

    first: int
    last: int
    position: float
    rotation: float
    gap: float
    exclusion: int

    @property
    def length(self) -> int:
        """Effective length T."""
        return self.last - self.first + 1


class _States:
    """Camera states of a path under a rule: positions and either yaw or the full rotation."""

    def __init__(self, path: CameraPath, rule: str) -> None:
        self.position: Floats = path.poses[:, :3, 3]
        self.rotation: Floats = path.poses[:, :3, :3]
        self.full = rule == "se3"
        self.yaw: Floats = released.yaw_of(path.poses)

    def distance(self, i: Ints, j: Ints) -> Floats:
        """Metres between frames."""
        return np.asarray(np.linalg.norm(self.position[i] - self.position[j], axis=-1))

    def angle(self, i: Ints, j: Ints) -> Floats:
        """Degrees between frames: full rotation for se3, circular yaw otherwise."""
        if self.full:
            return geodesic_deg(self.rotation[i], self.rotation[j])
        return np.asarray(np.abs((self.yaw[i] - self.yaw[j] + 180) % 360 - 180))

    def embedding(self, tau_position: float, tau_rotation: float) -> Floats:
        """Points whose Euclidean distance is (nearly) the two normalised differences combined."""
        tau = np.radians(tau_rotation)
        if self.full:
            # The Frobenius distance of rotations is sqrt(2) times their small angle.
            turn = self.rotation.reshape(-1, 9) / (np.sqrt(2) * tau)
        else:
            yaw = np.radians(self.yaw)
            turn = np.stack([np.cos(yaw), np.sin(yaw)], axis=1) / tau
        points = np.concatenate([self.position / tau_position, turn], axis=1)
        # Most paths turn about one axis: a search tree is faster in the directions they use.
        points -= points.mean(axis=0)
        _, _, axes = np.linalg.svd(points.T @ points)
        points = points @ axes.T
        used = np.ptp(points, axis=0) > 1e-10
        return np.asarray(points[:, used] if used.any() else points[:, :1])


def _path(path: CameraPath | Floats) -> CameraPath:
    """Return a path from itself or from camera-to-world poses (n, 4, 4)."""
    return path if isinstance(path, CameraPath) else CameraPath.rebased(path)


def check_rule(rule: str) -> None:
    """Raise UnknownName unless ``rule`` is one of RULES."""
    if rule not in RULES:
        raise UnknownName("R2M rule", rule, RULES)


def thresholds(path: CameraPath | Floats, rule: str = "se3") -> Thresholds:
    """Return the effective stretch of a path and what counts as the same place on it.

    ``tau = clip(2 P95(step), low, high)``; gaps of at least ``max(0.2 T, 10)``. Source: R2M-Bench
    5.1.
    """
    check_rule(rule)
    path = _path(path)
    states = _States(path, rule)
    here = np.arange(len(path) - 1)
    moved = states.distance(here, here + 1)
    turned = states.angle(here, here + 1)
    full_turn = geodesic_deg(path.poses[:-1, :3, :3], path.poses[1:, :3, :3])
    moving = np.flatnonzero((moved > _STILL) | (full_turn > _STILL))
    first, last = (int(moving[0]), int(moving[-1]) + 1) if len(moving) else (0, 0)
    steps = slice(first, max(last, first + 1))

    def clip(values: Floats, name: str) -> float:
        p95 = np.percentile(values[steps], constant("r2m.percentile")) if len(values) else 0.0
        low, high = constant(f"r2m.{name}_min"), constant(f"r2m.{name}_max")
        return float(np.clip(constant("r2m.step_factor") * p95, low, high))

    T = last - first + 1
    return Thresholds(
        first,
        last,
        clip(moved, "position"),
        clip(turned, "rotation"),
        max(constant("r2m.gap_ratio") * T, constant("r2m.gap_min")),
        max(whole("r2m.exclusion_min"), T // whole("r2m.exclusion_divisor")),
    )


def mine_revisits(path: CameraPath | Floats, rule: str = "se3") -> Ints:
    """Return frame pairs at which a path comes back to where it was, shape (n, 2) earlier, later.

    For every later frame the earlier one of smallest ``position / tau_pos + angle / tau_rot``
    among those within both thresholds and far enough back in time; the earliest of equals.
    ``paper`` and ``paper_strict`` compare yaw, ``se3`` the full rotation, ``code`` does what the
    authors' released program does. Source: R2M-Bench Eq. 1. ``path`` may also be poses (n, 4, 4).

    Raises:
        UnknownName: no such rule.
        InvalidPath: the poses are not rigid.
    """
    check_rule(rule)
    path = _path(path)
    if rule == "code":
        return released.mine_revisits(path.poses)
    t = thresholds(path, rule)
    states = _States(path, rule)
    points = states.embedding(t.position, t.rotation)
    gap = int(np.ceil(t.gap))
    # Of bit-equal poses the earliest wins every tie, so only first occurrences can be paired with.
    rows = np.ascontiguousarray(path.poses[t.first : t.last + 1, :3].reshape(t.length, 12))
    _, new = np.unique(rows.view(np.dtype((np.void, rows.itemsize * 12))), return_index=True)
    fresh = np.sort(new) + t.first
    found: list[Ints] = []
    for start in range(t.first + gap, t.last + 1, _BLOCK):
        later = np.arange(start, min(start + _BLOCK, t.last + 1))
        # Frames that every later frame of the block may pair with go through a tree; the few
        # that only some may pair with are compared one by one.
        common = fresh[fresh <= start - gap]
        rest = fresh[(fresh > start - gap) & (fresh <= int(later[-1]) - gap)]
        i, j = _near(points, common, later)
        if len(rest):
            ri, rj = (g.ravel() for g in np.meshgrid(rest, later, indexing="ij"))
            fits = rj - ri >= gap
            i, j = np.concatenate([i, ri[fits]]), np.concatenate([j, rj[fits]])
        found.append(_best(states, t, i, j))
        missed = np.setdiff1d(np.unique(j), found[-1][:, 1])
        if len(missed):
            # Their nearest lay outside one threshold; another may lie within both.
            i, j = _near(points, common, missed, radius=1.5)
            found.append(_best(states, t, i, j))
    pairs = np.concatenate(found) if found else np.zeros((0, 2), np.int64)
    return pairs[np.argsort(pairs[:, 1], kind="stable")]


def _near(
    points: Floats, earlier: Ints, later: Ints, radius: float | None = None
) -> tuple[Ints, Ints]:
    """Return candidate pairs that hold the best one of every later frame.

    A sum of two differences is at most sqrt(2) times their Euclidean combination, so the best by
    sum lies within sqrt(2) times the nearest distance.
    """
    none = np.zeros(0, np.int64)
    if not len(earlier):
        return none, none
    tree = cKDTree(points[earlier])
    reach: Floats
    if radius is None:
        nearest = np.asarray(tree.query(points[later], distance_upper_bound=1.5)[0])
        later = later[np.isfinite(nearest)]
        reach = nearest[np.isfinite(nearest)] * 1.42 + 1e-9
    else:
        reach = np.full(len(later), radius)
    if not len(later):
        return none, none
    lists = tree.query_ball_point(points[later], reach)
    lengths = [len(entry) for entry in lists]
    flat = np.fromiter((k for entry in lists for k in entry), np.int64, sum(lengths))
    return earlier[flat], np.repeat(later, lengths)


def _best(states: _States, t: Thresholds, i: Ints, j: Ints) -> Ints:
    """Return the best valid candidate of every later frame, shape (m, 2)."""
    if not len(i):
        return np.zeros((0, 2), np.int64)
    distance, angle = states.distance(i, j), states.angle(i, j)
    valid = (distance <= t.position) & (angle <= t.rotation)
    i, j = i[valid], j[valid]
    combined = distance[valid] / t.position + angle[valid] / t.rotation
    # Rounded, so that equal poses reached by different arithmetic stay ties.
    order = np.lexsort((i, np.round(combined, 9), j))
    i, j = i[order], j[order]
    first = np.concatenate([[True], j[1:] != j[:-1]]) if len(j) else np.zeros(0, bool)
    return np.stack([i[first], j[first]], axis=1)


def baseline_pairs(
    path: CameraPath | Floats, revisits: Ints, seed: int = 0, rule: str = "se3"
) -> Ints:
    """Return a gap-matched pair of the same rollout for every revisit pair.

    A pair (u, v) is a candidate for the revisit (i, j) when its gap is within
    ``max(10, round(0.3 (j - i)))`` of ``j - i``, it is no revisit itself, and it is not near one:
    ``paper``, ``se3``: its ends do not both lie within eta of the two ends of one revisit pair;
    ``paper_strict``: neither end lies within eta of any revisit end. One is drawn uniformly.
    Source: R2M-Bench Eqs. 2-3; the joint reading of the neighbourhood is ours.

    Args:
        path: The target path, or its poses (n, 4, 4).
        revisits: Shape (n, 2), from ``mine_revisits`` with the same rule.
        seed: Seed of the draw; ``code`` ignores it and uses 42.
        rule: See ``mine_revisits``.

    Returns:
        Shape (n, 2), -1 where there is no candidate. ``se3``: (n, 20, 2), distinct, as many as
        there are. ``code``: (m, 2) with m >= n, as the released program adds pairs beyond the
        matched ones when there are few.

    Raises:
        UnknownName: no such rule.
        InvalidInput: the revisits are no frame pairs of the path, or the seed is no seed.
    """
    check_rule(rule)
    path = _path(path)
    revisits = _frame_pairs(revisits, len(path))
    _check_seed(seed)
    if rule == "code":
        return released.baseline_pairs(path.poses, revisits)
    draws = whole("r2m.se3_draws") if rule == "se3" else 1
    out = np.full((len(revisits), draws, 2), -1, np.int64)
    if len(revisits):
        candidates = _Candidates(path, revisits, rule)
        rng = np.random.default_rng(seed)
        for row, (i, j) in enumerate(revisits.tolist()):
            drawn = candidates.draw(j - i, draws, rng)
            out[row, : len(drawn)] = drawn
    return out if rule == "se3" else out[:, 0]


def _frame_pairs(pairs: Any, frames: int) -> Ints:
    """Return revisits as int64 (n, 2) with 0 <= earlier < later < frames."""
    if not np.size(pairs):
        return np.zeros((0, 2), np.int64)
    found = numbers("revisits", pairs, "n", 2)
    earlier, later = found[:, 0], found[:, 1]
    bad = (earlier < 0) | (earlier >= later) | (later >= frames) | (found % 1 != 0).any(axis=1)
    if bad.any():
        first = found[int(np.argmax(bad))].tolist()
        raise InvalidInput(
            f"revisits must be pairs of frames, earlier then later, on a path of {frames} frames; "
            f"got {first}"
        )
    return found.astype(np.int64)


def _check_seed(seed: Any) -> None:
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidInput(f"seed must be a whole number of at least 0, got {seed!r}")


class _Candidates:
    """Which frame pairs may serve as baselines."""

    def __init__(self, path: CameraPath, revisits: Ints, rule: str) -> None:
        self.t = thresholds(path, rule)
        self.states = _States(path, rule)
        self.strict = rule == "paper_strict"
        self.tree = cKDTree(revisits)
        ends = np.unique(revisits)
        distance = np.abs(np.arange(len(path))[:, None] - ends[None, :]).min(axis=1)
        self.near_end = distance <= self.t.exclusion

    def allowed(self, u: Ints, v: Ints) -> NDArray[np.bool_]:
        """Return which pairs are neither revisits nor near one, shape (m,)."""
        if self.strict:
            good = ~(self.near_end[u] | self.near_end[v])
        else:
            nearest, _ = self.tree.query(np.stack([u, v], axis=1), p=np.inf)
            good = nearest > self.t.exclusion
        revisit = (
            (v - u >= self.t.gap)
            & (self.states.distance(u, v) <= self.t.position)
            & (self.states.angle(u, v) <= self.t.rotation)
        )
        return np.asarray(good & ~revisit)

    def draw(self, gap: int, count: int, rng: np.random.Generator) -> Ints:
        """Return up to ``count`` distinct candidates of about that gap, uniform, shape (m, 2)."""
        tolerance = max(whole("r2m.tolerance_min"), round(constant("r2m.tolerance_ratio") * gap))
        low = max(1, gap - tolerance)
        high = min(self.t.length - 1, gap + tolerance)
        if low > high:
            return np.zeros((0, 2), np.int64)
        # Rejection keeps long paths cheap; where it finds too few, everything is listed.
        u = rng.integers(self.t.first, self.t.last + 1, 32 * count)
        v = u + rng.integers(low, high + 1, 32 * count)
        u, v = u[v <= self.t.last], v[v <= self.t.last]
        kept = np.stack([u, v], axis=1)[self.allowed(u, v)] if len(u) else np.zeros((0, 2), int)
        _, first = np.unique(kept, axis=0, return_index=True)
        if len(first) >= count:
            return np.asarray(kept[np.sort(first)[:count]])
        gaps, starts = np.meshgrid(
            np.arange(low, high + 1), np.arange(self.t.first, self.t.last + 1), indexing="ij"
        )
        u, v = starts.ravel(), (starts + gaps).ravel()
        u, v = u[v <= self.t.last], v[v <= self.t.last]
        every = np.stack([u, v], axis=1)[self.allowed(u, v)]
        chosen = rng.permutation(len(every))[:count]
        return np.asarray(every[chosen])


def short_pairs(path: CameraPath | Floats, n: int, seed: int = 0, rule: str = "se3") -> Ints:
    """Return n distinct frame pairs a few frames apart, shape (n, 2) earlier, later.

    Gaps from 2 to ``max(6, floor(0.02 T))``, drawn uniformly; fewer pairs where the path has no
    more. Source: R2M-Bench Eq. 4. ``code`` spreads the earlier frames evenly and ignores the seed.

    Raises:
        UnknownName: no such rule.
        InvalidInput: ``n`` is no whole number, or the seed is no seed.
    """
    check_rule(rule)
    path = _path(path)
    _check_seed(seed)
    if not isinstance(n, (int, np.integer)):
        raise InvalidInput(f"n must be a whole number, got {n!r}")
    if rule == "code":
        return released.short_pairs(path.poses, n)
    t = thresholds(path, rule)
    # A path that never moves still has neighbours in time.
    first, last = (t.first, t.last) if t.last > t.first else (0, len(path) - 1)
    low = whole("r2m.short_min")
    high = max(whole("r2m.short_max"), int(constant("r2m.short_ratio") * (last - first + 1)))
    gaps, starts = np.meshgrid(np.arange(low, high + 1), np.arange(first, last + 1), indexing="ij")
    u, v = starts.ravel(), (starts + gaps).ravel()
    every = np.stack([u, v], axis=1)[v <= last]
    chosen = np.random.default_rng(seed).permutation(len(every))[: max(n, 0)]
    return np.asarray(every[np.sort(chosen)])


def short_count(revisits: int) -> int:
    """Return how many short pairs a rollout with that many revisit pairs takes."""
    low, high = whole("r2m.short_count_min"), whole("r2m.short_count_max")
    return min(high, max(low, revisits))
