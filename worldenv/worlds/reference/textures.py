"""Procedural surface textures: square sRGB images drawn from a name, a seed and colours.

Every texture tiles. A texture's key names everything it is drawn from, so equal keys mean equal
pixels, in every scene and process.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.scene import Material

Image = NDArray[np.floating[Any]]
Painter = Callable[..., Image]
PAINTERS: dict[str, Painter] = {}


def painter(function: Painter) -> Painter:
    """Register a texture painter: (rng, *words) -> image (n, n, 3) with values 0 to 1.

    Raises:
        ValueError: another module has a painter of that name, which would change its pictures.
    """
    known = PAINTERS.setdefault(function.__name__, function)
    if known.__module__ != function.__module__:
        raise ValueError(f"{known.__module__} has a painter {function.__name__!r} already")
    PAINTERS[function.__name__] = function
    return function


@lru_cache(maxsize=192)
def draw(name: str, seed: int, words: tuple[str, ...]) -> NDArray[np.uint8]:
    """Return a texture as a read-only square uint8 sRGB image.

    Args:
        name: A registered painter.
        seed: What is random in it.
        words: Colours (``#rrggbb``) and styles, as the painter takes them.
    """
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    # Blacks are lifted: nothing in a room is darker than about 1 % or brighter than about 95 %.
    painted = 0.06 + 0.92 * np.clip(PAINTERS[name](rng, *words), 0, 1)
    image = (painted * 255 + 0.5).astype(np.uint8)
    image.flags.writeable = False
    return image


class Kit:
    """Collects the textures that a scene or an object uses, and hands out materials.

    Attributes:
        rng: What chooses styles and colours.
        textures: Key -> image, as ``Scene.textures`` wants them.
    """

    def __init__(self, seed: int | tuple[int, ...]) -> None:
        self.rng = np.random.default_rng(seed)
        self.textures: dict[str, NDArray[np.uint8]] = {}

    def material(
        self,
        name: str,
        *words: str,
        seed: int | None = None,
        tint: tuple[float, float, float] = (1.0, 1.0, 1.0),
        emission: float = 0.0,
    ) -> Material:
        """Return a material of that painter; without a seed it draws one of 64 of its own."""
        seed = int(self.rng.integers(64)) if seed is None else seed
        key = "/".join([name, str(seed), *words])
        self.textures[key] = draw(name, seed, words)
        return Material(key, tint, emission)

    def pick(self, choices: tuple[str, ...] | list[str]) -> str:
        """Return one of the choices."""
        return choices[int(self.rng.integers(len(choices)))]

    def uniform(self, low: float, high: float) -> float:
        """Return a number in [low, high)."""
        return float(self.rng.uniform(low, high))


def colour(text: str) -> Image:
    """Return ``#rrggbb`` as three values 0 to 1."""
    return np.array([int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)], np.float32)


@lru_cache(maxsize=64)
def _knots(size: int, cells: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Image]:
    """Return the two neighbouring cells and the share of the second, of each pixel on a line."""
    x = np.arange(size) * cells / size
    first = np.floor(x).astype(np.int64)
    part = x - first
    smooth = part * part * (3 - 2 * part)
    return first % cells, (first + 1) % cells, smooth.astype(np.float32)


def noise(rng: np.random.Generator, size: int, across: int, down: int | None = None) -> Image:
    """Return tileable value noise, shape (size, size), 0 to 1, with that many cells.

    Gathers rather than multiplies matrices: linear algebra threads would stall in a busy machine
    and do not survive a fork.
    """
    cells = rng.random((down or across, across), dtype=np.float32)
    a, b, t = _knots(size, cells.shape[1])
    rows = cells[:, a] * (1 - t) + cells[:, b] * t
    a, b, t = _knots(size, cells.shape[0])
    low = rows[a]
    return np.asarray(low + (rows[b] - low) * t[:, None])


def fractal(rng: np.random.Generator, size: int, cells: int, octaves: int = 4) -> Image:
    """Return a sum of noises of halving weight and doubling frequency, scaled to about 0 to 1."""
    total = np.zeros((size, size), np.float32)
    for octave in range(octaves):
        total += noise(rng, size, cells << octave) / (1 << octave)
    return total / (2 - 2.0 ** (1 - octaves))


def blend(low: Image, high: Image, share: Image) -> Image:
    """Return colours between two, by a share (n, n) that is clipped to 0..1."""
    t = np.clip(np.asarray(share, np.float32), 0, 1)[..., None]
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return low + (high - low) * t


def shade(base: Image, factor: Image) -> Image:
    """Return a colour or image times a factor (n, n)."""
    return np.asarray(base, np.float32) * np.asarray(factor, np.float32)[..., None]


def grid(size: int) -> tuple[Image, Image]:
    """Return (u, v) of pixel centres, 0 to 1, each (size, size)."""
    line = ((np.arange(size) + 0.5) / size).astype(np.float32)
    return np.broadcast_to(line, (size, size)), np.broadcast_to(line[:, None], (size, size))


def _joint(distance: Image, width: float) -> Image:
    """Return 1 inside a piece and 0 in the joint, from distances to its edge."""
    return np.asarray(np.clip(distance / width, 0, 1))


@painter
def plain(rng: np.random.Generator, tone: str) -> Image:
    """Paint, lacquer or plastic: nearly even."""
    return shade(colour(tone), 0.96 + 0.08 * fractal(rng, 64, 4))


@painter
def plaster(rng: np.random.Generator, tone: str) -> Image:
    """Rough painted wall with clouds and trowel marks."""
    clouds = fractal(rng, 512, 3, 5)
    marks = noise(rng, 512, 24, 90) * noise(rng, 512, 10)
    return shade(colour(tone), 0.84 + 0.22 * clouds + 0.12 * (marks - 0.25))


@painter
def concrete(rng: np.random.Generator, tone: str) -> Image:
    """Shuttered concrete: slabs, pores and stains."""
    u, v = grid(512)
    edge = np.minimum(abs(u - 0.5), np.minimum(u, 1 - u))
    edge = np.minimum(edge, np.minimum(v, 1 - v))
    pores = noise(rng, 512, 128) > 0.93
    value = 0.78 + 0.3 * fractal(rng, 512, 4, 5) - 0.12 * pores
    return shade(colour(tone), value * (0.6 + 0.4 * _joint(edge, 0.006)))


@painter
def wallpaper(rng: np.random.Generator, ground: str, figure: str, style: str) -> Image:
    """Stripes, diamonds, leaves or rings on a ground."""
    u, v = grid(512)
    if style == "stripes":
        mask = (np.sin(u * 2 * np.pi * 6) > 0.1) * 1.0 + 0.5 * (np.sin(u * 2 * np.pi * 12) > 0.97)
    elif style == "diamonds":
        a, b = np.sin(np.pi * 6 * (u + v)), np.sin(np.pi * 6 * (u - v))
        mask = (abs(a) < 0.16) | (abs(b) < 0.16) | (np.hypot(a, b) > 1.32)
    elif style == "leaves":
        x, y = (u * 6) % 1 - 0.5, (v * 6 + 0.5 * np.floor(u * 6)) % 1 - 0.5
        flip = np.where(np.floor(u * 6) % 2 == 0, 1, -1)
        s, t = x + flip * 0.5 * y, y - flip * 0.5 * x
        mask = (abs(s) < 0.2 * np.cos(np.clip(t * 2.6, -1.57, 1.57))) & (abs(s) > 0.012)
    else:
        c, d = (u * 7 + 0.5 * (np.floor(v * 7) % 2)) % 1 - 0.5, (v * 7) % 1 - 0.5
        radius = np.hypot(c, d)
        mask = (radius < 0.13) | (abs(radius - 0.3) < 0.05)
    soft = 0.9 * np.asarray(mask, dtype=float)
    return shade(blend(colour(ground), colour(figure), soft), 0.92 + 0.16 * fractal(rng, 512, 6))


@painter
def brick(rng: np.random.Generator, tone: str, mortar: str) -> Image:
    """Sixteen courses of eight bricks."""
    u, v = grid(512)
    row = np.floor(v * 16).astype(int)
    x = u * 8 + 0.5 * (row % 2)
    column = np.floor(x).astype(int) % 8
    edge = np.minimum(np.minimum(x % 1, 1 - x % 1) * 2, np.minimum(v * 16 % 1, 1 - v * 16 % 1))
    edge = edge + 0.05 * (noise(rng, 512, 64) - 0.5)
    value = 0.72 + 0.5 * rng.random((16, 8))[row, column] ** 1.3
    warm = (rng.random((16, 8, 3)) - 0.5)[row, column] * [0.04, 0.08, 0.06]
    bricks = shade(colour(tone) + warm, value * (0.8 + 0.4 * fractal(rng, 512, 16)))
    joints = shade(colour(mortar), 0.8 + 0.3 * noise(rng, 512, 128))
    lit = 1 + 0.18 * np.clip(0.2 - (v * 16 % 1), 0, 1) * 5 * 0.5
    return blend(joints, shade(bricks, lit), (edge - 0.06) / 0.05)


def _grain(rng: np.random.Generator, size: int, rows: int) -> Image:
    """Return wood grain along u, 0 to 1: stretched noise and flowing rings."""
    flow = noise(rng, size, 3, rows * 2) + 0.4 * noise(rng, size, 6, rows * 8)
    rings = 0.5 + 0.5 * np.sin(flow * 38)
    fibres = noise(rng, size, 8, size // 3)
    return np.asarray(0.45 * rings + 0.55 * fibres)


@painter
def wood(rng: np.random.Generator, tone: str) -> Image:
    """Solid wood with the grain along u."""
    return shade(colour(tone), 0.74 + 0.42 * _grain(rng, 256, 3))


@painter
def planks(rng: np.random.Generator, tone: str) -> Image:
    """Eight floor boards along u, each its own shade, with staggered ends."""
    u, v = grid(512)
    row = np.floor(v * 8).astype(int)
    x = (u + rng.random(8)[row]) * 2
    board = np.floor(x).astype(int) % 2
    edge = np.minimum(np.minimum(v * 8 % 1, 1 - v * 8 % 1), np.minimum(x % 1, 1 - x % 1) * 4)
    value = 0.72 + 0.42 * rng.random((8, 2))[row, board]
    hue = (rng.random((8, 2, 3)) - 0.5)[row, board] * [0.05, 0.05, 0.06]
    grain = 0.78 + 0.36 * _grain(rng, 512, 16)
    return shade(colour(tone) + hue, value * grain * (0.5 + 0.5 * _joint(edge, 0.035)))


@painter
def panelling(rng: np.random.Generator, tone: str) -> Image:
    """Upright boards for walls."""
    return np.swapaxes(planks(rng, tone), 0, 1)


@painter
def parquet(rng: np.random.Generator, tone: str) -> Image:
    """Squares of four fingers each, laid crosswise."""
    u, v = grid(512)
    cell = (np.floor(u * 6) + np.floor(v * 6)).astype(int) % 2
    along, across = np.where(cell, u, v), np.where(cell, v, u)
    finger = np.floor(across * 24).astype(int)
    block = np.floor(along * 6).astype(int)
    value = 0.7 + 0.46 * rng.random((24, 6, 2))[finger, block, cell]
    grain = _grain(rng, 512, 24)
    grain = np.where(cell, grain, grain.T)
    edge = np.minimum(across * 24 % 1, 1 - across * 24 % 1)
    edge = np.minimum(edge, np.minimum(along * 6 % 1, 1 - along * 6 % 1) * 4)
    return shade(colour(tone), value * (0.8 + 0.3 * grain) * (0.55 + 0.45 * _joint(edge, 0.06)))


@painter
def tiles(rng: np.random.Generator, first: str, second: str, style: str) -> Image:
    """Stone tiles: ``checker``, ``even`` or ``inlay`` (small squares at the corners)."""
    u, v = grid(512)
    i, j = np.floor(u * 4).astype(int), np.floor(v * 4).astype(int)
    x, y = u * 4 % 1, v * 4 % 1
    veins = 1 - np.clip(abs(fractal(rng, 512, 4, 5) - 0.5) * 14, 0, 1)
    value = 0.86 + 0.2 * rng.random((4, 4))[j, i] + 0.1 * noise(rng, 512, 64) - 0.14 * veins
    mask = (i + j) % 2 * 1.0
    edge = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y))
    if style == "even":
        mask = 0.35 * rng.random((4, 4))[j, i]
    elif style == "inlay":
        corner = np.minimum(x, 1 - x) + np.minimum(y, 1 - y)
        mask = (corner < 0.24) * 1.0
        edge = np.minimum(edge, abs(corner - 0.24) * 0.7)
    image = shade(blend(colour(first), colour(second), mask), value)
    return shade(image, 0.55 + 0.45 * _joint(edge, 0.018))


@painter
def ceiling(rng: np.random.Generator, tone: str, style: str) -> Image:
    """Pale ceiling: ``tiles`` of mineral board, ``boards`` or ``plaster``."""
    u, v = grid(256)
    speckle = 0.95 + 0.07 * noise(rng, 256, 128) + 0.04 * fractal(rng, 256, 4)
    if style == "tiles":
        edge = np.minimum(
            np.minimum(u * 2 % 1, 1 - u * 2 % 1), np.minimum(v * 2 % 1, 1 - v * 2 % 1)
        )
        speckle = speckle * (0.72 + 0.28 * _joint(edge, 0.025))
    elif style == "boards":
        edge = np.minimum(v * 8 % 1, 1 - v * 8 % 1)
        speckle = (speckle + 0.1 * _grain(rng, 256, 8)) * (0.75 + 0.25 * _joint(edge, 0.06))
    return shade(colour(tone), speckle)


@painter
def fabric(rng: np.random.Generator, ground: str, figure: str, style: str) -> Image:
    """Woven cloth: ``plain``, ``stripes``, ``plaid``, ``dots``, ``herringbone`` or ``check``."""
    u, v = grid(256)
    weave = 0.5 + 0.25 * np.sin(u * 2 * np.pi * 64) * np.sin(v * 2 * np.pi * 64)
    if style == "stripes":
        mask = (v * 8 % 1 < 0.42) * 0.9
    elif style == "plaid":
        wide = (u * 4 % 1 < 0.4) * 0.45 + (v * 4 % 1 < 0.4) * 0.45
        mask = wide + 0.3 * ((abs(u * 4 % 1 - 0.7) < 0.03) | (abs(v * 4 % 1 - 0.7) < 0.03))
    elif style == "dots":
        x, y = (u * 8 + 0.5 * (np.floor(v * 8) % 2)) % 1 - 0.5, v * 8 % 1 - 0.5
        mask = (np.hypot(x, y) < 0.24) * 1.0
    elif style == "herringbone":
        zigzag = abs((u * 8) % 2 - 1) + v * 16
        mask = (zigzag % 1 < 0.45) * 0.6
    elif style == "check":
        mask = (np.floor(u * 8) + np.floor(v * 8)) % 2 * 0.9
    else:
        mask = 0.25 * fractal(rng, 256, 8)
    image = blend(colour(ground), colour(figure), np.asarray(mask, dtype=float))
    return shade(image, 0.84 + 0.16 * weave + 0.14 * fractal(rng, 256, 6))


@painter
def leather(rng: np.random.Generator, tone: str) -> Image:
    """Creased hide."""
    creases = 1 - np.clip(abs(fractal(rng, 128, 12, 3) - 0.5) * 10, 0, 1)
    return shade(colour(tone), 0.86 + 0.22 * fractal(rng, 128, 4) - 0.2 * creases)


@painter
def metal(rng: np.random.Generator, tone: str) -> Image:
    """Bare metal, brushed: scratches along u, which turn with a lathe's parts."""
    return shade(colour(tone), 0.84 + 0.2 * noise(rng, 128, 3, 64) + 0.1 * fractal(rng, 128, 4))


@painter
def enamel(rng: np.random.Generator, tone: str) -> Image:
    """Painted metal: nearly even, faintly mottled, a few rubbed spots; nothing runs along it."""
    rubbed = np.clip(8 * (noise(rng, 128, 24) * noise(rng, 128, 17) - 0.74), 0, 1)
    value = 0.945 + 0.07 * fractal(rng, 128, 4) + 0.025 * noise(rng, 128, 48) - 0.12 * rubbed
    return shade(colour(tone), value)


@painter
def ceramic(rng: np.random.Generator, ground: str, figure: str, style: str) -> Image:
    """Glazed pottery: ``bands``, ``waves``, ``scales`` or ``plain``; v runs down the pot."""
    u, v = grid(128)
    if style == "bands":
        heights = rng.random(64)[np.floor(v * 20).astype(int)]
        mask = (heights > 0.55) * 1.0
    elif style == "waves":
        mask = (np.sin(v * 2 * np.pi * 7 + 1.6 * np.sin(u * 2 * np.pi * 6)) > 0.15) * 1.0
    elif style == "scales":
        x, y = (u * 10 + 0.5 * (np.floor(v * 10) % 2)) % 1 - 0.5, v * 10 % 1
        mask = (np.hypot(x, y) > 0.5) * 1.0
    else:
        mask = np.clip((v - 0.5) * 4 + fractal(rng, 128, 8), 0, 1)
    return shade(
        blend(colour(ground), colour(figure), np.asarray(mask, dtype=float)),
        0.9 + 0.2 * fractal(rng, 128, 6),
    )


@painter
def leaf(rng: np.random.Generator, tone: str, vein: str) -> Image:
    """A leaf along v with a midrib and side veins."""
    u, v = grid(128)
    side = abs(u - 0.5)
    veins = (side < 0.035) | (abs((v * 7 + side * 5) % 1 - 0.5) < 0.06)
    image = blend(colour(tone), colour(vein), 0.55 * veins)
    return shade(image, 0.75 + 0.35 * fractal(rng, 128, 4) + 0.2 * (0.5 - side))
