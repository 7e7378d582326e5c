"""Furniture that stands on the floor: each kind has several builds, drawn by seed to a given size.

A maker gets a kit and a size (width x, height y, depth z; metres) and returns a mesh that stands on
y = 0, centred on x and z, facing +z, within that size. Equal seeds give equal pieces.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit

Size = tuple[float, float, float]
Maker = Callable[[Kit, Builder, Size], Mesh]
MAKERS: dict[str, Maker] = {}

WOODS = ["#8a5a33", "#5b3a22", "#b8854f", "#c9a36b", "#6e4a36", "#3d2a20", "#a4713f", "#d2b48c"]
PAINTS = ["#e8e4da", "#2f4858", "#7d9a86", "#b5533c", "#d9a441", "#40514e", "#8a4f7d", "#33658a"]
CLOTHS = ["#7a2f35", "#3a4f6a", "#6b7f55", "#c08a3e", "#8d8478", "#4b3b5a", "#2f6f6d", "#b86a54",
          "#d8cdb8", "#50565c"]
PALE = ["#e9e0cc", "#d6dde0", "#efe9df", "#d9c9a8", "#c7d1c0"]
METALS = ["#3a3d40", "#8b8f94", "#b08d4c", "#23282d"]


class Piece(NamedTuple):
    """A made thing.

    Attributes:
        mesh: Its mesh, see ``Instance.mesh``.
        coarse: The same with fewer triangles, or None where that would save little.
        variant: Category and seed.
        textures: Key -> image, those that the meshes use.
    """

    mesh: Mesh
    coarse: Mesh | None
    variant: str
    textures: dict[str, NDArray[np.uint8]]


def maker(category: str) -> Callable[[Maker], Maker]:
    """Register a maker for a category."""

    def register(function: Maker) -> Maker:
        MAKERS[category] = function
        return function

    return register


def make(category: str, seed: int, size: Size) -> Piece:
    """Return a piece of that category, of at most that size.

    Raises:
        KeyError: no such category.
    """
    key = (seed, zlib.crc32(category.encode()))
    kit = Kit(key)
    mesh = MAKERS[category](kit, Builder(), size)
    coarse = None
    if len(mesh.faces) > 150:
        coarse = MAKERS[category](Kit(key), Builder(coarse=True), size)
        coarse = coarse if len(coarse.faces) < 0.6 * len(mesh.faces) else None
    return Piece(mesh, coarse, f"{category}/{seed}", kit.textures)


def wood(kit: Kit) -> Material:
    """Return some wood."""
    return kit.material("wood", kit.pick(WOODS))


def finish(kit: Kit) -> Material:
    """Return wood or, in a third of cases, paint."""
    return wood(kit) if kit.rng.random() < 0.66 else kit.material("plain", kit.pick(PAINTS))


def metal(kit: Kit) -> Material:
    """Return some metal."""
    return kit.material("metal", kit.pick(METALS))


def cloth(kit: Kit, plain: float = 0.4) -> Material:
    """Return upholstery: leather, plain or patterned cloth."""
    draw = kit.rng.random()
    tone = kit.pick(CLOTHS)
    if draw < 0.15:
        return kit.material("leather", kit.pick(["#5a3323", "#26262a", "#8a5a3a", "#6d1f24"]))
    style = "plain" if draw < 0.15 + plain else kit.pick(
        ["stripes", "plaid", "dots", "herringbone", "check"]
    )
    return kit.material("fabric", tone, kit.pick(PALE), style)


def legs(b: Builder, size: Size, thick: float, material: Material, *, top: float, low: float = 0.0,
         turned: bool = False, inset: float = 0.02) -> None:
    """Add four legs at the corners of a footprint, up to height ``top``."""
    w, d = size[0] / 2 - inset - thick / 2, size[2] / 2 - inset - thick / 2
    for x in (-w, w):
        for z in (-d, d):
            if turned:
                b.cylinder(thick * 0.3, low, top, material, top=thick * 0.55, sides=8,
                           pose=placed(x, 0, z))
            else:
                b.box((x - thick / 2, low, z - thick / 2), (x + thick / 2, top, z + thick / 2),
                      material)


@maker("chair")
def chair(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Slatted, upholstered, metal or spindle chair."""
    w, h, d = size
    seat = 0.46
    style = kit.pick(["slats", "soft", "metal", "spindles"])
    frame = metal(kit) if style == "metal" else finish(kit)
    t = 0.028 if style == "metal" else 0.045
    x, z = w / 2 - t / 2, d / 2 - t / 2
    for side in (-x, x):
        b.box((side - t / 2, 0, z - t / 2), (side + t / 2, seat - 0.02, z + t / 2), frame)
        b.box((side - t / 2, 0, -z - t / 2), (side + t / 2, h, -z + t / 2), frame)
        b.box((side - t / 3, 0.2, -z + t / 2), (side + t / 3, 0.225, z - t / 2), frame)
    b.box((-w / 2, seat - 0.03, -d / 2 + t), (w / 2, seat, d / 2), frame, bevel=0.008)
    if style in ("soft", "metal"):
        skin = cloth(kit)
        b.cushion((-w / 2 + 0.01, seat, -d / 2 + t), (w / 2 - 0.01, seat + 0.05, d / 2), skin,
                  radius=0.025)
        b.cushion((-w / 2 + t, seat + 0.14, -d / 2 + 0.005), (w / 2 - t, h, -d / 2 + t + 0.03),
                  skin, radius=0.025)
    elif style == "slats":
        for i in range(3):
            y = seat + 0.14 + i * (h - seat - 0.2) / 2.4
            b.box((-x, y, -z - 0.01), (x, y + 0.06, -z + 0.01), frame)
    else:
        b.box((-x, h - 0.07, -z - 0.014), (x, h - 0.01, -z + 0.014), frame)
        for i in range(5):
            at = -x + (i + 1) * 2 * x / 6
            b.cylinder(0.009, seat, h - 0.06, frame, sides=6, pose=placed(at, 0, -z))
    return b.mesh()


@maker("stool")
def stool(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round or square stool."""
    w, h, d = size
    frame, r = finish(kit), min(w, d) / 2
    if kit.rng.random() < 0.5:
        b.cylinder(r, h - 0.05, h, cloth(kit), sides=18)
        for i in range(3):
            a = 2.094 * i
            foot, head = (r * 0.9 * np.sin(a), 0, r * 0.9 * np.cos(a)), r * 0.5
            b.tube([foot, (head * np.sin(a), h - 0.05, head * np.cos(a))], 0.018, frame, sides=7)
    else:
        b.cushion((-w / 2, h - 0.09, -d / 2), (w / 2, h, d / 2), cloth(kit), radius=0.04)
        legs(b, size, 0.04, frame, top=h - 0.09)
    return b.mesh()


@maker("armchair")
def armchair(kit: Kit, b: Builder, size: Size) -> Mesh:
    """A sofa for one."""
    return _seat(kit, b, size, 1)


@maker("sofa")
def sofa(kit: Kit, b: Builder, size: Size) -> Mesh:
    """A sofa for two or three."""
    return _seat(kit, b, size, 3 if size[0] > 1.85 else 2)


def _seat(kit: Kit, b: Builder, size: Size, places: int) -> Mesh:
    w, h, d = size
    style = kit.pick(["block", "rolled", "frame", "low"])
    skin, second, frame = cloth(kit), cloth(kit), finish(kit)
    arm = {"block": 0.2, "rolled": 0.2, "frame": 0.07, "low": 0.13}[style]
    arm_top = {"block": 0.58, "rolled": 0.62, "frame": 0.6, "low": 0.46}[style]
    foot, seat, back = 0.1, 0.44, 0.24
    legs(b, size, 0.06, frame, top=foot + 0.01, turned=style == "rolled", inset=0.05)
    inner = w / 2 - arm
    if style == "frame":
        for x in (-w / 2, w / 2 - arm):
            b.box((x, arm_top - 0.05, -d / 2), (x + arm, arm_top, d / 2), frame, bevel=0.01)
            b.box((x, 0, d / 2 - 0.07), (x + arm, arm_top - 0.05, d / 2), frame)
            b.box((x, 0, -d / 2), (x + arm, arm_top - 0.05, -d / 2 + 0.07), frame)
        b.box((-inner, 0.22, -d / 2 + 0.02), (inner, 0.29, d / 2 - 0.02), frame)
        b.box((-inner, 0.3, -d / 2), (inner, h - 0.08, -d / 2 + 0.04), frame)
    else:
        b.box((-inner, foot, -d / 2 + 0.02), (inner, 0.29, d / 2 - 0.03), skin, repeat=0.4)
        for x in (-w / 2, inner):
            b.cushion((x, foot, -d / 2), (x + arm, arm_top, d / 2), skin,
                      radius=0.095 if style == "rolled" else 0.04,
                      steps=2 if style == "rolled" else 1)
        b.cushion((-inner - 0.02, foot, -d / 2), (inner + 0.02, h - 0.06, -d / 2 + back - 0.06),
                  skin, radius=0.07)
    each = 2 * inner / places
    for i in range(places):
        x = -inner + i * each
        b.cushion((x + 0.005, 0.29, -d / 2 + 0.12), (x + each - 0.005, seat, d / 2), skin,
                  radius=0.045, puff=0.012)
        tilt = placed(x + each / 2, seat, -d / 2 + 0.15, tilt=-9)
        b.cushion((-each / 2 + 0.01, -0.02, -0.02), (each / 2 - 0.01, h - seat - 0.02, 0.14), skin,
                  radius=0.06, puff=0.02, pose=tilt)
    for x in ((-0.6 * inner,), (-0.7 * inner, 0.7 * inner))[places > 1][: int(kit.rng.integers(3))]:
        lean = placed(x, seat + 0.01, -d / 2 + 0.36, tilt=-22, turn=kit.uniform(-14, 14))
        b.cushion((-0.2, 0.0, -0.05), (0.2, 0.36, 0.06), second, radius=0.05, puff=0.03, pose=lean,
                  repeat=0.3)
    return b.mesh()


@maker("table")
def table(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Four-legged, pedestal, trestle or slab table."""
    w, h, d = size
    styles = ["legs", "trestle", "slab"] + (["round", "round"] if abs(w - d) < 0.25 else [])
    style = kit.pick(styles)
    top, base = finish(kit), finish(kit) if kit.rng.random() < 0.7 else metal(kit)
    if style == "round":
        r = min(w, d) / 2
        b.lathe([(0, h - 0.04), (r - 0.01, h - 0.04), (r, h - 0.03), (r, h - 0.008), (r - 0.008, h),
                 (0, h)], top, sides=32, repeat=0.8)
        b.lathe([(0.25 * r + 0.12, 0), (0.25 * r + 0.1, 0.03), (0.06, 0.08), (0.045, h * 0.4),
                 (0.07, h * 0.7), (0.05, h - 0.08), (0.2, h - 0.04)], base, sides=16, repeat=0.5)
        return b.mesh()
    b.box((-w / 2, h - 0.045, -d / 2), (w / 2, h, d / 2), top, bevel=0.008)
    if style == "legs":
        legs(b, size, 0.07, base, top=h - 0.045, turned=kit.rng.random() < 0.4)
        for z in (-d / 2 + 0.05, d / 2 - 0.07):
            b.box((-w / 2 + 0.09, h - 0.12, z), (w / 2 - 0.09, h - 0.045, z + 0.02), base)
    elif style == "trestle":
        for x in (-w / 2 + 0.14, w / 2 - 0.2):
            b.box((x, 0, -d / 2 + 0.06), (x + 0.06, 0.06, d / 2 - 0.06), base)
            b.box((x, 0.06, -0.06), (x + 0.06, h - 0.1, 0.06), base)
            b.box((x, h - 0.1, -d / 2 + 0.1), (x + 0.06, h - 0.045, d / 2 - 0.1), base)
        b.box((-w / 2 + 0.2, h * 0.3, -0.02), (w / 2 - 0.2, h * 0.3 + 0.09, 0.02), base)
    else:
        for x in (-w / 2 + 0.02, w / 2 - 0.07):
            b.box((x, 0, -d / 2 + 0.03), (x + 0.05, h - 0.045, d / 2 - 0.03), base)
        b.box((-w / 2 + 0.07, 0.12, -d / 2 + 0.06), (w / 2 - 0.07, 0.15, d / 2 - 0.06), top)
    return b.mesh()


@maker("desk")
def desk(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Desk with drawers on one side or both, legs or a panel on the other; the user sits at +z."""
    w, h, d = size
    top, body, knob = finish(kit), finish(kit), metal(kit)
    b.box((-w / 2, h - 0.035, -d / 2), (w / 2, h, d / 2), top, bevel=0.006)
    sides = {"left": (-1,), "right": (1,), "both": (-1, 1)}[kit.pick(["left", "right", "both"])]
    box = 0.4 if w > 1.3 else 0.34
    for side in (-1, 1):
        x = side * (w / 2 - 0.02)
        if side in sides:
            low, high = sorted((x, x - side * box))
            _drawers(kit, b, (low, 0.06, -d / 2 + 0.03), (high, h - 0.035, d / 2 - 0.03), body, knob, 3)
        else:
            low, high = sorted((x, x - side * 0.05))
            b.box((low, 0, -d / 2 + 0.04), (high, h - 0.035, d / 2 - 0.04), body)
    b.box((-w / 2 + 0.06, h * 0.45, -d / 2 + 0.04), (w / 2 - 0.06, h - 0.035, -d / 2 + 0.06), body)
    for _ in range(int(kit.rng.integers(1, 4))):
        x, width = kit.uniform(-w / 2 + 0.1, w / 2 - 0.35), kit.uniform(0.16, 0.24)
        page = kit.material("plain", kit.pick(["#f3f0e6", "#c7543f", "#3f6f8f", "#d9b24a"]))
        thick = kit.uniform(0.012, 0.05)
        b.box((0, h + 0.001, 0), (width, h + thick, 0.26), page,
              pose=placed(x, 0, kit.uniform(0.0, d / 2 - 0.3), kit.uniform(-12, 12)))
    return b.mesh()


def _drawers(kit: Kit, b: Builder, low: tuple[float, float, float],
             high: tuple[float, float, float], body: Material, knob: Material, rows: int,
             columns: int = 1) -> None:
    """Add a chest: carcass on a plinth, fronts and knobs on its +z side."""
    b.box((low[0], low[1], low[2]), (high[0], high[1], high[2] - 0.02), body)
    b.box((low[0] + 0.02, 0, low[2] + 0.02), (high[0] - 0.02, low[1], high[2] - 0.06), knob)
    height, width = (high[1] - low[1]) / rows, (high[0] - low[0]) / columns
    for r in range(rows):
        for c in range(columns):
            x, y = low[0] + c * width, low[1] + r * height
            b.box((x + 0.008, y + 0.008, high[2] - 0.02), (x + width - 0.008, y + height - 0.008,
                  high[2]), body, bevel=0.006, skip="")
            b.box((x + width / 2 - 0.05, y + height * 0.62, high[2]),
                  (x + width / 2 + 0.05, y + height * 0.62 + 0.014, high[2] + 0.018), knob)


@maker("cabinet")
def cabinet(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Chest of drawers, panelled cupboard or louvred sideboard."""
    w, h, d = size
    body, knob = finish(kit), metal(kit)
    style = kit.pick(["drawers", "panels", "louvres"])
    columns = max(1, round(w / 0.55))
    if style == "drawers":
        _drawers(kit, b, (-w / 2, 0.08, -d / 2), (w / 2, h - 0.025, d / 2 - 0.03), body, knob,
                 max(2, round(h / 0.28)), columns)
    else:
        front = finish(kit) if kit.rng.random() < 0.5 else body
        b.box((-w / 2, 0.1, -d / 2), (w / 2, h - 0.025, d / 2 - 0.045), body)
        legs(b, size, 0.05, body, top=0.1, turned=style == "louvres")
        each = w / columns
        for c in range(columns):
            x = -w / 2 + c * each
            low, high = (x + 0.01, 0.12), (x + each - 0.01, h - 0.045)
            b.box((low[0], low[1], d / 2 - 0.045), (high[0], high[1], d / 2 - 0.03), front)
            if style == "panels":
                for half in range(2 if h > 0.9 else 1):
                    span = (high[1] - low[1]) / (2 if h > 0.9 else 1)
                    b.box((low[0] + 0.06, low[1] + 0.06 + half * span, d / 2 - 0.03),
                          (high[0] - 0.06, low[1] + (half + 1) * span - 0.06, d / 2 - 0.016), front,
                          bevel=0.01)
            else:
                count = max(3, int((high[1] - low[1]) / 0.09))
                for i in range(count):
                    y = low[1] + 0.03 + i * (high[1] - low[1] - 0.05) / count
                    b.box((low[0] + 0.04, y, d / 2 - 0.03), (high[0] - 0.04, y + 0.045, d / 2 - 0.016),
                          front, bevel=0.008)
            side = high[0] - 0.035 if c % 2 == 0 else low[0] + 0.02
            b.box((side, h * 0.5 - 0.05, d / 2 - 0.03), (side + 0.015, h * 0.5 + 0.06, d / 2 - 0.008),
                  knob)
    b.box((-w / 2, h - 0.025, -d / 2), (w / 2, h, d / 2 - 0.02), body, bevel=0.008)
    return b.mesh()


@maker("bookshelf")
def bookshelf(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Open shelves with books in blocks, gaps and a few ornaments."""
    w, h, d = size
    frame, t = finish(kit), 0.03
    back = frame if kit.rng.random() < 0.6 else kit.material("plain", kit.pick(PAINTS))
    for x in (-w / 2, w / 2 - t):
        b.box((x, 0, -d / 2), (x + t, h, d / 2), frame)
    b.box((-w / 2 + t, 0.05, -d / 2), (w / 2 - t, h, -d / 2 + 0.012), back, bevel=0)
    rows = max(2, round((h - 0.1) / 0.37))
    step = (h - 0.06 - t) / rows
    books = [kit.material("spines") for _ in range(2)]
    for r in range(rows + 1):
        y = 0.06 + r * step
        b.box((-w / 2 + t, y - (0 if r else 0.06), -d / 2 + 0.012), (w / 2 - t, y + t, d / 2 - 0.005),
              frame)
        if r == rows:
            break
        x = -w / 2 + t + 0.01
        while x < w / 2 - t - 0.12:
            width = min(kit.uniform(0.12, 0.34), w / 2 - t - 0.01 - x)
            kind = kit.rng.random()
            base = y + t + 0.001
            if kind < 0.78:
                tall, deep = kit.uniform(0.62, 0.9) * (step - t), kit.uniform(0.6, 0.85) * d
                _books(kit, b, books[int(kit.rng.integers(2))], x, base, width, tall, -d / 2 + 0.02,
                       deep)
            elif kind < 0.9:
                pot = kit.material("ceramic", kit.pick(CLOTHS), kit.pick(PALE),
                                   kit.pick(["bands", "waves", "scales"]))
                r0 = min(width, d * 0.7) * 0.42
                top = min(0.7 * (step - t), r0 * 3)
                b.lathe([(r0 * 0.5, 0), (r0, top * 0.4), (r0 * 0.8, top * 0.7), (r0 * 0.35, top * 0.9),
                         (r0 * 0.5, top)], pot, sides=12, pose=placed(x + width / 2, base, 0))
            x += width + 0.004
    return b.mesh()


def _books(kit: Kit, b: Builder, material: Material, x: float, y: float, width: float, tall: float,
           z: float, deep: float) -> None:
    """Add a row of books as one block whose front shows a stretch of a row of spines."""
    row, start = int(kit.rng.integers(4)), kit.uniform(0, 0.6)
    stretch = width / 0.9
    corners = np.array([[x, y, z + deep], [x + width, y, z + deep], [x + width, y + tall, z + deep],
                        [x, y + tall, z + deep]])
    v0, v1 = (row + 0.99) / 4, (row + 0.02) / 4
    uv = [[start, v0], [start + stretch, v0], [start + stretch, v1], [start, v1]]
    b.add(corners, uv, [[0, 1, 2], [0, 2, 3]], material)
    paper = kit.material("plain", "#d9cfb8", seed=1)
    b.patch((x, y + tall, z + deep), (width, 0, 0), (0, 0, -deep), paper)
    for side, edge in ((x, (0, 0, deep)), (x + width, (0, 0, -deep))):
        at = z if side == x else z + deep
        cover = [[start if side == x else start + stretch, v] for v in (v0, v0, v1, v1)]
        pts = np.array([[side, y, at], [side, y, at + edge[2]], [side, y + tall, at + edge[2]],
                        [side, y + tall, at]])
        b.add(pts, cover, [[0, 1, 2], [0, 2, 3]], material)


@maker("bed")
def bed(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Bed with headboard at -z, blanket and pillows."""
    w, h, d = size
    frame, sheet = finish(kit), kit.material("fabric", "#e9e4d8", "#d6dde0", "plain")
    cover = cloth(kit, plain=0.2)
    b.box((-w / 2, 0.1, -d / 2 + 0.06), (w / 2, 0.3, d / 2), frame, bevel=0.01)
    legs(b, size, 0.07, frame, top=0.1)
    if kit.rng.random() < 0.5:
        b.box((-w / 2, 0, -d / 2), (w / 2, h, -d / 2 + 0.06), frame, bevel=0.012)
    else:
        b.cushion((-w / 2, 0.1, -d / 2), (w / 2, h, -d / 2 + 0.12), cloth(kit), radius=0.05, steps=2)
    b.cushion((-w / 2 + 0.03, 0.3, -d / 2 + 0.13), (w / 2 - 0.03, 0.5, d / 2 - 0.03), sheet,
              radius=0.06, steps=2)
    b.cushion((-w / 2 + 0.005, 0.24, -d * 0.12), (w / 2 - 0.005, 0.535, d / 2 - 0.005), cover,
              radius=0.07, steps=2, repeat=0.5)
    count = 2 if w > 1.2 else 1
    for i in range(count):
        x = (i - (count - 1) / 2) * w / 2
        b.cushion((x - 0.3, 0.48, -d / 2 + 0.16), (x + 0.3, 0.64, -d / 2 + 0.56), sheet, radius=0.07,
                  puff=0.02, steps=2)
    return b.mesh()


@maker("piano")
def piano(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Upright piano with keys."""
    w, h, d = size
    body = kit.material("plain", "#1d1c1e") if kit.rng.random() < 0.4 else wood(kit)
    white, black = kit.material("plain", "#efece2", seed=2), kit.material("plain", "#1a1a1c", seed=3)
    b.box((-w / 2, 0.03, -d / 2), (w / 2, h - 0.03, -d / 2 + 0.3), body, bevel=0.01)
    b.box((-w / 2, h - 0.03, -d / 2), (w / 2, h, -d / 2 + 0.32), body, bevel=0.01)
    b.box((-w / 2, 0.6, -d / 2 + 0.3), (w / 2, 0.68, d / 2), body)
    for x in (-w / 2, w / 2 - 0.07):
        b.box((x, 0.68, -d / 2 + 0.3), (x + 0.07, 0.78, d / 2), body, bevel=0.02)
        b.box((x, 0, d / 2 - 0.1), (x + 0.07, 0.6, d / 2 - 0.03), body)
    b.box((-w / 2 + 0.07, 0.68, -d / 2 + 0.32), (w / 2 - 0.07, 0.705, d / 2 - 0.02), white)
    keys = 35
    each = (w - 0.16) / keys
    for i in range(keys):
        if i % 7 not in (2, 6):
            x = -w / 2 + 0.08 + (i + 0.7) * each
            b.box((x, 0.705, -d / 2 + 0.32), (x + each * 0.6, 0.72, d / 2 - 0.1), black, bevel=0)
    stand = kit.material("plain", "#f3f0e6", seed=4)
    b.box((-0.2, 0, 0), (0.2, 0.28, 0.012), stand, pose=placed(0, h - 0.35, -d / 2 + 0.312, tilt=-6))
    return b.mesh()


@maker("refrigerator")
def refrigerator(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Two-door refrigerator with notes on it."""
    w, h, d = size
    body = kit.material("metal", kit.pick(["#e6e6e2", "#a9adb0", "#b5443a", "#7fa8a0", "#e0c878"]))
    grip = metal(kit)
    split = kit.uniform(0.32, 0.68) * h
    b.box((-w / 2, 0.03, -d / 2), (w / 2, h, d / 2 - 0.07), body, bevel=0.015)
    for low, high in ((0.05, split - 0.006), (split + 0.006, h - 0.005)):
        b.box((-w / 2 + 0.002, low, d / 2 - 0.065), (w / 2 - 0.002, high, d / 2 - 0.025), body,
              bevel=0.012)
        y = high - 0.3 if low < 0.1 else low + 0.06
        b.box((w / 2 - 0.07, y, d / 2 - 0.025), (w / 2 - 0.05, y + 0.24, d / 2), grip)
    for _ in range(4):
        note = kit.material("plain", kit.pick(["#f0e36a", "#e98f7a", "#8fc3e0", "#f3f0e6"]))
        x, y = kit.uniform(-w / 2 + 0.05, w / 2 - 0.25), kit.uniform(split + 0.1, h - 0.25)
        b.patch((x, y, d / 2 - 0.014), (0.09, 0.01, 0), (-0.01, 0.1, 0), note)
    return b.mesh()
