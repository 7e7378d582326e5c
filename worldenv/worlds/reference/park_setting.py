"""The ground of a park and what closes it: lawn and paths, woods and houses."""

from __future__ import annotations

import zlib
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.outdoor_things import SEASONS, ParkKit, blob, cards
from worldenv.worlds.reference.park_joins import Joins, Ways
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, placed

Points = NDArray[np.float64]

NEAR_LAWN, LAWN, EDGE = 7.5, 19.5, 46.0
"""Half the side of the finely and the coarsely lit lawn; how far the ground reaches; metres."""
GRASS = (0.84, 0.84, 0.8)
"""Factor on the colours of grass: blades shade each other."""
PATH, KERB = 0.0019, 0.0013
"""Heights of paths and of their edging, in metres: below where the lawn gathers its light."""


def _sheet(
    b: Builder,
    xs: Points,
    zs: Points,
    y: float,
    material: Material,
    repeat: float,
    hole: float = 0.0,
) -> None:
    """Add a level sheet over grid lines, but for a hole in the middle."""
    for x0, x1 in pairwise(xs):
        for z0, z1 in pairwise(zs):
            if max(abs(x0 + x1), abs(z0 + z1)) < 2 * hole:
                continue
            x, z = np.array([x0, x1, x1, x0]), np.array([z1, z1, z0, z0])
            points = np.stack([x, np.full(4, y), z], 1)
            b.add(points, np.stack([x, z], 1) / repeat, [[0, 1, 2], [0, 2, 3]], material)


def make_lawn(seed: int, season: str, mown: bool) -> Piece:
    """Return the lawn: finely lit in the middle, coarsely around it; mown in stripes or not."""
    kit = ParkKit((seed, zlib.crc32(b"lawn")), SEASONS[season])
    tone = kit.pick(list(kit.season.lawn))
    grass = kit.material("grass", tone, kit.season.dry, "mown" if mown else "even", tint=GRASS)
    b = Builder()
    near, far = NEAR_LAWN, LAWN
    # The inner sheet shares no edge with the outer one, so each gets a light map of its own.
    _sheet(
        b, np.array([-near, 0.0, near]), np.array([-near - 0.01, near + 0.01]), 0.0006, grass, 3.0
    )
    lines = np.array([-far, -near, near, far])
    _sheet(b, lines, lines, 0.0, grass, 3.0, near)
    return Piece(b.mesh()._replace(texel=0.12), None, f"lawn/{seed}", kit.textures)


def make_meadow(seed: int, season: str) -> Piece:
    """Return the grass beyond the lawn, to under the woods."""
    kit = ParkKit((seed, zlib.crc32(b"meadow")), SEASONS[season])
    grass = kit.material("grass", kit.pick(list(kit.season.lawn)), kit.season.dry, tint=GRASS)
    b = Builder()
    lines = np.array([-EDGE, -38, -32, -26, -LAWN, -10, 0, 10, LAWN, 26, 32, 38, EDGE])
    _sheet(b, lines, lines, -0.004, grass, 3.0, LAWN)
    return Piece(b.mesh()._replace(smooth=True, shades=False), None, f"meadow/{seed}", kit.textures)


def _level(flat: Points, y: float) -> Points:
    """Return places (n, 2) on the ground as points (n, 3) at a height."""
    return np.stack([flat[:, 0], np.full(len(flat), y), flat[:, 1]], axis=1)


def _ribbon(
    b: Builder, line: Points, width: float, y: float, material: Material, repeat: float
) -> None:
    along = np.gradient(line, axis=0)
    if np.allclose(line[0], line[-1]):
        # A loop's two ends are one place, and are cut across alike.
        along[[0, -1]] = line[1] - line[-2]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    side = np.stack([-along[:, 1], along[:, 0]], axis=1) * width / 2
    flat = np.concatenate([line - side, line + side])
    n = len(line)
    i = np.arange(n - 1)
    faces = np.concatenate(
        [np.stack([i, i + n + 1, i + n], 1)[:, ::-1], np.stack([i, i + 1, i + n + 1], 1)[:, ::-1]]
    )
    points = _level(flat, y)
    up = np.cross(
        points[faces[0, 1]] - points[faces[0, 0]], points[faces[0, 2]] - points[faces[0, 0]]
    )
    b.add(points, flat / repeat, faces if up[1] > 0 else faces[:, ::-1], material)


def _disc(
    b: Builder, x: float, z: float, radius: float, y: float, material: Material, repeat: float
) -> None:
    a = np.linspace(0, 2 * np.pi, 41)[:-1]
    flat = np.concatenate([[[x, z]], np.stack([x + radius * np.sin(a), z + radius * np.cos(a)], 1)])
    i = np.arange(40)
    faces = np.stack([np.zeros(40, int), 1 + i, 1 + (i + 1) % 40], 1)
    b.add(_level(flat, y), flat / repeat, faces, material)


def _joins(
    b: Builder, joins: Joins, wider: float, y: float, material: Material, repeat: float
) -> None:
    flat, faces = joins.triangles(wider)
    if len(faces):
        b.add(_level(flat, y), flat / repeat, faces, material)


def make_path(seed: int, ways: Ways, joins: Joins, kind: str) -> Piece:
    """Return the paths, of ``gravel``, ``slabs``, ``clinker`` or ``cobbles``."""
    kit = ParkKit((seed, zlib.crc32(b"path")), SEASONS["summer"])
    material, repeat = {
        "gravel": lambda: (
            kit.material(
                "gravel",
                *kit.pick(
                    ["#b9a88a #8f8a80", "#c9b08a #a08a6a", "#a8a49c #75726c", "#c08a68 #94705c"]
                ).split(),
            ),
            1.5,
        ),
        "slabs": lambda: (
            kit.material(
                "slabs", kit.pick(["#c2b8a3", "#a9a59c", "#c9b49a"]), kit.pick(["rows", "square"])
            ),
            2.0,
        ),
        "clinker": lambda: (
            kit.material("slabs", kit.pick(["#a4604a", "#8a5f50", "#b5835a"]), "herringbone"),
            1.7,
        ),
        "cobbles": lambda: (
            kit.material("cobbles", kit.pick(["#8d8a84", "#9a8f80", "#75757a"])),
            1.7,
        ),
    }[kind]()
    b = Builder()
    for line, width in ways.lines:
        _ribbon(b, line, width, PATH, material, repeat)
    for x, z, radius in ways.discs:
        _disc(b, x, z, radius, PATH + 0.0004, material, repeat)
    _joins(b, joins, 0.0, PATH - 0.0001, material, repeat)
    return Piece(b.mesh()._replace(texel=0.11, shades=False), None, f"path/{seed}", kit.textures)


def make_kerb(seed: int, ways: Ways, joins: Joins) -> Piece:
    """Return the edging of the paths: a wider band that shows beside them."""
    kit = ParkKit((seed, zlib.crc32(b"kerb")), SEASONS["summer"])
    material = kit.pick(["stone", "earth"])
    edge = (
        kit.material("stone", kit.pick(["#a8a49a", "#8f8d88", "#bfb199"]))
        if material == "stone"
        else kit.material("sand", "#7a6448")
    )
    wide = 0.2 if material == "stone" else 0.26
    b = Builder()
    for line, width in ways.lines:
        _ribbon(b, line, width + wide, KERB, edge, 0.9)
    for x, z, radius in ways.discs:
        _disc(b, x, z, radius + wide / 2, KERB + 0.0003, edge, 0.9)
    _joins(b, joins, wide / 2, KERB - 0.0001, edge, 0.9)
    return Piece(b.mesh()._replace(smooth=True, shades=False), None, f"kerb/{seed}", kit.textures)


def make_woods(seed: int, season: str, side: int) -> Piece:
    """Return a quarter of the ring of trees and shrubs that closes the view."""
    full, textures = _woods(Builder(), seed, season, side)
    coarse, _ = _woods(Builder(coarse=True), seed, season, side)
    return Piece(full, coarse, f"woods/{seed}", textures)


def _woods(
    b: Builder, seed: int, season: str, side: int
) -> tuple[Mesh, dict[str, NDArray[np.uint8]]]:
    kit = ParkKit((seed, side, zlib.crc32(b"woods")), SEASONS[season])
    coats = [kit.leaves(kind) for kind in ("broad", "broad", "needle", "small")]
    bark = kit.material("bark", "#6e5a45", "ridged")
    start = np.radians(90 * side - 45)
    for k in range(11):
        a = start + np.pi / 2 * (k + 0.5 + kit.uniform(-0.2, 0.2)) / 11
        outer, inner = coats[int(kit.rng.choice(4, p=[0.35, 0.3, 0.2, 0.15]))]
        far = kit.uniform(25.5, 31.0)
        high, wide = kit.uniform(6.5, 10.5), kit.uniform(2.6, 3.6)
        x, z = far * np.cos(a), far * np.sin(a)
        low = kit.uniform(1.0, 2.0)
        b.tube([(x, 0, z), (x, high * 0.6, z)], [0.3, 0.2], bark, sides=5)
        radii = (wide, (high - low) / 2, wide)
        _far_clump(b, kit, (x, (high + low) / 2, z), radii, outer, inner, 46, 0.62)
    for k in range(10):
        a = start + np.pi / 2 * (k + 0.5 + kit.uniform(-0.25, 0.25)) / 10
        outer, inner = coats[int(kit.rng.integers(4))]
        far, high = kit.uniform(21.5, 23.5), kit.uniform(1.9, 2.9)
        radii = (kit.uniform(2.2, 2.8), high * 0.62, kit.uniform(2.2, 2.8))
        _far_clump(
            b, kit, (far * np.cos(a), 0.35 * high, far * np.sin(a)), radii, outer, inner, 34, 0.36
        )
    # Behind them all a wall of leaves, so that no gap shows the edge of the ground.
    outer, inner = coats[1]
    a = np.linspace(start, start + np.pi / 2, 19)
    tops = 5.0 + kit.rng.uniform(-0.5, 0.9, 19)
    tops[[0, -1]] = 5.0
    shown = np.stack([32.0 * np.cos(a), 0 * a, 32.0 * np.sin(a)], 1)
    wall = np.concatenate([shown, shown + np.stack([0 * a, tops, 0 * a], 1)])
    uv = np.concatenate([np.stack([a * 8, 0 * a + 1.2], 1), np.stack([a * 8, 0 * a], 1)])
    i = np.arange(18)
    faces = np.concatenate([np.stack([i, i + 1, i + 20], 1), np.stack([i, i + 20, i + 19], 1)])
    b.add(wall, uv, faces, inner._replace(tint=(0.8, 0.8, 0.8)))
    mesh = b.mesh()
    level = mesh.vertices.copy()
    level[:, 1] = np.maximum(level[:, 1], -0.02)
    return mesh._replace(vertices=level, smooth=True, two_sided=True), kit.textures


def _far_clump(
    b: Builder,
    kit: ParkKit,
    centre: tuple[float, float, float],
    radii: tuple[float, float, float],
    outer: Material,
    inner: Material,
    count: int,
    size: float,
) -> None:
    dull = inner._replace(tint=(1.25, 1.25, 1.28))
    blob(b, kit.rng, centre, radii, dull, sides=9, rings=5, rough=0.24, repeat=3.0)
    # Only the half that faces the park is ever seen.
    home = -np.array([centre[0], 0.0, centre[2]])
    home /= np.linalg.norm(home)
    away = kit.rng.normal(0, 1, (3 * count, 3))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    away = away[(away @ home + 0.5 * away[:, 1]) > -0.05][:count]
    normals = away / np.asarray(radii)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    spread = kit.rng.uniform(0.92, 1.08, (len(away), 1))
    cards(
        b,
        kit.rng,
        np.asarray(centre) + away * radii * spread,
        normals,
        size,
        outer._replace(tint=(1.6, 1.6, 1.6)),
    )


def make_house(seed: int, size: tuple[float, float, float]) -> Piece:
    """Return a house behind the trees: storeys of windows under a pitched roof."""
    kit = ParkKit((seed, zlib.crc32(b"house")), SEASONS["summer"])
    w, h, d = size
    style = kit.pick(["plaster", "plaster", "brick"])
    tone = (
        kit.pick(["#d8c8a8", "#e4dccb", "#c9a583", "#b9c0b8", "#d9b8a0"])
        if style == "plaster"
        else kit.pick(["#a4604a", "#b88a6a"])
    )
    wall = kit.material("facade", tone, kit.pick(["#f4f0e6", "#5a4636", "#e4e8e8"]), style)
    roof = kit.material("rooftiles", kit.pick(["#a4533a", "#6b4038", "#5a5f66"]))
    plain = kit.material("plaster", tone)
    eaves = 0.66 * h
    b = Builder()
    bays, floors = max(2, round(w / 2.6)), max(2, round(eaves / 2.9))
    for turn, wide, deep in ((0, w, d), (90, d, w), (180, w, d), (270, d, w)):
        n = bays if wide == w else max(2, round(d / 2.6))
        x, z = wide / 2, deep / 2
        corners = np.array([(-x, 0, z), (x, 0, z), (x, eaves, z), (-x, eaves, z)])
        b.add(
            corners,
            [(0, floors), (n, floors), (n, 0), (0, 0)],
            [[0, 1, 2], [0, 2, 3]],
            wall,
            placed(turn=turn),
        )
        if wide == d:
            gable = np.array([(-x, eaves, z), (x, eaves, z), (0, h, z)])
            b.add(gable, [(0, 2), (2, 2), (1, 0)], [[0, 1, 2]], plain, placed(turn=turn))
    o = 0.45
    for s in (0, 180):
        slope = np.array(
            [
                (-w / 2 - o, eaves - 0.25, d / 2 + o),
                (w / 2 + o, eaves - 0.25, d / 2 + o),
                (w / 2 + o, h + 0.05, 0),
                (-w / 2 - o, h + 0.05, 0),
            ]
        )
        b.add(
            slope,
            [(0, 3), (w / 1.4, 3), (w / 1.4, 0), (0, 0)],
            [[0, 1, 2], [0, 2, 3]],
            roof,
            placed(turn=s),
        )
        b.add(
            slope - [0, 0.06, 0],
            [(0, 3), (3, 3), (3, 0), (0, 0)],
            [[0, 2, 1], [0, 3, 2]],
            plain,
            placed(turn=s),
        )
    for x in (-0.25 * w, 0.3 * w):
        b.box(
            (x - 0.35, h - 1.2, -0.9),
            (x + 0.35, h + 0.5, -0.2),
            kit.material("brick", "#9c4f3c", "#b8ac9c"),
            bevel=0,
        )
    return Piece(b.mesh()._replace(smooth=True), None, f"house/{seed}", kit.textures)
