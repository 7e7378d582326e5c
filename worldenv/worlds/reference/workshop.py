"""The workshop scene family: a hall of benches, machines, racks and goods, built from a seed.

Its plan is that of an interior: the same ways stay free, so that the same walks and events fit.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import gear, machines, storage
from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.layout import Layout
from worldenv.worlds.reference.rooms import (
    BALL,
    BALL_LANE,
    BALL_START,
    BESIDE,
    MIDDLE,
    Bay,
    bays,
    hang_door,
    keep_ways,
    stand_people,
)
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.shell import (
    Palette,
    add_shell,
    ceiling_lights,
    redraw,
    window_lights,
)
from worldenv.worlds.reference.start import find_views
from worldenv.worlds.reference.textures import Kit

# Importing them registers their makers.
assert gear and machines and storage

PALETTE = Palette(
    floors=("concrete", "concrete", "planks", "tiles"),
    ceilings=("boards", "plaster"),
    walls=("brick", "brick", "concrete", "plaster", "panelling"),
)
"""What halls are made of."""
SETTING = ("wall", "floor", "ceiling", "ceiling light", "doorway", "beam")
"""Categories of what closes the hall."""
LANDMARKS = (
    "forklift",
    "lathe",
    "drill press",
    "band saw",
    "workbench",
    "compressor",
    "rack",
    "tool chest",
    "locker",
    "fan",
    "tyres",
    "gas bottle",
    "pallet",
    "ladder",
    "anvil",
    "hand truck",
    "sawhorse",
    "barrel",
    "crate",
)
"""What views are sought for, after people."""


def build(seed: int, *, event: str | None = None) -> Scene:
    """Return the workshop of that seed.

    Args:
        seed: Decides the hall, its materials, what stands in it and its people.
        event: None for a static scene, or a name of ``EVENTS``. The hall is the same; an event
            may add things to it, and views of them.

    Raises:
        ValueError: unknown event.
    """
    if event is not None and event not in EVENTS:
        raise ValueError(f"unknown event {event!r}; expected one of {', '.join(EVENTS)}")
    rng = np.random.default_rng([seed, zlib.crc32(b"workshop")])
    room = (rng.uniform(12.2, 12.8), rng.uniform(3.5, 4.1), rng.uniform(8.4, 9.0))
    layout = Layout(rng, room, mirrored=bool(rng.random() < 0.5))
    add_shell(layout, PALETTE)
    layout.lamps = ceiling_lights(layout)
    _beams(layout)
    _fill(layout)
    layout.lamps += window_lights(layout)
    if event == "ball_rolls_off":
        layout.put("ball", (2 * BALL,) * 3, BALL_START, BALL_LANE, 0.0, keep=False)
    change = None if event is None else EVENTS[event](layout)
    scene = layout.scene("workshop", seed, change)
    return find_views(scene, layout.watch, LANDMARKS)


def reimagine(
    scene: Scene, instance: Instance, seed: int
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another draw of an instance and the textures it adds, see ``furniture.redrawn``."""
    return redraw(scene, instance, seed, PALETTE)


def _beams(layout: Layout) -> None:
    """Run steel beams under the ceiling, between the lights."""
    width, height, depth = layout.room
    kit = Kit(int(layout.rng.integers(1 << 16)))
    steel = kit.material("enamel", kit.pick(["#5a6f7a", "#7a3a33", "#44525c", "#8a8f86"]))
    for i in range(4):
        b = Builder()
        x = width * ((i + 0.5) / 4 - 0.5) + 0.04
        long = depth / 2 - 0.01
        b.box((-0.09, 0.0, -long), (0.09, 0.02, long), steel, bevel=0)
        b.box((-0.015, 0.02, -long), (0.015, 0.2, long), steel, bevel=0)
        b.box((-0.09, 0.2, -long), (0.09, 0.219, long), steel, bevel=0)
        piece = Piece(b.mesh(), None, f"beam/{i}", dict(kit.textures))
        size = (0.18, 0.22, 2 * long)
        layout.add(piece, "beam", layout.pose(x, height - 0.29, 0, 0), size, flat=True)


def _fill(layout: Layout) -> None:
    """Furnish the hall."""
    width, _, depth = layout.room
    keep_ways(layout)
    door = hang_door(layout)
    edge = width / 2 - 0.06
    north = layout.shuffled(["bench", "lathe", "light", "rack", layout.either("saw", "drill")])
    bays(layout, "north", -edge, edge, ["corner", *north, "corner"], BAYS)
    south = layout.shuffled(["rack", "light", "lockers", "bench", layout.either("air", "tyres")])
    bays(layout, "south", -edge, edge, ["corner", *south, "corner"], BAYS)
    end = depth / 2 - 1.0
    west = layout.shuffled(["chest", "drill", layout.either("rack", "goods", "saw")])
    bays(layout, "west", -end, end, west, BAYS)
    east = layout.shuffled(["chest", layout.either("air", "goods", "bottles")])
    bays(layout, "east", -end, door - BESIDE, east, BAYS)
    bays(layout, "east", door + BESIDE, end, ["light"], BAYS)
    ISLANDS[int(layout.rng.integers(len(ISLANDS)))](layout)
    YARDS[int(layout.rng.integers(len(YARDS)))](layout)
    stand_people(layout)
    _extras(layout)


def _bench(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "workbench", (layout.uniform(1.7, 2.0), 0.9, 0.7), at)
    layout.hang(wall, "tool board", (1.7, layout.uniform(0.75, 0.95), 0.07), at, 1.2)


def _lathe(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "lathe", (1.9, 1.25, 0.75), at, out=0.15)
    layout.hang(wall, "clock", (0.5, 0.5, 0.05), at, 2.2)


def _light(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "radiator", (1.1, 0.62, 0.14), at)
    layout.hang(wall, "window", (1.75, min(1.7, layout.room[1] - 1.3), 0.16), at, 1.1)


def _rack(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "rack", (1.75, layout.uniform(1.9, 2.4), 0.55), at)


def _saw(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "band saw", (0.8, layout.uniform(1.65, 1.9), 0.7), at, out=0.12)


def _drill(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "drill press", (0.46, layout.uniform(1.55, 1.75), 0.72), at, out=0.05)
    layout.hang(wall, "extinguisher", (0.24, 0.62, 0.26), at + 0.55, 0.9)


def _lockers(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "locker", (1.45, 1.8, 0.48), at)


def _chest(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "tool chest", (0.8, layout.uniform(0.9, 1.15), 0.5), at)
    layout.hang(wall, "tool board", (1.1, 0.7, 0.07), at, 1.45)


def _air(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "compressor", (1.25, 0.95, 0.55), at, out=0.1)


def _tyres(layout: Layout, wall: str, at: float) -> None:
    for off in (-0.36, 0.36):
        layout.by(wall, "tyres", (0.66, layout.uniform(0.44, 1.0), 0.66), at + off)


def _bottles(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "gas bottle", (0.6, 1.45, 0.5), at)


def _goods(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "pallet", (1.2, layout.uniform(0.55, 0.9), 0.8), at)


def _corner(layout: Layout, wall: str, at: float) -> None:
    kind = layout.either("barrel", "gas bottle", "tyres", "ladder")
    size = {
        "barrel": (0.58, 0.88, 0.58),
        "gas bottle": (0.4, 1.4, 0.45),
        "tyres": (0.66, 0.66, 0.66),
        "ladder": (0.6, 1.7, 0.85),
    }[kind]
    layout.by(wall, kind, size, at, out=0.1)


BAYS: dict[str, tuple[float, Bay]] = {
    "bench": (2.2, _bench),
    "lathe": (2.1, _lathe),
    "light": (1.95, _light),
    "rack": (1.9, _rack),
    "saw": (1.05, _saw),
    "drill": (1.45, _drill),
    "lockers": (1.6, _lockers),
    "chest": (1.25, _chest),
    "air": (1.45, _air),
    "tyres": (1.5, _tyres),
    "bottles": (0.8, _bottles),
    "goods": (1.35, _goods),
    "corner": (0.95, _corner),
}


def _truck(layout: Layout) -> None:
    """A forklift beside a pallet."""
    layout.put("forklift", (1.1, 2.0, 2.3), MIDDLE - 0.35, 0.0, _either_turn(layout, 70, 100))
    layout.put("pallet", (1.1, 0.7, 0.8), MIDDLE + 1.0, 1.0, layout.uniform(-12, 12))
    layout.put("cone", (0.36, 0.5, 0.36), MIDDLE + 1.2, -0.7)


def _either_turn(layout: Layout, low: float, high: float) -> float:
    turn = layout.uniform(low, high)
    return turn if layout.rng.random() < 0.5 else -turn


def _middle_bench(layout: Layout) -> None:
    """A bench to work at from all sides, with a stool and an anvil."""
    layout.put("workbench", (2.0, 0.88, 0.8), MIDDLE, 0.1, layout.uniform(-6, 6))
    layout.put("anvil", (0.75, 0.85, 0.5), MIDDLE - 0.9, -0.95, layout.uniform(-30, 30))
    layout.put("stool", (0.42, 0.55, 0.42), MIDDLE + 0.4, 0.95)
    layout.put("tool chest", (0.7, 0.95, 0.48), MIDDLE + 1.1, -0.85, layout.uniform(-15, 15))


def _carpentry(layout: Layout) -> None:
    """Trestles with planks, a band saw and a hand truck."""
    layout.put("sawhorse", (1.9, 0.86, 0.8), MIDDLE, 0.5, layout.uniform(-8, 8))
    layout.put("band saw", (0.75, 1.6, 0.66), MIDDLE - 0.9, -0.75, layout.uniform(-20, 20))
    layout.put("hand truck", (0.56, 1.2, 0.6), MIDDLE + 0.9, -0.7, layout.uniform(-40, 40))


ISLANDS = (_truck, _middle_bench, _carpentry)


def _stacks(layout: Layout) -> None:
    """Pallets, a crate and a cone on the open side."""
    layout.put("pallet", (1.2, layout.uniform(0.55, 0.85), 0.8), 2.3, -2.3, layout.uniform(-8, 8))
    first = layout.put("crate", (0.7, 0.55, 0.55), 3.6, -2.2, layout.uniform(-10, 10))
    if first:
        layout.on(first, "crate", (0.45, 0.36, 0.4), 0.0, 0.0, layout.uniform(-30, 30))
    layout.put("cone", (0.38, 0.55, 0.38), 1.35, -1.8)


def _drums(layout: Layout) -> None:
    """Barrels, a hand truck and a fan on the open side."""
    layout.put("barrel", (0.58, 0.9, 0.58), 2.2, -2.3)
    layout.put("barrel", (0.58, 0.9, 0.58), 2.9, -2.4)
    layout.put("hand truck", (0.56, 1.25, 0.6), 3.7, -2.2, layout.uniform(-30, 30))
    layout.put("fan", (0.8, 0.95, 0.5), 1.4, -2.0, layout.uniform(-20, 20))


def _tower(layout: Layout) -> None:
    """A step ladder, tyres and gas bottles on the open side."""
    layout.put("ladder", (0.62, 1.8, 0.95), 2.4, -2.2, layout.uniform(-25, 25))
    layout.put("tyres", (0.66, 0.88, 0.66), 3.4, -2.3)
    layout.put("gas bottle", (0.6, 1.45, 0.5), 1.5, -2.3)


YARDS = (_stacks, _drums, _tower)


def _extras(layout: Layout) -> None:
    """Scatter a few small things where room is left."""
    sizes = {
        "cone": (0.36, 0.5, 0.36),
        "crate": (0.5, 0.42, 0.42),
        "barrel": (0.56, 0.86, 0.56),
        "stool": (0.4, 0.5, 0.4),
    }
    layout.scatter(sizes, 0.5, tuple(sizes))
