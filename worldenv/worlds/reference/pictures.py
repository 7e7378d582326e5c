"""Procedural pictures: paintings, views, book spines, rugs, clock faces, screens, a ball."""

from __future__ import annotations

import numpy as np

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


def _tones(rng: np.random.Generator, count: int) -> Image:
    """Return colours (count, 3) of related but well-separated hues."""
    hue = (rng.random() + np.arange(count) * 0.381966 + 0.08 * rng.random(count)) % 1
    saturation, value = rng.uniform(0.3, 0.75, count), rng.uniform(0.35, 0.9, count)
    wheel = np.abs((hue[:, None] * 6 + np.array([0, 4, 2])) % 6 - 3) - 1
    return np.asarray(value[:, None] * (1 - saturation[:, None] * (1 - np.clip(wheel, 0, 1))))


@painter
def landscape(rng: np.random.Generator) -> Image:
    """Sky with a sun, three ridges, and water or a field."""
    u, v = grid(256)
    tones = _tones(rng, 7)
    image = blend(tones[0] * 0.5 + 0.45, tones[1], v * 1.6)
    image = blend(image, np.array([0.98, 0.96, 0.92]), (fractal(rng, 256, 4) - 0.52) * 4)
    x, y = rng.uniform(0.15, 0.85), rng.uniform(0.12, 0.35)
    image = blend(image, np.array([1.0, 0.93, 0.7]), (0.07 - np.hypot(u - x, v - y)) * 60)
    for i, level in enumerate((0.45, 0.58, 0.72)):
        ridge = level + 0.35 * (noise(rng, 256, 3 + 2 * i, 1)[0] - 0.6)
        ridge = ridge + 0.04 * (noise(rng, 256, 24, 1)[0] - 0.5)
        strokes = 0.75 + 0.5 * noise(rng, 256, 40, 16)
        image = blend(image, shade(tones[2 + i] * (0.9 - 0.2 * i), strokes), (v - ridge) * 100)
    ground = shade(tones[5], 0.8 + 0.4 * noise(rng, 256, 10, 60))
    return blend(image, ground, (v - rng.uniform(0.8, 0.9)) * 60)


@painter
def blocks(rng: np.random.Generator) -> Image:
    """Upright and level bands cut into coloured fields with dark lines."""
    u, v = grid(256)
    tones = np.concatenate([_tones(rng, 4), [[0.93, 0.91, 0.86]] * 3])
    xs, ys = np.sort(rng.uniform(0.08, 0.92, 4)), np.sort(rng.uniform(0.08, 0.92, 4))
    i, j = np.searchsorted(xs, u), np.searchsorted(ys, v)
    image = tones[rng.integers(len(tones), size=(5, 5))[j, i]]
    near = np.minimum(abs(u[..., None] - xs).min(-1), abs(v[..., None] - ys).min(-1))
    return shade(image, (0.12 + 0.88 * (near > 0.014)) * (0.93 + 0.14 * fractal(rng, 256, 8)))


@painter
def discs(rng: np.random.Generator) -> Image:
    """Overlapping discs and rings on a ground."""
    u, v = grid(256)
    tones = _tones(rng, 10)
    image = shade(np.array([0.92, 0.89, 0.82]), 0.92 + 0.14 * fractal(rng, 256, 6))
    for tone in tones[1:]:
        x, y, r = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9), rng.uniform(0.07, 0.27)
        distance = np.hypot(u - x, v - y)
        image = blend(image, tone, np.minimum((r - distance) * 120, 0.85))
        image = blend(image, tones[0], (0.02 - abs(distance - 0.7 * r)) * 60)
    return image


@painter
def portrait(rng: np.random.Generator) -> Image:
    """A head and shoulders before a dark ground."""
    u, v = grid(256)
    # The sitter's place, size and side differ, not only the colours.
    scale, left = rng.uniform(0.8, 1.25), rng.choice([-1.0, 1.0])
    u = 0.5 + (u - rng.uniform(0.38, 0.62)) * scale * left
    v = 0.45 + (v - rng.uniform(0.4, 0.52)) * scale
    tones = _tones(rng, 4)
    strokes = 0.8 + 0.4 * noise(rng, 256, 30, 12)
    image = shade(tones[0] * 0.5, strokes * (1.25 - np.hypot(u - 0.4, v - 0.4)))
    skin = np.array([0.86, 0.66, 0.52]) * rng.uniform(0.55, 1.05)
    body = 1 - ((u - 0.5) / 0.42) ** 2 - ((v - 1.08) / 0.42) ** 2
    image = blend(image, shade(tones[1] * 0.8, strokes), body * 30)
    image = blend(image, skin * 0.85, (0.07 - abs(u - 0.5)) * 80 * ((v > 0.5) & (v < 0.74)))
    hair = 1 - ((u - 0.5) / 0.2) ** 2 - ((v - 0.36) / 0.25) ** 2
    image = blend(image, shade(tones[2] * 0.45, strokes), hair * 30)
    face = 1 - ((u - 0.5) / 0.145) ** 2 - ((v - 0.41) / 0.195) ** 2
    image = blend(image, shade(skin, 1.12 - 0.9 * (u - 0.4)), face * 30)
    for x in (0.44, 0.56):
        image = blend(
            image, np.array([0.15, 0.1, 0.08]), (0.014 - np.hypot(u - x, (v - 0.39) * 1.7)) * 300
        )
        image = blend(image, tones[2] * 0.4, (0.03 - abs(u - x)) * 90 * (abs(v - 0.355) < 0.009))
    image = blend(image, skin * 0.7, (0.014 - abs(u - 0.505)) * 100 * ((v > 0.41) & (v < 0.47)))
    mouth = 0.035 - np.hypot(u - 0.5, (v - 0.515) * 3)
    return blend(image, np.array([0.66, 0.25, 0.24]), mouth * 100)


@painter
def stilllife(rng: np.random.Generator) -> Image:
    """A vase and fruit on a table."""
    u, v = grid(256)
    tones = _tones(rng, 8)
    image = shade(tones[0] * 0.6 + 0.2, 0.8 + 0.35 * fractal(rng, 256, 5))
    image = blend(
        image, shade(tones[1] * 0.7, 0.85 + 0.3 * noise(rng, 256, 8, 50)), (v - 0.66) * 80
    )
    middle = rng.uniform(0.3, 0.7)
    width = 0.06 + 0.08 * np.sin(np.clip((v - 0.4) / 0.4, 0.0, 1.0) * 3.1415) ** 0.8
    pot = (width - abs(u - middle)) * 80 * ((v > 0.4) & (v < 0.8))
    image = blend(image, shade(tones[2], 1.15 - 3 * (u - middle)), pot)
    for k in range(9):
        x, y = middle + rng.uniform(-0.2, 0.2), rng.uniform(0.1, 0.4)
        flower = np.hypot(u - x, v - y)
        petals = 0.055 * (1 + 0.25 * np.sin(5 * np.arctan2(v - y, u - x)))
        image = blend(image, tones[3 + k % 3], (petals - flower) * 90)
        image = blend(image, np.array([0.95, 0.8, 0.3]), (0.016 - flower) * 200)
    for k in range(5):
        x, r = rng.uniform(0.08, 0.92), rng.uniform(0.04, 0.075)
        distance = np.hypot(u - x, v - 0.84 + r * 0.3)
        lit = 1.25 - np.hypot(u - x + r * 0.4, v - 0.82 + r * 0.5) * 7
        image = blend(image, shade(tones[6 - k % 2], lit), (r - distance) * 120)
    return image


@painter
def strokes(rng: np.random.Generator) -> Image:
    """An abstract of flowing colour bands."""
    u, v = grid(256)
    tones = _tones(rng, 9)
    angle = rng.uniform(0, np.pi)
    field = 6 * (u * np.cos(angle) + v * np.sin(angle)) + 3.5 * fractal(rng, 256, 2, 3)
    index = np.floor(field).astype(int) % len(tones)
    return shade(tones[index], 0.75 + 0.4 * noise(rng, 256, 60, 20) + 0.1 * (field % 1))


PAINTINGS = ("landscape", "blocks", "discs", "portrait", "stilllife", "strokes")


@painter
def outside(rng: np.random.Generator) -> Image:
    """What a window shows: sky, far hills or houses, trees."""
    u, v = grid(256)
    sky = blend(np.array([0.42, 0.62, 0.88]), np.array([0.86, 0.92, 0.97]), v * 1.7)
    image = blend(sky, np.array([1.0, 1.0, 1.0]), (fractal(rng, 256, 4, 5) - 0.5) * 4)
    hills = 0.55 + 0.25 * (noise(rng, 256, 4, 1)[0] - 0.5)
    image = blend(
        image,
        shade(np.array([0.47, 0.58, 0.62]), 0.9 + 0.2 * fractal(rng, 256, 8)),
        (v - hills) * 80,
    )
    if rng.random() < 0.6:
        count = 9
        tops, tones = (
            rng.uniform(0.38, 0.62, count),
            rng.uniform(0.45, 0.85, (count, 3)) * [1, 0.9, 0.8],
        )
        i = np.floor(u * count).astype(int)
        x = u * count % 1
        wall = tones[i]
        panes = (abs(x * 4 % 1 - 0.5) < 0.2) & (abs(v * 26 % 1 - 0.5) < 0.25)
        wall = shade(wall, np.where(panes, 0.5, 1.0))
        image = blend(image, wall, (v - tops[i]) * 200)
    crowns = (
        0.74 + 0.22 * (noise(rng, 256, 9, 1)[0] - 0.5) + 0.05 * (noise(rng, 256, 50, 1)[0] - 0.5)
    )
    green = np.array([0.25, 0.42, 0.16]) * rng.uniform(0.8, 1.3, 3)
    image = blend(image, shade(green, 0.45 + 0.9 * fractal(rng, 256, 20, 4)), (v - crowns) * 60)
    lawn = shade(np.array([0.45, 0.58, 0.25]), 0.8 + 0.4 * noise(rng, 256, 60, 90))
    return blend(image, lawn, (v - 0.9) * 60)


@painter
def corridor(rng: np.random.Generator) -> Image:
    """What stands behind an open door: a lit hall drawn in perspective."""
    u, v = grid(256)
    tones = _tones(rng, 3) * 0.4 + 0.5
    x, y = u - 0.5, (v - 0.42) * 1.9
    depth = np.maximum(abs(x) / 0.5, abs(y) / 0.95)
    side = abs(x) / 0.5 > abs(y) / 0.95
    floor = np.where(
        (np.floor(6 / np.maximum(depth, 0.1)) + np.floor(x / np.maximum(depth, 0.05) * 6)) % 2 > 0,
        1.0,
        0.75,
    )
    image = np.where(
        side[..., None], tones[0], np.where((y > 0)[..., None], shade(tones[1], floor), 0.9)
    )
    far = depth < 0.3
    image = np.where(far[..., None], tones[2] * 0.75, image)
    image = np.where((far & (abs(x) < 0.08) & (y > -0.12))[..., None], tones[1] * 0.4, image)
    return shade(image, 0.45 + 0.5 * np.clip(depth, 0.3, 1) ** 0.5)


@painter
def spines(rng: np.random.Generator) -> Image:
    """Four shelves' worth of book spines, one row each, no gaps."""
    u, v = grid(512)
    image = np.zeros((512, 512, 3))
    for row in range(4):
        edges = np.cumsum(rng.uniform(0.02, 0.055, 64))
        edges = edges[: int(np.searchsorted(edges, 0.985))]
        line = np.minimum(np.searchsorted(edges, u[0]), 63)
        tones = rng.permutation(np.concatenate([_tones(rng, 32), _tones(rng, 32) * 0.6 + 0.1]))
        start = np.concatenate([[0], edges])[line]
        end = np.concatenate([edges, [1.0]])[line]
        x = (u[0] - start) / (end - start)
        y = v[row * 128 : (row + 1) * 128, :1] * 4 % 1
        colours = (
            tones[line][None] * (0.6 + 0.45 * np.sin(np.pi * np.clip(x, 0.04, 0.96)))[None, :, None]
        )
        bands = rng.uniform(0.1, 0.4, 64)[line]
        gilt = (abs(y - bands) < 0.018) | (abs(y - 1 + bands * 0.6) < 0.012)
        label = (
            (abs(y - 0.45) < rng.uniform(0.08, 0.2, 64)[line])
            & (abs(x - 0.5) < 0.22)
            & (rng.random(64)[line] > 0.4)
        )
        colours = np.where(gilt[..., None], [0.85, 0.7, 0.35], colours)
        image[row * 128 : (row + 1) * 128] = np.where(
            label[..., None], tones[(line + 7) % 64] * 0.3 + 0.6, colours
        )
    return image


@painter
def rug(rng: np.random.Generator, style: str) -> Image:
    """A woven rug with borders: ``medallion``, ``stripes``, ``lattice`` or ``rings``."""
    u, v = grid(512)
    tones = _tones(rng, 6) * 0.85
    x, y = abs(u - 0.5) * 2, abs(v - 0.5) * 2
    out = np.maximum(x, y)
    if style == "stripes":
        image = tones[rng.integers(4, size=26)[np.floor(v * 26).astype(int)]]
    elif style == "rings":
        image = tones[np.floor(np.hypot(x, y) * 7).astype(int) % 4]
    elif style == "lattice":
        a, b = (u + v) * 7 % 1 - 0.5, (u - v) * 7 % 1 - 0.5
        image = np.where(((abs(a) < 0.1) | (abs(b) < 0.1))[..., None], tones[1], tones[0])
        image = np.where((np.hypot(a, b) < 0.2)[..., None], tones[2], image)
    else:
        petals = np.hypot(x, y) + 0.08 * np.cos(8 * np.arctan2(y, x))
        vines = np.sin(x * 22) * np.sin(y * 22) > 0.35
        image = np.where(vines[..., None], tones[1], tones[0])
        image = np.where((petals < 0.5)[..., None], tones[2], image)
        image = np.where((petals < 0.36)[..., None], tones[3], image)
        image = np.where((petals < 0.18)[..., None], tones[1], image)
    border = np.sin((u + v) * 90) * np.sin((u - v) * 90) > 0
    image = np.where(
        (out > 0.78)[..., None], np.where(border[..., None], tones[4], tones[5]), image
    )
    image = np.where((abs(out - 0.79) < 0.012)[..., None], 0.9, image)
    pile = 0.78 + 0.24 * noise(rng, 512, 170) + 0.2 * fractal(rng, 512, 6)
    return shade(image, pile * np.where(out > 0.975, 0.6, 1.0))


@painter
def dial(rng: np.random.Generator, ground: str, figure: str) -> Image:
    """A clock face."""
    u, v = grid(256)
    x, y = u - 0.5, v - 0.5
    radius, angle = np.hypot(x, y), np.arctan2(x, -y)
    hour = abs((angle / (2 * np.pi) * 12 + 0.5) % 1 - 0.5)
    minute = abs((angle / (2 * np.pi) * 60 + 0.5) % 1 - 0.5)
    marks = (radius > 0.36) & (radius < 0.45) & (hour * radius < 0.03)
    marks |= (radius > 0.42) & (radius < 0.45) & (minute * radius < 0.06)
    for length, width, at in ((0.24, 0.014, rng.random()), (0.36, 0.009, rng.random())):
        a = 2 * np.pi * at
        along, across = x * np.sin(a) - y * np.cos(a), x * np.cos(a) + y * np.sin(a)
        marks |= (along > -0.05) & (along < length) & (abs(across) < width)
    marks |= radius < 0.025
    return blend(colour(ground), colour(figure), marks * 1.0)


@painter
def screen(rng: np.random.Generator, style: str) -> Image:
    """A lit display: ``film`` or ``desktop``."""
    u, v = grid(256)
    if style == "film":
        image = landscape(rng)
        return np.where((abs(v - 0.5) > 0.42)[..., None], 0.02, image)
    tones = _tones(rng, 6)
    image = blend(tones[0] * 0.5, tones[1] * 0.8, v + 0.3 * fractal(rng, 256, 3))
    for k in range(3):
        x, y = rng.uniform(0.03, 0.5), rng.uniform(0.05, 0.5)
        w, h = rng.uniform(0.25, 0.45), rng.uniform(0.25, 0.4)
        inside = (u > x) & (u < x + w) & (v > y) & (v < y + h)
        image = np.where(inside[..., None], 0.93, image)
        image = np.where((inside & (v < y + 0.04))[..., None], tones[2 + k], image)
        ends = rng.uniform(0.3, 0.9, 40)[np.floor(v * 40).astype(int)]
        text = inside & (v > y + 0.06) & (v * 40 % 1 < 0.5) & (u > x + 0.02) & (u < x + w * ends)
        image = np.where(text[..., None], 0.25, image)
    return np.where((v > 0.95)[..., None], 0.12, image)


@painter
def ball(rng: np.random.Generator, first: str, second: str, style: str) -> Image:
    """A ball's skin: ``gores`` (beach ball), ``checks`` or ``bands``."""
    u, v = grid(256)
    if style == "gores":
        mask = np.floor(u * 8) % 2
    elif style == "checks":
        mask = (np.floor(u * 8) + np.floor(v * 6)) % 2
    else:
        mask = np.floor(v * 5 + 0.25 * np.sin(u * 4 * np.pi)) % 2
    image = blend(colour(first), colour(second), mask * 1.0)
    image = np.where((abs(v - 0.5) > 0.46)[..., None], 0.95, image)
    return shade(image, 0.94 + 0.1 * fractal(rng, 256, 4))
