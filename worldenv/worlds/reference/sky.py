"""The weather outdoors: sky, sun and the light they give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.outdoor_textures import sky
from worldenv.worlds.reference.scene import Lamp, Material
from worldenv.worlds.reference.shapes import Builder, mesh_grid

Points = NDArray[np.float64]

DOME = 95.0
"""Radius of the sky in metres."""


class Mood(NamedTuple):
    """A kind of weather.

    Attributes:
        colours: Of the zenith, of the horizon and of the clouds' lit sides.
        cover: Least and greatest share of clouds.
        sun: Linear RGB light of the sun on what faces it.
        sky: Linear RGB light of the open sky.
        elevation: Least and greatest height of the sun, degrees.
    """

    colours: tuple[str, str, str]
    cover: tuple[float, float]
    sun: tuple[float, float, float]
    sky: tuple[float, float, float]
    elevation: tuple[float, float]


MOODS = {
    "clear": Mood(
        ("#2f68b8", "#a9cdea", "#fffdf8"),
        (0.04, 0.2),
        (2.7, 2.5, 2.15),
        (0.55, 0.68, 0.9),
        (42, 60),
    ),
    "fair": Mood(
        ("#3f7cc8", "#b8d6ec", "#fffbf4"),
        (0.3, 0.5),
        (2.5, 2.35, 2.05),
        (0.62, 0.72, 0.88),
        (38, 56),
    ),
    "golden": Mood(
        ("#4a74b4", "#f2d2a4", "#ffe8c8"),
        (0.2, 0.45),
        (3.8, 2.75, 1.7),
        (0.66, 0.7, 0.84),
        (24, 32),
    ),
    "bright": Mood(
        ("#8fa9c4", "#d8e0e6", "#fbfbfa"),
        (0.68, 0.86),
        (1.15, 1.1, 1.02),
        (1.0, 1.06, 1.14),
        (40, 58),
    ),
}
"""Weather by name."""


class Weather(NamedTuple):
    """The weather of one scene: a mood, its clouds, and where the sun stands (degrees)."""

    mood: str
    seed: int
    azimuth: float
    elevation: float


def draw_weather(rng: np.random.Generator) -> Weather:
    """Return some weather."""
    name = list(MOODS)[int(rng.choice(4, p=[0.3, 0.34, 0.22, 0.14]))]
    low, high = MOODS[name].elevation
    return Weather(
        name,
        int(rng.integers(1 << 16)),
        float(rng.uniform(0, 360)),
        float(rng.uniform(low, high)),
    )


def lamps_of(weather: Weather) -> tuple[tuple[Lamp, ...], tuple[float, float, float]]:
    """Return the sun and a panel of sky as lamps, and what is left as light from everywhere.

    The sun is a square far away, a little larger than the real one, so that its shadows are soft
    enough for light maps. The panel makes broad shade under trees and roofs.
    """
    mood = MOODS[weather.mood]
    a, e = np.radians(weather.azimuth), np.radians(weather.elevation)
    towards = np.array([np.cos(e) * np.cos(a), np.sin(e), np.cos(e) * np.sin(a)])
    far, side = 220.0, 5.0
    across = np.cross(towards, (0, 1, 0))
    across /= np.linalg.norm(across)
    up = np.cross(across, towards)
    # edge_u x edge_v is where the light goes.
    u, v = across * side, up * side
    corner = towards * far - u / 2 - v / 2
    power = np.pi * far**2 / side**2
    sun = Lamp(
        _three(corner),
        _three(u),
        _three(v),
        _three(np.array(mood.sun) * power),
    )
    high, half = 70.0, 60.0
    panel = Lamp(
        (-half, high, -half),
        (2 * half, 0.0, 0.0),
        (0.0, 0.0, 2 * half),
        mood.sky,
    )
    assert np.cross(u, v) @ towards < 0
    return (sun, panel), _three(0.75 * np.array(mood.sky))


def _three(values: Points) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])


def make_sky(weather: Weather) -> Piece:
    """Return the dome of a sky."""
    mood = MOODS[weather.mood]
    rng = np.random.default_rng([weather.seed, 5])
    cover = float(rng.uniform(*mood.cover))
    key = f"sky/{weather.mood}/{weather.seed}/{weather.azimuth:.3f}/{weather.elevation:.3f}"
    image = sky(weather.seed, mood.colours, cover, (weather.azimuth, weather.elevation))
    turns, rings = 40, 15
    elevation = np.radians(
        np.concatenate([np.linspace(-6, 30, 10), np.linspace(40, 90, rings - 9)])
    )
    azimuth = np.linspace(0, 2 * np.pi, turns + 1)
    e, a = np.meshgrid(elevation, azimuth, indexing="ij")
    points = DOME * np.stack([np.cos(e) * np.cos(a), np.sin(e), np.cos(e) * np.sin(a)], -1)
    radius = 0.47 * (1 - e / (np.pi / 2))
    uv = np.stack([0.5 + radius * np.cos(a), 0.5 + radius * np.sin(a)], -1)
    b = Builder()
    faces = mesh_grid(turns, rings)
    b.add(points.reshape(-1, 3), uv.reshape(-1, 2), faces, Material(key, emission=1.05))
    mesh = b.mesh()._replace(smooth=True)
    return Piece(mesh, None, f"sky/{weather.seed}", {key: image})
