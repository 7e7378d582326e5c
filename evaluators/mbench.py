"""MBench: entities, environment and causes over an exit and a re-entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.case import Target
from worldenv.evaluators import events, judged
from worldenv.evaluators.constants import whole
from worldenv.evaluators.folds import Folds, folds, neighbours
from worldenv.evaluators.mbench_entities import PERSON, centroids, centroids_over, identity
from worldenv.evaluators.mbench_geometry import action, geometry, two_views
from worldenv.evaluators.mbench_rendering import lighting, style, text
from worldenv.evaluators.mbench_tables import FAMILIES, family_scores, tabulate
from worldenv.evaluators.metrics.checks import number
from worldenv.evaluators.plan import (
    Ask,
    Context,
    Features,
    Measurement,
    Outcome,
    Slot,
    refused,
)
from worldenv.evaluators.score import Score, Status
from worldenv.evaluators.windows import Segment, scored, strided, text_segments
from worldenv.world import UnknownName

__all__ = ["FAMILIES", "OPTIONS", "aggregate", "conclude", "plan", "tabulate"]

OPTIONS: tuple[str, ...] = ()
_ID = "mbench"
_EVOLUTION = ("state", "evolution_correctness_raw", "evolution_correctness_gated")
_METRICS = (*(m for names in FAMILIES.values() for m in names), "evolution_correctness_gated")


def aggregate(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the family means and their mean; a missing metric is skipped, never counted as 0.

    Keys ``entity``, ``environment``, ``causal``, ``total``, in the units of the scores (stored
    0..1, shown x 100). Of the two correctness scores only ``evolution_correctness_raw`` enters. A
    family without any score is None, and so is then the total. Confirmed on the 14 published rows.

    Raises:
        UnknownName: MBench has no such metric.
        InvalidInput: a score is not a finite number.
    """
    for metric, value in scores.items():
        if metric not in _METRICS:
            raise UnknownName("MBench metric", str(metric), _METRICS)
        if value is not None:
            number(metric, value)
    return family_scores(scores)


def plan(context: Context) -> list[Measurement]:
    """Return what MBench measures on a path that leaves and comes back, or that text drives."""
    fold = folds(context.path)
    if fold is not None:
        out = [*_entities(context, fold), *two_views(context, fold)]
        out += [lighting(context, fold, 1), style(context, fold.pairs, 1)]
        return [*out, action(context, fold), *_evolution(context), text(context, ())]
    segments = text_segments(context)
    if not segments:
        reason = "the path has no exit (D1) and return (R1), and no texts drive it"
        return [refused(_ID, [Slot(m) for m in _METRICS], "not_applicable", reason)]
    return _continuation(context, segments)


def _continuation(context: Context, segments: Sequence[Segment]) -> list[Measurement]:
    """What can be measured where text asks for the motion, so that no return is prescribed."""
    beside = neighbours(context.path, segments)
    frames = [frame for segment in segments for frame in segment.frames]
    targets = context.case.targets if context.case is not None else ()
    out = [*_missing_entities(targets), identity(context, frames)]
    for noun, group in _by_noun(targets).items():
        out.append(centroids_over(context, frames, noun, group))
    if beside.straddling:
        out += two_views(context, beside)
    else:
        slots = [Slot(metric) for metric in ("epipolar", "reprojection")]
        reason = "the path never comes near itself again"
        out.append(refused(_ID, slots, "not_applicable", reason))
    out += [lighting(context, beside, None), style(context, beside.pairs, None)]
    out.append(text(context, segments))
    slots = [Slot(metric) for metric in ("geometry", "action")]
    reason = "text asks for the motion: the path prescribes no exit and return, and no twist"
    out.append(refused(_ID, slots, "not_applicable", reason))
    slots = [Slot(metric) for metric in _EVOLUTION]
    if context.case is None or context.case.event is None:
        out.append(refused(_ID, slots, "not_applicable", "nothing is expected to change"))
    elif context.lacks("event") is None:
        reason = "the shown state is read against an exit and return, which the path has not"
        out.append(refused(_ID, slots, "not_applicable", reason))
    else:
        out.append(judged.evolution(context, slots))
    return out


def _shared(context: Context, role: str) -> dict[str, Any]:
    return {"backbone": context.profile.backbone(role).name}


def _by_noun(targets: Sequence[Target]) -> dict[str, list[Target]]:
    nouns = dict.fromkeys(target.noun for target in targets)
    return {noun: [t for t in targets if t.noun == noun] for noun in nouns}


def _missing_entities(targets: Sequence[Target]) -> list[Measurement]:
    """Return the metrics that the case names nothing for."""
    out = []
    for noun, metrics in (("person", ("appearance",)), ("object", ("geometry", "texture"))):
        if not any((t.noun == PERSON) == (noun == "person") for t in targets):
            slots = [Slot(metric) for metric in metrics]
            reason = f"the case has no {noun} to look for"
            out.append(refused(_ID, slots, "not_applicable", reason))
    return out


def _entities(context: Context, fold: Folds) -> list[Measurement]:
    targets = context.case.targets if context.case is not None else ()
    out = [*_missing_entities(targets), identity(context, scored(context.path))]
    for noun, group in _by_noun(targets).items():
        out.append(centroids(context, fold, noun, group))
        if noun != PERSON:
            out += [geometry(context, fold, target, group) for target in group]
    return out


def _stride(frames: Sequence[int]) -> list[int]:
    return strided(frames, whole("mbench.stride"))


def _evolution(context: Context) -> list[Measurement]:
    slots = tuple(Slot(name, "", None, 1, 1) for name in _EVOLUTION)
    event = context.case.event if context.case is not None else None
    if event is None:
        return [refused(_ID, slots, "not_applicable", "nothing is expected to change")]
    if context.lacks("event") is not None:
        return [judged.evolution(context, slots)]
    path = context.path
    parts = {
        "before": _stride(path.frames_of("V").tolist()),
        "away": _stride(path.frames_of("D1").tolist()),
        "after": _stride([*path.frames_of("R1").tolist(), *path.frames_of("H").tolist()]),
    }

    def compute(features: Features) -> list[Outcome]:
        seen = {
            part: [features[Ask("event", (f,), event.instance)] for f in frames]
            for part, frames in parts.items()
        }
        detail: dict[str, Any] = _shared(context, "event")
        every = [*seen["before"], *seen["away"], *seen["after"]]
        gone = events.absence(seen["before"], seen["away"], seen["after"])
        left, back = every[gone.left].progress, every[gone.back].progress
        if left is None or back is None:
            reason = "the world shows no event"
            return [Outcome(status="no_observation", detail={**detail, "reason": reason})] * 3
        share = 1.0 if left >= 1 else float(np.clip((back - left) / (1 - left), 0, 1))
        if not gone.met:
            share = 0.0
        answers = events.judge(seen["before"], seen["away"], seen["after"])
        kept = [answers[name] for name in events.INVARIANTS]
        correct = float(np.mean(kept))
        detail |= {
            "score": 1 + 4 * share,
            "correctness": 1 + 4 * correct,
            "progress": {"left": left, "return": back},
            "invariants": {name: answers[name] for name in events.INVARIANTS},
        }
        return [Outcome(v, 1, "ok", detail) for v in (share, correct, share * correct)]

    frames = dict.fromkeys(f for members in parts.values() for f in members)
    asks = tuple(Ask("event", (f,), event.instance) for f in frames)
    return [Measurement(_ID, slots, asks, compute)]


def conclude(scores: Sequence[Score], context: Context) -> list[Score]:
    """Return the rollout's metrics (mean over targets), families and total."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(score.metric, []).append(score)
    values: dict[str, float | None] = {}
    out: list[Score] = []
    for metric, group in groups.items():
        found = [s.value for s in group if s.value is not None]
        values[metric] = float(np.mean(found)) if found else None
        if group[0].target is not None:
            out.append(_row(metric, "rollout", values[metric], len(found), len(group), group[0]))
    families = family_scores(values)
    for family, value in families.items():
        metrics = FAMILIES.get(family)
        have = len(FAMILIES) if metrics is None else 4
        n = (
            sum(families[f] is not None for f in FAMILIES)
            if metrics is None
            else sum(values.get(m) is not None for m in metrics)
        )
        out.append(_row(family, "family", value, n, have, None))
    return out


def _row(
    metric: str, variant: str, value: float | None, n: int, have: int, like: Score | None
) -> Score:
    detail: dict[str, Any] = {"backbone": like.detail.get("backbone")} if like else {}
    if value is None:
        detail["reason"] = (like.detail.get("reason") if like else None) or f"{n} of {have}"
    missing: Status = like.status if like is not None else "unavailable"
    return Score(
        benchmark=_ID,
        metric=metric,
        variant=variant,
        value=value,
        n_valid=n,
        n_expected=have,
        status="ok" if value is not None else missing,
        detail=detail,
    )
