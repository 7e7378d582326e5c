"""Videos against their poses: what disagrees is named, what a model may do is not."""

import cv2
import numpy as np
import pytest

from worldenv import offline
from worldenv.agreement import MotionMeter, compare, predict
from worldenv.camera import CameraPath, intrinsics
from worldenv.conventions import Convention
from worldenv.policies import r2m, worldmembench
from worldenv.rollout import Rollout
from worldenv.video import VideoWriter

SIZE = (160, 90)
K = intrinsics(SIZE, 75)
TURN = worldmembench.lrud(hold=12, leg=20).path()
LOOP = r2m.closed_loop().path()


def texture(seed=0, side=700):
    rng = np.random.default_rng(seed)
    noise = sum(
        cv2.resize(rng.normal(size=(side // s, side // s, 3)), (side, side)) * s
        for s in (4, 16, 64)
    )
    return np.uint8(np.clip(128 + 60 * noise / noise.std(), 0, 255))


WALL = texture()
_X, _Y = np.meshgrid((np.arange(160) + 0.5 - 80) / K[0, 0], (np.arange(90) + 0.5 - 45) / K[1, 1])
RAYS = np.stack([_X, _Y, np.ones_like(_X)], axis=-1)


def render(pose):
    """Look at a textured box of 12 m by rays: exact, and nothing of ours renders it."""
    d = RAYS @ pose[:3, :3].T
    o = pose[:3, 3]
    with np.errstate(divide="ignore"):
        t = np.where(d > 0, (6 - o) / d, (-6 - o) / d)
    t = np.where(np.abs(d) < 1e-9, np.inf, t)
    axis = np.argmin(t, axis=-1)
    hit = o + np.take_along_axis(t, axis[..., None], -1) * d
    u = np.where(axis == 0, hit[..., 2], hit[..., 0])
    v = np.where(axis == 1, hit[..., 2], hit[..., 1])
    scale = (len(WALL) - 1) / 12.001
    maps = ((u + 6) * scale).astype(np.float32), ((v + 6) * scale).astype(np.float32)
    return cv2.remap(WALL, *maps, cv2.INTER_LINEAR)


@pytest.fixture(scope="module")
def turning():
    return np.stack([render(pose) for pose in TURN.poses])


@pytest.fixture(scope="module")
def looping():
    return np.stack([render(pose) for pose in LOOP.poses])


def compared(frames, path):
    meter = MotionMeter(len(path))
    for frame in frames:
        meter.add(frame)
    return compare(meter, path, SIZE, K)


def test_what_goes_together_agrees(turning, looping):
    for frames, path in ((turning, TURN), (looping, LOOP)):
        found = compared(frames, path)
        assert found.better is None and found.value > 0.9 and found.repeated == 0


@pytest.mark.parametrize(
    ("direction", "axes", "says"),
    [("w2c", "opencv", "inverse"), ("c2w", "opengl", "opengl"), ("w2c", "unity", "")],
)
def test_another_convention_is_named(turning, direction, axes, says):
    wrong = Convention(direction, axes).path(TURN.poses, 16)
    found = compared(turning, wrong)
    assert found.better is not None and says in found.better
    assert found.value < 0.5 < 0.8 < found.better_value


def test_walks_of_translation_tell_as_well(looping):
    assert "inverse" in compared(looping, Convention("w2c").path(LOOP.poses, 16)).better
    assert "opengl" in compared(looping, Convention(axes="opengl").path(LOOP.poses, 16)).better


def test_reversed_poses_are_named(turning):
    half = CameraPath(TURN.poses[:40], fps=16)
    turned = CameraPath.rebased(half.poses[::-1], fps=16)
    assert compared(turning[:40], turned).better is not None


@pytest.mark.parametrize("late", [7, -9, 16])
def test_an_offset_is_counted(turning, late):
    shown = np.roll(turning, late, axis=0)
    if late > 0:
        shown[:late] = turning[0]
    else:
        shown[late:] = turning[-1]
    found = compared(shown, TURN)
    word = "after" if late > 0 else "before"
    assert f"about {abs(late)} frames {word}" in found.better


@pytest.mark.parametrize("late", [2, -3])
def test_a_few_frames_of_delay_are_said_and_not_refused(turning, tmp_path, late):
    shown = np.roll(turning, late, axis=0)
    if late > 0:
        shown[:late] = turning[0]
    else:
        shown[late:] = turning[-1]
    found = compared(shown, TURN)
    assert found.better is None and found.late == late
    lines = []
    video = write(tmp_path / "walk.mkv", shown)
    offline.read_video(video, TURN, K, None, None, notify=lines.append)
    word = "after" if late > 0 else "before"
    assert len(lines) == 1 and f"about {abs(late)} frames {word}" in lines[0]


def test_readings_that_fit_alike_are_all_named():
    path = worldmembench.lrlr(hold=6, leg=12).path()
    frames = np.stack([render(pose) for pose in path.poses])
    found = compared(frames, Convention(axes="opengl").path(path.poses, 16))
    assert "inverse" in found.better and "opengl" in found.better


def test_intrinsics_of_another_shape_are_said(turning, tmp_path):
    other = np.array([[969.77, 0, 960], [0, 969.77, 540], [0, 0, 1]])
    lines = []
    video = write(tmp_path / "walk.mkv", turning)
    offline.read_video(video, TURN, other, None, None, notify=lines.append)
    assert any("K" in line for line in lines)


def test_a_frozen_or_a_wild_video_is_no_disagreement(turning):
    frozen = compared(np.repeat(turning[:1], len(TURN), axis=0), TURN)
    assert frozen.value is None and frozen.better is None and frozen.repeated > 60
    rng = np.random.default_rng(1)
    wild = compared(rng.permutation(turning), TURN)
    assert wild.better is None


def test_a_slow_follower_is_no_disagreement(turning):
    """A model that turns half as far still turns the way it is told."""
    half = CameraPath(TURN.poses, fps=16)
    from worldenv.camera import twists

    slow = worldmembench.lrud(hold=12, leg=20, angle=10).path()
    assert len(slow) == len(half) and np.abs(twists(slow.poses)).max() < 1.01 * 0.5 * 20
    found = compared(np.stack([render(p) for p in slow.poses]), half)
    assert found.better is None and found.value > 0.9


def test_prediction_of_a_turn_by_hand():
    path = worldmembench.lrlr(hold=2, leg=10, angle=10).path()
    rows = predict(path.poses, 1, K, SIZE, 2.0)
    # Turning left by one degree moves the picture right by f tan(1 degree).
    centre = K[0, 0] / 160 * np.tan(np.radians(1))
    # Beside the centre a pinhole picture moves faster, by at most 1 + tan^2.
    assert centre < rows[5, 0] < centre * (1 + np.tan(np.radians(37.5)) ** 2)
    assert np.abs(rows[5, 1:]).max() < 0.05 * centre


def write(file, frames):
    writer = VideoWriter(file, SIZE, 16)
    writer.write(frames)
    writer.close()
    return file


def test_score_refuses_and_can_be_told_otherwise(turning, tmp_path):
    video = write(tmp_path / "walk.mkv", turning)
    np.save(tmp_path / "poses.npy", TURN.poses)
    path = tmp_path / "poses.npy"
    with pytest.raises(offline.PosesDisagree, match="inverse") as caught:
        offline.score(video, path=path, convention=Convention("w2c"))
    assert "\n" not in str(caught.value) and "--trust-poses" in str(caught.value)
    lines = []
    results = offline.score(
        video, path=path, convention=Convention("w2c"), trust_poses=True, notify=lines.append
    )
    assert results.scores and any("trusted" in line for line in lines)
    lines.clear()
    assert offline.score(video, path=path, convention=Convention(), notify=lines.append).scores
    assert lines == []


def test_repeated_frames_are_said(turning, tmp_path):
    shown = turning.copy()
    shown[30:34] = shown[29]
    lines = []
    offline.read_video(
        write(tmp_path / "walk.mkv", shown), TURN, K, None, None, notify=lines.append
    )
    assert any("repeats 4 frames" in line for line in lines)


def test_the_frames_are_decoded_once(turning, tmp_path, monkeypatch):
    made = []
    from worldenv import rollout

    original = rollout.read_frames

    def counted(*args, **kwargs):
        for frame in original(*args, **kwargs):
            made.append(1)
            yield frame

    monkeypatch.setattr(rollout, "read_frames", counted)
    found = offline.read_video(write(tmp_path / "walk.mkv", turning), TURN, K, None, None)
    assert isinstance(found, Rollout) and sum(made) == len(TURN)
