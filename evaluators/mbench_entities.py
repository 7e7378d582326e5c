"""MBench's entity metrics of features: identity of faces, texture of objects, looks of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import geodesic_deg
from worldenv.case import Target
from worldenv.evaluators import entities
from worldenv.evaluators.constants import whole
from worldenv.evaluators.entities import Sighting
from worldenv.evaluators.folds import Folds
from worldenv.evaluators.metrics.appearance import centroid_consistency
from worldenv.evaluators.metrics.identity import Detection, steadiness, track_identities
from worldenv.evaluators.plan import (
    Ask,
    Context,
    Features,
    Measurement,
    Outcome,
    Slot,
    Thing,
    refused,
)
from worldenv.evaluators.score import Status
from worldenv.evaluators.windows import strided, uniform

_ID = "mbench"
PERSON = "person"


def identity(context: Context, frames: Sequence[int]) -> Measurement:
    """Plan the identity of every face over uniform frames, averaged over people.

    Args:
        context: What is known before the first frame.
        frames: Frames that count, ascending.
    """
    targets = context.case.targets if context.case is not None else ()
    people = [t for t in targets if t.noun == PERSON]
    chosen = uniform(frames, whole("mbench.identity_frames"))
    slot = Slot("identity", "", None, None, len(chosen))
    if targets and not people:
        reason = "the case has no person to look for"
        return refused(_ID, (slot,), "not_applicable", reason)
    missing = context.lacks("faces", "identity", noun=PERSON)
    if missing is not None:
        return refused(_ID, (slot,), "unavailable", missing)
    person = Thing(PERSON)
    # Truth knows who is who: it cannot measure faces, but it can say whether the tracks are right.
    checked = context.lacks("segment", noun=PERSON) is None and entities.lasting(context)
    backbone = context.profile.backbone("identity").name

    def compute(features: Features) -> list[Outcome]:
        faces = [features[Ask("identity", (frame,))] for frame in chosen]
        vectors = [[vector for _, vector in found] for found in faces]
        tracks = track_identities(vectors)
        detail: dict[str, Any] = {"backbone": backbone, "faces": sum(map(len, faces))}
        detail["frames"] = [f for f, found in zip(chosen, faces, strict=True) if found]
        if not tracks:
            reason = "no face is seen in any of the frames"
            status: Status = "no_observation" if people else "not_applicable"
            return [Outcome(status=status, detail={**detail, "reason": reason})]
        steady = [steadiness(vectors, track) for track in tracks]
        detail["identities"] = {
            f"#{k}": {"consistency": value, "frames": [chosen[d.frame] for d in track]}
            for k, (value, track) in enumerate(zip(steady, tracks, strict=True))
        }
        if checked:
            owners = [features[Ask("portrait", (frame,), person)] for frame in chosen]
            detail |= _checked(tracks, owners)
        seen = sum(bool(found) for found in faces)
        return [Outcome(float(np.mean(steady)), seen, "ok", detail)]

    asks = [Ask("identity", (frame,)) for frame in chosen]
    if checked:
        asks += [Ask("portrait", (frame,), person) for frame in chosen]
    return Measurement(_ID, (slot,), tuple(asks), compute)


def _checked(tracks: Sequence[Sequence[Detection]], owners: Sequence[Any]) -> dict[str, Any]:
    """Return whose faces truth finds in every track, and how many tracks mix or split people."""
    of_track = []
    for track in tracks:
        counts: dict[str, int] = {}
        for d in track:
            owner = owners[d.frame][d.place].owner
            name = "nobody" if owner is None else str(owner.track)
            counts[name] = counts.get(name, 0) + 1
        of_track.append(counts)
    people = [name for counts in of_track for name in counts if name != "nobody"]
    return {
        "instances": {f"#{k}": counts for k, counts in enumerate(of_track)},
        "mixed": sum(len(counts) > 1 for counts in of_track),
        "split": sum(people.count(name) > 1 for name in set(people)),
    }


def going_out(context: Context, fold: Folds) -> tuple[list[int], list[int]]:
    """Return the frames of the initial hold that are looked at, and those with the exit."""
    stride = whole("mbench.stride")
    initial = strided(context.path.frames_of("V").tolist(), stride)
    return initial, sorted({*initial, *strided(fold.moving[0], stride)})


def centroids(context: Context, fold: Folds, noun: str, targets: Sequence[Target]) -> Measurement:
    """Plan texture (objects) or appearance (people) before and after an absence."""
    stride = whole("mbench.stride")
    initial, before = going_out(context, fold)
    back = strided(fold.moving[1], stride)
    hold = strided(context.path.frames_of("H").tolist(), stride)
    after = sorted({*back, *hold})
    slots = _slots(noun, targets, len(before) + len(after), 1)
    missing = context.lacks("segment", "embed", noun=noun)
    if missing is not None:
        return refused(_ID, slots, "unavailable", missing)
    turned = geodesic_deg(context.path.poses[after, :3, :3], np.eye(3))
    angles = dict(zip(after, turned.tolist(), strict=True))
    # Going out is continuous, so a tracker keeps the thing; coming back it is found anew.
    there, again = Thing(noun, tuple(before)), Thing(noun, tuple(after))
    by_instance = entities.lasting(context)
    shared = {"backbone": context.profile.backbone("embed").name}
    again_looked = entities.glances(context, noun, hold or back[-1:])

    def compute(features: Features) -> list[Outcome]:
        first = entities.gather(features, initial, there)
        reference = entities.references(first, targets, by_instance)
        seen_before = entities.gather(features, before, there)
        seen_after = entities.gather(features, after, again)
        chosen = entities.associate(
            entities.with_others(reference, first), entities.near_start(seen_after.valid, angles)
        )
        found = []
        for target in targets:
            start = reference[target.name]
            track = chosen.get(target.name)
            if not start:
                reason = "the target is not seen in the initial observation"
                found.append(_none("not_applicable", reason, shared))
            elif track is None:
                missed = seen_after.small or entities.overlooked(features, again_looked, seen_after)
                status: Status = "no_observation" if missed else "absent"
                reason = "nothing of its kind is seen after the return"
                found.append(_none(status, reason, shared))
            else:
                rows = seen_before.valid.get(start[0].region.track, []) + seen_after.valid[track]
                found.append(_consistency(rows, shared))
        return found

    asks = [*entities.looks(before, there), *entities.looks(after, again), *again_looked]
    return Measurement(_ID, slots, tuple(asks), compute)


def centroids_over(
    context: Context, frames: Sequence[int], noun: str, targets: Sequence[Target]
) -> Measurement:
    """Plan texture or appearance over uniform frames of a path without a prescribed return.

    Every frame is looked at by itself; who is who again is settled as it is for faces.
    """
    chosen = uniform(frames, whole("mbench.identity_frames"))
    slots = _slots(noun, targets, len(chosen), None)
    missing = context.lacks("segment", "embed", noun=noun)
    if missing is not None:
        return refused(_ID, slots, "unavailable", missing)
    thing = Thing(noun)
    by_instance = entities.lasting(context)
    shared = {"backbone": context.profile.backbone("embed").name}

    def compute(features: Features) -> list[Outcome]:
        rows: list[list[Sighting]] = []
        for frame in chosen:
            valid = entities.gather(features, [frame], thing).valid
            rows.append([valid[track][0] for track in sorted(valid)])
        tracks = track_identities([[s.vector for s in row] for row in rows])
        seen = [[rows[d.frame][d.place] for d in track] for track in tracks]
        # What the first frame shows stands for the targets, as in a path with an initial hold.
        first = entities.gather(features, chosen[:1], thing)
        reference = entities.references(first, targets, by_instance)
        found = []
        for target in targets:
            start = reference[target.name]
            if not start:
                reason = "the target is not seen in the first frame"
                found.append(_none("not_applicable", reason, shared))
                continue
            mine = next(
                track
                for track in seen
                if (track[0].frame, track[0].region.track)
                == (start[0].frame, start[0].region.track)
            )
            found.append(_consistency(mine, {**shared, "others": len(seen) - 1}))
        return found

    return Measurement(_ID, slots, tuple(entities.looks(chosen, thing)), compute)


def _slots(
    noun: str, targets: Sequence[Target], expected: int, revisit: int | None
) -> tuple[Slot, ...]:
    metric = "appearance" if noun == PERSON else "texture"
    return tuple(Slot(metric, "", t.name, revisit, expected) for t in targets)


def _consistency(rows: Sequence[Sighting], shared: dict[str, Any]) -> Outcome:
    vectors: NDArray[np.float32] = np.stack([s.vector for s in rows])
    detail = {**shared, "frames": [s.frame for s in rows]}
    return Outcome(centroid_consistency(vectors), len(rows), "ok", detail)


def _none(status: Status, reason: str, shared: dict[str, Any]) -> Outcome:
    return Outcome(status=status, detail={**shared, "reason": reason})
