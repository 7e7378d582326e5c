"""SANA-WM-v0 with tiny random weights: the whole path is made at once and shown step by step."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("diffusers")

import tiny_diffusion

from worldenv.camera import CameraPath, walk
from worldenv.policies import worldmembench
from worldenv.world import PlanRequired, Start, Unsupported
from worldenv.worlds import load_world

MAKE = "worldenv.worlds.models.sana_wm:make"
IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)


@pytest.fixture(scope="module", autouse=True)
def alone():
    with tiny_diffusion.one_thread():
        yield


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tiny_diffusion.sana_wm(tmp_path_factory.mktemp("tiny") / "sana")
    return {
        "weights": str(folder),
        "size": (64, 64),
        "steps": 2,
        "dtype": "float32",
        "device": "cpu",
    }


@pytest.fixture(scope="module")
def world(options):
    made = load_world(MAKE, **options)
    yield made
    made.close()


def yaw(n, degrees):
    zero = np.zeros(n)
    return CameraPath(walk(np.zeros((n, 3)), degrees * np.arange(n), zero), fps=16.0)


def made(world, plan, *, seed=0, prompt="a room", **start):
    """Return all frames of a plan."""
    chunk = world.reset(Start(image=IMAGE, prompt=prompt, **start), seed=seed, plan=plan)
    frames, t = [chunk.frames], 1
    while t < len(plan):
        chunk = world.step(plan.poses[t : t + 8])
        assert np.allclose(chunk.poses, plan.poses[t : t + 8])
        frames.append(chunk.frames)
        t += 8
    return np.concatenate(frames)


def test_the_path_the_seed_the_text_and_the_lens_matter(world):
    plan = yaw(17, 1.0)
    frames = made(world, plan)
    assert frames.shape == (17, 64, 64, 3) and np.array_equal(frames[0], IMAGE)
    assert np.array_equal(frames, made(world, plan))
    # Seeds are whole numbers of any size.
    assert world.reset(Start(image=IMAGE), seed=2**80 + 1, plan=plan).frames.shape == (1, 64, 64, 3)
    K = np.array([[20.0, 0, 32], [0, 20, 32], [0, 0, 1]])
    for other in (
        made(world, yaw(17, -1.0)),
        made(world, plan, seed=1),
        made(world, plan, prompt="a lake"),
        made(world, plan, K=K),
    ):
        assert not np.array_equal(frames[1:], other[1:])


def test_the_poses_and_the_lens_reach_the_model_as_they_are(world, monkeypatch):
    calls = []
    generate = world.generate

    def spied(call, **keywords):
        calls.append(keywords)
        return generate(call, **keywords)

    monkeypatch.setattr(world, "generate", spied)
    plan = yaw(9, 2.0)
    made(world, plan)
    assert np.allclose(calls[0]["c2w"], plan.poses, atol=1e-6)
    K = world.spec.intrinsics()
    assert np.allclose(calls[0]["intrinsics"], [K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
    assert np.array_equal(np.asarray(calls[0]["image"]), IMAGE)


def test_a_whole_episode_runs_through_the_environment(options):
    env = gym.make("worldenv:Reference-v0", world=MAKE, **options)
    assert env.unwrapped.world_spec.drive == "plan"
    with pytest.raises(PlanRequired):
        env.unwrapped.world.reset(Start(image=IMAGE), seed=0, plan=None)
    script = worldmembench.lrlr(hold=8, leg=8, angle=8.0)
    _, info = env.reset(seed=0, options={"case": "worldmembench/object/001", "script": script})
    seen, phases, done = info["n"], {info["phase"]}, False
    while not done:
        *_, done, info = env.step(0)
        seen += info["n"]
        phases.add(info["phase"])
    assert seen == len(script.path(env.unwrapped.world_spec)) == 49
    assert phases == {"V", "D1", "R1", "D2", "R2", "H"}
    with pytest.raises(Unsupported, match="image"):
        env.unwrapped.world.reset(Start(), seed=0, plan=yaw(9, 1.0))
    env.close()


def test_a_snapshot_goes_on_where_it_was(world):
    plan = yaw(17, 1.0)
    frames = made(world, plan)
    world.reset(Start(image=IMAGE, prompt="a room"), seed=0, plan=plan)
    world.step(plan.poses[1:9])
    token = world.snapshot()
    with pytest.raises(Unsupported, match="no prompt between chunks"):
        world.step(plan.poses[9:], "a lake")
    world.step(plan.poses[9:])
    world.restore(token)
    assert np.array_equal(world.step(plan.poses[9:]).frames, frames[9:])


def test_sides_are_multiples_of_32(options):
    with pytest.raises(Unsupported, match="multiples of 32"):
        load_world(MAKE, **{**options, "size": (48, 64)})
