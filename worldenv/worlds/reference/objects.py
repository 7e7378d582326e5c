"""Smaller things: lamps, plants, pots, screens, boxes, rugs, and what hangs on walls.

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
    wood,
)
from worldenv.worlds.reference.scene import Mesh
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
        "fabric", kit.pick(["#f2dfb8", "#f0c890", "#e9e2d0", "#dfa08a", "#b9d0b0"]), "#fff6e0",
        kit.pick(["plain", "stripes", "plain"]), emission=0.8,
    )
    stem = metal(kit) if tall or kit.rng.random() < 0.4 else kit.material(
        "ceramic", kit.pick(CLOTHS), kit.pick(PALE), kit.pick(["bands", "waves", "scales", "plain"])
    )
    deep = min(0.34, 0.45 * h)
    low = h - deep
    b.lathe([(0, 0), (r * 0.62, 0), (r * 0.6, 0.025), (0.02, 0.05)], stem, sides=16)
    if tall and kit.rng.random() < 0.4:
        for i in range(3):
            a = 2.094 * i
            b.tube([(r * 0.95 * np.sin(a), 0, r * 0.95 * np.cos(a)), (0, low, 0)], 0.014, wood(kit)
                   if i == 0 else stem, sides=6)
    elif tall:
        b.cylinder(0.014, 0.03, low + 0.05, stem, sides=8)
    else:
        m = r * 0.6
        b.lathe([(0.04, 0.02), (m, low * 0.4), (m * 0.7, low * 0.75), (0.02, low)], stem, sides=14)
    if style == "globe":
        b.ball((0, low + deep / 2, 0), (min(r, deep * 0.55), deep / 2, min(r, deep * 0.55)), light,
               sides=18, rings=12)
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
    pot = kit.material("ceramic", kit.pick(["#b5623c", "#e8dfd0", "#3f4a50", "#5f7f8a"]),
                       kit.pick(CLOTHS), kit.pick(["bands", "waves", "scales", "plain"]))
    earth = kit.material("plain", "#3a2a1e", seed=5)
    pr = min(r * 0.62, pot_h * 0.62)
    b.lathe([(0, 0), (pr * 0.7, 0), (pr, pot_h), (pr * 0.88, pot_h)], pot, sides=16)
    b.lathe([(pr * 0.9, pot_h - 0.02), (0, pot_h - 0.01)], earth, sides=16)
    green = kit.material("leaf", kit.pick(["#2f6b2a", "#4d8f3c", "#1f5a3a", "#6c8f3a", "#7a4a5a"]),
                         kit.pick(["#9bb56a", "#c9d89a", "#2a4a22"]))
    style = kit.pick(["broad", "fern", "sword", "tree"])
    count = {"broad": 16, "fern": 22, "sword": 18, "tree": 60}[style] // (2 if b.coarse else 1)
    golden = 2.39996
    if style == "tree":
        trunk = kit.material("wood", "#6e5238")
        b.tube([(0, pot_h - 0.02, 0), (0.02, h * 0.5, 0.01), (0, h * 0.72, 0)], 0.02, trunk, sides=6)
    for i in range(count):
        a, share = golden * i, (i + 0.5) / count
        turn = np.degrees(a)
        if style == "tree":
            rise = np.arccos(1 - 2 * share)
            spread = r * 0.8 * np.sin(rise)
            at = (spread * np.sin(a), h * 0.72 + (h * 0.24) * np.cos(rise), spread * np.cos(a))
            _leaf(b, green, at, turn, 0.2 + 0.1 * (i % 3), 0.075, kit.uniform(-20, 50), 0.4)
        elif style == "sword":
            length = (h - pot_h) * kit.uniform(0.6, 1.0)
            at = (0.4 * pr * np.sin(a) * share, pot_h - 0.02, 0.4 * pr * np.cos(a) * share)
            _leaf(b, green, at, turn, length, 0.035, 90 - 24 * share, 0.1)
        elif style == "fern":
            _leaf(b, green, (0, pot_h - 0.02, 0), turn, min(1.15 * r / 0.8, h - pot_h), 0.055,
                  82 - 55 * share, 1.5)
        else:
            stem = (h - pot_h) * (0.35 + 0.5 * (1 - share))
            out = r * 0.35
            at = (out * np.sin(a), pot_h + stem, out * np.cos(a))
            b.tube([(0, pot_h - 0.02, 0), (0.5 * at[0], pot_h + 0.6 * stem, 0.5 * at[2]), at], 0.007,
                   green, sides=4)
            _leaf(b, green, at, turn, r * 0.62, r * 0.24, 25 - 20 * share, 0.9)
    mesh = b.mesh(two_sided=True)
    # Leaves are thrown by angle; drawing the few that leave the footprint in keeps the place free.
    points = mesh.vertices.copy()
    reach = np.maximum(np.hypot(points[:, 0], points[:, 2]) / r, 1)
    points[:, 0] /= reach
    points[:, 2] /= reach
    points[:, 1] = np.minimum(points[:, 1], h)
    return mesh._replace(vertices=points)


def _leaf(b: Builder, material: object, at: tuple[float, float, float], turn: float, length: float,
          width: float, rise: float, droop: float) -> None:
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
    b.add(points, uv, faces, material, placed(*at, turn=turn))  # type: ignore[arg-type]


@maker("vase")
def vase(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Turned vase, with twigs in half of them."""
    w, h, d = size
    r = min(w, d) / 2
    skin = kit.material("ceramic", kit.pick([*CLOTHS, "#e8dfd0", "#2d4f7c"]), kit.pick(PALE),
                        kit.pick(["bands", "waves", "scales", "plain"]))
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
    at = np.linspace(0, 1, 14)
    profile = [(0.0, 0.0)] + [(float(r * x), float(top * y)) for x, y in
                              zip(np.interp(at, knots[:, 1], knots[:, 0]), at, strict=True)]
    b.lathe([*profile, (profile[-1][0] * 0.8, top - 0.01), (0, top * 0.6)], skin, sides=18)
    if twigs:
        bark, bloom = kit.material("wood", "#6e5238"), kit.material("plain", kit.pick(
            ["#d98f9a", "#e8d27a", "#c9503f", "#e8e4da"]))
        for i in range(7):
            a, lean = 2.4 * i, 0.8 * r * ((i % 3) + 1) / 3
            end = np.array([lean * np.sin(a), h * (0.85 + 0.04 * (i % 4)), lean * np.cos(a)])
            b.tube([(0, top * 0.7, 0), end], 0.004, bark, sides=4)
            b.ball(tuple(end - [0, 0.01, 0]), (0.025, 0.025, 0.025), bloom, sides=7, rings=5)
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
    b.patch((-w / 2 + edge, foot + edge, 0.022), (w - 2 * edge, 0, 0), (0, h - foot - 2 * edge, 0), lit)
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
        b.lathe([(0, h * 0.0), *line, (0.74 * r, h), (0.74 * r, h - 0.03), (0, h - 0.03)], staves,
                sides=20, repeat=0.7)
        for t in (0.06, 0.28, 0.72, 0.94):
            q = 0.82 * r + 0.16 * r * np.sin(np.pi * t) + 0.012
            b.lathe([(q, h * t - 0.02), (q, h * t + 0.02)], hoop, sides=20, repeat=0.6)
    else:
        skin = kit.material("metal", kit.pick(["#2f6f9f", "#a33a2f", "#3f7a4a", "#d0a030", "#5a5f63"]))
        line = []
        for t in np.array([0.02, 0.3, 0.34, 0.38, 0.5, 0.62, 0.66, 0.7, 0.98]):
            rib = 0.012 * (abs(t - 0.34) < 0.01 or abs(t - 0.66) < 0.01)
            line.append((float(r - 0.015 + rib), float(h * t)))
        b.lathe([(0, 0), (r, 0), (r, 0.02), *line, (r, h - 0.02), (r, h), (r - 0.03, h),
                 (r - 0.03, h - 0.02), (0, h - 0.02)], skin, sides=22, repeat=0.8)
    return b.mesh()


@maker("crate")
def crate(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Slatted crate, banded trunk or cardboard box."""
    w, h, d = size
    style = kit.pick(["slats", "trunk", "box"])
    if style == "slats":
        board = wood(kit)
        b.box((-w / 2 + 0.02, 0.02, -d / 2 + 0.02), (w / 2 - 0.02, h - 0.02, d / 2 - 0.02),
              wood(kit))
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
        body, band = kit.material("leather", kit.pick(["#5a3323", "#2f3f3a", "#6d1f24", "#26262a"])), metal(kit)
        b.box((-w / 2 + 0.01, 0, -d / 2 + 0.01), (w / 2 - 0.01, h * 0.98, d / 2 - 0.01), body,
              bevel=0.03)
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
    skin = kit.material("ball", first, kit.pick(["#eeeeee", "#f0d040", "#202428"]),
                        kit.pick(["gores", "checks", "bands"]))
    b.ball((0, r, 0), (r, r, r), skin, sides=24, rings=14)
    return b.mesh()


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
    b.patch((-w / 2 + mount, mount, d * 0.35 + 0.011), (w - 2 * mount, 0, 0), (0, h - 2 * mount, 0),
            canvas, cells=(2, 2))
    return b.mesh()


@maker("clock")
def clock(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round or square wall clock."""
    w, h, d = size
    r = min(w, h) / 2
    rim = finish(kit) if kit.rng.random() < 0.5 else metal(kit)
    face = kit.material("dial", *[["#f4f0e6", "#222222"], ["#23282d", "#e8dcc0"],
                                  ["#c9503f", "#f4f0e6"], ["#d9c9a8", "#4b2f1e"]][int(kit.rng.integers(4))])
    up = placed(0, h / 2, 0, tilt=90)
    if kit.rng.random() < 0.6:
        b.lathe([(r, 0.002), (r, d), (r * 0.9, d), (r * 0.88, d * 0.6)], rim, sides=28, repeat=0.5,
                pose=up)
        a = np.linspace(0, 2 * np.pi, 28, endpoint=False)
        points = np.stack([r * 0.88 * np.sin(a), h / 2 + r * 0.88 * np.cos(a), np.full(28, d * 0.6)], 1)
        uv = np.stack([0.5 + 0.47 * np.sin(a), 0.5 - 0.47 * np.cos(a)], 1)
        fan = [[0, i + 1, i] for i in range(1, 27)]
        b.add(points, uv, fan, face)
    else:
        b.box((-r, h / 2 - r, 0.002), (r, h / 2 + r, d), rim, bevel=0.012)
        b.patch((-r + 0.025, h / 2 - r + 0.025, d + 0.011), (2 * r - 0.05, 0, 0), (0, 2 * r - 0.05, 0), face)
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
    b.box((-x1 - 0.04, y0 - 0.04, 0.002), (x1 + 0.04, y0, min(d, 0.14)), frame)
    if curtains:
        stuff = kit.material("fabric", kit.pick(CLOTHS), kit.pick(PALE), kit.pick(
            ["plain", "stripes", "dots", "plaid"]))
        rod = metal(kit)
        b.tube([(-w / 2, h - 0.04, 0.09), (w / 2, h - 0.04, 0.09)], 0.012, rod, sides=6)
        for side in (-1, 1):
            n = 10 if b.coarse else 22
            s = np.linspace(0, 1, n)
            x = side * (w / 2 - 0.02 - 0.34 * s)
            z = 0.1 + 0.022 * np.sin(s * 34)
            points = np.concatenate([np.stack([x, np.full(n, y), z], 1) for y in (0.0, h / 2, h - 0.05)])
            uv = np.concatenate([np.stack([s * 1.6, np.full(n, -y / 0.4)], 1) for y in (0.0, h / 2, h)])
            i = np.concatenate([np.arange(n - 1), np.arange(n - 1) + n])
            faces = np.concatenate([np.stack([i, i + 1, i + n + 1], 1), np.stack([i, i + n + 1, i + n], 1)])
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
    leaf = kit.material("wood", kit.pick(WOODS)) if kit.rng.random() < 0.5 else kit.material(
        "plain", kit.pick(["#7a2f35", "#2f4858", "#3f6f5a", "#e8e4da", "#d9a441", "#33658a"]))
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
                b.box((x0 + 0.02, y0 + 0.02, z0), (x1 - 0.02, y1 - 0.02, z1),
                      kit.material("plain", "#b8d0d8", seed=8) if style == "light" else leaf, bevel=0.01)
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
            pot = kit.material("ceramic", kit.pick(CLOTHS), kit.pick(PALE), kit.pick(
                ["bands", "waves", "scales"]))
            r = min(width, d) * 0.45
            b.lathe([(r * 0.6, 0), (r, tall * 0.45), (r * 0.4, tall * 0.8), (r * 0.55, tall)], pot,
                    sides=12, pose=placed(x + width / 2, 0.131, d / 2))
        else:
            count = max(1, int(width / 0.04))
            for i in range(count):
                cover = kit.material("plain", kit.pick(CLOTHS + PAINTS))
                b.box((x + i * 0.04, 0.131, 0.02), (x + i * 0.04 + 0.036, 0.131 + tall * kit.uniform(
                    0.8, 1.0), d * 0.85), cover)
        x += width + kit.uniform(0.02, 0.1)
    return b.mesh()
