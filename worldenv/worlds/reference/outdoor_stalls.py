"""What people leave or put up in parks: bicycles, signposts, kiosks."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import PALE, Size
from worldenv.worlds.reference.outdoor_things import (
    BRIGHTS,
    draw_iron,
    draw_timber,
    ring,
    thing,
)
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, forth, placed
from worldenv.worlds.reference.textures import Kit


@thing("bicycle")
def bicycle(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Bicycle on its stand: city, sports or with a basket; the front wheel at +x."""
    w, h, d = size
    paint = kit.material("enamel", kit.pick(BRIGHTS))
    black = kit.material("plain", "#22242a")
    chrome = kit.material("metal", "#b8bcc0")
    r = kit.uniform(0.31, 0.35)
    base = w / 2 - r
    style = kit.pick(["city", "sport", "basket"])
    tyre = kit.material("plain", kit.pick(["#1c1e22", "#1c1e22", "#c9b48a"]))
    for x in (-base, base):
        place = placed(x, 0, 0)
        b.tube(ring(r - 0.02, r, count=21, upright=True), 0.022, tyre, sides=6, pose=place)
        b.tube(ring(r - 0.05, r, count=17, upright=True), 0.009, chrome, sides=4, pose=place)
        for k in range(8):
            t = np.pi / 4 * k + 0.2
            b.tube(
                [(0, r, 0), ((r - 0.04) * np.cos(t), r + (r - 0.04) * np.sin(t), 0)],
                0.0035,
                chrome,
                sides=3,
                pose=place,
            )
        b.cylinder(0.03, -0.04, 0.04, chrome, sides=8, pose=place @ forth(0, r, 0))
    crank, seat = (-0.06, r - 0.03, 0), (-0.2, 0.82, 0)
    head, fork = (base - 0.2, 0.84, 0), (base - 0.14, 0.66, 0)
    b.tube([crank, seat], 0.017, paint, sides=6)
    b.tube([crank, fork], 0.019, paint, sides=6)
    if style == "city" or style == "basket":
        b.tube([(-0.1, 0.48, 0), (0.15, 0.5, 0), head], 0.017, paint, sides=6)
    else:
        b.tube([(-0.18, 0.74, 0), head], 0.017, paint, sides=6)
    for z in (-0.045, 0.045):
        b.tube([(-base, r, z), crank], 0.01, paint, sides=5)
        b.tube([(-base, r, z), (-0.18, 0.7, z * 0.3)], 0.009, paint, sides=5)
        b.tube([(base, r, z), fork], 0.012, paint, sides=5)
    b.tube([fork, head, (head[0] - 0.02, h - 0.1, 0)], 0.018, paint, sides=6)
    wide = min(0.28, d / 2)
    back = -0.16 if style != "sport" else 0.1
    b.tube(
        [
            (head[0] + back, h - 0.02, -wide),
            (head[0], h - 0.06, -0.1),
            (head[0] - 0.02, h - 0.08, 0),
            (head[0], h - 0.06, 0.1),
            (head[0] + back, h - 0.02, wide),
        ],
        0.013,
        chrome,
        sides=6,
    )
    b.cushion((-0.34, 0.86, -0.085), (-0.06, 0.93, 0.085), black, radius=0.03)
    b.tube([seat, (-0.21, 0.88, 0)], 0.013, chrome, sides=6)
    b.cylinder(
        0.08, -0.01, 0.01, chrome, sides=12, pose=placed(crank[0], 0, 0.03) @ forth(0, crank[1], 0)
    )
    b.tube(
        [(crank[0], crank[1], 0.05), (crank[0] + 0.1, crank[1] - 0.13, 0.05)],
        0.009,
        chrome,
        sides=4,
    )
    b.box(
        (crank[0] + 0.06, crank[1] - 0.145, 0.06),
        (crank[0] + 0.15, crank[1] - 0.125, 0.15),
        black,
        bevel=0,
    )
    b.tube([(crank[0], crank[1] - 0.02, -0.03), (-0.2, 0.0, -0.2)], 0.011, chrome, sides=4)
    if style != "sport":
        for x in (-base, base):
            a = np.linspace(0.25, 2.5, 8)
            line = np.stack([(r + 0.03) * np.cos(a) + x, r + (r + 0.03) * np.sin(a), 0 * a], 1)
            b.tube(line, 0.018, paint, sides=5)
    if style == "basket":
        wicker = kit.material("fabric", "#b08a58", "#8a6438", "check")
        b.box(
            (base - 0.12, h - 0.32, -0.15),
            (base + 0.16, h - 0.1, 0.15),
            wicker,
            bevel=0,
            skip="Y",
            repeat=0.3,
        )
        b.patch((base - 0.11, h - 0.29, 0.14), (0.26, 0, 0), (0, 0, -0.28), wicker, repeat=0.3)
    return b.mesh()


@thing("signpost")
def signpost(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Pointing boards on a post, or a notice board."""
    w, h, _ = size
    timber, iron = draw_timber(kit), draw_iron(kit)
    if kit.rng.random() < 0.4:
        for x in (-0.42 * w, 0.42 * w):
            b.box((x - 0.045, 0, -0.045), (x + 0.045, h - 0.1, 0.045), timber)
        b.box((-0.42 * w, 0.75, -0.03), (0.42 * w, h - 0.2, 0.03), timber, bevel=0)
        sheet = kit.material("landscape")
        b.patch((-0.36 * w, 0.82, 0.034), (0.72 * w, 0, 0), (0, h - 1.1, 0), sheet)
        for s, turn in ((-1, 25), (1, -25)):
            b.box(
                (-w / 2 - 0.02, -0.015, -0.15 if s < 0 else 0.0),
                (w / 2 + 0.02, 0.015, 0.0 if s < 0 else 0.15),
                timber,
                pose=placed(0, h - 0.06, 0, 0, -turn),
                bevel=0,
            )
        return b.mesh()
    post = timber if kit.rng.random() < 0.5 else iron
    b.box((-0.05, 0, -0.05), (0.05, h, 0.05), post)
    b.lathe([(0.075, h), (0.0, h + 0.0)], post, sides=4)
    ground = kit.pick(["#e8e0c8", "#2f5f45", "#2f4f7a", "#6b4028", "#d8d4c8"])
    mark = "#f2efe6" if ground != "#e8e0c8" and ground != "#d8d4c8" else "#3a2c22"
    count = 2 + int(kit.rng.integers(3))
    for k in range(count):
        y = h - 0.2 - 0.24 * k
        side = 1 if (k + int(kit.rng.integers(2))) % 2 else -1
        long = w * kit.uniform(0.4, 0.5)
        board = kit.material("plate", ground, mark, seed=int(kit.rng.integers(64)))
        outline = np.array(
            [(-0.1, -0.08), (long - 0.1, -0.08), (long, 0), (long - 0.1, 0.08), (-0.1, 0.08)]
        )
        place = placed(0, y, 0.055, kit.uniform(-12, 12))
        for z, order in ((0.02, 1), (-0.005, -1)):
            points = np.column_stack([side * outline[:, 0], outline[:, 1], np.full(5, z)])
            uv = np.column_stack([(outline[:, 0] + 0.1) / (long + 0.1), 0.5 - outline[:, 1] / 0.16])
            if side < 0:
                uv[:, 0] = 1 - uv[:, 0]
            faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4]])[:, :: order * side]
            b.add(points, uv, faces, board, place)
        b.box(
            (min(-0.1 * side, side * (long - 0.1)), -0.08, -0.003),
            (max(-0.1 * side, side * (long - 0.1)), 0.08, 0.018),
            post,
            bevel=0,
            skip="zZ",
            pose=place,
        )
    return b.mesh()


@thing("kiosk", smooth=True)
def kiosk(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Kiosk or hut: board walls, a hatch with a counter and an awning, a pitched or flat roof."""
    w, h, d = size
    wall = kit.material(
        "panelling", kit.pick(["#7d9a86", "#c8b48a", "#8a4a3a", "#3f5f7a", "#d8d2c0", "#5a6b4a"])
    )
    trim = kit.material("plain", kit.pick(["#f0ece0", "#3a2c22", "#2f4858"]))
    dark = kit.material("plain", "#2c2a28")
    x, z, top = w / 2 - 0.15, d / 2 - 0.15, h * 0.76
    low, high = 1.0, min(2.0, top - 0.15)
    b.box((-x, 0, -z), (x, 0.12, z), kit.material("concrete", "#8f9090"), bevel=0.01)
    half = 0.62 * x
    # Boards end at the posts: corners within a post get no light, and darken the whole board.
    end = x - 0.04
    b.box((-x, 0.12, -z), (x, top, z - 0.04), wall, bevel=0, repeat=1.7, skip="Z")
    b.box((-end, 0.12, z - 0.08), (end, low - 0.05, z), wall, bevel=0, repeat=1.7)
    for s0, s1 in ((-end, -half), (half, end)):
        b.box((s0, low - 0.05, z - 0.08), (s1, high, z), wall, bevel=0, repeat=1.7)
    b.box((-end, high, z - 0.08), (end, top, z), wall, bevel=0, repeat=1.7)
    b.patch((-x + 0.05, 0.2, z - 0.7), (2 * x - 0.1, 0, 0), (0, top - 0.3, 0), dark)
    for k in range(5):
        tone = kit.material("plain", kit.pick(BRIGHTS))
        at = -half + 0.1 + (2 * half - 0.3) * k / 5
        tall = kit.uniform(0.12, 0.3)
        b.box((at, low + 0.02, z - 0.5), (at + 0.2, low + tall, z - 0.36), tone, bevel=0)
    b.box(
        (-half + 0.01, low - 0.04, z - 0.55), (half - 0.01, low + 0.02, z + 0.24), trim, bevel=0.006
    )
    for s in (-x, x):
        b.box((s - 0.04, 0.12, z - 0.04), (s + 0.04, top, z + 0.03), trim)
    stripe = kit.pick(BRIGHTS)
    awning = kit.material("fabric", stripe, kit.pick(PALE), "stripes")
    steep = kit.uniform(0.28, 0.4)
    p = np.array(
        [
            (-half - 0.1, high + 0.22, z),
            (half + 0.1, high + 0.22, z),
            (half + 0.1, high + 0.22 - steep, z + 0.62),
            (-half - 0.1, high + 0.22 - steep, z + 0.62),
        ]
    )
    fall = np.array(
        [(-half - 0.1, high + 0.1 - steep, z + 0.62), (half + 0.1, high + 0.1 - steep, z + 0.62)]
    )
    points = np.concatenate([p, fall])
    uv = np.array([(0, 0), (0, 3), (0.6, 3), (0.6, 0), (0.72, 0), (0.72, 3)])
    faces = np.array([[0, 3, 2], [0, 2, 1], [3, 4, 5], [3, 5, 2]])
    b.add(points, uv, faces, awning)
    b.add(points - [0, 0.012, 0.008], uv, faces[:, ::-1], awning)
    roof = (
        kit.material("rooftiles", kit.pick(["#a4533a", "#5a5f66", "#6b4a38"]))
        if kit.rng.random() < 0.6
        else kit.material("metal", kit.pick(["#5a6b60", "#70757a"]))
    )
    over = 0.15
    if kit.rng.random() < 0.6:
        r0, r1 = (x + over, z + over), h
        tip = 0.35 * x
        corners = np.array(
            [
                (-r0[0], top, r0[1]),
                (r0[0], top, r0[1]),
                (r0[0], top, -r0[1]),
                (-r0[0], top, -r0[1]),
                (-tip, r1, 0),
                (tip, r1, 0),
            ]
        )
        for face, uvs in (
            ([0, 1, 5, 4], [(0, 1), (2, 1), (1.4, 0), (0.6, 0)]),
            ([2, 3, 4, 5], [(0, 1), (2, 1), (1.4, 0), (0.6, 0)]),
            ([1, 2, 5], [(0, 1), (1.6, 1), (0.8, 0)]),
            ([3, 0, 4], [(0, 1), (1.6, 1), (0.8, 0)]),
        ):
            b.add(corners[face], uvs, [[0, i, i + 1] for i in range(1, len(face) - 1)], roof)
        b.box((-r0[0], top - 0.05, -r0[1]), (r0[0], top, r0[1]), trim, bevel=0)
    else:
        b.box((-x - over, top, -z - over), (x + over, top + 0.12, z + over), trim, bevel=0.01)
        board = kit.material("plate", kit.pick(["#c8423a", "#2f5f45", "#2f4f7a"]), "#f2efe6")
        b.box((-0.7 * x, top + 0.12, z - 0.02), (0.7 * x, h, z + 0.02), trim, bevel=0)
        b.patch((-0.68 * x, top + 0.14, z + 0.025), (1.36 * x, 0, 0), (0, h - top - 0.16, 0), board)
    return b.mesh()
