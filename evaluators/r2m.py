"""R2M-Bench: is a revisit more consistent than comparable pairs of the same rollout?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.backbones.truth import ANYTHING
from worldenv.evaluators.constants import constant
from worldenv.evaluators.finder import RevisitFinder
from worldenv.evaluators.judged import thinned
from worldenv.evaluators.metrics.checks import number
from worldenv.evaluators.metrics.match import Correspondence
from worldenv.evaluators.metrics.objects import ObjectScores
from worldenv.evaluators.pairs import (
    RULES,
    baseline_pairs,
    check_rule,
    mine_revisits,
    short_count,
    short_pairs,
)
from worldenv.evaluators.plan import Ask, Context, Features, Measurement, Outcome, Slot, refused
from worldenv.evaluators.score import Score, Status
from worldenv.evaluators.stats import Table, backbone_of, grouped, summarise
from worldenv.world import UnknownName

__all__ = [
    "FAMILIES",
    "OPTIONS",
    "RULES",
    "RevisitFinder",
    "baseline_pairs",
    "conclude",
    "diagnose",
    "memory_gain",
    "mine_revisits",
    "normalized_memory_ratio",
    "overall_nmr",
    "plan",
    "short_pairs",
    "tabled_nmr",
    "tabulate",
]

OPTIONS = ("rule",)

FAMILIES: dict[str, tuple[str, ...]] = {
    "appearance": ("psnr", "ssim", "lpips"),
    "scene": ("dino", "boq", "mutualvpr"),
    "object": ("app_persist", "sem_persist"),
    "geometry": ("feature_correspondence", "geometric_inlier"),
    "state": ("state",),
}
"""Family -> metric keys."""

METRICS = tuple(metric for metrics in FAMILIES.values() for metric in metrics)
VARIANTS = ("raw", "base", "short", "mg", "dr", "nmr")

# Metric -> (pair ask for frames i and j, roles it rests on). LPIPS is a distance: sign flipped.
_ASKS: dict[str, tuple[Callable[[int, int], Ask], tuple[str, ...]]] = {
    "psnr": (lambda i, j: Ask("psnr", (i, j)), ()),
    "ssim": (lambda i, j: Ask("ssim", (i, j)), ()),
    "lpips": (lambda i, j: Ask("perceptual", (i, j)), ("perceptual",)),
    "dino": (lambda i, j: Ask("similarity", (i, j), "embed"), ("embed",)),
    "boq": (lambda i, j: Ask("similarity", (i, j), "place"), ("place",)),
    "mutualvpr": (lambda i, j: Ask("similarity", (i, j), "mutualvpr"), ("mutualvpr",)),
    "app_persist": (lambda i, j: Ask("objects", (i, j)), ("segment", "embed")),
    "sem_persist": (lambda i, j: Ask("objects", (i, j)), ("embed", "segment")),
    "feature_correspondence": (lambda i, j: Ask("correspondence", (i, j)), ("matches", "match")),
    "geometric_inlier": (lambda i, j: Ask("correspondence", (i, j)), ("matches", "match")),
    "state": (lambda i, j: Ask("judge", (i, j)), ("judge",)),
}


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


def plan(context: Context) -> list[Measurement]:
    """Return what R2M measures on a path: rows raw, base, short, mg, dr, nmr for every metric."""
    rule = str(context.options.get("rule", "se3"))
    check_rule(rule)
    rev = mine_revisits(context.path, rule)
    base = baseline_pairs(context.path, rev, context.seed, rule)
    short = short_pairs(context.path, short_count(len(rev)), context.seed, rule)
    pairs = {
        "raw": [tuple(pair) for pair in rev.tolist()],
        "base": [tuple(pair) for pair in base.reshape(-1, 2).tolist() if pair[0] >= 0],
        "short": [tuple(pair) for pair in short.tolist()],
    }
    about = {
        "rule": rule,
        "n_rev": len(rev),
        "n_base": len(pairs["base"]),
        "n_short": len(short),
        "unmatched": int(np.count_nonzero((base[: len(rev)].reshape(len(rev), -1) < 0).any(1)))
        if len(rev)
        else 0,
    }
    groups = base if rule == "se3" else None
    return [_measure(context, metric, pairs, groups, about) for metric in METRICS]


def _measure(
    context: Context,
    metric: str,
    pairs: Mapping[str, list[tuple[int, int]]],
    groups: Any,
    about: dict[str, Any],
) -> Measurement:
    ask, roles = _ASKS[metric]
    n = len(pairs["raw"])
    slots = tuple(Slot(metric, variant, n_expected=n) for variant in VARIANTS)
    missing = context.lacks(*roles, noun=ANYTHING if metric in FAMILIES["object"] else "")
    if missing is not None:
        return refused("r2m", slots, "unavailable", missing)
    if not n:
        return refused("r2m", slots, "not_applicable", "the path never comes back")
    extra = dict(about)
    if roles:
        extra["backbone"] = context.profile.backbone(roles[-1]).name
    if metric == "sem_persist":
        by_text = context.lacks("text") is None
        extra["semantic"] = "confidence and text" if by_text else "confidence"
        if by_text:
            extra["backbone"] = context.profile.backbone("text").name

    if metric == "state":
        most = getattr(context.profile.backbone("judge"), "pairs", None)
        if most is not None:
            # Truth costs nothing; a judge is asked for a spread of each set.
            pairs, groups = thinned(pairs, most), None
            extra["judged"] = {name: len(group) for name, group in pairs.items()}

    def compute(features: Features) -> list[Outcome]:
        return _rows(metric, ask, pairs, groups, extra, features)

    asks = tuple({ask(i, j): None for group in pairs.values() for i, j in group})
    return Measurement("r2m", slots, asks, compute, partial=True)


def _rows(
    metric: str,
    ask: Callable[[int, int], Ask],
    pairs: Mapping[str, list[tuple[int, int]]],
    groups: Any,
    about: dict[str, Any],
    features: Features,
) -> list[Outcome]:
    def value(pair: tuple[int, int]) -> float | None:
        answer = features.get(ask(*pair))
        if isinstance(answer, Correspondence):
            matches = metric == "feature_correspondence"
            answer = answer.match_ratio if matches else answer.inlier_ratio
        elif isinstance(answer, ObjectScores):
            answer = answer.app_persist if metric == "app_persist" else answer.sem_persist
        return None if answer is None else (-1.0 if metric == "lpips" else 1.0) * float(answer)

    found = {name: [v for v in map(value, group) if v is not None] for name, group in pairs.items()}
    n = len(found["raw"])
    empty = [name for name in ("raw", "base", "short") if not found[name]]
    if empty:
        reason = f"no {' and no '.join(empty)} pair was observed"
        return [Outcome(status="not_applicable", detail={**about, "reason": reason})] * 6
    means = {name: _mean(values) for name, values in found.items()}
    detail = {**about, "counts": {name: len(values) for name, values in found.items()}}
    if groups is not None:
        per_draw = [
            [v for v in map(value, map(tuple, group.tolist())) if v is not None] for group in groups
        ]
        # The draw's own noise: spread within each revisit's baselines, over all revisits.
        spread = [np.var(draws, ddof=1) / len(draws) for draws in per_draw if len(draws) > 1]
        detail["base_standard_error"] = float(np.sqrt(np.sum(spread)) / max(len(spread), 1))
        means["base"] = _mean([_mean(draws) for draws in per_draw if draws])
    mg = memory_gain(means["raw"], means["base"])
    dr = means["short"] - means["base"]
    nmr = normalized_memory_ratio(mg, dr)
    scale = constant(f"r2m.scale.{metric}")
    weak = dr < constant("r2m.reliable") * scale
    status: Status = "unreliable" if weak else "ok"
    detail |= {"mg": mg, "dr": dr, "diagnosis": diagnose(metric, mg, dr), "scale": scale}
    outcomes = []
    for name in ("raw", "base", "short"):
        traced = {f"{i}-{j}": value((i, j)) for i, j in pairs[name]}
        own = {**detail, "pairs": traced, **_matched(metric, ask, pairs[name], features)}
        outcomes.append(Outcome(means[name], len(found[name]), "ok", own))
    outcomes += [Outcome(mg, n, "ok", detail), Outcome(dr, n, "ok", detail)]
    return [*outcomes, Outcome(nmr, n, status, detail)]


def _matched(
    metric: str,
    ask: Callable[[int, int], Ask],
    pairs: Sequence[tuple[int, int]],
    features: Features,
) -> dict[str, Any]:
    """Return what the objects that were found again score, Eqs. 15 and 16, and their number."""
    answers = [features.get(ask(*pair)) for pair in pairs]
    objects = [answer for answer in answers if isinstance(answer, ObjectScores)]
    if not objects:
        return {}
    looks = metric == "app_persist"
    return {
        "matched_only": float(np.mean([o.appearance if looks else o.semantic for o in objects])),
        "anchors": sum(o.anchors for o in objects),
        "matched": sum(o.matched for o in objects),
    }


def _mean(values: Sequence[float]) -> float:
    """Return the mean; equal values give exactly that value."""
    return values[0] if min(values) == max(values) else float(np.mean(values))


def conclude(scores: Sequence[Score], context: Context) -> list[Score]:
    """Return the per-video Overall NMR, which exists only with all five families."""
    rows = {
        s.metric: s
        for s in scores
        if s.variant == "nmr" and s.value is not None and s.metric in METRICS
    }
    usable = {
        metric: s.value
        for metric, s in rows.items()
        if s.detail.get("dr", 1.0) > constant("r2m.epsilon")
    }
    families = family_means(usable)
    detail: dict[str, Any] = {"families": families, "metrics": sorted(usable)}
    value = overall_nmr(usable)
    shared = {"benchmark": "r2m", "metric": "overall", "variant": "nmr"}
    counts = {"n_valid": len(families), "n_expected": len(FAMILIES)}
    if value is None:
        detail["reason"] = f"partial ({len(families)} of {len(FAMILIES)} families)"
        return [Score(**shared, **counts, status="unavailable", detail=detail)]  # type: ignore[arg-type]
    weak = any(rows[metric].status == "unreliable" for metric in usable)
    status: Status = "unreliable" if weak else "ok"
    return [Score(**shared, **counts, value=value, status=status, detail=detail)]  # type: ignore[arg-type]


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
