"""One value a score of one rollout, whichever benchmark's own rule makes it from the parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from worldenv.evaluators.constants import constant
from worldenv.evaluators.r2m_ratios import FAMILIES
from worldenv.evaluators.score import VALUED, Score
from worldenv.evaluators.worldmembench_decay import is_dynamic

__all__ = ["MEAN", "Values", "values_of"]

MEAN = "mean"
"""Metric key of a benchmark's mean over its own metrics, where the paper names no aggregate."""

_R2M_VARIANTS = ("raw", "mg", "nmr")
_MOTION = ("translation_rpe", "rotation_rpe", "imaging_quality", "aesthetic_quality")


class Values(NamedTuple):
    """What one rollout was worth.

    Attributes:
        values: ``benchmark/metric[/variant]`` -> value.
        statuses: The same -> status, of those without a value and of unreliable ones.
        backbones: The same -> what measured it.
        curves: The same -> mean at R1, R2, ...
    """

    values: dict[str, float]
    statuses: dict[str, str]
    backbones: dict[str, str]
    curves: dict[str, list[float]]


def values_of(scores: Sequence[Score]) -> Values:
    """Return one value a score, with the benchmarks' own means beside them.

    Targets and revisits are averaged by each benchmark's rule for what was not found (WorldMemBench
    counts zero, MBench skips, R2M drops). An R2M ratio that is ``unreliable`` is left out: it is
    what is left of a division by next to nothing.

    Args:
        scores: Every Score of a rollout, aggregates included.
    """
    found = Values({}, {}, {}, {})
    for score in scores:
        if not _is_whole(score):
            continue
        key = _key(score)
        weak = score.benchmark == "r2m" and score.variant == "nmr" and score.status == "unreliable"
        if score.status != "ok":
            found.statuses[key] = score.status
        if score.value is not None and not weak:
            found.values[key] = score.value
        if score.status in VALUED:
            found.backbones[key] = str(score.detail.get("backbone") or "")
        curve = score.detail.get("curve")
        if curve and score.value is not None:
            found.curves[key] = [float(value) for value in curve.values()]
    found.values.update(_means(scores))
    return found


def _is_whole(score: Score) -> bool:
    """Return whether a score is one of the whole rollout, and no mere part of another."""
    if score.target is not None:
        return False
    if score.benchmark == "mbench":
        return True
    if score.benchmark == "r2m":
        return score.variant in _R2M_VARIANTS
    return score.revisit is None


def _key(score: Score) -> str:
    # MBench's row of a rollout over its targets is the metric; without targets it has no other.
    variant = "" if score.variant in ("rollout", "family") else score.variant
    return "/".join(part for part in (score.benchmark, score.metric, variant) if part)


def _means(scores: Sequence[Score]) -> dict[str, float]:
    """Return the means that the papers lack.

    Over WorldMemBench's metrics of what stands still (an event has ``dynamic_overall``), and over
    R2M's families, there only where every metric with a raw value has one.
    """
    out: dict[str, float] = {}
    for variant in ("whole", "core"):
        mine = [
            score.value
            for score in scores
            if score.benchmark == "worldmembench"
            and _is_whole(score)
            and score.value is not None
            and score.variant in ("", variant)
            and score.metric not in _MOTION
            and not is_dynamic(score.metric)
        ]
        if mine:
            out[f"worldmembench/{MEAN}/{variant}"] = float(np.mean(mine))
    measured = {
        score.metric
        for score in scores
        if score.benchmark == "r2m" and score.variant == "raw" and score.value is not None
    }
    for variant in ("raw", "mg", "nmr"):
        values = {
            score.metric: score.value / _scale(score)
            for score in scores
            if score.benchmark == "r2m"
            and score.variant == variant
            and score.value is not None
            and (score.status == "ok" or variant != "nmr")
        }
        families = [
            float(np.mean([values[m] for m in metrics if m in values]))
            for metrics in FAMILIES.values()
            if any(m in values for m in metrics)
        ]
        # A mean over whichever ratios are reliable would move with what is left out.
        if families and set(values) >= measured:
            out[f"r2m/{MEAN}/{variant}"] = float(np.mean(families))
    return out


def _scale(score: Any) -> float:
    """Return what brings metrics of other units together; a ratio has none."""
    return 1.0 if score.variant == "nmr" else constant(f"r2m.scale.{score.metric}")
