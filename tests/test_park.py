from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scene_checks import (
    check_apart,
    check_inventory,
    check_pieces,
    check_redrawn,
    check_standing,
    check_views,
    fingerprint,
    fingerprint_elsewhere,
)

from worldenv.world import Start
from worldenv.worlds import load_world
from worldenv.worlds.reference.lit import build_light, relight
from worldenv.worlds.reference.outdoor_things import PARK_MAKERS, SEASONS, make_thing
from worldenv.worlds.reference.park import SETTING, build, reimagine
from worldenv.worlds.reference.park_joins import ROUND, Joins, Ways
from worldenv.worlds.reference.renderer import Renderer
from worldenv.worlds.reference.views import (
    frame_box,
    share_of_frame,
)

SEEDS = (0, 1, 2, 4, 7)
SIZES = {
    "tree": (4.0, 6.0, 4.0),
    "bush": (1.3, 1.2, 1.2),
    "hedge": (3.6, 1.2, 0.7),
    "flower bed": (2.4, 0.6, 1.2),
    "planter": (0.7, 1.0, 0.7),
    "bench": (1.7, 0.86, 0.62),
    "street lamp": (0.9, 3.3, 0.9),
    "litter bin": (0.46, 0.86, 0.46),
    "picnic table": (1.7, 0.76, 1.6),
    "parasol": (2.1, 2.35, 2.1),
    "bicycle": (1.72, 1.05, 0.56),
    "signpost": (1.2, 2.3, 0.5),
    "kiosk": (2.7, 2.9, 2.3),
    "fountain": (2.7, 2.0, 2.7),
    "statue": (1.1, 2.9, 1.1),
    "boulder": (1.5, 0.9, 1.2),
    "pond": (3.2, 0.8, 2.6),
    "gazebo": (3.2, 3.3, 3.2),
    "swing": (2.9, 2.2, 1.6),
    "slide": (1.1, 2.5, 3.0),
    "sand pit": (2.0, 0.36, 2.0),
}


@pytest.fixture(scope="module")
def scenes():
    return {seed: build(seed) for seed in SEEDS}


def test_another_process_builds_the_same(scenes):
    assert fingerprint_elsewhere("park", 1) == fingerprint(scenes[1])


def test_scenes_are_rich_of_sane_size_and_different(scenes):
    union = set()
    for scene in scenes.values():
        kinds = Counter(i.category for i in scene.instances)
        union |= set(kinds)
        assert len(set(kinds) - set(SETTING)) >= 12 and kinds["person"] >= 2
        assert kinds["tree"] >= 3 and kinds["woods"] == 4 and kinds["sky"] == 1
        assert 30_000 < sum(len(i.mesh.faces) for i in scene.instances) < 115_000
        check_inventory(scene)
    assert set(PARK_MAKERS) == set(SIZES) <= union
    assert len({fingerprint(s) for s in scenes.values()}) == len(scenes)
    assert len({s.tags["kind"] for s in scenes.values()}) >= 3


def test_nothing_stands_in_another_thing(scenes):
    for scene in scenes.values():
        check_apart([i for i in scene.instances if not i.flat], slack=1e-6)


def test_views_have_the_room_they_promise_and_see_their_targets(scenes):
    for scene in scenes.values():
        check_standing(scene)
        check_views(scene)
        sought = {n for v in scene.views for n in v.targets}
        assert any(n.startswith("person") for n in sought) and len(sought) >= 10


@pytest.fixture(scope="module")
def lit(scenes):
    return build_light(scenes[2], 1)


def test_targets_are_seen_and_nothing_lies_beyond_the_edge(scenes, lit):
    scene = scenes[2]
    renderer = Renderer(lit, size=(96, 96))
    for view in scene.views:
        drawn = renderer.draw(view.pose)
        assert drawn.ids.min() > 0, view.name  # The sky closes every view.
        for name in view.targets:
            instance = scene.instance(name)
            rectangle = frame_box(instance, view.pose)
            shown = (drawn.ids == instance.id).mean()
            # A lamp post or a swing fills little of the rectangle around it.
            assert shown > 0.03 * share_of_frame(rectangle), (view.name, name, shown)
        if "person" in view.name:
            person = scene.instance(view.name)
            assert (drawn.ids == person.id).mean() > 0.008


def test_light_is_even_and_leaves_are_not_black(scenes, lit):
    """Receivers of leaves and stones lie outside them: few, below ground, are without light."""
    for category in ("tree", "bush", "boulder", "woods", "lawn"):
        found = [i.id for i in scenes[2].instances if i.category == category]
        total = np.concatenate([(lit.direct[i] + lit.around[i]).sum(axis=1) for i in found])
        assert (total == 0).mean() < 0.08, category


def test_leaves_that_are_buried_in_a_crown_are_drawn_with_light(lit):
    renderer = Renderer(lit, size=(96, 96))
    plants = [i.id for i in lit.scene.instances if i.mesh.two_sided]
    levels = []
    for view in lit.scene.views:
        drawn = renderer.draw(view.pose)
        levels.append(drawn.frame[np.isin(drawn.ids, plants)].max(axis=1))
    assert (np.concatenate(levels) <= 12).mean() < 0.002


def test_paths_that_meet_at_an_acute_angle_leave_no_thin_wedge():
    """Two paths 1 m wide at 12 degrees: a disc rolls in until it touches both, and no farther."""
    t, half = np.linspace(-24, 24, 97), np.radians(6.0)
    ways = Ways(
        tuple((np.stack([t * np.cos(half), s * t * np.sin(half)], 1), 1.0) for s in (-1, 1)), ()
    )
    middle = (0.5 + ROUND) / np.sin(half)
    points, faces = Joins(ways).triangles()
    corner = points[faces]
    edge = np.roll(corner, -1, axis=1) - corner

    def turn(a, b):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

    assert (turn(edge[:, 0], edge[:, 1]) < 0).all()  # They look up.

    def paved(x):
        away = np.array([x, 0.0]) - corner
        return (turn(edge, away) <= 0).all(axis=1).any()

    for side in (-1, 1):
        assert paved(side * (middle - ROUND - 0.05)) and paved(side * 6.0)
        assert not paved(side * (middle - ROUND + 0.05))


def test_paths_that_do_not_meet_are_not_joined():
    t = np.linspace(-24, 24, 97)
    apart = Ways(tuple((np.stack([t, 0 * t + z], 1), 1.5) for z in (-4.0, 4.0)), ())
    for ways in (apart, Ways(apart.lines[:1], ()), Ways((), ())):
        points, faces = Joins(ways).triangles()
        assert points.shape == (0, 2) and faces.shape == (0, 3)


def test_a_swapped_plant_is_lit_as_if_it_had_always_been_so(scenes):
    """Leaves that share a receiver, and layers that stand in nobody's light, are mended too."""
    scene = scenes[2]
    bush = next(i for i in scene.instances if i.category == "bush")
    near = sorted(
        (i for i in scene.instances if not i.flat and i is not bush),
        key=lambda i: np.linalg.norm(i.pose[:3, 3] - bush.pose[:3, 3]),
    )[:4]
    kept = {i.id for i in near} | {bush.id}
    few = [i for i in scene.instances if i.id in kept or i.category == "kerb"]
    small = replace(scene, instances=tuple(few))
    after = small.with_instance(*reimagine(scene, bush, 7))
    before = build_light(small, 1, cache=False)
    quick = relight(before, after, [bush.id], 1)
    full = build_light(after, 1, cache=False)
    for i in full.direct:
        assert np.array_equal(quick.direct[i], full.direct[i])
        assert np.array_equal(quick.around[i], full.around[i])
    assert any((quick.around[i.id] != before.around[i.id]).any() for i in near) or any(
        (quick.direct[i.id] != before.direct[i.id]).any() for i in near
    )


def test_reimagined_things_keep_their_place_and_look_different(scenes):
    scene = scenes[4]
    kinds = set()
    for instance in scene.instances:
        if instance.category in kinds and instance.category != "person":
            continue
        kinds.add(instance.category)
        check_redrawn(scene, instance, reimagine)
    assert len(kinds) >= 18


def turn_away_and_back(world):
    """Return frame 0 and the chunk of a half turn to the right and back."""
    scene = {"family": "park", "seed": 2, "view": "loop"}
    first = world.reset(Start(scene=scene), seed=3, plan=None)
    poses = []
    for degrees in [*range(10, 181, 10), *[180] * 18, *range(170, -1, -10)]:
        a, pose = np.radians(degrees), np.eye(4)
        pose[0, 0] = pose[2, 2] = np.cos(a)
        pose[0, 2], pose[2, 0] = np.sin(a), -np.sin(a)
        poses.append(pose)
    poses[-1] = np.eye(4)
    after = world.step(np.array(poses))
    return first, after


def test_a_perfect_world_returns_to_the_same_bits():
    world = load_world("Reference-v0", size=(64, 64), chunk=54)
    first, after = turn_away_and_back(world)
    world.close()
    assert np.array_equal(first.frames[0], after.frames[-1])
    assert not np.array_equal(first.frames[0], after.frames[20])


@pytest.mark.parametrize("fault", [{"faults": {"forget": 1.0}}, {"context": "none"}])
def test_forgetting_worlds_return_to_something_else(fault):
    world = load_world("Reference-v0", size=(48, 48), chunk=54, detail="coarse", **fault)
    first, after = turn_away_and_back(world)
    states = [first.truth["state"][0]["instances"], after.truth["state"][-1]["instances"]]
    world.close()
    changed = [i for i in states[0] if states[0][i]["variant"] != states[1][i]["variant"]]
    assert len(changed) >= 2
    assert all(states[0][i]["category"] == states[1][i]["category"] for i in changed)
    assert not np.array_equal(first.frames[0], after.frames[-1])


@pytest.mark.parametrize("category", sorted(SIZES))
def test_things_keep_to_their_size_and_vary(category):
    size = np.array(SIZES[category])
    # Boughs, arms and awnings may stand out.
    large = category in ("tree", "statue", "kiosk", "bush", "pond")
    check_pieces(
        lambda seed: make_thing(category, seed, SIZES[category], list(SEASONS)[seed % 3]),
        size,
        seeds=6,
        most_faces=9500,
        slack=0.3 * size + 0.15 if large else 0.2,
        coarse=0.3,
    )


def test_events_are_refused():
    with pytest.raises(ValueError, match="none"):
        build(0, event="ball_rolls_off")
