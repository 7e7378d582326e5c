"""Surfaces of cars: flanks, noses, tails, windows and wheels."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.textures import (
    Image,
    blend,
    colour,
    fractal,
    grid,
    painter,
    shade,
)


@painter
def carside(
    rng: np.random.Generator, tone: str = "#a8322c", seams: str = "0.34,0.56,0.74", low: str = "0.3"
) -> Image:
    """A car's flank, nose at the right: u along it, v up it; door seams, sill, handles, a sheen."""
    u, v = grid(512)
    up = 1 - v
    sill = float(low)
    # What a glossy flank mirrors: the sky from above, a dark street at the middle, ground below.
    value = 0.82 + 0.3 * np.clip((up - 0.72) * 5, 0, 1) - 0.16 * np.exp(-(((up - 0.6) / 0.1) ** 2))
    value = value + 0.06 * np.clip(0.45 - up, 0, 1) + 0.03 * (fractal(rng, 512, 3, 3) - 0.5)
    image = shade(colour(tone), value)
    image = image + 0.07 * np.clip((up - 0.78) * 6, 0, 1)[..., None]
    image = blend(image, colour("#24272a"), np.clip((sill - up) * 60, 0, 1))
    places = [float(s) for s in seams.split(",")]
    for k, x in enumerate(places):
        line = (abs(u - x) < 0.0016) & (up > sill + 0.015)
        image = shade(image, 1 - 0.62 * line)
        if k + 1 < len(places) or len(places) == 1:
            grip = (abs(u - x - 0.03) < 0.017) & (abs(up - 0.83) < 0.02)
            image = blend(image, colour(tone) * 0.5, grip * 1.0)
            bright = (abs(u - x - 0.03) < 0.016) & (abs(up - 0.838) < 0.009)
            image = blend(image, colour("#c8ccd0"), bright * 0.7)
    groove = np.exp(-(((up - 0.7) / 0.008) ** 2))
    return shade(image, 1 - 0.16 * groove)


def _plate(image: Image, u: Image, v: Image, rng: np.random.Generator, y: float) -> Image:
    """Add a number plate of bars that are no letters."""
    plate = (abs(u - 0.5) < 0.15) & (abs(v - y) < 0.05)
    image = blend(image, colour("#e8e6dc"), plate * 1.0)
    x = 0.385
    for _ in range(6):
        wide = 0.014 + 0.012 * rng.random()
        bar = (u > x) & (u < x + wide) & (abs(v - y) < 0.028)
        image = blend(image, colour("#2c2e32"), bar * 1.0)
        x += wide + 0.016
    return image


@painter
def carfront(rng: np.random.Generator, tone: str = "#a8322c", style: str = "wide") -> Image:
    """A car's nose: grille, lamps, bumper, plate; ``wide``, ``round`` or ``tall``."""
    u, v = grid(256)
    image = shade(colour(tone), 1.04 - 0.22 * v)
    side = abs(u - 0.5)
    black, chrome = colour("#1e2124"), colour("#c4c8cc")
    if style == "round":
        lamp = np.hypot(side - 0.37, (v - 0.3) * 0.62) / 0.085
        grille = (side < 0.2) & (abs(v - 0.32) < 0.09)
    elif style == "tall":
        lamp = np.maximum(abs(side - 0.4) / 0.06, abs(v - 0.34) / 0.17)
        grille = (side < 0.3) & (abs(v - 0.36) < 0.16)
    else:
        lamp = np.maximum(abs(side - 0.385) / 0.105, abs(v - 0.28 + 0.25 * (side - 0.38)) / 0.1)
        grille = (side < 0.26) & (abs(v - 0.29) < 0.075)
    image = blend(image, black, grille * 1.0)
    image = blend(image, chrome, (grille & (abs(v * 24 - np.round(v * 24)) < 0.16)) * 0.6)
    image = blend(image, chrome * 0.55, np.clip((1.12 - lamp) * 12, 0, 1))
    image = blend(image, blend(colour("#8f979c"), colour("#f4f4ee"), 1.1 - lamp), (lamp < 1) * 1.0)
    image = shade(image, 1 - 0.5 * (abs(v - 0.5) < 0.008))
    image = blend(image, black, ((abs(v - 0.82) < 0.08) & (side < 0.36)) * 1.0)
    fog = np.hypot(side - 0.42, (v - 0.8) * 0.6) < 0.035
    image = blend(image, colour("#d8dada"), fog * 0.8)
    return _plate(image, u, v, rng, 0.62)


@painter
def carback(rng: np.random.Generator, tone: str = "#a8322c", style: str = "wide") -> Image:
    """A car's tail: lamps, boot lid, bumper, plate; ``wide``, ``round`` or ``tall``."""
    u, v = grid(256)
    image = shade(colour(tone), 1.04 - 0.22 * v)
    side = abs(u - 0.5)
    if style == "tall":
        lamp = np.maximum(abs(side - 0.445) / 0.04, abs(v - 0.3) / 0.26)
    elif style == "round":
        lamp = np.hypot(side - 0.39, (v - 0.3) * 0.62) / 0.075
    else:
        lamp = np.maximum(abs(side - 0.385) / 0.1, abs(v - 0.26) / 0.1)
    red = blend(colour("#7a1418"), colour("#e8403a"), np.clip(1.2 - lamp, 0, 1))
    image = blend(image, red, np.clip((1 - lamp) * 14, 0, 1))
    amber = (lamp < 0.9) & (v > 0.31)
    image = blend(image, colour("#e0903a"), amber * 0.7)
    lid = abs(np.maximum(side / 0.3, abs(v - 0.3) / 0.36) - 1) < 0.02
    image = shade(image, 1 - 0.5 * lid)
    image = blend(image, colour("#24272a"), (v > 0.84) * 1.0)
    pipe = np.hypot(side - 0.32, (v - 0.93) * 0.6) < 0.022
    image = blend(image, colour("#8f9498"), pipe * 1.0)
    return _plate(image, u, v, rng, 0.44 if style != "tall" else 0.62)


@painter
def carglass(rng: np.random.Generator, style: str = "side") -> Image:
    """Car windows: dark, seats behind, the sky sliding over them; ``side`` or ``screen``."""
    u, v = grid(128)
    image = blend(np.array([0.07, 0.08, 0.09]), np.array([0.42, 0.5, 0.57]), (0.62 - v) * 1.1)
    seats = (np.hypot((u - 0.5) / 0.2, (v - 0.8) / 0.4) < 1) | (
        np.hypot((u - 0.5) / 0.12, (v - 0.42) / 0.14) < 1
    )
    if style == "screen":
        seats = (np.hypot((abs(u - 0.5) - 0.22) / 0.13, (v - 0.9) / 0.34) < 1) | (
            np.hypot((abs(u - 0.5) - 0.22) / 0.07, (v - 0.52) / 0.12) < 1
        )
    image = shade(image, 1 - 0.34 * seats)
    streak = np.clip(np.sin((u + 0.5 * v) * 6 + rng.random() * 6), 0, 1) ** 8
    return blend(image, np.array([0.7, 0.77, 0.82]), 0.26 * streak)


@painter
def wheel(rng: np.random.Generator, tone: str = "#b8bcc0", style: str = "5") -> Image:
    """A wheel from its side: tyre, rim and as many spokes as ``style`` says, or a ``cap``."""
    u, v = grid(256)
    r, a = np.hypot(u - 0.5, v - 0.5) * 2, np.arctan2(v - 0.5, u - 0.5)
    image = shade(colour("#1e2022"), 0.9 + 0.2 * np.cos(r * 60))
    dark = colour("#2e3134")
    inside = np.clip((0.7 - r) * 60, 0, 1)
    image = blend(image, dark, inside)
    if style == "cap":
        slots = (abs(np.sin(a * 6)) > 0.5) & (abs(r - 0.52) < 0.07)
        metal = 1.0 * ~slots
    else:
        n = int(style)
        wide = np.clip(0.62 - 0.4 * r, 0.2, 1)
        metal = 1.0 * (abs(np.sin(a * n / 2)) < wide * (0.9 if n < 8 else 0.75))
    metal = np.maximum(metal, (abs(r - 0.66) < 0.04) | (r < 0.16)) * inside
    lit = 0.8 + 0.25 * (0.5 - v) + 0.15 * np.cos(a * 2)
    image = blend(image, shade(colour(tone), lit), metal)
    nuts = np.hypot(r * np.cos((a * 5 / (2 * np.pi)) % 1 * 1.2566 - 0.6283) - 0.11, 0.0) < 0.012
    return blend(image, dark, (nuts & (r < 0.15)) * 0.8)
