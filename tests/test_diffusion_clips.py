"""The worlds that restart from frames, with tiny random weights: each clip begins on the last."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("diffusers")

import tiny_diffusion
from PIL import Image

from worldenv.camera import walk
from worldenv.case import Case
from worldenv.policies import worldmembench
from worldenv.world import GenerationFailed, Start, WeightsNotFound
from worldenv.worlds import load_world
from worldenv.worlds.diffusion import cosmos_predict25

IMAGE = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
WORLDS = {"cosmos_predict25": 5, "skyreels_v2": 17}
"""Module -> frames of the clip before that a clip begins on."""


class Guard:
    """Stands in for the guardrail, which has weights of its own."""

    allows = True

    def check_text_safety(self, prompt):
        return self.allows

    def check_video_safety(self, frames):
        return frames

    def to(self, *_, **__):
        return self


@pytest.fixture(scope="module", autouse=True)
def alone():
    with tiny_diffusion.one_thread():
        yield


@pytest.fixture(scope="module", params=sorted(WORLDS))
def options(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / request.param
    getattr(tiny_diffusion, request.param)(folder)
    return {
        "world": f"worldenv.worlds.models.{request.param}:make",
        "weights": str(folder),
        "size": (32, 32),
        "steps": 1,
        "guidance": 2.0,
        "dtype": "float32",
        "device": "cpu",
    }


@pytest.fixture(autouse=True)
def guarded(monkeypatch):
    monkeypatch.setattr(cosmos_predict25, "guardrail", Guard)


@pytest.fixture(scope="module")
def world(options):
    chosen = dict(options)
    name = chosen.pop("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cosmos_predict25, "guardrail", Guard)
        made = load_world(name, **chosen)
        made.reset(Start(image=IMAGE, prompt="a room"), seed=0, plan=None)
    yield made
    made.close()


def yaw(spec, chunks, degrees=30.0):
    """Return the poses of the first chunks, turning to the right."""
    steps = [degrees / spec.chunk_at(k) for k in range(chunks) for _ in range(spec.chunk_at(k))]
    n = len(steps)
    return walk(np.zeros((n, 3)), np.cumsum(steps), np.zeros(n))


def test_clips_begin_on_the_frames_before_and_depend_on_seed_and_text(world, monkeypatch):
    spec = world.spec
    first, poses = spec.first_chunk, yaw(spec, 2)
    calls = []
    generate = world.generate

    def spied(call, **keywords):
        calls.append(keywords)
        return generate(call, **keywords)

    monkeypatch.setattr(world, "generate", spied)

    def made(seed=0, later=None):
        start = world.reset(Start(image=IMAGE, prompt="a room"), seed=seed, plan=None)
        assert np.array_equal(start.frames[0], IMAGE)
        one = world.step(poses[:first])
        return one.frames, world.step(poses[first:], later).frames

    one, two = made()
    overlap = WORLDS["cosmos_predict25" if "Cosmos" in spec.name else "skyreels_v2"]
    assert (len(one), len(two)) == (spec.first_chunk, spec.chunk)
    assert len(one) + 1 == len(two) + overlap
    given = calls[1]["video"]
    if isinstance(given, list):
        shown = np.stack([np.asarray(frame) for frame in given])
    else:
        shown = ((given[0].permute(1, 2, 3, 0).numpy() + 1) * 127.5).round().astype(np.uint8)
    assert np.array_equal(shown, one[-overlap:])
    assert "pans" in calls[0]["prompt"] and "a room" in calls[0]["prompt"]
    again = made(later="a lake")
    assert np.array_equal(one, again[0]) and not np.array_equal(two, again[1])
    assert "a lake" in calls[3]["prompt"] and "a room" not in calls[3]["prompt"]
    world.reset(Start(image=IMAGE, prompt="a room"), seed=1, plan=None)
    token = world.snapshot()
    other = world.step(poses[:first]).frames
    assert not np.array_equal(one, other)
    world.restore(token)
    assert np.array_equal(world.step(poses[:first]).frames, other)


def test_a_whole_episode_runs_through_the_environment(options, tmp_path):
    env = gym.make("worldenv:Reference-v0", control="plan", max_frames=None, **options)
    image = tmp_path / "start.png"
    Image.fromarray(IMAGE).save(image)
    case = Case(id="mine/room/1", image=str(image), prompt="a room")
    script = worldmembench.lrlr(hold=1, leg=96, angle=30.0, end=1)
    _, info = env.reset(seed=0, options={"case": case, "script": script})
    phases, done = set(), False
    while not done:
        *_, done, info = env.step(0)
        phases.add(info["phase"])
        assert info["chunk"].frames.std() > 1
    assert {"D1", "R1", "D2", "R2"} <= phases
    env.close()


def test_the_guardrail_stands_before_cosmos(options, monkeypatch):
    if "cosmos" not in options["world"]:
        pytest.skip("only Cosmos-Predict2.5 has one")
    chosen = dict(options)
    name = chosen.pop("world")
    monkeypatch.setattr(Guard, "allows", False)
    world = load_world(name, **chosen)
    world.reset(Start(image=IMAGE, prompt="a room"), seed=0, plan=None)
    with pytest.raises(GenerationFailed, match="unsafe text"):
        world.step(yaw(world.spec, 1))
    monkeypatch.undo()
    bare = load_world(name, **chosen)
    with pytest.raises(WeightsNotFound, match="must run with its guardrail"):
        bare.reset(Start(image=IMAGE, prompt="a room"), seed=0, plan=None)
