"""What a workshop works on and keeps things in: benches, tool boards, racks, chests, lockers.

Makers as in ``furniture``.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import Size, legs, maker, wood
from worldenv.worlds.reference.machines import COATS, DARK, STEEL
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, forth, placed
from worldenv.worlds.reference.textures import Kit

CARDS = ["#b08a5a", "#c49a68", "#a07a4c"]
GRIPS = ["#c0392f", "#2f5f8a", "#d9a02f", "#2a2d30", "#3f7a4a"]


@maker("workbench")
def workbench(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Bench with a thick top, drawers or a shelf below, a vice and some tools on it."""
    w, h, d = size
    top = wood(kit)
    frame = kit.material("enamel", kit.pick(COATS)) if kit.rng.random() < 0.6 else wood(kit)
    steel = kit.material("metal", STEEL)
    b.box((-w / 2, h - 0.07, -d / 2), (w / 2, h, d / 2), top, bevel=0.008)
    legs(b, size, 0.08, frame, top=h - 0.07)
    b.box((-w / 2 + 0.06, 0.16, -d / 2 + 0.06), (w / 2 - 0.06, 0.2, d / 2 - 0.06), frame)
    style = kit.pick(["drawers", "boxes", "both"])
    if style != "boxes":
        x0, x1 = w / 2 - 0.5, w / 2 - 0.1
        front = kit.material("enamel", kit.pick(COATS))
        b.box((x0, 0.2, -d / 2 + 0.08), (x1, h - 0.07, d / 2 - 0.05), front)
        for i in range(4):
            y = 0.22 + i * (h - 0.31) / 4
            b.box((x0 + 0.01, y, d / 2 - 0.05), (x1 - 0.01, y + 0.12, d / 2 - 0.03), front)
            b.box((x0 + 0.1, y + 0.08, d / 2 - 0.03), (x1 - 0.1, y + 0.095, d / 2 - 0.01), steel)
    if style != "drawers":
        x = -w / 2 + 0.14
        while x < (w / 2 - 0.7 if style == "both" else w / 2 - 0.4):
            wide, tall = kit.uniform(0.22, 0.32), kit.uniform(0.16, 0.3)
            box = kit.material("plain", kit.pick(CARDS + GRIPS))
            b.box((x, 0.2, -0.2), (x + wide, 0.2 + tall, 0.2), box)
            x += wide + kit.uniform(0.03, 0.12)
    vice = -w / 2 + kit.uniform(0.25, 0.5)
    paint = kit.material("enamel", kit.pick(["#2f5f8a", "#3a3d40", "#7a3a33"]))
    b.box((vice - 0.07, h, d / 2 - 0.28), (vice + 0.07, h + 0.1, d / 2 - 0.12), paint, bevel=0.01)
    b.box((vice - 0.08, h + 0.1, d / 2 - 0.26), (vice + 0.08, h + 0.15, d / 2 - 0.2), steel)
    b.box((vice - 0.08, h + 0.06, d / 2 - 0.16), (vice + 0.08, h + 0.15, d / 2 - 0.09), paint)
    b.cylinder(0.014, 0.0, 0.12, steel, sides=8, pose=forth(vice, h + 0.09, d / 2 - 0.1))
    for _ in range(int(kit.rng.integers(2, 5))):
        x, z = kit.uniform(vice + 0.2, w / 2 - 0.15), kit.uniform(-d / 2 + 0.1, d / 2 - 0.15)
        _hand_tool(kit, b, placed(x, h + 0.001, z, kit.uniform(0, 360)), steel)
    return b.mesh()


def _hand_tool(kit: Kit, b: Builder, pose: np.ndarray, steel: Material) -> None:
    """Lay a hammer, a screwdriver, a tin or an oil can."""
    grip = kit.material("plain", kit.pick(GRIPS))
    kind = kit.pick(["hammer", "driver", "tin", "can"])
    if kind == "hammer":
        b.box((-0.012, 0, -0.15), (0.012, 0.024, 0.1), wood(kit), pose=pose)
        b.box((-0.055, 0, 0.09), (0.055, 0.035, 0.125), steel, pose=pose)
    elif kind == "driver":
        b.box((-0.016, 0, -0.12), (0.016, 0.03, -0.02), grip, pose=pose)
        b.box((-0.005, 0.01, -0.02), (0.005, 0.02, 0.12), steel, pose=pose)
    elif kind == "tin":
        b.cylinder(0.05, 0, 0.12, grip, sides=12, pose=pose)
    else:
        b.cylinder(0.05, 0, 0.1, grip, top=0.02, sides=12, pose=pose)
        b.tube([(0, 0.09, 0), (0.05, 0.17, 0), (0.12, 0.2, 0)], 0.007, steel, sides=5, pose=pose)


@maker("tool board")
def tool_board(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Board on the wall with saws, spanners, hammers and pliers in rows."""
    w, h, _ = size
    board = kit.material("plain", kit.pick(["#c9b48a", "#8a8f86", "#d8d4c8", "#5a6f7a"]))
    steel = kit.material("metal", STEEL)
    b.box((-w / 2, 0, 0.002), (w / 2, h, 0.022), board)
    for row in range(2):
        x, y = -w / 2 + 0.08, h * (0.92 if row == 0 else 0.45)
        while x < w / 2 - 0.12:
            grip = kit.material("plain", kit.pick(GRIPS))
            long = kit.uniform(0.22, 0.38) * h
            kind = kit.pick(["spanner", "saw", "hammer", "pliers"])
            if kind == "saw" and x < w / 2 - 0.32:
                b.box((x, y - 0.1, 0.024), (x + 0.26, y - 0.02, 0.03), steel, bevel=0)
                b.box((x + 0.02, y - 0.12, 0.022), (x + 0.09, y, 0.045), grip, bevel=0.01)
                x += 0.32
                continue
            if kind == "hammer":
                b.box((x + 0.02, y - long, 0.022), (x + 0.045, y, 0.045), wood(kit))
                b.box((x - 0.02, y - 0.05, 0.022), (x + 0.085, y - 0.01, 0.06), steel)
            elif kind == "pliers":
                b.box((x, y - long, 0.022), (x + 0.02, y - 0.4 * long, 0.04), grip)
                b.box((x + 0.04, y - long, 0.022), (x + 0.06, y - 0.4 * long, 0.04), grip)
                b.box((x + 0.015, y - 0.4 * long, 0.022), (x + 0.045, y, 0.036), steel)
            else:
                b.box((x + 0.015, y - long, 0.022), (x + 0.035, y, 0.034), steel)
                b.box((x, y - 0.05, 0.022), (x + 0.05, y, 0.036), steel)
                b.box((x + 0.002, y - long, 0.022), (x + 0.048, y - long + 0.045, 0.036), steel)
            x += kit.uniform(0.1, 0.17)
    return b.mesh()


@maker("rack")
def rack(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Storage rack: coloured uprights and beams, boards, boxes, cans and coils."""
    w, h, d = size
    post = kit.material("enamel", kit.pick(["#2f5f8a", "#3f6f5a", "#44525c", "#7a3a33"]))
    beam = kit.material("enamel", kit.pick(["#d9782f", "#d9a02f", "#c9c4b4"]))
    board = wood(kit)
    for x in (-w / 2, w / 2 - 0.06):
        for z in (-d / 2, d / 2 - 0.06):
            b.box((x, 0, z), (x + 0.06, h, z + 0.06), post)
        for y in np.arange(0.15, h - 0.2, 0.45):
            b.tube([(x + 0.03, y, -d / 2 + 0.06), (x + 0.03, y + 0.4, d / 2 - 0.06)], 0.012, post)
    levels = max(3, round(h / 0.62))
    for i in range(levels):
        y = 0.12 + i * (h - 0.2) / levels
        for z in (-d / 2 + 0.005, d / 2 - 0.045):
            b.box((-w / 2 + 0.06, y, z), (w / 2 - 0.06, y + 0.07, z + 0.04), beam)
        b.box(
            (-w / 2 + 0.06, y + 0.07, -d / 2 + 0.02), (w / 2 - 0.06, y + 0.09, d / 2 - 0.02), board
        )
        room = (h - 0.2) / levels - 0.16
        x = -w / 2 + 0.09
        while x < w / 2 - 0.3:
            wide, tall = kit.uniform(0.22, 0.46), kit.uniform(0.5, 1.0) * room
            if x + wide > w / 2 - 0.08:
                break
            _ware(kit, b, x, y + 0.091, wide, tall, d)
            x += wide + kit.uniform(0.02, 0.14)
    return b.mesh()


def _ware(kit: Kit, b: Builder, x: float, y: float, wide: float, tall: float, d: float) -> None:
    """Put a box, a crate of paint, cans or a coil on a board."""
    tone = kit.material("plain", kit.pick(CARDS + CARDS + GRIPS))
    kind = kit.pick(["box", "box", "bin", "cans", "coil"])
    deep = kit.uniform(0.6, 0.9) * d / 2
    if kind == "box":
        b.box((x, y, -deep), (x + wide, y + tall, deep), tone)
        tape = kit.material("plain", "#d8c890", seed=1)
        middle = x + wide / 2
        b.box(
            (middle - 0.03, y + 0.4 * tall, -deep - 0.002),
            (middle + 0.03, y + tall, deep + 0.002),
            tape,
            bevel=0,
        )
    elif kind == "bin":
        b.box((x, y, -deep), (x + wide, y + 0.7 * tall, deep), tone)
        b.box(
            (x + 0.02, y + 0.3 * tall, deep),
            (x + wide - 0.02, y + 0.5 * tall, deep + 0.004),
            kit.material("plain", "#f3f0e6", seed=2),
            bevel=0,
        )
    elif kind == "cans":
        r = min(wide / 4, 0.08)
        for k in range(2):
            for z in (-deep * 0.5, deep * 0.5):
                place = placed(x + (2 * k + 1) * wide / 4, y, z)
                b.cylinder(r, 0, 0.7 * tall, tone, sides=10, pose=place)
    else:
        r = min(0.46 * wide, 0.46 * tall)
        angle = np.linspace(0, 2 * np.pi, 15)
        for z in (-0.06, 0.0, 0.06):
            ring = np.stack(
                [
                    x + wide / 2 + 0.8 * r * np.cos(angle),
                    y + r + 0.8 * r * np.sin(angle),
                    0 * angle + z,
                ],
                1,
            )
            b.tube(ring, 0.2 * r, tone, sides=6)


@maker("tool chest")
def tool_chest(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Roller cabinet with many flat drawers, a handle and castors."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(["#c0392f", "#2f5f8a", "#2a2d30", "#3f7a4a", "#d9902f"]))
    steel, dark = kit.material("metal", STEEL), kit.material("metal", DARK)
    for x in (-w / 2 + 0.07, w / 2 - 0.07):
        for z in (-d / 2 + 0.07, d / 2 - 0.07):
            b.cylinder(0.05, -0.02, 0.02, dark, sides=12, pose=forth(x, 0.05, z))
    b.box((-w / 2, 0.1, -d / 2), (w / 2, h, d / 2 - 0.02), coat, bevel=0.01)
    y, k = 0.13, 0
    while y < h - 0.09:
        tall = 0.2 if k == 0 else kit.uniform(0.07, 0.14)
        tall = min(tall, h - 0.03 - y)
        b.box(
            (-w / 2 + 0.02, y, d / 2 - 0.02), (w / 2 - 0.02, y + tall - 0.012, d / 2 - 0.005), coat
        )
        b.box(
            (-w / 2 + 0.05, y + tall - 0.035, d / 2 - 0.005),
            (w / 2 - 0.05, y + tall - 0.02, d / 2),
            steel,
            bevel=0,
        )
        y, k = y + tall, k + 1
    grip = [
        (w / 2, h - 0.12, -d * 0.3),
        (w / 2 + 0.05, h - 0.1, -d * 0.3),
        (w / 2 + 0.05, h - 0.1, d * 0.25),
        (w / 2, h - 0.12, d * 0.25),
    ]
    b.tube(np.array(grip) - [0.05, 0, 0], 0.013, steel, sides=6)
    return b.mesh()


@maker("locker")
def locker(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Row of steel lockers with slots, handles and numbers' plates."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(COATS))
    door = kit.material(
        "enamel", kit.pick(["#5a6f7a", "#2f5f8a", "#8a8f86", "#7a3a33", "#3f6f5a", "#d9a02f"])
    )
    dark = kit.material("plain", DARK)
    b.box((-w / 2, 0.08, -d / 2), (w / 2, h, d / 2 - 0.02), coat)
    b.box((-w / 2 + 0.02, 0, -d / 2 + 0.03), (w / 2 - 0.02, 0.08, d / 2 - 0.06), dark)
    count = max(1, round(w / 0.36))
    each = w / count
    for i in range(count):
        x = -w / 2 + i * each
        b.box(
            (x + 0.01, 0.1, d / 2 - 0.02),
            (x + each - 0.01, h - 0.02, d / 2 - 0.004),
            door,
            bevel=0.004,
        )
        for k in range(3):
            for y in (0.24, h - 0.3):
                b.box(
                    (x + 0.08, y + 0.035 * k, d / 2 - 0.004),
                    (x + each - 0.08, y + 0.035 * k + 0.012, d / 2 - 0.002),
                    dark,
                    bevel=0,
                )
        b.box(
            (x + each - 0.07, 0.5 * h, d / 2 - 0.004),
            (x + each - 0.045, 0.5 * h + 0.12, d / 2),
            kit.material("metal", STEEL, seed=4),
        )
        b.box(
            (x + each / 2 - 0.04, h - 0.16, d / 2 - 0.004),
            (x + each / 2 + 0.04, h - 0.12, d / 2 - 0.001),
            kit.material("plain", "#f3f0e6", seed=2),
            bevel=0,
        )
    return b.mesh()
