"""A scene made ready to draw: parts, trees and built light, and what a swap changes of them."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import stored
from worldenv.worlds.reference.light import (
    DIRECT,
    INDIRECT,
    LIGHT_VERSION,
    UNIT,
    Lamps,
    Receivers,
    affected,
    gather,
    make_lamps,
)
from worldenv.worlds.reference.parts import Part, make_part
from worldenv.worlds.reference.rays import Tree, grow, join
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.texels import LINEAR

__all__ = [
    "NEARBY",
    "Lit",
    "build_light",
    "exposure",
    "probe",
    "refresh",
    "relight",
]

NEARBY = 0.3
"""Metres that a camera may move before ``refresh`` is asked again."""
ROUND = 0.5
"""Cosine by which the normal of a vertex may turn away from a camera that sees its faces."""
_PAD = 0.012
"""Bounds are padded by this, in metres: more than receivers are lifted and shadow rays cut."""


@dataclass(frozen=True)
class Lit:
    """A scene with its built light: linear, in counts of ``light.UNIT``, per receiver.

    Light is built for full meshes; coarse ones borrow it (``coarse.lend``).

    Attributes:
        scene: What is shown.
        parts: Instance id -> its levels of detail, the full one first.
        trees: Instance id -> tree of its full mesh, for things that stand in the way.
        tree: All trees joined.
        lamps: Light samples.
        direct: Instance id -> (k, 3) int32; two-sided things have the sum of both sides.
        around: Instance id -> (k, 3) int32.
        unlit: The same with the lamps dark that the event dims, None where it dims none. Light is
            linear: at a share of their brightness it is that share of the way from here to there.
        gain: Factors per channel on direct light (and on what glows) and on light from around,
            shape (2, 3) float32; None where the light is as it was built. ``direct`` and
            ``around`` are without it.
        stale: Instance id -> flags (k,) uint8 of light that is yet to be built, see ``refresh``;
            instances without such light are left out.
    """

    scene: Scene
    parts: dict[int, tuple[Part, ...]]
    trees: dict[int, Tree]
    tree: Tree
    lamps: Lamps
    direct: dict[int, NDArray[np.int32]]
    around: dict[int, NDArray[np.int32]]
    unlit: Lit | None = None
    gain: NDArray[np.float32] | None = None
    stale: dict[int, NDArray[np.uint8]] = field(default_factory=dict)

    def with_gain(self, gain: NDArray[np.float32] | None) -> Lit:
        """Return it in light of another strength and colour; nothing is built anew."""
        unlit = None if self.unlit is None else replace(self.unlit, gain=gain)
        return replace(self, gain=gain, unlit=unlit)

    def received(
        self, direct: NDArray[np.int32], around: NDArray[np.int32], unit: float = UNIT
    ) -> NDArray[np.float32]:
        """Return light (k, 3) from counts of direct light and of light from around."""
        if self.gain is None:
            return np.asarray((direct + around) * unit, dtype=np.float32)
        light = direct * (self.gain[0] * unit) + around * (self.gain[1] * unit)
        return np.asarray(light, dtype=np.float32)


def _means(scene: Scene, instance: Instance, known: dict[str, NDArray[np.float32]]) -> None:
    """Add the linear mean colours of the textures of an instance's full mesh to ``known``."""
    for material in instance.mesh.materials:
        if material.texture not in known:
            image = scene.textures[material.texture]
            stride = max(image.shape[0] // 64, 1)
            known[material.texture] = LINEAR[image[::stride, ::stride]].mean(axis=(0, 1))


def _parts(instance: Instance) -> tuple[Part, ...]:
    full = make_part(instance, instance.mesh)
    if instance.coarse is None:
        return (full,)
    return (full, make_part(instance, instance.coarse))


def _tree(instance: Instance, part: Part, means: dict[str, NDArray[np.float32]]) -> Tree | None:
    """Return the tree of what an instance puts in the way of light, None where that is nothing."""
    if instance.moves or not instance.mesh.shades:
        return None
    materials = instance.mesh.materials
    glows = np.array([m.emission > 0 for m in materials])
    colours = np.array([means[m.texture] * np.array(m.tint, np.float32) for m in materials])
    solid = ~glows[part.face_material]
    if not solid.any():
        return None
    corners = part.vertices[part.faces[solid]]
    colour = np.minimum(colours[part.face_material[solid]], 0.95).astype(np.float32)
    return grow(corners, colour, part.two_sided, instance.id)


def _flags(parts: list[Part]) -> NDArray[np.uint8]:
    return np.concatenate([np.full(len(p.points), p.two_sided, np.uint8) for p in parts])


def _compute(
    lit: Lit,
    wanted: dict[int, NDArray[np.uint8]],
    threads: int,
    before: Tree | None = None,
    boxes: NDArray[np.float32] | None = None,
) -> Lit:
    """Return ``lit`` with the wanted light of the named instances added.

    Given ``before`` and ``boxes``, only what comes through the boxes is renewed: taken off as it
    was in the tree before, and added as it is.
    """
    # Only wanted receivers are handed over, so the threads' shares of the work are even.
    picks = {i: np.flatnonzero(flags) for i, flags in wanted.items() if flags.any()}
    if not picks:
        return lit
    chosen = [(lit.parts[i][0], pick) for i, pick in picks.items()]
    where = Receivers(
        np.concatenate([p.points[s] for p, s in chosen]),
        np.concatenate([p.directions[s] for p, s in chosen]),
        np.concatenate([p.pattern[s] for p, s in chosen]),
        np.concatenate([np.full(len(s), p.two_sided, np.uint8) for p, s in chosen]),
        np.concatenate([wanted[i][s] for i, s in picks.items()]),
    )
    direct = np.concatenate([lit.direct[i][s] for i, s in picks.items()])
    around = np.concatenate([lit.around[i][s] for i, s in picks.items()])
    if before is not None:
        gather(before, lit.lamps, where, direct, around, threads, boxes, -1)
    gather(lit.tree, lit.lamps, where, direct, around, threads, boxes)
    new_direct, new_around = dict(lit.direct), dict(lit.around)
    at = 0
    for i, pick in picks.items():
        rows = slice(at, at + len(pick))
        at += len(pick)
        for store, values in ((new_direct, direct), (new_around, around)):
            changed = store[i].copy()
            changed[pick] = values[rows]
            store[i] = changed
    return replace(lit, direct=new_direct, around=new_around)


def _dark(parts: tuple[Part, ...]) -> NDArray[np.int32]:
    return np.zeros((len(parts[0].points), 3), np.int32)


def build_light(scene: Scene, threads: int, cache: bool = True) -> Lit:
    """Return the scene with its light, read from the cache when it has been built before.

    Args:
        scene: What is lit.
        threads: How many.
        cache: Whether built light is read and kept on disk.
    """
    means: dict[str, NDArray[np.float32]] = {}
    parts: dict[int, tuple[Part, ...]] = {}
    trees: dict[int, Tree] = {}
    for instance in scene.instances:
        _means(scene, instance, means)
        parts[instance.id] = _parts(instance)
        tree = _tree(instance, parts[instance.id][0], means)
        if tree is not None:
            trees[instance.id] = tree
    lit = Lit(
        scene,
        parts,
        trees,
        join([trees[i] for i in sorted(trees)]),
        make_lamps(scene.lamps, scene.ambient),
        {i: _dark(p) for i, p in parts.items()},
        {i: _dark(p) for i, p in parts.items()},
    )
    full = _bake(lit, threads, cache)
    if scene.event is None or scene.event.brightness is None:
        return full
    lamps = make_lamps(scene.with_dimmed(0.0).lamps, scene.ambient)
    return replace(full, unlit=_bake(replace(lit, lamps=lamps), threads, cache))


def _bake(lit: Lit, threads: int, cache: bool) -> Lit:
    """Return a dark scene with its light, read from the cache where that has it."""
    parts = lit.parts
    key = _digest(lit) if cache else ""
    sizes = [len(parts[i][0].points) for i in sorted(parts)]
    found = stored.read(key, sum(sizes)) if cache else None
    if found is None:
        both = DIRECT | INDIRECT
        wanted = {i: np.full(len(p[0].points), both, np.uint8) for i, p in parts.items()}
        lit = _compute(lit, wanted, threads)
        if cache:
            stored.write(
                key,
                np.concatenate([lit.direct[i] for i in sorted(parts)]),
                np.concatenate([lit.around[i] for i in sorted(parts)]),
            )
        return lit
    bounds = itertools.pairwise([0, *itertools.accumulate(sizes)])
    rows = {i: slice(*pair) for i, pair in zip(sorted(parts), bounds, strict=True)}
    return replace(
        lit,
        direct={i: found[0][r] for i, r in rows.items()},
        around={i: found[1][r] for i, r in rows.items()},
    )


def _digest(lit: Lit) -> str:
    """Return the SHA-256 of all that the built light depends on."""
    digest = hashlib.sha256(f"light {LIGHT_VERSION}".encode())
    for array in (*lit.tree, *lit.lamps):
        digest.update(np.ascontiguousarray(array).tobytes())
    for i in sorted(lit.parts):
        part = lit.parts[i][0]
        digest.update(f"{i} {part.two_sided} {part.points.shape}".encode())
        for array in (part.points, part.directions, part.pattern):
            digest.update(array.tobytes())
    return digest.hexdigest()


def _box(tree: Tree) -> NDArray[np.float32]:
    box: NDArray[np.float32] = np.array(tree.bounds[0], np.float32)
    box[:3] -= _PAD
    box[3:] += _PAD
    return box


def _same_shape(a: Instance, b: Instance) -> bool:
    """Return whether two instances are in the way of light alike, and gather it alike."""
    p, q = a.mesh, b.mesh
    glows = [
        np.array([m.emission > 0 for m in mesh.materials])[mesh.face_material] for mesh in (p, q)
    ]
    return (
        (p.two_sided, p.smooth, p.texel, p.shades) == (q.two_sided, q.smooth, q.texel, q.shades)
        and (a.flat, a.moves, a.id) == (b.flat, b.moves, b.id)
        and np.array_equal(a.pose, b.pose)
        and np.array_equal(p.vertices, q.vertices)
        and np.array_equal(p.faces, q.faces)
        and np.array_equal(glows[0], glows[1])
    )


def relight(
    lit: Lit, scene: Scene, changed: list[int], threads: int, *, later: bool = False
) -> Lit:
    """Return ``scene`` lit, given a lit scene that differs from it in some instances only.

    The result equals ``build_light(scene)`` bit for bit: receivers whose sample segments meet
    neither the old nor the new bounds of a changed instance see what they saw before.

    Args:
        lit: The scene before.
        scene: The scene after; lamps and ambient light are the same.
        changed: Ids of the instances that were added, removed, moved or swapped.
        threads: How many.
        later: Whether light that has changed is only noted as stale, for ``refresh``. Without it
            the scene before must have no stale light.
    """
    means: dict[str, NDArray[np.float32]] = {}
    parts, trees = dict(lit.parts), dict(lit.trees)
    direct, around = dict(lit.direct), dict(lit.around)
    boxes: list[NDArray[np.float32]] = []
    repainted: list[NDArray[np.float32]] = []
    present = {i.id: i for i in scene.instances}
    before = {i.id: i for i in lit.scene.instances}
    fresh = set(changed)
    for i in changed:
        if i in present and i in before and _same_shape(before[i], present[i]):
            # Nothing else stands in the way of light: only what it throws back has changed.
            fresh.discard(i)
            _means(scene, present[i], means)
            parts[i] = _parts(present[i])
            repaint = _tree(present[i], parts[i][0], means)
            if repaint is not None:
                trees[i] = repaint
                repainted.append(_box(repaint))
            continue
        old = trees.pop(i, None)
        if old is not None:
            boxes.append(_box(old))
        parts.pop(i, None)
        direct.pop(i, None)
        around.pop(i, None)
        instance = present.get(i)
        if instance is None:
            continue
        _means(scene, instance, means)
        parts[i] = _parts(instance)
        direct[i], around[i] = _dark(parts[i]), _dark(parts[i])
        tree = _tree(instance, parts[i][0], means)
        if tree is not None:
            trees[i] = tree
            boxes.append(_box(tree))
    after = Lit(
        scene,
        parts,
        trees,
        join([trees[i] for i in sorted(trees)]),
        lit.lamps,
        direct,
        around,
        None if lit.unlit is None else relight(lit.unlit, scene, changed, threads, later=later),
        lit.gain,
        {i: flags for i, flags in lit.stale.items() if i in parts and i not in fresh},
    )
    wanted = {}
    both = DIRECT | INDIRECT
    others = {i: p[0] for i, p in parts.items() if i not in fresh}
    if (boxes or repainted) and others:
        receivers = (
            np.concatenate([p.points for p in others.values()]),
            np.concatenate([p.directions for p in others.values()]),
            np.concatenate([p.pattern for p in others.values()]),
            _flags(list(others.values())),
        )
        flags = np.zeros(len(receivers[0]), np.uint8)
        for some, kinds in ((boxes, both), (repainted, INDIRECT)):
            if some:
                met = affected(lit.lamps, *receivers, np.array(some, np.float32), threads)
                flags |= met & np.uint8(kinds)
        at = 0
        for i, p in others.items():
            wanted[i] = flags[at : at + len(p.points)]
            at += len(p.points)
        if later:
            return _noted(after, wanted, fresh)
        around_them = np.array([*boxes, *repainted], np.float32)
        after = _compute(after, wanted, threads, lit.tree, around_them)
    if later:
        return _noted(after, wanted, fresh)
    new = {i: np.full(len(parts[i][0].points), both, np.uint8) for i in sorted(fresh & set(parts))}
    return _compute(after, new, threads)


def _noted(lit: Lit, wanted: dict[int, NDArray[np.uint8]], fresh: set[int]) -> Lit:
    """Return ``lit`` with more stale light: what is wanted, and all of what is fresh."""
    stale = dict(lit.stale)
    for i, flags in wanted.items():
        if flags.any():
            stale[i] = flags | stale[i] if i in stale else flags
    for i in sorted(fresh & set(lit.parts)):
        stale[i] = np.full(len(lit.parts[i][0].points), DIRECT | INDIRECT, np.uint8)
    return replace(lit, stale=stale)


def refresh(lit: Lit, camera: NDArray[np.float64], wide: tuple[float, float], threads: int) -> Lit:
    """Return ``lit`` with the stale light built that a camera may see.

    What is built equals ``build_light`` bit for bit.

    Args:
        lit: Some of its light may be stale.
        camera: Camera to scene, shape (4, 4).
        wide: Tangents of half the angle in which light is built, across and up.
        threads: How many.
    """
    wanted, stale = {}, dict(lit.stale)
    direct, around = dict(lit.direct), dict(lit.around)
    for i in sorted(stale):
        part = lit.parts[i][0]
        chosen = np.where(_in_sight(part, camera.astype(np.float32), wide), stale[i], 0)
        if not chosen.any():
            continue
        wanted[i] = chosen.astype(np.uint8)
        for store, kind in ((direct, DIRECT), (around, INDIRECT)):
            rows = (chosen & kind).astype(np.bool_)
            if rows.any():
                store[i] = store[i].copy()
                store[i][rows] = 0
        left = stale.pop(i) & ~wanted[i]
        if left.any():
            stale[i] = left
    if not wanted:
        return lit
    unlit = None if lit.unlit is None else refresh(lit.unlit, camera, wide, threads)
    after = replace(lit, direct=direct, around=around, stale=stale, unlit=unlit)
    return _compute(after, wanted, threads)


def _in_sight(
    part: Part, camera: NDArray[np.float32], wide: tuple[float, float]
) -> NDArray[np.bool_]:
    """Return which receivers a camera within ``NEARBY`` of a place may see."""
    way = part.points - camera[:3, 3]
    x, y, z = (way @ camera[:3, :3]).T
    z = z + np.float32(NEARBY)
    seen = (z > 0) & (abs(x) <= wide[0] * z + NEARBY) & (abs(y) <= wide[1] * z + NEARBY)
    if not part.two_sided:
        # Light at a vertex also reaches faces that turn away from its own normal; the light of a
        # map faces one way.
        slack = np.full(len(way), NEARBY, np.float32)
        vertices = len(way) - len(part.lit_texels)
        slack[:vertices] += ROUND * np.linalg.norm(way[:vertices], axis=1)
        seen &= (way * part.directions).sum(axis=1) < slack
    return np.asarray(seen)


_AXES = np.concatenate([np.eye(3), -np.eye(3)]).astype(np.float32)


def probe(lit: Lit, point: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the light that faces of the six axis directions receive at a point, shape (6, 3)."""
    direct = np.zeros((6, 3), np.int32)
    around = np.zeros((6, 3), np.int32)
    where = Receivers(
        np.tile(point.astype(np.float32), (6, 1)),
        _AXES,
        np.zeros(6, np.int32),
        np.zeros(6, np.uint8),
        np.full(6, DIRECT | INDIRECT, np.uint8),
    )
    gather(lit.tree, lit.lamps, where, direct, around, 1)
    return lit.received(direct, around)


def exposure(scene: Scene) -> float:
    """Return the factor that brings a scene's light to display range.

    It depends on lamps and ambient light only: a swapped object must not change the rest of the
    picture. The reference is the unshadowed light on the floor under the lamps and around them.
    """
    if scene.display is not None:
        return scene.display
    if not scene.lamps:
        return 1.0 / max(float(np.mean(scene.ambient)), 1e-6)
    lamps = make_lamps(scene.lamps, scene.ambient)
    middle = lamps.middle.astype(np.float64)
    low, high = middle.min(axis=0) - 1.5, middle.max(axis=0) + 1.5
    x, z = np.meshgrid(np.linspace(low[0], high[0], 8), np.linspace(low[2], high[2], 8))
    points = np.stack([x, np.full_like(x, 0.3), z], axis=-1).reshape(-1, 3)
    total = np.zeros(len(points))
    for k in range(len(middle)):
        d = middle[k] - points
        square = (d**2).sum(axis=1)
        there = np.maximum(-(d @ lamps.facing[k]), 0)
        w = np.maximum(d[:, 1], 0) * there / (square * np.maximum(square, lamps.area[k]))
        total += w * float(lamps.power[k].mean()) * int(lamps.samples[k])
    return 1.0 / float(total.mean() + np.mean(scene.ambient))
