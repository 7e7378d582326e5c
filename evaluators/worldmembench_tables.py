"""WorldMemBench's tables: means with ceilings, decay, the cost of another axis, qualified sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.constants import constant
from worldenv.evaluators.stats import Table, backbone_of, bootstrap, grouped, summarise

CEILING = "perfect"
"""Name of the control that is the perfect world."""
ROTATIONS = ("lrlr", "lrlrlr", "lrud")
TOLERANCES = (30.0, 15.0, 5.0)
_ZERO = ("no_observation", "absent")
_DYNAMIC = ("dynamic_progress", "dynamic_persistence", "dynamic_final_state", "dynamic_causal")


def tabulate(rows: Sequence[Any]) -> list[Table]:
    """Return the tables of a run.

    Args:
        rows: Objects with the fields of Score plus suite, case, category, script, seed, episode,
            control.
    """
    mine = [row for row in rows if row.benchmark == "worldmembench"]
    if not mine:
        return []
    tables = [_means(mine), _decay(mine), _axis(mine), _qualified(mine), _dynamic(mine)]
    return [table for table in tables if table.rows]


def _script(row: Any) -> str:
    return str(row.script or "").partition(":")[2].partition("(")[0] or str(row.script or "")


def _episodes(rows: Sequence[Any]) -> list[Any]:
    """Return the rows of whole rollouts, without the parts of the event."""
    return [r for r in rows if r.revisit is None and not _is_dynamic(r.metric)]


def _is_dynamic(metric: str) -> bool:
    return metric.startswith("dynamic_") or metric == "event_start"


def _means(rows: Sequence[Any]) -> Table:
    """Means by script and category; the rotation scripts' equal-weight mean; the ceiling."""
    ceiling = {
        (r.script, r.case, r.metric, r.variant): r.value
        for r in _episodes(rows)
        if r.control == CEILING and r.value is not None
    }
    revisits = [r for r in rows if r.revisit is not None]
    counted = grouped(revisits, "control", "metric", "variant", "script", "category")
    cells: list[tuple[Any, ...]] = []
    by_script: dict[tuple[Any, ...], dict[str, tuple[float, int]]] = defaultdict(dict)
    groups = grouped(_episodes(rows), "control", "metric", "variant", "script", "category")
    for key, group in groups.items():
        control, metric, variant, script, category = key
        mean, low, high, n, share = summarise(group)
        tops = [
            ceiling[r.script, r.case, r.metric, r.variant]
            for r in group
            if r.value is not None and (r.script, r.case, r.metric, r.variant) in ceiling
        ]
        top = float(np.mean(tops)) if tops else None
        parts = counted.get(key, [])
        zeros = tuple(sum(r.status == status for r in parts) for status in _ZERO)
        reason = next((r.detail.get("reason") for r in group if r.value is None and r.detail), None)
        cells.append(
            (
                control,
                metric,
                variant,
                backbone_of(group),
                script,
                category,
                mean,
                low,
                high,
                top,
                n,
                share,
                *zeros,
                group[0].status if n == 0 else "ok",
                None if n else reason,
            )
        )
        if mean is not None and _script(group[0]) in ROTATIONS:
            by_script[control, metric, variant, category][script] = (mean, n)
    for (control, metric, variant, category), means in by_script.items():
        if len(means) > 1:
            mean = float(np.mean([m for m, _ in means.values()]))
            n = sum(count for _, count in means.values())
            cells.append(
                (
                    control,
                    metric,
                    variant,
                    "",
                    "mean of rotations",
                    category,
                    mean,
                    None,
                    None,
                    None,
                    n,
                    None,
                    None,
                    None,
                    "ok",
                    None,
                )
            )
    columns = "control metric variant backbone script category mean low high ceiling n coverage"
    return Table(
        "WorldMemBench",
        (*columns.split(), *_ZERO, "status", "reason"),
        tuple(cells),
        (
            "Revisits without a valid observation count 0 and are counted under no_observation "
            "(the detector missed) and absent (gone).",
            "ceiling: the perfect world on the same cases. whole: all valid frames of a return; "
            "core: near the start and uncut. 95 % bootstrap over script x case.",
        ),
    )


def _curves(rows: Sequence[Any]) -> dict[tuple[Any, ...], dict[int, float]]:
    """Return (control, metric, variant, script, case, seed) -> revisit -> mean over targets."""
    found: dict[tuple[Any, ...], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for r in rows:
        if r.revisit is not None and (r.value is not None or r.status in _ZERO):
            key = (r.control, r.metric, r.variant, r.script, r.case, r.seed)
            found[key][r.revisit].append(r.value if r.value is not None else 0.0)
    return {
        key: {k: float(np.mean(values)) for k, values in sorted(curve.items())}
        for key, curve in found.items()
    }


def _decay(rows: Sequence[Any]) -> Table:
    """Mean score at every revisit, and what is lost from the first to the last."""
    curves: dict[tuple[Any, ...], list[tuple[tuple[Any, ...], dict[int, float]]]] = defaultdict(
        list
    )
    for key, curve in _curves(rows).items():
        curves[key[:4]].append((key, curve))
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
        cells.append((*key, *means, *drops, low, high, len(full), len(full) / len(group)))
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
            "n",
            "coverage",
        ),
        tuple(cells),
        ("low, high: 95 % bootstrap of the drop from R1 to the last revisit.",),
    )


def _axis(rows: Sequence[Any]) -> Table:
    """Delta_axis beside its geometric null (the perfect world's) and the difference."""
    pairs: dict[tuple[Any, ...], dict[str, dict[int, float]]] = defaultdict(dict)
    for (control, metric, variant, script, case, seed), curve in _curves(rows).items():
        name = str(script or "").partition(":")[2]
        if name in ("lrlr", "lrud") and {1, 2} <= set(curve):
            pairs[control, metric, variant, case, seed][name] = curve
    delta: dict[tuple[Any, ...], dict[tuple[Any, ...], float]] = defaultdict(dict)
    tried: dict[tuple[Any, ...], int] = defaultdict(int)
    for (control, metric, variant, case, seed), both in pairs.items():
        tried[control, metric, variant] += 1
        if len(both) == 2:
            a, b = both["lrlr"], both["lrud"]
            delta[control, metric, variant][case, seed] = (b[1] - b[2]) - (a[1] - a[2])
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


def _qualified(rows: Sequence[Any]) -> Table:
    """Means over the episodes that left and came back at every revisit, by return tolerance."""
    scored = [r for r in rows if r.revisit is not None and not _is_dynamic(r.metric)]
    cells = []
    groups = grouped(scored, "control", "metric", "variant", "script")
    for (control, metric, variant, script), group in groups.items():
        episodes = list(grouped(group, "case", "seed", "episode").values())
        if all(r.status in ("unavailable", "error") for r in group):
            continue
        for tolerance in TOLERANCES:
            kept = [e for e in episodes if _returned(e, tolerance)]
            means = [float(np.mean([r.value for r in e])) for e in kept]
            drops = [_drop(e) for e in kept]
            found = [d for d in drops if d is not None]
            cells.append(
                (
                    control,
                    metric,
                    variant,
                    script,
                    tolerance,
                    float(np.mean(means)) if means else None,
                    float(np.mean(found)) if found else None,
                    len(kept),
                    len(kept) / len(episodes),
                )
            )
    return Table(
        "WorldMemBench qualified episodes",
        ("control", "metric", "variant", "script", "tolerance", "mean", "R1-RK", "n", "coverage"),
        tuple(cells),
        (
            f"Only episodes that departed by {constant('worldmembench.return_angle'):g} degrees "
            "(or lost sight of every target), returned within the tolerance and observed every "
            "target at every revisit.",
        ),
    )


def _returned(episode: Sequence[Any], tolerance: float) -> bool:
    return all(
        r.value is not None
        and r.detail.get("departed") is True
        and r.detail.get("return_angle", np.inf) <= tolerance
        for r in episode
    )


def _drop(episode: Sequence[Any]) -> float | None:
    by_revisit: dict[int, list[float]] = defaultdict(list)
    for r in episode:
        by_revisit[r.revisit].append(r.value)
    ends = sorted(by_revisit)
    if len(ends) < 2:
        return None
    return float(np.mean(by_revisit[ends[0]]) - np.mean(by_revisit[ends[-1]]))


def _dynamic(rows: Sequence[Any]) -> Table:
    """Gated dynamic scores with start rate and conditional score beside them."""
    cells = []
    parts = [r for r in rows if _is_dynamic(r.metric)]
    for (control, script), group in grouped(parts, "control", "script").items():
        by_metric = {m: rs for (m,), rs in grouped(group, "metric").items()}
        start, low, high, n, share = summarise(by_metric.get("event_start", []))
        overall = by_metric.get("dynamic_overall", [])
        begun = [
            r.value for r in overall if r.value is not None and r.detail.get("started") is True
        ]
        gated, gated_low, gated_high, _, _ = summarise(overall)
        aspects = [summarise(by_metric.get(m, []))[0] for m in _DYNAMIC]
        conditional = float(np.mean(begun)) if begun else None
        cells.append(
            (
                control,
                script,
                start,
                low,
                high,
                conditional,
                gated,
                gated_low,
                gated_high,
                *aspects,
                n,
                len(begun),
                share,
                backbone_of(overall),
            )
        )
    columns = "control script p_start start_low start_high S_cond S_gated low high"
    return Table(
        "WorldMemBench dynamic memory",
        (*columns.split(), *_DYNAMIC, "n", "n_started", "coverage", "backbone"),
        tuple(cells),
        ("S_gated = p_start x S_cond; S_cond rests on n_started rollouts only.",),
    )
