"""Looking over scenes by seed: what each view shows, what leaves it, where there is room to go."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from cases.drawing import (
    SQUARE,
    WIDE,
    Array,
    Drawing,
    Lens,
    frame_of,
    gone,
    moved,
    turned,
)
from cases.words import setting_of
from worldenv.case import load_script
from worldenv.evaluators.events import Glimpse, judge, started
from worldenv.worlds.reference import start, textures
from worldenv.worlds.reference.families import FAMILIES
from worldenv.worlds.reference.questions import QUESTIONS, answers_of
from worldenv.worlds.reference.scene import Instance, Scene, SceneEvent, View
from worldenv.worlds.reference.views import (
    free_way,
    in_the_way,
    plan_boxes,
    points_of,
    room_of,
    share_of_frame,
    walked,
)

LEAST = 0.02
"""Least share of the frame of a target's rectangle at the start."""
LEAST_PIXELS = 0.006
"""Least share of the frame of a target's pixels at the start."""
UNHIDDEN = 0.8
"""Least share of a target's pixels that nothing hides at the start."""
MARGIN = 0.97
"""How far from the middle of the frame, 0 to 1, a whole target may reach."""
DISTANCES = (2.0, 2.4, 2.8, 3.2, 3.6, 4.0)
"""How far a strafe or a dolly may go, in metres."""
SMALL_AT_END = ("melting", "walking")
"""Mechanisms whose thing may end up smaller in view than a target must be at the start."""
BLANK = np.full((2, 2, 3), 128, np.uint8)
R2M = ("r2m:out_and_back", "r2m:translation_rotation", "r2m:closed_loop")


@dataclass(frozen=True)
class Seen:
    """A target as a view shows it: whole, hardly hidden and large enough.

    Attributes:
        name: Of the instance.
        noun: Its category.
        instance: Its id.
        share: Of the frame, 0 to 1, by pixels.
        leaves: How it leaves the frame wholly: ``left`` and ``up`` by 60 degrees, ``right`` by 90.
        wide: Whether it is whole and large enough through R2M's lens too.
    """

    name: str
    noun: str
    instance: int
    share: float
    leaves: tuple[str, ...]
    wide: bool


@dataclass(frozen=True)
class Look:
    """What there is to know of a view when cases are chosen.

    Attributes:
        family: Of the scene.
        seed: Of the scene.
        view: Name of the view.
        event: Of the scene, None where it is static.
        setting: A few words on the scene from there, e.g. ``A park in autumn``.
        sort: What sort of scene of its family it is, for the kinds of environments.
        scripts: What the view has room for.
        seen: Targets, best first.
        leaving: Motion -> (metres, names of targets that have left at its end).
        things: How many things of at least 0.3 % of the frame R2M's lens sees.
        mechanism: Of the event.
        answers: To the event's questions.
        drifts: Whether there is room for the nominal path of a continuation.
    """

    family: str
    seed: int
    view: str
    event: str | None
    setting: str
    sort: str
    scripts: tuple[str, ...]
    seen: tuple[Seen, ...]
    leaving: dict[str, tuple[float, tuple[str, ...]]] = field(default_factory=dict)
    things: int = 0
    mechanism: str = ""
    answers: tuple[bool, ...] = ()
    drifts: bool = False

    @property
    def key(self) -> tuple[str, int, str]:
        """Family, seed and view."""
        return self.family, self.seed, self.view


def module_of(family: str) -> Any:
    """Return the module of a family."""
    return importlib.import_module(FAMILIES[family])


def built(family: str, seed: int, event: str | None = None) -> Scene:
    """Return a scene whose textures are blank: their painting takes half the time of building."""
    paint, textures.draw = textures.draw, lambda name, seed, words: BLANK  # type: ignore[assignment]
    try:
        scene: Scene = module_of(family).build(seed, event=event)
    finally:
        textures.draw = paint
    return scene


def setting_categories(scene: Scene) -> frozenset[str]:
    """Return the categories of a scene that are its setting and no targets."""
    module = module_of(scene.tags["family"])
    own = getattr(module, "SETTING", ())
    return frozenset((*start.NOT_TARGETS, *own, *scene.tags.get("setting", "").split(",")))


def standing(scene: Scene) -> list[Instance]:
    """Return the things that stand in a scene's setting."""
    setting = setting_categories(scene)
    return [i for i in scene.instances if i.category not in setting and not i.flat]


@lru_cache(maxsize=1)
def _drift() -> Array:
    return load_script("mbench:continuation").path().poses[::4]


def whole(points: Array, pose: Array, lens: Lens = SQUARE) -> float:
    """Return the share of the frame of a thing's rectangle, 0 where it is not wholly in frame."""
    rectangle = frame_of(points, pose, lens)
    if rectangle is None or abs(rectangle).max() >= MARGIN:
        return 0.0
    return share_of_frame(rectangle)


def _visible(drawing: Drawing, image: Any, pose: Array, thing: Instance) -> float:
    """Return the share of the frame of a thing's pixels, 0 where more than a little is hidden."""
    pixels = int((image == thing.id).sum())
    if pixels <= LEAST_PIXELS * image.size:
        return 0.0
    alone = int((drawing.draw(pose, thing.id) > 0).sum())
    return pixels / image.size if pixels > UNHIDDEN * alone else 0.0


def departures(points: Array, pose: Array) -> tuple[str, ...]:
    """Return by which turns a thing leaves the frame wholly."""
    ways = {"left": {"yaw": -60.0}, "up": {"pitch": 60.0}, "right": {"yaw": 90.0}}
    return tuple(n for n, turn in ways.items() if gone(points, turned(pose, **turn)))


def survey(task: tuple[str, int]) -> list[Look]:
    """Return what the views of a scene (family, seed) show."""
    family, seed = task
    scene = built(family, seed)
    setting, things = setting_categories(scene), standing(scene)
    views = [view for view in scene.views if view.scripts and not crowded(view, things)]
    if not views:
        return []
    drawing = Drawing(scene)
    obstacles, room = plan_boxes(scene.instances), room_of(scene)
    counted = {i.id for i in things}
    looks = []
    for view in views:
        seen = _seen(scene, drawing, view, setting)
        if not seen:
            continue
        count = 0
        if set(R2M) <= set(view.scripts):
            ids, pixels = np.unique(drawing.draw(view.pose, None, WIDE), return_counts=True)
            large = pixels >= 0.003 * WIDE.width * WIDE.height
            count = sum(int(i) in counted for i in ids[large])
        looks.append(
            Look(
                family,
                seed,
                view.name,
                None,
                *setting_of(scene, view),
                view.scripts,
                seen,
                dict(_leaving(scene, drawing, view, seen, obstacles, room)),
                count,
                drifts=free_way(walked(view.pose, _drift()), obstacles, room),
            )
        )
    return looks


def crowded(view: View, things: Iterable[Instance]) -> bool:
    """Return whether something that is no target of a view is in the way."""
    return any(in_the_way(i, view.pose) for i in things if i.name not in view.targets)


def _seen(scene: Scene, drawing: Drawing, view: View, setting: frozenset[str]) -> tuple[Seen, ...]:
    """Return the targets of a view that are whole, hardly hidden and large enough, best first."""
    names = [n for n in view.targets if scene.instance(n).category not in setting]
    shares = {n: whole(drawing.points[n], view.pose) for n in names}
    names = [n for n in names if shares[n] >= LEAST]
    if not names:
        return ()
    image = drawing.draw(view.pose)
    found = []
    for name in names:
        thing, points = scene.instance(name), drawing.points[name]
        share = _visible(drawing, image, view.pose, thing)
        if share:
            wide = whole(points, view.pose, WIDE) >= 0.5 * LEAST
            leaves = departures(points, view.pose)
            found.append(Seen(name, thing.category, thing.id, share, leaves, wide))
    return tuple(sorted(found, key=lambda s: (s.noun != "person", -s.share)))


def _leaving(
    scene: Scene,
    drawing: Drawing,
    view: View,
    seen: Iterable[Seen],
    obstacles: Array,
    room: Array,
) -> Iterable[tuple[str, tuple[float, tuple[str, ...]]]]:
    """Yield each motion with the shortest way that takes targets out of view, where it is free."""
    for motion, key in (("strafe", "right"), ("dolly", "forward")):
        for distance in DISTANCES:
            if not free_way(walked(view.pose, straight(motion, distance)), obstacles, room):
                break
            end = moved(view.pose, **{key: distance})
            names = tuple(s.name for s in seen if gone(drawing.points[s.name], end))
            if names:
                yield motion, (distance, names)
                break


def straight(motion: str, distance: float) -> Array:
    """Return the poses (40, 4, 4) of a strafe to the right or a dolly forward by metres."""
    poses = np.tile(np.eye(4), (40, 1, 1))
    poses[:, 0 if motion == "strafe" else 2, 3] = np.linspace(0, distance, 40)
    return poses


def probe(task: tuple[str, str]) -> str | None:
    """Return the mechanism of an event in a family, None where it has none of that name."""
    family, event = task
    try:
        scene = built(family, 0, event)
    except (KeyError, ValueError):
        return None
    if scene.event is None or event not in QUESTIONS:
        return None
    return str(scene.event.mechanism)


def reply(task: tuple[str, int, str]) -> tuple[bool, ...]:
    """Return how the truth of an event (family, seed, event) answers its questions."""
    scene = built(*task)
    assert scene.event is not None
    return answers_of(scene.event.name, statements_of(scene.event))


def watch(task: tuple[str, int, str]) -> Look | None:
    """Return the view of an event (family, seed, event) where its change is well seen, or None.

    What changes must be whole, hardly hidden and large at the start and out of view when the
    camera has turned; while it changes it must stay whole and hardly hidden.
    """
    family, seed, event = task
    try:
        scene = built(family, seed, event)
    except (KeyError, ValueError):
        return None
    assert scene.event is not None
    thing = scene.instance(scene.event.instance)
    hints = [v for v in scene.views if v.name in ("event", event, thing.category)]
    listed = [v for v in scene.views if thing.name in v.targets and v not in hints]
    for view in [*hints, *listed][:6]:
        seen = watched(scene, view)
        if seen is not None:
            return Look(
                family,
                seed,
                view.name,
                event,
                *setting_of(scene, view),
                view.scripts,
                (seen,),
                mechanism=scene.event.mechanism,
                answers=tuple(answers_of(event, statements_of(scene.event))),
            )
    return None


def watched(scene: Scene, view: View) -> Seen | None:
    """Return the thing of a scene's event where a view shows its change well, else None."""
    change = scene.event
    assert change is not None
    if crowded(view, standing(scene)):
        return None
    moments = [at_time(scene, t) for t in (0.0, 2.0, change.duration)]
    for k, thing in enumerate(moments):
        points = frame_of(points_of(thing), view.pose)
        small = k > 0 and change.mechanism in SMALL_AT_END
        if points is None or abs(points).max() >= MARGIN:
            return None
        if (share_of_frame(points) < 0.015 and not small) or not {"left"} <= set(
            departures(points_of(thing), view.pose)
        ):
            return None
    share = 0.0
    for k, thing in enumerate(moments):
        drawing = Drawing(scene.with_instance(thing))
        image = drawing.draw(view.pose)
        others = {i.id for i in scene.instances if i.category == "person" and i.id != thing.id}
        if k == 0 and any((image == i).sum() > 0.12 * image.size for i in others):
            # Someone right before the camera would be what one looks at.
            return None
        alone = int((drawing.draw(view.pose, thing.id) > 0).sum())
        pixels = int((image == thing.id).sum())
        if pixels <= UNHIDDEN * alone:
            return None
        share = max(share, pixels / image.size)
    leaves = set.intersection(*(set(departures(points_of(m), view.pose)) for m in moments))
    thing = moments[0]
    return Seen(
        thing.name,
        thing.category,
        thing.id,
        share,
        tuple(sorted(leaves)),
        all(whole(points_of(m), view.pose, WIDE) > 0 for m in moments),
    )


def at_time(scene: Scene, t: float) -> Instance:
    """Return the instance of a scene's event as it is at a time."""
    event = scene.event
    assert event is not None
    thing = scene.instance(event.instance)
    mesh = thing.mesh if event.shape is None else thing.mesh._replace(vertices=event.shape(t))
    return replace(thing, mesh=mesh, pose=event.pose(t))


def statements_of(event: SceneEvent) -> dict[str, bool]:
    """Return which statements hold of an event's truth along the dynamic script."""

    def glimpses(first: int, last: int) -> list[Glimpse]:
        times = [frame / 16 for frame in range(first, last, 8)]
        return [Glimpse(event.progress(t), event.name, "as it was") for t in times]

    parts = glimpses(0, 60), glimpses(60, 300), glimpses(300, 481)
    return {"started": started(parts[0]), **judge(*parts)}
