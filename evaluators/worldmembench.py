"""WorldMemBench: what is kept of people, objects and the scene at every prescribed revisit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.camera import geodesic_deg
from worldenv.case import Target
from worldenv.evaluators import events, judged, windows
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.appearance import cosine
from worldenv.evaluators.metrics.checks import InvalidInput, numbers
from worldenv.evaluators.metrics.depth import depth_spearman, spherical_agreement
from worldenv.evaluators.plan import Ask, Context, Features, Measurement, Outcome, Slot, refused
from worldenv.evaluators.realised import asks_of, away, pose_of, rpe
from worldenv.evaluators.score import Score, Status
from worldenv.evaluators.trajectory import rotation_rpe, translation_rpe
from worldenv.evaluators.windows import sampled
from worldenv.evaluators.worldmembench_entities import measure
from worldenv.evaluators.worldmembench_tables import tabulate

__all__ = [
    "OPTIONS",
    "aggregate",
    "conclude",
    "delta_axis",
    "gate",
    "plan",
    "rotation_rpe",
    "sampled",
    "tabulate",
    "translation_rpe",
]

OPTIONS: tuple[str, ...] = ()
_ID = "worldmembench"
_ZERO = ("no_observation", "absent")


def aggregate(scores: Any) -> float:
    """Return the mean over revisits, then over targets, in the scores' range.

    Eq. 1: every prescribed revisit counts, one without a valid observation (None) as 0.

    Args:
        scores: Shape (targets, revisits), at least one of each.

    Raises:
        InvalidInput: another shape, or a score that is neither a finite number nor None.
    """
    try:
        table = np.array(scores, dtype=object)
        missing = np.array([score is None for score in table.flat], bool).reshape(table.shape)
        known = np.where(missing, 0.0, table)
    except ValueError as error:
        raise InvalidInput(f"scores must have shape (targets, revisits): {error}") from error
    return float(numbers("scores", known, "targets", "revisits").mean(axis=1).mean())


def gate(started: bool, correct: Any) -> dict[str, float]:
    """Return the gated dynamic scores of one rollout, each in [0, 1]; higher is better.

    An event that does not visibly start leaves eight zeros; else an aspect is the mean of its two
    answers and ``dynamic_overall`` of all eight.

    Args:
        started: Whether the event visibly starts in the initial hold.
        correct: Shape (8,), whether each answer equals the reference, in aspect order.

    Raises:
        InvalidInput: there are not eight answers, or one is neither 0 nor 1.

    Example:
        >>> gate(True, [1, 1, 1, 1, 1, 0, 0, 0])["dynamic_overall"]
        0.625
    """
    begun, answers = numbers("started", started), numbers("correct, the eight answers,", correct, 8)
    if not np.isin(begun, (0, 1)) or not np.isin(answers, (0, 1)).all():
        raise InvalidInput("started and the eight answers of correct must each be 0, 1 or bool")
    answers = answers * begun
    out = {"event_start": float(begun)}
    for k, aspect in enumerate(events.ASPECTS):
        out[aspect] = float(answers[2 * k : 2 * k + 2].mean())
    out["dynamic_overall"] = float(answers.mean())
    return out


def delta_axis(lrlr: Any, lrud: Any) -> float:
    """Return how much more is lost over two returns when the second turns another axis.

    ``(LRUD R1 - R2) - (LRLR R1 - R2)``; positive: switching axes costs more.

    Args:
        lrlr: Shape (2,), scores at R1 and R2 of LRLR.
        lrud: Shape (2,), of LRUD.

    Raises:
        InvalidInput: another shape, or a score that is not finite.
    """
    a, b = numbers("lrlr", lrlr, 2), numbers("lrud", lrud, 2)
    return float((b[0] - b[1]) - (a[0] - a[1]))


def plan(context: Context) -> list[Measurement]:
    """Return what WorldMemBench measures on a path with phases."""
    path, case = context.path, context.case
    errors = rpe(context)
    quality = [
        _quality(context, metric, role)
        for metric, role in (("imaging_quality", "quality"), ("aesthetic_quality", "aesthetic"))
    ]
    if not path.revisits or not len(path.frames_of("V")):
        reason = "the path has no phases V and R1"
        slots = [Slot(m) for m in ("environment_visible", "environment_depth")]
        return [refused(_ID, slots, "not_applicable", reason), *errors, *quality]
    if case is not None and case.event is not None:
        return [_dynamic(context), *errors, *quality]
    out: list[Measurement] = []
    nouns: dict[str, list[Target]] = {}
    for target in case.targets if case is not None else ():
        nouns.setdefault(target.noun, []).append(target)
    for k in range(1, path.revisits + 1):
        for noun, targets in nouns.items():
            out += measure(context, k, noun, targets)
        out += _environment(context, k)
    return [*out, *errors, *quality]


def _environment(context: Context, k: int) -> list[Measurement]:
    back, gone = sampled(context.path, f"R{k}"), sampled(context.path, f"D{k}")
    poses, source = asks_of(context, [0, *back, *gone])
    turns = geodesic_deg(context.path.poses[:, :3, :3], np.eye(3)).max() > 1e-6

    def choose(features: Features) -> tuple[int, dict[str, Any]]:
        """Return the frame closest to the start, the latest of equals, and the detail."""
        angles = away(context, features, back)
        start = pose_of(context, features, 0)[:3, 3]
        far = {f: float(np.linalg.norm(pose_of(context, features, f)[:3, 3] - start)) for f in back}
        measure = angles if turns else far
        frame = min(reversed(back), key=lambda f: measure[f])
        turned = max(away(context, features, gone).values(), default=0.0)
        return frame, {
            "frame": frame,
            "pose_source": source,
            "departed": bool(turned >= constant("worldmembench.return_angle")),
            "return_angle": angles[frame],
        }

    def visible(features: Features) -> list[Outcome]:
        frame, detail = choose(features)
        value = cosine(features[Ask("embed", (0,))], features[Ask("embed", (frame,))])
        detail["backbone"] = context.profile.backbone("embed").name
        return [Outcome(max(0.0, value), 1, "ok", detail)]

    def depth(features: Features) -> list[Outcome]:
        frame, detail = choose(features)
        detail["backbone"] = context.profile.backbone("depth").name
        rho = depth_spearman(features[Ask("depth", (0,))], features[Ask("depth", (frame,))])
        if rho is None:
            reason = "depth is constant: order has no meaning"
            return [Outcome(status="not_applicable", detail={**detail, "reason": reason})]
        return [Outcome(rho, 1, "ok", detail)]

    def reconstruction(features: Features) -> list[Outcome]:
        frame, detail = choose(features)
        detail["backbone"] = context.profile.backbone("depth").name
        assert context.K is not None
        if detail["return_angle"] > constant("worldmembench.return_angle"):
            return [Outcome(0.0, 1, "ok", {**detail, "reason": "the camera did not return"})]
        value, common, union = spherical_agreement(
            features[Ask("depth", (0,))],
            pose_of(context, features, 0),
            features[Ask("depth", (frame,))],
            pose_of(context, features, frame),
            context.K,
        )
        detail |= {"common_bins": common, "bins": union, "K": context.K_exactness}
        if common < whole("worldmembench.min_bins"):
            reason = f"only {common} common bins"
            return [Outcome(status="no_observation", detail={**detail, "reason": reason})]
        return [Outcome(value, 1, "ok", detail)]

    out = []
    for metric, role, compute in (
        ("environment_visible", "embed", visible),
        ("environment_depth", "depth", depth),
        ("environment_reconstruction", "depth", reconstruction),
    ):
        slot = Slot(metric, "", None, k, 1)
        missing = context.lacks(role)
        if missing is None and compute is reconstruction and context.K is None:
            missing = "the camera intrinsics K are unknown"
        if missing is not None:
            out.append(refused(_ID, (slot,), "unavailable", missing))
            continue
        asks = tuple(Ask(role, (frame,)) for frame in dict.fromkeys((0, *back)))
        out.append(Measurement(_ID, (slot,), (*asks, *dict.fromkeys(poses)), compute))
    return out


def _quality(context: Context, metric: str, role: str) -> Measurement:
    """Mean over every 4th frame of a quality in [0, 1]."""
    frames = windows.scored(context.path)[:: whole("worldmembench.quality_stride")]
    slot = Slot(metric, "", None, None, len(frames))
    missing = context.lacks(role)
    if missing is not None:
        return refused(_ID, (slot,), "unavailable", missing)
    asks = tuple(Ask(role, (frame,)) for frame in frames)
    backbone = context.profile.backbone(role).name

    def compute(features: Features) -> list[Outcome]:
        found = {a.frames[0]: float(np.clip(features[a], 0.0, 1.0)) for a in asks}
        detail = {"backbone": backbone, "frames": found}
        return [Outcome(float(np.mean(list(found.values()))), len(found), "ok", detail)]

    return Measurement(_ID, (slot,), asks, compute)


def _dynamic(context: Context) -> Measurement:
    names = ("event_start", *events.ASPECTS, "dynamic_overall")
    slots = tuple(Slot(name, "", None, None, 1 if name == "event_start" else 8) for name in names)
    if context.lacks("event") is not None:
        return judged.dynamic(context, slots, gate)
    assert context.case is not None and context.case.event is not None
    instance = context.case.event.instance
    phases = context.path.phases or ()
    scored = [i for i, phase in enumerate(phases) if phase is not None]
    frames = sorted({*scored[::8], scored[0], scored[-1], *sampled(context.path, "V")})
    parts: dict[str, list[int]] = {"before": [], "away": [], "after": []}
    for frame in frames:
        phase = phases[frame] or ""
        part = "before" if phase == "V" else "away" if phase[0] == "D" else "after"
        parts[part].append(frame)

    def compute(features: Features) -> list[Outcome]:
        seen = {
            part: [features[Ask("event", (f,), instance)] for f in members]
            for part, members in parts.items()
        }
        begun = events.started(seen["before"])
        answers = events.judge(seen["before"], seen["away"], seen["after"])
        values = gate(begun, list(answers.values()))
        progress = {f: g.progress for p in parts for f, g in zip(parts[p], seen[p], strict=True)}
        detail = {
            "started": begun,
            "answers": answers,
            "conditional": float(np.mean(list(answers.values()))),
            "progress": progress,
            "backbone": context.profile.backbone("event").name,
        }
        return [
            Outcome(values[name], s.n_expected, "ok", detail)
            for name, s in zip(names, slots, strict=True)
        ]

    asks = tuple(Ask("event", (frame,), instance) for frame in frames)
    return Measurement(_ID, slots, asks, compute)


def conclude(scores: Sequence[Score], context: Context) -> list[Score]:
    """Return the rollout's score a metric and variant: Eq. 1 with its zero rule."""
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        if score.revisit is not None:
            groups.setdefault((score.metric, score.variant), []).append(score)
    return [_rollout(metric, variant, group) for (metric, variant), group in groups.items()]


def _rollout(metric: str, variant: str, group: Sequence[Score]) -> Score:
    def row(status: Status, value: float | None, detail: Mapping[str, Any]) -> Score:
        return Score(
            benchmark=_ID,
            metric=metric,
            variant=variant,
            value=value,
            n_valid=sum(s.value is not None for s in group),
            n_expected=len(group),
            status=status,
            detail=dict(detail),
        )

    for status in ("error", "unavailable"):
        broken = [s for s in group if s.status == status]
        if broken:
            return row(status, None, {"reason": broken[0].detail.get("reason")})
    counted = [s for s in group if s.value is not None or s.status in _ZERO]
    if not counted:
        return row("not_applicable", None, {"reason": group[0].detail.get("reason")})
    targets: dict[str | None, list[float | None]] = {}
    for score in counted:
        targets.setdefault(score.target, []).append(score.value)
    per_target = {name: aggregate([values]) for name, values in targets.items()}
    revisits = sorted({s.revisit for s in counted if s.revisit is not None})
    curve = {
        f"R{k}": float(np.mean([s.value or 0.0 for s in counted if s.revisit == k]))
        for k in revisits
    }
    zeros = {status: sum(s.status == status for s in group) for status in _ZERO}
    detail: dict[str, Any] = {
        "curve": curve,
        **zeros,
        "backbone": counted[0].detail.get("backbone"),
    }
    if None not in per_target:
        detail["targets"] = per_target
    return row("ok", float(np.mean(list(per_target.values()))), detail)
