"""Relative pose errors and Sim(3) alignment against known transforms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from worldenv.camera import integrate, walk
from worldenv.evaluators.trajectory import align
from worldenv.evaluators.worldmembench import rotation_rpe, translation_rpe


def wander(seed, n=40):
    rng = np.random.default_rng(seed)
    return integrate(np.hstack([rng.normal(0, 3, (n, 3)), rng.normal(0, 0.1, (n, 3))]))


@given(st.integers(0, 100), st.floats(0.1, 5))
@settings(max_examples=25, deadline=None)
def test_umeyama_recovers_a_similarity(seed, scale):
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(20, 3))
    R, t = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    s, found, moved = align(source, scale * source @ R.T + t)
    assert s == pytest.approx(scale) and np.allclose(found, R) and np.allclose(moved, t)


def test_umeyama_rotation_agrees_with_scipy_on_noise():
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    _, R, _ = align(source, target)
    expected, _ = Rotation.align_vectors(target - target.mean(0), source - source.mean(0))
    assert np.allclose(R, expected.as_matrix(), atol=1e-6)
    assert np.linalg.det(R) == pytest.approx(1)


@given(st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_a_perfect_camera_scores_zero_in_any_scale_and_frame(seed):
    target = wander(seed)
    move = np.eye(4)
    move[:3, :3] = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    move[:3, 3] = [1, 2, 3]
    other = move @ target
    other[:, :3, 3] *= 2.5
    assert translation_rpe(target, other) < 1e-9
    assert rotation_rpe(target, target) == 0.0
    assert rotation_rpe(target, other) < 1e-6


def test_a_camera_that_does_not_move_scores_exactly_one():
    still = np.tile(np.eye(4), (61, 1, 1))
    turning = walk(np.zeros((61, 3)), -np.arange(61.0), np.zeros(61))
    walking = walk(np.arange(61)[:, None] * [[0.03, 0, 0]], np.zeros(61), np.zeros(61))
    assert rotation_rpe(turning, still) == 1.0 == rotation_rpe(turning, still, stride=10)
    assert translation_rpe(walking, still) == 1.0
    assert rotation_rpe(walking, still) is None
    assert translation_rpe(turning, still) is None


def test_half_speed_costs_half():
    turning = walk(np.zeros((61, 3)), np.arange(61.0), np.zeros(61))
    half = walk(np.zeros((61, 3)), np.arange(61.0) / 2, np.zeros(61))
    assert rotation_rpe(turning, half) == pytest.approx(0.5)
    opposite = walk(np.zeros((61, 3)), -np.arange(61.0), np.zeros(61))
    assert rotation_rpe(turning, opposite) == pytest.approx(2.0)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="one shape"):
        rotation_rpe(np.zeros((3, 4, 4)), np.zeros((2, 4, 4)))
