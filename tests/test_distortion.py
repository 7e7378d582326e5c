"""Faults on frames: what each dose does, to pictures and to the truth that goes with them."""

import hashlib
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import cv2
import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worldenv
from worldenv import codec
from worldenv.camera import integrate
from worldenv.codec import CodecMissing
from worldenv.conformance import CHECKS, Subject, run_check
from worldenv.distortion import Distorted
from worldenv.faults import FAULTS, FRAME_FAULTS
from worldenv.schedule import Settings
from worldenv.stage import Stage
from worldenv.world import Chunk, GenerationFailed, Start, UnknownName, Unsupported, WorldSpec
from worldenv.worlds import load_world

SIZE, COUNT = (48, 34), 49
DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
TIMING = ("frame_rate", "dropped", "repeated")
POSES = integrate(np.array([[0, 0, 0, 0.01, 0, 0]] * (COUNT - 1), dtype=np.float64))


def _pictures(size=SIZE, count=COUNT):
    """Something with edges and texture that moves on a little in every frame."""
    width, height = size
    rng = np.random.default_rng(0)
    coarse = rng.integers(30, 226, (height // 6 + 2, (width + 2 * count) // 6 + 2, 3), np.uint8)
    wall = cv2.resize(coarse, (width + 2 * count, height), interpolation=cv2.INTER_NEAREST)
    wall = np.clip(wall + rng.normal(0, 6, wall.shape), 0, 255).astype(np.uint8)
    return np.stack([wall[:, 2 * i : 2 * i + width] for i in range(count)])


class Player:
    """A world that plays prepared pictures; all of its truth tells which picture it belongs to."""

    def __init__(self, frames=None, partly=False):
        self.frames = _pictures() if frames is None else frames
        height, width = self.frames.shape[1:3]
        K = ((width, 0.0, width / 2), (0.0, width, height / 2), (0.0, 0.0, 1.0))
        self.spec = WorldSpec("Player", (width, height), K, 16.0, truth=("pose", "depth", "state"))
        self.device, self.partly, self.closed, self.at = "cuda:3", partly, 0, 0

    def reset(self, start, *, seed, plan=None):
        self.at = 0
        return self.step(np.eye(4)[None])

    def step(self, poses, prompt=None):
        which = np.arange(self.at, self.at + len(poses))
        self.at += len(poses)
        pose = np.tile(np.eye(4), (len(poses), 1, 1))
        pose[:, 0, 3] = which
        truth = {
            "pose": pose,
            "depth": np.broadcast_to(which[:, None, None], (len(poses), 2, 3)).astype(np.float32),
            "state": tuple({"instances": {}, "picture": int(i)} for i in which),
        }
        if self.partly:
            truth["recorded"] = {"depth": which % 2 == 0}
        return Chunk(self.frames[which], np.array(poses), truth)

    def close(self):
        self.closed += 1


class Rewinding(Player):
    """The same with snapshots."""

    def snapshot(self):
        return self.at

    def restore(self, token):
        self.at = token


def played(world, *, chunk=1, seed=3):
    """Walk a world to its end; return one chunk of all frames."""
    chunks = [world.reset(Start(), seed=seed, plan=None)]
    at = 1
    while at < COUNT:
        n = min(chunk, COUNT - at)
        chunks.append(world.step(POSES[at : at + n]))
        at += n
    truth = {
        key: sum((tuple(c.truth[key]) for c in chunks), ())
        if key == "state"
        else np.concatenate([c.truth[key] for c in chunks])
        for key in chunks[0].truth
        if key != "recorded"
    }
    if "recorded" in chunks[0].truth:
        known = [c.truth["recorded"]["depth"] for c in chunks]
        truth["recorded"] = {"depth": np.concatenate(known)}
    frames, poses = (np.concatenate([getattr(c, k) for c in chunks]) for k in ("frames", "poses"))
    return Chunk(frames, poses, truth)


def shown(walk):
    """Return which picture stood at each frame, by its truth."""
    return walk.truth["pose"][:, 0, 3].astype(int)


@pytest.fixture(scope="module")
def walks():
    """Every fault at every dose."""
    return {
        name: [played(Distorted(Player(), {name: dose})) for dose in DOSES] for name in FRAME_FAULTS
    }


@pytest.mark.parametrize("name", FRAME_FAULTS)
def test_dose_0_is_the_world_itself(name):
    world = Player()
    spoilt = Distorted(world, {name: 0.0})
    assert spoilt.spec == world.spec and spoilt.distortion == ""
    clean, walk = played(Player()), played(spoilt)
    assert np.array_equal(walk.frames, clean.frames)
    assert np.array_equal(walk.poses, clean.poses)


@pytest.mark.parametrize("name", FRAME_FAULTS)
def test_chunks_of_any_length_give_the_same_frames(name):
    one, many = (played(Distorted(Player(), {name: 0.6}), chunk=c) for c in (1, 16))
    assert np.array_equal(one.frames, many.frames)
    assert np.array_equal(shown(one), shown(many))
    again = played(Distorted(Player(), {name: 0.6}), chunk=5)
    assert np.array_equal(one.frames, again.frames)


@pytest.mark.parametrize("name", FRAME_FAULTS)
def test_a_larger_dose_leaves_less_of_the_picture(name, walks):
    clean = _pictures().astype(np.float64)
    errors = [float(np.mean((w.frames - clean) ** 2)) for w in walks[name]]
    assert errors[0] == 0
    if name == "repeated":
        # A picture two frames late is as wrong as one ten frames late; lateness is what grows.
        errors = [float(np.mean(np.arange(COUNT) - shown(w))) for w in walks[name]]
    assert all(a < b for a, b in itertools.pairwise(errors))


@pytest.mark.parametrize("name", TIMING)
def test_a_larger_dose_spoils_more_frames(name, walks):
    wrong = [int(np.sum(shown(w) != np.arange(COUNT))) for w in walks[name]]
    assert wrong[0] == 0
    assert all(a < b for a, b in itertools.pairwise(wrong)) or name == "repeated"
    assert wrong == sorted(wrong)


@pytest.mark.parametrize("name", FRAME_FAULTS)
def test_pictures_and_truth_stay_together(name, walks):
    for walk in walks[name]:
        which = shown(walk)
        assert np.array_equal(walk.poses, played(Player()).poses), "commanded poses stay"
        assert np.array_equal(walk.truth["depth"][:, 0, 0], which)
        assert [state["picture"] for state in walk.truth["state"]] == which.tolist()
        assert (which <= np.arange(COUNT)).all(), "nothing is shown before it is made"
        assert (np.diff(which) >= 0).all()
        if name in TIMING:
            assert np.array_equal(walk.frames, _pictures()[which])
        else:
            assert np.array_equal(which, np.arange(COUNT))


def test_of_partly_known_truth_it_stays_known_of_which_picture():
    walk = played(Distorted(Player(partly=True), {"dropped": 0.5}), chunk=6)
    assert np.array_equal(walk.truth["recorded"]["depth"], shown(walk) % 2 == 0)


@settings(max_examples=25, deadline=None)
@given(low=st.floats(0.01, 1), high=st.floats(0.01, 1), seed=st.integers(0, 2**63))
def test_faults_of_time_are_nested(low, high, seed):
    low, high = sorted((low, high))
    frames = np.zeros((COUNT, 1, 1, 3), np.uint8)
    for name in TIMING:
        less, more = (
            shown(played(Distorted(Player(frames), {name: dose}), chunk=16, seed=seed))
            for dose in (low, high)
        )
        if name == "repeated":
            twice = [
                {i for i in which if np.sum(which == i) > 1 and i < which[-1]}
                for which in (less, more)
            ]
            assert {i for i in twice[0] if i < more[-1]} <= twice[1]
        else:
            held = [set(np.flatnonzero(np.diff(which) == 0)) for which in (less, more)]
            if name == "dropped":
                assert held[0] <= held[1]
            new = [set(which) for which in (less, more)]
            assert new[1] <= new[0]


def test_noise_is_one_pattern_scaled_and_new_in_every_frame():
    grey = np.full((COUNT, 34, 48, 3), 128, np.uint8)
    half, full = (
        played(Distorted(Player(grey), {"noise": dose})).frames.astype(float) - 128
        for dose in (0.25, 0.5)
    )
    assert abs(full - 2 * half).max() <= 1.5
    assert abs(np.corrcoef(full[3].ravel(), full[4].ravel())[0, 1]) < 0.1
    assert np.std(full) == pytest.approx(24, rel=0.03)


def test_seeds_draw_otherwise():
    for name in ("noise", "exposure", "dropped", "repeated", "frame_rate"):
        a, b = (
            played(Distorted(Player(), {name: 0.5}), chunk=16, seed=seed).frames for seed in (1, 2)
        )
        assert (a != b).any(), name


def test_exposure_starts_where_the_world_is_and_wanders_smoothly():
    grey = np.full((COUNT, 8, 8, 3), 100, np.uint8)
    level = played(Distorted(Player(grey), {"exposure": 1.0})).frames.mean(axis=(1, 2, 3))
    assert level[0] == 100 and np.ptp(level) > 10
    assert abs(np.diff(level)).max() < 0.35 * np.ptp(level)


def test_a_combination_does_what_each_does():
    faults = {"repeated": 0.3, "compression": 0.5, "blur": 0.2, "dropped": 0.2, "noise": 0.1}
    world = Distorted(Player(), faults)
    assert list(world.faults) == ["blur", "compression", "noise", "dropped", "repeated"]
    assert world.spec.name == f"Player (distorted: {world.distortion})"
    one, many = played(world), played(world, chunk=16)
    assert np.array_equal(one.frames, many.frames)
    pictures = {name: dose for name, dose in faults.items() if name not in TIMING}
    whole = played(Distorted(Player(), pictures)).frames
    assert np.array_equal(one.frames, whole[shown(one)])
    assert len(set(shown(one))) < COUNT


def test_snapshots_go_on_with_equal_bits():
    world = Distorted(Rewinding(), dict.fromkeys(FRAME_FAULTS, 0.4))
    world.reset(Start(), seed=3, plan=None)
    tokens = []
    for at in range(1, 37):
        tokens.append(world.snapshot())
        world.step(POSES[at : at + 1])
    for at in (36, 16, 1, 20):
        world.restore(tokens[at - 1])
        again = world.step(POSES[at:COUNT])
        fresh = Distorted(Rewinding(), dict.fromkeys(FRAME_FAULTS, 0.4))
        assert np.array_equal(played(fresh, chunk=48).frames[at:], again.frames)
        fresh.close()
    with pytest.raises(Unsupported, match="token"):
        world.restore(3)
    world.close()


def digest():
    """Return a digest of an episode with every fault."""
    walk = played(Distorted(Player(), dict.fromkeys(FRAME_FAULTS, 0.3)), chunk=8)
    return hashlib.sha256(walk.frames.tobytes()).hexdigest()


def test_the_same_seed_gives_the_same_bits_in_any_process():
    code = "import cv2; cv2.setNumThreads(1); import test_distortion as t; print(t.digest())"
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=here,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent), str(here)])},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == digest(), done.stderr


def test_it_offers_what_the_world_offers_and_no_more():
    world = Player()
    spoilt = Distorted(world, {"blur": 0.5})
    assert spoilt.device == "cuda:3"
    assert not hasattr(spoilt, "snapshot") and not hasattr(spoilt, "restore")
    assert not hasattr(spoilt, "progress") and not hasattr(spoilt, "frames_rendered")
    world.progress = None
    spoilt.progress = print
    assert world.progress is print
    spoilt.close()
    assert world.closed == 1
    assert hasattr(Distorted(Rewinding(), {}), "snapshot")


@pytest.mark.parametrize(
    ("faults", "error", "text"),
    [
        ({"blurr": 0.5}, UnknownName, "Did you mean 'blur'"),
        ({"blur": 1.5}, Unsupported, "must be a number from 0 to 1"),
        ({"blur": True}, Unsupported, "must be a number from 0 to 1"),
        ({"forget": 0.5}, Unsupported, "not its frames"),
        (["blur"], Unsupported, "map names to doses"),
    ],
)
def test_what_cannot_be_planted_is_refused_in_a_line(faults, error, text):
    with pytest.raises(error, match=text) as caught:
        Distorted(Player(), faults)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (33, 17)])
def test_pictures_of_any_size(size):
    frames = np.random.default_rng(1).integers(0, 256, (COUNT, size[1], size[0], 3), np.uint8)
    pictures = [name for name in FRAME_FAULTS if name not in TIMING]
    world = Distorted(Player(frames), dict.fromkeys(pictures, 0.5))
    walk = played(world, chunk=16)
    assert walk.frames.shape == frames.shape and walk.frames.dtype == np.uint8
    world.close()


def test_an_ffmpeg_without_the_codec_is_named(tmp_path, monkeypatch):
    def program(text):
        file = tmp_path / "ffmpeg"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        monkeypatch.setattr(codec, "ffmpeg_executable", lambda: str(file))
        return Distorted(Player(), {"compression": 0.5})

    with pytest.raises(CodecMissing, match="Unknown encoder 'libx264'"):
        program("echo \"Unknown encoder 'libx264'\" >&2; exit 1").reset(Start(), seed=0)
    with pytest.raises(GenerationFailed, match="out of memory"):
        program("echo 'out of memory' >&2; exit 1").reset(Start(), seed=0)
    monkeypatch.setattr(codec, "PATIENCE", 0.2)
    with pytest.raises(CodecMissing, match="keeps pictures back"):
        program("exec sleep 60").reset(Start(), seed=0)


def test_faults_are_cheap():
    frames = _pictures((128, 128))
    for name in FRAME_FAULTS:
        world = Distorted(Player(frames), {name: 1.0})
        started = time.process_time()
        played(world)
        assert time.process_time() - started < 1.0, name
        world.close()


def test_reference_takes_faults_of_both_kinds():
    env = gym.make(
        "worldenv:Reference-v0", faults={"forget": 0.5, "blur": 0.3}, size=(32, 24), family="plain"
    )
    env.reset(seed=1)
    world = env.unwrapped.world
    assert isinstance(world, Distorted) and world.faults == {"blur": 0.3}
    assert world.frames_rendered == 1
    env.close()
    assert not isinstance(load_world("Reference-v0", faults={"blur": 0.0}), Distorted)
    with pytest.raises(UnknownName, match="'noise'"):
        load_world("Reference-v0", faults={"noisy": 0.5})


def test_any_world_can_be_distorted_by_id(tmp_path):
    file = tmp_path / "photograph.png"
    cv2.imwrite(str(file), np.random.default_rng(0).integers(0, 256, (64, 128, 3), np.uint8))
    options = {"image": str(file), "size": (32, 24), "threads": 1}
    env = gym.make(
        "Distorted-v0", base="Panorama-v0", faults={"noise": 0.5}, script="worldmembench:lrlr",
        control="plan", **options,
    )  # fmt: skip
    plain = gym.make("Panorama-v0", script="worldmembench:lrlr", control="plan", **options)
    (noisy, _), (clean, _) = env.reset(seed=0), plain.reset(seed=0)
    assert 10 < np.std(noisy.astype(float) - clean) < 30
    env.close()
    with pytest.raises(UnknownName, match="Unknown world"):
        load_world("Distorted-v0", base="Panorma", faults={"blur": 1})
    with pytest.raises(Unsupported, match="needs base="):
        load_world("Distorted-v0")
    with pytest.raises(Unsupported, match="needs faults="):
        load_world("Distorted-v0", base="Reference-v0")
    with pytest.raises(UnknownName, match="option of world 'Panorama-v0'"):
        load_world("Distorted-v0", base="Panorama-v0", faults={"blur": 1}, sice=(3, 3))
    assert worldenv.WorldEnvError in CodecMissing.__mro__


def test_a_run_says_that_frames_were_distorted():
    options = {"base": "Reference-v0", "size": [32, 24], "faults": {"blur": 0.5}}
    with Stage(Settings("Distorted-v0", options)) as stage:
        assert stage.world_name == "Reference-v0 (distorted: blur 0.5)"
        assert stage.options("") == options
    with Stage(Settings("Reference-v0", {"size": [32, 24], "faults": {"noise": 1}})) as stage:
        assert stage.world_name == "Reference-v0 (distorted: noise 1)"
    with Stage(Settings(Distorted(Player(), {"blur": 1}))) as stage:
        assert stage.world_name == "Player (distorted: blur 1)"


@pytest.mark.parametrize("faults", [{"blur": 0.3, "compression": 0.3}, {"repeated": 0.4}])
def test_a_distorted_world_keeps_the_contract(faults):
    options = {"size": (32, 24), "family": "plain", "threads": 1}
    subject = Subject(lambda: load_world("Reference-v0", faults=faults, **options), frames=1)
    for check in set(CHECKS) - {"speed"}:
        finding = run_check(check, subject)
        assert finding.state != "problem", finding
    subject.world.close()


def test_every_frame_fault_is_described():
    assert all(FAULTS[name].meaning.endswith(".") for name in FRAME_FAULTS)
