"""WorldMemBench's tables: means with ceilings, qualified sets, dynamic memory, and all together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.constants import constant
from worldenv.evaluators.stats import Table, backbone_of, grouped, summarise
from worldenv.evaluators.worldmembench_decay import (
    CEILING,
    ZERO,
    axis,
    decay,
    is_dynamic,
    positive,
)

ALL = "all"
"""What stands for all categories together."""
ROTATIONS = ("lrlr", "lrlrlr", "lrud")
TOLERANCES = (30.0, 15.0, 5.0)
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
    tables = [_means(mine), decay(mine), axis(mine), _qualified(mine), _dynamic(mine)]
    tables.append(positive(mine))
    return [table for table in tables if table.rows]


def _script(row: Any) -> str:
    return str(row.script or "").partition(":")[2].partition("(")[0] or str(row.script or "")


def _episodes(rows: Sequence[Any]) -> list[Any]:
    """Return the rows of whole rollouts, without the parts of the event."""
    return [r for r in rows if r.revisit is None and not is_dynamic(r.metric)]


Groups = dict[tuple[Any, ...], list[Any]]


def _every_category(groups: Groups, counted: Groups) -> list[tuple[tuple[Any, ...], list[Any]]]:
    """Return the groups of all categories together, where several have a value."""
    joined: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for key, group in groups.items():
        if any(row.value is not None for row in group):
            joined[key[:4]].append(key)
    out = []
    for start, keys in joined.items():
        if len(keys) > 1:
            counted[*start, ALL] = [row for key in keys for row in counted.get(key, [])]
            out.append(((*start, ALL), [row for key in keys for row in groups[key]]))
    return out


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
    for key, group in [*groups.items(), *_every_category(groups, counted)]:
        control, metric, variant, script, category = key
        mean, low, high, n, share = summarise(group)
        tops = [
            ceiling[r.script, r.case, r.metric, r.variant]
            for r in group
            if r.value is not None and (r.script, r.case, r.metric, r.variant) in ceiling
        ]
        top = float(np.mean(tops)) if tops else None
        parts = counted.get(key, [])
        zeros = tuple(sum(r.status == status for r in parts) for status in ZERO)
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
        (*columns.split(), *ZERO, "status", "reason"),
        tuple(cells),
        (
            "Revisits without a valid observation count 0 and are counted under no_observation "
            "(the detector missed) and absent (gone).",
            "ceiling: the perfect world on the same cases. whole: all valid frames of a return; "
            "core: near the start and uncut. 95 % bootstrap over script x case. The paper rates "
            "quality on static cases only.",
        ),
    )


def _qualified(rows: Sequence[Any]) -> Table:
    """Means over the episodes that left and came back at every revisit, by return tolerance."""
    scored = [r for r in rows if r.revisit is not None and not is_dynamic(r.metric)]
    ceiling: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for r in scored:
        if r.control == CEILING and r.value is not None:
            ceiling[r.metric, r.variant, r.script, r.case].append(r.value)
    cells = []
    groups = grouped(scored, "control", "metric", "variant", "script")
    for (control, metric, variant, script), group in groups.items():
        episodes = list(grouped(group, "case", "seed", "episode").values())
        if all(r.status in ("unavailable", "error") for r in group):
            continue
        for tolerance in TOLERANCES:
            kept = [e for e in episodes if _returned(e, tolerance)]
            cases = _by_case(kept, lambda e: float(np.mean([r.value for r in e])))
            drops = _by_case(kept, _drop)
            tops = [
                float(np.mean(ceiling[metric, variant, script, case]))
                for case in cases
                if (metric, variant, script, case) in ceiling
            ]
            cells.append(
                (
                    control,
                    metric,
                    variant,
                    script,
                    tolerance,
                    *(float(np.mean(list(v))) if v else None for v in (cases.values(), tops)),
                    float(np.mean(list(drops.values()))) if drops else None,
                    len(kept),
                    len(cases),
                    len(kept) / len(episodes),
                )
            )
    columns = "control metric variant script tolerance mean ceiling R1-RK n cases coverage"
    return Table(
        "WorldMemBench qualified episodes",
        tuple(columns.split()),
        tuple(cells),
        (
            f"Only episodes that departed by {constant('worldmembench.return_angle'):g} degrees "
            "(or lost sight of every target), returned within the tolerance and observed every "
            "target at every revisit; mean over the episodes of a case, then over cases.",
        ),
    )


def _by_case(
    episodes: Sequence[Sequence[Any]], measure: Callable[[Sequence[Any]], float | None]
) -> dict[str, float]:
    """Return case -> mean over its episodes, of those with a value."""
    found: dict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        value = measure(episode)
        if value is not None:
            found[episode[0].case].append(value)
    return {case: float(np.mean(values)) for case, values in found.items()}


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
    parts = [r for r in rows if is_dynamic(r.metric)]
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
