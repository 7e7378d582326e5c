"""Surfaces of streets: asphalt, windows, shop fronts, doors, car bodies, wheels and pictograms."""

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

    The sky shows in the glass from one corner; behind it a ``curtain``, a ``blind`` or a ``room``.
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


@painter
def shopwindow(
    rng: np.random.Generator, frame: str = "#2f4858", style: str = "shelves", wall: str = "#c8b89a"
) -> Image:
    """A display behind glass: ``shelves``, ``clothes``, ``bakery`` or ``flowers``."""
    u, v = grid(512)
    back = shade(colour(wall), (0.34 + 0.4 * (1 - v)) * (0.9 + 0.2 * fractal(rng, 512, 4, 3)))
    image = back
    tones = ["#c8423a", "#e0b02f", "#3f8f5a", "#2f6fb0", "#d9772f", "#e8e4da", "#8a4f9a", "#6b4028"]

    def pick() -> Image:
        return colour(tones[int(rng.integers(len(tones)))])

    if style == "clothes":
        for k in range(3):
            x, tone = 0.2 + 0.3 * k + 0.04 * (rng.random() - 0.5), pick()
            t = np.clip((v - 0.3) / 0.5, 0, 1)
            body = (abs(u - x) < 0.05 + 0.05 * t) & (v > 0.3) & (v < 0.84)
            arms = (abs(abs(u - x) - 0.065 - 0.05 * t) < 0.016) & (v > 0.32) & (v < 0.6)
            fold = 0.7 + 0.3 * np.sin(u * 130) * t + 0.2 * (u - x) * 6
            image = blend(image, shade(tone, fold), (body | arms) * 1.0)
            head = np.hypot(u - x, (v - 0.24) * 0.8) < 0.03
            image = blend(image, colour("#d8d2c8"), head * 1.0)
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
                    shape = ((u - x - wide / 2) / (wide / 2)) ** 2 + (
                        (v - low + 0.03) / (0.4 * tall)
                    ) ** 2 < 1
                elif style == "flowers":
                    lump = 0.5 * tall * (1 + 0.5 * np.sin(u * 170) * np.sin(v * 150))
                    shape = np.hypot(u - x - wide / 2, v - low + tall) < lump
                    pot = (abs(u - x - wide / 2) < 0.3 * wide) & (v < low) & (v > low - tall)
                    image = blend(image, colour("#4f6b3a"), pot * 1.0)
                else:
                    shape = (u > x) & (u < x + wide) & (v < low) & (v > low - tall)
                lit = 0.7 + 0.5 * (u - x) / max(wide, 0.02)
                image = blend(image, shade(tone, lit), shape * 1.0)
                x += wide + 0.012 + 0.02 * rng.random()
            board = abs(v - low - 0.008) < 0.009
            image = blend(image, colour("#8a6a48"), board * (abs(u - 0.5) < 0.46))
    glow = np.exp(-(((u - 0.5) / 0.5) ** 2) - ((v - 0.12) / 0.3) ** 2)
    image = image + 0.16 * glow[..., None] * np.array([1.0, 0.86, 0.6])
    shine = np.clip(np.sin((u + 0.6 * v) * 7 + rng.random() * 6), 0, 1) ** 6
    image = blend(image, np.array([0.66, 0.74, 0.8]), 0.2 * shine + 0.1 * (1 - v))
    rim = np.minimum(np.minimum(u, 1 - u) * 1.3, np.minimum(v, 1 - v)) < 0.034
    return blend(image, colour(frame), rim * 1.0)


@painter
def doorleaf(
    rng: np.random.Generator, tone: str = "#3f5a44", style: str = "panels", glass: str = "#33424c"
) -> Image:
    """A front door: ``panels``, ``glazed``, ``boards`` or ``shop``."""
    u, v = grid(256)
    value = 0.86 + 0.12 * noise(rng, 256, 60, 4)
    image = shade(colour(tone), value)

    def framed(x0: float, x1: float, y0: float, y1: float) -> Image:
        return np.minimum(np.minimum(u - x0, x1 - u), (np.minimum(v - y0, y1 - v)) * 2.0)

    view = blend(colour(glass), np.array([0.55, 0.63, 0.7]), np.clip(0.6 - v + 0.4 * u, 0, 1))
    if style == "boards":
        seam = abs(u * 6 - np.round(u * 6)) < 0.03
        image = shade(image, 1 - 0.4 * seam)
        for y in (0.16, 0.84):
            image = blend(image, colour("#2a2c2e"), (abs(v - y) < 0.014) * (u < 0.62) * 1.0)
        return image
    boxes = {
        "panels": [(x, x + 0.32, y0, y1) for x in (0.14, 0.54) for y0, y1 in ((0.07, 0.5), (0.58, 0.93))],
        "glazed": [(x, x + 0.32, 0.62, 0.93) for x in (0.14, 0.54)],
        "shop": [],
    }[style]
    for box in boxes:
        depth = framed(*box)
        image = shade(image, 1 - 0.32 * (abs(depth) < 0.012) + 0.1 * (abs(depth - 0.03) < 0.012))
    if style != "panels":
        y1 = 0.5 if style == "glazed" else 0.86
        depth = framed(0.15, 0.85, 0.07, y1)
        image = blend(image, view, (depth > 0) * 1.0)
        image = shade(image, 1 - 0.35 * (abs(depth) < 0.012))
    handle = (abs(u - 0.9) < 0.02) & (abs(v - 0.54) < 0.07)
    return blend(image, colour("#c9a55a"), handle * 1.0)


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


@painter
def pictogram(
    rng: np.random.Generator,
    ground: str = "#2f4f7a",
    mark: str = "#f2efe6",
    figure: str = "cup",
) -> Image:
    """A sign without words: ``cup``, ``loaf``, ``scissors``, ``key``, ``shoe``, ``fish``, ``leaf``,
    ``book`` or ``glasses``."""
    u, v = grid(256)
    x, y = (u - 0.5) * 2, (v - 0.5) * 2
    r = np.hypot(x, y)
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
    return shade(blend(colour(ground), colour(mark), (shape | rim | (r < 0)) * 1.0), value)


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
def trafficsign(rng: np.random.Generator, style: str = "stop") -> Image:
    """Face of a road sign: ``noentry``, ``parking``, ``warning``, ``bike``, ``limit``, ``arrow``."""
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
