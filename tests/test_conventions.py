"""Pose files of other people: every format and convention gives the same path."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from worldenv.camera import CameraPath, InvalidPath, integrate
from worldenv.conventions import AXES, DIRECTIONS, Convention, convention_of
from worldenv.poses import load_poses, save_poses
from worldenv.world import UnknownName

TWISTS = np.array([[0, 3, 0, 0.1, 0, 0], [2, 0, 0, 0, -0.2, 0.3], [0, 0, 5, 0, 0.1, -0.4]] * 4)
PATH = CameraPath(integrate(TWISTS), fps=16)
K = [[500.0, 0, 320], [0, 500.0, 180], [0, 0, 1]]


def foreign(path, direction, axes, scale=1.0, base=None):
    """Write a path as somebody with another convention would, by hand."""
    sign = {"opencv": (1, 1, 1), "opengl": (1, -1, -1), "blender": (1, -1, -1), "unity": (1, -1, 1)}
    out = []
    for pose in path.poses:
        # A point in the camera: theirs = S ours; the world's axes are theirs as well.
        S = np.diag([*sign[axes], 1.0])
        matrix = S @ pose @ S
        matrix[:3, 3] /= scale
        if base is not None:
            matrix = base @ matrix
        out.append(np.linalg.inv(matrix) if direction == "w2c" else matrix)
    return np.stack(out)


def base_pose():
    base = np.eye(4)
    base[:3, :3] = Rotation.from_euler("xyz", [20, 40, 60], degrees=True).as_matrix()
    base[:3, 3] = [3, -2, 7]
    return base


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_every_convention_gives_the_same_path(direction, axes, scale):
    theirs = foreign(PATH, direction, axes, scale, base_pose())
    read = Convention(direction, axes, scale).path(theirs, 16)
    assert np.allclose(read.poses, PATH.poses, atol=1e-9)
    assert np.array_equal(read.poses[0], np.eye(4))


def test_opengl_says_up_where_we_say_down():
    """Hand-checked: a camera that rises one unit and looks back along -z, in OpenGL."""
    theirs = np.stack([np.eye(4)] * 3)
    theirs[1, 1, 3] = 1.0
    theirs[2, 2, 3] = -2.0
    read = Convention("c2w", "opengl").path(theirs, 16)
    assert read.poses[1, :3, 3].tolist() == [0, -1, 0]
    assert read.poses[2, :3, 3].tolist() == [0, 0, 2]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.floats(-20, 20), min_size=6, max_size=6), min_size=1, max_size=6),
    st.sampled_from(DIRECTIONS),
    st.sampled_from(sorted(AXES)),
)
def test_conventions_keep_the_motion(rows, direction, axes):
    path = CameraPath(integrate(np.array(rows)), fps=16)
    read = Convention(direction, axes).path(foreign(path, direction, axes), 16)
    assert np.allclose(read.poses, path.poses, atol=1e-8)


def tum(path):
    rows = []
    for i, pose in enumerate(path.poses):
        q = Rotation.from_matrix(pose[:3, :3]).as_quat()
        rows.append(" ".join(map(repr, [i / 30, *pose[:3, 3].tolist(), *q.tolist()])))
    return "# time x y z qx qy qz qw\n" + "\n".join(rows) + "\n"


def kitti(path):
    return "\n".join(" ".join(map(repr, pose[:3].ravel().tolist())) for pose in path.poses)


def test_tum_and_kitti_say_what_they_mean(tmp_path):
    (tmp_path / "a.tum").write_text(tum(PATH))
    (tmp_path / "b.txt").write_text(kitti(PATH))
    for name, fps in (("a.tum", 30), ("b.txt", 16)):
        read, found = load_poses(tmp_path / name)
        assert np.allclose(read.poses, PATH.poses, atol=1e-9) and found is None
        assert read.fps == fps


def test_uneven_times_are_said_and_not_used(tmp_path):
    lines = tum(PATH).splitlines()
    lines[-1] = "9.0 " + lines[-1].split(" ", 1)[1]
    (tmp_path / "a.tum").write_text("\n".join(lines))
    read, _ = load_poses(tmp_path / "a.tum", fps=24)
    assert read.fps == 24 and "uneven" in read.notes[0]


def test_matrices_alone_must_state_their_convention(tmp_path):
    theirs = foreign(PATH, "w2c", "opencv")
    np.save(tmp_path / "a.npy", theirs)
    np.save(tmp_path / "b.npy", theirs[:, :3])
    np.savez(tmp_path / "c.npz", poses=theirs, other=np.zeros(3))
    (tmp_path / "d.json").write_text(json.dumps(theirs.tolist()))
    rows = "\n".join(",".join(map(repr, m.ravel().tolist())) for m in theirs)
    (tmp_path / "e.csv").write_text(rows)
    for file in tmp_path.iterdir():
        with pytest.raises(InvalidPath, match="--pose-direction"):
            load_poses(file)
        read, _ = load_poses(file, convention=Convention("w2c"))
        assert np.allclose(read.poses, PATH.poses, atol=1e-9), file


def test_nerf_files_are_opengl_and_bring_intrinsics(tmp_path):
    rows = [{"transform_matrix": m.tolist()} for m in foreign(PATH, "c2w", "opengl")]
    data = {"frames": rows, "fl_x": 500.0, "fl_y": 500.0, "cx": 320.0, "cy": 180.0}
    (tmp_path / "transforms.json").write_text(json.dumps(data))
    read, found = load_poses(tmp_path / "transforms.json")
    assert np.allclose(read.poses, PATH.poses, atol=1e-9) and found.tolist() == K


def test_r2m_files_may_be_read_otherwise(tmp_path):
    theirs = foreign(PATH, "w2c", "opencv")
    rows = {str(i): {"extrinsic": m.tolist(), "K": K} for i, m in enumerate(theirs)}
    (tmp_path / "r.json").write_text(json.dumps(rows))
    plain, _ = load_poses(tmp_path / "r.json")
    read, _ = load_poses(tmp_path / "r.json", convention=Convention("w2c"))
    assert np.allclose(read.poses, PATH.poses, atol=1e-9)
    assert not np.allclose(plain.poses, PATH.poses, atol=1e-3)


def test_our_files_may_state_one(tmp_path):
    file = save_poses(PATH, tmp_path / "p.json")
    data = json.loads(file.read_text())
    data["poses"] = foreign(PATH, "w2c", "unity", 0.01).tolist()
    data["convention"] = {"direction": "w2c", "axes": "unity", "scale": 0.01}
    file.write_text(json.dumps(data))
    assert np.allclose(load_poses(file)[0].poses, PATH.poses, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", "1 2 3\n", "3 numbers"),
        ("a.txt", "", "0 poses"),
        ("a.txt", "1 2 x 4", "no numbers"),
        ("a.txt", " ".join(["1"] * 12) + "\n1 2", "line 2 has 2 numbers"),
        ("a.txt", " ".join(["nan"] * 12), "not finite"),
        ("a.tum", "0 0 0 0 0 0 0 2", "quaternion"),
        ("a.tum", "1 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1", "ascend"),
        ("a.npy", "not an array", "no array"),
        ("a.json", '{"frames": [{}]}', "transform_matrix"),
        ("a.json", '{"poses": [], "convention": {"direction": "up"}}', "direction"),
        ("a.json", '{"poses": [], "convention": {"angle": 1}}', "key of a convention"),
        ("a.json", '{"poses": [], "convention": [1]}', "must be an object"),
    ],
)
def test_broken_files_are_one_line(tmp_path, name, content, says):
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises((InvalidPath, UnknownName), match=says) as caught:
        load_poses(file, convention=None)
    assert "\n" not in str(caught.value)


def test_arrays_are_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidPath, match="no array"):
        load_poses(tmp_path / "a.npy", convention=Convention())
    np.save(tmp_path / "b.npy", np.zeros((3, 5, 5)))
    with pytest.raises(InvalidPath, match="shape"):
        load_poses(tmp_path / "b.npy", convention=Convention())


@pytest.mark.parametrize("scale", [0, -1, float("nan"), "2", True])
def test_a_scale_is_above_zero(scale):
    with pytest.raises(InvalidPath, match="scale"):
        convention_of({"scale": scale}, "here")


def test_matrices_that_are_not_rigid_are_refused_as_they_are():
    theirs = foreign(PATH, "w2c", "opencv")
    theirs[3, :3, :3] *= 1.2
    with pytest.raises(InvalidPath, match="frame 3"):
        Convention("w2c").path(theirs, 16)
