"""Procedural skin, faces, eyes and hair.

A face is painted at the texture places that the people data give the head, with the help of their
map of it: crown at v = 0.02, hairline 0.12, eyes 0.356, tip of the nose 0.49, lips 0.622, chin 0.8.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.bodies import head_map
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

EYE_U, EYE_V, BROW_V, NOSE_V, MOUTH_V, CHIN_V = 0.11, 0.356, 0.283, 0.49, 0.622, 0.8


@painter
def skin(rng: np.random.Generator, tone: str) -> Image:
    """Bare skin."""
    return shade(colour(tone), 0.94 + 0.1 * fractal(rng, 128, 4))


def _spot(x: Image, y: Image, wide: float, high: float, power: float = 2.0) -> Image:
    """Return a soft spot about the origin, 1 in its middle."""
    return np.asarray(np.exp(-(abs(x / wide) ** power) - abs(y / high) ** power))


@painter
def face(rng: np.random.Generator, tone: str, hair: str, lips: str, style: str) -> Image:
    """A face and the skin all around the head.

    Args:
        rng: For what is random in it.
        tone: Of the skin.
        hair: Colour of brows, beard and hairline.
        lips: Their colour.
        style: Words joined by ``+``: one of ``stubble``, ``beard``, ``goatee``, ``moustache``;
            any of ``freckles``, ``makeup``, ``lined`` (age), ``mole``, ``bald`` (no hairline);
            one of ``thin``, ``thick``, ``arched``, ``straight`` for the brows.
    """
    words = style.split("+")
    u, v = grid(256)
    known = head_map()
    free, scalp, lip = (known[..., k] for k in range(3))
    base = colour(tone)
    x = u - 0.5
    side = abs(x)
    dark = float(base.mean())
    image = shade(base, 0.95 + 0.06 * fractal(rng, 256, 8) + 0.04 * noise(rng, 256, 96))
    # Blood shows in cheeks, nose and ears; forehead and chin are paler or yellower.
    rosy = base * np.array([1.0, 0.8, 0.76], np.float32)
    flush = 0.55 * _spot(side - 0.17, v - 0.5, 0.085, 0.075) + 0.45 * _spot(x, v - 0.5, 0.05, 0.04)
    flush += 0.5 * _spot(side - 0.39, v - 0.43, 0.03, 0.1)
    image = blend(image, rosy, flush * (0.6 + 0.5 * dark))
    image = blend(
        image, base * np.array([1.05, 1.02, 0.93], np.float32), 0.5 * _spot(x, v - 0.2, 0.2, 0.07)
    )
    if "freckles" in words:
        speckle = np.clip(noise(rng, 256, 120) * noise(rng, 256, 75) - 0.42, 0, 1) * 5
        where = _spot(side - 0.1, v - 0.46, 0.16, 0.08, 4)
        image = blend(image, base * np.array([0.7, 0.52, 0.42], np.float32), 0.75 * speckle * where)
    if "mole" in words:
        across, down = rng.uniform(-0.2, 0.2), rng.uniform(0.5, 0.7)
        image = blend(image, base * 0.35, _spot(x - across, v - down, 0.008, 0.007, 4))
    # Around the eyes skin is thinner and darker, the more the older.
    lined = "lined" in words
    socket = _spot(side - EYE_U, v - EYE_V, 0.075, 0.045)
    image = blend(
        image, base * np.array([0.74, 0.62, 0.6], np.float32), (0.38 + 0.2 * lined) * socket
    )
    if "makeup" in words:
        shadow = colour(("#6a4a52", "#4f5a6e", "#7a5a3c", "#5a3a4a")[int(rng.integers(4))])
        above = np.clip((EYE_V + 0.004 - v) / 0.01, 0, 1)
        image = blend(
            image, shadow, 0.6 * above * _spot(side - EYE_U, v - EYE_V + 0.018, 0.058, 0.02)
        )
    if lined:
        fold = 0.072 + 0.35 * (v - 0.5)
        folds = _spot(side - fold, v - 0.56, 0.008, 0.07, 4)
        waves = (v + 0.006 * np.cos(x * 30)) * 34 % 1 - 0.5
        lines = np.exp(-((waves / 0.13) ** 2)) * _spot(x, v - 0.2, 0.17, 0.05, 4)
        bags = _spot(side - EYE_U, v - EYE_V - 0.042 + 0.9 * (side - EYE_U) ** 2, 0.05, 0.007)
        feet = np.exp(-((((v - EYE_V) / (side - 0.1 + 1e-6) * 2.2 % 1 - 0.5) / 0.2) ** 2))
        feet = feet * _spot(side - 0.2, v - EYE_V, 0.025, 0.03, 4)
        creases = 0.5 * folds + 0.3 * lines + 0.3 * bags + 0.25 * feet
        image = blend(image, base * np.array([0.6, 0.48, 0.44], np.float32), creases)
    image = _hairs(image, rng, words, colour(hair), base, (x, side, v), scalp)
    # Lips, darker towards the line between them.
    image = blend(image, colour(lips), 0.9 * lip)
    shine = _spot(x, v - MOUTH_V - 0.022, 0.04, 0.008)
    image = blend(image, np.clip(colour(lips) * 1.35, 0, 1), 0.35 * shine * lip)
    line = _spot(x, v - MOUTH_V - 0.004 * np.cos(side * 60), 0.072, 0.0042, 4)
    image = blend(image, colour(lips) * 0.32, 0.75 * line)
    under = _spot(x, v - MOUTH_V - 0.062, 0.05, 0.012)
    image = blend(image, base * 0.72, 0.3 * under)
    # Lids end in lashes; their inner edge is moist and pink.
    lash = 0.85 if "makeup" in words else 0.6
    edge = EYE_V - 0.012 + 3.2 * (side - EYE_U) ** 2
    image = blend(
        image,
        np.array([0.05, 0.035, 0.03], np.float32),
        lash * _spot(side - EYE_U - 0.004, v - edge, 0.05, 0.0075, 4),
    )
    crease = EYE_V - 0.034 + 2.6 * (side - EYE_U) ** 2
    image = blend(
        image,
        base * np.array([0.5, 0.4, 0.37], np.float32),
        0.5 * _spot(side - EYE_U, v - crease, 0.052, 0.005),
    )
    # Light is lost in hollows: nostrils, corners of the eyes, ears; what is left is reddish.
    lost = np.clip(free, 0, 1)[..., None] ** np.array([0.75, 1.15, 1.25], np.float32)
    return np.asarray(image * (0.12 + 0.88 * lost))


def _hairs(
    image: Image,
    rng: np.random.Generator,
    words: list[str],
    tone: Image,
    base: Image,
    at: tuple[Image, Image, Image],
    scalp: Image,
) -> Image:
    """Return a face with brows, beard and the first hairs at the hairline."""
    x, side, v = at
    strands = noise(rng, 256, 110, 60)
    high = {"arched": 0.018, "straight": 0.002}.get(
        next((w for w in words if w in ("arched", "straight")), ""), 0.009
    )
    thick = {"thin": 0.0085, "thick": 0.017}.get(
        next((w for w in words if w in ("thin", "thick")), ""), 0.0125
    )
    along = (side - 0.035) / 0.165
    arch = (
        BROW_V + 0.006 - high * np.sin(np.clip(along, 0, 1) ** 0.8 * np.pi * 0.8) + 0.012 * along**3
    )
    width = thick * (1.05 - 0.6 * np.clip(along, 0, 1) ** 1.5)
    brow = np.clip((along + 0.12) / 0.16, 0, 1) * np.clip((1.02 - along) / 0.2, 0, 1)
    brow = brow * np.exp(-(((v - arch) / width) ** 4))
    image = blend(image, tone * 0.62, 0.92 * brow * (0.55 + 0.7 * strands))
    jaw = np.clip((v - 0.585 - 0.6 * np.clip(0.12 - side, 0, 1)) / 0.05, 0, 1)
    jaw = np.maximum(jaw, np.clip((side - 0.29) / 0.05, 0, 1) * np.clip((v - 0.3) / 0.12, 0, 1))
    jaw = jaw * np.clip((0.395 - side) / 0.03, 0, 1) * np.clip((0.87 - v) / 0.05, 0, 1)
    chin = _spot(x, v - 0.745, 0.085, 0.075, 4) * np.clip((v - 0.655) / 0.015, 0, 1)
    ring = _spot(side - 0.088, v - 0.64, 0.016, 0.075, 4)
    lip = _spot(x, v - 0.573 - 0.35 * side**2 * 8, 0.092, 0.019, 4)
    below = tone * 0.75
    if "stubble" in words:
        shadow = np.clip(jaw + lip + ring, 0, 1)
        image = blend(
            image,
            blend(base * 0.6, below, np.full_like(v, 0.35)),
            0.5 * shadow * (0.6 + 0.6 * strands),
        )
    if "beard" in words:
        image = blend(image, below, 0.95 * np.clip(jaw + chin + ring, 0, 1) * (0.7 + 0.5 * strands))
    if "goatee" in words:
        image = blend(image, below, 0.92 * np.clip(chin + ring, 0, 1) * (0.7 + 0.5 * strands))
    if {"beard", "goatee", "moustache"} & set(words):
        image = blend(image, below, 0.92 * lip * (0.7 + 0.5 * strands))
    if "bald" not in words:
        roots = np.clip((scalp + 0.16 + 0.2 * (strands - 0.5)) / 0.22, 0, 1) * (v < 0.72)
        image = blend(image, tone * 0.7, 0.95 * roots)
    return image


@painter
def eye(rng: np.random.Generator, iris: str) -> Image:
    """An eyeball seen from the front."""
    u, v = grid(128)
    radius, angle = np.hypot(u - 0.5, v - 0.5), np.arctan2(v - 0.5, u - 0.5)
    image = shade(np.array([0.83, 0.79, 0.76]), 1 - 1.6 * np.clip(radius - 0.25, 0, 0.3))
    image = blend(image, np.array([0.72, 0.45, 0.4]), 1.5 * np.clip(radius - 0.34, 0, 0.3))
    rays = 0.8 + 0.25 * np.sin(angle * 23 + 5 * fractal(rng, 128, 8))
    image = blend(image, shade(colour(iris), rays), (0.25 - radius) * 60)
    image = blend(image, colour(iris) * 0.3, (0.028 - abs(radius - 0.235)) * 45)
    image = blend(image, np.array([0.02, 0.02, 0.02]), (0.105 - radius) * 80)
    image = shade(image, 1 - 0.55 * np.clip((0.42 - v) / 0.2, 0, 1))
    return blend(image, np.array([1.0, 1.0, 1.0]), (0.04 - np.hypot(u - 0.43, v - 0.43)) * 60)


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
