"""Estimators in their own process: stretches that join, children that end, errors in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scene_worker_truth import true_depth, true_pose
from scipy.spatial.transform import Rotation

from worldenv.camera import CameraPath
from worldenv.evaluators.backbones.external import OfStretch, Stretches, checked
from worldenv.evaluators.backbones.programs import ExternalFailed, Program
from worldenv.evaluators.backbones.stretches import Layout, depth_ratio, join
from worldenv.evaluators.engine import Engine
from worldenv.evaluators.plan import Ask, Context, Measurement, Outcome, Slot, pixels
from worldenv.evaluators.profile import Profile
from worldenv.weights import Located
from worldenv.world import Chunk


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 400), st.integers(4, 40), st.data())
def test_every_frame_lies_in_a_stretch_and_neighbours_overlap(frames, length, data):
    overlap = data.draw(st.integers(1, length // 2))
    layout = Layout(frames, length, overlap)
    starts = layout.starts()
    assert starts[0] == 0
    assert list(starts) == sorted(set(starts))
    covered = sorted({f for s in starts for f in layout.stretch(s)})
    assert covered == list(range(frames))
    for before, start in pairwise(starts):
        assert layout.before(start) == before
        shared = set(layout.stretch(before)) & set(layout.stretch(start))
        assert overlap <= len(shared) < length
    for frame in range(frames):
        assert frame in layout.stretch(layout.holding(frame))
    assert len(layout.stretch(starts[-1])) == min(length, frames)


def walk(seed, count=9):
    random = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(random.normal(0, 0.4, (count, 3))).as_matrix()
    poses[:, :3, 3] = np.cumsum(random.normal(0, 1, (count, 3)), axis=0)
    return poses


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 20))
def test_a_known_similarity_is_found_again(seed, scale):
    random = np.random.default_rng(seed + 1)
    found = walk(seed)
    R = Rotation.from_rotvec(random.normal(0, 1, 3)).as_matrix()
    known = found.copy()
    known[:, :3, :3] = R @ found[:, :3, :3]
    known[:, :3, 3] = scale * found[:, :3, 3] @ R.T + random.normal(0, 3, 3)
    for ratio in (None, scale):
        change = join(known, found, ratio)
        assert change.scale == pytest.approx(scale, rel=1e-6)
        assert np.allclose(change.poses(found), known, atol=1e-6)


def test_a_camera_that_turns_in_place_takes_its_scale_from_depth():
    found = walk(3)
    found[:, :3, 3] = 0
    assert join(found, found).scale == 1.0
    assert join(found, found, 2.5).scale == 2.5
    assert np.allclose(join(found, found, 2.5).poses(found), found)


def test_depth_ratio_is_a_median_over_what_both_see():
    a = np.array([[2.0, 4.0, 0.0, 100.0]], np.float32)
    b = np.array([[1.0, 2.0, 5.0, 1.0]], np.float32)
    assert depth_ratio(a, b) == 2.0
    assert depth_ratio(a, np.zeros_like(a)) is None


SCRIPT = Path(__file__).with_name("scene_worker.py")
WORKER = Path(__file__).parents[1] / "evaluators" / "backbones" / "worker.py"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("SCENE_PYTHON", sys.executable)
    monkeypatch.setenv("WORKER", str(WORKER))


def made(mode, count, seconds=30.0, length=20, overlap=5):
    located = Located(mode, Path(mode), "1", "abc", "test")
    program = Program("scene", "SCENE_PYTHON", seconds, SCRIPT)
    layout = {"frames": count, "length": length, "overlap": overlap}
    source = Stretches(located, program=program, **layout)
    # The folder of the weights is what tells the scene how to behave.
    return source, {
        "stretch": lambda: source,
        "pose": lambda: OfStretch(located, part="pose", **layout),
        "depth": lambda: OfStretch(located, part="depth", **layout),
    }


def numbered(first, count, size=(12, 16)):
    frames = np.zeros((count, *size, 3), np.uint8)
    numbers = np.arange(first, first + count)
    frames[:, 0, 0, 0], frames[:, 0, 0, 1] = numbers % 256, numbers // 256
    return np.repeat(np.repeat(frames, 2, axis=1), 2, axis=2)


def answers(makers, count, chunk=7):
    """Ask pose and depth of every frame through the engine; return both and what it held."""
    kept, held = {}, []

    def measure(frame):
        asks = (Ask("pose", (frame,)), Ask("depth", (frame,)))

        def compute(features):
            kept[frame] = tuple(features[ask] for ask in asks)
            return [Outcome(0.0, 1)]

        return Measurement("r2m", (Slot("psnr"),), asks, compute)

    poses = np.repeat(np.eye(4)[None], count, axis=0)
    context = Context(CameraPath(poses, fps=16), Profile("test", makers))
    engine = Engine([measure(f) for f in range(count)], context)
    for first in range(0, count, chunk):
        size = min(chunk, count - first)
        engine.observe(Chunk(numbered(first, size), poses[:size]))
        held.append(engine.held)
    return kept, held, engine.finish()


def test_a_long_path_comes_in_one_frame_and_unit(monkeypatch):
    count = 131
    source, makers = made("moves", count)
    kept, held, summary = answers(makers, count)
    source._worker.close()
    assert {s.status for s in summary.scores} == {"ok"}
    for frame in range(count):
        pose, depth = kept[frame]
        # The first stretch came in unit 1.
        assert np.allclose(pose, true_pose(frame), atol=1e-5)
        assert depth.shape == (24, 32)
        assert depth.dtype == np.float32
        assert np.allclose(depth[::4, ::4], true_depth(frame), rtol=1e-4)
    # The frames of a stretch, two stretches, and what is answered of them.
    assert max(held) <= 20 + 7 + 2


def test_a_camera_that_never_moves_keeps_its_depth(monkeypatch):
    source, makers = made("still", 60)
    kept, _, _ = answers(makers, 60)
    source._worker.close()
    for frame in range(60):
        assert np.allclose(kept[frame][0], true_pose(frame, still=True), atol=1e-6)
        assert np.allclose(kept[frame][1][::4, ::4], true_depth(frame), rtol=1e-4)


def test_poses_alone_join_by_the_moves_of_the_camera():
    source, makers = made("poses", 60)
    count, kept = 60, {}
    makers.pop("depth")
    poses = np.repeat(np.eye(4)[None], count, axis=0)

    def measure(frame):
        ask = Ask("pose", (frame,))

        def compute(features):
            kept[frame] = features[ask]
            return [Outcome(0.0, 1)]

        return Measurement("r2m", (Slot("psnr"),), (ask,), compute)

    context = Context(CameraPath(poses, fps=16), Profile("test", makers))
    engine = Engine([measure(f) for f in range(count)], context)
    engine.observe(Chunk(numbered(0, count), poses))
    source._worker.close()
    assert all(np.allclose(kept[f], true_pose(f), atol=1e-5) for f in range(count))


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("absent", "ImportError: no module named scene"),
        ("dies", "out of memory"),
        ("nan", "not finite"),
        ("few", r"poses of shape \(19, 4, 4\)"),
        ("slow", "no answer within"),
    ],
)
def test_what_breaks_is_said_in_one_line_and_the_rest_goes_on(mode, reason):
    source, makers = made(mode, 40, seconds=3.0 if mode == "slow" else 30.0)
    kept, _, summary = answers(makers, 40)
    source._worker.close()
    broken = [s for s in summary.scores if s.status == "error"]
    assert broken
    import re

    assert all(re.search(reason, s.detail["reason"]) for s in broken)
    assert all("\n" not in s.detail["reason"] for s in broken)
    if mode in ("dies", "slow"):
        assert len(kept) == 20


def test_a_missing_environment_names_the_way_to_make_one(monkeypatch):
    monkeypatch.delenv("WORLDENV_DA3_PYTHON", raising=False)
    source = Stretches(frames=4, program="da3")
    with pytest.raises(ExternalFailed, match=r"WORLDENV_DA3_PYTHON.*pip install depth-anything-3"):
        source.compute([Ask("stretch", (0,))], [tuple(numbered(0, 4))])
    monkeypatch.setenv("WORLDENV_DA3_PYTHON", "/nowhere/python")
    with pytest.raises(ExternalFailed, match=r"FileNotFoundError.*WORLDENV_DA3_PYTHON"):
        source.compute([Ask("stretch", (0,))], [tuple(numbered(0, 4))])


def test_the_real_worker_says_what_its_environment_lacks(monkeypatch):
    """No Depth Anything 3 and no ViPE can be reached in a test; that they are missing is said."""
    for variable, program in (("WORLDENV_DA3_PYTHON", "da3"), ("WORLDENV_VIPE_PYTHON", "vipe")):
        monkeypatch.setenv(variable, sys.executable)
        source = Stretches(frames=4, program=program)
        with pytest.raises(ExternalFailed, match=f"{variable} must name the python"):
            source.compute([Ask("stretch", (0,))], [tuple(numbered(0, 4))])


def test_needs():
    source, makers = made("moves", 40)
    assert source.needs(Ask("stretch", (0,))) == tuple(pixels(f) for f in range(20))
    assert source.needs(Ask("stretch", (20,)))[-1] == Ask("stretch", (15,))
    assert makers["pose"]().needs(Ask("pose", (19,))) == (Ask("stretch", (0,)),)
    assert makers["depth"]().needs(Ask("depth", (39,))) == (Ask("stretch", (20,)),)
    assert makers["pose"]().name == "da3:moves"


def test_answers_that_are_no_poses_are_refused():
    with pytest.raises(ValueError, match="rotations"):
        checked({"poses": np.zeros((3, 4, 4))}, 3)
    with pytest.raises(ValueError, match="shape"):
        checked({}, 3)
    eyes = np.repeat(np.eye(4)[None], 3, axis=0)
    with pytest.raises(ValueError, match="depth of shape"):
        checked({"poses": eyes, "depth": np.zeros((2, 4, 4))}, 3)
    bad = np.array([np.nan, np.inf, -1.0, 2.0], np.float32).reshape(1, 2, 2).repeat(3, axis=0)
    _, depth = checked({"poses": eyes, "depth": bad}, 3)
    assert depth is not None
    assert depth[0].tolist() == [[0, 0], [0, 2]]


def test_the_child_ends_with_its_parent(tmp_path):
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_external as t
source, _ = t.made("moves", 20)
source.compute([t.Ask("stretch", (0,))], [tuple(t.numbered(0, 20))])
print(source._worker._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    pid = int(done.stdout.split()[-1])
    for _ in range(100):
        if not _alive(pid):
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} outlived its parent")


def _alive(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
