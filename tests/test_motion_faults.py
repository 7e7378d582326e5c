"""Camera and time faults: filters as maths, and what the reference world makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import geodesic_deg, integrate, twists, walk, yaw_pitch
from worldenv.faults import FAULTS
from worldenv.policies.worldmembench import lrlr
from worldenv.world import Chunk, Start
from worldenv.worlds.reference import make
from worldenv.worlds.reference.motion_faults import (
    CAMERA,
    LAG,
    LOWEST,
    STEEPEST,
    Track,
    level_of,
    pose_of,
    start_motion,
)

MOVES = tuple(n for n, f in FAULTS.items() if f.group in ("camera", "time") and n != "frozen")
PATH = lrlr(hold=16, leg=16).path().poses
EYE = 1.5
DOSES = (0.25, 0.5, 0.75, 1.0)

SMALL: dict[str, Any] = {"size": (48, 36), "family": "plain", "threads": 1}
START = Start(scene={"family": "plain", "seed": 3, "view": "middle", "event": "ball_rolls_off"})


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def realised(poses: np.ndarray, seed: int = 0, **faults: float) -> np.ndarray:
    motion = start_motion(seed, faults, EYE)
    assert motion is not None
    out = [np.eye(4)]
    for pose in poses[1:]:
        motion, pose = motion.moved(pose)
        out.append(pose)
    return np.stack(out)


def off(poses: np.ndarray, wanted: np.ndarray) -> float:
    """Mean distance between two paths: degrees, and metres taken as 30 degrees each."""
    turned = geodesic_deg(poses[:, :3, :3], wanted[:, :3, :3])
    moved = np.linalg.norm(poses[:, :3, 3] - wanted[:, :3, 3], axis=1)
    return float((turned + 30 * moved).mean())


def way_of(poses: np.ndarray) -> float:
    """Degrees that a path turns in all."""
    return float(geodesic_deg(poses[:-1, :3, :3], poses[1:, :3, :3]).sum())


rows = st.lists(
    st.tuples(*[st.floats(-4, 4, allow_subnormal=False)] * 3, *[st.floats(-0.1, 0.1)] * 3),
    min_size=1,
    max_size=12,
)


def level_path(steps: list[tuple[float, ...]]) -> np.ndarray:
    """Return a level path that walks, yaws and pitches a little with each step."""
    way = np.cumsum(np.array([[0.0] * 6, *steps]), axis=0)
    return walk(way[:, 3:] * [1, 0.2, 1], way[:, 0], np.clip(way[:, 1], -40, 40))


@given(rows)
@settings(max_examples=25, deadline=None)
def test_rows_and_poses_are_the_same_thing(steps: list[tuple[float, ...]]) -> None:
    for pose in integrate(np.array(steps)):
        np.testing.assert_allclose(pose_of(level_of(pose)), pose, atol=1e-9)


@given(rows, st.floats(0.01, 1))
@settings(max_examples=25, deadline=None)
def test_whatever_gain_makes_of_a_way_the_same_way_back_undoes(
    steps: list[tuple[float, ...]], dose: float
) -> None:
    out = level_path(steps)
    found = realised(np.concatenate([out, out[-2::-1]]), camera_gain=dose)
    np.testing.assert_allclose(found[-1], np.eye(4), atol=1e-9)
    np.testing.assert_allclose(found, found[::-1], atol=1e-9)
    level = yaw_pitch(found)
    assert abs(level_of(found[len(out) - 1])[5]) < 1e-9 and abs(level[:, 1]).max() <= 40


def test_gain_is_a_share_of_every_step() -> None:
    turned = yaw_pitch(realised(PATH, camera_gain=1.0))[:, 0]
    np.testing.assert_allclose(turned, 0.5 * yaw_pitch(PATH)[:, 0], atol=1e-9)


@given(rows, st.floats(0.01, 1))
@settings(max_examples=8, deadline=None)
def test_lag_arrives_in_the_end(steps: list[tuple[float, ...]], dose: float) -> None:
    way = level_path(steps)
    held = np.concatenate([way, np.repeat(way[-1:], 250, axis=0)])
    found = realised(held, camera_lag=dose)
    np.testing.assert_allclose(found[-1], way[-1], atol=1e-6)
    left = np.linalg.norm(found[len(way) :, :3, 3] - way[-1, :3, 3], axis=1)
    assert (np.diff(left) <= 1e-12).all()


def test_a_steady_motion_is_late_by_the_lag() -> None:
    yaw = 0.5 * np.arange(200)
    way = walk(np.zeros((200, 3)), yaw, 0 * yaw)
    found = yaw_pitch(realised(way, camera_lag=1.0))[:, 0]
    assert yaw[-1] - found[-1] == pytest.approx(0.5 * LAG, abs=1e-6)


def test_a_slow_camera_shows_the_way_at_a_quarter() -> None:
    found = realised(PATH, slow_motion=1.0)
    np.testing.assert_allclose(found[4 * np.arange(24)], PATH[:24], atol=1e-12)
    between = yaw_pitch(found)[4 * 20 + 2, 0]
    assert between == pytest.approx(yaw_pitch(PATH)[20:22, 0].mean())


def test_a_track_forgets_nothing_that_is_still_needed() -> None:
    track = Track()
    for k in range(500):
        track = track.followed_by(np.full(6, float(k))).since(k // 4)
        assert len(track) == k + 1 and track.at(0.25 * k)[0] == 0.25 * k
    assert track.first > 0 and len(track.blocks) < 500 / Track.SIDE


@pytest.mark.parametrize("fault", MOVES)
def test_no_dose_leaves_the_camera_alone(fault: str) -> None:
    assert start_motion(0, {fault: 0.0, "forget": 1.0}, EYE) is None


@pytest.mark.parametrize("fault", MOVES)
def test_more_of_a_fault_leads_further_astray(fault: str) -> None:
    means = [0.0]
    for dose in DOSES:
        found = [realised(PATH, seed, **{fault: dose}) for seed in range(6)]
        if fault == "slow_motion":
            # It comes to the same places later, so what counts is how far it got.
            means.append(float(np.mean([way_of(PATH) - way_of(poses) for poses in found])))
        elif FAULTS[fault].graded:
            means.append(float(np.mean([off(poses, PATH) for poses in found])))
        else:
            # Two wrong legs may lead back, so what counts is the steps.
            means.append(float(np.mean([abs(twists(p) - twists(PATH)).mean() for p in found])))
    assert (np.diff(means) > 0).all(), means


@pytest.mark.parametrize("fault", ["camera_axis", "camera_stuck"])
def test_whatever_leg_a_dose_spoils_a_larger_dose_spoils_too(fault: str) -> None:
    def spoilt(seed: int, dose: float) -> set[int]:
        found = realised(PATH, seed, **{fault: dose})
        steps = [np.diff(yaw_pitch(poses), axis=0) for poses in (found, PATH)]
        wrong = np.abs(steps[0] - steps[1]).max(axis=1) > 1e-6
        return {leg for leg in range(4) if wrong[16 + 16 * leg + 5]}

    some = 0
    for seed in range(10):
        found = [spoilt(seed, dose) for dose in DOSES]
        assert all(a <= b for a, b in pairwise(found))
        assert found[-1] == {0, 1, 2, 3}
        some += len(found[1])
    assert 8 < some < 32


def test_a_camera_that_made_no_error_is_where_it_was_asked_to_be_to_the_bit() -> None:
    seed = next(s for s in range(99) if (realised(PATH, s, camera_stuck=0.3) == PATH).all())
    np.testing.assert_array_equal(realised(PATH, seed, camera_stuck=0.3), PATH)


def test_drift_adds_up_one_way_in_proportion() -> None:
    still = np.repeat(np.eye(4)[None], 97, axis=0)
    ends = []
    for seed in range(8):
        half, whole = (level_of(realised(still, seed, camera_drift=d)[-1]) for d in (0.5, 1.0))
        np.testing.assert_allclose(half[3:5] * 2, whole[3:5], atol=1e-9)
        assert 10 < abs(whole[3]) < 18 and abs(whole[4]) < 5 and np.abs(whole[[1, 5]]).max() < 1e-9
        assert 0.2 < np.linalg.norm(whole[:3]) < 0.35
        ends.append(whole[3])
    assert min(ends) < 0 < max(ends)


@given(rows, st.integers(0, 50), st.fixed_dictionaries({n: st.floats(0, 1) for n in CAMERA}))
@settings(max_examples=20, deadline=None)
def test_an_error_leads_neither_into_the_floor_nor_overhead(
    steps: list[tuple[float, ...]], seed: int, faults: dict[str, float]
) -> None:
    way = level_path([*steps] * 4)
    if start_motion(seed, faults, EYE) is None:
        return
    for pose in realised(way, seed, **faults):
        assert abs(yaw_pitch(pose[None])[0, 1]) <= STEEPEST + 1e-6
        assert pose[1, 3] <= max(EYE - LOWEST, way[:, 1, 3].max()) + 1e-9
        np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-9)


def walked(faults: dict[str, float] | None, chunks: tuple[int, ...], seed: int = 4) -> Chunk:
    world = make(**SMALL, faults=faults)
    parts = [world.reset(START, seed=seed, plan=None)]
    at = 1
    while at < len(PATH):
        n = chunks[at % len(chunks)]
        parts.append(world.step(PATH[at : at + n]))
        at += n
    truth = {k: np.concatenate([p.truth[k] for p in parts if p.truth]) for k in ("pose", "depth")}
    truth["state"] = [s for p in parts if p.truth for s in p.truth["state"]]
    world.close()
    frames, poses = (np.concatenate([getattr(p, k) for p in parts]) for k in ("frames", "poses"))
    return Chunk(frames, poses, truth)


@pytest.mark.parametrize("fault", MOVES)
def test_frames_are_drawn_where_truth_says_in_chunks_of_any_size(fault: str) -> None:
    one, many = walked({fault: 0.75}, (1,)), walked({fault: 0.75}, (16, 3))
    np.testing.assert_array_equal(one.frames, many.frames)
    np.testing.assert_array_equal(one.poses, PATH)
    assert one.truth is not None and many.truth is not None
    np.testing.assert_array_equal(one.truth["pose"], many.truth["pose"])
    assert one.truth["state"] == many.truth["state"]
    assert not np.array_equal(one.truth["pose"], PATH)
    if fault == "slow_motion":
        return
    # A perfect world that is asked for the realised poses shows the same frames.
    world = make(**SMALL)
    world.reset(START, seed=4, plan=None)
    again = world.step(one.truth["pose"][1:])
    np.testing.assert_array_equal(again.frames, one.frames[1:])


@pytest.mark.parametrize("fault", MOVES)
def test_no_dose_gives_the_bits_of_the_perfect_world(fault: str) -> None:
    plain, none = walked(None, (16,)), walked({fault: 0.0}, (16,))
    np.testing.assert_array_equal(plain.frames, none.frames)
    assert plain.truth is not None and none.truth is not None
    assert plain.truth["state"] == none.truth["state"]


@pytest.mark.parametrize("fault", MOVES)
def test_a_snapshot_brings_the_same_frames_back(fault: str) -> None:
    world = make(**SMALL, faults={fault: 1.0, "event_freeze": 0.5})
    world.reset(START, seed=1, plan=None)
    world.step(PATH[1:30])
    token = world.snapshot()  # type: ignore[attr-defined]
    first = world.step(PATH[30:50])
    world.step(PATH[50:60])
    world.restore(token)  # type: ignore[attr-defined]
    again = world.step(PATH[30:50])
    np.testing.assert_array_equal(first.frames, again.frames)
    assert first.truth is not None and again.truth is not None
    np.testing.assert_array_equal(first.truth["pose"], again.truth["pose"])


def test_the_event_is_slow_with_the_camera() -> None:
    slow, plain = walked({"slow_motion": 1.0}, (16,)), walked(None, (16,))
    assert slow.truth is not None and plain.truth is not None
    progress = [[s["event"]["progress"] for s in c.truth["state"]] for c in (slow, plain)]
    np.testing.assert_allclose(progress[0][::4], progress[1][:25])
