"""The ground of streets: carriageway with markings, kerbs, pavements, cobbled squares."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from worldenv.worlds.reference import outdoor_textures, street_textures
from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.scene import Material
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.textures import Kit

assert outdoor_textures and street_textures  # Importing them registers their painters.

STEP = 0.12
"""Height of the pavement over the carriageway, in metres."""
KERB = 0.26
"""Width of kerb stones in metres."""
NEAR = 10.0
"""Half the length of the finely lit part, in metres."""
TEXEL = 0.12
"""Side of a light-map texel of the near part, in metres."""
EDGE = 0.55
"""Width of the band of small stones along the houses, in metres."""

Paving = tuple[Material, float]


class Lines(NamedTuple):
    """Where a street's parts lie, in metres.

    Attributes:
        west: Building line at the left end.
        east: Building line at the right end.
        north: Building line ahead.
        south: Building line behind.
        road: North and south edge of the carriageway, or None.
        crossing: Where a crossing's stripes begin, along x.
    """

    west: float
    east: float
    north: float
    south: float
    road: tuple[float, float] | None
    crossing: float


def _sheet(
    b: Builder,
    xs: Sequence[float],
    zs: Sequence[float],
    y: float,
    choose: Callable[[float, float], Paving],
) -> None:
    """Add a level sheet over grid lines; each cell has the paving of its middle."""
    for x0, x1 in pairwise(sorted(set(xs))):
        for z0, z1 in pairwise(sorted(set(zs))):
            material, repeat = choose((x0 + x1) / 2, (z0 + z1) / 2)
            x, z = np.array([x0, x1, x1, x0]), np.array([z1, z1, z0, z0])
            points = np.stack([x, np.full(4, y), z], 1)
            b.add(points, np.stack([x, z], 1) / repeat, [[0, 1, 2], [0, 2, 3]], material)


def _spans(lines: Lines) -> list[list[float]]:
    """Return the parts along x that are lit by maps of their own: the near one in the middle."""
    if lines.east - lines.west < 3 * NEAR:
        return [[lines.west - 0.3, lines.east + 0.3]]
    return [[lines.west - 0.3, -NEAR], [-NEAR, 0.0, NEAR], [NEAR, lines.east + 0.3]]


def draw_paving(kit: Kit, kind: str) -> Paving:
    """Return some paving, of ``slabs``, ``clinker`` or ``cobbles``."""
    if kind == "cobbles":
        tone = kit.pick(["#8d8a84", "#9a8f80", "#75757a", "#a09484"])
        return kit.material("cobbles", tone, kit.pick(["#6d675c", "#57544e"])), 1.7
    if kind == "clinker":
        return kit.material(
            "slabs", kit.pick(["#a4604a", "#8a5f50", "#b5835a"]), "herringbone"
        ), 1.7
    tone = kit.pick(["#b2aca0", "#a29e98", "#b8a890", "#9aa0a2"])
    return kit.material("slabs", tone, kit.pick(["rows", "square"])), 2.4


def make_pavement(seed: int, lines: Lines, kind: str) -> Piece:
    """Return the pavements beside the carriageway, or all the ground where there is none."""
    kit = Kit((seed, zlib.crc32(b"pavement")))
    paving = draw_paving(kit, kind)
    other = draw_paving(kit, "slabs" if kind == "cobbles" else "cobbles")

    def choose(x: float, z: float) -> Paving:
        return other if min(z - lines.north, lines.south - z) < EDGE else paving

    b = Builder()
    bands = [(lines.north - 0.3, lines.south + 0.3)]
    if lines.road is not None:
        z0, z1 = lines.road
        bands = [(lines.north - 0.3, z0 - KERB), (z1 + KERB, lines.south + 0.3)]
    for span in _spans(lines):
        for low, high in bands:
            # A band of small stones runs along the houses.
            zs = [low, high]
            zs += [low + EDGE + 0.3] if low < lines.north else []
            zs += [high - EDGE - 0.3] if high > lines.south else []

            _sheet(b, span, zs, 0.0, choose)
    return Piece(b.mesh()._replace(texel=TEXEL), None, f"pavement/{seed}", kit.textures)


def make_road(seed: int, lines: Lines, kind: str) -> Piece:
    """Return the carriageway: ``asphalt`` with markings, or ``cobbles`` without."""
    assert lines.road is not None
    kit = Kit((seed, zlib.crc32(b"road")))
    z0, z1 = lines.road
    ground: Paving = (
        kit.material(
            "asphalt", kit.pick(["#6a6c6e", "#5e6062", "#747472"]), kit.pick(["even", "worn"])
        ),
        2.6,
    )
    if kind == "cobbles":
        ground = draw_paving(kit, "cobbles")
    gutter = draw_paving(kit, "cobbles")
    paint: Paving = (kit.material("roadpaint", kit.pick(["#e6e4dc", "#e6e4dc", "#e8d890"])), 1.3)
    bay, line, middle = z1 - 2.15, 0.1, (z0 + z1) / 2
    wide = z1 - z0 > 6
    start = lines.crossing
    zs = [z0, z0 + 0.3, z1 - 0.3, z1, bay - line, bay]
    if wide:
        zs += [middle - 0.06, middle + 0.06, z0 + 2.15, z0 + 2.15 + line]

    def choose(x: float, z: float) -> Paving:
        if min(z - z0, z1 - z) < 0.3:
            return gutter
        if kind == "cobbles":
            return ground
        if start < x < start + 3.0:
            return paint if int((z - z0) / 0.5) % 2 else ground
        if bay - line < z < bay and x % 5.6 < 3.6:
            return paint
        if wide and z0 + 2.15 < z < z0 + 2.15 + line and x % 5.6 < 3.6:
            return paint
        if wide and abs(z - middle) < 0.06 and x % 5.0 < 2.5:
            return paint
        return ground

    b = Builder()
    for span in _spans(lines):
        low, high = span[0], span[-1]
        xs = [*span, start, start + 3.0]
        for step, on in ((5.6, 3.6), (5.0, 2.5)):
            for k in range(-8, 9):
                xs += [step * k, step * k + on]
        xs = [x for x in xs if low <= x <= high]
        cross = [x for x in (start, start + 3.0) if low <= x <= high]
        stripes = [z0 + 0.5 * k for k in range(1, int((z1 - z0) / 0.5) + 1)]
        # The crossing has its own stripes; elsewhere only the lines divide the sheet.
        parts = [low, *cross, high]
        for a, c in pairwise(parts):
            inside = start - 1e-6 <= a and c <= start + 3.0 + 1e-6
            rows = (
                [z0, z0 + 0.3, z1 - 0.3, z1, *(s for s in stripes if z0 + 0.3 < s < z1 - 0.3)]
                if inside
                else zs
            )
            _sheet(b, [x for x in [*xs, a, c] if a <= x <= c], rows, -STEP, choose)
    return Piece(b.mesh()._replace(texel=TEXEL), None, f"road/{seed}", kit.textures)


def make_kerb(seed: int, lines: Lines) -> Piece:
    """Return the kerb stones on both sides of the carriageway."""
    assert lines.road is not None
    kit = Kit((seed, zlib.crc32(b"kerb")))
    stone = kit.material("stone", kit.pick(["#b5afa2", "#9a978f", "#c4b8a0"]), "grain")
    joint = kit.material("stone", kit.pick(["#a09a8c", "#8a877f"]), "grain")
    b = Builder()
    x, k = lines.west - 0.3, 0
    while x < lines.east + 0.3:
        end = min(x + 1.0, lines.east + 0.3)
        skin = stone if k % 2 else joint._replace(tint=(1.08, 1.08, 1.08))
        for z, s in ((lines.road[0], -1), (lines.road[1], 1)):
            z0, z1 = sorted((z, z + s * KERB))
            b.patch((x, 0, z1), (end - x, 0, 0), (0, 0, z0 - z1), skin, repeat=0.9)
            if s > 0:
                b.patch((end, -STEP, z0), (x - end, 0, 0), (0, STEP, 0), skin, repeat=0.9)
            else:
                b.patch((x, -STEP, z1), (end - x, 0, 0), (0, STEP, 0), skin, repeat=0.9)
        x, k = end, k + 1
    return Piece(b.mesh()._replace(smooth=True), None, f"kerb/{seed}", kit.textures)
