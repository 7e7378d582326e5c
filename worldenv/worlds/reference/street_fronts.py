"""House fronts: walls with real window openings, shops, roofs; each stands with its front at z = 0.

A front's openings are data, so that another draw of its looks keeps them where doors and awnings
hang.
"""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import street_textures
from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.street_fixtures import draw_pictogram
from worldenv.worlds.reference.textures import Kit

assert street_textures  # Importing it registers its painters.

Points = NDArray[np.float64]
DEPTH = 7.0
"""How deep houses are, in metres."""
REVEAL = 0.16
"""How far windows lie behind the wall, in metres."""
DOOR = (1.06, 2.3)
"""Width and height of a door's opening, in metres."""
PLASTERS = ["#e4d8bc", "#d9b48a", "#c98f78", "#e0c878", "#b9c4b0", "#a9bcc8", "#e8e2d6", "#d8a8a0", "#c8b8d0"]
BRICKS = ["#a4553f", "#8f4a3a", "#b5764f", "#c9a878", "#7a4a40"]
TRIMS = ["#f2eee4", "#e4dccb", "#6a4a34", "#3a4a44", "#f2eee4"]
SHUTTERS = ["#3f6b5a", "#2f5f7a", "#7a3a35", "#5a6b78", "#8a6a48", "#4a5a3a"]
SHOPS = ["#2f4858", "#7a2f35", "#2f5f45", "#c8a03a", "#23282d", "#8a4a7a", "#e4ddcc", "#b5533c", "#3f7f86"]


class Front(NamedTuple):
    """The openings of a house front.

    Attributes:
        width: Metres.
        ground: Height of the ground floor in metres.
        storeys: How many upper floors.
        bays: What each bay of the ground floor is, from the left: ``s`` a shop's window, ``d`` a
            door, ``w`` a window, ``b`` blank wall.
        pitched: Whether tiles show above the eaves; else a parapet closes the wall.
    """

    width: float
    ground: float
    storeys: int
    bays: str
    pitched: bool

    @property
    def height(self) -> float:
        """Height of the wall in metres."""
        return self.ground + self.storeys * 3.05 + (0.3 if self.pitched else 0.85)

    def middle(self, bay: int) -> float:
        """Return where the middle of a bay is along x."""
        return self.width * ((bay + 0.5) / len(self.bays) - 0.5)

    def text(self) -> str:
        """Return the front as a tag's value."""
        return f"{self.width!r},{self.ground!r},{self.storeys},{self.bays},{self.pitched}"


def read_front(text: str) -> Front:
    """Return the front of a tag's value."""
    width, ground, storeys, bays, pitched = text.split(",")
    return Front(float(width), float(ground), int(storeys), bays, pitched == "True")


class _Style(NamedTuple):
    """What a house is made of."""

    wall: Material
    repeat: tuple[float, float]
    base: Material
    trim: Material
    panes: list[Material]
    upper: tuple[float, float]
    shutter: Material | None
    surround: str
    balconies: str
    railing: Material
    shop: Material
    displays: list[Material]
    roof: Material
    plain: Material


def _draw_style(kit: Kit, front: Front) -> _Style:
    look = kit.pick(["plaster", "plaster", "brick", "brick", "clean"])
    frame = kit.pick(TRIMS)
    tone = kit.pick(PLASTERS) if look != "brick" else kit.pick(BRICKS)
    wall = (
        kit.material("brick", tone, kit.pick(["#c9c0ae", "#a8a094", "#8a8078"]))
        if look == "brick"
        else kit.material("plaster" if look == "plaster" else "plain", tone)
    )
    if look == "clean":
        wall = kit.material("concrete" if kit.rng.random() < 0.3 else "plaster", tone)
    bars = kit.pick(["cross", "sash", "casement", "grid"])
    pane_frame = frame if frame != "#6a4a34" else kit.pick(["#6a4a34", "#f2eee4"])
    panes = [
        kit.material("pane", pane_frame, bars, what, seed=k)
        for k, what in enumerate(["curtain", "blind", "none", "curtain"])
    ]
    shutter = (
        kit.material("panelling", kit.pick(SHUTTERS))
        if look == "plaster" and kit.rng.random() < 0.6
        else None
    )
    tone = kit.pick(SHOPS)
    displays = [
        kit.material("shopwindow", tone, what, kit.pick(["#c8b89a", "#b8c0c4", "#d8c8b8", "#8a7a68"]))
        for what in (kit.pick(["shelves", "clothes"]), kit.pick(["bakery", "flowers", "shelves"]))
    ]
    trim = kit.material("stone", kit.pick(["#d9d0bc", "#c9c2b4", "#b8ae9c", "#e0d8c8"]), "grain")
    return _Style(
        wall,
        (2.0, 1.2) if look == "brick" else (3.2, 3.2),
        kit.material("stone", kit.pick(["#a89e8c", "#8f8a80", "#b5a890", "#77726a"]), "grain"),
        trim if look != "clean" else kit.material("plain", frame),
        panes,
        (kit.uniform(1.0, 1.2), kit.uniform(1.55, 1.9)),
        shutter,
        kit.pick(["frame", "lintel", "sill"]) if look != "clean" else "sill",
        kit.pick(["none", "none", "middle", "all"]),
        kit.material("metal", kit.pick(["#24292c", "#2f3a34", "#5a6068", "#e4e2da"])),
        kit.material("plain", tone),
        displays,
        kit.material("rooftiles", kit.pick(["#a4533a", "#8a4a38", "#5a5f66", "#6b4a3a"])),
        kit.material("plain", frame),
    )


def make_building(front: Front, seed: int, fine: bool = True) -> Piece:
    """Return a house with that front.

    Args:
        front: Its openings.
        seed: Its looks: walls, window frames, shutters, balconies, shop colours, roof.
        fine: Whether frames, balconies and shutters are built; far houses go without.
    """
    key = (seed, zlib.crc32(b"building"))
    kit = Kit(key)
    mesh = _building(kit, Builder(), front, fine)
    coarse = _building(Kit(key), Builder(coarse=True), front, False) if fine else None
    return Piece(mesh, coarse, f"building/{seed}", kit.textures)


def _building(kit: Kit, b: Builder, front: Front, fine: bool) -> Mesh:
    style = _draw_style(kit, front)
    holes, ground = _openings(front, style)
    plan = kit.rng.integers(0, 4, (front.storeys + 1, len(front.bays)))
    _wall(b, front, style, [h for h, _ in holes])
    for (x0, x1, y0, y1), kind in holes:
        reveal = 0.24 if kind == "d" else REVEAL
        pane: Material = style.panes[int(plan[int(y0 // 3) % len(plan), int((x0 + 50) // 2) % len(front.bays)])]
        if kind == "s":
            pane = style.displays[int(x0 + 50) // 3 % 2]
        side = style.shop if kind == "s" else style.plain if kind == "d" else style.wall
        _hole(b, (x0, x1, y0, y1), reveal, side, pane, style, kind)
        if fine and kind == "w":
            _dress(b, kit, (x0, x1, y0, y1), style, y0 > ground)
        elif kind == "w":
            b.box((x0 - 0.08, y0 - 0.07, -0.05), (x1 + 0.08, y0, 0.06), style.trim, bevel=0)
    _shops(b, kit, front, style)
    if fine:
        _balconies(b, front, style, holes)
    _roof(b, kit, front, style)
    return b.mesh()


Hole = tuple[float, float, float, float]


def _openings(front: Front, style: _Style) -> tuple[list[tuple[Hole, str]], float]:
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
            holes.append(((x - wide / 2, x + wide / 2, 1.0, min(1.0 + tall, front.ground - 0.5)), "w"))
        for floor in range(front.storeys):
            low = front.ground + 3.05 * floor + 0.72
            holes.append(((x - wide / 2, x + wide / 2, low, low + tall), "w"))
    return holes, front.ground


def _wall(b: Builder, front: Front, style: _Style, holes: list[Hole]) -> None:
    """Add the wall as one grid with cells left out, so that its light is one map."""
    xs = sorted({-front.width / 2, front.width / 2, *(round(h[k], 4) for h in holes for k in (0, 1))})
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
    b: Builder, hole: Hole, deep: float, side: Material, pane: Material, style: _Style, kind: str
) -> None:
    """Add what closes an opening: reveals, and a pane or the dark behind a door."""
    x0, x1, y0, y1 = hole
    wide, tall = x1 - x0, y1 - y0
    b.patch((x0, y0, -deep), (0, 0, deep), (0, tall, 0), side, repeat=2.0)
    b.patch((x1, y0, 0), (0, 0, -deep), (0, tall, 0), side, repeat=2.0)
    b.patch((x0, y1, 0), (wide, 0, 0), (0, 0, -deep), side, repeat=2.0)
    if kind != "d":
        b.patch((x0, y0, -deep), (wide, 0, 0), (0, 0, deep), style.trim, repeat=2.0)
    else:
        b.patch((x0, 0.012, -deep), (wide, 0, 0), (0, 0, deep), style.base, repeat=2.0)
        pane = style.plain._replace(tint=(0.12, 0.12, 0.12))
    if kind == "s" and wide > 2.6:
        for k in range(2):
            b.patch((x0 + k * wide / 2, y0, -deep), (wide / 2, 0, 0), (0, tall, 0), pane)
    else:
        b.patch((x0, y0, -deep), (wide, 0, 0), (0, tall, 0), pane)


def _dress(b: Builder, kit: Kit, hole: Hole, style: _Style, upper: bool) -> None:
    """Add sill, surround and shutters of a window."""
    x0, x1, y0, y1 = hole
    b.box((x0 - 0.1, y0 - 0.08, -0.02), (x1 + 0.1, y0, 0.09), style.trim, bevel=0.01, repeat=1.2)
    if style.surround == "frame":
        for s0, s1 in ((x0 - 0.13, x0), (x1, x1 + 0.13)):
            b.box((s0, y0, -0.01), (s1, y1, 0.035), style.trim, bevel=0, skip="z", repeat=1.2)
        b.box((x0 - 0.16, y1, -0.01), (x1 + 0.16, y1 + 0.17, 0.06), style.trim, bevel=0, skip="z", repeat=1.2)
    elif style.surround == "lintel":
        b.box((x0 - 0.12, y1, -0.01), (x1 + 0.12, y1 + 0.2, 0.03), style.trim, bevel=0, skip="z", repeat=1.2)
    if style.shutter is not None and upper:
        wide = 0.5 * (x1 - x0)
        off = 0.14 if style.surround == "frame" else 0.01
        for s0 in (x0 - off - wide, x1 + off):
            b.box((s0, y0 - 0.02, 0.012), (s0 + wide, y1 + 0.02, 0.055), style.shutter, bevel=0, repeat=0.62, skip="z")


def _shops(b: Builder, kit: Kit, front: Front, style: _Style) -> None:
    """Add the boards over runs of shop bays, their corner posts and pictograms."""
    bay = front.width / len(front.bays)
    first = None
    for k, kind in enumerate(front.bays + "."):
        trade = kind == "s" or (kind == "d" and front.bays[max(k - 1, 0) : k + 2].strip("d") != "" and "s" in front.bays[max(k - 1, 0) : k + 2])
        if trade and first is None:
            first = k
        if trade or first is None:
            continue
        x0 = -front.width / 2 + first * bay + 0.04
        x1 = -front.width / 2 + k * bay - 0.04
        first = None
        low, high = front.ground - 0.8, front.ground - 0.2
        b.box((x0, low, -0.01), (x1, high, 0.09), style.shop, bevel=0.008, skip="z")
        b.box((x0 - 0.02, high, -0.01), (x1 + 0.02, high + 0.07, 0.17), style.shop, bevel=0, skip="z")
        for s0 in (x0, x1 - 0.16):
            b.box((s0, 0.0, -0.01), (s0 + 0.16, low, 0.05), style.shop, bevel=0, skip="z")
        sign = kit.material("pictogram", *draw_pictogram(kit), seed=0)
        half = 0.22
        middle = (x0 + x1) / 2
        spots = [middle] if x1 - x0 < 4.5 else [x0 + 0.9, x1 - 0.9]
        for x in spots:
            b.box((x - half, low + 0.07, 0.08), (x + half, high - 0.07, 0.105), style.plain, bevel=0, skip="z")
            b.patch((x - half + 0.01, low + 0.08, 0.107), (2 * half - 0.02, 0, 0), (0, high - low - 0.16, 0), sign)


def _balconies(b: Builder, front: Front, style: _Style, holes: list[tuple[Hole, str]]) -> None:
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
            for s, e in (((a, y, 0.0), (a, y, out - 0.04)), ((c, y, 0.0), (c, y, out - 0.04))):
                b.tube([(s[0] + (0.03 if s[0] == a else -0.03), y, 0.0), (e[0] + (0.03 if e[0] == a else -0.03), y, e[2])], 0.014, style.railing, sides=4)
            b.tube([(a + 0.03, y, out - 0.04), (c - 0.03, y, out - 0.04)], 0.018, style.railing, sides=4)
        for x in np.arange(a + 0.03, c, (c - a - 0.06) / max(5, round((c - a) / 0.13))):
            b.tube([(float(x), low, out - 0.04), (float(x), low + 0.86, out - 0.04)], 0.009, style.railing, sides=3)
        for z in (0.16, 0.3, 0.44):
            for x in (a + 0.03, c - 0.03):
                b.tube([(x, low, z), (x, low + 0.86, z)], 0.009, style.railing, sides=3)


def _roof(b: Builder, kit: Kit, front: Front, style: _Style) -> None:
    """Add cornice and roof, and the walls that keep the sun from shining through the house."""
    w, h = front.width / 2, front.height
    string = front.ground - 0.06
    b.box((-w, string, -0.01), (w, string + 0.16, 0.07), style.trim, bevel=0, skip="zxX", repeat=1.4)
    wall = style.wall
    b.patch((w, 0, -DEPTH), (-2 * w, 0, 0), (0, h, 0), wall, repeat=2.0)
    b.patch((-w, 0, -DEPTH), (0, 0, DEPTH), (0, h, 0), wall, repeat=2.0, cells=(2, 3))
    b.patch((w, 0, 0), (0, 0, -DEPTH), (0, h, 0), wall, repeat=2.0, cells=(2, 3))
    if not front.pitched:
        b.patch((-w, h - 0.5, 0.0), (2 * w, 0, 0), (0, 0, -DEPTH), style.base, repeat=2.0)
        b.patch((w, h - 0.5, -0.25), (-2 * w, 0, 0), (0, 0.5, 0), style.base, repeat=2.0)
        b.box((-w, h - 0.95, -0.01), (w, h - 0.72, 0.26), style.trim, bevel=0, skip="zxX", repeat=1.4)
        b.box((-w, h - 1.08, -0.01), (w, h - 0.95, 0.13), style.trim, bevel=0, skip="zxX", repeat=1.4)
        b.box((-w, h, -0.25), (w, h + 0.08, 0.06), style.trim, bevel=0, skip="xX", repeat=1.4)
    else:
        b.box((-w, h - 0.22, -0.01), (w, h, 0.3), style.trim, bevel=0, skip="zxXY", repeat=1.4)
        ridge, out, top = -DEPTH / 2, 0.42, h + 2.7
        for z0, z1 in ((out, ridge), (-DEPTH - out, ridge)):
            points = np.array([(-w, h - 0.02, z0), (w, h - 0.02, z0), (w, top, z1), (-w, top, z1)])
            uv = [(0, 3), (w / 0.7, 3), (w / 0.7, 0), (0, 0)]
            faces = np.array([[0, 1, 2], [0, 2, 3]])
            b.add(points, uv, faces if z0 > z1 else faces[:, ::-1], style.roof)
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
        for k in (-0.14, 0.14):
            b.box((x + k - 0.09, base + 2.3, -3.35), (x + k + 0.09, base + 2.6, -3.15), pot, bevel=0)
    pipe = w - 0.12
    b.tube([(pipe, 0.0, 0.06), (pipe, h - 0.2, 0.06)], 0.045, style.railing, sides=6)
