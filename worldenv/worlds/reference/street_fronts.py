"""House fronts: walls with real window openings, shops, roofs; each stands with its front at z = 0.

A front's openings are data, so that another draw of its looks keeps them where doors and awnings
hang.
"""

from __future__ import annotations

import zlib
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.street_signs import draw_pictogram
from worldenv.worlds.reference.street_styles import STOREY, Front, Style, draw_style
from worldenv.worlds.reference.textures import Kit

Points = NDArray[np.float64]
DEPTH = 7.0
"""How deep houses are, in metres."""
TEXEL = 0.17
"""Side of a light-map texel of a near house, in metres."""
REVEAL = 0.16
"""How far windows lie behind the wall, in metres."""
DOOR = (1.06, 2.3)
"""Width and height of a door's opening, in metres."""


def make_building(front: Front, seed: int, fine: bool = True) -> Piece:
    """Return a house with that front.

    Args:
        front: Its openings.
        seed: Its looks: walls, window frames, shutters, balconies, shop colours, roof.
        fine: Whether frames, balconies and shutters are built; far houses go without.
    """
    key = (seed, zlib.crc32(b"building"))
    kit = Kit(key)
    mesh = _building(kit, Builder(), front, fine)._replace(texel=TEXEL if fine else 3 * TEXEL)
    coarse = None
    if fine:
        coarse = _building(Kit(key), Builder(coarse=True), front, False)._replace(texel=3 * TEXEL)
    return Piece(mesh, coarse, f"building/{seed}", kit.textures)


def _building(kit: Kit, b: Builder, front: Front, fine: bool) -> Mesh:
    style = draw_style(kit, front)
    holes, ground = _openings(front, style)
    plan = kit.rng.integers(0, 4, (front.storeys + 1, len(front.bays)))
    _wall(b, front, style, [h for h, _ in holes])
    for (x0, x1, y0, y1), kind in holes:
        reveal = 0.24 if kind == "d" else REVEAL
        pane: Material = style.panes[
            int(plan[int(y0 // 3) % len(plan), int((x0 + 50) // 2) % len(front.bays)])
        ]
        if kind == "s":
            pane = style.displays[int(x0 + 50) // 3 % 2]
        side = style.shop if kind == "s" else style.plain if kind == "d" else style.wall
        _hole(b, (x0, x1, y0, y1), reveal, side, pane, style, kind, fine)
        if fine and kind == "w":
            _dress(b, (x0, x1, y0, y1), style, y0 > ground)
        elif kind == "w":
            b.box((x0 - 0.08, y0 - 0.07, -0.05), (x1 + 0.08, y0, 0.06), style.trim, bevel=0)
    _shops(b, kit, front, style)
    if fine:
        _balconies(b, front, style, holes)
    _roof(b, kit, front, style, fine)
    return b.mesh()


Hole = tuple[float, float, float, float]


def _openings(front: Front, style: Style) -> tuple[list[tuple[Hole, str]], float]:
    """Return the openings (x0, x1, y0, y1) with their kinds, and where the upper floors begin."""
    holes: list[tuple[Hole, str]] = []
    bay = front.width / len(front.bays)
    wide, tall = min(style.upper[0], 0.62 * bay), style.upper[1]
    for k, kind in enumerate(front.bays):
        x = front.middle(k)
        if kind == "s":
            half = 0.43 * bay
            holes.append(((x - half, x + half, 0.5, front.ground - 0.85), "s"))
        elif kind == "d":
            holes.append(((x - DOOR[0] / 2, x + DOOR[0] / 2, 0.0, DOOR[1]), "d"))
        elif kind == "w":
            holes.append(
                ((x - wide / 2, x + wide / 2, 1.0, min(1.0 + tall, front.ground - 0.5)), "w")
            )
        for floor in range(front.storeys):
            low = front.ground + STOREY * floor + 0.72
            holes.append(((x - wide / 2, x + wide / 2, low, low + tall), "w"))
    return holes, front.ground


def _wall(b: Builder, front: Front, style: Style, holes: list[Hole]) -> None:
    """Add the wall as one grid with cells left out, so that its light is one map."""
    xs = sorted(
        {-front.width / 2, front.width / 2, *(round(h[k], 4) for h in holes for k in (0, 1))}
    )
    ys = sorted({0.0, 0.5, front.height, *(round(h[k], 4) for h in holes for k in (2, 3))})
    xs = [x for x, y in zip(xs, [*xs[1:], 1e9], strict=True) if y - x > 1e-3]
    for x0, x1 in pairwise(xs):
        for y0, y1 in pairwise(ys):
            x, y = (x0 + x1) / 2, (y0 + y1) / 2
            if any(h[0] < x < h[1] and h[2] < y < h[3] for h in holes):
                continue
            corners = np.array([(x0, y0, 0.0), (x1, y0, 0.0), (x1, y1, 0.0), (x0, y1, 0.0)])
            material = style.base if y < 0.5 else style.wall
            u, v = style.repeat if y >= 0.5 else (1.6, 1.6)
            uv = corners[:, :2] * [1 / u, -1 / v]
            b.add(corners, uv, [[0, 1, 2], [0, 2, 3]], material)


def _hole(
    b: Builder,
    hole: Hole,
    deep: float,
    side: Material,
    pane: Material,
    style: Style,
    kind: str,
    fine: bool,
) -> None:
    """Add what closes an opening: reveals, and a pane or the dark behind a door."""
    x0, x1, y0, y1 = hole
    wide, tall = x1 - x0, y1 - y0
    b.patch((x0, y0, 0), (0, 0, -deep), (0, tall, 0), side, repeat=2.0)
    b.patch((x1, y0, -deep), (0, 0, deep), (0, tall, 0), side, repeat=2.0)
    b.patch((x0, y1, -deep), (wide, 0, 0), (0, 0, deep), side, repeat=2.0)
    if kind != "d":
        b.patch((x0, y0, 0), (wide, 0, 0), (0, 0, -deep), style.trim, repeat=2.0)
    else:
        b.patch((x0, 0.012, 0), (wide, 0, 0), (0, 0, -deep), style.base, repeat=2.0)
        pane = style.plain._replace(tint=(0.12, 0.12, 0.12)) if fine else style.door
    count = 2 if kind == "s" and wide > 2.2 else 1
    for k in range(count):
        corner = (x0 + k * wide / count, y0, -deep)
        b.patch(corner, (wide / count, 0, 0), (0, tall, 0), pane)
    if kind == "s":
        t = 0.03
        for k in range(count + 1):
            x = x0 + k * wide / count
            b.box((x - t, y0, -deep), (x + t, y1, -deep + 0.05), side, bevel=0, skip="zyY")
        for y in (y0, y1 - 2 * t):
            b.box((x0, y, -deep), (x1, y + 2 * t, -deep + 0.04), side, bevel=0, skip="zxX")


def _dress(b: Builder, hole: Hole, style: Style, upper: bool) -> None:
    """Add sill, surround and shutters of a window."""
    x0, x1, y0, y1 = hole
    b.box((x0 - 0.1, y0 - 0.08, -0.02), (x1 + 0.1, y0, 0.09), style.trim, bevel=0.01, repeat=1.2)
    if style.surround == "frame":
        for s0, s1 in ((x0 - 0.13, x0), (x1, x1 + 0.13)):
            b.box((s0, y0, -0.01), (s1, y1, 0.035), style.trim, bevel=0, skip="z", repeat=1.2)
        b.box(
            (x0 - 0.16, y1, -0.01),
            (x1 + 0.16, y1 + 0.17, 0.06),
            style.trim,
            bevel=0,
            skip="z",
            repeat=1.2,
        )
    elif style.surround == "lintel":
        b.box(
            (x0 - 0.12, y1, -0.01),
            (x1 + 0.12, y1 + 0.2, 0.03),
            style.trim,
            bevel=0,
            skip="z",
            repeat=1.2,
        )
    if style.shutter is not None and upper:
        wide = 0.5 * (x1 - x0)
        off = 0.14 if style.surround == "frame" else 0.01
        for s0 in (x0 - off - wide, x1 + off):
            b.box(
                (s0, y0 - 0.02, 0.012),
                (s0 + wide, y1 + 0.02, 0.055),
                style.shutter,
                bevel=0,
                repeat=0.62,
                skip="z",
            )


def _shops(b: Builder, kit: Kit, front: Front, style: Style) -> None:
    """Add the boards over runs of shop bays, their corner posts and pictograms."""
    bay = front.width / len(front.bays)
    first = None
    for k, kind in enumerate(front.bays + "."):
        trade = kind == "s" or (kind == "d" and "s" in front.bays[max(k - 1, 0) : k + 2])
        if trade and first is None:
            first = k
        if trade or first is None:
            continue
        x0 = -front.width / 2 + first * bay + 0.04
        x1 = -front.width / 2 + k * bay - 0.04
        first = None
        low, high = front.ground - 0.8, front.ground - 0.2
        b.box((x0, low, -0.01), (x1, high, 0.09), style.shop, bevel=0.008, skip="z")
        b.box(
            (x0 - 0.02, high, -0.01), (x1 + 0.02, high + 0.07, 0.17), style.shop, bevel=0, skip="z"
        )
        for s0 in (x0, x1 - 0.16):
            b.box((s0, 0.0, -0.01), (s0 + 0.16, low, 0.05), style.shop, bevel=0, skip="z")
        sign = kit.material("pictogram", *draw_pictogram(kit), seed=0)
        half = 0.22
        middle = (x0 + x1) / 2
        spots = [middle] if x1 - x0 < 4.5 else [x0 + 0.9, x1 - 0.9]
        for x in spots:
            b.box(
                (x - half, low + 0.07, 0.08),
                (x + half, high - 0.07, 0.105),
                style.plain,
                bevel=0,
                skip="z",
            )
            b.patch(
                (x - half + 0.01, low + 0.08, 0.107),
                (2 * half - 0.02, 0, 0),
                (0, high - low - 0.16, 0),
                sign,
            )


def _balconies(b: Builder, front: Front, style: Style, holes: list[tuple[Hole, str]]) -> None:
    """Add balconies with railings before some upper windows."""
    if style.balconies == "none":
        return
    n = len(front.bays)
    middle = {n // 2, (n - 1) // 2}
    for (x0, x1, y0, _), kind in holes:
        at = round(((x0 + x1) / 2 / front.width + 0.5) * n - 0.5)
        if kind != "w" or y0 < front.ground or (style.balconies == "middle" and at not in middle):
            continue
        a, c, out, low = x0 - 0.28, x1 + 0.28, 0.62, y0 - 0.32
        b.box((a, low - 0.12, -0.01), (c, low, out), style.trim, bevel=0.01, repeat=1.2)
        for y in (low + 0.06, low + 0.86):
            for x in (a + 0.03, c - 0.03):
                b.tube([(x, y, 0.0), (x, y, out - 0.04)], 0.014, style.railing, sides=4)
            b.tube(
                [(a + 0.03, y, out - 0.04), (c - 0.03, y, out - 0.04)],
                0.018,
                style.railing,
                sides=4,
            )
        # Bars are strips: they are only ever seen from outside.
        count = max(5, round((c - a) / 0.14))
        for k in range(count + 1):
            x = a + 0.03 + (c - a - 0.06) * k / count
            b.patch((x - 0.009, low, out - 0.03), (0.018, 0, 0), (0, 0.86, 0), style.railing)
        for z in (0.12, 0.25, 0.38, 0.51):
            b.patch((a + 0.02, low, z - 0.009), (0, 0, 0.018), (0, 0.86, 0), style.railing)
            b.patch((c - 0.02, low, z + 0.009), (0, 0, -0.018), (0, 0.86, 0), style.railing)


def _roof(b: Builder, kit: Kit, front: Front, style: Style, fine: bool) -> None:
    """Add cornice and roof, and the walls that keep the sun from shining through the house."""
    w, h = front.width / 2, front.height
    string = front.ground - 0.06
    b.box(
        (-w, string, -0.01), (w, string + 0.16, 0.07), style.trim, bevel=0, skip="zxX", repeat=1.4
    )
    wall = style.wall
    # Only what a lower neighbour would show is built of the sides, and nothing of the back: the
    # front and the roof keep the sun out as well as a whole house.
    low = front.ground + 1.5
    b.patch((-w, low, -DEPTH), (0, 0, DEPTH), (0, h - low, 0), wall, repeat=2.0)
    b.patch((w, low, 0), (0, 0, -DEPTH), (0, h - low, 0), wall, repeat=2.0)
    if not front.pitched:
        b.box(
            (-w, h - 0.95, -0.01), (w, h - 0.72, 0.26), style.trim, bevel=0, skip="zxX", repeat=1.4
        )
        b.box(
            (-w, h - 1.08, -0.01), (w, h - 0.95, 0.13), style.trim, bevel=0, skip="zxX", repeat=1.4
        )
        b.box((-w, h, -0.25), (w, h + 0.08, 0.06), style.trim, bevel=0, skip="xX", repeat=1.4)
    else:
        b.box((-w, h - 0.22, -0.01), (w, h, 0.3), style.trim, bevel=0, skip="zxXY", repeat=1.4)
        ridge, out, top = -DEPTH / 2, 0.42, h + 2.7
        points = np.array(
            [(-w, h - 0.02, out), (w, h - 0.02, out), (w, top, ridge), (-w, top, ridge)]
        )
        uv = [(0, 3), (w / 0.7, 3), (w / 0.7, 0), (0, 0)]
        b.add(points, uv, [[0, 1, 2], [0, 2, 3]], style.roof)
        for x, order in ((-w, 1), (w, -1)):
            gable = np.array([(x, h - 0.02, -DEPTH - out), (x, h - 0.02, out), (x, top, ridge)])
            b.add(gable, gable[:, [2, 1]] / 2.0, np.array([[0, 1, 2]])[:, ::order], wall)
        b.patch((-w, h - 0.02, -0.01), (2 * w, 0, 0), (0, 0, out + 0.01), style.roof, repeat=2.0)
        gutter = [(-w, h - 0.03, out), (w, h - 0.03, out)]
        b.tube(gutter, 0.06, style.railing, sides=6)
    for x in (-0.6 * w, 0.55 * w):
        base = h + (1.1 if front.pitched else -0.4)
        b.box((x - 0.3, base, -3.6), (x + 0.3, base + 2.3, -2.9), style.wall, bevel=0, repeat=1.6)
        pot = kit.material("plain", "#a4603f")
        for k in (-0.14, 0.14) if fine else ():
            b.box(
                (x + k - 0.09, base + 2.3, -3.35), (x + k + 0.09, base + 2.6, -3.15), pot, bevel=0
            )
    pipe = w - 0.12
    b.tube([(pipe, 0.0, 0.06), (pipe, h - 0.2, 0.06)], 0.045, style.railing, sides=6)
