"""Pose algebra against scipy, inverses, signs, and what a path refuses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from worldenv.camera import (
    PRIMITIVES,
    CameraPath,
    InvalidPath,
    Primitive,
    fov_of,
    geodesic_deg,
    integrate,
    intrinsics,
    twist_of,
    twists,
    walk,
    yaw_pitch,
)

degrees = st.floats(-100, 100, allow_nan=False)
metres = st.floats(-5, 5, allow_nan=False)
rows = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (n, 3), elements=degrees), arrays(np.float64, (n, 3), elements=metres)
    )
)


@given(rows)
def test_twists_undo_integrate(parts):
    w, v = parts
    angle = np.linalg.norm(w, axis=1, keepdims=True)
    w = np.where(angle > 175, w * 175 / np.maximum(angle, 1e-9), w)
    twist_rows = np.concatenate([w, v], axis=1)
    assert np.allclose(twists(integrate(twist_rows)), twist_rows, atol=1e-7)


@given(rows)
def test_integrate_agrees_with_scipy(parts):
    w, v = parts
    pose = np.eye(4)
    for rotation, move in zip(w, v, strict=True):
        step = np.eye(4)
        step[:3, :3] = Rotation.from_rotvec(rotation, degrees=True).as_matrix()
        step[:3, 3] = move
        pose = pose @ step
    assert np.allclose(integrate(np.concatenate([w, v], axis=1))[-1], pose, atol=1e-9)


@given(arrays(np.float64, 3, elements=degrees), arrays(np.float64, 3, elements=degrees))
def test_geodesic_agrees_with_scipy(a, b):
    Ra, Rb = (Rotation.from_rotvec(x, degrees=True) for x in (a, b))
    expected = math.degrees((Ra.inv() * Rb).magnitude())
    assert geodesic_deg(Ra.as_matrix(), Rb.as_matrix()) == pytest.approx(expected, abs=1e-5)


def test_geodesic_is_exact_near_zero():
    tiny = walk(np.zeros((2, 3)), np.array([0.0, 1e-9]), np.zeros(2))[:, :3, :3]
    assert geodesic_deg(tiny[0], tiny[0]) == 0.0
    assert geodesic_deg(tiny[0], tiny[1]) == pytest.approx(1e-9, rel=1e-6)


def test_half_turns_survive():
    for axis in np.eye(3):
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_rotvec(180 * axis, degrees=True).as_matrix()
        assert np.linalg.norm(twists(np.stack([np.eye(4), pose]))[0, :3]) == pytest.approx(180)


@pytest.mark.parametrize(
    ("primitive", "axis", "sign"),
    [
        (Primitive.FORWARD, 2, 1),
        (Primitive.BACKWARD, 2, -1),
        (Primitive.RIGHT, 0, 1),
        (Primitive.LEFT, 0, -1),
    ],
)
def test_steps_go_where_they_say(primitive, axis, sign):
    end = integrate(twist_of(primitive, 0.5)[None])[-1]
    assert end[axis, 3] == sign * 0.5
    assert np.array_equal(end[:3, :3], np.eye(3))


def test_yaw_right_and_pitch_up_are_positive():
    right = integrate(np.tile(twist_of(Primitive.YAW_RIGHT, 1), (30, 1)))[-1]
    up = integrate(np.tile(twist_of(Primitive.PITCH_UP, 1), (30, 1)))[-1]
    assert yaw_pitch(right[None])[0] == pytest.approx([30, 0])
    assert yaw_pitch(up[None])[0] == pytest.approx([0, 30])
    assert right[0, 2] > 0, "yawing right turns the view towards +x"
    assert up[1, 2] < 0, "pitching up turns the view towards -y, which is up"


@given(st.floats(-179, 179), st.floats(-89, 89))
def test_walk_and_yaw_pitch_agree(yaw, pitch):
    pose = walk(np.zeros((1, 3)), np.array([yaw]), np.array([pitch]))
    assert yaw_pitch(pose)[0] == pytest.approx([yaw, pitch], abs=1e-9)
    expected = Rotation.from_euler("YX", [yaw, pitch], degrees=True).as_matrix()
    assert np.allclose(pose[0, :3, :3], expected, atol=1e-12)


def test_walk_of_zero_is_the_identity_bit_for_bit():
    pose = walk(np.zeros((1, 3)), np.array([-0.0]), np.array([0.0]))[0]
    assert pose.tobytes() == np.eye(4).tobytes()


@given(st.integers(16, 2000), st.floats(5, 150))
def test_fov_of_undoes_intrinsics(width, fov):
    assert fov_of(intrinsics((width, 100), fov), width) == pytest.approx(fov)


def test_primitive_order_is_fixed():
    assert [p.name for p in PRIMITIVES] == (
        "STAY FORWARD BACKWARD LEFT RIGHT YAW_LEFT YAW_RIGHT PITCH_UP PITCH_DOWN".split()
    )


def test_paths_know_their_phases():
    path = CameraPath(np.tile(np.eye(4), (6, 1, 1)), phases=("V", "D1", "R1", "D2", "R2", "H"))
    assert path.revisits == 2
    assert path.frames_of("R2").tolist() == [4]
    assert path[:3].phases == ("V", "D1", "R1")
    assert CameraPath.from_dict(path.to_dict()) == path


def test_rebased_paths_start_at_the_identity():
    world = walk(np.array([[1.0, 2, 3], [1, 2, 4]]), np.array([90.0, 90]), np.zeros(2))
    path = CameraPath.rebased(world)
    assert path.poses[0].tobytes() == np.eye(4).tobytes()
    assert path.poses[1, :3, 3] == pytest.approx([-1, 0, 0])


def _broken(kind):
    poses = np.tile(np.eye(4), (4, 1, 1))
    if kind == "is not finite":
        poses[2, 0, 3] = np.nan
    elif kind == "is not a rotation":
        poses[2, 0, 0] = 2
    elif kind == "mirrors":
        poses[2, 0, 0] = -1
    elif kind == "last row":
        poses[2, 3, 0] = 1
    elif kind == "identity":
        poses[:, 0, 3] = 1
    return poses


@pytest.mark.parametrize(
    "kind", ["is not finite", "is not a rotation", "mirrors", "last row", "identity"]
)
def test_paths_refuse_what_is_not_rigid(kind):
    with pytest.raises(InvalidPath, match=kind):
        CameraPath(_broken(kind))


def test_paths_refuse_wrong_shapes_and_phases():
    with pytest.raises(InvalidPath, match="shape"):
        CameraPath(np.eye(4))
    with pytest.raises(InvalidPath, match="phases"):
        CameraPath(np.tile(np.eye(4), (2, 1, 1)), phases=("V",))
    with pytest.raises(InvalidPath, match="unknown phase"):
        CameraPath(np.tile(np.eye(4), (1, 1, 1)), phases=("X",))
    with pytest.raises(InvalidPath, match="finite"):
        integrate(np.full((2, 6), np.inf))


def test_a_camera_beyond_all_measure_is_refused():
    poses = np.eye(4)[None].repeat(2, 0)
    poses[1, 0, 3] = 1e300
    with pytest.raises(InvalidPath, match="frame 1 lies more than 10,000 km away"):
        CameraPath(poses)
