"""Realised poses: asking for them, bringing them to the target's scale, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import geodesic_deg
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.plan import Ask, Context, Features, Measurement, Outcome, Slot, refused
from worldenv.evaluators.score import Status
from worldenv.evaluators.trajectory import align, rotation_rpe, translation_rpe

Floats = NDArray[np.float64]

ESTIMATORS = ("pose", "second_pose")
"""Roles that answer with a camera-to-world pose; only translation RPE takes the mean of both."""


def asks_of(context: Context, frames: Sequence[int]) -> tuple[tuple[Ask, ...], str]:
    """Return the asks for realised poses, none when target poses have to do, and their source."""
    if context.lacks("pose") is not None:
        return (), "target"
    backbone = context.profile.backbone("pose")
    return tuple(Ask("pose", (frame,)) for frame in frames), backbone.name


def pose_of(context: Context, features: Features, frame: int) -> Floats:
    """Return the realised pose of a frame, the target's where none was asked for."""
    found = features.get(Ask("pose", (frame,)))
    return np.asarray(context.path.poses[frame] if found is None else found, np.float64)


def away(context: Context, features: Features, frames: Sequence[int]) -> dict[int, float]:
    """Return frame -> degrees between its orientation and that of frame 0."""
    start = pose_of(context, features, 0)[:3, :3]
    return {f: float(geodesic_deg(pose_of(context, features, f)[:3, :3], start)) for f in frames}


def scale_free(context: Context, role: str = "pose") -> bool:
    """Return whether the role's translations are in no known unit."""
    return bool(getattr(context.profile.backbone(role), "scale_free", False))


def scale_of(context: Context, poses: Mapping[int, Floats]) -> float:
    """Return metres a unit of realised poses: 1 unless the estimator cannot know.

    Then the scale that brings their positions closest to the target's, 1 where either of the two
    has no extent.

    Args:
        context: What was planned from.
        poses: Frame -> realised pose; the frames should span the path.
    """
    if context.lacks("pose") is not None or not scale_free(context):
        return 1.0
    frames = sorted(poses)
    target = context.path.poses[frames, :3, 3]
    if np.ptp(target, axis=0).max() < 1e-6:
        return 1.0
    scale, _, _ = align(np.stack([poses[f][:3, 3] for f in frames]), target)
    return scale if scale > 0 else 1.0


def rpe(context: Context) -> list[Measurement]:
    """Return translation and rotation RPE of a path, per cycle too, with the noise floor."""
    path = context.path
    slots = (
        Slot("translation_rpe", "", None, None, len(ESTIMATORS)),
        Slot("rotation_rpe", "", None, None, 1),
        Slot("rotation_rpe", "stride10", None, None, 1),
    )
    phases = path.phases or ("",) * len(path)
    scored = [i for i, phase in enumerate(phases) if phase is not None]
    missing = context.lacks("pose")
    if missing is not None:
        return [refused("worldmembench", slots, "unavailable", missing)]
    if len(scored) < 2:
        reason = "the path has fewer than two frames"
        return [refused("worldmembench", slots, "not_applicable", reason)]
    roles = [role for role in ESTIMATORS if context.lacks(role) is None]
    names = {role: context.profile.backbone(role).name for role in roles}
    counts = context.lacks("odometry") is None and names["pose"] == _name(context, "odometry")
    last = Ask("odometry", (scored[-1],))
    target = path.poses[scored]
    cycles = _cycles(context, scored)

    def compute(features: Features) -> list[Outcome]:
        found = {
            role: np.stack([np.asarray(features[Ask(role, (f,))], np.float64) for f in scored])
            for role in roles
        }
        shared: dict[str, Any] = {
            "backbone": " + ".join(names.values()),
            "noise_floor": _noise(target, found["pose"]),
        }
        status: Status = "ok"
        if counts:
            shared["lost_frames"] = lost = int(features[last].lost)
            if lost > constant("odometry.lost") * len(scored):
                status = "unreliable"
                shared["reason"] = "too little could be followed; the pose before was repeated"
        shared["cycles"] = {
            name: {
                "rotation": rotation_rpe(target[part], found["pose"][part]),
                "translation": _mean(
                    [translation_rpe(target[part], p[part]) for p in found.values()]
                ),
            }
            for name, part in cycles.items()
        }
        each = {names[role]: translation_rpe(target, poses) for role, poses in found.items()}
        stride = whole("worldmembench.rpe_stride")
        turns = {**shared, "backbone": names["pose"]}
        return [
            _outcome(
                _mean(list(each.values())),
                len(each),
                status,
                {**shared, "estimators": each, "noise_floors": _noises(target, found, names)},
                "the target path does not move",
            ),
            *(
                _outcome(
                    rotation_rpe(target, found["pose"], every),
                    1,
                    status,
                    turns,
                    "the target path does not turn",
                )
                for every in (1, stride)
            ),
        ]

    asks = [Ask(role, (f,)) for role in roles for f in scored]
    return [Measurement("worldmembench", slots, (*asks, *([last] if counts else [])), compute)]


def _name(context: Context, role: str) -> str:
    return context.profile.backbone(role).name


def _cycles(context: Context, scored: Sequence[int]) -> dict[str, list[int]]:
    """Return Rk -> places in ``scored`` of leaving and returning the k-th time."""
    phases = context.path.phases or ("",) * len(context.path)
    out = {}
    for k in range(1, context.path.revisits + 1):
        part = [n for n, f in enumerate(scored) if phases[f] in (f"D{k}", f"R{k}")]
        # The step into the cycle belongs to it.
        part = [max(part[0] - 1, 0), *part] if part else []
        if len(part) > 1:
            out[f"R{k}"] = part
    return out


def _noise(target: Floats, realised: Floats) -> float | None:
    """Return the mean angle a frame, degrees, where the target holds still; None without holds."""
    still = geodesic_deg(target[:-1, :3, :3], target[1:, :3, :3]) < 1e-6
    noise = geodesic_deg(realised[:-1, :3, :3], realised[1:, :3, :3])[still]
    return float(noise.mean()) if len(noise) else None


def _noises(
    target: Floats, found: Mapping[str, Floats], names: Mapping[str, str]
) -> dict[str, float | None]:
    return {names[role]: _noise(target, poses) for role, poses in found.items()}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _outcome(
    value: float | None, n: int, status: Status, detail: dict[str, Any], reason: str
) -> Outcome:
    if value is None:
        return Outcome(status="not_applicable", detail={**detail, "reason": reason})
    return Outcome(value, n, status, detail)
