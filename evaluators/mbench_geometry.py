"""MBench's geometry: things warped across the absence, two-view errors, and motion as commanded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldenv.camera import twists
from worldenv.case import Target
from worldenv.evaluators import entities, realised
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.folds import Folds, median_depth
from worldenv.evaluators.mbench_entities import going_out
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
    Thing,
    pixels,
    refused,
)
from worldenv.evaluators.score import Status

_ID = "mbench"


def _shared(context: Context, role: str) -> dict[str, Any]:
    return {"backbone": context.profile.backbone(role).name}


def geometry(
    context: Context, fold: Folds, target: Target, targets: Sequence[Target] | None = None
) -> Measurement:
    """SSIM of outgoing frames and warped return frames inside the target's mask.

    Args:
        context: What is known before the first frame.
        fold: The pairs.
        target: Whose mask.
        targets: All targets of its noun, in the case's order; it alone where None.
    """
    slots = (Slot("geometry", "", target.name, 1, len(fold.pairs)),)
    by_depth = (
        context.lacks("depth", "pose") is None
        and context.K is not None
        and not realised.scale_free(context)
    )
    warped_by = () if by_depth else ("match", "matches")
    missing = context.lacks("segment", noun=target.noun) or context.lacks(*warped_by)
    if missing is not None:
        return refused(_ID, slots, "unavailable", missing)
    initial, before = going_out(context, fold)
    # Going out is continuous: a tracker keeps the target from the hold to the end of the exit.
    thing = Thing(target.noun, tuple(before))
    by_instance = entities.lasting(context)
    known = target.instance if by_instance else None
    K = context.K

    def view(features: Features, i: int, j: int) -> Any:
        source = features[pixels(j)]
        if by_depth:
            assert K is not None
            depth, pose = features[Ask("depth", (i,))], features[Ask("pose", (i,))]
            return warp_by_depth(source, depth, pose, features[Ask("pose", (j,))], K)
        return warp_by_homography(source, features[Ask("matches", (i, j))])

    def compute(features: Features) -> list[Outcome]:
        values: dict[str, float] = {}
        track = known
        if track is None:
            seen = entities.gather_regions(features, initial, thing)
            start = entities.references(seen, targets or (target,), by_instance)[target.name]
            if not start:
                reason = "the target is not seen in the initial observation"
                return [Outcome(status="not_applicable", detail={"reason": reason})]
            track = start[0].region.track
        for i, j in fold.pairs:
            regions = features[Ask("segment", (i,), thing)]
            mask = next((r.mask for r in regions if r.track == track), None)
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
    if known is None:
        asks |= dict.fromkeys(Ask("silhouette", (f,), thing) for f in initial)
    for i, j in fold.pairs:
        asks |= dict.fromkeys([pixels(i), pixels(j), Ask("segment", (i,), thing)])
        if by_depth:
            asks |= dict.fromkeys([Ask("depth", (i,)), Ask("pose", (i,)), Ask("pose", (j,))])
        else:
            asks[Ask("matches", (i, j))] = None
    return Measurement(_ID, slots, tuple(asks), compute)


def two_views(context: Context, fold: Folds) -> list[Measurement]:
    """Epipolar and reprojection errors of matches across the absence, against realised poses."""
    slots = tuple(
        Slot(metric, "", None, 1, len(fold.straddling)) for metric in ("epipolar", "reprojection")
    )
    missing = context.lacks("match", "matches", "pose")
    if missing is None and context.K is None:
        missing = "the camera intrinsics K are unknown"
    if missing is not None:
        return [refused(_ID, slots, "unavailable", missing)]
    K = context.K
    assert K is not None
    # SIFT puts the centre of a pixel at a whole number, K at a half.
    shift = 0.5
    pose_name = context.profile.backbone("pose").name
    by_depth = context.lacks("depth") is None and not realised.scale_free(context)
    target = context.path.poses[:, :3, 3]
    length = float(np.linalg.norm(np.diff(target, axis=0), axis=1).sum())

    def has_baseline(features: Features, i: int, j: int) -> bool:
        """Return whether two views lie far enough apart for a fundamental matrix."""
        poses = [features[Ask("pose", (f,))][:3, 3] for f in (i, j)]
        baseline = float(np.linalg.norm(poses[0] - poses[1]))
        if by_depth:
            depth = median_depth(features[Ask("depth", (i,))]) or 1.0
            return baseline >= constant("mbench.pair_depth") * depth
        # Without depth there is no unit: what the path asks for decides.
        wanted = float(np.linalg.norm(target[i] - target[j]))
        return baseline > 0 and wanted > constant("mbench.pair_baseline") * length

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
            if not has_baseline(features, i, j):
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
            "baseline": "share of the median depth" if by_depth else "from the target path",
            "pose_source": pose_name,
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
    roles = ("pose", "depth") if by_depth else ("pose",)
    asks += [Ask(role, (f,)) for f in frames for role in roles]
    return [Measurement(_ID, slots, tuple(asks), compute)]


def action(context: Context, fold: Folds) -> Measurement:
    """Return the alignment of realised and commanded twists while the camera moves."""
    frames = sorted({f for part in fold.moving for f in part})
    steps = [(f - 1, f) for f in frames if f > 0]
    slot = Slot("action", "", None, None, len(steps))
    missing = context.lacks("pose")
    if missing is not None:
        return refused(_ID, (slot,), "unavailable", missing)
    free = realised.scale_free(context)
    by_depth = context.lacks("depth") is None and not free
    used = sorted({f for step in steps for f in step})

    def compute(features: Features) -> list[Outcome]:
        depth = median_depth(features[Ask("depth", (0,))]) if by_depth else None
        poses = {f: np.array(features[Ask("pose", (f,))], np.float64) for f in used}
        scale = realised.scale_of(context, poses)
        for pose in poses.values():
            pose[:3, 3] *= scale
        estimated = np.concatenate([twists(np.stack([poses[a], poses[b]])) for a, b in steps])
        commanded = np.concatenate([twists(context.path.poses[a : b + 1]) for a, b in steps])
        value = twist_alignment(estimated, commanded, depth)
        units = "radians and metres"
        if depth:
            units += f" over a median depth of {depth:.3f} m"
        elif free:
            units += ", scaled to the target path"
        detail = {**_shared(context, "pose"), "units": units}
        if free:
            detail["scale"] = scale
        if value is None:
            reason = "no motion is commanded"
            return [Outcome(status="not_applicable", detail={**detail, "reason": reason})]
        return [Outcome(value, len(steps), "ok", detail)]

    asks = [Ask("pose", (f,)) for f in used]
    if by_depth:
        asks.append(Ask("depth", (0,)))
    return Measurement(_ID, (slot,), tuple(asks), compute)
