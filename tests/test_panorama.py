"""Panorama-v0: every pixel looks where its ray points, and nothing is lost by turning away."""

import cv2
import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worldenv
from worldenv.camera import CameraPath, intrinsics, rotations, walk
from worldenv.case import Case
from worldenv.env import WorldEnv
from worldenv.policies import worldmembench
from worldenv.world import GenerationFailed, Start, UnknownName, Unsupported
from worldenv.worlds.panorama import make, project, shrink
from worldenv.wrappers import ScoreMemory

SIZE, FOV = (48, 36), 80.0


def directions(height):
    """Return the unit direction of each pixel of an equirectangular photograph."""
    longitude = ((np.arange(2 * height) + 0.5) / (2 * height) - 0.5) * 2 * np.pi
    latitude = ((np.arange(height) + 0.5) / height - 0.5) * np.pi
    lon, lat = np.meshgrid(longitude, latitude)
    return np.stack([np.sin(lon) * np.cos(lat), np.sin(lat), np.cos(lon) * np.cos(lat)], axis=-1)


def coded(height=256):
    """Return a photograph whose colour is its direction."""
    return np.rint(127.5 + 120 * directions(height)).astype(np.uint8)


def colours_of(turn, K, size):
    """Return the colours that a pinhole camera sees of ``coded``, by its rays alone."""
    u, v = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    rays = np.stack([u, v, np.ones_like(u)], axis=-1) @ np.linalg.inv(K).T @ turn.T
    return 127.5 + 120 * rays / np.linalg.norm(rays, axis=-1, keepdims=True)


def noise(height=128, seed=0):
    small = np.random.default_rng(seed).integers(0, 256, (16, 32, 3), np.uint8)
    return cv2.resize(small, (2 * height, height), interpolation=cv2.INTER_NEAREST)


@pytest.fixture
def photograph(tmp_path):
    file = tmp_path / "street.png"
    cv2.imwrite(str(file), noise())
    return str(file)


def turned(yaw=0.0, pitch=0.0):
    return walk(np.zeros((1, 3)), np.array([yaw]), np.array([pitch]))[0]


@settings(max_examples=40, deadline=None)
@given(st.tuples(*[st.floats(-180, 180)] * 3))
def test_every_pixel_looks_along_its_ray(vector):
    turn = rotations(np.array([vector]))
    K = np.array([[40.0, 0, 20.5], [0, 44.0, 17.0], [0, 0, 1]])
    seen = project(coded(), turn, K, SIZE)[0]
    assert abs(seen - colours_of(turn[0], K, SIZE)).max() < 1.5


@pytest.mark.parametrize(
    "pose", [turned(180), turned(-179.7), turned(30, 90), turned(200, -90), turned(90, 85)]
)
def test_seam_and_poles_are_whole(pose):
    K = intrinsics(SIZE, FOV)
    seen = project(shrink(coded(), 2 * np.pi * K[0, 0] * 2), pose[None, :3, :3], K, SIZE)[0]
    assert abs(seen - colours_of(pose[:3, :3], K, SIZE)).max() < 1.5


def test_a_turn_by_columns_is_a_shift_of_the_photograph():
    photograph, K = noise(64), intrinsics(SIZE, FOV)
    there = project(photograph, turned(37 * 360 / 128)[None, :3, :3], K, SIZE)
    shifted = project(np.roll(photograph, -37, axis=1), np.eye(3)[None], K, SIZE)
    assert abs(there.astype(int) - shifted).max() <= 1


def test_yaw_right_and_pitch_up_go_right_and_up():
    photograph = np.zeros((90, 180, 3), np.uint8)
    photograph[30:60, 120:150, 0] = 255  # east
    photograph[:20, :, 1] = 255  # the sky
    K = intrinsics((32, 32), 60)
    east, up = project(
        photograph, np.stack([turned(90)[:3, :3], turned(0, 90)[:3, :3]]), K, (32, 32)
    )
    assert east[16, 16].tolist() == [255, 0, 0]
    assert up[16, 16].tolist() == [0, 255, 0]


@pytest.mark.parametrize("pose", [turned(), turned(0, 90), turned(180, -60)])
def test_fine_detail_becomes_even_grey(pose):
    height = 1024
    board = np.indices((height, 2 * height)).sum(0) % 2 * 255
    photograph = np.repeat(board[..., None], 3, axis=2).astype(np.uint8)
    K = intrinsics(SIZE, FOV)
    seen = project(shrink(photograph, 2 * np.pi * K[0, 0] * 2), pose[None, :3, :3], K, SIZE)
    assert abs(seen.astype(float) - 127.5).max() < 3


def test_photographs_smaller_than_the_view_keep_their_detail():
    photograph = noise(16)
    assert np.array_equal(shrink(photograph, 1e4), photograph)


def test_returns_are_bit_equal_and_threads_do_not_matter(photograph):
    script = worldmembench.lrlr(hold=2, leg=6, angle=30)
    seen = []
    for threads in (1, 3):
        env = WorldEnv(make(photograph, size=SIZE, threads=threads), script=script, control="plan")
        env.reset(seed=0)
        frames, done = [env.chunk.frames], False
        while not done:
            _, _, _, done, info = env.step(0)
            frames.append(info["chunk"].frames)
            assert np.array_equal(info["chunk"].truth["pose"], info["chunk"].poses)
        seen.append(np.concatenate(frames))
    assert np.array_equal(*seen)
    path = script.path(env.world_spec)
    away, back = path.frames_of("D1")[-1], path.frames_of("R1")[-1]
    assert np.array_equal(seen[0][back], seen[0][0])
    assert not np.array_equal(seen[0][away], seen[0][0])


def test_a_whole_benchmark_walk_is_scored_perfect(photograph):
    env = gym.make(
        "worldenv:Panorama-v0",
        image=photograph,
        size=(64, 48),
        script="worldmembench:lrlr",
        control="plan",
        chunk=48,
    )
    env = ScoreMemory(env, benchmarks=["worldmembench"], profile="classic+truth")
    env.reset(seed=0)
    done = False
    while not done:
        *_, done, info = env.step(0)
    shown = [s for s in info["memory_summary"].scores if s.metric == "environment_visible"]
    assert [s.value for s in shown] == [1.0] * 3


def test_walking_is_refused_before_the_first_frame(photograph):
    env = gym.make("worldenv:Panorama-v0", image=photograph, control="plan")
    with pytest.raises(worldenv.WorldEnvError, match=r"Panorama.*(FORWARD|cannot move)") as error:
        env.reset(options={"script": "worldmembench:square"})
    assert "\n" not in str(error.value)


def test_a_pose_away_from_the_place_is_refused(photograph):
    world = make(photograph, size=SIZE)
    world.reset(Start(), seed=0, plan=None)
    world.step(np.eye(4)[None].repeat(2, 0))
    away = np.eye(4)[None].repeat(3, 0)
    away[1:, 0, 3] = 0.02
    with pytest.raises(Unsupported, match=r"frame 4 lies 0.02 m from the first"):
        world.step(away)
    with pytest.raises(Unsupported, match="frame 1 lies"):
        world.reset(Start(), seed=0, plan=CameraPath(away))
    bent = np.eye(4)[None].copy()
    bent[0, 0, 0] = np.nan
    world.reset(Start(), seed=0, plan=None)
    for wrong in (bent, np.diag([1.0, 1, -1, 1])[None], np.eye(4)):
        with pytest.raises(GenerationFailed, match="Panorama was asked for poses"):
            world.step(wrong)


def test_actions_are_turns_only(photograph):
    env = gym.make("worldenv:Panorama-v0", image=photograph, size=SIZE, chunk=5)
    assert env.action_space.n == 5
    env.reset(seed=1)
    env.step(2)
    _, _, _, _, info = env.step(1)
    assert np.array_equal(
        info["chunk"].frames[-1], env.unwrapped.world.step(np.eye(4)[None]).frames[0]
    )


def test_the_start_image_is_shown_and_only_panoramas_are(photograph, tmp_path):
    world = make(size=SIZE)
    with pytest.raises(Unsupported, match="give image="):
        world.reset(Start(), seed=0, plan=None)
    other = noise(64, seed=5)
    shown = world.reset(Start(image=other), seed=0, plan=None)
    assert np.array_equal(
        make(photograph, size=SIZE).reset(Start(image=other), seed=0, plan=None).frames,
        shown.frames,
    )
    with pytest.raises(Unsupported, match="is 48 x 36 pixels; expected an equirectangular"):
        world.reset(Start(image=shown.frames[0]), seed=0, plan=None)
    with pytest.raises(Unsupported, match="pinhole view, not a panorama"):
        WorldEnv(make(photograph)).reset(options={"case": "worldmembench/object/001"})
    with pytest.raises(Unsupported, match="no prompt"):
        world.reset(Start(image=other, prompt="a street"), seed=0, plan=None)
    case = Case(id="mine/street/1", image=photograph)
    first, _ = WorldEnv(make(size=SIZE)).reset(seed=0, options={"case": case})
    assert np.array_equal(
        first, make(photograph, size=SIZE).reset(Start(), seed=0, plan=None).frames[0]
    )
    with pytest.raises(Unsupported, match="Cannot read the image"):
        make(str(tmp_path / "none.jpg")).reset(Start(), seed=0, plan=None)


def test_a_snapshot_goes_on_where_it_was(photograph):
    world = make(photograph, size=SIZE)
    with pytest.raises(Unsupported, match="reset it first"):
        world.step(np.eye(4)[None])
    world.reset(Start(), seed=0, plan=None)
    token = world.snapshot()
    first = world.step(turned(12)[None]).frames
    world.reset(Start(image=noise(seed=9)), seed=0, plan=None)
    assert not np.array_equal(world.step(turned(12)[None]).frames, first)
    world.restore(token)
    assert np.array_equal(world.step(turned(12)[None]).frames, first)
    world.close()
    world.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 3}, "size must be"),
        ({"size": (0, 4)}, "width must be"),
        ({"fov": 180}, "fov must be"),
        ({"fps": True}, "fps must be"),
        ({"chunk": 1.5}, "chunk must be"),
        ({"supersample": 9}, "supersample must be"),
        ({"threads": 0}, "threads must be"),
        ({"image": 5}, "image must be"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(Unsupported, match=message):
        make(**options)


def test_an_unknown_option_is_named():
    with pytest.raises(UnknownName, match="imgae"):
        gym.make("worldenv:Panorama-v0", imgae="x.png")
