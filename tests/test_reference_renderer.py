"""The rasteriser: exact depth and ids, equal bits, clipping, sizes, threads."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import intrinsics, walk
from worldenv.world import Unsupported
from worldenv.worlds.reference import plain
from worldenv.worlds.reference.lit import Lit, build_light
from worldenv.worlds.reference.plain import box, placed, quad
from worldenv.worlds.reference.renderer import Renderer
from worldenv.worlds.reference.scene import Instance, Material, Scene, View


@pytest.fixture(scope="module")
def lit() -> Lit:
    return build_light(plain.build(0, event="ball_rolls_off"), 1, cache=False)


def looking(
    yaw: float, pitch: float = 0.0, at: tuple[float, float, float] = (0, 0, 0)
) -> np.ndarray:
    start = plain.build(0).views[0].pose
    return start @ walk(np.array([at], float), np.array([yaw]), np.array([pitch]))[0]


def small(*instances: Instance) -> Scene:
    grey = np.full((8, 8, 3), 128, np.uint8)
    eye = np.diag([1.0, -1.0, -1.0, 1.0])
    return Scene(instances, (), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), {"grey": grey}, (View("a", eye),))


def wall(z: float, half: float = 50.0, id: int = 1) -> Instance:
    mesh = quad((-half, -half, z), (2 * half, 0, 0), (0, 2 * half, 0), (1, 1), Material("grey"))
    return Instance(id, f"wall-{id}", "wall", "wall/0", mesh, np.eye(4))


def test_depth_is_metric_and_planar() -> None:
    scene = small(wall(-3.25))
    for ss in (1, 2, 3):
        drawn = Renderer(scene, size=(33, 21), supersample=ss, cache=False).draw(
            scene.views[0].pose
        )
        np.testing.assert_allclose(drawn.depth, 3.25, rtol=2e-7)
        assert (drawn.ids == 1).all()


@settings(max_examples=20, deadline=None)
@given(
    yaw=st.floats(-180, 180),
    pitch=st.floats(-80, 80),
    x=st.floats(-1, 1),
    ss=st.integers(1, 2),
)
def test_depth_unprojects_onto_the_walls(
    lit: Lit, yaw: float, pitch: float, x: float, ss: int
) -> None:
    pose = looking(yaw, pitch, (x, 0.2, 0.3))
    size = (31, 25)
    drawn = Renderer(lit, size=size, supersample=ss).draw(pose)
    K = intrinsics(size, 75.0)
    v, u = np.mgrid[0 : size[1], 0 : size[0]] + 0.5
    rays = np.stack([u, v, np.ones_like(u)], axis=-1) @ np.linalg.inv(K).T
    points = (rays * drawn.depth[..., None]) @ pose[:3, :3].T + pose[:3, 3]
    assert (drawn.ids > 0).all()
    for name, axis, value in (
        ("floor-1", 1, 0.0),
        ("ceiling-2", 1, 2.8),
        ("wall-3", 2, -2.5),
        ("wall-4", 2, 2.5),
        ("wall-5", 0, -3.0),
        ("wall-6", 0, 3.0),
    ):
        here = drawn.ids == lit.scene.instance(name).id
        np.testing.assert_allclose(points[here][:, axis], value, atol=2e-5)


def test_equal_poses_give_equal_bits_with_any_threads(lit: Lit) -> None:
    for ss in (1, 2):
        serial = Renderer(lit, size=(61, 47), supersample=ss, threads=1)
        threaded = Renderer(lit, size=(61, 47), supersample=ss, threads=2)
        for k in range(6):
            pose = looking(60.0 * k, 7.0)
            a, b = serial.draw(pose, 0.3 * k), threaded.draw(pose, 0.3 * k)
            serial.draw(looking(11.0), 2.0)
            c = serial.draw(pose, 0.3 * k)
            for x, y, z in zip(a, b, c, strict=True):
                np.testing.assert_array_equal(x, y)
                np.testing.assert_array_equal(x, z)


@pytest.mark.parametrize("size", [(1, 1), (7, 5), (64, 3), (3, 64), (65, 17)])
def test_any_size(lit: Lit, size: tuple[int, int]) -> None:
    drawn = Renderer(lit, size=size, supersample=2).draw(looking(20))
    assert drawn.frame.shape == (size[1], size[0], 3)
    assert (drawn.depth > 0).all() and (drawn.ids > 0).all()


def test_supersampling_refines_the_same_picture(lit: Lit) -> None:
    plain_, fine = (Renderer(lit, size=(64, 48), supersample=ss).draw(looking(30)) for ss in (1, 2))
    assert (plain_.ids == fine.ids).mean() > 0.95
    same = plain_.ids == fine.ids
    assert np.median(np.abs(plain_.depth - fine.depth)[same]) < 1e-5
    assert np.abs(plain_.frame.astype(int) - fine.frame).mean() < 8


def test_the_near_plane_clips_without_holes() -> None:
    # The camera stands inside a tunnel whose faces pass behind it on all sides.
    tunnel = Instance(
        1,
        "tunnel",
        "wall",
        "wall/0",
        box(2.0, 2.0, 60.0, Material("grey"))._replace(two_sided=True),
        placed(0, -1.0, 0),
    )
    scene = small(tunnel)
    renderer = Renderer(scene, size=(80, 60), fov=100.0, cache=False)
    for yaw in range(0, 360, 15):
        for pitch in (-60.0, 0.0, 60.0):
            turn = walk(np.array([[0.5, 0.3, 0.0]]), np.array([float(yaw)]), np.array([pitch]))[0]
            drawn = renderer.draw(scene.views[0].pose @ turn)
            assert (drawn.ids == 1).all()
            assert (drawn.depth >= 0.02).all() and (drawn.depth < 70).all()


def test_shared_edges_leave_no_gap() -> None:
    # A fan of thin triangles around one point covers every pixel once.
    n = 97
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.stack([50 * np.cos(angle), 50 * np.sin(angle), np.full(n, -2.0)], axis=1)
    points = np.concatenate([[(0.013, 0.007, -2.0)], ring])
    k = np.arange(n)
    faces = np.stack([np.zeros(n, int), 1 + k, 1 + (k + 1) % n], axis=1)
    mesh = wall(-2.0).mesh._replace(
        vertices=points.astype(np.float32),
        uv=np.zeros((n + 1, 2), np.float32),
        faces=faces.astype(np.int32),
        face_material=np.zeros(n, np.int32),
    )
    scene = small(replace(wall(-2.0), mesh=mesh))
    drawn = Renderer(scene, size=(101, 77), cache=False).draw(scene.views[0].pose)
    assert (drawn.ids == 1).all()


def test_backs_are_culled_unless_two_sided() -> None:
    away = replace(wall(-2.0), pose=placed(0, 0, -4.0, 180.0))
    scene = small(away, wall(-6.0, id=2))
    eye = scene.views[0].pose
    assert (Renderer(scene, size=(9, 9), cache=False).draw(eye).ids == 2).all()
    sheet = replace(away, mesh=away.mesh._replace(two_sided=True))
    scene = small(sheet, wall(-6.0, id=2))
    drawn = Renderer(scene, size=(9, 9), cache=False).draw(eye)
    assert (drawn.ids == 1).all()
    np.testing.assert_allclose(drawn.depth, 2.0, rtol=1e-6)


def test_nothing_is_depth_and_id_zero_and_background() -> None:
    scene = replace(small(wall(3.0)), background=(0.0, 0.0, 0.0))
    drawn = Renderer(scene, size=(9, 9), cache=False).draw(scene.views[0].pose)
    assert (drawn.depth == 0).all() and (drawn.ids == 0).all() and (drawn.frame == 0).all()


def test_detail_follows_projected_size() -> None:
    fine = plain.sphere(0.3, 48, Material("grey"))
    coarse = box(0.4, 0.5, 0.4, Material("grey"))
    ball = Instance(1, "ball", "ball", "ball/0", fine, placed(0, -0.3, -1.2), coarse=coarse)
    far = replace(ball, pose=placed(0, -0.3, -9.0))
    for instance, expected in ((ball, "full"), (far, "coarse")):
        scene = small(instance)
        eye = scene.views[0].pose
        pictures = {
            d: Renderer(scene, size=(96, 96), detail=d, cache=False).draw(eye)
            for d in ("auto", "full", "coarse")
        }
        assert (pictures["full"].depth != pictures["coarse"].depth).any()
        np.testing.assert_array_equal(pictures["auto"].depth, pictures[expected].depth)


def test_textures_are_perspective_correct() -> None:
    # A floor with a black and a white half: the border is straight in depth, not in the image.
    halves = np.zeros((64, 64, 3), np.uint8)
    halves[:32] = 255
    mesh = quad((-4, -1, 0), (8, 0, 0), (0, 0, -16), (1, 1), Material("grey"))
    scene = replace(
        small(Instance(1, "floor", "floor", "floor/0", mesh, np.eye(4))), textures={"grey": halves}
    )
    drawn = Renderer(scene, size=(64, 128), fov=60, cache=False).draw(scene.views[0].pose)
    column = slice(30, 34)
    seen = drawn.ids[:, column] == 1
    bright = drawn.frame[:, column].mean(axis=-1) > 100
    depth = drawn.depth[:, column]
    inner = seen & (depth < 14)
    np.testing.assert_array_equal(bright[inner & (depth < 7)].any(), False)
    assert bright[inner & (depth > 9)].all()


def test_moving_things_cast_a_contact_shadow(lit: Lit) -> None:
    renderer = Renderer(lit, size=(96, 72))
    pose = looking(0.0, -25.0)
    first, last = renderer.draw(pose, 0.0), renderer.draw(pose, 4.0)
    floor = lit.scene.instance("floor-1").id
    both = (first.ids == floor) & (last.ids == floor)
    change = last.frame.astype(int).sum(axis=-1) - first.frame.astype(int).sum(axis=-1)
    assert change[both].min() < -20 and change[both].max() > 20


def test_sphere_and_frustum_culling_lose_nothing(lit: Lit) -> None:
    renderer = Renderer(lit, size=(48, 36))
    everything = Renderer(lit, size=(48, 36))
    everything._spheres[:, 3] = 1e3
    for k in range(12):
        pose = looking(30.0 * k, 20.0 * math.sin(k))
        a, b = renderer.draw(pose), everything.draw(pose)
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_array_equal(a.depth, b.depth)


def test_bad_meshes_and_textures_are_refused() -> None:
    good = wall(-2.0)
    for change in (
        {"faces": np.array([[0, 1, 9]], np.int32), "face_material": np.zeros(1, np.int32)},
        {"vertices": np.full((4, 3), np.nan, np.float32)},
        {"uv": np.zeros((3, 2), np.float32)},
        {"face_material": np.array([0, 4], np.int32)},
    ):
        bad = replace(good, mesh=good.mesh._replace(**change))
        with pytest.raises(Unsupported, match="wall-1"):
            Renderer(small(bad), size=(4, 4), cache=False)
    scene = replace(small(good), textures={"grey": np.zeros((6, 6, 3), np.uint8)})
    with pytest.raises(Unsupported, match="power of two"):
        Renderer(scene, size=(4, 4), cache=False)
