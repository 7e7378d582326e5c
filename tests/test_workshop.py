"""The workshop: its plan, its things, its views, and that it is the same everywhere."""

import subprocess
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from test_interior import fingerprint

from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.families import FAMILIES
from worldenv.worlds.reference.start import WALKS
from worldenv.worlds.reference.views import (
    box_of,
    frame_box,
    free_way,
    plan_boxes,
    room_of,
    share_of_frame,
    walked,
)
from worldenv.worlds.reference.workshop import LANDMARKS, SETTING, build, reimagine

SEEDS = (0, 2, 5)
NEW = {
    "workbench",
    "tool board",
    "rack",
    "tool chest",
    "locker",
    "lathe",
    "drill press",
    "band saw",
    "compressor",
    "forklift",
    "fan",
    "anvil",
    "pallet",
    "tyres",
    "gas bottle",
    "ladder",
    "hand truck",
    "sawhorse",
    "extinguisher",
    "cone",
}


@pytest.fixture(scope="module")
def scenes():
    return {seed: build(seed) for seed in SEEDS}


def test_it_is_a_family_and_another_process_builds_the_same(scenes):
    assert FAMILIES["workshop"].endswith(".workshop")
    code = (
        "import sys; sys.path.insert(0, 'tests');"
        "from test_interior import fingerprint;"
        "from worldenv.worlds.reference.workshop import build;"
        "print(fingerprint(build(2)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) == fingerprint(scenes[2])
    assert len({fingerprint(s) for s in scenes.values()}) == len(scenes)


def test_halls_are_rich_and_hold_things_of_their_own(scenes):
    every = Counter()
    for scene in scenes.values():
        kinds = Counter(i.category for i in scene.instances)
        every += kinds
        assert kinds["person"] >= 2 and kinds["wall"] == 4 and len(kinds) >= 20
        assert len(NEW & set(kinds)) >= 8
        assert 20_000 < sum(len(i.mesh.faces) for i in scene.instances) < 70_000
        assert len(scene.views) >= 12 and scene.lamps
        assert set(SETTING) & set(kinds) >= {"wall", "floor", "ceiling", "beam"}
        ids = [i.id for i in scene.instances]
        assert ids == sorted(set(ids)) and len({i.name for i in scene.instances}) == len(ids)
        for i in scene.instances:
            for mesh in (i.mesh, i.coarse):
                if mesh is not None:
                    assert {m.texture for m in mesh.materials} <= set(scene.textures)
    assert len(NEW & set(every)) >= 16
    assert set(LANDMARKS) - NEW == {"barrel", "crate"}


def test_nothing_intersects_and_everything_is_inside(scenes):
    for scene in scenes.values():
        room = room_of(scene)
        things = [i for i in scene.instances if not i.flat]
        boxes = [box_of(i) for i in things]
        for thing, box in zip(things, boxes, strict=True):
            assert (box[0, [0, 2]] >= room[0] - 1e-6).all(), thing.name
            assert (box[1, [0, 2]] <= room[1] + 1e-6).all(), thing.name
        for (a, p), (b, q) in combinations(zip(things, boxes, strict=True), 2):
            if {a.category, b.category} != {"doorway", "door"}:
                overlap = np.minimum(p[1], q[1]) - np.maximum(p[0], q[0])
                assert overlap.min() < 0.004, (a.name, b.name, overlap)


def test_views_have_the_room_they_promise(scenes):
    for scene in scenes.values():
        obstacles, room = plan_boxes(scene.instances), room_of(scene)
        promised = Counter(s for v in scene.views for s in v.scripts)
        for script, walk in WALKS.items():
            assert promised[script] >= 1, script
            for view in scene.views:
                if script in view.scripts:
                    assert free_way(walked(scene, view.pose, walk), obstacles, room)
        assert len({name for view in scene.views for name in view.targets[:1]}) >= 6
        for view in scene.views:
            for name in view.targets:
                rectangle = frame_box(scene.instance(name), view.pose)
                assert abs(rectangle).max() <= 1 and share_of_frame(rectangle) >= 0.015


def test_reimagined_things_keep_their_place_and_look_different(scenes):
    scene = scenes[0]
    for instance in scene.instances:
        new, added = reimagine(scene, instance, 5)
        assert (new.id, new.name, new.category) == (instance.id, instance.name, instance.category)
        assert np.array_equal(new.pose, instance.pose) and new.variant != instance.variant
        assert {m.texture for m in new.mesh.materials} <= set(
            scene.with_instance(new, added).textures
        )


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_of_rooms_happens_here_too(event):
    still = build(3)
    scene = build(3, event=event)
    assert scene.event is not None and scene.event.name == event
    names = [i.name for i in still.instances]
    assert [i.name for i in scene.instances][: len(names)] == names
    assert scene.event.progress(0) == 0 and scene.event.progress(scene.event.duration) == 1
    assert scene.instance(scene.event.instance).moves or scene.event.lamps


def test_unknown_events_are_refused():
    with pytest.raises(ValueError, match="ice_melts"):
        build(0, event="explodes")
