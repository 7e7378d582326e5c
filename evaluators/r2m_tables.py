"""R2M-Bench's tables: gain and ratio by metric and script, and the Overall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.constants import constant
from worldenv.evaluators.r2m_ratios import (
    FAMILIES,
    diagnose,
    family_means,
    normalized_memory_ratio,
    overall_nmr,
)
from worldenv.evaluators.stats import Table, backbone_of, grouped, summarise


def tabulate(rows: Sequence[Any]) -> list[Table]:
    """Return the tables of a run: MG and NMR by metric and script, and the Overall.

    Tabled NMR is mean MG / (mean DR + 1e-8) per script over the videos with DR > 1e-8, averaged
    over seeds, then scripts. Frozen and other controls have rows of their own.

    Args:
        rows: Objects with the fields of Score plus suite, case, category, script, seed, episode,
            control.
    """
    mine = [row for row in rows if row.benchmark == "r2m"]
    if not mine:
        return []
    cells, tabled = [], defaultdict(list)
    for (control, script, metric), group in grouped(mine, "control", "script", "metric").items():
        by_variant = grouped(group, "variant")
        nmr, used = tabled_nmr(group)
        if metric == "overall" or ("nmr",) not in by_variant:
            continue
        if nmr is not None:
            tabled[control, metric].append(nmr)
        mg, low, high, n, share = summarise(by_variant.get(("mg",), []))
        raw = summarise(by_variant.get(("raw",), []))[0]
        base = summarise(by_variant.get(("base",), []))[0]
        dr = summarise(by_variant.get(("dr",), []))[0]
        weak = sum(row.status == "unreliable" for row in by_variant[("nmr",)])
        pairs = sum(row.n_valid for row in by_variant.get(("raw",), []))
        read = diagnose(metric, mg, dr) if mg is not None and dr is not None else None
        backbone = backbone_of(group)
        cells.append(
            (
                control,
                script,
                metric,
                backbone,
                raw,
                base,
                mg,
                low,
                high,
                dr,
                nmr,
                read,
                n,
                used,
                weak,
                pairs,
                share,
            )
        )
    columns = "control script metric backbone raw base MG low high DR NMR reading"
    counts = "n n_nmr unreliable n_rev coverage"
    notes = (
        "MG: revisit minus gap-matched baseline, in the metric's units, 95 % cluster bootstrap.",
        "NMR: mean MG / mean DR over the videos with DR > 1e-8 (n_nmr); read it beside MG and DR.",
    )
    tables = [
        Table("R2M-Bench by metric", (*columns.split(), *counts.split()), tuple(cells), notes)
    ]
    overall = []
    for control in dict.fromkeys(row.control for row in mine):
        means = {
            metric: float(np.mean(values)) for (c, metric), values in tabled.items() if c == control
        }
        families = family_means(means)
        value = overall_nmr(means)
        state = "complete" if value is not None else f"partial ({len(families)} of 5)"
        overall.append((control, *(families.get(f) for f in FAMILIES), value, len(means), state))
    tables.append(
        Table(
            "R2M-Bench Overall NMR",
            ("control", *FAMILIES, "overall", "n_metrics", "coverage"),
            tuple(overall),
            ("Family means of the metrics at hand; Overall exists only with all five families.",),
        )
    )
    return tables


def tabled_nmr(rows: Sequence[Any]) -> tuple[float | None, int]:
    """Return (NMR, videos used) of one metric and script: ratio of means a seed, then the mean.

    ``mean MG / (mean DR + 1e-8)`` over the videos with DR > 1e-8. Source: R2M-Bench section 5.1.

    Args:
        rows: Score rows with the variants ``mg`` and ``dr``.
    """
    ratios, used = [], 0
    for group in grouped(rows, "seed").values():
        mg = {r.episode: r.value for r in group if r.variant == "mg" and r.value is not None}
        dr = {r.episode: r.value for r in group if r.variant == "dr" and r.value is not None}
        kept = [e for e in mg if e in dr and dr[e] > constant("r2m.epsilon")]
        if kept:
            top = float(np.mean([mg[e] for e in kept]))
            ratios.append(normalized_memory_ratio(top, float(np.mean([dr[e] for e in kept]))))
            used += len(kept)
    return (float(np.mean(ratios)) if ratios else None), used
