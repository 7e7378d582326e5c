"""Checking cases as they are stored: their scenes are built anew and their scripts walked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cases.drawing import SQUARE, WIDE, Drawing, gone
from cases.survey import LEAST_PIXELS, UNHIDDEN, built, crowded, standing, watched, whole
from worldenv.case import Case, load_script, load_suite
from worldenv.worlds.reference.cases import SUITES
from worldenv.worlds.reference.views import free_way, plan_boxes, room_of, walked

SceneKey = tuple[str, int, str | None]
STAYS = ("square", "r2m:", "continuation")
"""Parts of the names of scripts that need not take the targets out of view."""


def scenes() -> dict[SceneKey, dict[str, tuple[Case, list[str]]]]:
    """Return each scene of the built-in suites with its cases and all that they are walked by."""
    found: dict[SceneKey, dict[str, tuple[Case, list[str]]]] = {}
    for name in SUITES:
        for item in load_suite(name):
            place = item.case.scene
            assert place is not None
            key = place["family"], place["seed"], place["event"]
            own = found.setdefault(key, {}).setdefault(item.case.id, (item.case, []))
            own[1].append(item.script)
    return found


def faults(key: SceneKey, cases: Iterable[tuple[Case, list[str]]]) -> Iterator[str]:
    """Yield what is wrong with cases of one scene.

    Args:
        key: Family, seed and event.
        cases: Each case with its scripts.
    """
    scene = built(*key)
    drawing = Drawing(scene)
    obstacles, room = plan_boxes(scene.instances), room_of(scene)
    things = standing(scene)
    views = {view.name: view for view in scene.views}
    for case, scripts in cases:
        assert case.scene is not None
        view = views.get(case.scene["view"])
        if view is None:
            yield f"{case.id}: no view {case.scene['view']}"
            continue
        if crowded(view, things):
            yield f"{case.id}: something is in the way of the view"
        lens = WIDE if case.id.startswith("r2m") else SQUARE
        image = drawing.draw(view.pose, None, lens)
        for target in case.targets:
            thing = scene.instance(target.name)
            if (thing.id, thing.category) != (target.instance, target.noun):
                yield f"{case.id}: {target.name} is another thing"
            if whole(drawing.points[thing.name], view.pose, lens) < 0.01:
                yield f"{case.id}: {target.name} is not whole or too small"
            if case.event is None:
                shown = int((image == thing.id).sum())
                alone = int((drawing.draw(view.pose, thing.id, lens) > 0).sum())
                if shown < 0.5 * LEAST_PIXELS * image.size or shown <= (UNHIDDEN - 0.1) * alone:
                    yield f"{case.id}: {target.name} is hidden or too small"
        if case.event is not None and watched(scene, view) is None:
            yield f"{case.id}: {case.event.name} is not well seen"
        for script in scripts:
            path = load_script(script).path(None, case)
            if not free_way(walked(view.pose, path.poses[::4]), obstacles, room):
                yield f"{case.id}@{script}: something stands in the way"
            if any(part in script for part in STAYS):
                continue
            assert path.phases is not None
            ends = {m: k for k, m in enumerate(path.phases) if re.fullmatch(r"D\d", m)}
            for phase, frame in ends.items():
                pose = view.pose @ path.poses[frame]
                for target in case.targets:
                    if not gone(drawing.points[target.name], pose):
                        yield f"{case.id}@{script}: {target.name} is in view at the end of {phase}"
