"""The workshop: its plan, its things, its views, and that it is the same everywhere."""

from collections import Counter

import pytest
from scene_checks import (
    check_apart,
    check_inside,
    check_inventory,
    check_redrawn,
    check_views,
    fingerprint,
    fingerprint_elsewhere,
)

from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.families import FAMILIES
from worldenv.worlds.reference.views import room_of
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
    assert fingerprint_elsewhere("workshop", 2) == fingerprint(scenes[2])
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
        check_inventory(scene)
    assert len(NEW & set(every)) >= 16
    assert set(LANDMARKS) - NEW == {"barrel", "crate"}


def test_nothing_intersects_and_everything_is_inside(scenes):
    for scene in scenes.values():
        things = [i for i in scene.instances if not i.flat]
        check_inside(things, room_of(scene))
        check_apart(things, slack=0.004, allowed=({"doorway", "door"},))


def test_views_have_the_room_they_promise(scenes):
    for scene in scenes.values():
        check_views(scene)
        assert len({name for view in scene.views for name in view.targets[:1]}) >= 6


def test_reimagined_things_keep_their_place_and_look_different(scenes):
    for instance in scenes[0].instances:
        check_redrawn(scenes[0], instance, reimagine)


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
