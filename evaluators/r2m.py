"""R2M-Bench: is a revisit more consistent than comparable pairs of the same rollout?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.backbones.truth import ANYTHING
from worldenv.evaluators.constants import constant
from worldenv.evaluators.finder import RevisitFinder
from worldenv.evaluators.judged import thinned
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
from worldenv.evaluators.plan import (
    Ask,
    Context,
    Failure,
    Features,
    Measurement,
    Outcome,
    Slot,
    refused,
)
from worldenv.evaluators.r2m_details import failed_pairs, judged_pairs, matched_objects
from worldenv.evaluators.r2m_ratios import (
    FAMILIES,
    METRICS,
    diagnose,
    family_means,
    memory_gain,
    normalized_memory_ratio,
    overall_nmr,
)
from worldenv.evaluators.r2m_tables import tabled_nmr, tabulate
from worldenv.evaluators.score import Score, Status

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
    thin = None
    if metric == "state" and context.lacks("judge") is None:
        # Truth costs nothing; a judge is asked for a spread of each set.
        thin = getattr(context.profile.backbone("judge"), "pairs", None)
    if thin is not None:
        pairs, groups = thinned(pairs, thin), None
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

    if thin is not None:
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
        elif isinstance(answer, Failure):
            return None
        return None if answer is None else (-1.0 if metric == "lpips" else 1.0) * float(answer)

    found = {name: [v for v in map(value, group) if v is not None] for name, group in pairs.items()}
    n = len(found["raw"])
    failed = failed_pairs(ask, pairs, features)
    about = {**about, **failed}
    empty = [name for name in ("raw", "base", "short") if not found[name]]
    if empty:
        reason = f"no {' and no '.join(empty)} pair was observed"
        if failed:
            reason = f"{failed['failed']} of {failed['asked']} pairs failed: {failed['failure']}"
        missing: Status = failed.get("failed_as", "not_applicable")
        return [Outcome(status=missing, detail={**about, "reason": reason})] * 6
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
        own = {**detail, "pairs": traced, **matched_objects(metric, ask, pairs[name], features)}
        own |= judged_pairs(ask, pairs[name], features)
        outcomes.append(Outcome(means[name], len(found[name]), "ok", own))
    outcomes += [Outcome(mg, n, "ok", detail), Outcome(dr, n, "ok", detail)]
    return [*outcomes, Outcome(nmr, n, status, detail)]


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
