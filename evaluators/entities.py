"""People and objects over time: what was seen, who is who again, how alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from worldenv.case import Target
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.appearance import cosine
from worldenv.evaluators.metrics.shape import overlap
from worldenv.evaluators.plan import Ask, Context, Thing
from worldenv.evaluators.windows import uniform


@dataclass
class Sighting:
    """A region in one frame.

    Attributes:
        frame: Frame index.
        region: The region, without its mask.
        vector: How it looks, or whose face it has.
        shape: Its silhouette on the canvas, where that was asked for.
    """

    frame: int
    region: Region
    vector: NDArray[np.float32]
    shape: NDArray[np.bool_] | None = None


@dataclass
class Tracks:
    """Sightings of one noun over a set of frames.

    Attributes:
        valid: Track -> sightings large enough to be scored.
        small: Frames in which something of the noun was seen too small.
    """

    valid: dict[int, list[Sighting]] = field(default_factory=dict)
    small: list[int] = field(default_factory=list)


Subject = Hashable | Callable[[int], Hashable]
"""A Thing, or frame -> the subject that was asked for."""


def of_frame(subject: Subject, frame: int) -> Hashable:
    """Return the subject of the asks about a frame."""
    return subject(frame) if callable(subject) else subject


def looks(frames: Sequence[int], subject: Subject) -> list[Ask]:
    """Return the asks that ``gather`` reads."""
    return [
        Ask(role, (frame,), of_frame(subject, frame))
        for frame in frames
        for role in ("embed", "silhouette")
    ]


def gather(features: Mapping[Ask, Any], frames: Sequence[int], subject: Subject) -> Tracks:
    """Collect the sightings of a subject from the answers to ``looks``."""
    out = Tracks()
    for frame in frames:
        of = of_frame(subject, frame)
        vectors = features[Ask("embed", (frame,), of)]
        for track, (region, shape) in features[Ask("silhouette", (frame,), of)].items():
            if shape is None or track not in vectors:
                out.small.append(frame)
            else:
                seen = Sighting(frame, region, vectors[track][1], shape)
                out.valid.setdefault(track, []).append(seen)
    return out


def gather_regions(features: Mapping[Ask, Any], frames: Sequence[int], thing: Thing) -> Tracks:
    """Collect sightings without appearance, from the answers of ``silhouette`` alone."""
    out = Tracks()
    nothing = np.zeros(0, np.float32)
    for frame in frames:
        for track, (region, shape) in features[Ask("silhouette", (frame,), thing)].items():
            if shape is not None:
                out.valid.setdefault(track, []).append(Sighting(frame, region, nothing, shape))
    return out


def gather_faces(
    features: Mapping[Ask, Any], frames: Sequence[int], thing: Thing
) -> dict[int, list[Sighting]]:
    """Return track -> sightings with the face of each, from the answers of ``portrait``."""
    least = constant("worldmembench.min_area")
    out: dict[int, list[Sighting]] = {}
    for frame in frames:
        for portrait in features[Ask("portrait", (frame,), thing)]:
            if portrait.owner is not None and portrait.owner.area >= least:
                seen = Sighting(frame, portrait.owner, portrait.vector)
                out.setdefault(portrait.owner.track, []).append(seen)
    return out


def glances(context: Context, noun: str, frames: Sequence[int]) -> list[Ask]:
    """Return the asks of a second, more easily convinced detector, none where there is none.

    Args:
        context: What is known before the first frame.
        noun: What is looked for.
        frames: Where it should be, ascending; a few of them are looked at.
    """
    if context.lacks("second_detect", noun=noun) is not None:
        return []
    looked = uniform(frames, whole("entities.glances"))
    return [Ask("glance", (frame,), Thing(noun)) for frame in looked]


def overlooked(features: Mapping[Ask, Any], asks: Sequence[Ask], seen: Tracks) -> bool:
    """Return whether a second detector finds more than what is scored in any frame it looks at."""
    return any(
        features[ask]
        > sum(s.frame == ask.frames[0] for track in seen.valid.values() for s in track)
        for ask in asks
    )


def lasting(context: Context) -> bool:
    """Return whether the tracks of role segment are instances, the same in every window."""
    return bool(getattr(context.profile.backbone("segment"), "lasting", False))


def references(
    initial: Tracks, targets: Sequence[Target], by_instance: bool = True
) -> dict[str, list[Sighting]]:
    """Return target name -> its sightings in the initial window.

    By instance where the case and the segmenter know it. Else what the window shows from its
    first frame on goes before what enters later, and large and sure before small and doubtful
    (confidence x area); the targets take them in their order.

    Args:
        initial: What is seen in the initial window.
        targets: The targets of one noun.
        by_instance: Whether track numbers are instances; see ``lasting``.
    """
    known = {t.instance for t in targets if by_instance and t.instance is not None}

    def rank(track: int) -> tuple[int, float, int]:
        first = initial.valid[track][0]
        return first.frame, -first.region.score * first.region.area, track

    free = sorted((track for track in initial.valid if track not in known), key=rank)
    out = {}
    for target in targets:
        if by_instance and target.instance is not None:
            out[target.name] = initial.valid.get(target.instance, [])
        else:
            out[target.name] = initial.valid[free.pop(0)] if free else []
    return out


def with_others(
    reference: Mapping[str, Sequence[Sighting]], initial: Tracks
) -> dict[str, Sequence[Sighting]]:
    """Return the references together with whatever else of the noun is seen in V.

    One-to-one assignment needs them all: else a target that changed would be taken for a
    bystander that did not.
    """
    known = {seen[0].region.track for seen in reference.values() if seen}
    others = {f"#{track}": seen for track, seen in initial.valid.items() if track not in known}
    return {**reference, **others}


def likeness(reference: Sequence[Sighting], seen: Sighting) -> float:
    """Return the largest clipped cosine of a sighting to the references, in [0, 1]."""
    return max(max(0.0, cosine(r.vector, seen.vector)) for r in reference)


def shape_likeness(reference: Sequence[Sighting], seen: Sighting) -> float:
    """Return the largest silhouette overlap of a sighting with the references, in [0, 1]."""
    assert seen.shape is not None
    shapes = [r.shape for r in reference if r.shape is not None]
    return max(overlap(shape, seen.shape) for shape in shapes)


def associate(
    initial: Mapping[str, Sequence[Sighting]], tracks: Mapping[int, Sequence[Sighting]]
) -> dict[str, int]:
    """Return target name -> track at a revisit: one to one, best mean similarity to V in total."""
    names = [name for name, seen in initial.items() if seen]
    columns = sorted(tracks)
    if not names or not columns:
        return {}
    gain = np.array(
        [[np.mean([likeness(initial[n], s) for s in tracks[c]]) for c in columns] for n in names]
    )
    rows, chosen = linear_sum_assignment(-gain)
    return {names[r]: columns[c] for r, c in zip(rows, chosen, strict=True)}


def near_start(
    tracks: Mapping[int, Sequence[Sighting]], angles: Mapping[int, float]
) -> dict[int, list[Sighting]]:
    """Return the sightings near the start, where every target was seen; all when there are none.

    Something of the same kind that only passes by on the way back cannot be the target.
    """
    limit = constant("worldmembench.core_angle")
    if min(angles.values()) > limit:
        return {track: list(seen) for track, seen in tracks.items()}
    kept = {track: [s for s in seen if angles[s.frame] <= limit] for track, seen in tracks.items()}
    return {track: seen for track, seen in kept.items() if seen}
