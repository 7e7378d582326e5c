"""What belongs to walls: pictures, clocks, windows, doors, radiators, shelves.

Makers as in ``furniture``; what hangs on a wall has its back at z = 0.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference import pictures
from worldenv.worlds.reference.furniture import (
    CLOTHS,
    PAINTS,
    PALE,
    WOODS,
    Size,
    finish,
    maker,
    metal,
)
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit


@maker("painting")
def painting(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Framed picture, with a mount in some."""
    w, h, d = size
    frame = finish(kit) if kit.rng.random() < 0.6 else metal(kit)
    canvas = kit.material(kit.pick(list(pictures.PAINTINGS)))
    edge = kit.uniform(0.025, 0.07)
    for x in (-w / 2, w / 2 - edge):
        b.box((x, 0, 0.002), (x + edge, h, d), frame)
    for y in (0, h - edge):
        b.box((-w / 2 + edge, y, 0.002), (w / 2 - edge, y + edge, d), frame)
    mount = edge
    if kit.rng.random() < 0.35:
        pale = kit.material("plain", "#efe9dc", seed=6)
        b.patch((-w / 2 + edge, edge, d * 0.35), (w - 2 * edge, 0, 0), (0, h - 2 * edge, 0), pale)
        mount = edge + 0.1 * min(w, h)
    b.patch(
        (-w / 2 + mount, mount, d * 0.35 + 0.011),
        (w - 2 * mount, 0, 0),
        (0, h - 2 * mount, 0),
        canvas,
        cells=(2, 2),
    )
    return b.mesh()


@maker("clock")
def clock(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round or square wall clock."""
    w, h, d = size
    r = min(w, h) / 2
    rim = finish(kit) if kit.rng.random() < 0.5 else metal(kit)
    face = kit.material(
        "dial",
        *[
            ["#f4f0e6", "#222222"],
            ["#23282d", "#e8dcc0"],
            ["#c9503f", "#f4f0e6"],
            ["#d9c9a8", "#4b2f1e"],
        ][int(kit.rng.integers(4))],
    )
    up = placed(0, h / 2, 0, tilt=90)
    if kit.rng.random() < 0.6:
        b.lathe(
            [(r, 0.002), (r, d), (r * 0.9, d), (r * 0.88, d * 0.6)],
            rim,
            sides=28,
            repeat=0.5,
            pose=up,
        )
        a = np.linspace(0, 2 * np.pi, 28, endpoint=False)
        points = np.stack(
            [r * 0.88 * np.sin(a), h / 2 + r * 0.88 * np.cos(a), np.full(28, d * 0.6)], 1
        )
        uv = np.stack([0.5 + 0.47 * np.sin(a), 0.5 - 0.47 * np.cos(a)], 1)
        fan = [[0, i + 1, i] for i in range(1, 27)]
        b.add(points, uv, fan, face)
    else:
        b.box((-r, h / 2 - r, 0.002), (r, h / 2 + r, d), rim, bevel=0.012)
        b.patch(
            (-r + 0.025, h / 2 - r + 0.025, d + 0.011),
            (2 * r - 0.05, 0, 0),
            (0, 2 * r - 0.05, 0),
            face,
        )
    return b.mesh()


@maker("window")
def window(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Casement or grid window that shows the outside, some with curtains."""
    w, h, d = size
    frame = kit.material("plain", "#ece8de", seed=7) if kit.rng.random() < 0.6 else finish(kit)
    view = kit.material("outside", emission=0.95)
    curtains = kit.rng.random() < 0.6
    x1, y0, y1 = (w / 2 - 0.22 if curtains else w / 2), 0.1, h - 0.12
    t = 0.06
    b.patch((-x1 + t / 2, y0 + t / 2, 0.012), (2 * x1 - t, 0, 0), (0, y1 - y0 - t, 0), view)
    for x in (-x1, x1 - t):
        b.box((x, y0, 0.002), (x + t, y1, 0.06), frame)
    for y in (y0, y1 - t):
        b.box((-x1 + t, y, 0.002), (x1 - t, y + t, 0.06), frame)
    columns, rows = (2, 1) if kit.rng.random() < 0.5 else (3, 2)
    for i in range(1, columns):
        x = -x1 + 2 * x1 * i / columns
        b.box((x - 0.018, y0 + t, 0.024), (x + 0.018, y1 - t, 0.05), frame)
    for j in range(1, rows):
        y = y0 + (y1 - y0) * j / rows
        b.box((-x1 + t, y - 0.014, 0.026), (x1 - t, y + 0.014, 0.046), frame)
    # Curtains hang before the sill, not through it.
    deep = 0.07 if curtains else min(d, 0.14)
    b.box((-x1 - 0.04, y0 - 0.04, 0.002), (x1 + 0.04, y0, deep), frame)
    if curtains:
        stuff = kit.material(
            "fabric",
            kit.pick(CLOTHS),
            kit.pick(PALE),
            kit.pick(["plain", "stripes", "dots", "plaid"]),
        )
        rod = metal(kit)
        b.tube([(-w / 2, h - 0.04, 0.09), (w / 2, h - 0.04, 0.09)], 0.012, rod, sides=6)
        for side in (-1, 1):
            n = 10 if b.coarse else 22
            s = np.linspace(0, 1, n)
            across = side * (w / 2 - 0.02 - 0.34 * s)
            out = 0.1 + 0.022 * np.sin(s * 34)
            points = np.concatenate(
                [np.stack([across, np.full(n, y), out], 1) for y in (0.0, h / 2, h - 0.05)]
            )
            uv = np.concatenate(
                [np.stack([s * 1.6, np.full(n, -y / 0.4)], 1) for y in (0.0, h / 2, h)]
            )
            k = np.concatenate([np.arange(n - 1), np.arange(n - 1) + n])
            faces = np.concatenate(
                [np.stack([k, k + 1, k + n + 1], 1), np.stack([k, k + n + 1, k + n], 1)]
            )
            b.add(points, uv, faces if side < 0 else faces[:, ::-1], stuff)
    return b.mesh()


@maker("doorway")
def doorway(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Door frame with the hall behind it."""
    w, h, d = size
    frame = finish(kit)
    hall = kit.material("corridor", emission=0.5)
    b.patch((-w / 2 + 0.07, 0, 0.012), (w - 0.14, 0, 0), (0, h - 0.07, 0), hall)
    for x in (-w / 2, w / 2 - 0.08):
        b.box((x, 0, 0.002), (x + 0.08, h, d), frame)
    b.box((-w / 2 + 0.08, h - 0.08, 0.002), (w / 2 - 0.08, h, d), frame)
    return b.mesh()


@maker("door")
def door(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Door leaf whose hinge edge is at x = 0 and whose width runs along +x, back at z = 0."""
    w, h, d = size
    leaf = (
        kit.material("wood", kit.pick(WOODS))
        if kit.rng.random() < 0.5
        else kit.material(
            "plain", kit.pick(["#7a2f35", "#2f4858", "#3f6f5a", "#e8e4da", "#d9a441", "#33658a"])
        )
    )
    grip = metal(kit)
    style = kit.pick(["two", "four", "boards", "light"])
    b.box((0, 0.01, 0), (w, h, d), leaf)
    cells = {"two": (1, 2), "four": (2, 2), "boards": (5, 1), "light": (1, 1)}[style]
    for i in range(cells[0]):
        for j in range(cells[1]):
            x0, x1 = 0.1 + (w - 0.2) * i / cells[0], 0.1 + (w - 0.2) * (i + 1) / cells[0]
            y0, y1 = 0.16 + (h - 0.3) * j / cells[1], 0.16 + (h - 0.3) * (j + 1) / cells[1]
            if style == "light":
                y0 = h * 0.5
            for z0, z1 in ((d, d + 0.014), (-0.014, 0.0)):
                b.box(
                    (x0 + 0.02, y0 + 0.02, z0),
                    (x1 - 0.02, y1 - 0.02, z1),
                    kit.material("plain", "#b8d0d8", seed=8) if style == "light" else leaf,
                    bevel=0.01,
                )
    for z in (d + 0.045, -0.045):
        b.tube([(w - 0.07, h * 0.48, z), (w - 0.19, h * 0.48, z)], 0.011, grip, sides=6)
        b.tube([(w - 0.07, h * 0.48, z), (w - 0.07, h * 0.48, d / 2)], 0.011, grip, sides=6)
    return b.mesh()


@maker("radiator")
def radiator(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Ribbed radiator against a wall."""
    w, h, d = size
    skin = kit.material("plain", kit.pick(["#e8e4da", "#c9c9c4", *PAINTS[1:4]]))
    count = max(4, round(w / 0.09))
    for i in range(count):
        x = -w / 2 + w * i / count
        b.box((x + 0.008, 0.1, 0.03), (x + w / count - 0.008, h, d), skin, bevel=0.012)
    b.box((-w / 2, 0.16, 0.05), (w / 2, 0.2, d - 0.03), skin)
    # It hangs on the wall by two brackets, and its pipes come out of the floor.
    for x in (-0.3 * w, 0.3 * w):
        b.box((x - 0.015, 0.72 * h, 0.002), (x + 0.015, 0.72 * h + 0.04, 0.05), skin)
    middle = (0.02 + d) / 2
    for x in (w / 2 - 0.06, w / 2 - 0.11):
        b.tube([(x, 0.0, middle), (x, 0.18, middle)], 0.011, skin, sides=6)
    return b.mesh()


@maker("shelf")
def shelf(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Wall board with pots and books."""
    w, h, d = size
    board = finish(kit)
    b.box((-w / 2, 0.1, 0.002), (w / 2, 0.13, d), board)
    for x in (-w / 2 + 0.08, w / 2 - 0.1):
        b.box((x, 0.0, 0.002), (x + 0.02, 0.1, d * 0.7), board)
    x = -w / 2 + 0.03
    while x < w / 2 - 0.12:
        width = kit.uniform(0.08, 0.16)
        tall = kit.uniform(0.5, 1.0) * (h - 0.13)
        if kit.rng.random() < 0.5:
            pot = kit.material(
                "ceramic", kit.pick(CLOTHS), kit.pick(PALE), kit.pick(["bands", "waves", "scales"])
            )
            r = min(width, d) * 0.45
            b.lathe(
                [(r * 0.6, 0), (r, tall * 0.45), (r * 0.4, tall * 0.8), (r * 0.55, tall)],
                pot,
                sides=12,
                pose=placed(x + width / 2, 0.131, d / 2),
            )
        else:
            count = max(1, int(width / 0.04))
            for i in range(count):
                cover = kit.material("plain", kit.pick(CLOTHS + PAINTS))
                b.box(
                    (x + i * 0.04, 0.131, 0.02),
                    (x + i * 0.04 + 0.036, 0.131 + tall * kit.uniform(0.8, 1.0), d * 0.85),
                    cover,
                )
        x += width + kit.uniform(0.02, 0.1)
    return b.mesh()
