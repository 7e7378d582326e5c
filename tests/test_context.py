"""Context policies: what of its past a world may look at, and what Reference-v0 makes of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import integrate, walk
from worldenv.context import (
    POLICIES,
    Budget,
    accessible,
    latent_of,
    overlap,
    read_budget,
    vertical_fov,
)
from worldenv.world import Start, UnknownName, Unsupported
from worldenv.worlds import load_world
from worldenv.worlds.reference.history import History

FOV = (75.0, 60.0)
SCENE = {"family": "plain", "seed": 3}


def turns(yaw):
    return walk(np.zeros((len(yaw), 3)), np.asarray(yaw, float), np.zeros(len(yaw)))


def test_latents_are_those_of_a_causal_autoencoder():
    assert [latent_of(f) for f in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


def test_paper_budget_is_twenty_latents():
    poses = turns(np.zeros(100))
    assert accessible("full", Budget(), poses, poses[-1], FOV) == list(range(100))
    assert accessible("none", Budget(), poses, poses[-1], FOV) == [96, 97, 98, 99]
    sliding = accessible("sliding", Budget(), poses, poses[-1], FOV)
    assert sliding == [0, 1, 2, 3, *range(84, 100)]
    assert len(accessible("fov", Budget(), poses, poses[-1], FOV)) == 20


def test_fov_retrieves_what_looks_the_same_way():
    poses = turns([*np.zeros(10), *np.full(10, 90.0), *np.full(30, 180.0), *np.full(10, 90.0)])
    held = accessible("fov", Budget(), poses, poses[-1], FOV)
    assert held == [0, 1, 2, 3, *range(14, 20), *range(50, 60)]


@given(st.integers(0, 80), st.sampled_from(POLICIES), st.integers(0, 6), st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_limited_policies_keep_to_the_budget(seed, policy, part, current):
    draw = np.random.default_rng(seed)
    poses = integrate(draw.uniform(-9, 9, (draw.integers(0, 60), 6)) * ([1] * 3 + [0.05] * 3))
    budget = Budget(part, part, part, current)
    held = accessible(policy, budget, poses, poses[-1], FOV)
    assert held == sorted(set(held)) and held[-1] == len(poses) - 1
    if policy != "full":
        assert len(held) <= 3 * part + current
    assert set(held) <= set(range(len(poses)))


def test_overlap_agrees_with_points_drawn_at_random():
    draw = np.random.default_rng(0)
    others = integrate(draw.uniform(-30, 30, (20, 6)) * ([1] * 3 + [0.03] * 3))
    wide, high = np.tan(np.radians(FOV[0] / 2)), np.tan(np.radians(FOV[1] / 2))
    z = draw.choice([1.0, 2.0, 4.0, 8.0], 40_000)
    points = np.stack(
        [draw.uniform(-wide, wide, 40_000) * z, draw.uniform(-high, high, 40_000) * z, z]
    )
    expected = []
    for other in others:
        x, y, depth = (np.linalg.inv(other) @ np.vstack([points, np.ones(40_000)]))[:3]
        expected.append(np.mean((depth > 0) & (abs(x) < wide * depth) & (abs(y) < high * depth)))
    assert abs(overlap(others, np.eye(4), FOV) - expected).max() < 0.08
    assert overlap(np.eye(4)[None], np.eye(4), FOV) == 1
    assert overlap(turns([180.0]), np.eye(4), FOV) == 0


def test_vertical_field_of_view_of_square_pixels():
    assert vertical_fov(90, (200, 100)) == pytest.approx(2 * np.degrees(np.arctan(0.5)))


def test_budget_is_plain_data():
    assert read_budget(None) == Budget(4, 4, 8, 4)
    assert read_budget({"sink": 0, "retrieved": 2}) == Budget(0, 4, 2, 4)
    with pytest.raises(UnknownName, match="part of a context budget"):
        read_budget({"sinks": 1})
    for bad in ({"current": 0}, {"sink": -1}, {"recent": 1.5}, {"recent": True}):
        with pytest.raises(Unsupported, match="whole number"):
            read_budget(bad)
    with pytest.raises(Unsupported, match="must map"):
        read_budget([4, 4])


def test_an_early_latent_brings_back_what_it_showed():
    budget = Budget(sink=1, recent=0, retrieved=0, current=1)
    history = History(0, "sliding", budget, FOV)
    pose = np.eye(4)
    history = history.after(0, pose, [1])
    history = history.after(1, pose, [2]).after(5, pose, [1])
    # The sink shows instance 1; instance 2 was shown by a latent that is out of reach.
    assert history.version(1, 9, pose) == 0
    assert history.version(2, 9, pose) == 1
    assert history.version(7, 9, pose) == 0
    history = history.with_version(2, 1).after(9, pose, [2]).after(13, pose, [])
    assert history.version(2, 17, pose) == 2
    assert history.draw(2, 1) != history.draw(2, 2)


def run(chunk=16, **options):
    world = load_world("Reference-v0", size=(48, 36), **options)
    yaw = np.concatenate([np.zeros(9), np.linspace(0, 180, 60), np.linspace(180, 0, 60)])
    poses = turns(yaw)
    chunks = [world.reset(Start(scene=SCENE), seed=1, plan=None)]
    for start in range(1, len(poses), chunk):
        chunks.append(world.step(poses[start : start + chunk]))
    frames = np.concatenate([c.frames for c in chunks])
    states = [state for c in chunks for state in c.truth["state"]]
    world.close()
    return frames, states


def variants(state):
    return {i: (e["category"], e["variant"]) for i, e in state["instances"].items()}


def test_full_context_remembers_and_none_does_not():
    full, _ = run()
    assert np.array_equal(full[0], full[-1])
    frames, states = run(context="none")
    assert not np.array_equal(frames[0], frames[-1])
    changed = {i for i, v in variants(states[0]).items() if variants(states[-1])[i] != v}
    assert changed
    # While the camera still holds, nothing can be forgotten.
    assert np.array_equal(frames[:9], full[:9])


def test_the_sink_remembers_the_start():
    frames, _ = run(context="sliding", budget={"sink": 3, "recent": 0, "retrieved": 0})
    full, _ = run()
    assert np.array_equal(frames[-1], full[-1])
    without, _ = run(context="sliding", budget={"sink": 0, "recent": 0, "retrieved": 0})
    assert not np.array_equal(without[-1], full[-1])


def test_a_budget_larger_than_the_episode_is_full_context():
    full, _ = run()
    for policy in ("sliding", "fov"):
        frames, _ = run(context=policy, budget={"recent": 100})
        assert np.array_equal(frames, full)


def test_context_does_not_depend_on_chunks():
    one, _ = run(context="none", chunk=1)
    many, _ = run(context="none", chunk=30)
    assert np.array_equal(one, many)


def test_a_snapshot_holds_the_history():
    world = load_world("Reference-v0", size=(48, 36), context="none")
    poses = turns([*np.linspace(0, 180, 40), *np.linspace(180, 0, 40)])
    world.reset(Start(scene=SCENE), seed=1, plan=None)
    world.step(poses[1:40])
    token = world.snapshot()
    first = world.step(poses[40:]).frames
    world.restore(token)
    assert np.array_equal(world.step(poses[40:]).frames, first)


def test_a_snapshot_of_another_scene_imagines_its_own():
    world = load_world("Reference-v0", size=(48, 36), context="none", family="plain")
    poses = turns([*np.linspace(0, 180, 40), *np.linspace(180, 0, 40)])
    world.reset(Start(scene=SCENE), seed=1, plan=None)
    world.step(poses[1:40])
    token = world.snapshot()
    first = world.step(poses[40:]).frames
    world.reset(Start(scene={"family": "abstract", "seed": 2}), seed=1, plan=None)
    world.restore(token)
    assert np.array_equal(world.step(poses[40:]).frames, first)
    world.close()
    with pytest.raises(Unsupported, match="made, planted or closed"):
        world.restore(token)


def test_bad_context_is_refused():
    with pytest.raises(Unsupported, match="context must be one of"):
        load_world("Reference-v0", context=None)
    with pytest.raises(Unsupported, match="context must be one of"):
        load_world("Reference-v0", context=np.array(["fov"]))
    with pytest.raises(UnknownName, match="context policy"):
        load_world("Reference-v0", context="window")
    with pytest.raises(Unsupported, match="give one of the two"):
        load_world("Reference-v0", context="none", faults={"forget": 0.5})
