"""Revisits found pose by pose, in bounded memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import geodesic_deg, integrate, walk
from worldenv.evaluators.r2m import RevisitFinder


def yaw_path(yaw):
    yaw = np.asarray(yaw, float)
    return walk(np.zeros((len(yaw), 3)), yaw, np.zeros(len(yaw)))


def test_one_return_is_found_once_at_every_place():
    yaw = [*range(0, 61), *range(59, -1, -1)]
    found = RevisitFinder(rotation=1.5).observe(yaw_path(yaw))
    assert found[-1][0] <= 1 and found[-1][1] >= 119
    for earlier, later in found:
        assert abs(yaw[earlier] - yaw[later]) <= 1.5 and later - earlier >= 10
    # Staying where one came back to is no further revisit.
    assert RevisitFinder().observe(yaw_path([*yaw, *[0] * 50]))[-1][1] <= 120


def test_nothing_is_revisited_without_having_left():
    assert RevisitFinder().observe(yaw_path([0] * 200)) == []
    assert RevisitFinder().observe(yaw_path(np.arange(100.0))) == []
    # A wobble within three thresholds is no departure.
    assert RevisitFinder(rotation=2.0).observe(yaw_path([*range(6), *range(5, -1, -1)] * 5)) == []


def test_each_departure_gives_a_new_revisit_of_the_first_visit():
    swing = [*range(0, 60), *range(60, 0, -1)]
    finder = RevisitFinder(rotation=1.5)
    found = finder.observe(yaw_path(swing * 4))
    home = [pair for pair in found if pair[0] == 0]
    assert len(home) == 4
    assert all(earlier <= 60 for earlier, _ in found)


@given(st.integers(0, 500), st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_pairs_are_revisits_however_poses_arrive(seed, size):
    rng = np.random.default_rng(seed)
    rows = np.hstack([rng.normal(0, 2, (150, 3)), rng.normal(0, 0.05, (150, 3))])
    poses = integrate(rows)
    whole, parts = RevisitFinder(0.2, 6.0), RevisitFinder(0.2, 6.0)
    found = whole.observe(poses)
    pieces = [p for k in range(0, len(poses), size) for p in parts.observe(poses[k : k + size])]
    assert found == pieces
    for i, j in found:
        assert j - i >= 10
        assert np.linalg.norm(poses[i, :3, 3] - poses[j, :3, 3]) <= 0.2
        assert geodesic_deg(poses[i, :3, :3], poses[j, :3, :3]) <= 6.0
        assert i in whole.kept


def test_memory_is_bounded():
    finder = RevisitFinder(most=64)
    finder.observe(yaw_path(np.arange(3000.0)))
    assert len(finder) == 64 and finder.t == 2999


def test_senseless_thresholds_are_refused():
    with pytest.raises(ValueError, match="positive"):
        RevisitFinder(position=0)
