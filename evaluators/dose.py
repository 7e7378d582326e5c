"""How a score answers to a dose: means, slope, permutation test, rank correlation, detection."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from worldenv.evaluators.constants import constant
from worldenv.evaluators.stats import Interval, bootstrap

__all__ = [
    "LARGEST_P",
    "Curve",
    "Observation",
    "curve",
    "monotone",
    "permuted",
    "slope",
    "spearman",
]

Floats = NDArray[np.float64]

DRAWS = 1000
PERMUTATIONS = 10_000
"""Enough that whether a p lies below ``LARGEST_P`` hardly depends on their seed."""
LARGEST_P = 0.01
"""A response counts as one from below this p."""
LEAST_CASES = 3
"""Fewer cases than this give no interval: drawn again and again, they only repeat themselves."""
SATURATED = 0.95
"""Share of the change to the largest dose at which a score counts as saturated."""


class Observation(NamedTuple):
    """One rollout's value of one score.

    Attributes:
        case: What was walked.
        seed: Of the episode.
        dose: In [0, 1].
        value: The score.
    """

    case: str
    seed: int
    dose: float
    value: float


class Curve(NamedTuple):
    """How one score answers to one fault; fields as in ``worldenv.calibration.Response``.

    ``change`` is the mean over pairs of case and seed of the value at the largest dose less that
    at dose 0, None where no pair has both. ``least_p`` is the smallest p that so many rollouts can
    give: of all orders of their doses, the sorted one and its reverse are farthest out. ``cases``
    is the number of cases, ``whole`` whether they have every dose that was asked for.

    Intervals are percentile intervals over cases. With three to five cases these cover less than
    they say (three quarters to five sixths of draws), so nothing is concluded from one alone:
    ``detects`` asks for p too.
    """

    doses: tuple[float, ...]
    means: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    counts: tuple[int, ...]
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    p: float | None
    least_p: float
    rho: float | None
    change: float | None
    detects: float | None
    saturates: float | None
    cases: int
    whole: bool


def spearman(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> float | None:
    """Return Spearman's rho in [-1, 1]; 0 where one is constant, None for fewer than two values.

    A constant score tells nothing of the dose, so it counts as unrelated, not as missing.

    Args:
        a: Shape (n,).
        b: Shape (n,).

    Example:
        >>> spearman([0, 0.5, 1], [3, 2, 1])
        -1.0
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values beside {len(b)}")
    if len(a) < 2:
        return None
    x, y = (rankdata(np.asarray(v, np.float64)) for v in (a, b))
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return 0.0 if scale == 0 else float(np.clip(x @ y / scale, -1.0, 1.0))


def monotone(means: Sequence[float | None], sign: int) -> bool | None:
    """Return whether means rise (``sign`` 1) or fall (-1) strictly; 0 asks for either.

    None where a mean is missing or there are fewer than two.
    """
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means) or len(known) < 2:
        return None
    steps = np.diff(known)
    rises, falls = bool((steps > 0).all()), bool((steps < 0).all())
    return rises if sign > 0 else falls if sign < 0 else rises or falls


def slope(observations: Sequence[Observation], *, seed: int = 0) -> Interval | None:
    """Return the change of the score for a dose from 0 to 1, with its 95 % interval over cases.

    Least squares with a level of its own for every case; for the interval cases are drawn with
    replacement. None where no case has two doses.

    Args:
        observations: Rollouts with a value.
        seed: Seed of the draws.
    """
    products, squares = [], []
    for members in _by(observations, lambda o: o.case).values():
        x = np.array([o.dose for o in members])
        y = np.array([o.value for o in members])
        x = x - x.mean()
        products.append(float(x @ (y - y.mean())))
        squares.append(float(x @ x))
    top, bottom = np.array(products), np.array(squares)
    top, bottom = top[bottom > 0], bottom[bottom > 0]
    if not len(top):
        return None
    picks = np.random.default_rng(seed).integers(len(top), size=(DRAWS, len(top)))
    estimates = top[picks].sum(axis=1) / bottom[picks].sum(axis=1)
    tail = 50 * (1 - constant("stats.confidence"))
    low, high = np.percentile(estimates, [tail, 100 - tail])
    return Interval(float(top.sum() / bottom.sum()), float(low), float(high))


def permuted(
    observations: Sequence[Observation], *, draws: int = PERMUTATIONS, seed: int = 0
) -> float | None:
    """Return the two-sided p-value of the slope, doses permuted within case and seed, in (0, 1].

    None where no case and seed has two doses.

    Args:
        observations: Rollouts with a value.
        draws: Permutations; the smallest p is 1 / (draws + 1).
        seed: Seed of the permutations.
    """
    level = {
        case: float(np.mean([o.value for o in members]))
        for case, members in _by(observations, lambda o: o.case).items()
    }
    rng = np.random.default_rng(seed)
    sums, observed, moved = np.zeros(draws), 0.0, False
    for members in _by(observations, lambda o: (o.case, o.seed)).values():
        x = np.array([o.dose for o in members])
        y = np.array([o.value - level[o.case] for o in members])
        x = x - x.mean()
        moved |= bool(x.any())
        observed += float(x @ y)
        sums += rng.permuted(np.tile(x, (draws, 1)), axis=1) @ y
    if not moved:
        return None
    slack = 1e-12 * max(1.0, abs(observed))
    return float((np.count_nonzero(np.abs(sums) >= abs(observed) - slack) + 1) / (draws + 1))


def curve(
    observations: Iterable[Observation],
    doses: Sequence[float],
    *,
    graded: bool,
    seed: int = 0,
) -> Curve:
    """Return how a score answers to a fault.

    Only pairs of case and seed with a value at every dose count: else the means of two doses would
    be over different rollouts. Where no pair has that many, those with the first and the last dose
    count, and the curve has these two doses.

    Args:
        observations: Rollouts with a value, dose 0 included.
        doses: Ascending, 0 first.
        graded: Whether the fault is graded within a case: rho is then the median over cases of
            the correlation with the means over seeds, else that of the means over all.
        seed: Of the draws.
    """
    asked = tuple(doses)
    rows, doses = _complete(list(observations), asked)
    cases = len({o.case for o in rows})
    by_dose = _by(rows, lambda o: o.dose)
    groups = [by_dose.get(dose, []) for dose in doses]
    found = [
        bootstrap([o.value for o in g], [o.case for o in g], draws=DRAWS, seed=seed) for g in groups
    ]
    fit = slope(rows, seed=seed)
    p = permuted(rows, seed=seed)
    changes = [_change(rows, doses[0], dose, seed) for dose in doses[1:]]
    last = changes[-1] if changes else None
    responds = cases >= LEAST_CASES and p is not None and p < LARGEST_P
    saturates = None
    if last is not None and last.value != 0:
        saturates = next(
            d
            for d, c in zip(doses[1:], changes, strict=True)
            if c and c.value * np.sign(last.value) >= SATURATED * abs(last.value)
        )
    return Curve(
        tuple(doses),
        tuple(f.value if f else None for f in found),
        tuple(f.low if f else None for f in found),
        tuple(f.high if f else None for f in found),
        tuple(len(g) for g in groups),
        fit.value if fit else None,
        fit.low if fit else None,
        fit.high if fit else None,
        p,
        _least_p(rows),
        _rho(rows, doses, [f.value if f else None for f in found], graded),
        None if last is None else last.value,
        _detected(doses[1:], changes) if responds else None,
        saturates,
        cases,
        doses == asked,
    )


def _complete(
    rows: Sequence[Observation], doses: tuple[float, ...]
) -> tuple[list[Observation], tuple[float, ...]]:
    """Return the rollouts of cases and seeds that have every dose, and the doses that they have."""
    pairs = list(_by(rows, lambda o: (o.case, o.seed)).values())
    for wanted in (doses, (doses[0], doses[-1])):
        whole = [m for m in pairs if {o.dose for o in m} >= set(wanted)]
        if whole:
            return [o for members in whole for o in members if o.dose in wanted], wanted
    return [], doses


def _detected(doses: Sequence[float], changes: Sequence[Interval | None]) -> float | None:
    """Return the least dose from which on every change lies on the side of the last one."""
    least = side = None
    for dose, change in zip(reversed(doses), reversed(changes), strict=True):
        if change is None or change.low <= 0 <= change.high:
            break
        if side is not None and (change.value > 0) != side:
            break
        least, side = dose, change.value > 0
    return least


def _change(rows: Sequence[Observation], first: float, dose: float, seed: int) -> Interval | None:
    """Return the mean change from one dose to another over cases and seeds, which have both."""
    pairs = _by((o for o in rows if o.dose in (first, dose)), lambda o: (o.case, o.seed))
    both = {key: {o.dose: o.value for o in members} for key, members in pairs.items()}
    changes = [values[dose] - values[first] for values in both.values()]
    return bootstrap(changes, [case for case, _ in both], draws=DRAWS, seed=seed)


def _least_p(rows: Sequence[Observation]) -> float:
    groups = _by(rows, lambda o: (o.case, o.seed)).values()
    orders = math.prod(math.factorial(len({o.dose for o in members})) for members in groups)
    return min(1.0, max(2 / orders, 1 / (PERMUTATIONS + 1)))


def _rho(
    rows: Sequence[Observation],
    doses: Sequence[float],
    means: Sequence[float | None],
    graded: bool,
) -> float | None:
    if not graded:
        known = [(d, m) for d, m in zip(doses, means, strict=True) if m is not None]
        return spearman([d for d, _ in known], [m for _, m in known])
    found = []
    for members in _by(rows, lambda o: o.case).values():
        by_dose = _by(members, lambda o: o.dose)
        values = {d: float(np.mean([o.value for o in g])) for d, g in by_dose.items()}
        found.append(spearman(list(values), list(values.values())))
    known_rho = [rho for rho in found if rho is not None]
    return float(np.median(known_rho)) if known_rho else None


def _by(
    rows: Iterable[Observation], key: Callable[[Observation], Any]
) -> dict[Any, list[Observation]]:
    out: dict[Any, list[Observation]] = defaultdict(list)
    for row in rows:
        out[key(row)].append(row)
    return dict(out)
