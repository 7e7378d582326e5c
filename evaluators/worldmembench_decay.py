"""WorldMemBench's losses: decay over revisits, and what another axis costs beyond it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.stats import Table, bootstrap

CEILING = "perfect"
"""Name of the control that is the perfect world."""
ZERO = ("no_observation", "absent")
"""Statuses that count as a score of 0."""


def is_dynamic(metric: str) -> bool:
    """Return whether a metric belongs to the event of a dynamic case."""
    return metric.startswith("dynamic_") or metric == "event_start"


def _curves(rows: Sequence[Any]) -> dict[tuple[Any, ...], dict[int, float]]:
    """Return (control, metric, variant, script, case, seed) -> revisit -> mean over targets."""
    found: dict[tuple[Any, ...], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for r in rows:
        if r.revisit is not None and (r.value is not None or r.status in ZERO):
            key = (r.control, r.metric, r.variant, r.script, r.case, r.seed)
            found[key][r.revisit].append(r.value if r.value is not None else 0.0)
    return {
        key: {k: float(np.mean(values)) for k, values in sorted(curve.items())}
        for key, curve in found.items()
    }


def decay(rows: Sequence[Any]) -> Table:
    """Mean score at every revisit, and what is lost from the first to the last."""
    curves: dict[tuple[Any, ...], list[tuple[tuple[Any, ...], dict[int, float]]]] = defaultdict(
        list
    )
    for key, curve in _curves(rows).items():
        curves[key[:4]].append((key, curve))
    nulls: dict[tuple[Any, ...], float] = {
        (*key[1:4], key[4]): curve[1] - curve[max(curve)]
        for key, curve in _curves(rows).items()
        if key[0] == CEILING and 1 in curve
    }
    longest = max((k for group in curves.values() for _, c in group for k in c), default=0)
    cells = []
    for key, group in curves.items():
        last = max(k for _, c in group for k in c)
        full = [(k, c) for k, c in group if len(c) == last]
        means = [
            float(np.mean([c[k] for _, c in full])) if full and k <= last else None
            for k in range(1, longest + 1)
        ]
        drops = [
            float(np.mean([c[1] - c[k] for _, c in full])) if full and k <= last else None
            for k in range(2, longest + 1)
        ]
        loss = bootstrap([c[1] - c[last] for _, c in full], [(k[3], k[4]) for k, _ in full])
        low, high = (loss.low, loss.high) if loss and last > 1 else (None, None)
        known = [nulls[(*key[1:], k[4])] for k, _ in full if (*key[1:], k[4]) in nulls]
        null = float(np.mean(known)) if known and last > 1 else None
        cells.append((*key, *means, *drops, low, high, null, len(full), len(full) / len(group)))
    columns = [f"R{k}" for k in range(1, longest + 1)]
    drops_named = [f"R1-R{k}" for k in range(2, longest + 1)]
    return Table(
        "WorldMemBench decay over revisits",
        (
            "control",
            "metric",
            "variant",
            "script",
            *columns,
            *drops_named,
            "low",
            "high",
            "null",
            "n",
            "coverage",
        ),
        tuple(cells),
        (
            "low, high: 95 % bootstrap of the drop from R1 to the last revisit. null: the perfect "
            "world's drop on the same cases.",
        ),
    )


Deltas = dict[tuple[Any, ...], dict[tuple[Any, ...], float]]


def _deltas(rows: Sequence[Any]) -> tuple[Deltas, dict[tuple[Any, ...], int]]:
    """Return (control, metric, variant) -> (case, seed) -> Delta_axis, and how many were tried."""
    pairs: dict[tuple[Any, ...], dict[str, dict[int, float]]] = defaultdict(dict)
    for (control, metric, variant, script, case, seed), curve in _curves(rows).items():
        name = str(script or "").partition(":")[2]
        if name in ("lrlr", "lrud") and {1, 2} <= set(curve):
            pairs[control, metric, variant, case, seed][name] = curve
    delta: Deltas = defaultdict(dict)
    tried: dict[tuple[Any, ...], int] = defaultdict(int)
    for (control, metric, variant, case, seed), both in pairs.items():
        tried[control, metric, variant] += 1
        if len(both) == 2:
            a, b = both["lrlr"], both["lrud"]
            delta[control, metric, variant][case, seed] = (b[1] - b[2]) - (a[1] - a[2])
    return delta, tried


def axis(rows: Sequence[Any]) -> Table:
    """Delta_axis beside its geometric null (the perfect world's) and the difference."""
    delta, tried = _deltas(rows)
    cells = []
    for (control, metric, variant), values in delta.items():
        null = {case: v for (case, _), v in delta.get((CEILING, metric, variant), {}).items()}
        nulls = [null[case] for case, _ in values if case in null]
        corrected = [v - null[case] for (case, _), v in values.items() if case in null]
        mean = float(np.mean(list(values.values())))
        cells.append(
            (
                control,
                metric,
                variant,
                mean,
                float(np.mean(nulls)) if nulls else None,
                float(np.mean(corrected)) if corrected else None,
                len(values),
                len(values) / tried[control, metric, variant],
            )
        )
    return Table(
        "WorldMemBench Delta_axis",
        ("control", "metric", "variant", "delta_axis", "null", "difference", "n", "coverage"),
        tuple(cells),
        ("null: the perfect world's on the same cases; read the difference.",),
    )


def positive(rows: Sequence[Any]) -> Table:
    """Count the metrics whose mean Delta_axis, and whose difference to the null, is positive."""
    table = axis(rows)
    counts: dict[tuple[Any, Any], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for row in table.rows:
        cell = dict(zip(table.columns, row, strict=True))
        # Metrics without variants count in both.
        for variant in ("whole", "core") if cell["variant"] == "" else (cell["variant"],):
            count = counts[cell["control"], variant]
            count[0] += cell["delta_axis"] > 0
            count[1] += 1
            if cell["difference"] is not None:
                count[2] += cell["difference"] > 0
                count[3] += 1
    columns = "control variant positive metrics positive_difference with_null"
    return Table(
        "WorldMemBench Delta_axis, positive metrics",
        tuple(columns.split()),
        tuple((*key, *count) for key, count in counts.items()),
        ("How many metrics lose more where the second turn is about another axis.",),
    )
