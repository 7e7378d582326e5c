"""Making pieces of furniture: the registry of makers, and what they share.

A maker gets a kit and a size (width x, height y, depth z; metres) and returns a mesh that stands on
y = 0, centred on x and z, facing +z, within that size. Equal seeds give equal pieces.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import pictures
from worldenv.worlds.reference.scene import Instance, Material, Mesh, Scene
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit

assert pictures  # Importing it registers its painters, which makers in and out of doors name.

Size = tuple[float, float, float]
Maker = Callable[[Kit, Builder, Size], Mesh]
MAKERS: dict[str, Maker] = {}

HEAVY = 700
"""Pieces of more triangles than this get a coarse mesh; for lighter ones it saves too little."""

WOODS = ["#8a5a33", "#5b3a22", "#b8854f", "#c9a36b", "#6e4a36", "#3d2a20", "#a4713f", "#d2b48c"]
PAINTS = ["#e8e4da", "#2f4858", "#7d9a86", "#b5533c", "#d9a441", "#40514e", "#8a4f7d", "#33658a"]
CLOTHS = [
    "#7a2f35",
    "#3a4f6a",
    "#6b7f55",
    "#c08a3e",
    "#8d8478",
    "#4b3b5a",
    "#2f6f6d",
    "#b86a54",
    "#d8cdb8",
    "#50565c",
]
PALE = ["#e9e0cc", "#d6dde0", "#efe9df", "#d9c9a8", "#c7d1c0"]
METALS = ["#3a3d40", "#8b8f94", "#b08d4c", "#23282d"]


class Piece(NamedTuple):
    """A made thing.

    Attributes:
        mesh: Its mesh, see ``Instance.mesh``.
        coarse: The same with fewer triangles, or None where that would save little.
        variant: Category and seed.
        textures: Key -> image, those that the meshes use.
    """

    mesh: Mesh
    coarse: Mesh | None
    variant: str
    textures: dict[str, NDArray[np.uint8]]


def maker(category: str) -> Callable[[Maker], Maker]:
    """Register a maker for a category."""

    def register(function: Maker) -> Maker:
        MAKERS[category] = function
        return function

    return register


def make(category: str, seed: int, size: Size) -> Piece:
    """Return a piece of that category, of at most that size.

    Raises:
        KeyError: no such category.
    """
    key = (seed, zlib.crc32(category.encode()))
    kit = Kit(key)
    mesh = grounded(MAKERS[category](kit, Builder(), size))
    coarse = None
    if len(mesh.faces) > HEAVY:
        coarse = grounded(MAKERS[category](Kit(key), Builder(coarse=True), size))
        coarse = coarse if len(coarse.faces) < 0.6 * len(mesh.faces) else None
    return Piece(mesh, coarse, f"{category}/{seed}", kit.textures)


def grounded(mesh: Mesh) -> Mesh:
    """Return a mesh whose slanting feet are cut level with the floor."""
    level = mesh.vertices.copy()
    level[:, 1] = np.maximum(level[:, 1], 0)
    return mesh._replace(vertices=level)


def size_tags(sizes: Mapping[int, Size]) -> dict[str, str]:
    """Return what a scene says of the sizes its instances (ids) were made to."""
    return {f"size/{i}": ",".join(repr(float(s)) for s in size) for i, size in sizes.items()}


def size_of(scene: Scene, instance: Instance) -> Size:
    """Return the size that an instance of a scene was made to."""
    width, height, depth = map(float, scene.tags[f"size/{instance.id}"].split(","))
    return width, height, depth


def redrawn(
    scene: Scene, instance: Instance, seed: int, draw: Callable[[int], Piece]
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another variant of an instance in the same place, and the textures it adds.

    The id, name, category and pose stay. Of six draws it takes the first that is another variant
    and shares at most a third of its textures with what stands there, else the last.

    Args:
        scene: What the instance stands in.
        instance: What is drawn anew.
        seed: Decides the draws.
        draw: Seed of a draw -> piece.
    """
    rng = np.random.default_rng([seed, instance.id])
    old = {m.texture for m in instance.mesh.materials}
    for _ in range(6):
        piece = draw(int(rng.integers(1 << 16)))
        fresh = {m.texture for m in piece.mesh.materials}
        if piece.variant != instance.variant and len(fresh & old) <= len(fresh) // 3:
            break
    new = replace(instance, variant=piece.variant, mesh=piece.mesh, coarse=piece.coarse)
    return new, {k: v for k, v in piece.textures.items() if k not in scene.textures}


def wood(kit: Kit) -> Material:
    """Return some wood."""
    return kit.material("wood", kit.pick(WOODS))


def finish(kit: Kit) -> Material:
    """Return wood or, in a third of cases, paint."""
    return wood(kit) if kit.rng.random() < 0.66 else kit.material("plain", kit.pick(PAINTS))


def metal(kit: Kit) -> Material:
    """Return some metal."""
    return kit.material("metal", kit.pick(METALS))


def cloth(kit: Kit, plain: float = 0.4) -> Material:
    """Return upholstery: leather, plain or patterned cloth."""
    draw = kit.rng.random()
    tone = kit.pick(CLOTHS)
    if draw < 0.15:
        return kit.material("leather", kit.pick(["#5a3323", "#26262a", "#8a5a3a", "#6d1f24"]))
    style = (
        "plain"
        if draw < 0.15 + plain
        else kit.pick(["stripes", "plaid", "dots", "herringbone", "check"])
    )
    return kit.material("fabric", tone, kit.pick(PALE), style)


def legs(
    b: Builder,
    size: Size,
    thick: float,
    material: Material,
    *,
    top: float,
    turned: bool = False,
    inset: float = 0.02,
) -> None:
    """Add four legs at the corners of a footprint, up to height ``top``."""
    w, d = size[0] / 2 - inset - thick / 2, size[2] / 2 - inset - thick / 2
    for x in (-w, w):
        for z in (-d, d):
            if turned:
                b.cylinder(
                    thick * 0.3, 0.0, top, material, top=thick * 0.55, sides=8, pose=placed(x, 0, z)
                )
            else:
                b.box(
                    (x - thick / 2, 0.0, z - thick / 2),
                    (x + thick / 2, top, z + thick / 2),
                    material,
                )
