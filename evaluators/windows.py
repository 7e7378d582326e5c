"""Which frames of a path are looked at, and the segments of a path that text drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from worldenv.camera import CameraPath
from worldenv.case import load_script, script_names
from worldenv.evaluators.constants import whole
from worldenv.evaluators.plan import Context


def sampled(path: CameraPath, phase: str) -> list[int]:
    """Return every 4th frame of a phase, counted from its start, and its last."""
    return strided(path.frames_of(phase).tolist(), whole("worldmembench.stride"))


def strided(frames: Sequence[int], stride: int) -> list[int]:
    """Return every ``stride``-th of the frames and their last, ascending."""
    return sorted({*frames[::stride], *frames[-1:]})


def scored(path: CameraPath) -> list[int]:
    """Return the frames that count: all with a phase, all of a path without phases."""
    phases = path.phases
    if phases is None or not any(phases):
        return list(range(len(path)))
    return [frame for frame, phase in enumerate(phases) if phase is not None]


def uniform(frames: Sequence[int], count: int) -> list[int]:
    """Return at most ``count`` of the frames, evenly spread, first and last included."""
    if len(frames) <= count:
        return list(frames)
    places = np.linspace(0, len(frames) - 1, count).round().astype(int)
    return [frames[place] for place in places.tolist()]


class Segment(NamedTuple):
    """The frames of one prompt.

    Attributes:
        frames: Frame indices, ascending.
        text: The prompt.
    """

    frames: tuple[int, ...]
    text: str


def text_segments(context: Context) -> tuple[Segment, ...]:
    """Return the segments of a path that prompts drive, empty for any other.

    Their bounds and texts come from the script; without one, the case's prompts share the path
    evenly.
    """
    path, case = context.path, context.case
    name = context.script or ""
    known = name.partition("(")[0] in script_names()
    script = load_script(name) if known else None
    prompts = getattr(script, "prompts", None)
    if script is not None and prompts is not None:
        parts, walked = prompts(context.spec, case), script.path(context.spec, case)
        # The world may have held the camera for some frames before the script begins.
        first = _held(path) - _held(walked) if _held(walked) < len(walked) else 0
        starts = [first + frame for frame, _ in parts]
        texts = [text for _, text in parts]
        end = min(len(path), first + len(walked))
    elif case is not None and case.prompts and not path.revisits:
        texts, end = list(case.prompts), len(path)
        starts = [round(k * end / len(texts)) for k in range(len(texts))]
    else:
        return ()
    bounds = [*starts[1:], end]
    found = [
        Segment(tuple(range(start, min(stop, end))), text)
        for start, stop, text in zip(starts, bounds, texts, strict=True)
    ]
    return tuple(segment for segment in found if segment.frames)


def _held(path: CameraPath) -> int:
    """Return the number of frames before the path first moves."""
    moved = np.flatnonzero((path.poses != path.poses[0]).any(axis=(1, 2)))
    return int(moved[0]) if len(moved) else len(path)
