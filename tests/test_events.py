"""Events: closed form, progress in view and out of view, final state, questions, judging."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldenv.camera import walk
from worldenv.world import Start
from worldenv.worlds.reference import make
from worldenv.worlds.reference import world as world_module
from worldenv.worlds.reference.cases import build_suite
from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.families import SceneName, scene_of
from worldenv.worlds.reference.interior import build
from worldenv.worlds.reference.lit import build_light, relight
from worldenv.worlds.reference.parts import turned
from worldenv.worlds.reference.questions import QUESTIONS
from worldenv.worlds.reference.renderer import Renderer
from worldenv.worlds.reference.scene import Instance, Scene, SceneEvent, View
from worldenv.worlds.reference.shapes import placed
from worldenv.worlds.reference.views import FLAT, box_of
from worldenv.worlds.reference.walking import STEP, stride, travelled, walker

sys.path.insert(0, str(Path(__file__).parents[1] / "assets"))
LEFT, BACK = 60 / 16, 300 / 16
"""Seconds at which the dynamic script turns away and turns back."""
UNSTAGED = ("ball_rolls_off", "door_opens")
STAGED = tuple(e for e in EVENTS if e not in UNSTAGED)


@lru_cache(maxsize=8)
def stage(event: str) -> tuple[Scene, View, Renderer]:
    """Return an event with hardly more than its room, which is lit at once."""
    scene = build(3, event=event)
    change = scene.event
    assert change is not None
    thing = scene.instance(change.instance)
    near = [i for i in scene.instances if i.flat or (i.id > thing.id - 3 and i.id <= thing.id)]
    scene = replace(scene, instances=tuple(near))
    renderer = Renderer(scene, size=(64, 64), threads=1, cache=False)
    view = next(v for v in scene.views if v.name == "event")
    return scene, view, renderer


def event_of(scene: Scene) -> SceneEvent:
    assert scene.event is not None
    return scene.event


def shown(scene: Scene, t: float) -> Instance:
    from cases.survey import at_time

    thing: Instance = at_time(scene, t)
    return thing


def points(thing: Instance) -> np.ndarray:
    return thing.mesh.vertices.astype(float) @ thing.pose[:3, :3].T + thing.pose[:3, 3]


@pytest.mark.parametrize("name", STAGED)
def test_events_run_in_closed_form_from_start_to_final_state(name: str) -> None:
    scene, _, _ = stage(name)
    event = event_of(scene)
    assert event.name == name and scene.instance(event.instance).moves
    times = np.linspace(0, event.duration, 60)
    progress = [event.progress(t) for t in times]
    assert progress[0] == 0 and progress[-1] == 1 and event.progress(1e3) == 1
    assert (np.diff(progress) >= 0).all()
    # At least a tenth is seen before the camera leaves, and a tenth happens while it is away.
    assert 0.1 < event.progress(LEFT) < 0.9 and event.duration < BACK
    forward = [points(shown(scene, t)) for t in times[:20]]
    backward = [points(shown(scene, t)) for t in times[:20][::-1]][::-1]
    np.testing.assert_array_equal(forward, backward)
    np.testing.assert_array_equal(points(shown(scene, event.duration)), points(shown(scene, 99)))
    np.testing.assert_allclose(points(shown(scene, 0)), points(scene.instance(event.instance)))
    assert min(p[:, 1].min() for p in forward) > -1e-6


@pytest.mark.parametrize("name", STAGED)
def test_the_start_is_seen_and_the_frame_is_a_function_of_time(name: str) -> None:
    scene, view, renderer = stage(name)
    times = (0.0, 1.0, LEFT - 0.1, 9.0, BACK, 30.0)
    drawn = {t: renderer.draw(view.pose, t) for t in times}
    again = Renderer(renderer.lit, size=(64, 64), threads=1)
    for t in times[::-1]:
        np.testing.assert_array_equal(again.draw(view.pose, t).frame, drawn[t].frame)
        np.testing.assert_array_equal(again.draw(view.pose, t).depth, drawn[t].depth)
    mask = [drawn[t].ids == event_of(scene).instance for t in (0.0, LEFT - 0.1)]
    inside = mask[0] | mask[1]
    change = abs(drawn[LEFT - 0.1].frame.astype(int) - drawn[0.0].frame).max(axis=-1)
    assert (change[inside] > 12).mean() > 0.15
    assert not np.array_equal(drawn[9.0].frame, drawn[LEFT - 0.1].frame)
    np.testing.assert_array_equal(drawn[BACK].frame, drawn[30.0].frame)


def test_dimmed_light_is_the_light_of_dimmed_lamps() -> None:
    scene, view, renderer = stage("lamp_brightens")
    event = event_of(scene)
    assert event.brightness is not None and event.lamps
    static = ~np.isin(renderer._face_id, [event.instance])
    vertices = np.unique(renderer._geometry.faces[static])
    for t in (0.0, 4.0, 99.0):
        share = event.brightness(t)
        lamps = replace(scene.with_dimmed(share), event=None)
        baked = Renderer(lamps, size=(64, 64), threads=1, cache=False)
        drawn = renderer.draw(view.pose, t)
        for name, rows in (("light", vertices), ("light_map", slice(None))):
            mixed, full = (getattr(r._geometry, name)[rows] for r in (renderer, baked))
            # Each of the samples is rounded to one count of built light.
            np.testing.assert_allclose(mixed, full, atol=5e-4)
        before = renderer._geometry.light.copy()
        np.testing.assert_array_equal(renderer.draw(view.pose, t).frame, drawn.frame)
        np.testing.assert_array_equal(renderer._geometry.light, before)
    dark, bright = (renderer.draw(view.pose, t).frame.mean() for t in (0.0, 99.0))
    assert bright > 1.5 * dark


def test_a_swap_mends_the_light_with_and_without_the_lamps() -> None:
    scene, _, renderer = stage("lamp_brightens")
    gone = next(i for i in scene.instances if not i.flat and not i.moves)
    lit = relight(renderer.lit, scene.without(gone.id), [gone.id], 1)
    fresh = build_light(scene.without(gone.id), 1, cache=False)
    assert lit.unlit is not None and fresh.unlit is not None
    for mended, built in ((lit, fresh), (lit.unlit, fresh.unlit)):
        for i in built.direct:
            np.testing.assert_array_equal(mended.direct[i], built.direct[i])
            np.testing.assert_array_equal(mended.around[i], built.around[i])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lamp_brightens", {"faults": {"forget": 1.0}}),
        ("person_walks", {"faults": {"forget": 1.0}}),
        ("ice_melts", {"context": "none"}),
    ],
)
def test_events_run_on_in_worlds_that_forget(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, view, _ = stage(name)
    monkeypatch.setattr(world_module, "scene_of", lambda _: scene)
    start = Start(scene={"family": "interior", "seed": 3, "view": view.name, "event": name})
    yaw = np.concatenate([np.linspace(0, -170, 30), np.linspace(-170, 0, 30)])
    poses = walk(np.zeros((60, 3)), yaw, np.zeros(60))
    shown = []
    for keywords in ({}, options):
        world = make(size=(32, 32), threads=1, cache=False, fps=6.0, **keywords)
        first = world.reset(start, seed=0)
        chunk = world.step(poses)
        assert first.truth is not None and chunk.truth is not None
        shown.append([*first.truth["state"], *chunk.truth["state"]])
        world.close()
    own = event_of(scene).instance
    for kept, lost in zip(*shown, strict=True):
        assert kept["event"] == lost["event"] and kept["event"]["name"] == name
        assert kept["instances"][own] == lost["instances"][own]
    poses_shown = [s["instances"][own]["pose"] for s in shown[0]]
    np.testing.assert_allclose(poses_shown[17], event_of(scene).pose(17 / 6))
    assert shown[0][-1]["event"]["progress"] > shown[0][18]["event"]["progress"] > 0
    changed = [
        i
        for i, thing in shown[1][-1]["instances"].items()
        if thing["variant"] != shown[1][0]["instances"][i]["variant"]
    ]
    assert changed and own not in changed


def test_a_stretched_thing_equals_a_mesh_of_that_size() -> None:
    scene, view, renderer = stage("flower_grows")
    event = event_of(scene)
    t = 6.0
    thing = scene.instance(event.instance)
    size = np.linalg.norm(event.pose(t)[:3, :3], axis=0)
    mesh = thing.mesh._replace(vertices=(thing.mesh.vertices * size).astype(np.float32))
    rigid = event.pose(t) / [*size, 1.0]
    still = replace(scene.with_instance(replace(thing, mesh=mesh, pose=rigid)), event=None)
    other = Renderer(still, size=(64, 64), threads=1, cache=False)
    a, b = renderer.draw(view.pose, t), other.draw(view.pose)
    assert (a.ids != b.ids).mean() < 2e-3
    np.testing.assert_allclose(a.depth[a.ids == b.ids], b.depth[a.ids == b.ids], atol=1e-3)
    assert abs(a.frame.astype(int) - b.frame).mean() < 0.5


def test_normals_go_by_the_inverse_transpose() -> None:
    rng = np.random.default_rng(0)
    pose = placed(1, 2, 3, 40, 20) @ np.diag([0.5, 2.0, 1.5, 1.0])
    edges = rng.normal(size=(2, 50, 3))
    normals = np.cross(*edges)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    there = turned(normals, pose)
    np.testing.assert_allclose(np.linalg.norm(there, axis=1), 1)
    for edge in edges:
        assert abs(((edge @ pose[:3, :3].T) * there).sum(axis=1)).max() < 1e-12


def test_a_walker_keeps_its_feet_on_the_floor_and_its_limbs_rigid() -> None:
    figure = walker(64)[1]
    steps = 7
    phases = np.linspace(0, steps, 71)
    walk = np.array([stride(figure, u, steps) for u in phases]).astype(float)
    way = np.array([travelled(u, steps) for u in phases])
    assert (np.diff(way) > 0).all() and way[-1] == (steps - 1) * STEP
    # The lowest point of the body is always on the floor or a hair above it.
    assert (walk[:, :, 1].min(axis=1) < 0.012).all() and walk[:, :, 1].min() >= 0
    # One foot at least stands where it stood a moment ago: nothing glides.
    front = abs(figure.points[:, 2] - figure.joints[0, 2, 2] - figure.ball) < 0.03
    soles = [
        np.flatnonzero((figure.points[:, 1] < 0.02) & (sign * figure.points[:, 0] > 0) & front)
        for sign in (1, -1)
    ]
    ahead = np.array([[w[s, 2].mean() for s in soles] for w in walk]) + way[:, None]
    moves = abs(np.diff(ahead, axis=0))
    assert moves.min(axis=1).max() < 0.004 and moves.max() > 0.05
    assert abs(ahead[-1] - ahead[0] - way[-1]).max() < 2e-3
    # Shins and upper arms, away from the joints, keep their lengths; the body goes up and down.
    for share in (
        (figure.shin == 1) & (figure.foot == 0) & (figure.points[:, 1] < 0.4),
        (figure.upper[0] == 1) & (figure.lower == 0),
        (figure.lower == 1) & (figure.upper[1] == 1),
    ):
        part = walk[:, np.flatnonzero(share)[::7]]
        side = figure.points[np.flatnonzero(share)[::7], 0] > 0
        part = part[:, side == side[0]]
        lengths = np.linalg.norm(part[:, :, None] - part[:, None], axis=-1)
        assert abs(lengths - lengths[0]).max() < 1e-3
    assert 0.01 < np.ptp(walk[:, :, 1].max(axis=1)) < 0.08
    knees = [np.ptp(walk[:, figure.thigh[k] == 1, 2].mean(axis=1)) for k in (0, 1)]
    assert min(knees) > 0.1


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_has_eight_questions_and_its_share_of_cases(name: str) -> None:
    from cases.survey import statements_of

    rows = QUESTIONS[name]
    assert len({q.text for q in rows}) == 8 and all(q.text.endswith("?") for q in rows)
    cases = [c for c in build_suite("worldmembench").cases.values() if c.event]
    own = [c for c in cases if c.event and c.event.name == name]
    assert len(own) in (8, 9)
    for case in own:
        assert case.event is not None
        assert case.event.questions == tuple(q.text for q in rows)
        assert case.event.answers == tuple(not q.denies for q in rows)
        assert case.category == "dynamic"
    if name in STAGED:
        scene, _, _ = stage(name)
        held: dict[str, Any] = statements_of(event_of(scene))
        assert all(held.values())


@pytest.mark.parametrize("name", ["person_walks", "tank_fills"])
def test_nothing_stands_in_the_way_of_a_change(name: str) -> None:
    for case in build_suite("worldmembench").cases.values():
        if case.event is None or case.event.name != name or case.scene is None:
            continue
        scene = scene_of(SceneName(case.scene["family"], case.scene["seed"], name))
        own = event_of(scene).instance
        others = np.array([box_of(i) for i in scene.instances if not i.flat and i.id != own])
        # Rugs are walked over.
        others = others[others[:, 1, 1] > FLAT]
        for t in np.linspace(0, event_of(scene).duration, 12):
            low, high = points(shown(scene, t)).min(axis=0), points(shown(scene, t)).max(axis=0)
            apart = (low >= others[:, 1] - 1e-3) | (high <= others[:, 0] + 1e-3)
            assert apart.any(axis=1).all()
