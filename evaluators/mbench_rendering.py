"""MBench's metrics of the whole frame: lighting, style, and what a text asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldenv.evaluators.constants import whole
from worldenv.evaluators.folds import Folds
from worldenv.evaluators.metrics.appearance import lighting_consistency
from worldenv.evaluators.metrics.style import style_consistency
from worldenv.evaluators.plan import Ask, Context, Features, Measurement, Outcome, Slot, refused
from worldenv.evaluators.windows import Segment, uniform

_ID = "mbench"


def lighting(context: Context, fold: Folds, revisit: int | None) -> Measurement:
    """Plan the lighting of paired segments."""
    slot = Slot("lighting", "", None, revisit, len(fold.segments))
    if not fold.segments:
        return refused(_ID, (slot,), "not_applicable", "the path has no two segments to compare")

    def compute(features: Features) -> list[Outcome]:
        pairs = [
            tuple(np.stack([features[Ask("light", (f,))] for f in part]) for part in segment)
            for segment in fold.segments
        ]
        value = lighting_consistency([(a, b) for a, b in pairs])
        return [Outcome(value, len(pairs), "ok", {"backbone": "cielab"})]

    frames = dict.fromkeys(f for segment in fold.segments for part in segment for f in part)
    return Measurement(_ID, (slot,), tuple(Ask("light", (f,)) for f in frames), compute)


def style(context: Context, pairs: Sequence[tuple[int, int]], revisit: int | None) -> Measurement:
    """Plan the style of paired frames."""
    slot = Slot("style", "", None, revisit, len(pairs))
    missing = context.lacks("style")
    if missing is not None:
        return refused(_ID, (slot,), "unavailable", missing)
    if not pairs:
        return refused(_ID, (slot,), "not_applicable", "the path has no two frames to compare")
    backbone = context.profile.backbone("style").name
    asks = tuple(Ask("style_distance", pair) for pair in dict.fromkeys(pairs))

    def compute(features: Features) -> list[Outcome]:
        distances = {f"{a.frames[0]}-{a.frames[1]}": float(features[a]) for a in asks}
        value = style_consistency(list(distances.values()))
        detail = {"backbone": backbone, "distances": distances}
        return [Outcome(value, len(distances), "ok", detail)]

    return Measurement(_ID, (slot,), asks, compute)


def text(context: Context, segments: Sequence[Segment]) -> Measurement:
    """Plan how well every segment shows its prompt."""
    looked = [uniform(s.frames, whole("mbench.text_frames")) for s in segments]
    slot = Slot("text", "", None, None, sum(map(len, looked)))
    if not segments:
        reason = "actions, not texts, say what the path should show"
        return refused(_ID, (slot,), "not_applicable", reason)
    missing = context.lacks("text")
    if missing is not None:
        return refused(_ID, (slot,), "unavailable", missing)
    if context.spec is not None and context.spec.prompt != "chunk":
        reason = f"{context.spec.name} takes no prompt a chunk, so it never got the texts"
        return refused(_ID, (slot,), "not_applicable", reason)
    backbone = context.profile.backbone("text").name
    asks = [
        [Ask("text", (frame,), segment.text) for frame in frames]
        for segment, frames in zip(segments, looked, strict=True)
    ]

    def compute(features: Features) -> list[Outcome]:
        found = [[float(features[ask]) for ask in part] for part in asks]
        means = [float(np.mean(values)) for values in found]
        detail = {
            "backbone": backbone,
            "segments": {f"#{k}": mean for k, mean in enumerate(means)},
            "frames": {
                ask.frames[0]: value
                for part, values in zip(asks, found, strict=True)
                for ask, value in zip(part, values, strict=True)
            },
        }
        return [Outcome(float(np.mean(means)), sum(map(len, found)), "ok", detail)]

    flat = tuple(ask for part in asks for ask in part)
    return Measurement(_ID, (slot,), flat, compute)
