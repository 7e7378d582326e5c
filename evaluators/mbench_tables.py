"""MBench's families and tables; scores are stored 0..1 and shown x 100."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.stats import Table, backbone_of, grouped, summarise

FAMILIES: dict[str, tuple[str, ...]] = {
    "entity": ("geometry", "texture", "identity", "appearance"),
    "environment": ("epipolar", "reprojection", "lighting", "style"),
    "causal": ("state", "evolution_correctness_raw", "text", "action"),
}
"""Family -> metric keys."""


def family_scores(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return family -> mean of its available metrics, and ``total``, the mean of the families."""
    out: dict[str, float | None] = {}
    for family, metrics in FAMILIES.items():
        found = [v for v in (scores.get(metric) for metric in metrics) if v is not None]
        out[family] = float(np.mean(found)) if found else None
    means = list(out.values())
    known = [v for v in means if v is not None]
    out["total"] = float(np.mean(known)) if len(known) == len(means) else None
    return out


def tabulate(rows: Sequence[Any]) -> list[Table]:
    """Return the tables of a run: every metric with its interval, and the families.

    Args:
        rows: Objects with the fields of Score plus suite, case, category, script, seed, episode,
            control.
    """
    mine = [row for row in rows if row.benchmark == "mbench"]
    if not mine:
        return []
    measured = [row for row in mine if row.variant == ""]
    cells = []
    families = []
    for (control,), group in grouped(measured, "control").items():
        means: dict[str, float | None] = {}
        for (metric,), parts in grouped(group, "metric").items():
            mean, low, high, n, share = summarise(parts)
            means[metric] = mean
            zeros = tuple(
                sum(row.status == status for row in parts)
                for status in ("absent", "no_observation")
            )
            reason = next((r.detail.get("reason") for r in parts if r.value is None), None)
            shown = [None if v is None else 100 * v for v in (mean, low, high)]
            cells.append(
                (
                    control,
                    _family(metric),
                    metric,
                    backbone_of(parts),
                    *shown,
                    n,
                    share,
                    *zeros,
                    None if n else reason,
                )
            )
        found = family_scores(means)
        counts = [sum(means.get(m) is not None for m in names) for names in FAMILIES.values()]
        families.append(
            (
                control,
                *(None if v is None else 100 * v for v in found.values()),
                *counts,
                sum(v is not None for f, v in found.items() if f != "total") / len(FAMILIES),
            )
        )
    columns = "control family metric backbone mean low high n coverage absent no_observation"
    return [
        Table(
            "MBench by metric",
            (*columns.split(), "reason"),
            tuple(cells),
            (
                "x 100; a missing score is skipped. Only evolution_correctness_raw enters the "
                "causal family. 95 % bootstrap over script x case.",
            ),
        ),
        Table(
            "MBench families",
            ("control", *FAMILIES, "total", *(f"n_{f}" for f in FAMILIES), "coverage"),
            tuple(families),
            ("x 100; n of 4 metrics a family. The total exists only with all three families.",),
        ),
    ]


def _family(metric: str) -> str:
    return next((f for f, metrics in FAMILIES.items() if metric in metrics), "")
