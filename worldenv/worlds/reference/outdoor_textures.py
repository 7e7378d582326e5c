"""Surfaces outdoors: grass, gravel, cobbles, bark, foliage, flowers, water, roofs and the sky."""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.textures import (
    Image,
    blend,
    colour,
    fractal,
    grid,
    noise,
    painter,
    shade,
)

SKY = 1024
"""Side of the sky's picture."""


def _cells(
    rng: np.random.Generator, size: int, count: int, jitter: float = 0.8
) -> tuple[Image, Image, NDArray[np.int64]]:
    """Return the distances to the nearest and second nearest of jittered points, and whose it is.

    Distances are in cells, of which there are ``count`` along a side; the pattern tiles.
    """
    jx, jy = (0.5 + jitter * (rng.random((2, count, count)) - 0.5)).astype(np.float32)
    u, v = grid(size)
    x, y = u[0] * np.float32(count), v[:, 0] * np.float32(count)
    i, j = x.astype(np.int64), y.astype(np.int64)
    first = np.full((size, size), 9.0, np.float32)
    second = first.copy()
    owner = np.zeros((size, size), np.int64)
    for dj in (-1, 0, 1):
        for di in (-1, 0, 1):
            a, b = (i + di) % count, (j + dj) % count
            # Rows of pixels share b and columns share a, so places are gathered cell by cell.
            px = jx[b][:, a]
            px += (i + di - x).astype(np.float32)
            py = jy[b][:, a]
            py += (j + dj - y).astype(np.float32)[:, None]
            px *= px
            py *= py
            px += py
            nearer = px < first
            np.minimum(second, px, out=second)
            second[nearer] = first[nearer]
            owner[nearer] = (b[:, None] * count + a)[nearer]
            first[nearer] = px[nearer]
    return np.sqrt(first), np.sqrt(second), owner


def _strokes(
    rng: np.random.Generator,
    size: int,
    count: int,
    length: float,
    width: float,
    upright: float = 1.0,
) -> tuple[Image, Image]:
    """Scatter tapered strokes (blades, leaves): return which is on top, 0 to 1, and its profile.

    Lengths are in pixels; the picture tiles. Strokes that come later lie on top.
    """
    at = rng.random((count, 2)) * size
    angle = np.pi / 2 + (rng.random(count) - 0.5) * np.pi * upright
    offsets = []
    for side in np.arange(-np.ceil(width), np.ceil(width) + 1) * 0.8:
        for t in np.linspace(-1, 1, max(int(length * 1.1), 4)):
            if abs(side) <= max(width * (1 - t * t) ** 0.7, 0.35):
                offsets.append((side, t * length / 2))
    side, along = np.array(offsets).T
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    columns = (at[:, :1] + cos * along - sin * side).astype(np.int64) % size
    rows = (at[:, 1:] + sin * along + cos * side).astype(np.int64) % size
    place = (rows * size + columns).ravel()
    value = np.zeros(size * size, np.float32)
    profile = np.zeros(size * size, np.float32)
    # Of places named twice the last one stays: the stroke on top.
    value[place] = np.repeat((np.arange(1, count + 1) / count).astype(np.float32), len(side))
    profile[place] = np.tile((1 - abs(side) / (width + 0.5)).astype(np.float32), count)
    return value.reshape(size, size), profile.reshape(size, size)


def _between(rng: np.random.Generator, rank: Image, count: int) -> Image:
    """Return a random value of its own for each stroke of a rank picture."""
    return np.asarray(rng.random(count + 1)[(rank * count + 0.5).astype(np.int64)])


@painter
def grass(
    rng: np.random.Generator, tone: str = "#5d8a3a", dry: str = "#a3a05a", style: str = "even"
) -> Image:
    """Lawn from above: blades of mixed greens over thatch, some dry; ``even`` or ``mown``."""
    count = 6500
    rank, profile = _strokes(rng, 512, count, 22.0, 1.6)
    mine = _between(rng, rank, count)
    share = 0.75 * (mine > 0.86) + 0.25 * noise(rng, 512, 9)
    blades = blend(colour(tone), colour(dry), share)
    value = 0.55 + 0.4 * mine + 0.22 * profile + 0.12 * (fractal(rng, 512, 6, 3) - 0.5)
    if style == "mown":
        value = value * (0.9 + 0.2 * np.clip(12 * np.sin(2 * np.pi * grid(512)[0]) + 0.5, 0, 1))
    under = shade(colour(tone), 0.5 + 0.2 * noise(rng, 512, 128))
    return blend(under, shade(blades, value), (rank > 0) * (0.5 + 0.5 * profile))


@painter
def gravel(rng: np.random.Generator, tone: str = "#b9a88a", second: str = "#8f8a80") -> Image:
    """Fine gravel: pebbles of mixed tones, each lit from above."""
    near, after, owner = _cells(rng, 512, 72, 0.9)
    mine = rng.random(72 * 72)[owner]
    mix = blend(colour(tone), colour(second), mine)
    edge = np.clip((after - near) * 3.2, 0, 1)
    value = 0.62 + 0.5 * rng.random(72 * 72)[owner] + 0.1 * (fractal(rng, 512, 4, 4) - 0.5)
    return shade(mix, value * (0.5 + 0.5 * edge))


@painter
def cobbles(rng: np.random.Generator, tone: str = "#8d8a84", joint: str = "#6d675c") -> Image:
    """Rounded setts in sand."""
    near, after, owner = _cells(rng, 512, 14, 0.35)
    edge = after - near
    value = 0.7 + 0.45 * rng.random(14 * 14)[owner] + 0.22 * (fractal(rng, 512, 24, 3) - 0.5)
    hue = (rng.random((14 * 14, 3))[owner] - 0.5) * 0.025
    stones = shade(colour(tone) + hue, value * (0.72 + 0.28 * np.clip(edge * 2.2, 0, 1)))
    sand = shade(colour(joint), 0.7 + 0.4 * noise(rng, 512, 128))
    return blend(sand, stones, (edge - 0.06) / 0.05)


@painter
def slabs(rng: np.random.Generator, tone: str = "#c2b8a3", style: str = "rows") -> Image:
    """Paving slabs: ``rows`` in half bond, ``square`` or ``herringbone`` clinker."""
    u, v = grid(512)
    if style == "herringbone":
        # Blocks of 2 x 1 cells, laid upright and across in turn along the diagonal.
        i, j = np.floor(u * 16).astype(int), np.floor(v * 16).astype(int)
        k = (i - j) % 4
        across = k < 2
        bi, bj = np.where(across, i - k, i), np.where(across, j, j - (3 - k))
        key = (bi % 16) * 16 + bj % 16
        x = np.where(across, (u * 16 - bi) / 2, u * 16 - i)
        y = np.where(across, v * 16 - j, (v * 16 - bj) / 2)
        scale = (np.where(across, 2.0, 1.0), np.where(across, 1.0, 2.0))
        wide, spread = 0.05, 0.5
    else:
        rows = 4
        j = np.floor(v * rows).astype(int)
        shift = 0.5 * (j % 2) if style == "rows" else 0.0
        xs = u * (3 if style == "rows" else rows) + shift
        count = 3 if style == "rows" else rows
        key = (np.floor(xs).astype(int) % count) * 16 + j
        x, y = xs % 1, v * rows % 1
        scale = (np.full_like(u, rows / count), np.ones_like(u))
        wide, spread = 0.02, 0.24
    edge = np.minimum(np.minimum(x, 1 - x) * scale[0], np.minimum(y, 1 - y) * scale[1])
    mine = rng.random(256)[key % 256]
    hue = (rng.random((256, 3))[key % 256] - 0.5) * 0.03
    value = 1 - spread / 2 + spread * mine
    value = value * (0.86 + 0.2 * fractal(rng, 512, 8, 5) + 0.1 * noise(rng, 512, 200))
    return shade(colour(tone) + hue, value * (0.5 + 0.5 * np.clip(edge / wide, 0, 1)))


@painter
def sand(rng: np.random.Generator, tone: str = "#d9c18c") -> Image:
    """Raked play sand."""
    ripples = 0.5 + 0.5 * np.sin(grid(256)[1] * 2 * np.pi * 14 + 5 * noise(rng, 256, 4))
    speckle = noise(rng, 256, 128)
    return shade(colour(tone), 0.8 + 0.09 * ripples + 0.14 * speckle + 0.1 * fractal(rng, 256, 4))


@painter
def bark(rng: np.random.Generator, tone: str = "#6e5a45", style: str = "ridged") -> Image:
    """Bark, upright along v: ``ridged``, ``smooth`` or ``birch``."""
    if style == "birch":
        dash = noise(rng, 256, 10, 40) * noise(rng, 256, 5, 90)
        value = 0.9 + 0.12 * fractal(rng, 256, 6)
        return blend(shade(colour(tone), value), np.array([0.12, 0.1, 0.09]), (dash - 0.52) * 9)
    if style == "smooth":
        patch = np.clip((fractal(rng, 256, 5, 3) - 0.5) * 6 + 0.5, 0, 1)
        return shade(colour(tone), 0.78 + 0.3 * patch + 0.1 * noise(rng, 256, 90, 40))
    ridge = abs(noise(rng, 256, 22, 5) + 0.5 * noise(rng, 256, 44, 12) - 0.75)
    return shade(
        colour(tone), 0.45 + 1.5 * np.clip(ridge, 0, 0.42) + 0.15 * noise(rng, 256, 60, 90)
    )


@painter
def foliage(
    rng: np.random.Generator,
    tone: str = "#3f7a2c",
    light: str = "#86b04a",
    flower: str = "none",
    kind: str = "broad",
) -> Image:
    """A mass of ``broad``, ``small`` or ``needle`` leaves, with flowers where a colour is given."""
    count, length, width = {
        "broad": (620, 26.0, 6.0),
        "small": (2200, 13.0, 3.4),
        "needle": (2600, 24.0, 1.0),
    }[kind]
    rank, profile = _strokes(rng, 256, count, length, width, 2.0)
    mine = _between(rng, rank, count)
    leaves = blend(colour(tone), colour(light), 0.8 * mine * rank + 0.15 * (profile > 0.8))
    value = 0.42 + 0.55 * rank + 0.2 * (mine - 0.5) - 0.14 * (profile < 0.3)
    image = blend(
        shade(colour(tone), np.full_like(rank, 0.3)), shade(leaves, value), (rank > 0) * 1.0
    )
    if flower != "none":
        near, _, owner = _cells(rng, 256, 15, 0.9)
        shown = (near < 0.3 + 0.16 * rng.random(225)[owner]) & (rng.random(225)[owner] < 0.72)
        petals = shade(colour(flower), 0.72 + 0.34 * rng.random(225)[owner] + 0.3 * (near - 0.2))
        image = blend(image, petals, shown * 1.0)
    return image


@painter
def blooms(
    rng: np.random.Generator,
    first: str = "#d9352f",
    second: str = "#f2c530",
    green: str = "#3f6f2a",
) -> Image:
    """A bed of flowers from above: round heads with hearts over leaves."""
    base = foliage(rng, green, "#7fa84a", "none", "small")
    near, _, owner = _cells(rng, 256, 13, 0.7)
    radius = 0.3 + 0.16 * rng.random(169)[owner]
    mine = rng.random(169)[owner]
    tone = blend(colour(first), colour(second), (mine > 0.6) * 1.0)
    petal = shade(tone, 0.72 + 0.34 * rng.random(169)[owner] + 0.25 * near)
    image = blend(base, petal, (radius - near) * 14)
    return blend(image, np.array([0.35, 0.24, 0.08]), (0.1 - near) * 30)


@painter
def ripples(rng: np.random.Generator, tone: str = "#4f7482", glint: str = "#b9d4e0") -> Image:
    """Calm water under a sky: slow ripples and a few glints."""
    slow = fractal(rng, 256, 4, 3)
    fine = 0.5 + 0.5 * np.sin((noise(rng, 256, 5, 11) + 0.5 * noise(rng, 256, 9, 23)) * 22)
    return blend(colour(tone), colour(glint), 0.15 + 0.7 * (slow - 0.42) + 0.28 * fine * fine)


@painter
def stone(rng: np.random.Generator, tone: str = "#9a968c", style: str = "grain") -> Image:
    """Rock: ``grain`` (granite), ``lichen`` or ``marble``."""
    clouds = fractal(rng, 256, 4, 6)
    image = shade(colour(tone), 0.7 + 0.45 * clouds + 0.14 * (noise(rng, 256, 128) - 0.5))
    if style == "lichen":
        spots = np.clip((fractal(rng, 256, 9, 3) - 0.56) * 9, 0, 1)
        return blend(image, np.array([0.62, 0.62, 0.36]), 0.7 * spots)
    if style == "marble":
        veins = 1 - np.clip(abs(fractal(rng, 256, 3, 5) - 0.5) * 16, 0, 1)
        return shade(image, 1 - 0.25 * veins)
    return image


@painter
def rooftiles(rng: np.random.Generator, tone: str = "#a4533a") -> Image:
    """Roof tiles in courses, rounded."""
    u, v = grid(256)
    j = np.floor(v * 12).astype(int)
    x = u * 14 + 0.5 * (j % 2)
    mine = rng.random((12, 14))[j, np.floor(x).astype(int) % 14]
    bulge = np.sqrt(np.clip(1 - (2 * (x % 1) - 1) ** 2, 0, 1))
    return shade(colour(tone), (0.5 + 0.4 * bulge + 0.2 * mine) * (0.7 + 0.3 * (v * 12 % 1)))


@painter
def facade(
    rng: np.random.Generator, tone: str = "#d8c8a8", frame: str = "#f4f0e6", style: str = "plaster"
) -> Image:
    """One window bay of a house, which tiles into storeys and rows."""
    u, v = grid(256)
    wall = shade(colour(tone), 0.9 + 0.16 * fractal(rng, 256, 6, 4))
    if style == "brick":
        row = np.floor(v * 32).astype(int)
        x = (u * 12 + 0.5 * (row % 2)) % 1
        joint = np.minimum(np.minimum(x, 1 - x) * 2.6, np.minimum(v * 32 % 1, 1 - v * 32 % 1))
        mine = rng.random((32, 13))[row, np.floor(u * 12 + 0.5 * (row % 2)).astype(int)]
        wall = shade(wall, (0.8 + 0.3 * mine) * (0.78 + 0.22 * np.clip(joint / 0.12, 0, 1)))
    wall = shade(wall, 1 - 0.25 * (abs(v - 0.985) < 0.012))
    inside = (abs(u - 0.5) < 0.2) & (abs(v - 0.48) < 0.3)
    border = (abs(u - 0.5) < 0.235) & (abs(v - 0.48) < 0.33)
    bars = (abs(u - 0.5) < 0.013) | (abs(v - 0.36) < 0.011)
    sky = blend(np.array([0.2, 0.25, 0.3]), np.array([0.62, 0.72, 0.8]), (0.72 - v + 0.4 * u) * 1.4)
    sky = shade(sky, 0.7 + 0.5 * fractal(rng, 256, 3, 3))
    image = blend(wall, colour(frame), border * 1.0)
    image = blend(image, sky, (inside & ~bars) * 1.0)
    return blend(
        image,
        shade(colour(frame), np.full_like(u, 0.8)),
        ((abs(v - 0.825) < 0.014) & (abs(u - 0.5) < 0.27)) * 1.0,
    )


def _lookup(field: Image, x: Image, y: Image) -> Image:
    """Return a tiling picture (n, n), n a power of two, at any place, in pictures."""
    n = len(field)
    fx, fy = x * np.float32(n), y * np.float32(n)
    left, top = np.floor(fx), np.floor(fy)
    s, t = fx - left, fy - top
    i, j = left.astype(np.int32) & (n - 1), (top.astype(np.int32) & (n - 1)) * n
    k, m = (i + 1) & (n - 1), (j + n) & (n * n - 1)
    flat = field.ravel()
    high = flat[j + i] * (1 - s) + flat[j + k] * s
    return np.asarray(high + (flat[m + i] * (1 - s) + flat[m + k] * s - high) * t, np.float32)


@lru_cache(maxsize=4)
def sky(
    seed: int, mood: tuple[str, str, str], cover: float, sun: tuple[float, float]
) -> NDArray[np.uint8]:
    """Return a sky as a read-only picture: straight up is its middle, the horizon a circle.

    The circle of 0.47 of the side is the horizon; what lies beyond it is below. So there is no seam
    anywhere, and the picture is finest along the horizon.

    Args:
        seed: Of the clouds and the hills.
        mood: Colours of the zenith, of the horizon and of the clouds' lit sides.
        cover: Share of the sky that clouds take, about 0 to 1.
        sun: Azimuth and elevation of the sun, degrees; azimuth from +x towards +z.
    """
    rng = np.random.default_rng([seed, zlib.crc32(b"sky")])
    line = ((np.arange(SKY) + 0.5) / SKY - 0.5).astype(np.float32)
    x, y = (g.ravel() for g in np.meshgrid(line, line))
    radius = np.hypot(x, y)
    elevation = (90 * (1 - radius / np.float32(0.47))).astype(np.float32)
    angle = np.radians(elevation)
    up, level = np.sin(angle), np.cos(angle)
    dx, dz = level * x / radius, level * y / radius
    top, low, lit = (colour(c) for c in mood)
    image = blend(low, top, 1 - (1 - np.clip(up, 0, 1)) ** 2.6)
    a, e = np.radians(sun[0]), np.radians(sun[1])
    axis = np.array([np.cos(e) * np.cos(a), np.sin(e), np.cos(e) * np.sin(a)], np.float32)
    towards = dx * axis[0] + up * axis[1] + dz * axis[2]
    glow = np.clip(towards, 0, 1)
    image += (glow**10 * 0.16 + glow**90 * 0.3)[:, None] * colour("#ffe6b8")
    field, fine = fractal(rng, 512, 5, 6), fractal(rng, 512, 12, 5)
    ridges = [fractal(rng, 256, 5 + 4 * k, 4)[7] for k in range(3)]
    # Clouds lie on a flat layer, so they close up and shrink towards the horizon.
    there = np.flatnonzero(up > 0)
    reach = np.float32(0.16) / (up[there] + np.float32(0.09))
    cx, cz = dx[there] * reach, dz[there] * reach
    body = 0.7 * _lookup(field, cx, cz) + 0.3 * _lookup(fine, cx, cz)
    step = np.float32(0.02)
    beyond = _lookup(field, cx + step * axis[0], cz + step * axis[2])
    beyond = 0.7 * beyond + 0.3 * _lookup(fine, cx + step * axis[0], cz + step * axis[2])
    edge = np.quantile(body[::97][up[there][::97] > 0.05], 1 - cover)
    thick = np.clip((body - edge) * 9, 0, 1)
    thick = thick * thick * (3 - 2 * thick) * np.clip(up[there] * 14, 0, 1)
    bright = np.clip(0.5 + (body - beyond) * 9, 0, 1) * (
        1 - 0.35 * np.clip((body - edge) * 4, 0, 1)
    )
    share = (thick * 0.92)[:, None]
    image[there] += share * (blend(lit * 0.72 + low * 0.1, lit, bright) - image[there])
    image += np.clip((towards - 0.99955) * 9000, 0, 1)[:, None] * colour("#99886a")
    # A haze and distant hills close the horizon.
    image = blend(image, low * 0.75 + 0.22, np.clip(1 - up * 9, 0, 1) * 0.45)
    there = np.flatnonzero(elevation < 14)
    turn = (np.arctan2(y[there], x[there]) / np.float32(2 * np.pi)).astype(np.float32)
    near = image[there]
    wood = 0.9 + 0.2 * _lookup(fine, turn * 9, angle[there] * 2)
    for k, (lift, spread, tone) in enumerate(
        ((4.6, 5.0, "#8fa6b8"), (2.6, 3.6, "#6f8c86"), (1.2, 2.4, "#56743f"))
    ):
        rise = np.interp(turn % 1, (np.arange(257)) / 256, np.append(ridges[k], ridges[k][0]))
        crest = lift + spread * (rise - 0.5)
        hill = shade(colour(tone) * (0.6 + 0.12 * k) + low * (0.32 - 0.1 * k), wood)
        near = blend(near, hill, (crest - elevation[there]) * 4)
    image[there] = near
    result = (np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8).reshape(SKY, SKY, 3)
    result.flags.writeable = False
    return result


@painter
def plate(rng: np.random.Generator, ground: str = "#2f5f45", mark: str = "#f2efe6") -> Image:
    """A sign: a border and a word of blocks."""
    u, v = grid(128)
    border = (abs(v - 0.5) > 0.4) & (abs(v - 0.5) < 0.45)
    letters = np.zeros((128, 128), bool)
    x = 0.16
    for _ in range(int(rng.integers(5, 8))):
        wide = float(rng.uniform(0.05, 0.1))
        box = (u > x) & (u < x + wide) & (abs(v - 0.5) < 0.22)
        hole = (abs(u - x - wide / 2) < 0.3 * wide) & (
            abs(v - (0.5 + float(rng.choice([-0.1, 0.1])))) < 0.08
        )
        letters |= box & ~hole
        x += wide + 0.03
    return shade(
        blend(colour(ground), colour(mark), (border | letters) * 1.0),
        0.94 + 0.1 * fractal(rng, 128, 4),
    )
