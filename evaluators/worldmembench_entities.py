"""WorldMemBench's people and objects at a prescribed revisit: identity, appearance, geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from worldenv.camera import geodesic_deg
from worldenv.case import Target
from worldenv.evaluators import entities, realised
from worldenv.evaluators.backbones.cutout import Facing
from worldenv.evaluators.constants import constant
from worldenv.evaluators.entities import Sighting
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
from worldenv.evaluators.windows import sampled

_ID = "worldmembench"
VARIANTS = ("whole", "core")
PERSON = "person"


class Plan(NamedTuple):
    """What is asked about the things of one noun at one revisit.

    Attributes:
        initial: Sampled frames of V.
        back: Sampled frames of R_k.
        gone: Sampled frames of D_k.
        first: The Thing that is asked for in V; tracked there.
        again: The Thing that is asked for in R_k; tracked there alone.
        facing: Frame -> the same, turned to face the start; None where K is unknown.
        glances: Asks of a second detector about frames of R_k near the start.
        poses: Asks of realised poses, none where the target poses have to do.
        pose_source: What the poses come from.
    """

    initial: list[int]
    back: list[int]
    gone: list[int]
    first: Thing
    again: Thing
    facing: Callable[[int], Facing] | None
    glances: list[Ask]
    poses: tuple[Ask, ...]
    pose_source: str


def plan_of(context: Context, k: int, noun: str) -> Plan:
    """Lay out the windows of a noun at a revisit."""
    path = context.path
    initial, back, gone = (sampled(path, phase) for phase in ("V", f"R{k}", f"D{k}"))
    again = Thing(noun, tuple(back))
    turned = geodesic_deg(path.poses[back, :3, :3], np.eye(3))
    limit = constant("worldmembench.core_angle")
    near = [frame for frame, angle in zip(back, turned, strict=True) if angle <= limit]
    poses, source = realised.asks_of(context, [0, *back, *gone])
    return Plan(
        initial,
        back,
        gone,
        Thing(noun, tuple(initial)),
        again,
        _facing(context, again, bool(poses)),
        entities.glances(context, noun, near or back[-1:]),
        poses,
        source,
    )


def _facing(context: Context, thing: Thing, by_pose: bool) -> Callable[[int], Facing] | None:
    if context.K is None:
        return None
    limit = constant("worldmembench.core_angle")
    if by_pose:
        return lambda frame: Facing(thing, limit)
    R = context.path.poses[:, :3, :3]
    return lambda frame: Facing(thing, limit, tuple((R[0].T @ R[frame]).ravel().tolist()))


def measure(context: Context, k: int, noun: str, targets: Sequence[Target]) -> list[Measurement]:
    """Return the measurements of the targets of one noun at revisit k."""
    plan = plan_of(context, k, noun)
    person = noun == PERSON
    metrics = ("human_appearance",) if person else ("object_appearance", "object_geometry")
    out = []
    for names, roles in ((metrics, ()), (("human_identity",), ("faces", "identity"))):
        if roles and not person:
            continue
        slots = tuple(
            Slot(metric, variant, target.name, k, len(plan.back))
            for target in targets
            for metric in names
            for variant in VARIANTS
        )
        missing = context.lacks(*roles, "segment", "embed", noun=noun)
        if missing is not None:
            out.append(refused(_ID, slots, "unavailable", missing))
        else:
            # A face is turned upright by its landmarks; the lens does not matter to it.
            asked = plan._replace(facing=None) if roles else plan
            out.append(_measurement(context, asked, targets, slots, bool(roles)))
    return out


def _measurement(
    context: Context,
    plan: Plan,
    targets: Sequence[Target],
    slots: tuple[Slot, ...],
    by_face: bool,
) -> Measurement:
    by_instance = entities.lasting(context)
    presence = [Ask("presence", (f,), Thing(plan.first.noun)) for f in plan.gone]
    asks = [*entities.looks(plan.initial, plan.first), *entities.looks(plan.back, plan.again)]
    if by_face:
        asks += [Ask("portrait", (f,), plan.first) for f in plan.initial]
        asks += [Ask("portrait", (f,), plan.again) for f in plan.back]
    if plan.facing is not None:
        asks += entities.looks(plan.back, plan.facing)
    asks += [*presence, *plan.poses, *plan.glances]
    about: dict[str, Any] = {
        "pose_source": plan.pose_source,
        "backbone": context.profile.backbone("identity" if by_face else "embed").name,
    }
    if not by_face:
        about["core_turned"] = plan.facing is not None
    # Outlines are compared as they are; no descriptor looks at them.
    outlines = {"backbone": context.profile.backbone("segment").name}

    def compute(features: Features) -> list[Outcome]:
        view = _look(context, features, plan, targets, by_instance)
        shared = {**about, "departed": _departed(context, features, plan, presence, view)}
        shared["return_angle"] = min(view.angles.values())
        found: list[Outcome] = []
        for target in targets:
            seen = view.of(target.name)
            if by_face:
                found += _identity(features, plan, view, target.name, shared)
            else:
                found += _compare(seen, entities.likeness, shared)
                if plan.first.noun != PERSON:
                    found += _compare(seen, entities.shape_likeness, {**shared, **outlines})
        return found

    return Measurement(_ID, slots, tuple(dict.fromkeys(asks)), compute)


class Seen(NamedTuple):
    """One target at one revisit.

    Attributes:
        reference: Its sightings in V.
        whole: Its valid sightings in R_k, empty when it was not found.
        core: Those near the start, turned to face it where that is possible.
        missed: Whether only the detector missed it.
    """

    reference: Sequence[Sighting]
    whole: Sequence[Sighting]
    core: Sequence[Sighting]
    missed: bool


class View(NamedTuple):
    """What is seen of all targets of a noun at one revisit.

    Attributes:
        reference: Target name -> its sightings in V.
        seen: What is seen in R_k.
        turned: The same turned to face the start.
        chosen: Target name -> its track in R_k.
        angles: Frame of R_k -> degrees from the start.
        missed: Whether something of the noun was there that was not scored.
        by_instance: Whether track numbers are instances.
    """

    reference: dict[str, list[Sighting]]
    seen: entities.Tracks
    turned: entities.Tracks
    chosen: dict[str, int]
    angles: Mapping[int, float]
    missed: bool
    by_instance: bool

    def near(self, sightings: Sequence[Sighting]) -> list[Sighting]:
        """Return the sightings within the core angle of the start."""
        limit = constant("worldmembench.core_angle")
        return [s for s in sightings if self.angles[s.frame] <= limit]

    def of(self, name: str) -> Seen:
        """Return what is seen of one target."""
        track = self.chosen.get(name, -1)
        return Seen(
            self.reference[name],
            self.seen.valid.get(track, []),
            self.near(self.turned.valid.get(track, [])),
            self.missed,
        )


def _look(
    context: Context,
    features: Features,
    plan: Plan,
    targets: Sequence[Target],
    by_instance: bool,
) -> View:
    first = entities.gather(features, plan.initial, plan.first)
    reference = entities.references(first, targets, by_instance)
    seen = entities.gather(features, plan.back, plan.again)
    angles = realised.away(context, features, plan.back)
    facing = plan.facing
    turned = seen if facing is None else entities.gather(features, plan.back, facing)
    chosen = entities.associate(
        entities.with_others(reference, first), entities.near_start(seen.valid, angles)
    )
    limit = constant("worldmembench.core_angle")
    # What is too small to be scored, or is found by a more easily convinced detector, was missed.
    missed = any(angles[f] <= limit for f in seen.small)
    missed = missed or entities.overlooked(features, plan.glances, seen)
    return View(reference, seen, turned, chosen, angles, missed, by_instance)


def _departed(
    context: Context, features: Features, plan: Plan, presence: Sequence[Ask], view: View
) -> bool:
    """Return whether the camera turned far enough away, or lost sight of every target.

    Where track numbers do not outlast a window, a target counts as out of sight only when nothing
    of its kind is in view.
    """
    turned = max(realised.away(context, features, plan.gone).values(), default=0.0)
    if turned >= constant("worldmembench.return_angle"):
        return True
    known = {seen[0].region.track for seen in view.reference.values() if seen}
    return any(
        not (known & features[ask] if view.by_instance else features[ask]) for ask in presence
    )


def _compare(
    seen: Seen, alike: Callable[[Sequence[Sighting], Sighting], float], detail: Mapping[str, Any]
) -> list[Outcome]:
    """Return the outcomes ``whole`` (all valid frames) and ``core`` of Eq. 4 or 5 for a target.

    ``core``: near the start, turned to face it, and cut by the border no more than the reference.
    """

    def none(status: Any, reason: str) -> Outcome:
        return Outcome(status=status, detail={**detail, "reason": reason})

    if not seen.reference:
        return [none("not_applicable", "the target is not seen in the initial observation")] * 2
    if not seen.whole:
        if seen.missed:
            return [none("no_observation", "seen too small or too faintly")] * 2
        return [none("absent", "nothing of its kind seen")] * 2
    out = []
    for chosen in (seen.whole, _uncut(seen.core, seen.reference)):
        if not chosen:
            out.append(none("no_observation", "no frame near the start shows it uncut"))
            continue
        found = {s.frame: alike(seen.reference, s) for s in chosen}
        value = float(np.mean(list(found.values())))
        out.append(Outcome(value, len(found), "ok", {**detail, "frames": found}))
    return out


def _uncut(core: Sequence[Sighting], reference: Sequence[Sighting]) -> list[Sighting]:
    """Return the sightings that the border cuts no more than it cuts the reference."""
    most = max(r.region.cut for r in reference) + constant("worldmembench.core_cut")
    return [s for s in core if s.region.cut <= most]


def _identity(
    features: Features, plan: Plan, view: View, name: str, detail: Mapping[str, Any]
) -> list[Outcome]:
    """Return the outcomes ``whole`` and ``core`` of Eq. 4 on the faces of one person."""
    seen = view.of(name)
    if not seen.reference or not seen.whole:
        return _compare(seen, entities.likeness, detail)
    start, back = seen.reference[0].region.track, seen.whole[0].region.track
    known = entities.gather_faces(features, plan.initial, plan.first).get(start, [])
    if not known:
        reason = "no face of the person is seen in the initial observation"
        return [Outcome(status="not_applicable", detail={**detail, "reason": reason})] * 2
    faces = entities.gather_faces(features, plan.back, plan.again).get(back, [])
    if not faces:
        reason = "the person is seen, but no face"
        return [Outcome(status="no_observation", detail={**detail, "reason": reason})] * 2
    return _compare(Seen(known, faces, view.near(faces), False), entities.likeness, detail)
