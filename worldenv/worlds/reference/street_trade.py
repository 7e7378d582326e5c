"""What shops and cafés put out: doors, awnings, hanging signs, tables, stalls, boards, trees."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference import street_textures
from worldenv.worlds.reference.furniture import PALE, Size
from worldenv.worlds.reference.outdoor_plants import tree
from worldenv.worlds.reference.outdoor_things import (
    BRIGHTS,
    STREET_MAKERS,
    TIMBERS,
    draw_iron,
    draw_timber,
    thing,
)
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.street_signs import draw_pictogram
from worldenv.worlds.reference.textures import Kit

assert street_textures  # Importing it registers its painters.

DOORS = ["#3f5a44", "#7a2f35", "#2f4f7a", "#5a3a28", "#23282d", "#c8a03a", "#2f7a7a", "#e4ddcc"]


@thing("door", makers=STREET_MAKERS)
def door(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Front door in its frame with a step, a light above the leaf, and a knob."""
    w, h, d = size
    tone = kit.pick(DOORS)
    frame = kit.material("plain", kit.pick(["#f2eee4", "#e4dccb", tone, "#3a3a3c"]))
    leaf = kit.material("doorleaf", tone, kit.pick(["panels", "panels", "glazed", "boards"]))
    x, z, t = w / 2, d / 2, 0.07
    over = 0.34 if kit.rng.random() < 0.6 else 0.0
    top = h - t - over
    for s0, s1 in ((-x, -x + t), (x - t, x)):
        b.box((s0, 0.0, -z), (s1, h, z), frame, bevel=0.006)
    b.box((-x + t, h - t, -z), (x - t, h, z), frame, bevel=0)
    inner = x - t
    b.patch((-inner, 0.03, z - 0.05), (2 * inner, 0, 0), (0, top - 0.03, 0), leaf)
    b.patch((inner, 0.03, -z + 0.02), (-2 * inner, 0, 0), (0, top - 0.03, 0), leaf)
    if over:
        b.box((-inner, top, -z), (inner, top + 0.05, z - 0.01), frame, bevel=0)
        glass = kit.material("pane", tone, "casement", "none")
        b.patch((-inner, top + 0.05, z - 0.06), (2 * inner, 0, 0), (0, over - 0.05, 0), glass)
    brass = kit.material("metal", "#c9a545")
    b.ball((0.74 * inner, 1.0, z - 0.01), (0.035, 0.035, 0.035), brass, sides=10, rings=6)
    if kit.rng.random() < 0.5:
        b.box((-0.16, 0.94, z - 0.05), (0.16, 0.99, z - 0.036), brass, bevel=0)
    b.box((-x, 0.0, -z), (x, 0.03, z), kit.material("stone", "#a89e8c"), bevel=0)
    return b.mesh()


@thing("awning", makers=STREET_MAKERS)
def awning(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Striped or plain awning with a valance, folded out from the wall at its back."""
    w, h, d = size
    tone, other = kit.pick(BRIGHTS), kit.pick([*PALE, "#f2efe6"])
    style = kit.pick(["stripes", "stripes", "plain"])
    cloth = kit.material("fabric", tone, other if style == "stripes" else tone, style)
    under = cloth._replace(tint=(0.82, 0.82, 0.82))
    x, z = w / 2, d / 2
    fall = 0.2
    low = h - (h - fall)
    scallop = kit.rng.random() < 0.6
    # Stripes run down the slope: along v of the cloth.
    n = max(6, round(w / 0.24) // 2 * 2)
    s = np.linspace(-x, x, n + 1)
    bar = np.arange(n + 1) * 0.25
    edge = np.full(n + 1, 0.0)
    if scallop:
        edge = 0.07 * (np.arange(n + 1) % 2)
    rows = [
        np.stack([s, np.full(n + 1, h), np.full(n + 1, -z)], 1),
        np.stack([s, np.full(n + 1, low), np.full(n + 1, z)], 1),
        np.stack([s, edge, np.full(n + 1, z)], 1),
    ]
    uv = np.concatenate([np.stack([0 * s + v, bar], 1) for v in (0.0, 1.2, 1.4)])
    k = np.arange(n)
    m = n + 1
    faces = np.concatenate(
        [
            np.concatenate(
                [
                    np.stack([k + r, k + r + m, k + r + m + 1], 1),
                    np.stack([k + r, k + r + m + 1, k + r + 1], 1),
                ]
            )
            for r in (0, m)
        ]
    )
    points = np.concatenate(rows)
    b.add(points, uv, faces, cloth)
    b.add(points - [0, 0.008, 0.008], uv, faces[:, ::-1], under)
    iron = draw_iron(kit)
    b.tube([(-x, low, z - 0.03), (x, low, z - 0.03)], 0.022, iron, sides=6)
    for p in (-x + 0.06, x - 0.06):
        b.tube([(p, low, z - 0.05), (p, low + 0.1, -z + 0.02)], 0.014, iron, sides=5)
    b.box((-x, h - 0.06, -z), (x, h + 0.04, -z + 0.1), iron, bevel=0.01)
    return b.mesh()


@thing("shop sign", makers=STREET_MAKERS)
def shop_sign(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Pictogram on a bracket that stands out from the wall at its back."""
    w, h, d = size
    iron = draw_iron(kit)
    z = d / 2
    b.box((-0.04, 0.1, -z), (0.04, h, -z + 0.02), iron, bevel=0)
    b.tube([(0, h - 0.04, -z), (0, h - 0.04, z)], 0.014, iron, sides=6)
    b.tube(
        [(0, h - 0.3, -z + 0.01), (0, h - 0.1, -0.1 * d), (0, h - 0.05, 0.2 * d)],
        0.01,
        iron,
        sides=5,
    )
    face = kit.material("pictogram", *draw_pictogram(kit), seed=0)
    r = 0.5 * min(h - 0.14, d - 0.08)
    y, at = h - 0.12 - r, z - r - 0.02
    round_ = kit.rng.random() < 0.5
    n = 25 if round_ else 5
    a = np.linspace(0, 2 * np.pi, n)[:-1] + (0 if round_ else np.pi / 4)
    scale = r if round_ else r * 1.38
    flat = np.stack([scale * np.cos(a), scale * np.sin(a)], 1)
    half = min(w / 2, 0.03)
    fan = np.array([[0, k, k + 1] for k in range(1, n - 2)])
    fit = 0.95 / (2 * r * (1.0 if round_ else 0.98))
    for s in (1, -1):
        points = np.column_stack([np.full(n - 1, s * half), flat[:, 1] + y, flat[:, 0] + at])
        uv = np.stack([0.5 - s * flat[:, 0] * fit, 0.5 - flat[:, 1] * fit], 1)
        b.add(points, uv, fan[:, ::-1] if s > 0 else fan, face)
    k = np.arange(n - 1)
    m = n - 1
    both = np.concatenate(
        [np.column_stack([np.full(m, s * half), flat[:, 1] + y, flat[:, 0] + at]) for s in (1, -1)]
    )
    rim = np.concatenate(
        [np.stack([k, (k + 1) % m, (k + 1) % m + m], 1), np.stack([k, (k + 1) % m + m, k + m], 1)]
    )
    b.add(both, np.zeros((2 * m, 2)), rim[:, ::-1], iron)
    for dz in (-0.5 * r, 0.5 * r):
        b.tube([(0, y + 0.84 * r, at + dz), (0, h - 0.04, at + dz)], 0.006, iron, sides=4)
    return b.mesh()


@thing("cafe table", makers=STREET_MAKERS)
def cafe_table(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round or square table on one foot with two to four chairs; cups, a jug or flowers on it."""
    w, h, d = size
    iron = draw_iron(kit)
    top = kit.material(
        kit.pick(["stone", "wood", "metal"]), kit.pick(["#d9d4c8", "#8a6a48", "#b8bcc0", "#e8e4da"])
    )
    r = 0.26 * min(w, d)
    b.cylinder(0.22, 0, 0.03, iron, sides=14)
    b.cylinder(0.03, 0.03, h - 0.03, iron, sides=8)
    if kit.rng.random() < 0.6:
        b.cylinder(r, h - 0.03, h, top, sides=22)
    else:
        b.box((-0.9 * r, h - 0.03, -0.9 * r), (0.9 * r, h, 0.9 * r), top, bevel=0.006)
    china = kit.material("plain", kit.pick(["#f4f0e8", "#e8d8c0", "#a8c4d0"]))
    for s in (-1, 1):
        at = placed(s * 0.5 * r, h, 0.12 * s)
        b.lathe([(0.055, 0.0), (0.06, 0.008), (0.0, 0.01)], china, sides=12, pose=at)
        b.lathe([(0.022, 0.01), (0.036, 0.07), (0.03, 0.07), (0.0, 0.03)], china, sides=10, pose=at)
    flower = kit.material("plain", kit.pick(BRIGHTS))
    b.cylinder(0.03, h, h + 0.12, kit.material("plain", "#6f8a94"), sides=8)
    for k in range(5):
        a = 1.2566 * k
        b.ball(
            (0.05 * np.sin(a), h + 0.18 + 0.02 * (k % 2), 0.05 * np.cos(a)),
            (0.035, 0.03, 0.035),
            flower,
            sides=7,
            rings=5,
        )
    seat = kit.material("plain", kit.pick([*BRIGHTS, *TIMBERS]))
    frame = iron if kit.rng.random() < 0.6 else kit.material("wood", kit.pick(TIMBERS))
    count = int(kit.rng.integers(2, 5))
    style = kit.pick(["slats", "wicker", "round"])
    weave = kit.material("fabric", kit.pick(["#b08a58", "#8a4a3a", "#4a6a5a"]), "#e8dcc0", "check")
    start = kit.uniform(-0.3, 0.3)
    for k in range(count):
        a = start + 2 * np.pi * k / count + np.pi / 2
        far = 0.5 * min(w, d) - 0.23
        pose = placed(far * np.sin(a), 0, far * np.cos(a), np.degrees(a) + 180)
        for sx in (-1, 1):
            b.tube(
                [(0.17 * sx, 0, 0.18), (0.17 * sx, 0.44, 0.16)], 0.012, frame, sides=5, pose=pose
            )
            b.tube(
                [(0.17 * sx, 0, -0.19), (0.17 * sx, 0.44, -0.16), (0.16 * sx, 0.86, -0.21)],
                0.012,
                frame,
                sides=5,
                pose=pose,
            )
        skin = weave if style == "wicker" else seat
        if style == "round":
            b.cylinder(0.2, 0.43, 0.46, skin, sides=14, pose=pose)
        else:
            b.box((-0.2, 0.43, -0.18), (0.2, 0.46, 0.2), skin, repeat=0.3, pose=pose)
        for y in (0.58, 0.68, 0.78) if style == "slats" else (0.62,):
            high = 0.05 if style == "slats" else 0.2
            tilt = pose @ placed(0, y, -0.185 - 0.05 * (y - 0.44), 0, -6)
            b.box((-0.18, 0, -0.01), (0.18, high, 0.01), skin, bevel=0, repeat=0.3, pose=tilt)
    return b.mesh()


@thing("market stall", makers=STREET_MAKERS)
def market_stall(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Stall of crates of fruit or flowers under a striped cloth roof."""
    w, h, d = size
    timber = draw_timber(kit)
    tone = kit.pick(BRIGHTS)
    cloth = kit.material(
        "fabric", tone, "#f2efe6", kit.pick(["stripes", "stripes", "plain", "check"])
    )
    x, z = w / 2 - 0.12, d / 2 - 0.12
    for sx in (-1, 1):
        for sz, top in ((-1, h - 0.04), (1, h - 0.32)):
            b.box(
                (sx * x - 0.03, 0, sz * z - 0.03),
                (sx * x + 0.03, top, sz * z + 0.03),
                timber,
                bevel=0,
            )
    o = 0.12
    roof = np.array(
        [
            (-x - o, h, -z - o),
            (x + o, h, -z - o),
            (x + o, h - 0.34, z + o),
            (-x - o, h - 0.34, z + o),
            (x + o, h - 0.56, z + o),
            (-x - o, h - 0.56, z + o),
        ]
    )
    reps = 2 * x / 1.0
    uv = np.array([(0, 0), (0, reps), (1.5, reps), (1.5, 0), (1.75, reps), (1.75, 0)])
    faces = np.array([[0, 3, 2], [0, 2, 1], [3, 5, 4], [3, 4, 2]])
    b.add(roof, uv, faces, cloth)
    b.add(roof - [0, 0.012, 0.01], uv, faces[:, ::-1], cloth._replace(tint=(0.85, 0.85, 0.85)))
    b.box((-x, 0.62, -z), (x, 0.68, z), timber, bevel=0)
    skirt = kit.material("fabric", kit.pick(BRIGHTS), kit.pick(PALE), kit.pick(["plain", "check"]))
    b.patch((-x, 0.02, z), (2 * x, 0, 0), (0, 0.6, 0), skirt, repeat=0.8)
    for sx in (-1, 1):
        b.patch((sx * x, 0.02, z * sx), (0, 0, -2 * z * sx), (0, 0.6, 0), skirt, repeat=0.8)
    crate = kit.material("planks", kit.pick(["#c9a878", "#a98a63", "#8a6a48"]))
    count = max(3, round(2 * x / 0.62))
    fruits = ["#d9352f", "#f0a030", "#7aa83a", "#e8d040", "#8a3a6a", "#c86a3a", "#3f7a3a"]
    kind = kit.pick(["fruit", "fruit", "flowers"])
    # A board behind holds the tilted crates, and what would be a gap beneath them.
    b.box((-x + 0.03, 0.68, -0.35 * z - 0.245), (x - 0.03, 0.93, -0.35 * z - 0.22), timber, bevel=0)
    for y, at in ((0.7, 0.5 * z), (0.86, -0.35 * z)):
        for k in range(count):
            px = -x + (k + 0.5) * 2 * x / count
            half = x / count - 0.03
            pose = placed(px, y, at, 0, 14)
            b.box((-half, 0, -0.24), (half, 0.12, 0.24), crate, bevel=0, repeat=0.5, pose=pose)
            good = kit.material("plain", kit.pick(fruits), seed=1)
            if kind == "flowers":
                bloom = kit.material(
                    "blooms",
                    kit.pick(["#d9352f", "#f2c530", "#e87aa8", "#8a4fc0", "#f4f0f0"]),
                    kit.pick(["#f4f0f0", "#f08030"]),
                )
                b.cushion(
                    (-half + 0.02, 0.1, -0.22),
                    (half - 0.02, 0.34, 0.22),
                    bloom,
                    radius=0.1,
                    repeat=0.5,
                    pose=pose,
                )
                continue
            for i in range(4):
                for j in range(3):
                    fx, fz = -half + (i + 0.5) * half / 2, -0.17 + 0.17 * j
                    s = 0.24 * half
                    b.ball(
                        (fx, 0.13 + 0.01 * ((i + j) % 2), fz),
                        (s, 0.06, min(s, 0.08)),
                        good,
                        sides=7,
                        rings=5,
                        pose=pose,
                    )
    return b.mesh()


@thing("menu board", makers=STREET_MAKERS)
def menu_board(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Two slates leaning together, or one on an easel."""
    w, h, d = size
    timber = draw_timber(kit)
    slate = kit.material(
        "chalkboard",
        kit.pick(["#2c302e", "#2f3f38", "#33302c"]),
        kit.pick(["#f0ece2", "#f0d89a", "#b8e0d0"]),
    )
    lean = float(np.degrees(np.arctan2(0.42 * d, h)))
    for turn in (0, 180):
        pose = placed(turn=turn) @ placed(0, 0, d / 2 - 0.04, 0, -lean)
        for s in (-1, 1):
            b.box(
                (s * w / 2 - (0.045 if s > 0 else 0), 0, -0.03),
                (s * w / 2 + (0.045 if s < 0 else 0), h, 0.0),
                timber,
                bevel=0.004,
                pose=pose,
            )
        for y in (0.12, h - 0.05):
            b.box(
                (-w / 2 + 0.045, y, -0.03),
                (w / 2 - 0.045, y + 0.05, 0.0),
                timber,
                bevel=0,
                pose=pose,
            )
        b.patch((-w / 2 + 0.045, 0.17, -0.01), (w - 0.09, 0, 0), (0, h - 0.22, 0), slate, pose=pose)
        b.patch(
            (w / 2 - 0.045, 0.17, -0.02), (-(w - 0.09), 0, 0), (0, h - 0.22, 0), timber, pose=pose
        )
    return b.mesh()


@thing("tree", smooth=True, leafy=True, makers=STREET_MAKERS)
def street_tree(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Tree in an iron grate or a ring of stones, some within a guard."""
    tree(kit, b, size)
    iron = kit.material("metal", kit.pick(["#3a3f42", "#5a4a3c", "#4f5a52"]))
    soil = kit.material("plain", "#4a3a2a", seed=5)
    half = 0.62
    b.patch((-half, 0.004, half), (2 * half, 0, 0), (0, 0, -2 * half), soil)
    for k in range(9):
        x = -half + 2 * half * k / 8
        b.box((x - 0.022, 0.005, -half), (x + 0.022, 0.022, half), iron, bevel=0, cell=3.0)
    for z in (-half, half):
        b.box(
            (-half - 0.04, 0.0, z - 0.04), (half + 0.04, 0.026, z + 0.04), iron, bevel=0, cell=3.0
        )
    if kit.rng.random() < 0.5:
        for k in range(8):
            a = np.pi / 4 * k
            x, z = 0.26 * np.sin(a), 0.26 * np.cos(a)
            b.tube([(x, 0, z), (x, 1.15, z), (1.25 * x, 1.3, 1.25 * z)], 0.011, iron, sides=4)
        for y in (0.25, 1.1):
            b.lathe([(0.27, y - 0.018), (0.27, y + 0.018)], iron, sides=16)
    return b.mesh()
