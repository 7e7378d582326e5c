"""Built light: incremental equals full, no ghosts, the cache on disk."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worldenv.camera import intrinsics, walk
from worldenv.worlds.reference import plain, stored
from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.layout import make_piece
from worldenv.worlds.reference.lit import Lit, build_light, relight
from worldenv.worlds.reference.parts import LIFT, make_part
from worldenv.worlds.reference.people import make_person
from worldenv.worlds.reference.renderer import SMALL, Renderer
from worldenv.worlds.reference.scene import Instance, Material, Scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    """The plain room with a two-sided sheet that has a coarse mesh, near a box and the floor."""
    room = plain.build(0)
    sheet = plain.quad((-0.3, 0.05, 0), (0.6, 0, 0), (0, 0.5, 0.2), (1, 1), Material("checks"))
    leaf = Instance(
        40,
        "leaf",
        "plant",
        "plant/0",
        sheet._replace(two_sided=True),
        plain.placed(1.2, 0.0, -1.2, 20.0),
        coarse=plain.box(0.6, 0.5, 0.1, Material("checks")),
    )
    return room.with_instance(leaf)


@pytest.fixture(scope="module")
def lit(scene: Scene) -> Lit:
    return build_light(scene, 1, cache=False)


def moved(instance: Instance) -> Instance:
    pose = instance.pose.copy()
    pose[:3, 3] += (0.7, 0.0, 0.9)
    return replace(instance, pose=pose)


def picture(lit: Lit) -> list[np.ndarray]:
    arrays: list[np.ndarray] = []
    for detail in ("full", "coarse"):
        arrays += Renderer(lit, size=(64, 48), detail=detail).draw(lit.scene.views[0].pose)
    return arrays


def assert_same_light(a: Lit, b: Lit) -> None:
    assert a.direct.keys() == b.direct.keys()
    for i in a.direct:
        np.testing.assert_array_equal(a.direct[i], b.direct[i])
        np.testing.assert_array_equal(a.around[i], b.around[i])


@pytest.mark.parametrize("turn", [0.0, 33.0])
@pytest.mark.parametrize("size", [(0.16, 1.7), (3.0, 2.0), (0.5, 0.5)])
def test_the_light_map_of_a_rectangle_reaches_nowhere_beyond_it(
    size: tuple[float, float], turn: float
) -> None:
    """Beyond a window's jamb is the inside of an empty house, where the sun shines."""
    wide, tall = size
    panel = plain.quad((0, 0, 0), (wide, 0, 0), (0, tall, 0), (1, 1), Material("checks"))
    pose = plain.placed(0.4, 0.0, -1.2, turn)
    part = make_part(Instance(1, "wall", "wall", "wall/0", panel, pose, flat=True), panel)
    local = (part.points - pose[:3, 3]) @ pose[:3, :3]
    assert part.texels == len(part.lit_texels) == len(local) > 0
    assert local[:, 0].min() > 0 and local[:, 0].max() < wide
    assert local[:, 1].min() > 0 and local[:, 1].max() < tall
    np.testing.assert_allclose(local[:, 2], LIFT, atol=1e-5)


@pytest.mark.parametrize("change", ["removed", "moved", "swapped", "added", "leaf"])
def test_a_changed_scene_is_lit_as_if_it_had_always_been_so(
    scene: Scene, lit: Lit, change: str
) -> None:
    box = scene.instance("box-1")
    before, start = lit, scene
    if change == "removed":
        after = scene.without("box-1")
    elif change == "moved":
        after = scene.with_instance(moved(box))
    elif change == "swapped":
        after = scene.with_instance(*plain.reimagine(scene, box, 7))
    elif change == "leaf":
        box = scene.instance("leaf")
        after = scene.with_instance(moved(box))
    else:
        start, after = scene.without("box-1"), scene
        before = build_light(start, 1, cache=False)
    quick = relight(before, after, [box.id], 1)
    full = build_light(after, 1, cache=False)
    assert_same_light(quick, full)
    for a, b in zip(picture(quick), picture(full), strict=True):
        np.testing.assert_array_equal(a, b)
    # The change must be visible in the light of other things, else this test shows nothing.
    floor = scene.instance("floor-1").id
    assert (quick.direct[floor] != before.direct[floor]).any()
    assert (quick.around[floor] != before.around[floor]).any()


@pytest.mark.parametrize("thing", ["person", "sofa", "ball"])
def test_coarse_meshes_are_as_bright_as_full_ones(thing: str) -> None:
    if thing == "ball":
        full, coarse = (plain.sphere(0.3, n, Material("checks")) for n in (32, 6))
        piece = Piece(full, coarse, "ball/0", {})
    else:
        piece = make_person(3) if thing == "person" else make_piece("sofa", 1, (1.8, 0.9, 0.9))
        assert piece.coarse is not None
    floor = plain.quad((-5, 0, 5), (10, 0, 0), (0, 0, -10), (9, 9), Material("checks"))
    it = Instance(2, thing, thing, piece.variant, piece.mesh, np.eye(4), piece.coarse)
    room = plain.build(0)
    scene = replace(
        room,
        instances=(Instance(1, "floor", "floor", "floor/0", floor, np.eye(4), flat=True), it),
        textures={**room.textures, **piece.textures},
    )
    lit = build_light(scene, 1, cache=False)
    part = lit.parts[2][0]
    focal = intrinsics((256, 256), 75.0)[0, 0]
    middle = np.eye(4)
    middle[:3, 3] = part.centre
    back = np.eye(4)
    back[2, 3] = -part.radius * focal / SMALL
    full, coarse = (Renderer(lit, size=(256, 256), detail=d) for d in ("full", "coarse"))
    means = []
    for yaw in range(0, 360, 45):
        level = room.views[0].pose.copy()
        level[:3, 3] = 0
        turn = walk(np.zeros((1, 3)), np.array([float(yaw)]), np.array([-10.0]))[0]
        pose = middle @ level @ turn @ back
        a, b = full.draw(pose), coarse.draw(pose)
        assert (a.ids == 2).sum() > 20
        means.append((a.frame[a.ids == 2].mean(), b.frame[b.ids == 2].mean()))
    a, b = np.mean(means, axis=0)
    assert abs(b / a - 1) < 0.06
    for a, b in means:
        assert abs(b / a - 1) < 0.15


def test_relighting_touches_a_small_part(scene: Scene, lit: Lit) -> None:
    after = relight(lit, scene.without("ball"), [scene.instance("ball").id], 1)
    changed = total = 0
    for i in after.direct:
        if i in lit.direct:
            changed += int((after.direct[i] != lit.direct[i]).any(axis=1).sum())
            total += len(lit.direct[i])
    assert 0 < changed < 0.1 * total


def test_threads_give_equal_light(scene: Scene, lit: Lit) -> None:
    assert_same_light(build_light(scene, 2, cache=False), lit)


def test_light_is_finite_and_darker_where_covered(scene: Scene, lit: Lit) -> None:
    for array in (*lit.direct.values(), *lit.around.values()):
        assert np.isfinite(array).all() and (array >= 0).all()
    floor = scene.instance("floor-1").id
    part = lit.parts[floor][0]
    box = scene.instance("box-1").pose[:3, 3]
    near = np.linalg.norm(part.points[:, [0, 2]] - box[[0, 2]], axis=1)
    total = (lit.direct[floor] + lit.around[floor]).mean(axis=1)
    assert total[near < 0.12].max() < 0.05 * np.median(total)


def test_light_is_cached_and_mended(
    scene: Scene, lit: Lit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert_same_light(build_light(scene, 1), lit)
    (file,) = stored.folder().glob("*.npz")
    calls: list[int] = []
    monkeypatch.setattr("worldenv.worlds.reference.lit.gather", lambda *a: calls.append(1))
    assert_same_light(build_light(scene, 1), lit)
    assert not calls
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:500] + b"\xff" * 64 + whole[564:]):
        file.write_bytes(damaged)
        assert_same_light(build_light(scene, 1), lit)
        assert file.read_bytes() == whole
    assert not list(stored.folder().glob("*.part"))


def test_what_a_killed_writer_left_is_tidied_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    stored.folder().mkdir(parents=True)
    old, new = stored.folder() / "old.part", stored.folder() / "new.part"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    stored.write("key", np.zeros((1, 3), np.int32), np.zeros((1, 3), np.int32))
    assert sorted(p.name for p in stored.folder().iterdir()) == ["key.npz", "new.part"]


def test_another_scene_has_another_key(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build_light(scene, 1)
    build_light(scene.without("ball"), 1)
    assert len(list(stored.folder().glob("*.npz"))) == 2


def test_an_unwritable_cache_is_no_error(
    scene: Scene, lit: Lit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert_same_light(build_light(scene, 1), lit)
