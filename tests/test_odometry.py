"""Odometry against exact cameras: synthetic points, and rendered worlds that know their poses."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from worldenv.camera import CameraPath, geodesic_deg, intrinsics
from worldenv.evaluators.backbones.odometry import Odometry, follow
from worldenv.evaluators.engine import build_engine
from worldenv.evaluators.odometry import choose, exponential, fit, learn, sight
from worldenv.evaluators.profile import load_profile
from worldenv.evaluators.worldmembench import rotation_rpe, translation_rpe
from worldenv.world import Chunk

K = intrinsics((256, 256), 75)
NOISE = 0.25


def scene(seed, n=200):
    rng = np.random.default_rng(seed)
    pixels = rng.uniform(10, 246, (n, 2))
    depth = rng.uniform(0.5, 4, n)
    rays = np.column_stack([pixels, np.ones(n)]) @ np.linalg.inv(K).T
    return pixels, rays * depth[:, None]


def project(points, pose):
    camera = (points - pose[:3, 3]) @ pose[:3, :3]
    return camera[:, :2] / camera[:, 2:] * K[[0, 1], [0, 1]] + K[:2, 2]


def camera(turn=(0, 0, 0), step=(0, 0, 0)):
    pose = np.eye(4)
    pose[:3, :3] = exponential(np.radians(turn))
    pose[:3, 3] = step
    return pose


@given(st.tuples(*[st.floats(-3, 3)] * 3))
@settings(max_examples=50, deadline=None)
def test_the_exponential_agrees_with_scipy(turn):
    expected = Rotation.from_rotvec(turn).as_matrix()
    assert np.allclose(exponential(np.array(turn)), expected, atol=1e-12)


@given(st.integers(0, 1000), st.tuples(*[st.floats(-5, 5)] * 3))
@settings(max_examples=20, deadline=None)
def test_a_turn_is_found_exactly_and_nothing_else(seed, turn):
    pixels, points = scene(seed)
    pose = camera(turn)
    found, moved = choose(
        sight(pixels, np.eye(4), K, 1.0), project(points, pose), np.eye(4), K, NOISE, False
    )
    assert not moved and np.array_equal(found.pose[:3, 3], np.zeros(3))
    assert geodesic_deg(found.pose[:3, :3], pose[:3, :3]) < 1e-5


@given(st.integers(0, 1000), st.sampled_from([(0, 0, 0.1), (0.1, 0, 0), (0, -0.1, 0.02)]))
@settings(max_examples=12, deadline=None)
def test_a_step_is_found_up_to_scale(seed, step):
    pixels, points = scene(seed)
    pose = camera((0.3, -0.5, 0.1), step)
    found, moved = choose(
        sight(pixels, np.eye(4), K, 1.0), project(points, pose), np.eye(4), K, NOISE, False
    )
    assert moved and geodesic_deg(found.pose[:3, :3], pose[:3, :3]) < 0.1
    direction = found.pose[:3, 3] / np.linalg.norm(found.pose[:3, 3])
    assert direction @ np.array(step) / np.linalg.norm(step) > 0.99


def test_depths_that_were_learned_keep_the_scale():
    pixels, points = scene(3)
    followed, pose, at = sight(pixels, np.eye(4), K, 1.0), np.eye(4), []
    for k in range(1, 11):
        seen = project(points, camera(step=(0.1 * k, 0, 0)))
        found, moved = choose(followed, seen, pose, K, NOISE, k > 1)
        assert moved
        followed, pose = learn(followed, found), found.pose
        at.append(pose[0, 3])
    steps = np.diff(at)
    assert steps.std() < 0.02 * steps.mean()


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_a_quarter_of_the_points_may_move_by_themselves(seed):
    rng = np.random.default_rng(seed)
    pixels, points = scene(seed)
    pose = camera((0, 2, 0))
    seen = project(points, pose)
    seen[:50] += rng.normal(0, 1, (1, 2)) + np.array([6.0, 0])
    found = fit(sight(pixels, np.eye(4), K, 1.0), seen, np.eye(4), K, moves=False, noise=NOISE)
    assert geodesic_deg(found.pose[:3, :3], pose[:3, :3]) < 0.05
    assert (found.residual[:50] > 2).all() and (found.residual[50:] < 0.5).all()


def walked(script, size, most, **options):
    env = gym.make("Reference-v0", control="plan", script=script, size=size, **options)
    env.reset(seed=0)
    world = env.unwrapped
    chunks = [world.chunk]
    while sum(len(chunk.frames) for chunk in chunks) < most:
        env.step(0)
        chunks.append(world.chunk)
    frames = np.concatenate([chunk.frames for chunk in chunks])[:most]
    spec, path = world.world_spec, world.path
    env.close()
    return frames, path, spec.intrinsics()


def estimated(frames, K):
    odometry, motion, poses = Odometry(K), None, []
    for k, frame in enumerate(frames):
        values = (frame, frames[k - 1], motion) if k else (frame,)
        (motion,) = odometry.compute([], [values])
        poses.append(motion.pose)
    return np.stack(poses), motion


@pytest.fixture(scope="module")
def lrud():
    return walked("worldmembench:lrud", (256, 256), 301)


def test_a_perfect_world_turns_as_asked(lrud):
    frames, path, K = lrud
    poses, motion = estimated(frames, K)
    assert rotation_rpe(path.poses[:301], poses) < 0.03
    assert np.array_equal(poses[:61], np.tile(np.eye(4), (61, 1, 1)))
    assert np.array_equal(poses[:, :3, 3], np.zeros((301, 3))) and motion.lost == 0


def test_a_square_is_walked_in_shape():
    frames, path, K = walked("worldmembench:square", (256, 256), 145, family="interior")
    poses, _ = estimated(frames[60:], K)
    assert translation_rpe(path.poses[60:145], poses) < 0.3


def test_turns_are_found_in_plain_rooms_too():
    frames, path, K = walked("worldmembench:lrlr", (128, 128), 130, family="plain")
    poses, _ = estimated(frames[55:], K)
    assert rotation_rpe(path.poses[55:130], poses) < 0.05


def test_a_frozen_video_scores_exactly_one(lrud):
    frames, path, K = lrud
    poses, _ = estimated(frames[:1].repeat(len(path), 0), K)
    assert rotation_rpe(path.poses, poses) == 1.0


def test_noise_does_not_move_the_camera(lrud):
    frames, _, K = lrud
    rng = np.random.default_rng(0)
    noisy = frames[:1].astype(float) + rng.normal(0, 4, (20, *frames.shape[1:]))
    poses, _ = estimated(np.clip(noisy, 0, 255).astype(np.uint8), K)
    assert np.array_equal(poses[:, :3, 3], np.zeros((20, 3)))
    assert geodesic_deg(poses[:, :3, :3], np.eye(3)).max() < 0.05


def test_where_nothing_can_be_followed_the_pose_is_repeated_and_counted():
    rng = np.random.default_rng(0)
    flat = np.stack([np.full((64, 64, 3), value, np.uint8) for value in (90, 91, 92)])
    poses, motion = estimated(flat, intrinsics((64, 64), 75))
    assert np.array_equal(poses, np.tile(np.eye(4), (3, 1, 1))) and motion.lost == 2
    unrelated = rng.integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
    poses, motion = estimated(unrelated, intrinsics((64, 64), 75))
    assert np.isfinite(poses).all() and motion.lost == 3


def test_the_smallest_frames_are_taken():
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    poses, _ = estimated(frames, intrinsics((16, 16), 75))
    assert np.isfinite(poses).all()


def test_following_a_shift_gives_the_shift():
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (20, 20)).astype(np.float32)
    import cv2

    image = cv2.resize(coarse, (200, 200), interpolation=cv2.INTER_CUBIC).clip(0, 255)
    first, second = image[20:148, 20:148], image[22:150, 25:153]
    at = np.array([[40.0, 40.0], [80.0, 60.0]], np.float32)
    there, kept = follow(first.astype(np.uint8), second.astype(np.uint8), at)
    assert kept.all() and np.allclose(there - at, [-5, -2], atol=0.1)


def test_classic_scores_rpe_of_a_video_and_says_what_was_lost(lrud):
    frames, path, K = lrud
    short = CameraPath(path.poses[:130], phases=path.phases[:130], fps=path.fps)
    engine = build_engine(short, benchmarks=["worldmembench"], profile="classic", K=K)
    engine.observe(Chunk(frames[:130], short.poses))
    rows = {(s.metric, s.variant): s for s in engine.finish().scores}
    turned = rows["rotation_rpe", ""]
    assert turned.status == "ok" and turned.value < 0.05
    assert turned.detail["backbone"] == "klt-odometry" and turned.detail["lost_frames"] == 0
    assert turned.detail["noise_floor"] == 0.0
    assert rows["translation_rpe", ""].status == "not_applicable"


def test_without_intrinsics_poses_are_unavailable_and_truth_keeps_its_own():
    assert "K" in load_profile("classic").lacks("pose")
    assert load_profile("classic", K=K).lacks("pose") is None
    assert load_profile("classic+truth", ("pose",), K).backbone("pose").name == "truth-pose"
    assert load_profile("light", K=K).backbone("pose").name == "klt-odometry"
