"""Procedural skin, faces, eyes and hair.

A face is painted in the coordinates that the people data give the head: eyes at v = 0.5 and
u = 0.5 -+ 0.085, mouth at v = 0.68, chin at v = 0.8, crown at v = 0.02.
"""

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

EYE_U, EYE_V, MOUTH_V = 0.085, 0.5, 0.68


@painter
def skin(rng: np.random.Generator, tone: str) -> Image:
    """Bare skin."""
    return shade(colour(tone), 0.94 + 0.1 * fractal(rng, 128, 4))


@painter
def face(rng: np.random.Generator, tone: str, hair: str, lips: str, style: str) -> Image:
    """A face all around the head: ``plain``, ``stubble``, ``beard``, ``moustache`` or ``old``."""
    u, v = grid(256)
    base = colour(tone)
    image = shade(base, 0.95 + 0.08 * fractal(rng, 256, 6))
    x, side = u - 0.5, abs(u - 0.5)
    rosy = np.clip(base * [1.06, 0.86, 0.84], 0, 1)
    cheek = np.exp(-(((side - 0.1) / 0.05) ** 2) - ((v - 0.6) / 0.05) ** 2)
    image = blend(image, rosy, 0.55 * cheek)
    nose = np.exp(-((x / 0.035) ** 2) - ((v - 0.6) / 0.025) ** 2)
    image = blend(image, rosy, 0.5 * nose)
    socket = np.exp(-(((side - EYE_U) / 0.05) ** 2) - ((v - EYE_V + 0.008) / 0.022) ** 2)
    image = blend(image, base * 0.55, 0.55 * socket)
    lashes = np.exp(-(((side - EYE_U) / 0.04) ** 4) - ((v - EYE_V + 0.017) / 0.006) ** 2)
    image = blend(image, base * 0.2, 0.7 * lashes)
    arch = 0.448 - 0.012 * np.cos((side - EYE_U) * 30)
    brow = np.clip(1.2 - (abs(side - EYE_U) / 0.05) ** 3, 0, 1) * np.exp(
        -(((v - arch) / 0.0085) ** 2)
    )
    image = blend(image, colour(hair) * 0.7, 0.95 * brow * (0.7 + 0.6 * noise(rng, 256, 100)))
    if style in ("stubble", "beard"):
        jaw = np.clip((v - 0.645 - 0.25 * np.clip(0.09 - side, 0, 1) * (v < 0.66)) / 0.03, 0, 1)
        jaw = np.maximum(jaw, np.clip((side - 0.14) / 0.03, 0, 1) * (v > 0.5))
        jaw *= np.clip((0.235 - side) / 0.03, 0, 1) * np.clip((0.86 - v) / 0.04, 0, 1)
        share = 0.35 if style == "stubble" else 0.92
        image = blend(image, colour(hair) * 0.8, share * jaw * (0.75 + 0.5 * noise(rng, 256, 90)))
    if style in ("moustache", "beard"):
        lip = np.clip(1.3 - (side / 0.06) ** 2, 0, 1) * np.exp(-(((v - 0.652) / 0.014) ** 2))
        image = blend(image, colour(hair) * 0.75, 0.9 * lip)
    if style == "old":
        folds = np.exp(-(((side - 0.06 - 0.35 * (v - 0.6)) / 0.006) ** 2)) * (
            (v > 0.59) & (v < 0.68)
        )
        lines = (
            np.exp(-(((((v - 0.39) * 45) % 1 - 0.5) / 0.16) ** 2))
            * ((v > 0.37) & (v < 0.43))
            * (side < 0.1)
        )
        image = blend(image, base * 0.6, 0.5 * folds + 0.35 * lines)
    bow = MOUTH_V - 0.004 * np.cos(side * 90)
    mouth = np.clip(1.25 - (side / 0.058) ** 2, 0, 1) * np.exp(-(((v - bow) / 0.015) ** 4))
    image = blend(image, colour(lips), 0.85 * mouth)
    slit = np.clip(1.2 - (side / 0.06) ** 4, 0, 1) * np.exp(-(((v - MOUTH_V) / 0.0035) ** 2))
    return blend(image, base * 0.3, 0.7 * slit)


@painter
def eye(rng: np.random.Generator, iris: str) -> Image:
    """An eyeball seen from the front."""
    u, v = grid(128)
    radius = np.hypot(u - 0.5, v - 0.5)
    image = shade(np.array([0.93, 0.91, 0.88]), 1 - 0.5 * np.clip(radius - 0.25, 0, 1))
    image = blend(image, colour(iris), (0.235 - radius) * 60)
    image = blend(image, colour(iris) * 0.4, (0.03 - abs(radius - 0.215)) * 40)
    image = blend(image, np.array([0.03, 0.03, 0.03]), (0.1 - radius) * 80)
    return blend(image, np.array([1.0, 1.0, 1.0]), (0.045 - np.hypot(u - 0.43, v - 0.42)) * 60)


@painter
def hair(rng: np.random.Generator, tone: str, style: str) -> Image:
    """Hair whose strands run along v: ``straight``, ``curly`` or ``knit`` (a cap)."""
    u, v = grid(256)
    if style == "curly":
        warped = noise(rng, 256, 14) + 0.5 * noise(rng, 256, 28)
        strands = 0.5 + 0.5 * np.sin(warped * 30)
        value = 0.45 + 0.6 * strands + 0.3 * noise(rng, 256, 64)
    elif style == "knit":
        value = 0.75 + 0.2 * abs(np.sin(u * np.pi * 40)) + 0.15 * np.sin(v * 2 * np.pi * 40)
    else:
        strands = noise(rng, 256, 90, 5) + 0.6 * noise(rng, 256, 40, 3)
        value = 0.35 + 0.75 * strands / 1.2 + 0.25 * noise(rng, 256, 12, 2)
    return shade(colour(tone), value)
