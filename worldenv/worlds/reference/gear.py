"""What stands about in a workshop: pallets, tyres, bottles, ladders, barrows, trestles, cones.

Makers as in ``furniture``.
"""

from __future__ import annotations

from worldenv.worlds.reference.furniture import Size, maker, metal, wood
from worldenv.worlds.reference.machines import DARK, SIGNAL, STEEL
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, forth, placed
from worldenv.worlds.reference.storage import CARDS, GRIPS
from worldenv.worlds.reference.textures import Kit


@maker("pallet")
def pallet(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Stack of pallets, or one with sacks or boxes on it."""
    w, h, d = size
    board = kit.material("wood", kit.pick(["#c9a36b", "#a98a5f", "#b8946a", "#8f7a5f"]))
    each = 0.14
    load = kit.pick(["stack", "boxes", "sacks"])
    count = max(2, int(h / each)) if load == "stack" else 1
    for n in range(count):
        y = n * each
        turn = placed(0, y, 0, kit.uniform(-2, 2) if n else 0.0)
        s = 0.97
        for x in (-w / 2 * s, -0.05, w / 2 * s - 0.1):
            b.box((x, 0.02, -d / 2 * s), (x + 0.1, 0.115, d / 2 * s), board, pose=turn)
        for i in range(6):
            z = -d / 2 * s + i * (d * s - 0.09) / 5
            b.box((-w / 2 * s, 0.115, z), (w / 2 * s, 0.137, z + 0.09), board, pose=turn)
        for z in (-d / 2 * s, -0.05, d / 2 * s - 0.1):
            b.box((-w / 2 * s, 0, z), (w / 2 * s, 0.02, z + 0.1), board, pose=turn)
    if load == "stack":
        return b.mesh()
    rows = max(1, int((h - each) / 0.24))
    if load == "boxes":
        _cartons(kit, b, (w, h, d), each, rows)
        return b.mesh()
    sack = kit.pick(["#c9bfa8", "#b8a888", "#8a8f86"])
    tone = kit.material("fabric", sack, "#e9e0cc", "plain")
    for r in range(rows):
        for i in range(3):
            for j in range(2):
                x, z = -w / 2 + 0.03 + i * (w - 0.06) / 3, -d / 2 + 0.03 + j * (d - 0.06) / 2
                low = (x + 0.005, each + r * 0.23, z + 0.005)
                high = (x + (w - 0.06) / 3 - 0.005, low[1] + 0.24, z + (d - 0.06) / 2 - 0.005)
                b.cushion(low, high, tone, radius=0.08, puff=0.01)
    return b.mesh()


def _cartons(kit: Kit, b: Builder, size: Size, base: float, rows: int) -> None:
    """Add closely packed cartons as one block with seams; single ones would be dark between."""
    w, _, d = size
    card = kit.material("plain", kit.pick(CARDS))
    seam = kit.material("plain", "#5f4a30", seed=1)
    tape = kit.material("plain", "#d8c890", seed=2)
    x1, z1, top = w / 2 - 0.04, d / 2 - 0.04, base + 0.24 * rows
    b.box((-x1, base, -z1), (x1, top, z1), card)
    for r in range(1, rows):
        y = base + 0.24 * r
        b.box(
            (-x1 - 0.001, y - 0.004, -z1 - 0.001),
            (x1 + 0.001, y + 0.004, z1 + 0.001),
            seam,
            bevel=0,
        )
    third = 2 * x1 / 3
    for i in range(3):
        middle = -x1 + (i + 0.5) * third
        for z0, side in ((z1, 1), (-z1, -1)):
            low, high = sorted((z0, z0 + 0.002 * side))
            b.box((middle - 0.025, base, low), (middle + 0.025, top + 0.002, high), tape, bevel=0)
        if i:
            x = -x1 + i * third
            b.box(
                (x - 0.004, base, -z1 - 0.001), (x + 0.004, top + 0.001, z1 + 0.001), seam, bevel=0
            )
    b.box((-x1 - 0.001, base, -0.004), (x1 + 0.001, top + 0.001, 0.004), seam, bevel=0)


@maker("tyres")
def tyres(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Stack of tyres, some with rims."""
    w, h, d = size
    rubber = kit.material("leather", kit.pick(["#1f2022", "#26262a", "#2a2826"]))
    rim = kit.material("metal", kit.pick(["#9aa0a4", "#d8d4c8", "#c9a055"]))
    count = max(1, round(h / 0.22))
    tall = h / count
    for n in range(count):
        r = min(w, d) / 2 * kit.uniform(0.92, 0.99)
        at = placed(kit.uniform(-0.01, 0.01), n * tall, kit.uniform(-0.01, 0.01))
        line = [
            (0.58, 0.12),
            (0.7, 0.02),
            (0.9, 0.0),
            (1.0, 0.16),
            (1.0, 0.84),
            (0.9, 1.0),
            (0.7, 0.98),
            (0.58, 0.88),
            (0.58, 0.12),
        ]
        b.lathe([(r * x, tall * y) for x, y in line], rubber, sides=26, repeat=0.4, pose=at)
        if n == count - 1 and kit.rng.random() < 0.6:
            hub = [(0, 0.5), (0.2, 0.55), (0.5, 0.4), (0.585, 0.5), (0.585, 0.9)]
            b.lathe([(r * x, tall * y) for x, y in hub], rim, sides=20, pose=at)
    return b.mesh()


@maker("gas bottle")
def gas_bottle(kit: Kit, b: Builder, size: Size) -> Mesh:
    """One or two steel bottles with shoulders and valves, chained to a trolley."""
    w, h, d = size
    dark = kit.material("metal", DARK)
    brass = kit.material("metal", "#b08d4c")
    count = 2 if w > 0.42 else 1
    r = min(w / (2 * count) - 0.02, 0.15)
    for k in range(count):
        x = (k - (count - 1) / 2) * (2 * r + 0.03)
        body = kit.material(
            "enamel", kit.pick(["#2f5f8a", "#7a3a33", "#8a8f86", "#3f7a4a", "#d8d4c8"])
        )
        cap = kit.material("enamel", kit.pick(SIGNAL))
        low = 0.06
        b.lathe(
            [(0, low), (r, low), (r, h * 0.72)], body, sides=18, repeat=0.8, pose=placed(x, 0, 0.02)
        )
        b.lathe(
            [(r, h * 0.72), (0.9 * r, h * 0.8), (0.35 * r, h * 0.87), (0.3 * r, h * 0.9)],
            cap,
            sides=18,
            pose=placed(x, 0, 0.02),
        )
        b.cylinder(0.03, h * 0.9, h * 0.97, brass, sides=8, pose=placed(x, 0, 0.02))
        b.cylinder(0.028, 0.0, 0.06, brass, sides=8, pose=forth(x, h * 0.94, 0.02))
    b.box((-w / 2, 0.03, -d / 2 + 0.05), (w / 2, 0.06, d / 2 - 0.02), dark)
    for x in (-w / 2 + 0.02, w / 2 - 0.02):
        b.tube([(x, 0.05, -d / 2 + 0.06), (x, h * 0.9, -d / 2 + 0.03)], 0.016, dark, sides=6)
        b.cylinder(
            0.09,
            -0.02,
            0.02,
            dark,
            sides=14,
            pose=placed(x, 0.09, -d / 2 + 0.09) @ placed(0, 0, 0, 90) @ forth(0, 0, 0),
        )
    for y in (0.35 * h, 0.6 * h):
        b.tube(
            [
                (-w / 2 + 0.02, y, -d / 2 + 0.05),
                (-w / 2 + 0.03, y, r + 0.03),
                (w / 2 - 0.03, y, r + 0.03),
                (w / 2 - 0.02, y, -d / 2 + 0.05),
            ],
            0.009,
            metal(kit),
            sides=5,
        )
    return b.mesh()


@maker("ladder")
def ladder(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Step ladder standing open: rungs in front, struts behind, a platform."""
    w, h, d = size
    rail = (
        kit.material("enamel", kit.pick(["#c9c4b4", "#d9a02f", "#c0392f", "#2f7a4a"]))
        if kit.rng.random() < 0.7
        else wood(kit)
    )
    step = kit.material("metal", STEEL)
    for side in (-1, 1):
        foot, tip = side * w / 2 * 0.96, side * w / 2 * 0.7
        b.tube([(foot, 0.01, d / 2 - 0.03), (tip, h - 0.02, 0.02)], 0.022, rail, sides=6)
        b.tube([(foot, 0.01, -d / 2 + 0.03), (tip, h - 0.1, -0.03)], 0.018, rail, sides=6)
    count = max(3, round(h / 0.28))
    for i in range(1, count):
        t = i / count
        half = w / 2 * (0.96 - 0.26 * t) - 0.02
        z = (d / 2 - 0.03) * (1 - t) + 0.02 * t
        b.box((-half, t * h - 0.015, z - 0.05), (half, t * h + 0.012, z + 0.03), step)
        if i % 2 == 0:
            b.tube(
                [
                    (-half, t * h, -(d / 2 - 0.03) * (1 - t) - 0.03 * t),
                    (half, t * h, -(d / 2 - 0.03) * (1 - t) - 0.03 * t),
                ],
                0.01,
                rail,
                sides=5,
            )
    b.box(
        (-w / 2 * 0.72, h - 0.04, -0.09),
        (w / 2 * 0.72, h, 0.07),
        kit.material("plain", kit.pick(GRIPS)),
    )
    return b.mesh()


@maker("hand truck")
def hand_truck(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Sack barrow with a plate, two wheels and a curved handle; it may carry a box."""
    w, h, d = size
    frame = kit.material("enamel", kit.pick(["#c0392f", "#2f5f8a", "#3f7a4a", "#d9902f"]))
    dark = kit.material("metal", DARK)
    lean = -0.3 * d
    b.box((-w / 2 + 0.03, 0.03, 0.0), (w / 2 - 0.03, 0.045, d / 2), frame)
    for x in (-w / 2 + 0.06, w / 2 - 0.06):
        b.tube(
            [(x, 0.04, 0.0), (x, 0.5 * h, 0.4 * lean), (x, h - 0.08, lean)], 0.018, frame, sides=6
        )
        b.cylinder(
            0.12,
            -0.03,
            0.03,
            dark,
            sides=16,
            pose=placed(x, 0.12, -0.09) @ placed(0, 0, 0, 90) @ forth(0, 0, 0),
        )
    top = [
        (-w / 2 + 0.06, h - 0.08, lean),
        (-w / 2 + 0.1, h - 0.01, lean),
        (w / 2 - 0.1, h - 0.01, lean),
        (w / 2 - 0.06, h - 0.08, lean),
    ]
    b.tube(top, 0.018, frame, sides=6)
    for t in (0.25, 0.5, 0.75):
        b.tube(
            [(-w / 2 + 0.06, t * h, lean * t * 0.85), (w / 2 - 0.06, t * h, lean * t * 0.85)],
            0.012,
            frame,
            sides=5,
        )
    if kit.rng.random() < 0.7:
        box = kit.material("plain", kit.pick(CARDS + GRIPS))
        b.box((-w / 2 + 0.04, 0.046, 0.02), (w / 2 - 0.04, 0.4 * h, d / 2 - 0.02), box)
    return b.mesh()


@maker("sawhorse")
def sawhorse(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Pair of trestles with planks across."""
    w, h, d = size
    timber, plank = wood(kit), wood(kit)
    for x in (-w * 0.32, w * 0.32):
        b.box((x - 0.05, h - 0.15, -d / 2), (x + 0.05, h - 0.06, d / 2), timber)
        for z in (-d / 2 + 0.08, d / 2 - 0.08):
            for side in (-1, 1):
                b.tube([(x, h - 0.1, z), (x + side * 0.17, 0.0, z)], 0.028, timber, sides=4)
        b.box(
            (x - 0.13, 0.28 * h, -d / 2 + 0.06), (x + 0.13, 0.28 * h + 0.05, -d / 2 + 0.09), timber
        )
    z = -d / 2 + 0.02
    while z < d / 2 - 0.16:
        wide = kit.uniform(0.13, 0.2)
        b.box((-w / 2, h - 0.059, z), (w / 2, h - 0.02, min(z + wide, d / 2)), plank)
        z += wide + kit.uniform(0.01, 0.07)
    b.box((-0.12, h - 0.019, -0.05), (0.14, h, 0.05), kit.material("plain", kit.pick(GRIPS)))
    return b.mesh()


@maker("extinguisher")
def extinguisher(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Fire extinguisher with hose and handle, hanging on its plate."""
    w, h, d = size
    red = kit.material("enamel", kit.pick(["#c0392f", "#a8281f"]))
    dark, plate = (
        kit.material("metal", DARK),
        kit.material("plain", kit.pick(["#f3f0e6", "#d9a02f"])),
    )
    r = min(w, d) * 0.4
    b.box((-w / 2, 0.0, 0.002), (w / 2, h, 0.014), plate, bevel=0)
    at = placed(0, 0, r + 0.02)
    b.lathe(
        [(0, 0.03), (r, 0.03), (r, 0.66 * h), (0.8 * r, 0.74 * h), (0.3 * r, 0.79 * h)],
        red,
        sides=18,
        pose=at,
    )
    b.lathe([(r * 1.004, 0.25 * h), (r * 1.004, 0.5 * h)], plate, sides=18, pose=at)
    b.box((-0.03, 0.79 * h, r - 0.02), (0.03, 0.86 * h, r + 0.12), dark)
    b.tube(
        [(0.02, 0.82 * h, r + 0.02), (r + 0.03, 0.7 * h, r + 0.03), (r + 0.02, 0.25 * h, r + 0.03)],
        0.012,
        dark,
        sides=6,
    )
    return b.mesh()


@maker("cone")
def cone(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Traffic cone with bright bands."""
    w, h, d = size
    orange = kit.material("plain", kit.pick(["#e0662a", "#d9502f", "#e8a02f"]))
    white = kit.material("plain", "#f3f0e6")
    half = min(w, d) / 2
    b.box((-half, 0, -half), (half, 0.035, half), orange, bevel=0.008)
    r0, r1 = 0.72 * half, 0.14 * half
    for t0, t1, part in (
        (0.0, 0.3, orange),
        (0.3, 0.5, white),
        (0.5, 0.68, orange),
        (0.68, 0.84, white),
        (0.84, 1.0, orange),
    ):
        low, high = 0.035 + t0 * (h - 0.035), 0.035 + t1 * (h - 0.035)
        b.lathe([(r0 + (r1 - r0) * t0, low), (r0 + (r1 - r0) * t1, high)], part, sides=18)
    b.lathe([(r1, h), (0, h)], orange, sides=18)
    return b.mesh()
