"""The park scene family: a park or garden under a sky, built from a seed."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import (
    outdoor_plants,
    outdoor_props,
    outdoor_sights,
    outdoor_stalls,
    park_play,
)
from worldenv.worlds.reference.furniture import Piece, Size, redrawn, size_of
from worldenv.worlds.reference.outdoor_things import SEASONS, draw_season, make_thing
from worldenv.worlds.reference.outdoor_views import find_outdoor_views
from worldenv.worlds.reference.park_joins import Joins
from worldenv.worlds.reference.park_plan import KINDS, LIMIT, Plan, draw_ways, fill
from worldenv.worlds.reference.park_setting import (
    make_house,
    make_kerb,
    make_lawn,
    make_meadow,
    make_path,
    make_woods,
)
from worldenv.worlds.reference.people import make_person, same_body
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.shapes import placed
from worldenv.worlds.reference.sky import Weather, draw_weather, lamps_of, make_sky
from worldenv.worlds.reference.textures import Kit

assert outdoor_plants and park_play and outdoor_props and outdoor_sights and outdoor_stalls
# Importing them registers their makers.

SETTING = ("sky", "lawn", "meadow", "path", "kerb", "woods", "house")
"""Categories of what surrounds the park's things."""
SIGHTS = (
    "fountain",
    "statue",
    "pond",
    "gazebo",
    "kiosk",
    "slide",
    "swing",
    "bench",
    "bicycle",
    "parasol",
    "picnic table",
    "flower bed",
    "boulder",
    "signpost",
    "planter",
    "street lamp",
    "litter bin",
    "sand pit",
    "bush",
)
"""What views are sought for, after people."""
HOUSES = 36.0
"""How far houses stand from the middle, in metres: behind the woods."""
DISPLAY = 0.74
"""Factor from light to display range, set by eye."""
GROUNDS = ("gravel", "slabs", "clinker", "cobbles")
Redraw = Callable[[int], Piece]


def build(seed: int, *, event: str | None = None) -> Scene:
    """Return the park of that seed.

    Args:
        seed: Decides plan, paths, season, weather, plants, things and people.
        event: None; parks are static.

    Raises:
        ValueError: an event is asked for.
    """
    if event is not None:
        raise ValueError(f"unknown event {event!r}; parks have none, leave event out")
    rng = np.random.default_rng([seed, zlib.crc32(b"park")])
    kind = KINDS[int(rng.integers(len(KINDS)))]
    season = draw_season(rng)
    weather = draw_weather(rng)
    tags = {
        "family": "park",
        "seed": str(seed),
        "kind": kind,
        "season": season,
        "weather": ",".join(map(str, weather)),
        "walkable": ",".join(map(str, (-LIMIT, -LIMIT, LIMIT, LIMIT))),
    }
    plan = Plan(rng, season, mirrored=bool(rng.random() < 0.5))
    tags["mirrored"] = str(plan.mirror < 0)
    _surround(plan, kind, season, weather)
    fill(plan, kind)
    return find_outdoor_views(plan.scene(tags, lamps_of(weather), DISPLAY), SIGHTS)


def _surround(plan: Plan, kind: str, season: str, weather: Weather) -> None:
    """Lay the ground and stand woods, houses and sky around it."""
    here: NDArray[np.float64] = np.eye(4)
    wide: Size = (2 * LIMIT, 0.0, 2 * LIMIT)

    def lay(piece: Piece, category: str, name: str, pose: NDArray[np.float64] = here) -> None:
        plan.add(piece, category, pose, wide, name=name, flat=True)

    lay(make_sky(weather), "sky", "sky")
    mown = kind in ("formal", "avenue")
    lay(make_lawn(plan.seed(), season, mown), "lawn", "lawn")
    lay(make_meadow(plan.seed(), season), "meadow", "meadow")
    ways = plan.ways = draw_ways(plan.rng, kind, plan.mirror)
    surface = GROUNDS[int(plan.rng.choice(4, p=_surfaces(kind)))]
    joins = Joins(ways)
    lay(make_path(plan.seed(), ways, joins, surface), "path", "path")
    lay(make_kerb(plan.seed(), ways, joins), "kerb", "kerb")
    for side in range(4):
        lay(make_woods(plan.seed(), season, side), "woods", f"woods-{side + 1}")
    count = {"formal": 3, "meadow": 1, "playground": 2, "avenue": 4}[kind]
    start = plan.uniform(0, 360)
    for k in range(count):
        turn = start + 360 / count * k + plan.uniform(-15, 15)
        size: Size = (plan.uniform(9, 14), plan.uniform(9.5, 12.5), 8.0)
        pose = placed(turn=turn) @ placed(0, 0, -HOUSES)
        plan.add(make_house(plan.seed(), size), "house", pose, size, flat=True)


def _surfaces(kind: str) -> list[float]:
    return {
        "formal": [0.4, 0.3, 0.15, 0.15],
        "meadow": [0.7, 0.1, 0.1, 0.1],
        "playground": [0.3, 0.2, 0.4, 0.1],
        "avenue": [0.1, 0.4, 0.25, 0.25],
    }[kind]


def reimagine(
    scene: Scene, instance: Instance, seed: int
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another draw of an instance and the textures it adds, see ``furniture.redrawn``."""
    return redrawn(scene, instance, seed, lambda draw: _another(scene, instance, draw))


def _another(scene: Scene, instance: Instance, seed: int) -> Piece:
    """Return some variant of an instance."""
    category, season = instance.category, scene.tags["season"]
    size = size_of(scene, instance)
    if category in SETTING:
        return _redraws(scene, instance, size)[category](seed)
    if category == "person":
        return make_person(seed + same_body(f"person/{seed}", instance.variant))
    return make_thing(category, seed, size, season)


def _redraws(scene: Scene, instance: Instance, size: Size) -> dict[str, Redraw]:
    """Return what draws another of each category of the setting, from a seed."""
    season, kind = scene.tags["season"], scene.tags["kind"]
    mood, _, azimuth, elevation = scene.tags["weather"].split(",")
    # Other clouds and hills, and another sky than the light has it: that is what forgetting means.
    other = {"clear": "bright", "fair": "golden", "golden": "fair", "bright": "clear"}[mood]

    return {
        "sky": lambda s: make_sky(Weather(other, s, float(azimuth), float(elevation))),
        "lawn": lambda s: make_lawn(s, _other_season(season, s), kind in ("meadow", "playground")),
        "meadow": lambda s: make_meadow(s, _other_season(season, s)),
        "path": lambda s: _repaved(instance, s),
        "kerb": lambda s: _repaved(instance, s),
        "woods": lambda s: make_woods(s, _other_season(season, s), int(instance.name[-1]) - 1),
        "house": lambda s: make_house(s, size),
    }


def _other_season(season: str, seed: int) -> str:
    others = [name for name in SEASONS if name != season]
    return others[seed % len(others)]


def _repaved(instance: Instance, seed: int) -> Piece:
    """Return a path's mesh with another surface."""
    kit = Kit((seed, instance.id))
    if instance.category == "path":
        old = instance.mesh.materials[0].texture
        kinds = [k for k in ("gravel", "slabs", "cobbles") if not old.startswith(k)]
        material = kit.material(
            kit.pick(kinds), kit.pick(["#b9a88a", "#8d8a84", "#a4604a", "#c9b49a", "#75757a"])
        )
    else:
        material = kit.material("stone", kit.pick(["#a8a49a", "#75706a", "#bfa98a", "#8a6a58"]))
    mesh = instance.mesh._replace(materials=tuple(material for _ in instance.mesh.materials))
    return Piece(mesh, None, f"{instance.category}/{seed}", kit.textures)
