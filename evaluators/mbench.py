"""MBench: entities, environment and causes over an exit and a re-entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.camera import twists
from worldenv.case import Target
from worldenv.evaluators import events, judged
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.folds import Folds, folds, median_depth, neighbours
from worldenv.evaluators.mbench_entities import PERSON, centroids, centroids_over, identity
from worldenv.evaluators.mbench_rendering import lighting, style, text
from worldenv.evaluators.mbench_tables import FAMILIES, family_scores, tabulate
from worldenv.evaluators.metrics.checks import number
from worldenv.evaluators.metrics.match import verified
from worldenv.evaluators.metrics.motion import (
    epipolar_consistency,
    epipolar_error,
    fundamental,
    reprojection_error,
    transfer_error,
    twist_alignment,
)
from worldenv.evaluators.metrics.warp import masked_ssim, warp_by_depth, warp_by_homography
from worldenv.evaluators.plan import (
    Ask,
    Context,
    Features,
    Measurement,
    Outcome,
    Slot,
    pixels,
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
        out = [*_entities(context, fold), *_two_views(context, fold)]
        out += [lighting(context, fold, 1), style(context, fold.pairs, 1)]
        return [*out, _action(context, fold), *_evolution(context), text(context, ())]
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
        out += _two_views(context, beside)
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
            out += [_geometry(context, fold, target) for target in group]
    return out


def _stride(frames: Sequence[int]) -> list[int]:
    return strided(frames, whole("mbench.stride"))


def _geometry(context: Context, fold: Folds, target: Target) -> Measurement:
    """SSIM of outgoing frames and warped return frames inside the target's mask."""
    slots = (Slot("geometry", "", target.name, 1, len(fold.pairs)),)
    missing = context.lacks("segment")
    if missing is not None:
        return refused(_ID, slots, "unavailable", missing)
    if target.instance is None:
        reason = "the target has no mask in the first frame"
        return refused(_ID, slots, "unavailable", reason)
    by_depth = context.lacks("depth", "pose") is None and context.K is not None
    K, instance, noun = context.K, target.instance, target.noun

    def view(features: Features, i: int, j: int) -> Any:
        source = features[pixels(j)]
        if by_depth:
            assert K is not None
            depth, pose = features[Ask("depth", (i,))], features[Ask("pose", (i,))]
            return warp_by_depth(source, depth, pose, features[Ask("pose", (j,))], K)
        return warp_by_homography(source, features[Ask("matches", (i, j))])

    def compute(features: Features) -> list[Outcome]:
        values: dict[str, float] = {}
        for i, j in fold.pairs:
            regions = features[Ask("segment", (i,), noun)]
            mask = next((r.mask for r in regions if r.track == instance), None)
            if mask is None or mask.mean() < constant("mbench.min_area"):
                continue
            warped = view(features, i, j)
            if warped is None:
                continue
            value = masked_ssim(features[pixels(i)], warped[0], mask & warped[1])
            if value is not None:
                values[f"{i}-{j}"] = value
        detail: dict[str, Any] = {
            "warp": "depth" if by_depth else "homography",
            "pairs": values,
            **_shared(context, "segment"),
        }
        if not values:
            reason = "the target is in no fold pair"
            return [Outcome(status="no_observation", detail={**detail, "reason": reason})]
        return [Outcome(float(np.mean(list(values.values()))), len(values), "ok", detail)]

    asks: dict[Ask, None] = {}
    for i, j in fold.pairs:
        asks |= dict.fromkeys([pixels(i), pixels(j), Ask("segment", (i,), noun)])
        if by_depth:
            asks |= dict.fromkeys([Ask("depth", (i,)), Ask("pose", (i,)), Ask("pose", (j,))])
        else:
            asks[Ask("matches", (i, j))] = None
    return Measurement(_ID, slots, tuple(asks), compute)


def _two_views(context: Context, fold: Folds) -> list[Measurement]:
    """Epipolar and reprojection errors of matches across the absence, against realised poses."""
    slots = tuple(
        Slot(metric, "", None, 1, len(fold.straddling)) for metric in ("epipolar", "reprojection")
    )
    missing = context.lacks("match", "matches", "pose", "depth")
    if missing is None and context.K is None:
        missing = "the camera intrinsics K are unknown"
    if missing is not None:
        return [refused(_ID, slots, "unavailable", missing)]
    K = context.K
    assert K is not None
    # SIFT puts the centre of a pixel at a whole number, K at a half.
    shift = 0.5

    def compute(features: Features) -> list[Outcome]:
        epipolar: dict[str, float] = {}
        reprojection: dict[str, float] = {}
        few, kinds = 0, set()
        for i, j in fold.straddling:
            first, second, _ = features[Ask("matches", (i, j))]
            kept = verified(first, second)
            if int(kept.sum()) < whole("mbench.min_matches"):
                few += 1
                continue
            x, y = first[kept] + shift, second[kept] + shift
            pose_i, pose_j = features[Ask("pose", (i,))], features[Ask("pose", (j,))]
            scale = constant("mbench.pixel_width") / (2 * K[0, 2])
            depth = median_depth(features[Ask("depth", (i,))]) or 1.0
            baseline = float(np.linalg.norm(pose_i[:3, 3] - pose_j[:3, 3]))
            if baseline < constant("mbench.pair_depth") * depth:
                turn = pose_j[:3, :3].T @ pose_i[:3, :3]
                error = transfer_error(x, y, turn, K)
                kinds.add("rotation")
            else:
                error = epipolar_error(x, y, fundamental(pose_i, pose_j, K))
                reprojection[f"{i}-{j}"] = scale * reprojection_error(x, y, pose_i, pose_j, K)
                kinds.add("fundamental")
            epipolar[f"{i}-{j}"] = scale * error
        detail = {
            **_shared(context, "match"),
            "kind": sorted(kinds),
            "too_few_matches": few,
            "pixel_width": whole("mbench.pixel_width"),
        }
        found = []
        for errors, reason in (
            (epipolar, "no pair has enough verified matches"),
            (reprojection, "no pair has a baseline"),
        ):
            value = epipolar_consistency(list(errors.values()))
            if value is None:
                status: Status = "no_observation" if not epipolar else "not_applicable"
                found.append(Outcome(status=status, detail={**detail, "reason": reason}))
            else:
                found.append(Outcome(value, len(errors), "ok", {**detail, "errors": errors}))
        return found

    frames = dict.fromkeys(f for pair in fold.straddling for f in pair)
    asks = [Ask("matches", pair) for pair in fold.straddling]
    asks += [Ask(role, (f,)) for f in frames for role in ("pose", "depth")]
    return [Measurement(_ID, slots, tuple(asks), compute)]


def _action(context: Context, fold: Folds) -> Measurement:
    frames = sorted({f for part in fold.moving for f in part})
    steps = [(f - 1, f) for f in frames if f > 0]
    slot = Slot("action", "", None, None, len(steps))
    missing = context.lacks("pose")
    if missing is not None:
        return refused(_ID, (slot,), "unavailable", missing)
    scaled = context.lacks("depth") is None

    def compute(features: Features) -> list[Outcome]:
        depth = median_depth(features[Ask("depth", (0,))]) if scaled else None
        pose: Callable[[int], Any] = lambda f: features[Ask("pose", (f,))]  # noqa: E731
        estimated = np.concatenate([twists(np.stack([pose(a), pose(b)])) for a, b in steps])
        commanded = np.concatenate([twists(context.path.poses[a : b + 1]) for a, b in steps])
        value = twist_alignment(estimated, commanded, depth)
        detail = {
            **_shared(context, "pose"),
            "units": "radians and metres"
            + (f" over a median depth of {depth:.3f} m" if depth else ""),
        }
        if value is None:
            reason = "no motion is commanded"
            return [Outcome(status="not_applicable", detail={**detail, "reason": reason})]
        return [Outcome(value, len(steps), "ok", detail)]

    asks = {Ask("pose", (f,)): None for step in steps for f in step}
    if scaled:
        asks[Ask("depth", (0,))] = None
    return Measurement(_ID, (slot,), tuple(asks), compute)


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
