"""The one table of a run: a line a metric, with coverage and the controls beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldenv.case import BENCHMARKS
from worldenv.controls import CONTROLS, PERFECT
from worldenv.evaluators.r2m import tabled_nmr
from worldenv.evaluators.stats import Table, backbone_of, grouped
from worldenv.evaluators.stats import summarise as averaged
from worldenv.report.glossary import GLOSSARY
from worldenv.store import Row

BESIDE = tuple(name for name in CONTROLS if name != PERFECT)
"""Controls beside the ceiling, in the order of their columns."""

_HEADLINE = {
    "worldmembench": ("whole", "core", ""),
    "mbench": ("", "rollout", "family"),
    "r2m": ("mg", "nmr"),
}


def summarise(rows: Sequence[Row], *, perfect: bool = False) -> Table:
    """Return the summary of a run's rows; metrics without any value are named in the notes.

    Columns: the mean with its 95 % interval over episodes (clusters script x case), the number of
    episodes with a value and their share, then the controls' means on the control items.

    Args:
        rows: Rows of a run.
        perfect: Whether the world under test is the perfect world, so that its own rows are the
            ceiling.
    """
    # MBench's paths have one revisit, so its rows of R1 are rows of the rollout.
    whole = [
        row
        for row in rows
        if row.target is None and (row.revisit is None or row.benchmark == "mbench")
    ]
    cells: list[tuple[Any, ...]] = []
    missing: dict[str, dict[str, None]] = {}
    for benchmark in BENCHMARKS:
        for metric in _ordered(benchmark, whole):
            for variant in _HEADLINE[benchmark]:
                group = [
                    row
                    for row in whole
                    if (row.benchmark, row.metric, row.variant) == (benchmark, metric, variant)
                ]
                own = [row for row in group if not row.control]
                if not own or (metric in _doubled(whole) and variant == ""):
                    continue
                mean, low, high, n, share = _mean(own, rows)
                if mean is None:
                    reasons = dict.fromkeys(
                        str(row.detail.get("reason", row.status)) for row in own
                    )
                    named = missing.setdefault("; ".join(list(reasons)[:2]), {})
                    named[f"{benchmark} {metric}"] = None
                    continue
                ceiling = [row for row in group if row.control == ("" if perfect else PERFECT)]
                beside = [
                    _mean([row for row in group if row.control == name], rows)[0] for name in BESIDE
                ]
                shown = variant if variant in ("whole", "core", "mg", "nmr") else ""
                if variant == "family":
                    parts = max(row.n_valid for row in own)
                    shown = f"({parts} of {own[0].n_expected})"
                values = (mean, low, high, n, share, _mean(ceiling, rows)[0], *beside)
                cells.append((benchmark, metric, shown, *values, backbone_of(own)))
    columns = "benchmark metric variant mean low high n coverage".split()
    columns += [PERFECT, *BESIDE, "backbone"]
    notes = [
        "low, high: 95 % bootstrap over script x case. Controls in Reference-v0, each on its own "
        "items; read the mean between ceiling and floor:",
        *(f"{name} ({role}): {text}" for name, role, text in told(rows, perfect=perfect)),
    ]
    notes += [f"Without a value: {', '.join(m)} ({reason})." for reason, m in missing.items()]
    return Table("Memory scores", tuple(columns), tuple(cells), tuple(notes))


def told(rows: Sequence[Row], *, perfect: bool) -> list[tuple[str, str, str]]:
    """Return (name, role, what it is for) of every control; of one not walked it says so.

    Args:
        rows: Rows of a run.
        perfect: Whether the world under test is the perfect world itself.
    """
    walked = {row.control for row in rows}
    found: list[tuple[str, str, str]] = []
    for name, control in CONTROLS.items():
        text = control.meaning
        if perfect and name == PERFECT:
            text += " Here it is the world under test."
        elif name not in walked:
            text += " Not walked in this run."
        found.append((name, control.role, text))
    return found


def _ordered(benchmark: str, rows: Sequence[Row]) -> list[str]:
    """Return the metrics of a benchmark, in the glossary's order, aggregates last."""
    present = dict.fromkeys(row.metric for row in rows if row.benchmark == benchmark)
    known = [metric for metric in GLOSSARY[benchmark] if metric in present]
    return known + [metric for metric in present if metric not in known]


def _doubled(rows: Sequence[Row]) -> set[str]:
    """Return MBench metrics that have a row of the rollout beside rows of their targets."""
    return {row.metric for row in rows if row.benchmark == "mbench" and row.variant == "rollout"}


def _mean(group: Sequence[Row], rows: Sequence[Row]) -> tuple[Any, ...]:
    """Return (mean, low, high, n, coverage); NMR is the ratio of means, so without an interval."""
    if not group or group[0].variant != "nmr" or group[0].metric == "overall":
        return averaged(group)
    episodes = {row.episode for row in group}
    parts = [
        row
        for row in rows
        if row.metric == group[0].metric
        and row.benchmark == "r2m"
        and row.episode in episodes
        and row.variant in ("mg", "dr")
    ]
    found = [tabled_nmr(rows_of_script) for rows_of_script in grouped(parts, "script").values()]
    ratios = [ratio for ratio, _ in found if ratio is not None]
    used = sum(count for _, count in found)
    mean = float(np.mean(ratios)) if ratios else None
    return mean, None, None, used, used / len(episodes)
