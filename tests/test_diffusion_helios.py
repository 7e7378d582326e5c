"""Helios-v0 with tiny random weights: whole episodes, and steps that equal one long call."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("diffusers")

import tiny_diffusion
import torch
from PIL import Image

from worldenv.camera import walk
from worldenv.case import Case
from worldenv.policies import worldmembench
from worldenv.rollout import Rollout
from worldenv.stage import rebuild_engine, score_rollout
from worldenv.world import GenerationFailed, Start, Unsupported
from worldenv.worlds import load_world
from worldenv.worlds.models.text import SENTENCES
from worldenv.wrappers import RecordRollout, ScoreMemory

MAKE = "worldenv.worlds.models.helios:make"
IMAGE = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
CHUNK = 33


@pytest.fixture(scope="module", autouse=True)
def alone():
    with tiny_diffusion.one_thread():
        yield


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tiny_diffusion.helios(tmp_path_factory.mktemp("tiny") / "helios")
    return {
        "weights": str(folder),
        "size": (32, 32),
        "steps": 2,
        "dtype": "float32",
        "device": "cpu",
    }


@pytest.fixture(scope="module")
def world(options):
    made = load_world(MAKE, **options)
    yield made
    made.close()


def yaw(chunks, degrees=20.0):
    """Return the poses of chunks that turn to the right."""
    n = chunks * CHUNK
    turns = degrees / CHUNK * np.arange(1, n + 1)
    return walk(np.zeros((n, 3)), turns, np.zeros(n))


def test_stepping_equals_one_call(world):
    start = Start(image=IMAGE, prompt="a room")
    first = world.reset(start, seed=7, plan=None)
    assert np.array_equal(first.frames[0], IMAGE)
    poses = yaw(2)
    chunks = [world.step(poses[:CHUNK]), world.step(poses[CHUNK:])]
    stepped = np.concatenate([chunk.frames for chunk in chunks])
    assert np.allclose(chunks[1].poses, poses[CHUNK:])
    whole = world.pipeline(
        prompt=SENTENCES.prompt(SENTENCES.sentences["YAW_RIGHT"], "a room"),
        image=Image.fromarray(IMAGE),
        num_frames=2 * CHUNK,
        width=32,
        height=32,
        num_inference_steps=2,
        guidance_scale=5.0,
        generator=torch.Generator().manual_seed(7),
    ).frames[0]
    whole = np.rint(np.asarray(whole) * 255).astype(np.uint8)
    # The pipeline cuts a long call to a whole number of latents and one frame.
    assert len(whole) == 2 * CHUNK - 1
    assert np.array_equal(stepped[: len(whole)], whole)


def test_seeds_prompts_and_motions_matter_and_equal_ones_do_not(world):
    def made(seed=0, prompt="a room", later=None, degrees=20.0):
        world.reset(Start(image=IMAGE, prompt=prompt), seed=seed, plan=None)
        return world.step(yaw(1, degrees), later).frames

    again = made()
    assert np.array_equal(again, made())
    for other in (made(seed=1), made(prompt="a lake"), made(later="a lake"), made(degrees=-20.0)):
        assert not np.array_equal(again, other)
    assert np.array_equal(made(prompt="a lake"), made(later="a lake"))


def test_a_snapshot_goes_on_where_it_was(world):
    world.reset(Start(image=IMAGE, prompt="a room"), seed=0, plan=None)
    world.step(yaw(1))
    token = world.snapshot()
    first = world.step(yaw(2)[CHUNK:])
    world.reset(Start(image=IMAGE, prompt="elsewhere"), seed=5, plan=None)
    world.restore(token)
    again = world.step(yaw(2)[CHUNK:])
    assert np.array_equal(first.frames, again.frames)
    assert np.array_equal(first.poses, again.poses)


def test_a_whole_episode_is_recorded_and_scored(options, tmp_path):
    env = gym.make("worldenv:Reference-v0", world=MAKE, control="plan", **options)
    scored = ScoreMemory(env, benchmarks=["worldmembench"], profile="classic")
    recorder = RecordRollout(scored, tmp_path / "walk")
    image = tmp_path / "start.png"
    Image.fromarray(IMAGE).save(image)
    case = Case(id="mine/room/1", image=str(image), prompt="a room")
    script = worldmembench.lrlr(hold=1, leg=CHUNK, angle=20.0, end=1)
    _, info = recorder.reset(seed=3, options={"case": case, "script": script})
    seen, done = info["n"], False
    while not done:
        *_, done, info = recorder.step(0)
        seen += info["n"]
    rollout = Rollout.load(tmp_path / "walk")
    assert len(rollout) == seen == 1 + CHUNK * ((seen - 1) // CHUNK)
    assert rollout.spec.state == "native" and not rollout.spec.stand_in
    assert {"D1", "R1", "D2", "R2"} <= set(rollout.phases)
    online = [score.to_dict() for score in info["memory_summary"].scores]
    assert any(score["value"] is not None for score in online)
    engine = rebuild_engine(
        rollout, benchmarks={"worldmembench": {}}, profile="classic", case=rollout.case, truth=()
    )
    offline = [score.to_dict() for score in score_rollout(rollout, engine).scores]
    assert offline == online
    recorder.close()
    played = ScoreMemory(
        gym.make("worldenv:Recorded-v0", videos=str(tmp_path / "walk")),
        benchmarks=["worldmembench"],
        profile="classic",
    )
    played.reset(seed=3, options={"case": case, "script": script})
    done = False
    while not done:
        *_, done, info = played.step(0)
    assert [score.to_dict() for score in info["memory_summary"].scores] == online


def test_the_first_frame_cannot_be_dropped(options):
    with pytest.raises(Unsupported, match="leave keep_first_frame out"):
        load_world(MAKE, **options, keep_first_frame=False)


def test_what_breaks_in_the_model_is_one_line(world, monkeypatch):
    world.reset(Start(image=IMAGE, prompt="a room"), seed=0, plan=None)

    def broken(*_, **__):
        raise RuntimeError("out of memory\nat line 3")

    monkeypatch.setattr(world.pipeline.transformer, "forward", broken)
    with pytest.raises(GenerationFailed) as error:
        world.step(yaw(1))
    assert str(error.value) == "Helios broke: RuntimeError: out of memory"

    def empty(hidden_states, **_):
        return (torch.full_like(hidden_states, torch.nan),)

    monkeypatch.setattr(world.pipeline.transformer, "forward", empty)
    with pytest.raises(GenerationFailed, match="not finite"):
        world.step(yaw(1))
