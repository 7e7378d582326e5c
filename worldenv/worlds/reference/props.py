"""Things that events change: a block of ice, a tank under a tap, a flower and its pot.

What changes its form is made once a key moment, with the same faces each time; between two moments
every vertex goes straight from one place to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece, Size, maker, metal
from worldenv.worlds.reference.objects import add_leaf
from worldenv.worlds.reference.scene import Lamp, Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import (
    Image,
    Kit,
    blend,
    colour,
    fractal,
    grid,
    noise,
    painter,
    shade,
)

Shape = Callable[[float], NDArray[np.float32]]
"""Share of a change, 0 to 1 -> vertices (n, 3) in the thing's own frame."""

SHADE = 0.46
"""Height of a lamp's shade, in metres."""
ICE_SIZE: Size = (0.8, 0.66, 0.6)
TANK_SIZE: Size = (1.0, 0.92, 0.46)
FLOWER_SIZE: Size = (0.72, 0.84, 0.72)
LAMP_SIZE: Size = (0.62, 1.62, 0.62)
POT_SIZE: Size = (0.36, 0.26, 0.36)
"""Sizes that these things are made to: width, height and depth in metres."""


@painter
def ice(rng: np.random.Generator, tone: str) -> Image:
    """Clear ice: clouds, cracks and small bubbles."""
    cracks = 1 - np.clip(abs(fractal(rng, 256, 5, 4) - 0.5) * 22, 0, 1)
    bubbles = noise(rng, 256, 96) > 0.92
    clouds = fractal(rng, 256, 3, 4)
    pale = 0.15 + 0.5 * clouds + 0.4 * cracks + 0.3 * bubbles
    return blend(colour(tone), colour("#ffffff"), pale)


@painter
def water(rng: np.random.Generator, tone: str) -> Image:
    """Water: soft bright ripples on a tone."""
    u, v = grid(128)
    bend = 1.4 * fractal(rng, 128, 4)
    ripples = np.sin(2 * np.pi * (3 * v + bend)) * np.sin(2 * np.pi * (2 * u - bend))
    return shade(colour(tone), 0.9 + 0.14 * np.clip(ripples, 0, 1) + 0.08 * bend)


def between(moments: Sequence[tuple[float, Mesh]]) -> Shape:
    """Return the vertices (n, 3) by a share from 0 to 1, straight from moment to moment.

    Args:
        moments: Shares, ascending from 0 to 1, and the mesh at each; the faces are the same.
    """
    shares = np.array([share for share, _ in moments])
    points = np.stack([mesh.vertices.astype(np.float64) for _, mesh in moments])

    def at(share: float) -> NDArray[np.float32]:
        k = int(np.clip(np.searchsorted(shares, share, side="right") - 1, 0, len(shares) - 2))
        part = (share - shares[k]) / (shares[k + 1] - shares[k])
        return np.asarray(points[k] * (1 - part) + points[k + 1] * part, dtype=np.float32)

    return at


def ice_block(seed: int) -> tuple[Piece, Shape]:
    """Return a block of ice on a tray, and its vertices by the share that has melted."""
    kit = Kit((seed, 101))
    tray = metal(kit)
    frozen = kit.material("ice", kit.pick(["#8fcbe8", "#a5d8e6", "#9fd4d8"]))
    pool = kit.material("water", kit.pick(["#5f9fc4", "#5fa8b8", "#7fb4d0"]))
    width, _, depth = ICE_SIZE
    wide, high, deep = kit.uniform(0.4, 0.5), kit.uniform(0.56, 0.62), kit.uniform(0.3, 0.38)

    def made(melted: float, slump: float) -> Mesh:
        b = Builder()
        b.box((-width / 2, 0, -depth / 2), (width / 2, 0.018, depth / 2), tray, bevel=0)
        for z0, z1 in ((-depth / 2, -depth / 2 + 0.015), (depth / 2 - 0.015, depth / 2)):
            b.box((-width / 2, 0.018, z0), (width / 2, 0.04, z1), tray, bevel=0)
        for x0, x1 in ((-width / 2, -width / 2 + 0.015), (width / 2 - 0.015, width / 2)):
            b.box((x0, 0.018, -depth / 2 + 0.015), (x1, 0.04, depth / 2 - 0.015), tray, bevel=0)
        left = 1 - melted
        x, z = wide / 2 * (0.36 + 0.64 * left), deep / 2 * (0.36 + 0.64 * left)
        top = 0.022 + high * (0.1 + 0.9 * left)
        b.cushion((-x, 0.02, -z), (x, top, z), frozen, radius=slump, repeat=0.5, steps=3)
        r = 0.2 + 0.8 * melted
        rim = placed(0, 0.019, 0)
        rim[0, 0], rim[2, 2] = (width / 2 - 0.03) * r, (depth / 2 - 0.03) * r
        b.lathe([(1.0, 0), (0.97, 0.006), (0.0, 0.008)], pool, sides=28, repeat=0.3, pose=rim)
        return b.mesh()

    meshes = [(0.0, made(0.0, 0.03)), (0.5, made(0.5, 0.09)), (1.0, made(1.0, 0.05))]
    piece = Piece(meshes[0][1], None, f"ice block/{seed}", kit.textures)
    return piece, between(meshes)


def water_tank(seed: int) -> tuple[Piece, Shape]:
    """Return a tank under a running tap, and its vertices by the share that is filled.

    The panes are clear, so the frame, the back and the water are all there is to see. The tap
    runs until the tank is full.
    """
    kit = Kit((seed, 103))
    bar = kit.material("plain", kit.pick(["#2b2d30", "#6a4a2a", "#8b8f94"]))
    back = kit.material("plain", kit.pick(["#e8e4da", "#efe6cf", "#dfe6e8"]))
    deep = kit.material("water", kit.pick(["#2f7fc0", "#2a93a8", "#3470b8"]))
    bright = kit.material("water", kit.pick(["#8fd0f0", "#8fdfe0", "#9ccaf4"]))
    spout = metal(kit)
    width, height, depth = TANK_SIZE
    w, d, h, t = width / 2, depth / 2, height - 0.32, 0.022

    def made(level: float, stream: float) -> Mesh:
        b = Builder()
        b.box((-w, 0, -d), (w, t, d), bar, bevel=0)
        b.box((-w + t, t, -d), (w - t, h - t, -d + 0.008), back, bevel=0)
        for x in (-w, w - t):
            for z in (-d, d - t):
                b.box((x, t, z), (x + t, h - t, z + t), bar, bevel=0)
            b.box((x, h - t, -d + t), (x + t, h, d - t), bar, bevel=0)
        for z in (-d, d - t):
            b.box((-w, h - t, z), (w, h, z + t), bar, bevel=0)
        for k in range(1, 6):
            y = t + 0.88 * (h - t) * k / 5
            b.box((w - 0.2, y - 0.004, -d + 0.008), (w - 0.06, y + 0.004, -d + 0.011), bar, bevel=0)
        top = t + 0.88 * (h - t) * level
        low, high = (-w + 0.006, t, -d + 0.012), (w - 0.006, top, d - 0.006)
        b.box(low, high, deep, bevel=0, skip="Yy", repeat=0.9)
        b.patch((low[0], top, high[2]), (2 * high[0], 0, 0), (0, 0, low[2] - high[2]), bright)
        line = [(-0.2, 0, -d - 0.03), (-0.2, h + 0.2, -d - 0.03), (-0.2, h + 0.26, -d + 0.04)]
        line += [(-0.2, h + 0.26, -0.04), (-0.2, h + 0.22, 0.02), (-0.2, h + 0.16, 0.02)]
        b.tube(line, 0.02, spout, sides=10)
        b.ball((-0.2, h + 0.3, -d + 0.06), (0.05, 0.018, 0.05), spout, sides=10, rings=6)
        r = 0.013 * stream
        foot = top + (h + 0.16 - top) * (1 - min(1.0, stream))
        b.tube([(-0.2, h + 0.165, 0.02), (-0.2, foot, 0.02)], [r, r], bright, sides=8)
        return b.mesh()

    meshes = [(0.0, made(0.1, 1.0)), (0.97, made(0.973, 1.0)), (1.0, made(1.0, 0.0))]
    # Ripples keep their size on the full tank, where most is seen of them.
    mesh = meshes[0][1]._replace(uv=meshes[-1][1].uv)
    piece = Piece(mesh, None, f"tank/{seed}", kit.textures)
    return piece, between(meshes)


@maker("pot")
def pot(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Flower pot full of earth."""
    r, h = min(size[0], size[2]) / 2, size[1]
    clay = kit.material(
        "ceramic",
        kit.pick(["#b5623c", "#e8dfd0", "#3f4a50", "#5f7f8a", "#7d9a86"]),
        kit.pick(["#d9a441", "#8a4f7d", "#2f4858", "#e8e4da"]),
        kit.pick(["bands", "waves", "scales", "plain"]),
    )
    earth = kit.material("plain", "#3a2a1e", seed=5)
    b.lathe(
        [(0, 0), (0.68 * r, 0), (0.9 * r, 0.8 * h), (r, 0.82 * h), (r, h), (0.9 * r, h)],
        clay,
        sides=20,
    )
    b.lathe([(0.92 * r, h - 0.03), (0, h - 0.015)], earth, sides=20)
    return b.mesh()


def bright_lamp(seed: int) -> Piece:
    """Return a tall lamp with a wide shade that glows all over."""
    kit, b = Kit((seed, 109)), Builder()
    width, height, _ = LAMP_SIZE
    r = width / 2
    shade_ = kit.material(
        "fabric",
        kit.pick(["#ffd9a0", "#ffcf8a", "#ffe0b8", "#ffc890"]),
        "#fff2d0",
        kit.pick(["plain", "stripes", "dots"]),
        emission=1.5,
    )
    stem = metal(kit)
    low = height - SHADE
    b.lathe([(0, 0), (0.7 * r, 0), (0.68 * r, 0.03), (0.03, 0.06)], stem, sides=20)
    b.cylinder(0.02, 0.05, low + 0.1, stem, sides=10)
    b.lathe([(r, low), (0.72 * r, height)], shade_, sides=24)
    b.lathe([(0.72 * r, height), (0, height - 0.01)], shade_, sides=24)
    b.lathe([(0, low + 0.01), (r, low)], shade_, sides=24)
    return Piece(b.mesh(), None, f"lamp/{seed}", kit.textures)


def shade_lamps(
    pose: NDArray[np.float64], radiance: tuple[float, float, float]
) -> tuple[Lamp, ...]:
    """Return what shines of a ``bright_lamp`` at a pose: up (a little), down and to four sides."""
    width, height, _ = LAMP_SIZE
    r, low = 0.72 * width / 2, height - SHADE
    side, tall = 1.2 * r, SHADE - 0.08
    up = ([-side / 2, height + 0.01, -side / 2], [0, 0, side], [side, 0, 0], 0.6)
    down = ([-side / 2, low - 0.01, -side / 2], [side, 0, 0], [0, 0, side], 1.0)
    panels = [(np.eye(4), *up), (np.eye(4), *down)]
    out = ([-side / 2, low + 0.04, r + 0.02], [side, 0, 0], [0, tall, 0], 1.0)
    panels += [(placed(turn=turn), *out) for turn in (0, 90, 180, 270)]
    lamps = []
    for frame, corner, u, v, share in panels:
        to_scene = pose @ frame
        red, green, blue = (share * c for c in radiance)
        lamps.append(
            Lamp(
                _vector(to_scene[:3, :3] @ corner + to_scene[:3, 3]),
                _vector(to_scene[:3, :3] @ u),
                _vector(to_scene[:3, :3] @ v),
                (red, green, blue),
            )
        )
    return tuple(lamps)


def _vector(values: NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def flower(seed: int) -> Piece:
    """Return a flower without its pot: stem, leaves and a head of petals that faces +z."""
    kit, b = Kit((seed, 107)), Builder()
    green = kit.material("leaf", kit.pick(["#3f8f32", "#2f7a3a", "#5a9a3a"]), "#b8d080")
    petal = kit.material("plain", kit.pick(["#f2c21a", "#ee8a2a", "#e8547a", "#f0e8dc", "#b560c8"]))
    heart = kit.material("fabric", "#4a2c14", kit.pick(["#8a5a20", "#c08a30"]), "dots")
    h = FLOWER_SIZE[1]
    tip = h - 0.2
    b.tube([(0, 0, 0), (0.02, 0.5 * tip, -0.01), (0, tip, 0.0)], [0.02, 0.017, 0.013], green)
    for k in range(8):
        y, a = tip * (0.08 + 0.1 * k), 137.5 * k + 60
        add_leaf(b, green, (0, y, 0), a, 0.36 - 0.02 * k, 0.085, 42, 0.9)
    head = placed(0, tip + 0.01, 0.02, tilt=-12)
    n = 16
    for ring, (inner, outer, z) in enumerate(((0.07, 0.19, 0.0), (0.07, 0.16, 0.01))):
        for k in range(n):
            a = 2 * np.pi * (k + 0.5 * ring) / n
            across = np.array([-np.sin(a), np.cos(a), 0.0])
            along = np.array([np.cos(a), np.sin(a), 0.0])
            middle = 0.5 * (inner + outer)
            corners = np.array([along * inner, along * middle, along * outer, along * middle])
            corners[1] += across * 0.04
            corners[3] -= across * 0.04
            corners[:, 2] = z + np.array([0, 0.012, 0.004, 0.012])
            uv = np.array([[0.5, 1], [1, 0.5], [0.5, 0], [0, 0.5]])
            b.add(corners, uv, [[0, 2, 1], [0, 3, 2]], petal, head)
    b.ball((0, 0, 0.01), (0.088, 0.088, 0.03), heart, sides=18, rings=8, pose=head)
    return Piece(b.mesh(two_sided=True), None, f"flower/{seed}", kit.textures)
