"""Smaller things: lamps, plants, vases, screens, barrels, crates, rugs, a ball.

Makers as in ``furniture``.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import (
    CLOTHS,
    PALE,
    WOODS,
    Size,
    maker,
    metal,
    wood,
)
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit


@maker("lamp")
def lamp(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Floor or table lamp with a glowing shade."""
    w, h, d = size
    r = min(w, d) / 2
    tall = h > 1.0
    style = kit.pick(["drum", "cone", "globe"])
    light = kit.material(
        "fabric",
        kit.pick(["#f2dfb8", "#f0c890", "#e9e2d0", "#dfa08a", "#b9d0b0"]),
        "#fff6e0",
        kit.pick(["plain", "stripes", "plain"]),
        emission=0.8,
    )
    stem = (
        metal(kit)
        if tall or kit.rng.random() < 0.4
        else kit.material(
            "ceramic",
            kit.pick(CLOTHS),
            kit.pick(PALE),
            kit.pick(["bands", "waves", "scales", "plain"]),
        )
    )
    deep = min(0.34, 0.45 * h)
    low = h - deep
    b.lathe([(0, 0), (r * 0.62, 0), (r * 0.6, 0.025), (0.02, 0.05)], stem, sides=16)
    if tall and kit.rng.random() < 0.4:
        for i in range(3):
            a = 2.094 * i
            b.tube(
                [(r * 0.95 * np.sin(a), 0, r * 0.95 * np.cos(a)), (0, low, 0)],
                0.014,
                wood(kit) if i == 0 else stem,
                sides=6,
            )
    elif tall:
        b.cylinder(0.014, 0.03, low + 0.05, stem, sides=8)
    else:
        m = r * 0.6
        b.lathe([(0.04, 0.02), (m, low * 0.4), (m * 0.7, low * 0.75), (0.02, low)], stem, sides=14)
    if style == "globe":
        b.ball(
            (0, low + deep / 2, 0),
            (min(r, deep * 0.55), deep / 2, min(r, deep * 0.55)),
            light,
            sides=18,
            rings=12,
        )
    else:
        upper = r * (0.8 if style == "drum" else 0.4)
        b.lathe([(r, low), (upper, h)], light, sides=20)
        b.lathe([(upper, h), (upper * 0.2, h - 0.01)], light, sides=20)
        b.lathe([(r * 0.2, low + 0.01), (r, low)], light, sides=20)
    return b.mesh()


@maker("plant")
def plant(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Potted plant: broad leaves, fern fronds, sword leaves or a small tree."""
    w, h, d = size
    r = min(w, d) / 2
    pot_h = min(0.32, 0.34 * h)
    pot = kit.material(
        "ceramic",
        kit.pick(["#b5623c", "#e8dfd0", "#3f4a50", "#5f7f8a"]),
        kit.pick(CLOTHS),
        kit.pick(["bands", "waves", "scales", "plain"]),
    )
    earth = kit.material("plain", "#3a2a1e", seed=5)
    pr = min(r * 0.62, pot_h * 0.62)
    b.lathe([(0, 0), (pr * 0.7, 0), (pr, pot_h), (pr * 0.88, pot_h)], pot, sides=16)
    b.lathe([(pr * 0.9, pot_h - 0.02), (0, pot_h - 0.01)], earth, sides=16)
    green = kit.material(
        "leaf",
        kit.pick(["#2f6b2a", "#4d8f3c", "#1f5a3a", "#6c8f3a", "#7a4a5a"]),
        kit.pick(["#9bb56a", "#c9d89a", "#2a4a22"]),
    )
    style = kit.pick(["broad", "fern", "sword", "tree"])
    count = {"broad": 16, "fern": 22, "sword": 18, "tree": 60}[style] // (2 if b.coarse else 1)
    golden = 2.39996
    if style == "tree":
        trunk = kit.material("wood", "#6e5238")
        b.tube(
            [(0, pot_h - 0.02, 0), (0.02, h * 0.5, 0.01), (0, h * 0.72, 0)], 0.02, trunk, sides=6
        )
    for i in range(count):
        a, share = golden * i, (i + 0.5) / count
        turn = np.degrees(a)
        if style == "tree":
            rise = np.arccos(1 - 2 * share)
            spread = r * 0.8 * np.sin(rise)
            at = (spread * np.sin(a), h * 0.72 + (h * 0.24) * np.cos(rise), spread * np.cos(a))
            add_leaf(b, green, at, turn, 0.2 + 0.1 * (i % 3), 0.075, kit.uniform(-20, 50), 0.4)
        elif style == "sword":
            length = (h - pot_h) * kit.uniform(0.6, 1.0)
            at = (0.4 * pr * np.sin(a) * share, pot_h - 0.02, 0.4 * pr * np.cos(a) * share)
            add_leaf(b, green, at, turn, length, 0.035, 90 - 24 * share, 0.1)
        elif style == "fern":
            add_leaf(
                b,
                green,
                (0, pot_h - 0.02, 0),
                turn,
                min(1.15 * r / 0.8, h - pot_h),
                0.055,
                82 - 55 * share,
                1.5,
            )
        else:
            stem = (h - pot_h) * (0.35 + 0.5 * (1 - share))
            out = r * 0.35
            at = (out * np.sin(a), pot_h + stem, out * np.cos(a))
            b.tube(
                [(0, pot_h - 0.02, 0), (0.5 * at[0], pot_h + 0.6 * stem, 0.5 * at[2]), at],
                0.007,
                green,
                sides=4,
            )
            add_leaf(b, green, at, turn, r * 0.62, r * 0.24, 25 - 20 * share, 0.9)
    mesh = b.mesh(two_sided=True)
    # Leaves are thrown by angle; drawing the few that leave the footprint in keeps the place free.
    points = mesh.vertices.copy()
    reach = np.maximum(np.hypot(points[:, 0], points[:, 2]) / r, 1)
    points[:, 0] /= reach
    points[:, 2] /= reach
    points[:, 1] = np.minimum(points[:, 1], h)
    return mesh._replace(vertices=points)


def add_leaf(
    b: Builder,
    material: Material,
    at: tuple[float, float, float],
    turn: float,
    length: float,
    width: float,
    rise: float,
    droop: float,
) -> None:
    """Add a leaf that starts at a point, rises by an angle and bends down along its length."""
    steps = 3 if b.coarse else 5
    share = np.linspace(0, 1, steps + 1)
    angle = np.radians(rise) - droop * share
    along = np.concatenate([[0], np.cumsum(np.cos(angle[:-1]))]) * length / steps
    up = np.concatenate([[0], np.cumsum(np.sin(angle[:-1]))]) * length / steps
    half = width * np.sin(np.pi * np.clip(share * 0.93 + 0.05, 0, 1)) ** 0.8
    points = np.concatenate(
        [np.stack([half * s, up + 0.25 * abs(s) * half, along], axis=1) for s in (-1, 0, 1)]
    )
    uv = np.concatenate([np.stack([np.full(steps + 1, u), 1 - share], axis=1) for u in (0, 0.5, 1)])
    n = steps + 1
    faces = []
    for strip in (0, 1):
        for i in range(steps):
            p, q = strip * n + i, (strip + 1) * n + i
            faces += [[p, p + 1, q + 1], [p, q + 1, q]]
    b.add(points, uv, faces, material, placed(*at, turn=turn))


@maker("vase")
def vase(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Turned vase, with twigs in half of them."""
    w, h, d = size
    r = min(w, d) / 2
    skin = kit.material(
        "ceramic",
        kit.pick([*CLOTHS, "#e8dfd0", "#2d4f7c"]),
        kit.pick(PALE),
        kit.pick(["bands", "waves", "scales", "plain"]),
    )
    shape = kit.pick(["belly", "bottle", "flare", "urn"])
    twigs = kit.rng.random() < 0.5
    top = h * (0.6 if twigs else 1.0)
    ratio = {
        "belly": [(0.4, 0), (0.95, 0.35), (0.9, 0.6), (0.4, 0.88), (0.5, 1)],
        "bottle": [(0.6, 0), (0.8, 0.2), (0.7, 0.45), (0.25, 0.65), (0.22, 0.95), (0.35, 1)],
        "flare": [(0.35, 0), (0.4, 0.3), (0.55, 0.6), (0.95, 1)],
        "urn": [(0.5, 0), (0.3, 0.12), (0.9, 0.55), (0.95, 0.75), (0.6, 0.9), (0.75, 1)],
    }[shape]
    knots = np.array(ratio)
    at = np.linspace(0, 1, 11)
    profile = [(0.0, 0.0)] + [
        (float(r * x), float(top * y))
        for x, y in zip(np.interp(at, knots[:, 1], knots[:, 0]), at, strict=True)
    ]
    b.lathe([*profile, (profile[-1][0] * 0.8, top - 0.01), (0, top * 0.6)], skin, sides=18)
    if twigs:
        bark, bloom = (
            kit.material("wood", "#6e5238"),
            kit.material("plain", kit.pick(["#d98f9a", "#e8d27a", "#c9503f", "#e8e4da"])),
        )
        for i in range(7):
            a, lean = 2.4 * i, 0.8 * r * ((i % 3) + 1) / 3
            end = np.array([lean * np.sin(a), h * (0.85 + 0.04 * (i % 4)), lean * np.cos(a)])
            b.tube(np.array([[0, top * 0.7, 0], end]), 0.004, bark, sides=4)
            b.ball(tuple(end - [0, 0.01, 0]), (0.025, 0.025, 0.025), bloom, sides=6, rings=4)
    return b.mesh()


@maker("television")
def television(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Wide screen on a foot."""
    return _screen(kit, b, size, "film")


@maker("monitor")
def monitor(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Computer screen on a stem."""
    return _screen(kit, b, size, "desktop")


def _screen(kit: Kit, b: Builder, size: Size, style: str) -> Mesh:
    w, h, d = size
    case = kit.material("plain", kit.pick(["#1b1c1e", "#2b2d30", "#c9c9c4", "#5a4636"]))
    lit = kit.material("screen", style, emission=0.75)
    foot = 0.08 if style == "film" else 0.14
    b.box((-w / 2, foot, -0.03), (w / 2, h, 0.012), case, bevel=0.008)
    edge = 0.02 if kit.rng.random() < 0.6 else 0.045
    b.patch(
        (-w / 2 + edge, foot + edge, 0.022), (w - 2 * edge, 0, 0), (0, h - foot - 2 * edge, 0), lit
    )
    if kit.rng.random() < 0.5:
        b.box((-0.16 * w, 0, -d / 2), (0.16 * w, 0.015, d / 2), case)
        b.box((-0.04, 0.015, -0.05), (0.04, foot + 0.08, -0.031), case)
    else:
        for x in (-0.32 * w, 0.32 * w):
            b.box((x - 0.02, 0, -d / 2), (x + 0.02, 0.02, d / 2), case)
            b.box((x - 0.02, 0.02, -0.02), (x + 0.02, foot, 0.005), case)
    return b.mesh()


@maker("barrel")
def barrel(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Wooden cask or metal drum."""
    w, h, d = size
    r = min(w, d) / 2
    if kit.rng.random() < 0.5:
        staves, hoop = kit.material("panelling", kit.pick(WOODS)), metal(kit)
        line = [(0.82 * r + 0.16 * r * np.sin(np.pi * t), h * t) for t in np.linspace(0, 1, 9)]
        b.lathe(
            [(0, h * 0.0), *line, (0.74 * r, h), (0.74 * r, h - 0.03), (0, h - 0.03)],
            staves,
            sides=20,
            repeat=0.7,
        )
        for t in (0.06, 0.28, 0.72, 0.94):
            q = 0.82 * r + 0.16 * r * np.sin(np.pi * t) + 0.012
            b.lathe([(q, h * t - 0.02), (q, h * t + 0.02)], hoop, sides=20, repeat=0.6)
    else:
        skin = kit.material(
            "enamel", kit.pick(["#2f6f9f", "#a33a2f", "#3f7a4a", "#d0a030", "#5a5f63"])
        )
        line = []
        for t in np.array([0.02, 0.3, 0.34, 0.38, 0.5, 0.62, 0.66, 0.7, 0.98]):
            rib = 0.012 * (abs(t - 0.34) < 0.01 or abs(t - 0.66) < 0.01)
            line.append((float(r - 0.015 + rib), float(h * t)))
        b.lathe(
            [
                (0, 0),
                (r, 0),
                (r, 0.02),
                *line,
                (r, h - 0.02),
                (r, h),
                (r - 0.03, h),
                (r - 0.03, h - 0.02),
                (0, h - 0.02),
            ],
            skin,
            sides=22,
            repeat=0.8,
        )
    return b.mesh()


@maker("crate")
def crate(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Slatted crate, banded trunk or cardboard box."""
    w, h, d = size
    style = kit.pick(["slats", "trunk", "box"])
    if style == "slats":
        board = wood(kit)
        b.box(
            (-w / 2 + 0.02, 0.02, -d / 2 + 0.02), (w / 2 - 0.02, h - 0.02, d / 2 - 0.02), wood(kit)
        )
        rows = max(2, round(h / 0.14))
        for i in range(rows):
            y0, y1 = h * (i + 0.06) / rows, h * (i + 0.94) / rows
            for z0 in (-d / 2, d / 2 - 0.02):
                b.box((-w / 2, y0, z0), (w / 2, y1, z0 + 0.02), board)
            for x0 in (-w / 2, w / 2 - 0.02):
                b.box((x0, y0, -d / 2 + 0.02), (x0 + 0.02, y1, d / 2 - 0.02), board)
        for i in range(4):
            x0 = -w / 2 + w * i / 4
            b.box((x0 + 0.01, h - 0.02, -d / 2), (x0 + w / 4 - 0.01, h, d / 2), board)
    elif style == "trunk":
        body, band = (
            kit.material("leather", kit.pick(["#5a3323", "#2f3f3a", "#6d1f24", "#26262a"])),
            metal(kit),
        )
        b.box(
            (-w / 2 + 0.01, 0, -d / 2 + 0.01),
            (w / 2 - 0.01, h * 0.98, d / 2 - 0.01),
            body,
            bevel=0.03,
        )
        for x in (-w / 2 + 0.12 * w, 0.0, w / 2 - 0.12 * w):
            b.box((x - 0.02, 0.01, -d / 2), (x + 0.02, h, d / 2), band)
        b.box((-w / 2, h * 0.66, -d / 2), (w / 2, h * 0.69, d / 2), band)
    else:
        card = kit.material("plain", kit.pick(["#b08a5a", "#c49a68", "#e0dccf"]))
        tape = kit.material("plain", kit.pick(["#d8c890", "#a33a2f", "#3f6f8f"]))
        b.box((-w / 2, 0, -d / 2), (w / 2, h - 0.011, d / 2), card)
        b.box((-0.04, h * 0.6, -d / 2 - 0.002), (0.04, h, d / 2 + 0.002), tape, bevel=0)
    return b.mesh()


@maker("rug")
def rug(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Rectangular or round rug."""
    w, h, d = size
    pile = kit.material("rug", kit.pick(["medallion", "stripes", "lattice", "rings"]))
    if abs(w - d) < 0.3 and kit.rng.random() < 0.6:
        r, n = min(w, d) / 2, 40
        a = np.linspace(0, 2 * np.pi, n + 1)
        for k, (r0, r1) in enumerate(((0.0, 0.35), (0.35, 0.7), (0.7, 1.0))):
            ring = np.concatenate([np.stack([q * np.sin(a), q * np.cos(a)], 1) for q in (r0, r1)])
            points = np.stack([ring[:, 0] * r, np.full(len(ring), h), ring[:, 1] * r], axis=1)
            i = np.arange(n)
            faces = np.stack([i, i + n + 1, i + n + 2], 1)
            if k:
                faces = np.concatenate([faces, np.stack([i, i + n + 2, i + 1], 1)])
            b.add(points, 0.5 + ring * [0.5, 0.5], faces, pile)
        b.lathe([(r, 0), (r, h)], pile, sides=n)
    else:
        b.patch((-w / 2, h, d / 2), (w, 0, 0), (0, 0, -d), pile, cells=(6, 5))
        b.box((-w / 2, 0, -d / 2), (w / 2, h, d / 2), pile, bevel=0, skip="Yy", repeat=0.3)
    return b.mesh()


@maker("ball")
def ball(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Ball whose centre is at half its height."""
    r = min(size) / 2
    first = kit.pick(["#d02020", "#2050b0", "#208040", "#e07020", "#8030a0"])
    skin = kit.material(
        "ball",
        first,
        kit.pick(["#eeeeee", "#f0d040", "#3f5568"]),
        kit.pick(["gores", "checks", "bands"]),
    )
    b.ball((0, r, 0), (r, r, r), skin, sides=24, rings=14)
    return b.mesh()
