"""What holds of scenes of every family, for the tests of each."""

import subprocess
import sys
import zlib
from itertools import combinations

import numpy as np

from worldenv.worlds.reference.shapes import bounds
from worldenv.worlds.reference.start import WALKS
from worldenv.worlds.reference.views import (
    box_of,
    frame_box,
    free_way,
    plan_boxes,
    room_of,
    share_of_frame,
    walked,
)


def fingerprint(scene):
    """Return a number of everything that is drawn."""
    total = 0
    for i in scene.instances:
        for part in (i.mesh.vertices, i.mesh.uv, i.mesh.faces, i.pose):
            total = zlib.crc32(np.ascontiguousarray(part).tobytes(), total)
    for key in sorted(scene.textures):
        total = zlib.crc32(scene.textures[key].tobytes(), zlib.crc32(key.encode(), total))
    return total


def fingerprint_elsewhere(family, seed):
    """Return the fingerprint that another process finds."""
    code = (
        "import sys; sys.path.insert(0, 'tests');"
        "from scene_checks import fingerprint;"
        f"from worldenv.worlds.reference.{family} import build;"
        f"print(fingerprint(build({seed})))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(done.stdout)


def check_inventory(scene):
    """Ids ascend, names are unique, and every texture that a mesh uses is there."""
    ids = [i.id for i in scene.instances]
    assert ids == sorted(set(ids)) and min(ids) >= 1
    assert len({i.name for i in scene.instances}) == len(ids)
    for i in scene.instances:
        for mesh in (i.mesh, i.coarse):
            if mesh is not None:
                assert {m.texture for m in mesh.materials} <= set(scene.textures)


def check_apart(things, *, slack, allowed=()):
    """No thing's box reaches into another's by ``slack`` metres, allowed pairs aside."""
    boxes = [box_of(i) for i in things]
    for (a, p), (b, q) in combinations(zip(things, boxes, strict=True), 2):
        if {a.category, b.category} not in allowed:
            overlap = np.minimum(p[1], q[1]) - np.maximum(p[0], q[0])
            assert overlap.min() < slack, (a.name, b.name, overlap)


def check_inside(things, room):
    """Every thing's box lies within a room, from above."""
    for thing in things:
        low, high = box_of(thing)[:, [0, 2]]
        assert (low >= room[0] - 1e-6).all() and (high <= room[1] + 1e-6).all(), thing.name


def check_standing(scene):
    """Every view has a place to stand."""
    obstacles, room = plan_boxes(scene.instances), room_of(scene)
    for view in scene.views:
        assert free_way(view.pose[None, [0, 2], 3], obstacles, room), view.name


def check_views(scene):
    """Views allow exactly the walks there is room for, and see their targets whole."""
    obstacles, room = plan_boxes(scene.instances), room_of(scene)
    promised = {script for view in scene.views for script in view.scripts}
    assert set(WALKS) <= promised
    for view in scene.views:
        for script, walk in WALKS.items():
            free = free_way(walked(view.pose, walk), obstacles, room)
            assert (script in view.scripts) == free
        for name in view.targets:
            rectangle = frame_box(scene.instance(name), view.pose)
            assert abs(rectangle).max() <= 1 and share_of_frame(rectangle) >= 0.015


def check_pieces(make, size, *, seeds, most_faces, slack, coarse=0.15):
    """Pieces that ``make(seed)`` returns are sound and vary.

    They exceed their size by at most ``slack`` metres, and the box of a coarse mesh is off by less
    than ``coarse`` metres.
    """
    looks = set()
    for seed in range(seeds):
        piece = make(seed)
        mesh = piece.mesh
        assert np.isfinite(mesh.vertices).all() and np.isfinite(mesh.uv).all()
        assert mesh.faces.min() >= 0 and mesh.faces.max() < len(mesh.vertices)
        assert len(mesh.face_material) == len(mesh.faces) <= most_faces
        assert {m.texture for m in mesh.materials} <= set(piece.textures)
        low, high = bounds(mesh)
        assert low[1] > -1e-6
        assert (high - low <= np.array(size) + slack).all(), (seed, high - low)
        if piece.coarse is not None:
            assert len(piece.coarse.faces) < 0.6 * len(mesh.faces)
            assert {m.texture for m in piece.coarse.materials} <= set(piece.textures)
            assert abs(bounds(piece.coarse) - bounds(mesh)).max() < coarse
        looks.add((len(mesh.faces), tuple(sorted(m.texture for m in mesh.materials))))
    assert len(looks) >= 0.75 * seeds


def check_redrawn(scene, instance, reimagine):
    """A reimagined thing keeps its place and looks different, the same each time; return it."""
    new, added = reimagine(scene, instance, 5)
    assert (new.id, new.name, new.category) == (instance.id, instance.name, instance.category)
    assert np.array_equal(new.pose, instance.pose) and new.variant != instance.variant
    materials = {m.texture for m in instance.mesh.materials}
    assert {m.texture for m in new.mesh.materials} != materials, instance.name
    assert not set(added) & set(scene.textures)
    other = scene.with_instance(new, added)
    assert {m.texture for m in new.mesh.materials} <= set(other.textures)
    again, _ = reimagine(scene, instance, 5)
    assert again.variant == new.variant and np.array_equal(again.mesh.uv, new.mesh.uv)
    return new
