"""R2M-Bench's ratios: memory gain, normalised memory ratio, their means and their readings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.checks import number
from worldenv.world import UnknownName

FAMILIES: dict[str, tuple[str, ...]] = {
    "appearance": ("psnr", "ssim", "lpips"),
    "scene": ("dino", "boq", "mutualvpr"),
    "object": ("app_persist", "sem_persist"),
    "geometry": ("feature_correspondence", "geometric_inlier"),
    "state": ("state",),
}
"""Family -> metric keys."""

METRICS = tuple(metric for metrics in FAMILIES.values() for metric in metrics)


def memory_gain(rev: float, base: float) -> float:
    """Return MG: by how much revisits are more consistent than the baseline; higher is better.

    In the metric's own units, oriented so that higher is more consistent. Source: Eq. 7.

    Raises:
        InvalidInput: one of them is not a finite number.
    """
    return number("rev", rev) - number("base", base)


def normalized_memory_ratio(mg: float, dr: float) -> float:
    """Return NMR, ``MG / (DR + 1e-8)``: 0 is no better than the baseline, 1 as good as neighbours.

    Unbounded; read it beside MG and DR. Source: Eq. 9. A denominator of exactly 0 gives 0.

    Raises:
        InvalidInput: one of them is not a finite number.
    """
    mg = number("mg", mg)
    bottom = number("dr", dr) + constant("r2m.epsilon")
    return mg / bottom if bottom != 0 else 0.0


def overall_nmr(nmr: Mapping[str, float | None]) -> float | None:
    """Return the mean of the five family means, None while any family is empty.

    Args:
        nmr: Metric key -> NMR, None where there is none.

    Raises:
        UnknownName: R2M-Bench has no such metric.
        InvalidInput: a ratio is not a finite number.

    Example:
        >>> overall_nmr({"psnr": 1.0}) is None
        True
    """
    for metric, value in nmr.items():
        if metric not in METRICS:
            raise UnknownName("R2M metric", str(metric), METRICS)
        if value is not None:
            number(metric, value)
    means = family_means(nmr)
    return float(np.mean(list(means.values()))) if len(means) == len(FAMILIES) else None


def family_means(nmr: Mapping[str, float | None]) -> dict[str, float]:
    """Return family -> mean NMR of its available metrics, empty families left out."""
    out = {}
    for family, metrics in FAMILIES.items():
        values = [v for v in (nmr.get(metric) for metric in metrics) if v is not None]
        if values:
            out[family] = float(np.mean(values))
    return out


def diagnose(metric: str, mg: float, dr: float) -> str:
    """Return the paper's Table 6 reading of MG and DR.

    ``reliable``, ``partial``, ``caution``, ``failure``, ``weak``, ``negative`` or ``invalid``;
    "low" is under a tenth of the metric's scale (ours).
    """
    low = constant("r2m.reliable") * constant(f"r2m.scale.{metric}")
    if dr <= constant("r2m.epsilon"):
        return "invalid" if mg > low else "weak"
    if mg < 0 and dr >= low:
        return "negative"
    if dr < low:
        return "caution" if mg >= low else "weak"
    if mg < low:
        return "failure"
    high = normalized_memory_ratio(mg, dr) >= constant("r2m.high_nmr")
    return "reliable" if high else "partial"
