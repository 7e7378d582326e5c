"""What closes a room: walls, floor and ceiling of drawn materials, and the lamps in it."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.events import with_glow
from worldenv.worlds.reference.furniture import Piece, Size, redrawn, size_of
from worldenv.worlds.reference.layout import Layout, make_piece
from worldenv.worlds.reference.people import same_body
from worldenv.worlds.reference.scene import Instance, Lamp, Scene
from worldenv.worlds.reference.shapes import Builder, bounds
from worldenv.worlds.reference.textures import Kit

WINDOW_LIGHT = (1.7, 2.1, 2.6)
"""Linear RGB radiance of what comes in by a window, bluer than the lamps."""


class Palette(NamedTuple):
    """What the surfaces of a family's rooms may be made of.

    Attributes:
        floors: Kinds of floor, each as often as it stands there.
        ceilings: Kinds of ceiling.
        walls: Kinds of wall, each as often as it stands there.
    """

    floors: tuple[str, ...]
    ceilings: tuple[str, ...]
    walls: tuple[str, ...]


def add_shell(layout: Layout, palette: Palette) -> None:
    """Add floor, ceiling and walls to an empty layout."""
    for name, category in SURFACES.items():
        size = shell_size(name, layout.room)
        piece = surface(category, int(layout.rng.integers(1 << 16)), size, name, palette)
        layout.add(piece, category, shell_pose(name, layout.room), size, name=name, flat=True)


def redraw(
    scene: Scene, instance: Instance, seed: int, palette: Palette
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another variant of an instance of a room and the textures it adds, see ``redrawn``."""
    size = size_of(scene, instance)

    def draw(number: int) -> Piece:
        if instance.name in SURFACES:
            return surface(instance.category, number, size, instance.name, palette)
        if instance.category in FITTINGS:
            return _repainted(instance, number)
        if instance.category == "person":
            number += same_body(f"person/{number}", instance.variant)
        return make_piece(instance.category, number, size)

    new, added = redrawn(scene, instance, seed, draw)
    if "glow" in scene.tags:
        new = with_glow(new, float(scene.tags["glow"]))
    return new, added


FITTINGS = ("skirting", "ceiling light", "beam")
"""What keeps its shape, because the room decides it, and is only painted anew."""
SURFACES = {
    "floor": "floor",
    "ceiling": "ceiling",
    "wall-north": "wall",
    "wall-east": "wall",
    "wall-south": "wall",
    "wall-west": "wall",
}


def _repainted(instance: Instance, seed: int) -> Piece:
    """Return a fitting's mesh with other paint, and light of another colour."""
    kit = Kit((seed, instance.id))
    tones = ["#ece8de", "#5b3a22", "#8fa08a", "#33658a", "#b5533c", "#d9a441", "#50565c"]
    glows = ["#fff0d0", "#dfeaff", "#ffe0b8", "#f0ffe8"]
    materials = tuple(
        kit.material("plain", kit.pick(glows if m.emission else tones), emission=m.emission)
        for m in instance.mesh.materials
    )
    mesh = instance.mesh._replace(materials=materials)
    return Piece(mesh, None, f"{instance.category}/{seed}", kit.textures)


def shell_size(name: str, room: Size) -> Size:
    """Return the size of a surface of the shell."""
    width, height, depth = room
    if name in ("floor", "ceiling"):
        return width, 0.0, depth
    return (width if name in ("wall-north", "wall-south") else depth), height, 0.0


def shell_pose(name: str, room: Size) -> NDArray[np.float64]:
    """Return the scene pose of a surface of the shell."""
    if name == "floor":
        return np.eye(4)
    if name == "ceiling":
        pose = np.eye(4)
        pose[1, 3] = room[1]
        return pose
    layout = Layout(np.random.default_rng(0), room, False)
    x, z, turn = layout.wall_place(name.split("-")[1], 0.0, 0.0)
    return layout.pose(x, 0, z, turn)


def surface(category: str, seed: int, size: Size, name: str, palette: Palette) -> Piece:
    """Return a wall, floor or ceiling of one material."""
    kit, b = Kit((seed, zlib.crc32(name.encode()))), Builder()
    width, height, depth = size
    if category == "floor":
        kind = kit.pick(palette.floors)
        words = {
            "planks": [kit.pick(["#a0703f", "#7d5230", "#b98f5f", "#8f7a66", "#5f4330"])],
            "parquet": [kit.pick(["#9a6a3a", "#7a5232", "#b58a55"])],
            "tiles": [
                *kit.pick(
                    [
                        "#e0dccf #4c5658",
                        "#d9c9a8 #8c4f38",
                        "#c9cfd0 #33658a",
                        "#b86b4a #8c4f38",
                        "#d8d4c8 #6b7f55",
                    ]
                ).split(),
                kit.pick(["checker", "even", "inlay"]),
            ],
            "concrete": [kit.pick(["#a9a49a", "#8f9090", "#b8a890"])],
        }[kind]
        b.patch(
            (-width / 2, 0, depth / 2),
            (width, 0, 0),
            (0, 0, -depth),
            kit.material(kind, *words),
            repeat=1.9,
        )
    elif category == "ceiling":
        kind = kit.pick(palette.ceilings)
        tone = kit.pick(["#eeece4", "#e6e8e8", "#ece4d4"])
        b.patch(
            (-width / 2, 0, -depth / 2),
            (width, 0, 0),
            (0, 0, depth),
            kit.material("ceiling", tone, kind),
            repeat=1.6,
        )
    else:
        kind = kit.pick(palette.walls)
        words = {
            "brick": [kit.pick(["#9c4f3c", "#a8624a", "#b8a898", "#7a4a42", "#c9c2b4"]), "#b8ac9c"],
            "plaster": [
                kit.pick(
                    ["#d8c8a0", "#b9c8b8", "#c98f6f", "#9fb4c4", "#d9a89a", "#e0d8c8", "#8fa08a"]
                )
            ],
            "wallpaper": [
                *kit.pick(
                    [
                        "#d9cdb0 #7d9a86",
                        "#d9cdb0 #a2583f",
                        "#3f5f73 #c7b06f",
                        "#e4dcd0 #6f8fae",
                        "#7a3f45 #c9a36b",
                        "#dfe4d8 #b88a3e",
                        "#4f6a58 #b9c49a",
                    ]
                ).split(),
                kit.pick(["stripes", "diamonds", "leaves", "rings"]),
            ],
            "panelling": [kit.pick(["#b08d57", "#8a5f3c", "#a9b0a4", "#6f4a30"])],
            "concrete": [kit.pick(["#b5b0a8", "#9a9c9e"])],
        }[kind]
        b.patch(
            (-width / 2, 0, 0),
            (width, 0, 0),
            (0, height, 0),
            kit.material(kind, *words),
            repeat=1.7,
        )
    return Piece(b.mesh(), None, f"{category}/{seed}", kit.textures)


def ceiling_lights(layout: Layout) -> list[Lamp]:
    """Hang lit panels under the ceiling and return the lamps they stand for."""
    width, height, depth = layout.room
    lamps = []
    warm = layout.uniform(0.82, 1.0)
    columns = 3 if layout.rng.random() < 0.6 else 4
    w, d = layout.uniform(0.9, 1.3), layout.uniform(0.35, 0.65)
    kit = Kit(int(layout.rng.integers(1 << 16)))
    lit = kit.material("plain", "#fffaf0", emission=1.6)
    rim = kit.material("metal", kit.pick(["#23282d", "#c9c9c4", "#b08d4c"]))
    for i in range(columns):
        for j in range(2):
            x = width * ((i + 0.5) / columns - 0.5)
            z = depth * ((j + 0.5) / 2 - 0.5) * 0.9
            b = Builder()
            b.box((-w / 2, -0.05, -d / 2), (w / 2, -0.012, d / 2), rim, bevel=0.0)
            b.patch((-w / 2 + 0.02, -0.061, -d / 2 + 0.02), (w - 0.04, 0, 0), (0, 0, d - 0.04), lit)
            pose = layout.pose(x, height, z, 0)
            piece = Piece(b.mesh(), None, f"ceiling light/{i}{j}", dict(kit.textures))
            layout.add(piece, "ceiling light", pose, (w, 0.06, d))
            at = pose[:3, 3]
            lamps.append(
                Lamp(
                    (at[0] - w / 2 + 0.03, height - 0.075, at[2] - d / 2 + 0.03),
                    (w - 0.06, 0, 0),
                    (0, 0, d - 0.06),
                    (9.0, 8.6 * warm + 0.2, 8.2 * warm),
                )
            )
    return lamps


def window_lights(layout: Layout) -> list[Lamp]:
    """Return a lamp in front of each window."""
    lamps = []
    for instance in layout.instances:
        if instance.category == "window":
            low, high = bounds(instance.mesh)
            w, h = 0.7 * (high[0] - low[0]), 0.7 * (high[1] - low[1])
            origin = instance.pose @ [-w / 2, 0.15 * (high[1] - low[1]) + low[1], 0.2, 1]
            u, v = instance.pose[:3, :3] @ [w, 0, 0], instance.pose[:3, :3] @ [0, h, 0]
            lamps.append(Lamp(tuple(origin[:3]), tuple(u), tuple(v), WINDOW_LIGHT))
    return lamps
