"""Surfaces of streets: asphalt, road paint, windows, shop windows, doors."""

from __future__ import annotations

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


@painter
def asphalt(rng: np.random.Generator, tone: str = "#5c5e60", style: str = "even") -> Image:
    """Asphalt of fine grit: ``even``, or ``worn`` with cracks and mended patches."""
    grit = noise(rng, 512, 256) + 0.6 * noise(rng, 512, 128)
    value = 0.76 + 0.16 * grit + 0.2 * (fractal(rng, 512, 3, 5) - 0.5)
    if style == "worn":
        ridge = abs(fractal(rng, 512, 3, 5) - 0.5)
        value = value * (1 - 0.4 * np.clip(1 - ridge * 130, 0, 1))
        value = value * (1 - 0.14 * (noise(rng, 512, 4) > 0.72))
    return shade(colour(tone), value)


@painter
def roadpaint(rng: np.random.Generator, tone: str = "#e6e4dc") -> Image:
    """Worn paint on asphalt."""
    wear = np.clip((fractal(rng, 256, 12, 4) - 0.34) * 7, 0, 1)
    return blend(colour("#6a6b6c"), shade(colour(tone), 0.9 + 0.12 * noise(rng, 256, 90)), wear)


@painter
def pane(
    rng: np.random.Generator,
    frame: str = "#f0ece2",
    style: str = "cross",
    inside: str = "curtain",
) -> Image:
    """A window in its frame: ``cross``, ``sash``, ``casement`` or ``grid`` bars over dark glass.

    The sky shows in the glass from one corner; behind it a ``curtain``, a ``blind``, a ``room`` or
    ``none`` of them.
    """
    u, v = grid(256)
    slope = np.clip(0.75 - 0.8 * v + 0.35 * (u - 0.5), 0, 1)
    glass = blend(np.array([0.09, 0.11, 0.13]), np.array([0.5, 0.58, 0.66]), slope * 0.75)
    glass = shade(glass, 0.86 + 0.3 * fractal(rng, 256, 3, 3))
    if inside == "curtain":
        wide = 0.16 + 0.12 * rng.random()
        folds = 0.72 + 0.14 * np.sin(u * 2 * np.pi * 22 + 3 * noise(rng, 256, 4))
        cloth = colour(str(rng.choice(["#d8d2c4", "#c9b8a0", "#a8b0b8", "#c89a8a"])))
        hang = np.clip((wide + 0.05 * v - np.minimum(u, 1 - u)) * 60, 0, 1)
        glass = blend(glass, shade(cloth, folds), 0.7 * hang)
    elif inside == "blind":
        low = 0.3 + 0.5 * rng.random()
        slats = 0.66 + 0.16 * (v * 34 % 1)
        glass = blend(glass, shade(colour("#c8c4ba"), slats), 0.75 * (v < low))
    elif inside == "room":
        lamp = np.exp(-(((u - 0.62) / 0.16) ** 2 + ((v - 0.42) / 0.14) ** 2))
        glass = glass + 0.55 * lamp[..., None] * np.array([1.0, 0.78, 0.45])
        pot = (abs(u - 0.28) < 0.07) & (v > 0.74)
        glass = blend(glass, colour("#5f7a45"), 0.7 * pot)
    bars = np.minimum(np.minimum(u, 1 - u), np.minimum(v, 1 - v)) < 0.055
    bars |= abs(u - 0.5) < 0.024 if style in ("cross", "casement", "grid") else abs(v - 0.5) < 0.03
    if style == "cross":
        bars |= abs(v - 0.33) < 0.02
    elif style == "grid":
        bars |= (abs(v * 4 - np.round(v * 4)) < 0.05) | (abs(u * 4 - np.round(u * 4)) < 0.05)
    elif style == "sash":
        bars |= (abs(u - 0.5) < 0.012) & (v < 0.5)
    edge = np.clip(abs(np.minimum(np.minimum(u, 1 - u), np.minimum(v, 1 - v)) - 0.058) * 90, 0, 1)
    glass = shade(glass, 0.7 + 0.3 * edge)
    return blend(glass, shade(colour(frame), 0.9 + 0.1 * noise(rng, 256, 40)), bars * 1.0)


def _spot(size: int, x0: float, x1: float, y0: float, y1: float) -> tuple[slice, slice]:
    """Return the rows and columns of a rectangle of a picture, at least one each."""
    i, j = max(int(y0 * size), 0), max(int(x0 * size), 0)
    return slice(i, max(int(y1 * size), i + 1)), slice(j, max(int(x1 * size), j + 1))


@painter
def shopwindow(rng: np.random.Generator, style: str = "shelves", wall: str = "#c8b89a") -> Image:
    """A display behind glass: ``shelves``, ``clothes``, ``bakery`` or ``flowers``."""
    size = 512
    u, v = grid(size)
    image = shade(colour(wall), (0.3 + 0.36 * (1 - v)) * (0.9 + 0.2 * fractal(rng, size, 4, 3)))
    tones = ["#c8423a", "#e0b02f", "#3f8f5a", "#2f6fb0", "#d9772f", "#e8e4da", "#8a4f9a", "#6b4028"]

    def pick() -> Image:
        return colour(tones[int(rng.integers(len(tones)))])

    def paint(at: tuple[slice, slice], tone: Image, value: Image, shape: NDArray[np.bool_]) -> None:
        image[at] = blend(image[at], shade(tone, value), shape * 1.0)

    if style == "clothes":
        for k in range(3):
            x, tone = 0.2 + 0.3 * k + 0.04 * (rng.random() - 0.5), pick()
            at = _spot(size, x - 0.16, x + 0.16, 0.18, 0.86)
            s, w = u[at] - x, v[at]
            t = np.clip((w - 0.3) / 0.5, 0, 1)
            body = (abs(s) < 0.05 + 0.05 * t) & (w > 0.3) & (w < 0.84)
            arms = (abs(abs(s) - 0.065 - 0.05 * t) < 0.016) & (w > 0.32) & (w < 0.6)
            paint(at, tone, 0.7 + 0.3 * np.sin(s * 130) * t + s * 1.2, body | arms)
            head = np.hypot(s, (w - 0.24) * 0.8) < 0.03
            paint(at, colour("#d8d2c8"), 0.9 + 4 * s, head)
    else:
        rows = {"shelves": 4, "bakery": 3, "flowers": 2}[style]
        for row in range(rows):
            low = 0.24 + 0.68 * (row + 1) / rows
            x = 0.08
            while x < 0.9:
                wide, tall = 0.03 + 0.05 * rng.random(), (0.4 + 0.5 * rng.random()) * 0.52 / rows
                tone = pick()
                if style == "bakery":
                    tone, wide = colour("#b87a3a") * (0.8 + 0.5 * rng.random()), wide + 0.03
                at = _spot(size, x - 0.03, x + wide + 0.03, low - 1.6 * tall, low)
                s, w = u[at] - x - wide / 2, v[at]
                value = 0.85 + 0.5 * s / wide
                if style == "bakery":
                    tall = 0.4 * tall
                    shape = (s / (wide / 2)) ** 2 + ((w - low + 0.8 * tall) / tall) ** 2 < 1
                    value = value - 0.35 * (abs((s * 60) % 1 - 0.5) < 0.12)
                elif style == "flowers":
                    lump = 0.5 * tall * (1 + 0.5 * np.sin(s * 170) * np.sin(w * 150))
                    shape = np.hypot(s, w - low + tall) < np.minimum(lump, wide / 2 + 0.025)
                    pot = (abs(s) < 0.3 * wide) & (w > low - tall)
                    paint(at, colour("#4f6b3a"), value, pot)
                else:
                    shape = (abs(s) < wide / 2) & (w > low - tall)
                    value = value * (1 - 0.3 * (abs(w - low + 0.5 * tall) < 0.1 * tall))
                paint(at, tone, value, shape)
                x += wide + 0.012 + 0.02 * rng.random()
            at = _spot(size, 0.03, 0.97, low, low + 0.018)
            image[at] = colour("#8a6a48")
    glow = np.exp(-(((u - 0.5) / 0.5) ** 2) - ((v - 0.12) / 0.3) ** 2)
    image += 0.14 * glow[..., None] * np.array([1.0, 0.86, 0.6], np.float32)
    shine = np.clip(np.sin((u + 0.6 * v) * 7 + np.float32(rng.random() * 6)), 0, 1) ** 6
    return blend(image, np.array([0.66, 0.74, 0.8]), 0.2 * shine + 0.1 * (1 - v))


@painter
def doorleaf(
    rng: np.random.Generator, tone: str = "#3f5a44", style: str = "panels", glass: str = "#33424c"
) -> Image:
    """A front door: ``panels``, ``glazed`` or ``boards``."""
    u, v = grid(256)
    value = 0.86 + 0.12 * noise(rng, 256, 60, 4)
    image = shade(colour(tone), value)

    def framed(x0: float, x1: float, y0: float, y1: float) -> Image:
        return np.asarray(np.minimum(np.minimum(u - x0, x1 - u), np.minimum(v - y0, y1 - v) * 2.0))

    view = blend(colour(glass), np.array([0.55, 0.63, 0.7]), np.clip(0.6 - v + 0.4 * u, 0, 1))
    if style == "boards":
        seam = abs(u * 6 - np.round(u * 6)) < 0.03
        image = shade(image, 1 - 0.4 * seam)
        for y in (0.16, 0.84):
            image = blend(image, colour("#2a2c2e"), (abs(v - y) < 0.014) * (u < 0.62) * 1.0)
        return image
    boxes = {
        "panels": [
            (x, x + 0.32, y0, y1) for x in (0.14, 0.54) for y0, y1 in ((0.07, 0.5), (0.58, 0.93))
        ],
        "glazed": [(x, x + 0.32, 0.62, 0.93) for x in (0.14, 0.54)],
    }[style]
    for box in boxes:
        depth = framed(*box)
        image = shade(image, 1 - 0.32 * (abs(depth) < 0.012) + 0.1 * (abs(depth - 0.03) < 0.012))
    if style == "glazed":
        depth = framed(0.15, 0.85, 0.07, 0.5)
        image = blend(image, view, (depth > 0) * 1.0)
        image = shade(image, 1 - 0.35 * (abs(depth) < 0.012))
    handle = (abs(u - 0.9) < 0.02) & (abs(v - 0.54) < 0.07)
    return blend(image, colour("#c9a55a"), handle * 1.0)
