"""Things that come back as something else: another kind, bent and stretched, in other colours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.families import SceneName, reimagine
from worldenv.worlds.reference.scene import Instance, Material, Mesh, Scene
from worldenv.worlds.reference.shapes import bounds
from worldenv.worlds.reference.standing import Standing

__all__ = ["PERSON", "Textures", "Warp", "deformed", "palette", "restyled", "swapped", "warp"]

Array = NDArray[np.float64]
Textures = dict[str, NDArray[np.uint8]]
Warp = Callable[[Array], Array]
"""Points (n, 3) in an instance's own frame -> where they are bent to."""

PERSON = "person"
CHOICES = 3
"""Among so many of the kinds most alike in size a swap chooses."""
FITS = 1.3
"""How much larger than what it replaces a thing may turn out, along any side."""
BODILY = ("face", "eye", "skin", "hair")
"""Textures that are mixed neither into others nor with others: a face stays a face."""
STRETCH, LEAN, TWIST = (0.3, 0.5), (0.3, 0.5), (35.0, 60.0)
"""Least and largest change at a dose of 1: share of the size, share of the height, degrees."""
TINT = 0.55
"""Length of the change of a tint's logarithm at a dose of 1."""


def swapped(
    name: SceneName,
    scene: Scene,
    built: Scene,
    standing: Standing,
    instance: Instance,
    seed: int,
) -> tuple[Instance, Textures] | None:
    """Return a thing of another category in the place of an instance, and the textures it adds.

    Its kind is one that the scene holds, that stands as the instance does (on the ground, on
    something, on a wall) and is alike in size; it is made anew, to the instance's size, and so
    fits where that stood. None where the scene holds no such kind.

    Args:
        name: Of the scene.
        scene: As it is shown.
        built: As it was built.
        standing: How things stand in it.
        instance: What is replaced; id, name and pose stay.
        seed: Decides kind and make, whatever stands there now: what one absence makes of a thing
            does not depend on those before.
    """
    rng = np.random.default_rng([seed, instance.id])
    original = built.instance(instance.id)
    size, was = _size(original.mesh), original.category
    kinds: dict[str, tuple[float, Instance]] = {}
    for other in built.instances:
        if (
            other.id not in standing.things
            or other.category in (was, PERSON)
            or (other.id in standing.hung) != (instance.id in standing.hung)
            or (other.id in standing.below) != (instance.id in standing.below)
        ):
            continue
        apart = float(abs(np.log(_size(other.mesh) / size)).sum())
        if other.category not in kinds or apart < kinds[other.category][0]:
            kinds[other.category] = (apart, other)
    if not kinds:
        return None
    nearest = sorted(kinds.values(), key=lambda kind: (kind[0], kind[1].id))
    first = int(rng.integers(min(CHOICES, len(nearest))))
    for _, donor in [nearest[first], *nearest[:first], *nearest[first + 1 :]]:
        stand_in = replace(donor, id=instance.id, name=instance.name, pose=instance.pose)
        try:
            new, textures = reimagine(name, scene, stand_in, int(rng.integers(1 << 31)))
        except ValueError:
            # Some things cannot be made as small, or as flat, as others.
            continue
        if (_size(new.mesh) <= FITS * size + 0.05).all():
            return new, textures
    return None


def _size(mesh: Mesh) -> Array:
    low, high = bounds(mesh)
    return np.asarray(np.maximum(high - low, 0.02))


def _either(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a number between -high and -low or between low and high."""
    return float(rng.uniform(low, high)) * (1 if rng.random() < 0.5 else -1)


def warp(instance: Instance, seed: int, dose: float, hung: bool) -> Warp:
    """Return how an instance is bent and stretched; its base stays where it is.

    Args:
        instance: In its own frame, before.
        seed: Decides the direction, which is the same at all doses.
        dose: Amount, 0 to 1.
        hung: Whether it hangs on a wall, along which it then stays.
    """
    rng = np.random.default_rng([seed, 61])
    low, high = bounds(instance.mesh)
    base, height = (low + high) / 2, float(high[1] - low[1])
    base[1] = low[1]
    tall, wide = _either(rng, *STRETCH), float(rng.uniform(0.4, 0.8))
    lean, twist = _either(rng, *LEAN), np.radians(_either(rng, *TWIST))
    across, sheet = bool(rng.random() < 0.5), height < 0.2 * float((high - low)[[0, 2]].max())

    def bent(points: Array) -> Array:
        p = points - base
        up = p[:, 1] / max(height, 1e-6)
        x, y, z = p.T
        if sheet:
            # What lies flat is sheared and stretched on its plane.
            x, z = x * (1 + dose * tall) + dose * lean * z, z * (1 - dose * wide * tall)
            return np.asarray(np.stack([x, y, z], axis=1) + base)
        y = y * (1 + dose * tall)
        side = 1 - dose * wide * tall
        if hung:
            x = x * side + dose * lean * height * up**2
            return np.asarray(np.stack([x, y, z], axis=1) + base)
        c, s = np.cos(dose * twist * up), np.sin(dose * twist * up)
        x, z = side * (c * x + s * z), side * (c * z - s * x)
        curve = dose * lean * height * up**2
        x, z = (x + curve, z) if across else (x, z + curve)
        return np.asarray(np.stack([x, y, z], axis=1) + base)

    return bent


def deformed(instance: Instance, bent: Warp) -> Instance:
    """Return an instance whose meshes are bent."""

    def shaped(mesh: Mesh) -> Mesh:
        points = bent(mesh.vertices.astype(np.float64))
        return mesh._replace(vertices=np.ascontiguousarray(points, np.float32))

    coarse = None if instance.coarse is None else shaped(instance.coarse)
    return replace(instance, mesh=shaped(instance.mesh), coarse=coarse)


def palette(scene: Scene) -> tuple[str, ...]:
    """Return the textures of a scene that may be mixed into others."""
    names = {m.texture for i in scene.instances for m in i.mesh.materials if m.emission == 0}
    return tuple(sorted(n for n in names if n.split("/")[0] not in BODILY))


def restyled(
    instance: Instance, seed: int, dose: float, scene: Scene, textures: tuple[str, ...]
) -> tuple[Instance, Textures]:
    """Return an instance in other colours and textures, and the textures it adds.

    Each of its textures is mixed with another one by the dose, and each tint is moved by it. What
    shines and what is a body are only tinted.

    Args:
        instance: As it was.
        seed: Decides which textures and tints, the same at all doses.
        dose: Share of the other, 0 to 1.
        scene: Holds all textures.
        textures: Those that may be mixed in.
    """
    rng = np.random.default_rng([seed, 67])
    added: Textures = {}
    known: dict[Material, Material] = {}
    colour = rng.normal(size=3)
    colour = TINT * colour / max(float(np.linalg.norm(colour)), 1e-6)

    def painted(material: Material) -> Material:
        key = material.texture
        other = textures[int(rng.integers(len(textures)))] if textures else key
        tint = np.array(material.tint) * np.exp(dose * colour)
        changed = material._replace(tint=(float(tint[0]), float(tint[1]), float(tint[2])))
        if material.emission > 0 or key.split("/")[0] in BODILY or other == key:
            return changed
        mixed = f"{key}>{other}@{dose!r}"
        if mixed not in scene.textures and mixed not in added:
            added[mixed] = _mixed(scene.textures[key], scene.textures[other], dose)
        return changed._replace(texture=mixed)

    def dressed(mesh: Mesh) -> Mesh:
        for material in mesh.materials:
            if material not in known:
                known[material] = painted(material)
        return mesh._replace(materials=tuple(known[m] for m in mesh.materials))

    mesh = dressed(instance.mesh)
    coarse = None if instance.coarse is None else dressed(instance.coarse)
    return replace(instance, mesh=mesh, coarse=coarse), added


def _mixed(image: NDArray[np.uint8], other: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    """Return a mix of two square images in the size of the first."""
    n, m = len(image), len(other)
    if m > n:
        other = other[:: m // n, :: m // n]
    elif m < n:
        other = np.tile(other, (n // m, n // m, 1))
    weight = round(256 * share)
    total = image.astype(np.uint16) * (256 - weight) + other.astype(np.uint16) * weight
    return np.asarray((total + 128) >> 8, dtype=np.uint8)
