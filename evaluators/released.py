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
_BLOCK = 16
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
    # What % 360 gives within one turn, in a quarter of its time.
    turn = np.asarray(a - b + 180.0)
    turn = np.where(turn < 0, turn + 360.0, np.where(turn >= 360, turn - 360.0, turn))
    return np.asarray(np.abs(turn - 180.0))


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


class _Matches:
    """Frame pairs within both tolerances in the order later, earlier, by blocks of later frames.

    With segments a frame pairs with its best of each earlier segment, else with every earlier one.
    Paths can have pairs by the ten million: they are counted, and only what is drawn is listed.
    """

    def __init__(self, m: _Moves, segments: list[tuple[int, int]] | None) -> None:
        self.m = m
        self.degrees, self.metres = _tolerances(m)
        self.segment: Ints | None = None
        if segments is not None:
            self.segment = np.full(m.length, -1, np.int64)
            for k, (first, last) in enumerate(segments):
                self.segment[first : last + 1] = k
        angle = np.radians(m.yaw)
        self._points = np.column_stack([m.position, np.cos(angle), np.sin(angle)])
        turn = math.radians(self.degrees)
        self._reach = np.array([self.metres] * 3 + [turn] * 2) + 1e-9
        self._gap = int(m.length * constant("r2m.gap_ratio"))
        counts = np.array([self._count(start) for start in range(0, m.length, _BLOCK)])
        self.total, self.kept = counts.sum(axis=0).tolist()
        self._ends = np.cumsum(counts[:, 1])

    def take(self, ranks: list[int]) -> Ints:
        """Return the pairs of these places in the order of all that keep the gap, shape (n, 2)."""
        out = np.zeros((len(ranks), 2), np.int64)
        wanted = np.asarray(ranks, np.int64)
        blocks = np.searchsorted(self._ends, wanted, side="right")
        for block in np.unique(blocks).tolist():
            pairs = self.of(block * _BLOCK)
            pairs = pairs[pairs[:, 1] - pairs[:, 0] >= self._gap]
            here = blocks == block
            out[here] = pairs[wanted[here] - (self._ends[block] - len(pairs))]
        return out

    def _count(self, start: int) -> tuple[int, int]:
        """Return the number of pairs of a block, and of those that keep the gap."""
        if self.segment is None:
            # Of a path that rests nearly all fit: listing them takes longer than counting.
            near, later, fits, _, _ = self._compared(start)
            kept = fits & (later[:, None] - near >= self._gap)
            return int(np.count_nonzero(fits)), int(np.count_nonzero(kept))
        pairs = self.of(start)
        return len(pairs), int(np.count_nonzero(pairs[:, 1] - pairs[:, 0] >= self._gap))

    def _compared(self, start: int) -> tuple[Ints, Ints, NDArray[np.bool_], Floats, Floats]:
        """Return earlier (e,) and later (l,) frames of a block; fits, turn and move (l, e)."""
        m = self.m
        later = np.arange(start, min(start + _BLOCK, m.length))
        # What lies outside the block's box can match none of its frames.
        box = self._points[later]
        earlier = self._points[: max(0, int(later[-1]) - _MATCH_GAP + 1)]
        inside = (earlier >= box.min(axis=0) - self._reach) & (
            earlier <= box.max(axis=0) + self._reach
        )
        near = np.flatnonzero(inside.all(axis=1))
        if self.segment is not None:
            near = near[self.segment[near] >= 0]
        x, y, z = (m.position[near, k] - m.position[later, k, None] for k in range(3))
        move = np.sqrt(x * x + y * y + z * z)
        fits = (move <= self.metres) & (later[:, None] - near >= _MATCH_GAP)
        if self.segment is None:
            turn = _circular(m.yaw[later, None], m.yaw[near])
        else:
            turn = _circular(m.yaw[near], m.yaw[later, None])
            fits &= self.segment[near] < self.segment[later, None]
        return near, later, fits & (turn <= self.degrees), turn, move

    def of(self, start: int) -> Ints:
        """Return the pairs whose later frame lies in the block from ``start``, shape (n, 2)."""
        near, later, fits, turn, move = self._compared(start)
        row, column = np.nonzero(fits)
        pairs = np.stack([near[column], later[row]], axis=1)
        if self.segment is None or not len(pairs):
            return pairs
        cost = turn[fits] + _POSITION_WEIGHT * move[fits]
        group = row * self.m.length + self.segment[pairs[:, 0]]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        least = np.repeat(np.minimum.reduceat(cost, starts), np.diff(starts, append=len(cost)))
        best = np.flatnonzero(cost == least)
        # The earliest of equals.
        return np.asarray(pairs[best[np.diff(group[best], prepend=-1) != 0]])


def mine_revisits(poses: Floats) -> Ints:
    """Return at most 100 revisit pairs, shape (n, 2) earlier, later, in the drawn order."""
    m = _effective(poses)
    matches = _Matches(m, _segments(m))
    if matches.total < _FEWEST_BY_SEGMENT:
        other = _Matches(m, None)
        matches = other if other.total > matches.total else matches
    most = whole("r2m.code_pairs")
    ranks = list(range(min(matches.kept, most)))
    if matches.kept > most:
        ranks = random.Random(whole("r2m.code_seed")).sample(range(matches.kept), most)
    return matches.take(ranks)


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
