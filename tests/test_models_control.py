"""Sampled poses, keys and captions as models are asked by them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import CameraPath, geodesic_deg, integrate, intrinsics, walk
from worldenv.world import Unsupported, WorldSpec
from worldenv.worlds.models.control import (
    Captions,
    Keys,
    chunk_lengths,
    follow,
    hold,
    inverse,
    sample,
    speeds,
    spread,
    whole_steps,
)

SPEC = WorldSpec(
    "Words",
    (64, 48),
    tuple(map(tuple, intrinsics((64, 48), 90).tolist())),
    16,
    chunk=12,
    first_chunk=12,
    reset_frames=9,
    quantum={"YAW_LEFT": 1.0, "YAW_RIGHT": 1.0, "FORWARD": 0.05},
    primitives=("STAY", "FORWARD", "YAW_LEFT", "YAW_RIGHT"),
    prompt="chunk",
    held=True,
)
WORDS = Captions({"STAY": "still", "FORWARD": "ahead", "YAW_LEFT": "left", "YAW_RIGHT": "right"})
KEYS = Keys(
    ((0, 0), (0, 0.1), (0, -0.1), (0.1, 0), (-0.1, 0)),
    ((0, 0), (1.5, 0), (-1.5, 0), (0, 1.5), (0, -1.5)),
)


def random_path(seed, frames=41, turn=1.0, step=0.02):
    rows = np.random.default_rng(seed).uniform(-1, 1, (frames - 1, 6)) * ([turn] * 3 + [step] * 3)
    return CameraPath(integrate(rows))


@given(st.integers(0, 10_000), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_spread_meets_samples_and_goes_evenly(seed, stride):
    path = random_path(seed)
    samples = sample(path.poses, stride)
    poses = spread(samples, stride, len(path))
    assert np.array_equal(poses[::stride], path.poses[::stride])
    CameraPath(poses)
    for start in range(0, len(path) - stride, stride):
        angles = geodesic_deg(
            poses[start : start + stride, :3, :3], poses[start + 1 : start + 1 + stride, :3, :3]
        )
        assert np.ptp(angles) < 1e-6


def test_spread_of_an_even_turn_is_the_turn():
    path = CameraPath(walk(np.zeros((41, 3)), np.arange(41) * 0.75, np.zeros(41)))
    assert abs(spread(sample(path.poses, 4), 4, 41) - path.poses).max() < 1e-12


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_inverse_is_the_matrix_inverse(seed):
    poses = random_path(seed).poses
    assert abs(inverse(poses) - np.linalg.inv(poses)).max() < 1e-12


def test_keys_repeat_a_walk_of_whole_keys():
    turns = np.concatenate([np.arange(11), np.full(10, 10)]) * 1.5
    ahead = np.concatenate([np.zeros(11), np.arange(1, 11)]) * 0.1
    heading = np.radians(15.0)
    position = np.stack([ahead * np.sin(heading), 0 * ahead, ahead * np.cos(heading)], axis=1)
    path = CameraPath(walk(position, turns, np.zeros(21)))
    moves, chosen = KEYS.choose(path, [1] * 20)
    assert moves == [0] * 10 + [1] * 10
    assert chosen == [1] * 10 + [0] * 10
    assert abs(KEYS.replay(moves, chosen, [1] * 20) - path.poses).max() < 1e-12


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=60, deadline=None)
def test_misses_of_keys_do_not_add_up(seed, turn_first):
    draw = np.random.default_rng(seed)
    yaw = np.cumsum(draw.uniform(-1.2, 1.2, 121))
    pitch = np.cumsum(draw.uniform(-0.2, 0.2, 121))
    place = np.cumsum(draw.uniform(-0.04, 0.04, (121, 3)) * [1, 0, 1], axis=0)
    path = CameraPath.rebased(walk(place, yaw - yaw[0], pitch - pitch[0]))
    keys = Keys(KEYS.moves, KEYS.turns, turn_first=turn_first)
    moves, turns = keys.choose(path, [1] * 120)
    poses = keys.replay(moves, turns, [1] * 120)
    assert geodesic_deg(poses[:, :3, :3], path.poses[:, :3, :3]).max() <= 1.5 * 2**0.5 + 1e-6
    assert np.linalg.norm(poses[:, :3, 3] - path.poses[:, :3, 3], axis=1).max() <= 0.1 * 2**0.5


def test_keys_stop_at_the_pitch_limit():
    keys = Keys(KEYS.moves, KEYS.turns, pitch_limit=10)
    poses = keys.replay([0], [3], [20])
    assert geodesic_deg(poses[-1, :3, :3], np.eye(3)) == pytest.approx(9.0)


def test_keys_refuse_a_path_that_rolls_or_climbs():
    with pytest.raises(Unsupported, match="level walk"):
        KEYS.choose(CameraPath(integrate([[0, 0, 5.0, 0, 0, 0]])), [1])
    with pytest.raises(Unsupported, match="level walk"):
        KEYS.choose(CameraPath(integrate([[0, 0, 0, 0, 0.5, 0]])), [1])


def test_captions_say_each_chunk_and_decode_to_the_nominal_path():
    yaw = np.concatenate([np.zeros(9), np.arange(1, 13), 12 - np.arange(1, 13), np.zeros(12)])
    path = CameraPath(walk(np.zeros((45, 3)), yaw, np.zeros(45)))
    sentences = WORDS.compile(path, SPEC)
    assert sentences == ["right", "left", "still"]
    assert abs(WORDS.decode(sentences, SPEC, 45) - path.poses).max() < 1e-12
    assert WORDS.prompt("right", "A room.") == "A room. right"


def test_captions_cannot_move_in_the_frames_of_reset():
    path = CameraPath(walk(np.zeros((45, 3)), np.arange(45.0), np.zeros(45)))
    with pytest.raises(Unsupported, match="at rest"):
        WORDS.compile(path, SPEC)


def test_chunk_lengths_count_new_frames():
    assert chunk_lengths(9, SPEC) == []
    assert chunk_lengths(40, SPEC) == [12, 12, 7]


def test_whole_steps_cover_the_frames():
    image = WorldSpec("Image", (64, 48), SPEC.K, 16, chunk=16, first_chunk=12)
    assert [whole_steps(n, image) for n in (1, 2, 13, 14, 29, 30)] == [1, 13, 13, 29, 29, 45]
    assert [whole_steps(n, SPEC) for n in (1, 9, 10, 21, 22)] == [9, 9, 21, 21, 33]


def test_hold_repeats_the_last_pose():
    poses = hold(random_path(0, 5).poses, 9)
    assert len(poses) == 9
    assert (poses[5:] == poses[4]).all()


def test_speeds_name_every_motion():
    assert speeds(3.0, 0.1) == {
        "FORWARD": 0.1,
        "BACKWARD": 0.1,
        "LEFT": 0.1,
        "RIGHT": 0.1,
        "YAW_LEFT": 3.0,
        "YAW_RIGHT": 3.0,
        "PITCH_UP": 3.0,
        "PITCH_DOWN": 3.0,
    }


def test_a_path_faster_than_its_keys_is_refused():
    fast = CameraPath(walk(np.zeros((11, 3)), np.arange(11.0), np.zeros(11)))
    slow = CameraPath(walk(np.zeros((11, 3)), np.arange(11.0) / 2, np.zeros(11)))
    follow(fast, slow, 5.1, 0.0)
    with pytest.raises(Unsupported, match="frame 10"):
        follow(fast, slow, 4.6, 0.0)


def test_a_stretch_may_be_aimed_at_a_frame_within_it():
    yaw = np.concatenate([np.arange(4), [3, 2, 1]]) * 1.5
    path = CameraPath(walk(np.zeros((7, 3)), yaw, np.zeros(7)))
    # The third stretch turns on for a second frame, past the corner; the next ones make it good.
    moves, turns = KEYS.choose(path, [1, 1, 2, 1, 2], aims=[1, 1, 1, 1, 1])
    assert (moves, turns) == ([0] * 5, [1, 1, 1, 2, 2])
    assert KEYS.choose(path[:4], [1, 1, 2], aims=[1, 1, 1])[1] == turns[:3]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_move_follows_a_share_of_its_own_turn(share):
    keys = Keys(KEYS.moves, ((0, 0), (90, 0)), turn_first=share)
    assert keys.replay([1], [1], [1])[1, [0, 2], 3] == pytest.approx(
        [0.1 * np.sin(share * np.pi / 2), 0.1 * np.cos(share * np.pi / 2)]
    )
