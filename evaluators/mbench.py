"""MBench: entities, environment and causes over an exit and a re-entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.camera import geodesic_deg
from worldenv.case import Target
from worldenv.evaluators import entities, events, judged
from worldenv.evaluators.constants import whole
from worldenv.evaluators.folds import Folds, folds
from worldenv.evaluators.mbench_geometry import action, geometry, two_views
from worldenv.evaluators.mbench_tables import FAMILIES, family_scores, tabulate
from worldenv.evaluators.metrics.appearance import centroid_consistency, lighting_consistency
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
from worldenv.world import UnknownName

__all__ = ["FAMILIES", "OPTIONS", "aggregate", "conclude", "plan", "tabulate"]

OPTIONS: tuple[str, ...] = ()
_ID = "mbench"
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
    """Return what MBench measures on a path that leaves and comes back."""
    fold = folds(context.path)
    if fold is None:
        reason = "the path has no exit (D1) and return (R1)"
        return [refused(_ID, [Slot(m) for m in _METRICS], "not_applicable", reason)]
    out = [*_entities(context, fold), *two_views(context, fold), _lighting(context, fold)]
    out += [action(context, fold), *_evolution(context)]
    for metric, roles in (("style", ("style",)), ("text", ("text",))):
        missing = context.lacks(*roles)
        if missing is not None:
            out.append(refused(_ID, (Slot(metric),), "unavailable", missing))
    return out


def _shared(context: Context, role: str) -> dict[str, Any]:
    return {"backbone": context.profile.backbone(role).name}


def _entities(context: Context, fold: Folds) -> list[Measurement]:
    case = context.case
    targets = case.targets if case is not None else ()
    people = [t for t in targets if t.noun == "person"]
    things = [t for t in targets if t.noun != "person"]
    out: list[Measurement] = []
    for metric, group in (("identity", people), ("appearance", people)):
        if not group:
            reason = "the case has no person to look for"
            out.append(refused(_ID, (Slot(metric),), "not_applicable", reason))
    for metric in ("geometry", "texture"):
        if not things:
            reason = "the case has no object to look for"
            out.append(refused(_ID, (Slot(metric),), "not_applicable", reason))
    if people:
        slots = [Slot("identity", "", t.name, 1) for t in people]
        reason = context.lacks("faces", "identity") or "no face role"
        out.append(refused(_ID, slots, "unavailable", reason))
    for noun in dict.fromkeys(t.noun for t in targets):
        group = [t for t in targets if t.noun == noun]
        out.append(_centroid(context, fold, noun, group))
        if noun != "person":
            out += [geometry(context, fold, target) for target in group]
    return out


def _stride(frames: Sequence[int]) -> list[int]:
    return sorted({*frames[:: whole("mbench.stride")], *frames[-1:]})


def _centroid(context: Context, fold: Folds, noun: str, targets: Sequence[Target]) -> Measurement:
    """Texture of objects, appearance of people: features before and after around their mean."""
    metric = "appearance" if noun == "person" else "texture"
    initial = _stride(context.path.frames_of("V").tolist())
    out, back = _stride(fold.moving[0]), _stride(fold.moving[1])
    hold = _stride(context.path.frames_of("H").tolist())
    before, after = sorted({*initial, *out}), sorted({*back, *hold})
    slots = tuple(Slot(metric, "", t.name, 1, len(before) + len(after)) for t in targets)
    turned = geodesic_deg(context.path.poses[after, :3, :3], np.eye(3))
    angles = dict(zip(after, turned.tolist(), strict=True))
    missing = context.lacks("segment", "embed")
    if missing is not None:
        return refused(_ID, slots, "unavailable", missing)

    def compute(features: Features) -> list[Outcome]:
        first = entities.gather(features, initial, noun)
        reference = entities.references(first, targets)
        seen_before = entities.gather(features, before, noun)
        seen_after = entities.gather(features, after, noun)
        chosen = entities.associate(
            entities.with_others(reference, first), entities.near_start(seen_after.valid, angles)
        )
        found = []
        for target in targets:
            start = reference[target.name]
            detail = _shared(context, "embed")
            if not start:
                reason = "the target is not seen in the initial observation"
                found.append(Outcome(status="not_applicable", detail={**detail, "reason": reason}))
                continue
            track = chosen.get(target.name)
            if track is None:
                status: Status = "no_observation" if seen_after.small else "absent"
                reason = "nothing of its kind is seen after the return"
                found.append(Outcome(status=status, detail={**detail, "reason": reason}))
                continue
            # Going out is continuous, so a tracker keeps the thing; coming back it is found anew.
            rows = seen_before.valid.get(start[0].region.track, []) + seen_after.valid[track]
            vectors = np.stack([s.vector for s in rows])
            detail["frames"] = [s.frame for s in rows]
            found.append(Outcome(centroid_consistency(vectors), len(rows), "ok", detail))
        return found

    frames = dict.fromkeys((*before, *after))
    asks = tuple(Ask(role, (f,), noun) for f in frames for role in ("embed", "silhouette"))
    return Measurement(_ID, slots, asks, compute)


def _lighting(context: Context, fold: Folds) -> Measurement:
    slot = Slot("lighting", "", None, 1, len(fold.segments))

    def compute(features: Features) -> list[Outcome]:
        pairs = [
            tuple(np.stack([features[Ask("light", (f,))] for f in part]) for part in segment)
            for segment in fold.segments
        ]
        value = lighting_consistency([(a, b) for a, b in pairs])
        return [Outcome(value, len(pairs), "ok", {"backbone": "cielab"})]

    frames = dict.fromkeys(f for segment in fold.segments for part in segment for f in part)
    return Measurement(_ID, (slot,), tuple(Ask("light", (f,)) for f in frames), compute)


def _evolution(context: Context) -> list[Measurement]:
    names = ("state", "evolution_correctness_raw", "evolution_correctness_gated")
    slots = tuple(Slot(name, "", None, 1, 1) for name in names)
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
        left, back = seen["before"][-1].progress, seen["after"][0].progress
        if left is None or back is None:
            reason = "the world shows no event"
            return [Outcome(status="no_observation", detail={**detail, "reason": reason})] * 3
        share = 1.0 if left >= 1 else float(np.clip((back - left) / (1 - left), 0, 1))
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
