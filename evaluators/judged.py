"""What vision-language judges are asked by the planners, where no world knows the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.evaluators.constants import whole
from worldenv.evaluators.judging.questions import Checklist, Rating, Verdict
from worldenv.evaluators.plan import Ask, Context, Features, Measurement, Outcome, Slot, refused
from worldenv.evaluators.windows import scored, strided

Phases = tuple[tuple[str, int, int], ...]


def phases_of(path: CameraPath) -> Phases:
    """Return (name, first frame, last frame) of every phase, in order of frames."""
    out: list[tuple[str, int, int]] = []
    for frame, phase in enumerate(path.phases or ()):
        if phase is None:
            continue
        if out and out[-1][0] == phase and out[-1][2] == frame - 1:
            out[-1] = (phase, out[-1][1], frame)
        else:
            out.append((phase, frame, frame))
    return tuple(out)


def watched(path: CameraPath, stride: int) -> tuple[int, ...]:
    """Return every ``stride``-th frame that counts, with the first and the last."""
    return tuple(strided(scored(path), stride))


def explained(verdict: Verdict) -> dict[str, Any]:
    """Return the plain values that explain a verdict."""
    return {
        "agreement": verdict.agreement,
        "votes": verdict.votes,
        "asked": verdict.asked,
        "replies": [dict(reply) for reply in verdict.replies],
    }


def dynamic(
    context: Context,
    slots: Sequence[Slot],
    gate: Callable[[bool, Sequence[bool]], Mapping[str, float]],
) -> Measurement:
    """Return WorldMemBench's dynamic scores as a judge gives them.

    The judge sees every 8th frame with the first and the last, in order, the checklist and the
    planned phases, and no generation prompt. An answer counts when it equals the case's reference.

    Args:
        context: A case with an event.
        slots: Scores to fill; ``gate``'s keys are their metrics.
        gate: (started, eight correct) -> metric -> value.
    """
    assert context.case is not None and context.case.event is not None
    event = context.case.event
    benchmark = "worldmembench"
    missing = context.lacks("judge")
    if missing is not None:
        return refused(benchmark, slots, "unavailable", missing)
    if len(event.questions) != 8 or len(event.answers) != 8:
        reason = (
            f"the case has {len(event.questions)} questions and {len(event.answers)} reference "
            "answers, expected 8; worldenv suites questions proposes some"
        )
        return refused(benchmark, slots, "unavailable", reason)
    frames = watched(context.path, whole("worldmembench.judge_stride"))
    ask = Ask("judge", frames, Checklist(tuple(event.questions), phases_of(context.path)))
    name = context.profile.backbone("judge").name

    def compute(features: Features) -> list[Outcome]:
        verdict: Verdict = features[ask]
        correct = [
            given == wanted for given, wanted in zip(verdict.answers, event.answers, strict=True)
        ]
        values = gate(bool(verdict.started), correct)
        detail = {
            "backbone": name,
            "started": verdict.started,
            "answers": dict(zip(event.questions, verdict.answers, strict=True)),
            "correct": correct,
            "conditional": float(np.mean(correct)),
            "graded_progress": verdict.progress,
            **explained(verdict),
        }
        return [Outcome(values[s.metric], s.n_expected, "ok", detail) for s in slots]

    return Measurement(benchmark, tuple(slots), (ask,), compute)


def evolution(context: Context, slots: Sequence[Slot]) -> Measurement:
    """Return MBench's State and Correctness (raw, gated) as a judge rates them, ``(s - 1) / 4``.

    Args:
        context: A case with an event.
        slots: State, raw correctness, gated correctness.
    """
    assert context.case is not None and context.case.event is not None
    benchmark = "mbench"
    missing = context.lacks("judge")
    if missing is not None:
        return refused(benchmark, slots, "unavailable", missing)
    event = context.case.event
    # The event in words is the case's prompt; a name such as ice_melts says it as well.
    words = context.case.prompt or event.name.replace("_", " ")
    frames = watched(context.path, whole("mbench.judge_stride"))
    phases = phases_of(context.path)
    state = Ask("judge", frames, Rating("state", words, phases))
    correctness = Ask("judge", frames, Rating("correctness", words, phases))
    name = context.profile.backbone("judge").name

    def compute(features: Features) -> list[Outcome]:
        first, second = features[state], features[correctness]
        share = (float(first) - 1) / 4
        correct = (float(second) - 1) / 4
        rated = {"backbone": name, "score": float(first), "correctness": float(second)}
        both = {**rated, "state": explained(first), "evolution": explained(second)}
        return [
            Outcome(share, first.votes, "ok", {**rated, **explained(first)}),
            Outcome(correct, second.votes, "ok", {**rated, **explained(second)}),
            Outcome(share * correct, min(first.votes, second.votes), "ok", both),
        ]

    return Measurement(benchmark, tuple(slots), (state, correctness), compute)


def thinned(
    pairs: Mapping[str, list[tuple[int, int]]], most: int
) -> dict[str, list[tuple[int, int]]]:
    """Return at most ``most`` pairs of each set, evenly spread: a judge is paid by the pair."""
    out = {}
    for name, group in pairs.items():
        kept = np.unique(np.linspace(0, len(group) - 1, min(most, len(group))).round().astype(int))
        out[name] = [group[k] for k in kept.tolist()]
    return out
