"""Content faults: each has a dose, leaves what it must alone, and is true to what is drawn."""

from __future__ import annotations

import itertools
import subprocess
import sys
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from worldenv.faults import FAULTS
from worldenv.world import Start, UnknownName, Unsupported
from worldenv.worlds import load_world
from worldenv.worlds.reference import interior, park, plain
from worldenv.worlds.reference.content_faults import CONTENT, begin
from worldenv.worlds.reference.families import SceneName
from worldenv.worlds.reference.faults import Memory
from worldenv.worlds.reference.renderer import Renderer
from worldenv.worlds.reference.scene import Scene, SceneEvent
from worldenv.worlds.reference.standing import is_shell, stand
from worldenv.worlds.reference.views import box_of

pytest.importorskip("numba")

DRIFTS = tuple(name for name in CONTENT if name.startswith("drift"))
ABSENCE = 4
PLAIN = Start(scene={"family": "plain", "seed": 3})


def reference(faults: dict[str, float] | None = None, **options: Any) -> Any:
    options = {"size": (48, 36), "threads": 1, "absence": ABSENCE, **options}
    return load_world("Reference-v0", faults=faults, **options)


def yaws(*degrees: float) -> np.ndarray:
    poses = np.tile(np.eye(4), (len(degrees), 1, 1))
    for pose, d in zip(poses, np.radians(degrees), strict=True):
        pose[0, 0], pose[0, 2], pose[2, 0], pose[2, 2] = np.cos(d), np.sin(d), -np.sin(d), np.cos(d)
    return poses


TURN = yaws(*range(0, 140, 10), *range(130, -10, -10), 0)
"""Out to 130 degrees, back, and a last look."""


def walk(world: Any, start: Start = PLAIN, poses: np.ndarray = TURN, seed: int = 5) -> Any:
    first = world.reset(start, seed=seed)
    return first, world.step(poses)


def same(a: Any, b: Any) -> bool:
    return (
        np.array_equal(a.frames, b.frames)
        and np.array_equal(a.truth["depth"], b.truth["depth"])
        and np.array_equal(a.truth["ids"], b.truth["ids"])
        and a.truth["state"] == b.truth["state"]
    )


@pytest.fixture(scope="module")
def perfect() -> Any:
    return walk(reference())


def first_return(chunk: Any) -> int:
    """Return the first frame that shows something again after an absence."""
    last: dict[int, int] = {}
    for frame, ids in enumerate(chunk.truth["ids"]):
        seen = np.unique(ids).tolist()
        if any(i in last and frame - last[i] - 1 >= ABSENCE for i in seen):
            return frame
        last.update(dict.fromkeys(seen, frame))
    raise AssertionError("nothing comes back")


def test_these_are_the_content_faults() -> None:
    assert set(CONTENT) == {name for name, fault in FAULTS.items() if fault.group == "content"}


def test_dose_0_is_the_perfect_world(perfect: Any) -> None:
    first, chunk = walk(reference(dict.fromkeys(CONTENT, 0.0)))
    assert same(first, perfect[0]) and same(chunk, perfect[1])


@pytest.mark.parametrize("fault", CONTENT)
def test_only_what_comes_after_is_changed(fault: str, perfect: Any) -> None:
    if fault == "swap_people":
        pytest.skip("nobody is in the plain scene")
    first, chunk = walk(reference({fault: 1.0}))
    assert same(first, perfect[0])
    start = 0 if fault in DRIFTS else first_return(perfect[1])
    untouched, after = slice(0, start), slice(start, None)
    np.testing.assert_array_equal(chunk.frames[untouched], perfect[1].frames[untouched])
    np.testing.assert_array_equal(
        chunk.truth["depth"][untouched], perfect[1].truth["depth"][untouched]
    )
    assert not np.array_equal(chunk.frames[after], perfect[1].frames[after])
    assert not np.array_equal(chunk.frames[-1], perfect[1].frames[-1])


@pytest.mark.parametrize("fault", CONTENT)
def test_depth_and_ids_are_those_of_the_scene_as_shown(fault: str) -> None:
    world = reference({fault: 1.0})
    _, chunk = walk(world)
    scene = world.scene
    drawn = Renderer(scene, size=(48, 36), cache=False).draw(scene.views[0].pose)
    np.testing.assert_array_equal(drawn.ids, chunk.truth["ids"][-1])
    np.testing.assert_array_equal(drawn.depth, chunk.truth["depth"][-1])
    state = chunk.truth["state"][-1]["instances"]
    assert set(np.unique(drawn.ids).tolist()) - {0} <= set(state)
    for instance in scene.instances:
        assert state[instance.id]["category"] == instance.category
        np.testing.assert_array_equal(state[instance.id]["pose"], instance.pose)
    # Light is built anew for what changes its form or place; what is repainted or drifts keeps it.
    if fault in ("forget", "vanish", "swap_objects", "duplicate", "deform", "layout_shuffle"):
        np.testing.assert_array_equal(drawn.frame, chunk.frames[-1])


@pytest.mark.parametrize("fault", ["forget", "vanish", "swap_objects", "duplicate"])
def test_a_larger_dose_does_what_a_smaller_did(fault: str) -> None:
    changed: list[dict[int, Any]] = []
    before = None
    for dose in (0.0, 0.3, 0.7, 1.0):
        world = reference({fault: dose})
        walk(world, poses=TURN)
        now = {i.id: i.variant for i in world.scene.instances}
        before = before or now
        changed.append({i: now.get(i) for i in {*now, *before} if now.get(i) != before.get(i)})
    for less, more in itertools.pairwise(changed):
        assert less.items() <= more.items()
    assert not changed[0] and len(changed[3]) > len(changed[0])


def test_draws_are_nested_and_even() -> None:
    memory = Memory(4, last=dict.fromkeys(range(1, 300), 0))
    for fault in ("forget", "vanish", "swap_people"):
        drawn = []
        for dose in (0.2, 0.5, 1.0):
            seeds = {i: memory.draw(fault, i, {fault: dose}) for i in memory.last}
            drawn.append({i: s for i, s in seeds.items() if s is not None})
        assert drawn[0].items() <= drawn[1].items() <= drawn[2].items()
        assert 30 < len(drawn[0]) < 90 < len(drawn[1]) < 210 and len(drawn[2]) == 299
    # Another absence, another draw.
    assert memory.decided([7]).seed_of("deform", 7) != memory.seed_of("deform", 7)


@pytest.mark.parametrize("fault", ["deform", "layout_shuffle", "restyle", "relight", *DRIFTS])
def test_graded_faults_grow_with_the_dose(fault: str, perfect: Any) -> None:
    after = slice(first_return(perfect[1]), None)
    apart = []
    for dose in (0.2, 0.6, 1.0):
        _, chunk = walk(reference({fault: dose}))
        difference = chunk.frames[after].astype(int) - perfect[1].frames[after]
        apart.append(float(abs(difference).mean()))
    assert 0 < apart[0] < apart[1] < apart[2]


def test_three_faults_and_a_snapshot_give_the_same_bits_in_any_process() -> None:
    faults = {"drift": 0.6, "deform": 0.7, "swap_objects": 0.5, "duplicate": 0.5, "relight": 0.4}
    world = reference(faults)
    world.reset(PLAIN, seed=5)
    world.step(TURN[:20])
    token = world.snapshot()
    on = world.step(TURN[20:])
    world.reset(Start(scene={"family": "plain", "seed": 4}), seed=1)
    world.restore(token)
    assert same(on, world.step(TURN[20:]))
    code = (
        "import sys, zlib; sys.path.insert(0, 'tests');"
        "from test_content_faults import *;"
        f"_, chunk = walk(reference({faults!r}));"
        "print(zlib.crc32(chunk.frames.tobytes()), zlib.crc32(chunk.truth['depth'].tobytes()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    _, chunk = walk(reference(faults))
    expected = (zlib.crc32(chunk.frames.tobytes()), zlib.crc32(chunk.truth["depth"].tobytes()))
    assert tuple(map(int, done.stdout.split())) == expected


def absent(scene: Scene, family: str, faults: dict[str, float], times: int = 1) -> Any:
    """Return content and scene after everything has been away and come back; nothing is lit."""
    content = begin(SceneName(family, 0, None), scene, faults, 5, ABSENCE)
    assert content is not None
    # Every third thing is enough where making them takes long.
    ids = [i.id for i in scene.instances][:: 3 if family == "park" else 1]
    for k in range(times):
        memory = replace(content.memory, last=dict.fromkeys(ids, 20 * k))
        content, scene, _, _ = replace(content, memory=memory)._decided(ids, scene, 20 * k + 9)
    return content, scene


@pytest.fixture(scope="module")
def room() -> Scene:
    return interior.build(2)


@pytest.mark.parametrize("family", ["interior", "park"])
def test_swaps_and_copies_in_furnished_scenes(family: str, room: Scene) -> None:
    built = room if family == "interior" else park.build(7)
    faults = {"swap_people": 1.0, "swap_objects": 1.0, "duplicate": 0.6}
    _, scene = absent(built, family, faults, times=2 if family == "interior" else 1)
    before, after = ({i.id: i for i in s.instances} for s in (built, scene))
    changed = {i for i in before if after[i].variant != before[i].variant}
    people = {i for i in changed if before[i].category == "person"}
    assert people and all(after[i].category == "person" for i in people)
    assert len(changed - people) > 15
    for i in changed - people:
        assert after[i].category != before[i].category and after[i].name == before[i].name
        low, high = box_of(after[i])
        was = box_of(before[i])
        assert (high - low <= np.maximum(1.35 * (was[1] - was[0]).max(), 0.3)).all()
        assert low[1] > was[0, 1] - 0.02
    assert all(np.array_equal(after[i].pose, before[i].pose) for i in before)
    assert not any(is_shell(before[i]) for i in changed)
    twins = [after[i] for i in after if i not in before]
    assert len(twins) > 3 and all(t.name.endswith("-copy") for t in twins)
    for texture in {m.texture for i in scene.instances for m in i.mesh.materials}:
        assert texture in scene.textures


def test_a_copy_has_a_place_of_its_own(room: Scene) -> None:
    _, scene = absent(room, "interior", {"duplicate": 1.0})
    standing = stand(room)
    twins = [i for i in scene.instances if i.name.endswith("-copy")]
    boxes = {i.id: box_of(i) for i in scene.instances if not is_shell(i)}
    for twin in twins:
        original = next(i for i in room.instances if f"{i.name}-copy" == twin.name)
        low, high = boxes[twin.id]
        if high[1] - low[1] <= 0.1:
            continue
        for i, box in boxes.items():
            if i not in (twin.id, standing.below.get(original.id)) and box[1, 1] - box[0, 1] > 0.1:
                common = np.minimum(high, box[1]) - np.maximum(low, box[0])
                assert common.min() < 1e-3, (twin.name, scene.instance(i).name)


def test_what_stands_on_a_thing_goes_with_it(room: Scene) -> None:
    content, scene = absent(room, "interior", {"vanish": 0.3, "layout_shuffle": 1.0})
    standing = stand(room)
    before, after = ({i.id: i for i in s.instances} for s in (room, scene))
    assert standing.below and content.gone and not set(content.gone) & set(after)
    moved = 0
    for i, below in standing.below.items():
        assert below not in content.gone or i in content.gone
        if i in after:
            move = after[below].pose[:3, 3] - before[below].pose[:3, 3]
            moved += bool(abs(move).max() > 0)
            np.testing.assert_allclose(after[i].pose[:3, 3] - before[i].pose[:3, 3], move)
    assert moved
    low, high = box_of(room.instance("floor"))
    for i in standing.things & set(after):
        box = box_of(after[i])
        assert (box[0] >= low - 0.01)[[0, 2]].all() and (box[1] <= high + 0.01)[[0, 2]].all()
        assert after[i].pose[1, 3] == pytest.approx(before[i].pose[1, 3])


def test_an_event_is_left_alone() -> None:
    ball = Start(scene={"family": "plain", "seed": 3, "event": "ball_rolls_off"})
    doses = dict.fromkeys(CONTENT, 1.0)
    world, calm = reference(doses), reference()
    _, chunk = walk(world, ball)
    _, other = walk(calm, ball)
    for a, b in zip(chunk.truth["state"], other.truth["state"], strict=True):
        assert a["instances"][20] == b["instances"][20] and a["event"] == b["event"]


def test_a_dimmed_lamp_stays_dimmed_in_other_light() -> None:
    scene = plain.build(3)
    event = SceneEvent(
        "lamp_fades",
        "fading",
        30,
        lambda t: np.eye(4),
        lambda t: min(t, 1.0),
        1.0,
        lamps=(0,),
        brightness=lambda t: 1.0 - min(t, 1.0),
    )
    renderer = Renderer(replace(scene, event=event), size=(48, 36), cache=False)
    pose = scene.views[0].pose
    bright, dim = renderer.draw(pose, 0.0).frame, renderer.draw(pose, 1.0).frame
    renderer.show(renderer.lit.with_gain(np.array([[0.5] * 3, [0.5] * 3], np.float32)))
    half, half_dim = renderer.draw(pose, 0.0).frame, renderer.draw(pose, 1.0).frame
    assert bright.mean() > dim.mean() + 5 and half.mean() > half_dim.mean() + 3
    assert bright.mean() > half.mean() + 5 and dim.mean() > half_dim.mean() + 3
    renderer.show(renderer.lit.with_gain(None))
    np.testing.assert_array_equal(renderer.draw(pose, 1.0).frame, dim)


def test_bad_options_are_named() -> None:
    with pytest.raises(Unsupported, match="absence"):
        reference(absence=0)
    with pytest.raises(UnknownName, match="vanish"):
        reference({"vanishes": 1.0})
    with pytest.raises(Unsupported, match="drift"):
        reference({"drift": 0.5}, context="sliding")
