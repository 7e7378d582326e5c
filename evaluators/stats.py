"""Statistics of every table: clustered intervals, paired tests, correlations, and the Table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant, whole

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """A table as plain values.

    Attributes:
        title: What it shows.
        columns: Column names.
        rows: Cells in column order; None where there is no value.
        notes: What the reader must know.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} cells under {len(self.columns)} columns: {row}")


class Interval(NamedTuple):
    """An estimate with its percentile interval."""

    value: float
    low: float
    high: float


def bootstrap(
    values: Sequence[float] | Floats,
    clusters: Sequence[Hashable],
    *,
    statistic: Callable[[Floats], float] | None = None,
    draws: int | None = None,
    seed: int = 0,
) -> Interval | None:
    """Return the mean with its 95 % percentile interval, clusters drawn with replacement.

    Args:
        values: Shape (n,).
        clusters: Cluster of every value; values of one cluster are drawn together.
        statistic: Values -> number, the mean where None.
        draws: Bootstrap draws, 1000 where None.
        seed: Seed of the draws.

    Returns:
        None without values. With one cluster the interval is the value alone.

    Example:
        >>> bootstrap([1.0, 1.0, 1.0], "abc")
        Interval(value=1.0, low=1.0, high=1.0)
    """
    data = np.asarray(values, np.float64)
    if len(data) != len(clusters):
        raise ValueError(f"{len(data)} values beside {len(clusters)} clusters")
    if not len(data):
        return None
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index, cluster in enumerate(clusters):
        groups[cluster].append(index)
    members = [np.array(group) for group in groups.values()]
    rng = np.random.default_rng(seed)
    count = whole("stats.bootstrap") if draws is None else draws
    picks = rng.integers(len(members), size=(count, len(members)))
    if statistic is None:
        # The mean of a resample needs only the sum and size of each cluster.
        sums = np.array([data[m].sum() for m in members])
        sizes = np.array([len(m) for m in members])
        estimates = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
        value = float(data.mean())
    else:
        estimates = np.array(
            [statistic(data[np.concatenate([members[k] for k in pick])]) for pick in picks]
        )
        value = float(statistic(data))
    tail = 50 * (1 - constant("stats.confidence"))
    low, high = np.percentile(estimates, [tail, 100 - tail])
    return Interval(value, float(low), float(high))


def paired_permutation(
    a: Sequence[float] | Floats, b: Sequence[float] | Floats, *, draws: int = 10_000, seed: int = 0
) -> float:
    """Return the two-sided p-value of mean(a - b) under random sign flips, in (0, 1].

    Exact up to 13 pairs (every flip is tried), sampled beyond.

    Args:
        a: Shape (n,), n >= 1.
        b: Shape (n,), paired with ``a``.
        draws: Sampled flips.
        seed: Seed of the flips.
    """
    difference = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    n = len(difference)
    if not n:
        raise ValueError("paired_permutation needs at least one pair")
    observed = abs(difference.sum())
    if n <= 13:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        sums = np.abs((1 - 2 * bits) @ difference)
        return float(np.mean(sums >= observed - 1e-12))
    signs = 1 - 2 * np.random.default_rng(seed).integers(0, 2, (draws, n))
    sums = np.abs(signs @ difference)
    return float((np.count_nonzero(sums >= observed - 1e-12) + 1) / (draws + 1))


def fisher_mean(correlations: Iterable[float]) -> float | None:
    """Return tanh(mean(arctanh(rho))), None without correlations.

    Example:
        >>> round(fisher_mean([0.3, 0.3]), 6)
        0.3
    """
    rho = np.clip(np.array(list(correlations), np.float64), -1 + 1e-12, 1 - 1e-12)
    return float(np.tanh(np.mean(np.arctanh(rho)))) if len(rho) else None


def family_mean(
    correlations: Mapping[str, float | None], families: Mapping[str, Sequence[str]]
) -> float | None:
    """Return the correlation averaged within families, then over them, on Fisher's z."""
    means = []
    for metrics in families.values():
        found = [r for r in (correlations.get(m) for m in metrics) if r is not None]
        mean = fisher_mean(found)
        if mean is not None:
            means.append(mean)
    return fisher_mean(means)


def summarise(rows: Sequence[Any], seed: int = 0) -> tuple[Any, ...]:
    """Return (mean, low, high, n, coverage) of score rows; None where nothing has a value.

    Clusters are script x case. Coverage is the share of rows with a value.
    """
    valued = [row for row in rows if row.value is not None]
    found = bootstrap(
        [row.value for row in valued], [(row.script, row.case) for row in valued], seed=seed
    )
    share = len(valued) / len(rows) if rows else 0.0
    return (*(found or (None, None, None)), len(valued), share)


def grouped(rows: Iterable[Any], *keys: str) -> dict[tuple[Any, ...], list[Any]]:
    """Return rows by the values of their attributes, in order of first appearance."""
    out: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in rows:
        out[tuple(getattr(row, key) for key in keys)].append(row)
    return dict(out)


def backbone_of(rows: Iterable[Any]) -> str:
    """Return the backbones that rows name, by attribute or in their detail."""
    names = {
        str(getattr(row, "backbone", None) or (row.detail or {}).get("backbone") or "")
        for row in rows
    }
    return ", ".join(sorted(name for name in names if name))
