"""Built light: incremental equals full, no ghosts, the cache on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worldenv.worlds.reference import plain, stored
from worldenv.worlds.reference.lit import Lit, build_light, relight
from worldenv.worlds.reference.renderer import Renderer
from worldenv.worlds.reference.scene import Instance, Scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    return plain.build(0)


@pytest.fixture(scope="module")
def lit(scene: Scene) -> Lit:
    return build_light(scene, 1, cache=False)


def moved(instance: Instance) -> Instance:
    pose = instance.pose.copy()
    pose[:3, 3] += (0.7, 0.0, 0.9)
    return replace(instance, pose=pose)


def picture(lit: Lit) -> list[np.ndarray]:
    drawn = Renderer(lit, size=(64, 48)).draw(lit.scene.views[0].pose)
    return [drawn.frame, drawn.depth, drawn.ids]


def assert_same_light(a: Lit, b: Lit) -> None:
    assert a.direct.keys() == b.direct.keys()
    for i in a.direct:
        for x, y in zip(a.direct[i] + a.around[i], b.direct[i] + b.around[i], strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("change", ["removed", "moved", "swapped", "added"])
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
    assert (quick.direct[floor][0] != before.direct[floor][0]).any()
    assert (quick.around[floor][0] != before.around[floor][0]).any()


def test_relighting_touches_a_small_part(scene: Scene, lit: Lit) -> None:
    after = relight(lit, scene.without("ball"), [scene.instance("ball").id], 1)
    changed = total = 0
    for i in after.direct:
        for a, b in zip(after.direct[i], lit.direct[i], strict=True):
            changed += int((a != b).any(axis=1).sum())
            total += len(a)
    assert 0 < changed < 0.1 * total


def test_threads_give_equal_light(scene: Scene, lit: Lit) -> None:
    assert_same_light(build_light(scene, 2, cache=False), lit)


def test_light_is_finite_and_darker_where_covered(scene: Scene, lit: Lit) -> None:
    for arrays in (*lit.direct.values(), *lit.around.values()):
        for array in arrays:
            assert np.isfinite(array).all() and (array >= 0).all()
    floor = scene.instance("floor-1").id
    part = lit.parts[floor][0]
    box = scene.instance("box-1").pose[:3, 3]
    near = np.linalg.norm(part.points[:, [0, 2]] - box[[0, 2]], axis=1)
    total = (lit.direct[floor][0] + lit.around[floor][0]).mean(axis=1)
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
        assert file.read_bytes() == whole or len(file.read_bytes()) == len(whole)
    assert not list(stored.folder().glob("*.part"))


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
