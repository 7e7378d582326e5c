"""Making things that stand outdoors: registries of makers, and what they share.

Makers as in ``furniture``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import outdoor_textures
from worldenv.worlds.reference.furniture import HEAVY, Maker, Piece, Size, grounded
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.textures import Kit

assert outdoor_textures  # Importing it registers its painters.

PARK_MAKERS: dict[str, Maker] = {}
"""Category -> maker, as ``furniture.MAKERS`` for rooms."""

STREET_MAKERS: dict[str, Maker] = {}
"""The same for what stands in streets alone."""

TIMBERS = ["#8a6a48", "#6b4d33", "#a98a63", "#5a4636", "#b89a78", "#3f5a44", "#7a3a2f", "#e4ded0"]
IRONS = ["#24292c", "#2f4a3c", "#3d4a58", "#5a2f2c", "#70757a"]
STONES = ["#b9b2a3", "#8f8d88", "#c9b795", "#a89a8c", "#d9d4c8"]
BRIGHTS = ["#c8423a", "#2f6fb0", "#e0b02f", "#3f8f5a", "#d9772f", "#8a4f9a", "#e8e4da", "#23807f"]
PETALS = ["#d9352f", "#f2c530", "#e87aa8", "#8a4fc0", "#f4f0f0", "#f08030", "#4f6fd0", "#b02a5a"]


def thing(
    category: str,
    *,
    smooth: bool = False,
    leafy: bool = False,
    makers: dict[str, Maker] | None = None,
) -> Callable[[Maker], Maker]:
    """Register a maker for a category.

    Args:
        category: What it makes.
        smooth: Whether all its light is at the vertices.
        leafy: Whether light comes through it and its backs are seen.
        makers: Where to; None for ``PARK_MAKERS``.
    """
    registry = PARK_MAKERS if makers is None else makers

    def register(function: Maker) -> Maker:
        def made(kit: Kit, b: Builder, size: Size) -> Mesh:
            return grounded(function(kit, b, size))._replace(smooth=smooth, two_sided=leafy)

        registry[category] = made
        return function

    return register


def make_thing(
    category: str,
    seed: int,
    size: Size,
    season: str = "summer",
    makers: dict[str, Maker] | None = None,
) -> Piece:
    """Return a thing of a category, of about that size.

    Args:
        category: One of ``makers``.
        seed: Equal seeds give equal things.
        size: Width, height and depth in metres.
        season: One of ``SEASONS``; decides the colours of plants.
        makers: What makes it; None for ``PARK_MAKERS``.

    Raises:
        KeyError: no such category or season.
    """
    maker = (PARK_MAKERS if makers is None else makers)[category]
    key = (seed, zlib.crc32(category.encode()))
    kit = ParkKit(key, SEASONS[season])
    mesh = maker(kit, Builder(), size)
    coarse = None
    # Half as many as in rooms: outdoors more things are in view, and most of them far away.
    if len(mesh.faces) > HEAVY // 2:
        coarse = maker(ParkKit(key, SEASONS[season]), Builder(coarse=True), size)
        coarse = coarse if len(coarse.faces) < 0.6 * len(mesh.faces) else None
    return Piece(mesh, coarse, f"{category}/{seed}", kit.textures)


@dataclass(frozen=True)
class Season:
    """Colours of a time of year: (dark, light) leaves, conifers, lawn and dry blades."""

    leaves: tuple[tuple[str, str], ...]
    needles: tuple[tuple[str, str], ...]
    lawn: tuple[str, ...]
    dry: str
    blossom: tuple[str, ...]


SEASONS = {
    "spring": Season(
        (("#5f9a35", "#a8cc60"), ("#4a8a34", "#8fbf52"), ("#6f9f40", "#bcd478")),
        (("#2a5a34", "#6a9a58"), ("#35604a", "#7aa888")),
        ("#5f9a3a", "#6aa040"),
        "#a0b860",
        ("#f0b0c8", "#f6f0f2", "#e88ab0"),
    ),
    "summer": Season(
        (("#3f7a2c", "#86b04a"), ("#2f6a2a", "#6f9f3f"), ("#4f7a3a", "#95a85a")),
        (("#24502c", "#5f8a4a"), ("#2f5546", "#6f9680")),
        ("#5d8a3a", "#527f38", "#6c8c3c"),
        "#a3a05a",
        ("#f4f0f0", "#e87aa8", "#c84a6a"),
    ),
    "autumn": Season(
        (
            ("#b5651f", "#e8a83a"),
            ("#a8402a", "#dd7a3a"),
            ("#c08a22", "#ecd05a"),
            ("#6f7a30", "#b0a548"),
        ),
        (("#24502c", "#5f8a4a"), ("#3a5540", "#74906a")),
        ("#7a8a3c", "#6f8040"),
        "#b8a055",
        ("#d95a3a", "#e8c040", "#a83a4a"),
    ),
}
"""Season -> its colours."""


def draw_season(rng: np.random.Generator) -> str:
    """Return one of ``SEASONS``, half the time summer."""
    return list(SEASONS)[int(rng.choice(3, p=[0.25, 0.5, 0.25]))]


class ParkKit(Kit):
    """A kit that knows the season."""

    def __init__(self, seed: int | tuple[int, ...], season: Season) -> None:
        super().__init__(seed)
        self.season = season

    def leaves(self, kind: str = "broad", flower: str = "none") -> tuple[Material, Material]:
        """Return the material of outer leaves and the darker one of what is behind them."""
        pairs = self.season.needles if kind == "needle" else self.season.leaves
        dark, light = pairs[int(self.rng.integers(len(pairs)))]
        outer = self.material("foliage", dark, light, flower, kind, seed=int(self.rng.integers(2)))
        return outer._replace(tint=(1.7, 1.7, 1.65)), outer._replace(tint=(1.1, 1.12, 1.1))


def season_of(kit: Kit) -> ParkKit:
    """Return the kit as one that knows the season; all kits of park makers do."""
    assert isinstance(kit, ParkKit)
    return kit


def around(count: int) -> NDArray[np.float64]:
    """Return unit vectors (count, 3), evenly over the sphere."""
    k = np.arange(count) + 0.5
    y = 1 - 2 * k / count
    a = 2.399963 * k
    r = np.sqrt(1 - y * y)
    return np.stack([r * np.sin(a), y, r * np.cos(a)], axis=1)


def blob(
    b: Builder,
    rng: np.random.Generator,
    centre: tuple[float, float, float],
    radii: tuple[float, float, float],
    material: Material,
    *,
    sides: int = 10,
    rings: int = 7,
    rough: float = 0.15,
    repeat: float = 1.1,
    even: bool = False,
) -> None:
    """Add a lumpy closed ball: what is behind leaves, a boulder, a far tree; or an even one."""
    lumps = 2 * rng.random((rings + 1, sides)) - 1
    if even:
        for axis in (0, 1, 1):
            lumps = 0.5 * lumps + 0.3 * (np.roll(lumps, 1, axis) + np.roll(lumps, -1, axis))
    offsets = 1 + rough * lumps
    if b.coarse:
        sides, rings = max(6, sides - 3), max(4, rings - 2)
        offsets = offsets[: rings + 1, :sides]
    offsets[0], offsets[-1] = offsets[0, 0], offsets[-1, 0]
    offsets = np.concatenate([offsets, offsets[:, :1]], axis=1)
    polar = np.linspace(-np.pi / 2, np.pi / 2, rings + 1)
    turn = np.linspace(0, 2 * np.pi, sides + 1)
    flat = np.cos(polar)[:, None] * offsets
    points = np.stack(
        [flat * np.sin(turn), np.sin(polar)[:, None] * offsets, flat * np.cos(turn)], axis=-1
    )
    points = points.reshape(-1, 3) * radii + centre
    girth = max(1, round(2 * np.pi * max(radii[0], radii[2]) / repeat))
    tall = max(1.0, np.pi * radii[1] / repeat)
    uv = np.stack(
        np.broadcast_arrays(
            turn[None] / (2 * np.pi) * girth, np.linspace(tall, 0, rings + 1)[:, None]
        ),
        axis=-1,
    ).reshape(-1, 2)
    index = np.arange((sides + 1) * (rings + 1)).reshape(rings + 1, sides + 1)
    p, q, r, s = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    faces = np.concatenate(
        [np.stack([p, q, r], -1)[1:].reshape(-1, 3), np.stack([p, r, s], -1)[:-1].reshape(-1, 3)]
    )
    # The seam's two columns are one line of vertices for the light: both get the same normal.
    b.add(points, uv, faces, material)


def cards(
    b: Builder,
    rng: np.random.Generator,
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
    size: float,
    material: Material,
    *,
    long: float = 1.0,
    tilt: float = 0.7,
    hang: bool = False,
) -> None:
    """Add a pointed scrap of leaves at each place (n, 3), facing roughly along its normal.

    Args:
        b: Where to.
        rng: What is random.
        points: Middles.
        normals: Directions, unit.
        size: Half the width in metres.
        material: A mass of leaves.
        long: Length over width.
        tilt: How far the scraps turn away from the normals.
        hang: Whether the long side hangs down; else it lies any way.
    """
    n = len(points)
    jitter = normals + tilt * rng.normal(0, 0.55, (n, 3))
    scale = size * rng.uniform(0.7, 1.3, n)
    helper = rng.normal(0, 1, (n, 3))
    spot = rng.random((n, 1, 2))
    if b.coarse:
        keep = slice(0, None, 3)
        points, jitter, helper = points[keep], jitter[keep], helper[keep]
        scale = (1.65 if long < 1.5 else 1.35) * scale[keep]
        spot, n = spot[keep], len(points)
    facing = jitter / np.linalg.norm(jitter, axis=1, keepdims=True)
    if hang:
        helper = np.tile([0.0, -1.0, 0.0], (n, 1)) + 0.15 * helper
    down = helper - (helper * facing).sum(axis=1, keepdims=True) * facing
    down /= np.maximum(np.linalg.norm(down, axis=1, keepdims=True), 1e-9)
    side = np.cross(down, facing)
    a, c = side * scale[:, None], down * (scale * long)[:, None]
    # A bent lozenge: its two ends lie behind its two sides.
    bend = facing * (0.3 * scale)[:, None]
    corners = np.stack([points - c - bend, points - a, points + c - bend, points + a], axis=1)
    shape = np.array([[0.0, -long], [-1.0, 0.0], [0.0, long], [1.0, 0.0]]) * 0.17
    index = 4 * np.arange(n)[:, None]
    faces = np.concatenate([index + np.array([0, 2, 1]), index + np.array([0, 3, 2])])
    b.add(corners.reshape(-1, 3), (spot + shape).reshape(-1, 2), faces, material)


def draw_timber(kit: Kit) -> Material:
    """Return some outdoor wood, bare or painted."""
    return kit.material("wood", kit.pick(TIMBERS))


def draw_iron(kit: Kit) -> Material:
    """Return some painted iron."""
    return kit.material("enamel", kit.pick(IRONS))


def draw_rock(kit: Kit) -> Material:
    """Return some stone."""
    return kit.material("stone", kit.pick(STONES), kit.pick(["grain", "lichen", "marble"]))


def ring(
    radius: float, y: float, *, count: int = 17, upright: bool = False
) -> list[tuple[float, float, float]]:
    """Return points of a circle about y, or of one that stands in the x-y plane."""
    a = np.linspace(0, 2 * np.pi, count)
    if upright:
        return [(radius * float(np.cos(t)), y + radius * float(np.sin(t)), 0.0) for t in a]
    return [(radius * float(np.sin(t)), y, radius * float(np.cos(t))) for t in a]
