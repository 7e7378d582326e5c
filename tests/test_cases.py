import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from worldenv.case import Case, load_case, load_suite
from worldenv.world import UnknownName
from worldenv.worlds.reference.cases import QUICK, SUITES, build_suite
from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.interior import build
from worldenv.worlds.reference.start import WALKS
from worldenv.worlds.reference.views import (
    frame_box,
    free_way,
    plan_boxes,
    room_of,
    share_of_frame,
    walked,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "assets"))
ITEMS = [item for name in SUITES for item in build_suite(name)]


@lru_cache(maxsize=64)
def scene_of(seed, event):
    return build(seed, event=event)


def test_counts():
    memory = build_suite("worldmembench")
    kinds = Counter(c.category for c in memory.cases.values())
    still = {"human": 6, "object": 6, "environment": 6, "square": 4}
    assert kinds == {**still, "dynamic": 2 * len(EVENTS)}
    scripts = Counter(i.script for i in memory)
    assert scripts["worldmembench:lrlr"] == scripts["worldmembench:lrud"] == 18
    assert Counter(i.script for i in build_suite("mbench")) == {
        f"mbench:exit_reenter(motion={m})": 6 for m in ("yaw", "strafe", "dolly")
    }
    assert len(build_suite("r2m")) == 12 and build_suite("r2m").options == {"rule": "paper"}
    people = [len(c.targets) for c in memory.cases.values() if c.category == "human"]
    assert 1 in people and max(people) >= 2


def test_keys_are_unique_and_cases_survive_storing():
    keys = [i.key for i in ITEMS]
    assert len(set(keys)) == len(keys)
    for item in ITEMS:
        assert Case.from_dict(item.case.to_dict()) == item.case
        assert item.case.prompt and load_case(item.case.id) == item.case


def test_unknown_suites_are_refused():
    with pytest.raises(UnknownName):
        build_suite("worldmembenhc")
    assert load_suite("r2m").world == "Reference-v0"


def test_quick_selection():
    assert len(QUICK) == 10
    known = {i.key: i for i in ITEMS}
    chosen = [known[k] for k in QUICK]
    assert len({i.case.scene["seed"] for i in chosen}) <= 4
    assert {i.case.id.split("/")[0] for i in chosen} == set(SUITES)


def test_dynamic_cases_carry_eight_questions():
    for case in build_suite("worldmembench").cases.values():
        assert (case.category == "dynamic") == (case.event is not None)
        if case.event:
            assert len(case.event.questions) == len(case.event.answers) == 8
            assert case.event.instance == case.targets[0].instance
            assert True in case.event.answers and False in case.event.answers


@pytest.mark.slow
@pytest.mark.parametrize("case_id", list(dict.fromkeys(i.case.id for i in ITEMS)))
def test_targets_are_seen_then_gone_on_a_free_way(case_id):
    from build_cases import gone, moved, turned

    case = load_case(case_id)
    scene = scene_of(case.scene["seed"], case.scene["event"])
    view = next(v for v in scene.views if v.name == case.scene["view"])
    scripts = [i.script for i in ITEMS if i.case.id == case_id]
    targets = [scene.instance(t.instance) for t in case.targets]
    assert targets and len({t.name for t in case.targets}) == len(targets)
    for target, thing in zip(case.targets, targets, strict=True):
        assert (target.name, target.noun) == (thing.name, thing.category)
        rectangle = frame_box(thing, view.pose)
        assert rectangle is not None and abs(rectangle).max() < 1
        assert share_of_frame(rectangle) >= 0.015
    obstacles, room = plan_boxes(scene.instances), room_of(scene)
    for script in scripts:
        if script in WALKS and "exit_reenter" not in script:
            assert free_way(walked(scene, view.pose, WALKS[script]), obstacles, room)
        away = []
        if script.startswith("worldmembench:") and "square" not in script:
            away = [turned(view.pose, yaw=-60)]
        if script == "worldmembench:lrud":
            away.append(turned(view.pose, pitch=60))
        if "motion=yaw" in script:
            away = [turned(view.pose, yaw=-90), turned(view.pose, yaw=90)]
        for motion, axis in (("strafe", 0), ("dolly", 2)):
            if f"motion={motion}" in script:
                distance = case.options["distance"]
                poses = np.tile(np.eye(4), (40, 1, 1))
                poses[:, axis, 3] = np.linspace(0, distance, 40)
                assert free_way(walked(scene, view.pose, poses), obstacles, room)
                away = [moved(view.pose, **{"right" if axis == 0 else "forward": distance})]
        for pose in away:
            for thing in targets:
                assert gone(thing, pose), (script, thing.name)
