import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.worlds.reference.scene import Material
from worldenv.worlds.reference.shapes import Builder, bounds, placed

M = Material("any")


def volume(mesh):
    """Signed volume by the divergence theorem: positive when faces look outward."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces].astype(float), 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)


@settings(max_examples=30, deadline=None)
@given(st.tuples(*[st.floats(0.05, 3)] * 3), st.floats(0, 0.02), st.floats(0.2, 2), st.booleans())
def test_box_is_closed_and_fills_its_corners(size, bevel, cell, coarse):
    b = Builder(coarse)
    b.box((0, 0, 0), size, M, bevel=bevel, cell=cell)
    mesh = b.mesh()
    assert np.allclose(bounds(mesh), [(0, 0, 0), size], atol=1e-5)
    full = np.prod(size)
    # Twelve edges are cut by triangles of bevel squared / 2; where they meet they share some.
    cut = 0.0 if coarse else 2 * bevel**2 * sum(size)
    assert (full - cut) * 0.9999 <= volume(mesh) <= full * 1.0001


@pytest.mark.parametrize("coarse", [False, True])
def test_round_shapes_look_outward(coarse):
    for add in (
        lambda b: b.cylinder(0.3, 0, 1, M),
        lambda b: b.ball((0, 1, 0), (0.3, 0.4, 0.2), M),
        lambda b: b.tube([(0, 0, 0), (0, 0.5, 0.1), (0.2, 1, 0)], 0.1, M),
        lambda b: b.cushion((-0.5, 0, -0.4), (0.5, 0.3, 0.4), M, puff=0.02),
        lambda b: b.cushion((-0.5, 0, -0.4), (0.5, 0.3, 0.4), M, radius=0.1, steps=2),
    ):
        b = Builder(coarse)
        add(b)
        mesh = b.mesh()
        assert volume(mesh) > 0
        assert mesh.faces.max() < len(mesh.vertices) == len(mesh.uv)


@pytest.mark.parametrize("turned", [False, True])
def test_a_ring_is_whole_whichever_way_it_stands(turned):
    a = np.linspace(0, 2 * np.pi, 49)
    flat = np.stack([np.cos(a), np.sin(a), 0 * a], 1)
    b = Builder()
    b.tube(flat[:, [0, 2, 1]] if turned else flat, 0.1, M, sides=24)
    mesh = b.mesh()
    # A torus of radii 1 and 0.1, a little less for its corners; a skin that crosses itself has
    # far less volume.
    assert abs(volume(mesh)) == pytest.approx(2 * np.pi**2 * 0.01, rel=0.03)
    away = np.linalg.norm(
        mesh.vertices[:, None] - flat[None, :, [0, 2, 1] if turned else [0, 1, 2]], axis=2
    )
    assert away.min(axis=1) == pytest.approx(0.1, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=3, max_size=12))
def test_a_tube_never_crosses_itself_from_ring_to_ring(steps):
    line = np.cumsum([np.add(step, (1.2, 0, 0)) for step in steps], axis=0)
    b = Builder()
    b.tube(line, 0.01, M, sides=8)
    rings = b.mesh().vertices[: 9 * len(line)].reshape(len(line), 9, 3) - line[:, None]
    # Opposite points of neighbouring rings never come nearer than those that belong together.
    own = np.linalg.norm(rings[1:] - rings[:-1], axis=2)
    other = np.linalg.norm(rings[1:, 4:5] - rings[:-1, 0:1], axis=2)
    assert (own[:, :1] < other + 1e-9).all()


def test_coarse_has_fewer_faces():
    counts = []
    for coarse in (False, True):
        b = Builder(coarse)
        b.box((0, 0, 0), (1, 1, 1), M)
        b.ball((0, 0, 0), (1, 1, 1), M)
        b.cushion((0, 0, 0), (1, 1, 1), M)
        counts.append(len(b.mesh().faces))
    assert counts[1] < 0.4 * counts[0]


def test_patch_puts_the_picture_upright():
    b = Builder()
    b.patch((0, 0, 0), (2, 0, 0), (0, 1, 0), M)
    mesh = b.mesh()
    top_left = np.argmin(abs(mesh.vertices - [0, 1, 0]).sum(axis=1))
    assert np.allclose(mesh.uv[top_left], [0, 0])
    normal = np.cross(*np.diff(mesh.vertices[mesh.faces[0]], axis=0))
    assert normal[2] > 0


def test_merge_keeps_materials_and_places():
    a = Builder()
    a.box((0, 0, 0), (1, 1, 1), M)
    a.box((1, 0, 0), (2, 1, 1), Material("other"))
    b = Builder()
    b.merge(a.mesh(), placed(3, 0, 0))
    assert {m.texture for m in b.mesh().materials} == {"any", "other"}
    assert np.allclose(bounds(b.mesh()), [(3, 0, 0), (5, 1, 1)], atol=1e-5)


def test_placed_turns_to_the_east():
    assert np.allclose(placed(turn=90)[:3, :3] @ [0, 0, 1], [1, 0, 0])
