import numpy as np
import pytest

from worldenv.worlds.reference.bodies import (
    ARM,
    HEAD,
    SCALP,
    SKIN,
    UV,
    Shell,
    body_count,
    head_count,
    head_map,
    load_body,
)
from worldenv.worlds.reference.people import make_person, same_body
from worldenv.worlds.reference.shapes import bounds


def test_there_are_many_bodies_of_both_sexes():
    assert body_count() >= 6
    male = [load_body(i).traits[0] > 0.5 for i in range(body_count())]
    assert 2 <= sum(male) <= body_count() - 2


def test_every_head_has_a_shape_of_its_own():
    assert head_count() >= 24 and head_count() % body_count() == 0
    shapes = []
    for i in range(head_count()):
        body = load_body(i)
        u, v = body.rows[:, UV].T
        face = np.unique(body.faces[body.parts == HEAD])
        face = face[(abs(u[face] - 0.5) < 0.2) & (v[face] > 0.25) & (v[face] < 0.8)]
        points = body.rows[face][:, SKIN]
        shapes.append(points - points.mean(axis=0))
    table = np.array(shapes)
    apart = np.linalg.norm(table[:, None] - table[None], axis=-1).mean(axis=-1)
    # Metres on average over the face, without where the face is.
    assert apart[~np.eye(len(table), dtype=bool)].min() > 0.0015


def test_head_map_knows_lips_hairline_and_hollows():
    known = head_map()
    side = known.shape[0]
    v = (np.arange(side) + 0.5) / side
    lips = known[..., 2] > 0.5
    assert abs(v[np.nonzero(lips)[0]].mean() - 0.622) < 0.03
    assert known[side // 10, 0, 1] > 0.5 and known[side // 2, side // 2, 1] < -0.5
    assert known[..., 0].min() < 0.4 < 0.95 < np.median(known[..., 0])


@pytest.mark.parametrize("seed", range(16))
def test_at_ease_arms_hang_and_feet_stand_side_by_side(seed):
    rows = load_body(seed, ease=True).rows
    hand = rows[:, ARM] > 1.1
    for side in (rows[:, 0] > 0, rows[:, 0] <= 0):
        shoulder = rows[(rows[:, ARM] > 0) & (rows[:, ARM] < 0.14) & side][:, SKIN].mean(axis=0)
        offset = rows[hand & side][:, SKIN].mean(axis=0) - shoulder
        assert offset[1] < -0.4 and abs(offset[0]) < 0.15 and abs(offset[2]) < 0.15


@pytest.mark.parametrize("seed", range(16))
def test_person_stands_on_the_floor_at_human_size(seed):
    piece = make_person(seed)
    low, high = bounds(piece.mesh)
    assert abs(low[1]) < 0.012 and 1.45 < high[1] < 1.98
    assert 0.4 < high[0] - low[0] < 0.85
    assert 5000 <= len(piece.mesh.faces) <= 9000
    assert len(piece.coarse.faces) < 0.45 * len(piece.mesh.faces)
    assert np.isfinite(piece.mesh.vertices).all() and np.isfinite(piece.mesh.uv).all()
    assert {m.texture for m in piece.mesh.materials} <= set(piece.textures)
    # Spectacles and trims do not come and go with the level of detail.
    assert set(piece.coarse.materials) == set(piece.mesh.materials)


def test_people_differ():
    looks = {tuple(sorted(make_person(s).textures)) for s in range(40)}
    assert len(looks) == 40


def test_faces_look_outward():
    """Seen from the front, most of what faces the eye lies before what faces away."""
    mesh = make_person(3).mesh
    p = mesh.vertices[mesh.faces].astype(float)
    n = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    assert (p[:, 0] * n).sum() / 6 > 0.03


def test_cut_keeps_the_surface():
    body = load_body(0)
    shell = Shell(body.rows, body.faces[body.parts == 0])
    low, high = shell.cut(shell.column(SCALP))

    def area(s):
        p = s.rows[s.faces][..., :3]
        return np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1).sum() / 2

    assert area(low) > 0 and area(high) > 0
    assert abs(area(low) + area(high) - area(shell)) < 1e-6
    assert (low.rows[low.faces][..., SCALP] < 1e-6).all()
    assert (high.rows[high.faces][..., SCALP] > -1e-6).all()


def test_clothes_reach_below_the_hips():
    for seed in range(40):
        mesh = make_person(seed).mesh
        cloth = np.array([m.texture.startswith("fabric") for m in mesh.materials])
        low = mesh.vertices[mesh.faces[cloth[mesh.face_material]], 1].min()
        assert low < 0.45 * mesh.vertices[:, 1].max(), seed


def test_same_body():
    assert same_body("person/3", f"person/{3 + body_count()}") and not same_body(
        "person/3", "person/4"
    )


@pytest.mark.parametrize("seed", range(16))
def test_heads_are_closed_at_the_back(seed):
    body = load_body(seed)
    for faces, parts in ((body.faces, body.parts), (body.coarse, body.coarse_parts)):
        head = faces[parts == HEAD]
        skin = body.rows[:, SKIN]
        place = np.unique(skin.round(6), axis=0, return_inverse=True)[1].reshape(-1)
        edges = np.sort(np.concatenate([place[head[:, [k, (k + 1) % 3]]] for k in range(3)]))
        unique, count = np.unique(edges, axis=0, return_counts=True)
        open_ = unique[count == 1]
        rims = {int(e): int(e) for e in open_.ravel()}
        for _ in range(len(open_)):
            for a, b in open_.tolist():
                rims[a] = rims[b] = min(rims[a], rims[b])
        # Only the neck and one rim within the mouth are open.
        assert len(set(rims.values())) == 2
        corner = skin[head]
        normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        out = corner.mean(axis=1) - corner.mean(axis=(0, 1))
        behind = out[:, 2] < -0.6 * abs(out[:, 2]).max()
        assert (normal[behind, 2] < 0).mean() > 0.9
