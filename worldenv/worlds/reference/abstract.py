"""The abstract scene family: large plain solids of strong colours in a bright hall, by seed."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece, Size, size_of
from worldenv.worlds.reference.layout import Layout
from worldenv.worlds.reference.outdoor_views import OUTDOORS
from worldenv.worlds.reference.scene import Instance, Lamp, Scene
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.shell import SURFACES, shell_pose, shell_size
from worldenv.worlds.reference.start import Looker
from worldenv.worlds.reference.textures import Kit
from worldenv.worlds.reference.views import camera_at

__all__ = ["SOLIDS", "build", "reimagine"]

HALL = (19.0, 4.6, 14.0)
"""Width, height and depth in metres."""
SOLIDS = ("sphere", "cube", "cone", "column", "ring", "pyramid", "stack")
COLOURS = ("#c8372d", "#1f5fa8", "#e0a91f", "#2f8a57", "#7a3f8c", "#e8e4da", "#d9662b", "#2a2d31")
FIGURES = ("stripes", "diamonds", "rings")


def build(seed: int, *, event: str | None = None) -> Scene:
    """Return the hall of that seed.

    Args:
        seed: Decides which solids stand where, their sizes, colours and patterns.
        event: None; nothing happens here.

    Raises:
        ValueError: an event is asked for.
    """
    if event is not None:
        raise ValueError(f"unknown event {event!r}; abstract scenes have none, leave event out")
    rng = np.random.default_rng([seed, zlib.crc32(b"abstract")])
    layout = Layout(rng, HALL, mirrored=False)
    for name, category in SURFACES.items():
        size = shell_size(name, HALL)
        piece = _surface(name, int(rng.integers(1 << 16)), size)
        layout.add(piece, category, shell_pose(name, HALL), size, name=name, flat=True)
    names = [SOLIDS[k] for k in rng.permutation(len(SOLIDS))]
    names += [SOLIDS[k] for k in rng.permutation(len(SOLIDS))[:4]]
    # Six along the north, where the walks look, then the sides and the south.
    places = [(x, -4.1) for x in (-6.0, -3.6, -1.2, 1.2, 3.6, 6.0)]
    places += [(-7.6, -0.5), (7.6, -0.5), (-4.5, 5.4), (0.0, 5.4), (4.5, 5.4)]
    for name, (x, z) in zip(names, places, strict=True):
        wide = layout.uniform(1.3, 1.95)
        size = (wide, layout.uniform(1.0, 1.5) * wide, wide)
        piece = _solid(name, int(rng.integers(1 << 16)), size)
        x, z = x + layout.uniform(-0.2, 0.2), z + layout.uniform(-0.3, 0.3)
        layout.add(piece, name, layout.pose(x, 0, z, layout.uniform(0, 90)), size)
    layout.lamps, layout.ambient = _lamps(), (0.3, 0.3, 0.31)
    scene = layout.scene("abstract", seed, None)
    looker = Looker(scene, (), OUTDOORS)
    views = {
        "loop": camera_at(-3.6, 2.2, 0),
        "middle": camera_at(-1.6, 1.4, 0),
        "west": camera_at(0.0, 0.0, -90),
        "east": camera_at(0.0, 0.0, 90),
        "south": camera_at(0.0, 0.0, 180),
    }
    found = tuple(looker.look(name, pose) for name, pose in views.items())
    return replace(scene, views=found)


def reimagine(
    scene: Scene, instance: Instance, seed: int
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another variant of an instance in the same place, and the textures it adds."""
    rng = np.random.default_rng([seed, instance.id])
    size = size_of(scene, instance)
    old = {m.texture for m in instance.mesh.materials}
    for _ in range(8):
        draw = int(rng.integers(1 << 16))
        if instance.name in SURFACES:
            piece = _surface(instance.name, draw, size)
        else:
            piece = _solid(instance.category, draw, size)
        if piece.variant != instance.variant and not old & {
            m.texture for m in piece.mesh.materials
        }:
            break
    new = replace(instance, variant=piece.variant, mesh=piece.mesh, coarse=piece.coarse)
    return new, {k: v for k, v in piece.textures.items() if k not in scene.textures}


def _surface(name: str, seed: int, size: Size) -> Piece:
    """Return a wall, floor or ceiling of one colour or a wide pattern."""
    kit, b = Kit((seed, zlib.crc32(name.encode()))), Builder()
    width, height, depth = size
    if name == "floor":
        tone = kit.pick(
            ["#d8d4c8 #b9b4a6", "#c9cfd0 #8f9aa0", "#e4dcd0 #b58a6a", "#50565c #3a3f45"]
        )
        material = kit.material("tiles", *tone.split(), "checker")
        b.patch((-width / 2, 0, depth / 2), (width, 0, 0), (0, 0, -depth), material, repeat=4.0)
    elif name == "ceiling":
        material = kit.material("plain", kit.pick(["#f0eee8", "#e6e8ec"]))
        b.patch((-width / 2, 0, -depth / 2), (width, 0, 0), (0, 0, depth), material, repeat=3.0)
    else:
        tone = kit.pick(
            ["#d9dfe4 #c3ccd4", "#e8dccb #d9c8b0", "#cfd9cf #b6c6b6", "#dccfd9 #c6b3c4"]
        )
        material = kit.material("wallpaper", *tone.split(), kit.pick(FIGURES))
        b.patch((-width / 2, 0, 0), (width, 0, 0), (0, height, 0), material, repeat=4.0)
    return Piece(b.mesh(), None, f"{SURFACES[name]}/{seed}", kit.textures)


def _solid(name: str, seed: int, size: Size) -> Piece:
    """Return one of ``SOLIDS`` of about a size, in two colours of a pattern."""
    kit, b = Kit((seed, zlib.crc32(name.encode()))), Builder()
    w, h, d = size
    first, second = (COLOURS[k] for k in kit.rng.permutation(len(COLOURS))[:2])
    r = min(w, d) / 2
    skin = (
        kit.material("plain", first)
        if kit.rng.random() < 0.35
        else kit.material("wallpaper", first, second, kit.pick(FIGURES))
    )
    other = kit.material("plain", second)
    if name == "sphere":
        r = min(r, h / 2)
        b.ball((0, r, 0), (r, r, r), skin, sides=28, rings=18)
    elif name == "cube":
        side = min(w, h, d) * 0.72
        b.box((-side / 2, 0, -side / 2), (side / 2, side, side / 2), skin, repeat=side, bevel=0.02)
    elif name == "cone":
        b.lathe([(0, 0), (r, 0)], other, sides=28, repeat=0.8)
        b.lathe([(r, 0), (0.0, h)], skin, sides=28, repeat=0.8)
    elif name == "column":
        b.cylinder(0.5 * r, 0, h, skin, sides=24, repeat=0.8)
        b.cylinder(0.7 * r, h, 1.08 * h, other, sides=24)
    elif name == "ring":
        turn = np.linspace(0, 2 * np.pi, 33)
        thick, big = 0.17 * r, 0.8 * r
        line = [(big * np.sin(a), thick + big + big * np.cos(a), 0.0) for a in turn]
        b.tube(line, thick, skin, sides=12, repeat=0.6)
    elif name == "pyramid":
        b.cylinder(r, 0, h, skin, top=0.01, sides=5, repeat=0.8)
    else:
        for k, material in enumerate((skin, other, skin)):
            side = (0.8 - 0.22 * k) * r
            low, high = k * h / 3, (k + 1) * h / 3
            b.box((-side, low, -side), (side, high, side), material, repeat=0.8, bevel=0.01)
    mesh = b.mesh()._replace(smooth=name in ("sphere", "ring"))
    return Piece(mesh, None, f"{name}/{seed}", kit.textures)


def _lamps() -> list[Lamp]:
    """Return eight panels under the ceiling."""
    return [
        Lamp((x - 1.0, HALL[1] - 0.02, z - 0.6), (2.0, 0, 0), (0, 0, 1.2), (7.0, 6.9, 6.6))
        for x in (-6.6, -2.2, 2.2, 6.6)
        for z in (-3.2, 3.2)
    ]
