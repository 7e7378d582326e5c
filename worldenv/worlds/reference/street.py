"""The street scene family: a street, a market or a courtyard between houses, built from a seed."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece, Size, redrawn, size_of
from worldenv.worlds.reference.outdoor_things import draw_season
from worldenv.worlds.reference.outdoor_views import find_outdoor_views
from worldenv.worlds.reference.people import same_body
from worldenv.worlds.reference.plot import Plot
from worldenv.worlds.reference.postures import POSTURES, make_posed
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.shapes import placed
from worldenv.worlds.reference.sky import MOODS, Weather, draw_weather, lamps_of, make_sky
from worldenv.worlds.reference.street_fronts import DEPTH, DOOR, make_building
from worldenv.worlds.reference.street_ground import Lines, make_kerb, make_pavement, make_road
from worldenv.worlds.reference.street_plan import KINDS, LINES, fill, make_street_thing
from worldenv.worlds.reference.street_styles import Front, read_front

SETTING = ("sky", "road", "pavement", "kerb", "building")
"""Categories of what surrounds the street's things."""
SIGHTS = (
    "car",
    "van",
    "fountain",
    "statue",
    "market stall",
    "kiosk",
    "phone box",
    "advertising column",
    "bus shelter",
    "cafe table",
    "scooter",
    "bicycle",
    "bench",
    "parasol",
    "letter box",
    "tree",
    "fire hydrant",
    "door",
    "traffic light",
    "traffic sign",
    "menu board",
    "wheelie bin",
    "planter",
    "parking meter",
    "street lamp",
    "litter bin",
    "bollard",
    "shop sign",
    "awning",
)
"""What views are sought for, after people."""
MARGIN = 0.5
"""How far walks keep from the houses, in metres."""
REACH = 14.0
"""How far walks go along the street to either side, in metres."""
NEAR = 18.0
"""How far along the street houses are built finely, in metres."""
DISPLAY = 0.96
"""Factor from light to display range, set by eye."""


def build(seed: int, *, event: str | None = None) -> Scene:
    """Return the street of that seed.

    Args:
        seed: Decides plan, houses, paving, season, weather, things and people.
        event: None; streets are static.

    Raises:
        ValueError: an event is asked for.
    """
    if event is not None:
        raise ValueError(f"unknown event {event!r}; streets have none, leave event out")
    rng = np.random.default_rng([seed, zlib.crc32(b"street")])
    kind = KINDS[int(rng.integers(len(KINDS)))]
    season = draw_season(rng)
    weather = _slanting(draw_weather(rng), rng, kind)
    lines = LINES[kind]
    walkable = (
        max(lines.west + MARGIN, -REACH),
        lines.north + MARGIN,
        min(lines.east - MARGIN, REACH),
        lines.south - MARGIN,
    )
    tags = {
        "family": "street",
        "seed": str(seed),
        "kind": kind,
        "season": season,
        "weather": ",".join(map(str, weather)),
        "walkable": ",".join(map(str, walkable)),
        "setting": ",".join(SETTING),
    }
    limits = (lines.west + 0.2, lines.north - 0.3, lines.east - 0.2, lines.south + 0.3)
    mirrored = bool(rng.random() < 0.5)
    plot = Plot(rng, season, mirrored, make_street_thing, limits)
    tags["mirrored"] = str(plot.mirror < 0)
    _pave(plot, kind, lines, weather, tags)
    fill(plot, kind)
    return find_outdoor_views(plot.scene(tags, lamps_of(weather), DISPLAY), SIGHTS)


def _slanting(weather: Weather, rng: np.random.Generator, kind: str) -> Weather:
    """Return the weather with the sun where it reaches the ground between the houses."""
    along = 0.0 if rng.random() < 0.5 else 180.0
    spread = 60.0 if kind == "courtyard" else 42.0
    azimuth = (along + float(rng.uniform(-spread, spread))) % 360
    elevation = weather.elevation if kind != "courtyard" else max(weather.elevation, 40.0)
    return weather._replace(azimuth=azimuth, elevation=elevation)


def _pave(plot: Plot, kind: str, lines: Lines, weather: Weather, tags: dict[str, str]) -> None:
    """Lay the ground, and stand houses and sky around it."""
    here: NDArray[np.float64] = np.eye(4)
    wide: Size = (lines.east - lines.west, 0.0, lines.south - lines.north)
    paving = {
        "avenue": ("slabs", "slabs", "clinker"),
        "lane": ("slabs", "clinker", "cobbles"),
        "market": ("cobbles", "slabs", "clinker"),
        "courtyard": ("cobbles", "clinker", "slabs"),
    }[kind]
    surface = plot.either(*paving)
    plot.add(make_sky(weather), "sky", here, wide, name="sky", flat=True)
    pavement = make_pavement(plot.seed(), lines, surface)
    plot.add(pavement, "pavement", here, wide, name="pavement", flat=True)
    tags["paving"] = surface
    if lines.road is not None:
        top = "cobbles" if kind == "lane" and plot.rng.random() < 0.4 else "asphalt"
        tags["surface"] = top
        plot.add(make_road(plot.seed(), lines, top), "road", here, wide, name="road", flat=True)
        plot.add(make_kerb(plot.seed(), lines), "kerb", here, wide, name="kerb", flat=True)
    middle = (lines.north + lines.south) / 2
    across = lines.south - lines.north
    for turn, x, z, long in (
        (0.0, 0.0, lines.north, lines.east - lines.west),
        (180.0, 0.0, lines.south, lines.east - lines.west),
        (90.0, lines.west, middle, across),
        (-90.0, lines.east, middle, across),
    ):
        _row(plot, kind, placed(x, 0.0, z, turn), long, tags)


def _row(
    plot: Plot, kind: str, start: NDArray[np.float64], long: float, tags: dict[str, str]
) -> None:
    """Stand a row of houses of that length, its middle at a pose, looking to its front."""
    count = max(1, round(long / plot.uniform(8.0, 10.0)))
    shares = plot.rng.uniform(0.8, 1.25, count)
    edges = np.concatenate([[0.0], np.cumsum(shares / shares.sum())]) * long - long / 2
    for k in range(count):
        width = float(edges[k + 1] - edges[k])
        pose = start @ placed((edges[k] + edges[k + 1]) / 2)
        front = _draw_front(plot, kind, width)
        near = abs(pose[0, 3]) < NEAR + width / 2
        piece = make_building(front, plot.seed(), near)
        size: Size = (width, front.height, DEPTH)
        house = plot.add(piece, "building", pose, size, solid=False)
        tags[f"front/{house.id}"] = f"{front.text()},{near}"
        if near:
            _fit(plot, front, pose)


def _draw_front(plot: Plot, kind: str, width: float) -> Front:
    """Return the openings of a house."""
    bays = max(2, round(width / plot.uniform(2.5, 3.1)))
    trade = {"avenue": 0.72, "market": 0.85, "lane": 0.4, "courtyard": 0.2}[kind]
    if plot.rng.random() < trade:
        ground = list("s" * bays)
        ground[int(plot.rng.integers(bays))] = "d"
        if bays > 3 and plot.rng.random() < 0.4:
            ground[0] = "w"
    else:
        ground = list("w" * bays)
        ground[int(plot.rng.integers(bays))] = "d"
    storeys = 2 + int(plot.rng.random() < {"avenue": 0.6, "lane": 0.1}.get(kind, 0.3))
    return Front(
        width, plot.uniform(3.3, 3.8), storeys, "".join(ground), bool(plot.rng.random() < 0.55)
    )


def _fit(plot: Plot, front: Front, pose: NDArray[np.float64]) -> None:
    """Hang doors, awnings and signs on a house."""
    wide = front.width / len(front.bays)
    awning, sign = plot.seed(), plot.seed()
    covered = plot.rng.random() < 0.55
    for k, kind in enumerate(front.bays):
        x = front.middle(k)
        if kind == "d":
            size: Size = (DOOR[0], DOOR[1], 0.2)
            piece = make_street_thing("door", plot.seed(), size, plot.season)
            plot.add(piece, "door", pose @ placed(x, 0.0, -0.12), size)
        elif kind == "s" and covered:
            size = (wide - 0.12, 0.9, 1.2)
            piece = make_street_thing("awning", awning, size, plot.season)
            at = pose @ placed(x, front.ground - 1.66, 0.73)
            plot.add(piece, "awning", at, size)
        elif kind == "s" and plot.rng.random() < 0.45:
            size = (0.12, 0.9, 0.8)
            piece = make_street_thing("shop sign", sign, size, plot.season)
            at = pose @ placed(x - wide / 2 + 0.1, front.ground - 0.15, 0.41)
            plot.add(piece, "shop sign", at, size)


def reimagine(
    scene: Scene, instance: Instance, seed: int
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another draw of an instance and the textures it adds, see ``furniture.redrawn``."""
    return redrawn(scene, instance, seed, lambda draw: _another(scene, instance, draw))


def _another(scene: Scene, instance: Instance, seed: int) -> Piece:
    """Return some variant of an instance."""
    tags, category = scene.tags, instance.category
    lines = LINES[tags["kind"]]
    if category == "building":
        text, near = tags[f"front/{instance.id}"].rsplit(",", 1)
        return make_building(read_front(text), seed, near == "True")
    if category == "sky":
        mood, _, azimuth, elevation = tags["weather"].split(",")
        names = list(MOODS)
        other = names[(names.index(mood) + 1 + seed % (len(names) - 1)) % len(names)]
        return make_sky(Weather(other, seed, float(azimuth), float(elevation)))
    if category == "pavement":
        others = [k for k in ("slabs", "clinker", "cobbles") if k != tags["paving"]]
        return make_pavement(seed, lines, others[seed % 2])
    if category == "road":
        return make_road(seed, lines, "asphalt" if tags["surface"] == "cobbles" else "cobbles")
    if category == "kerb":
        return make_kerb(seed, lines)
    if category == "person":
        first = instance.variant.split("/")[0]
        posture = first if first in POSTURES else "standing"
        if same_body(f"person/{seed}", instance.variant):
            seed += 1
        return make_posed(seed, posture)
    return make_street_thing(category, seed, size_of(scene, instance), tags["season"])
