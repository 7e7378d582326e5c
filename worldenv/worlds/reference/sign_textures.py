"""Surfaces of signs without words: pictograms, posters, road signs, slates."""

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


@painter
def pictogram(
    rng: np.random.Generator,
    ground: str = "#2f4f7a",
    mark: str = "#f2efe6",
    figure: str = "cup",
) -> Image:
    """A sign without words: a cup, loaf, key, shoe, fish, leaf, book, scissors or glasses."""
    u, v = grid(256)
    x, y = (u - 0.5) * 2, (v - 0.5) * 2
    if figure == "cup":
        shape = (abs(x + 0.08) < 0.36 - 0.12 * np.clip(y, 0, 1)) & (abs(y - 0.05) < 0.34)
        shape |= abs(np.hypot(x - 0.32, y) - 0.17) < 0.045
        shape |= (abs(y - 0.5) < 0.04) & (abs(x + 0.05) < 0.5)
        for k in (-0.22, -0.02):
            shape |= (abs(x - k - 0.04 * np.sin(y * 14)) < 0.03) & (y < -0.36) & (y > -0.64)
    elif figure == "loaf":
        shape = (np.hypot(x / 0.62, (y - 0.05) / 0.36) < 1) & (y < 0.28)
        for k in (-0.3, 0.0, 0.3):
            shape &= ~((abs(x - k - 0.3 * y) < 0.035) & (y < 0.02))
    elif figure == "scissors":
        shape = abs(np.hypot(abs(x) - 0.28, y - 0.42) - 0.17) < 0.05
        for s in (-1, 1):
            line = abs(x * 0.9 - s * (y - 0.05) * 0.42) / 1.0
            shape |= (line < 0.06) & (y > -0.66) & (y < 0.3)
    elif figure == "key":
        shape = abs(np.hypot(x + 0.42, y) - 0.2) < 0.07
        shape |= (abs(y) < 0.06) & (x > -0.22) & (x < 0.66)
        shape |= (abs(x - 0.55) < 0.05) & (y > 0) & (y < 0.24)
        shape |= (abs(x - 0.36) < 0.05) & (y > 0) & (y < 0.18)
    elif figure == "shoe":
        shape = (abs(x) < 0.62) & (y < 0.3) & (y > 0.3 - 0.5 * np.clip(0.75 - x, 0, 0.9))
        shape &= (x < 0.2) | (np.hypot((x - 0.2) / 0.42, (y - 0.3) / 0.34) < 1)
        shape |= (abs(x) < 0.62) & (abs(y - 0.38) < 0.05)
    elif figure == "fish":
        shape = np.hypot((x - 0.08) / 0.5, y / 0.26) < 1
        shape |= (x < -0.36) & (x > -0.7) & (abs(y) < 0.04 - 0.75 * (x + 0.36))
        shape &= np.hypot(x - 0.36, y + 0.06) > 0.05
    elif figure == "leaf":
        shape = (np.hypot(x - 0.45, y - 0.12) < 0.8) & (np.hypot(x + 0.45, y + 0.12) < 0.8)
        shape &= abs(x * 0.9 + 0.25 * y) > 0.03
        shape |= (abs(x * 0.9 + 0.25 * y) < 0.03) & (abs(y) < 0.78)
    elif figure == "book":
        shape = (abs(x) < 0.62) & (abs(y - 0.12 * abs(x) + 0.02) < 0.4) & (abs(x) > 0.03)
        shape &= ~((abs((y - 0.12 * abs(x)) * 6 % 1 - 0.5) < 0.12) & (abs(abs(x) - 0.33) < 0.2))
    else:
        shape = (abs(np.hypot(abs(x) - 0.36, y) - 0.24) < 0.05) | (
            (abs(y + 0.05) < 0.04) & (abs(x) < 0.13)
        )
    rim = abs(np.maximum(abs(x), abs(y)) - 0.88) < 0.035
    value = 0.95 + 0.08 * fractal(rng, 256, 4)
    return shade(blend(colour(ground), colour(mark), (shape | rim) * 1.0), value)


@painter
def poster(rng: np.random.Generator, ground: str = "#e0b02f", mark: str = "#2f4f7a") -> Image:
    """A poster of discs, bars and hills, no words."""
    u, v = grid(256)
    image = shade(colour(ground), 0.9 + 0.2 * (1 - v))
    image = blend(image, colour(mark), (v > 0.6 + 0.12 * np.sin(u * 7 + 6 * rng.random())) * 1.0)
    tones = ["#c8423a", "#f2efe6", "#3f8f5a", "#23282d", "#e87aa8"]
    for _ in range(3):
        x, y, r = 0.2 + 0.6 * rng.random(), 0.15 + 0.5 * rng.random(), 0.07 + 0.14 * rng.random()
        tone = colour(tones[int(rng.integers(len(tones)))])
        image = blend(image, tone, np.clip((r - np.hypot(u - x, v - y)) * 120, 0, 1))
    edge = np.minimum(np.minimum(u, 1 - u), np.minimum(v, 1 - v)) < 0.03
    return blend(image, colour("#f0ece2"), edge * 1.0)


@painter
def trafficsign(rng: np.random.Generator, style: str = "warning") -> Image:
    """Face of a road sign: no entry, parking, warning, bike, limit (a car) or arrow."""
    u, v = grid(256)
    x, y = (u - 0.5) * 2, (v - 0.5) * 2
    r = np.hypot(x, y)
    red, blue, white, black = (colour(c) for c in ("#c42a2a", "#2458a8", "#f0efea", "#1e2022"))
    if style == "noentry":
        image = blend(red, white, (np.maximum(abs(x) / 0.7, abs(y) / 0.17) < 1) * 1.0)
    elif style in ("limit", "bike"):
        image = blend(white, red, (r > 0.72) * 1.0)
        if style == "bike":
            mark = abs(np.hypot(abs(x) - 0.33, y - 0.16) - 0.2) < 0.035
            mark |= (abs(y + 0.16 - 0.3 * (x - 0.3)) < 0.04) & (abs(x) < 0.3)
            mark |= (abs(x - 0.3 + 0.1 * y) < 0.035) & (abs(y) < 0.3)
            mark |= (abs(x + 0.12 + 0.4 * y) < 0.035) & (abs(y) < 0.2)
        else:
            mark = (abs(x) < 0.4) & (abs(y - 0.06) < 0.17)
            mark |= (abs(x) < 0.24) & (abs(y + 0.14) < 0.14)
            mark |= np.hypot(abs(x) - 0.24, y - 0.26) < 0.11
        image = blend(image, black, mark * 1.0)
    elif style == "parking":
        mark = (abs(x + 0.2) < 0.1) & (abs(y) < 0.6)
        mark |= (abs(np.hypot((x + 0.05) * 0.85, y + 0.25) - 0.26) < 0.09) & (x > -0.12)
        image = blend(blue, white, (mark | (np.maximum(abs(x), abs(y)) > 0.92)) * 1.0)
    elif style == "arrow":
        mark = (abs(x) < 0.11) & (y > -0.2) & (y < 0.62)
        mark |= (abs(x) < 0.55 + 0.9 * (y - 0.0)) & (y < -0.02) & (y > -0.62)
        mark &= ~((y < -0.02) & (abs(x) > (y + 0.66) * 0.75))
        image = blend(blue, white, (mark | (abs(r - 0.94) < 0.04)) * 1.0)
    else:
        inside = (y < 0.6) & (abs(x) < 0.62 * (y + 0.72) / 1.3)
        mark = (abs(x) < 0.07) & (abs(y + 0.0) < 0.24) | (np.hypot(x, y - 0.42) < 0.08)
        image = blend(blend(red, white, inside * 1.0), black, mark * 1.0)
    return shade(image, 0.94 + 0.1 * fractal(rng, 256, 4))


@painter
def chalkboard(rng: np.random.Generator, tone: str = "#2c302e", chalk: str = "#e8e4da") -> Image:
    """A slate with chalk rules, dots and a drawing, no words."""
    u, v = grid(256)
    image = shade(colour(tone), 0.9 + 0.4 * fractal(rng, 256, 4, 4))
    mark = np.zeros((256, 256), bool)
    for k in range(5):
        y = 0.46 + 0.1 * k
        long = 0.3 + 0.3 * rng.random()
        wave = 0.008 * np.sin(u * 160 + 9 * k)
        mark |= (abs(v - y - wave) < 0.011) & (u > 0.16) & (u < 0.16 + long)
        mark |= np.hypot(u - 0.82, v - y) < 0.014
    mark |= abs(np.hypot(u - 0.5, (v - 0.24) * 1.2) - 0.12) < 0.012
    mark |= (abs(v - 0.24 - 0.1 * np.sin(u * 18)) < 0.01) & (abs(u - 0.5) < 0.2)
    return blend(image, colour(chalk), mark * (0.6 + 0.4 * noise(rng, 256, 90)))
