"""R2M's rule ``code``: what the authors' released program does where it departs from the paper.

Revisits are searched between motion segments, pitch and roll are ignored, only trailing stillness
is cut, at most 100 pairs are kept, and every draw follows Python's ``Random(42)``.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import geodesic_deg
from worldenv.evaluators.constants import constant, whole

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOVE, _TURN = 0.01, 0.5
_MATCH_GAP = 10
_POSITION_WEIGHT = 10.0
_FEWEST_BY_SEGMENT = 3
_BINS, _ATTEMPTS, _FEWEST_BASELINES = 10, 500, 20
_RELAXED_RATIO, _RELAXED_MIN = 0.5, 3


def yaw_of(poses: Floats) -> Floats:
    """Return atan2(R02, R00) in degrees, shape (n,): the yaw of a level camera."""
    return np.asarray(np.degrees(np.arctan2(poses[:, 0, 2], poses[:, 0, 0])))


class _Moves(NamedTuple):
    position: Floats
    yaw: Floats
    length: int


def _effective(poses: Floats) -> _Moves:
    """Cut trailing frames that differ from their neighbour by less than 1 cm and half a degree."""
    n = len(poses)
    moved = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    turned = geodesic_deg(poses[:-1, :3, :3], poses[1:, :3, :3])
    moving = np.flatnonzero((moved > _MOVE) | (turned > _TURN))
    length = int(moving[-1]) + 2 if len(moving) and n >= 3 else n
    return _Moves(poses[:length, :3, 3], yaw_of(poses[:length]), length)


def _circular(a: Floats, b: Floats | float) -> Floats:
    return np.asarray(np.abs((a - b + 180.0) % 360.0 - 180.0))


def _tolerances(m: _Moves) -> tuple[float, float]:
    """Return (degrees, metres)."""
    if m.length < 2:
        return 2.0, 0.1
    steps = np.linalg.norm(np.diff(m.position, axis=0), axis=1)
    turns = _circular(m.yaw[1:], m.yaw[:-1])

    def clip(values: Floats, name: str) -> float:
        p95 = float(np.percentile(values, constant("r2m.percentile")))
        low, high = constant(f"r2m.{name}_min"), constant(f"r2m.{name}_max")
        return max(low, min(constant("r2m.step_factor") * p95, high))

    return clip(turns, "rotation"), clip(steps, "position")


def _segments(m: _Moves) -> list[tuple[int, int]]:
    """Return first and last frame of every stretch of one kind of motion."""
    kinds = ["" for _ in range(m.length)]
    for i in range(1, m.length):
        step = m.position[i] - m.position[i - 1]
        # Not circular here: a step across 180 degrees counts as a turn back.
        turn = float(m.yaw[i] - m.yaw[i - 1])
        if float(np.linalg.norm(step)) > _MOVE and abs(turn) < _TURN:
            kinds[i] = "forth" if step[int(np.argmax(np.abs(step)))] > 0 else "back"
        elif abs(turn) > _TURN:
            kinds[i] = "right" if turn > 0 else "left"
    out: list[tuple[int, int]] = []
    current, start = "", 0
    for i in range(1, m.length):
        if kinds[i] and kinds[i] != current:
            if current:
                out.append((start, i - 1))
            current, start = kinds[i], i
    if current:
        out.append((start, m.length - 1))
    return out


def _by_segment(m: _Moves, degrees: float, metres: float) -> list[tuple[int, int]]:
    segments = _segments(m)
    pairs: list[tuple[int, int]] = []
    for k, (later_start, later_end) in enumerate(segments):
        for earlier_start, earlier_end in segments[:k]:
            for later in range(later_start, later_end + 1):
                earlier = np.arange(earlier_start, earlier_end + 1)
                earlier = earlier[later - earlier >= _MATCH_GAP]
                turn = _circular(m.yaw[earlier], float(m.yaw[later]))
                move = np.linalg.norm(m.position[earlier] - m.position[later], axis=1)
                fits = (turn <= degrees) & (move <= metres)
                if fits.any():
                    cost = np.where(fits, turn + _POSITION_WEIGHT * move, np.inf)
                    pairs.append((int(earlier[int(np.argmin(cost))]), later))
    return pairs


def _everywhere(m: _Moves, degrees: float, metres: float) -> list[tuple[int, int]]:
    pairs = []
    for i in range(m.length):
        later = np.arange(i + _MATCH_GAP, m.length)
        move = np.linalg.norm(m.position[later] - m.position[i], axis=1)
        fits = (move <= metres) & (_circular(m.yaw[later], float(m.yaw[i])) <= degrees)
        pairs += [(i, int(j)) for j in later[fits]]
    return pairs


def mine_revisits(poses: Floats) -> Ints:
    """Return at most 100 revisit pairs, shape (n, 2) earlier, later, in the drawn order."""
    m = _effective(poses)
    degrees, metres = _tolerances(m)
    pairs = _by_segment(m, degrees, metres)
    if len(pairs) < _FEWEST_BY_SEGMENT:
        other = _everywhere(m, degrees, metres)
        pairs = other if len(other) > len(pairs) else pairs
    unique = sorted(set(pairs), key=lambda pair: (pair[1], pair[0]))
    gap = int(m.length * constant("r2m.gap_ratio"))
    kept = [pair for pair in unique if pair[1] - pair[0] >= gap]
    most = whole("r2m.code_pairs")
    if len(kept) > most:
        kept = random.Random(whole("r2m.code_seed")).sample(kept, most)
    return np.array(kept, np.int64).reshape(-1, 2)


class _Baselines:
    """Draws baselines frame by frame, in the order in which the released program draws."""

    def __init__(self, poses: Floats, revisits: Ints) -> None:
        self.n = _effective(poses).length
        self.revisits = revisits
        self.radius = max(whole("r2m.exclusion_min"), self.n // whole("r2m.exclusion_divisor"))
        self.taken = set(revisits.ravel().tolist())
        self.used: set[tuple[int, int]] = set()
        self.rng = random.Random(whole("r2m.code_seed"))
        size = max(1, math.ceil(self.n / _BINS))
        self._size = size
        self.bins: list[list[int]] = [[] for _ in range(_BINS)]
        for frame in range(self.n):
            if frame not in self.taken:
                self.bins[self.bin_of(frame)].append(frame)

    def bin_of(self, frame: int) -> int:
        """Return the temporal bin of a frame."""
        return min(frame // self._size, _BINS - 1)

    def anchors(self, frame: int, low: int, high: int) -> list[int]:
        """Return frames of the nearest temporal bins that hold at least two."""
        at = self.bin_of(frame)
        near: list[int] = []
        for radius in range(_BINS + 1):
            near = [f for b in self.bins[max(0, at - radius) : at + radius + 1] for f in b]
            if len(near) >= 2:
                break
        reach = [f for f in near if f + high < self.n]
        return reach or [f for f in near if f + low < self.n]

    def fits(self, u: int, v: int) -> bool:
        """Return whether (u, v) may be a baseline."""
        if v >= self.n or v in self.taken or (u, v) in self.used:
            return False
        near = np.abs(self.revisits - np.array([u, v])) <= self.radius
        return not bool(near.all(axis=1).any())

    def matched(self, anchor: int, back: int) -> tuple[int, int] | None:
        """Return the best gap match of up to 500 draws."""
        gap = back - anchor
        slack = max(whole("r2m.tolerance_min"), round(constant("r2m.tolerance_ratio") * gap))
        low, high = max(1, gap - slack), min(self.n - 1, gap + slack)
        anchors = self.anchors(anchor, low, high)
        best: tuple[int, int] | None = None
        error = math.inf
        for _ in range(_ATTEMPTS if anchors else 0):
            u = self.rng.choice(anchors)
            drawn = self.rng.randint(low, high)
            if self.fits(u, u + drawn) and abs(drawn - gap) < error:
                best, error = (u, u + drawn), abs(drawn - gap)
                if error == 0:
                    break
        if best is not None:
            self.used.add(best)
        return best

    def more(self, needed: int) -> list[tuple[int, int]]:
        """Return extra pairs with a gap tolerance of half the gap."""
        out: list[tuple[int, int]] = []
        for anchor, back in self.revisits.tolist():
            if len(out) >= needed:
                break
            gap = back - anchor
            slack = max(_RELAXED_MIN, round(_RELAXED_RATIO * gap))
            low, high = max(1, gap - slack), min(self.n - 1, gap + slack)
            anchors = self.anchors(anchor, low, high)
            for _ in range(_ATTEMPTS if anchors else 0):
                if len(out) >= needed:
                    break
                u = self.rng.choice(anchors)
                v = u + self.rng.randint(low, high)
                if self.fits(u, v):
                    out.append((u, v))
                    self.used.add((u, v))
        return out


def baseline_pairs(poses: Floats, revisits: Ints) -> Ints:
    """Return one row a revisit (-1 where unmatched), then the extra pairs, shape (m, 2)."""
    if not len(revisits):
        return np.zeros((0, 2), np.int64)
    draw = _Baselines(poses, np.asarray(revisits, np.int64))
    if sum(map(len, draw.bins)) < 2:
        return np.full((len(revisits), 2), -1, np.int64)
    rows = [draw.matched(i, j) for i, j in revisits.tolist()]
    found = sum(row is not None for row in rows)
    extra = draw.more(_FEWEST_BASELINES - found) if found < _FEWEST_BASELINES else []
    return np.array([row or (-1, -1) for row in rows] + extra, np.int64)


def short_pairs(poses: Floats, count: int) -> Ints:
    """Return one pair for each of ``count`` evenly spread frames, shape (n, 2)."""
    n = _effective(poses).length
    low = whole("r2m.short_min")
    high = max(low, whole("r2m.short_max"), int(constant("r2m.short_ratio") * n))
    anchors = n - low
    if anchors < 1 or count < 1:
        return np.zeros((0, 2), np.int64)
    rng = random.Random(whole("r2m.code_seed"))
    pairs: list[tuple[int, int]] = []
    used: set[tuple[int, int]] = set()
    spread = [round(float(x)) for x in np.linspace(0, anchors - 1, num=min(count, anchors))]
    for anchor in spread:
        most = min(high, n - 1 - anchor)
        for _ in range(max(10, 5000 // len(spread))):
            pair = (anchor, anchor + rng.randint(low, most))
            if pair not in used:
                used.add(pair)
                pairs.append(pair)
                break
    return np.array(pairs, np.int64).reshape(-1, 2)
