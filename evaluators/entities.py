"""People and objects at a revisit: who is who again, how alike, and in which shape."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from worldenv.case import Target
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.appearance import cosine
from worldenv.evaluators.metrics.shape import overlap, silhouette
from worldenv.evaluators.plan import Ask, Outcome


class Silhouettes:
    """Answers ``silhouette``: track -> (Region without its mask, shape on a canvas)."""

    name = "silhouette"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the cutout of the frame."""
        return (Ask("cutout", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Normalise every mask; small ones keep no shape."""
        least = constant("worldmembench.min_area")
        return [
            {
                r.track: (
                    r._replace(mask=r.mask[:0]),
                    silhouette(r.mask) if r.area >= least else None,
                )
                for r in regions
            }
            for ((_, regions),) in inputs
        ]


class Presence:
    """Answers ``presence`` for a noun with the tracks that are large enough to be seen."""

    name = "presence"
    revision = "1"
    checksum = ""
    batch = 1

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the regions of the frame."""
        return (Ask("segment", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """List the tracks of every frame."""
        least = constant("worldmembench.min_area")
        return [frozenset(r.track for r in found if r.area >= least) for (found,) in inputs]


@dataclass
class Sighting:
    """A region in one frame.

    Attributes:
        frame: Frame index.
        region: The region, without its mask.
        vector: Its appearance.
        shape: Its silhouette on the canvas.
    """

    frame: int
    region: Region
    vector: NDArray[np.float32]
    shape: NDArray[np.bool_]


@dataclass
class Tracks:
    """Sightings of one noun over a set of frames.

    Attributes:
        valid: Track -> sightings large enough to be scored.
        small: Frames in which something of the noun was seen too small.
    """

    valid: dict[int, list[Sighting]] = field(default_factory=dict)
    small: list[int] = field(default_factory=list)


def gather(
    features: Mapping[Ask, Any], frames: Sequence[int], subject: Callable[[int], Hashable] | str
) -> Tracks:
    """Collect the sightings of a subject from the answers of ``embed`` and ``silhouette``.

    Args:
        features: The answers.
        frames: Frame indices.
        subject: A noun, or frame -> the subject that was asked for.
    """
    out = Tracks()
    for frame in frames:
        of = subject if isinstance(subject, str) else subject(frame)
        vectors = features[Ask("embed", (frame,), of)]
        for track, (region, shape) in features[Ask("silhouette", (frame,), of)].items():
            if shape is None or track not in vectors:
                out.small.append(frame)
            else:
                seen = Sighting(frame, region, vectors[track][1], shape)
                out.valid.setdefault(track, []).append(seen)
    return out


def references(initial: Tracks, targets: Sequence[Target]) -> dict[str, list[Sighting]]:
    """Return target name -> its sightings in V: by instance where known, else largest first."""
    taken = {t.instance for t in targets if t.instance is not None}
    free = sorted(
        (track for track in initial.valid if track not in taken),
        key=lambda track: (-initial.valid[track][0].region.area, track),
    )
    out = {}
    for target in targets:
        if target.instance is not None:
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
    return max(overlap(r.shape, seen.shape) for r in reference)


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


def outcomes(
    reference: Sequence[Sighting],
    seen: Sequence[Sighting],
    facing: Sequence[Sighting],
    missed: bool,
    detail: dict[str, Any],
) -> dict[tuple[str, str], Outcome]:
    """Return (kind, variant) -> Outcome of one target at one revisit.

    Kinds ``appearance`` (Eq. 4) and ``geometry`` (Eq. 5); variants ``whole`` (all valid frames)
    and ``core`` (near the start, turned to face it, and cut by the border no more than the
    reference is).

    Args:
        reference: Sightings in V.
        seen: Valid sightings of the associated track, empty when there is none.
        facing: The same track in the frames near the start, turned to face it.
        missed: Whether only the detector missed it: something smaller was there.
        detail: What is added to every detail.
    """
    keys = [(kind, variant) for kind in ("appearance", "geometry") for variant in ("whole", "core")]
    if not reference:
        gone = Outcome(
            status="not_applicable",
            detail={**detail, "reason": "the target is not seen in the initial observation"},
        )
        return dict.fromkeys(keys, gone)
    if not seen:
        gone = Outcome(
            status="no_observation" if missed else "absent",
            detail={**detail, "reason": "seen too small" if missed else "nothing of its kind seen"},
        )
        return dict.fromkeys(keys, gone)
    most_cut = max(r.region.cut for r in reference) + constant("worldmembench.core_cut")
    core = [s for s in facing if s.region.cut <= most_cut]
    out = {}
    for kind, measure in (("appearance", likeness), ("geometry", shape_likeness)):
        for variant, chosen in (("whole", list(seen)), ("core", core)):
            if not chosen:
                reason = "no frame near the start shows it uncut"
                out[kind, variant] = Outcome(
                    status="no_observation", detail={**detail, "reason": reason}
                )
                continue
            found = {s.frame: measure(reference, s) for s in chosen}
            out[kind, variant] = Outcome(
                float(np.mean(list(found.values()))), len(found), "ok", {**detail, "frames": found}
            )
    return out
