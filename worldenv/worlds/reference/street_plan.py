"""Which things stand in a street, and where: four kinds of plan, groups of things, people.

Plan (before mirroring): x runs along the street, -z is ahead. As in rooms, a ring of free ground
runs around an island for walks of up to 4 m, a strip along its south for strafes of 7.2 m, and a
corner in the east stays open for a 2 m square. The carriageway lies ahead of them.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference import (
    outdoor_plants,
    outdoor_props,
    outdoor_sights,
    outdoor_stalls,
    street_fixtures,
    street_signs,
    street_trade,
    street_vehicles,
)
from worldenv.worlds.reference.furniture import Maker, Piece, Size
from worldenv.worlds.reference.outdoor_things import PARK_MAKERS, STREET_MAKERS, make_thing
from worldenv.worlds.reference.plot import Plot
from worldenv.worlds.reference.postures import make_posed
from worldenv.worlds.reference.rooms import MIDDLE
from worldenv.worlds.reference.street_ground import STEP, Lines
from worldenv.worlds.reference.street_groups import (
    BIN,
    CYCLE,
    GROUPS,
    NORTH,
    SOUTH,
    SPOTS,
    THEMES,
    plant_tree,
)

assert outdoor_plants and outdoor_props and outdoor_sights and outdoor_stalls
assert street_fixtures and street_signs and street_trade and street_vehicles
# Importing them registers their makers.

SHARED = (
    "bench",
    "street lamp",
    "litter bin",
    "parasol",
    "bicycle",
    "kiosk",
    "fountain",
    "statue",
    "planter",
)
"""What streets share with parks."""
MAKERS: dict[str, Maker] = {**{name: PARK_MAKERS[name] for name in SHARED}, **STREET_MAKERS}
"""Category -> maker of what stands in streets."""
KINDS = ("avenue", "lane", "market", "courtyard")
"""Kinds of plan."""
LINES = {
    "avenue": Lines(-32.0, 32.0, -13.6, 7.4, (-10.6, -3.1), 5.2),
    "lane": Lines(-30.0, 30.0, -10.4, 6.4, (-8.2, -3.1), -11.0),
    "market": Lines(-30.0, 30.0, -10.8, 7.0, None, 0.0),
    "courtyard": Lines(-12.0, 12.0, -9.4, 8.0, None, 0.0),
}
"""Where the parts of each kind of street lie."""


def make_street_thing(category: str, seed: int, size: Size, season: str) -> Piece:
    """Return a thing of a street."""
    return make_thing(category, seed, size, season, MAKERS)


def fill(plot: Plot, kind: str) -> None:
    """Furnish a street."""
    plot.keep_ways()
    _island(plot, kind)
    if LINES[kind].road is not None:
        _park_cars(plot, kind)
        _kerbside(plot, kind)
    names = list(THEMES[kind])
    names = [names[i] for i in plot.rng.permutation(len(names))]
    spots = [SPOTS[kind][k] for k in plot.rng.permutation(len(SPOTS[kind]))]
    for name, (x, z, turn) in zip(names, spots, strict=True):
        GROUPS[name](plot, x + plot.uniform(-0.25, 0.25), z + plot.uniform(-0.15, 0.15), turn)
    _people(plot)
    _sitter(plot)
    _extras(plot, kind)


def _island(plot: Plot, kind: str) -> None:
    """Put something inside the ring."""
    draw = {
        "avenue": ("tree", "column", "statue", "planters"),
        "lane": ("tree", "planters", "column", "bench"),
        "market": ("fountain", "statue", "tree", "column"),
        "courtyard": ("fountain", "fountain", "statue", "tree"),
    }[kind]
    what = plot.either(*draw)
    turn = 90.0 * int(plot.rng.integers(4))
    if what == "tree":
        plot.put("tree", (2.7, plot.uniform(4.6, 5.4), 2.7), MIDDLE, 0.0, turn)
    elif what == "column":
        plot.put("advertising column", (1.36, 3.2, 1.36), MIDDLE, 0.2, turn)
        plot.put("litter bin", BIN, MIDDLE + 1.15, 0.2)
    elif what == "statue":
        plot.put("statue", (1.15, plot.uniform(2.7, 3.1), 1.15), MIDDLE, 0.0, 0.0)
        for s in (-1, 1):
            plot.put("planter", (0.62, 0.95, 0.62), MIDDLE + 1.15 * s, 0.3)
    elif what == "fountain":
        plot.put("fountain", (2.7, plot.uniform(1.7, 2.3), 2.7), MIDDLE, 0.0)
    elif what == "bench":
        plot.put("bench", (1.8, 0.86, 0.62), MIDDLE, 0.2, 180.0 * int(plot.rng.integers(2)))
        plot.put("street lamp", (0.9, 3.3, 0.9), MIDDLE + 1.1, -0.6)
    else:
        seed = plot.seed()
        for s in (-1, 0, 1):
            plot.put("planter", (0.72, 1.05, 0.72), MIDDLE + 0.95 * s, 0.2, seed=seed + abs(s))


def _park_cars(plot: Plot, kind: str) -> None:
    """Park cars and vans along the kerbs; gaps are left."""
    road = LINES[kind].road
    assert road is not None
    rows = [(road[1] - 1.1, 0.0)]
    if kind == "avenue":
        rows.append((road[0] + 1.15, 180.0))
    for z, way in rows:
        for k in range(-4, 4):
            x = 5.6 * k + 1.8 + plot.uniform(-0.3, 0.3)
            if plot.rng.random() < (0.24 if abs(x) < 9 else 0.3):
                continue
            nose = way + (180.0 if plot.rng.random() < 0.2 else 0.0)
            if plot.rng.random() < 0.2:
                size: Size = (plot.uniform(4.5, 4.9), plot.uniform(1.95, 2.15), 1.9)
                plot.put("van", size, x, z, nose, y=-STEP)
            else:
                size = (plot.uniform(4.0, 4.4), plot.uniform(1.4, 1.5), plot.uniform(1.7, 1.8))
                plot.put("car", size, x, z, nose, y=-STEP)


def _kerbside(plot: Plot, kind: str) -> None:
    """Stand small things along the near kerb, and lamps and trees along both."""
    lines = LINES[kind]
    assert lines.road is not None
    z = lines.road[1] + 0.44
    post = plot.seed()
    style = plot.seed()
    for k, x in enumerate(np.arange(-13.6, 13.7, 1.7)):
        kinds = {
            0: ("bollard", (0.3, 0.95, 0.3), post),
            1: ("parking meter", (0.36, 1.42, 0.3), style),
            2: ("traffic sign", (0.6, 2.5, 0.2), plot.seed()),
            3: ("bollard", (0.3, 0.95, 0.3), post),
            4: ("fire hydrant", (0.44, 0.76, 0.44), style),
        }
        name, size, seed = kinds[k % 5]
        if name == "fire hydrant" and k > 6:
            name, size = "bollard", (0.3, 0.95, 0.3)
            seed = post
        plot.put(name, size, float(x), z, 0.0, seed=seed)
    crossing = lines.crossing
    for x, at in ((crossing - 0.5, lines.road[1] + 0.6), (crossing + 3.5, lines.road[0] - 0.6)):
        turn = -90.0 if at > lines.road[0] else 90.0
        plot.put("traffic light", (0.4, 2.9, 0.5), x, at, turn, seed=style)
    lamp = plot.seed()
    for x in (-17.0, -9.0, 9.6, 17.0):
        plot.put("street lamp", (0.9, 3.8, 0.9), x, z + 0.25, 0.0, seed=lamp)
    for x in (-13.0, -2.0, 11.0):
        plot.put("street lamp", (0.9, 3.8, 0.9), x, lines.road[0] - 0.7, 0.0, seed=lamp)
    if kind == "avenue":
        seed = plot.seed()
        for x in (-22.0, -13.0, -6.4, 10.0, 20.0):
            plot.put("tree", (3.2, 5.6, 3.2), x, z + 1.3, 40.0 * x, seed=seed)
        for x in (-20.0, -9.5, 2.0, 14.0):
            plot.put("tree", (2.6, 5.4, 2.6), x, lines.road[0] - 1.7, 40.0 * x, seed=seed)


def _extras(plot: Plot, kind: str) -> None:
    """Scatter smaller things where room is left, and close the far ends."""
    lines = LINES[kind]
    sizes: dict[str, Size] = {
        "planter": (0.7, 1.0, 0.7),
        "litter bin": BIN,
        "street lamp": (0.9, 3.5, 0.9),
        "bicycle": CYCLE,
        "letter box": (0.56, 1.4, 0.5),
        "menu board": (0.6, 1.0, 0.56),
        "scooter": (1.75, 1.12, 0.72),
    }
    if lines.road is None:
        for category in ("letter box", "fire hydrant", "street lamp", "street lamp"):
            size = sizes.get(category, (0.44, 0.76, 0.44))
            for _ in range(6):
                x, z = plot.uniform(-9, 9), plot.uniform(lines.north + 1.2, lines.south - 1.2)
                if plot.put(category, size, x, z, SOUTH if z < 0 else NORTH):
                    break
    low = (lines.north if lines.road is None else lines.road[1]) + 1.0
    left = 6
    for _ in range(40):
        if not left:
            break
        category = plot.either(*sizes)
        x, z = plot.uniform(-11, 11), plot.uniform(low, lines.south - 0.9)
        turn = SOUTH if z < 0 else NORTH
        left -= plot.put(category, sizes[category], x, z, turn + plot.uniform(-10, 10)) is not None
    if kind in ("market", "lane"):
        for x in (-24.0, -19.0, -14.5, 14.5, 19.0, 24.0):
            plant_tree(plot, x, plot.uniform(low + 1.0, lines.south - 2.2))


def _people(plot: Plot) -> None:
    """Stand four to seven people about, one of them mid-stride."""
    wanted = 4 + int(plot.rng.integers(4))
    seeds = plot.rng.permutation(64)
    for _ in range(90):
        if not wanted:
            break
        a, out = plot.uniform(0, 2 * np.pi), plot.uniform(2.7, 5.6)
        x, z = MIDDLE * 0.5 + 1.2 * out * np.sin(a), 1.2 + 0.8 * out * np.cos(a)
        posture = "walking" if wanted == 1 else "standing"
        turn = np.degrees(np.arctan2(-x, 0.8 - z)) + plot.uniform(-35, 35)
        if posture == "walking":
            turn = plot.either("90", "-90")
            turn = float(turn) + plot.uniform(-12, 12)
        piece = make_posed(int(seeds[wanted]), posture)
        put = plot.put("person", (0.6, 1.8, 0.45), x, z, turn, piece=piece)
        wanted -= put is not None


def _sitter(plot: Plot) -> None:
    """Seat somebody on a bench."""
    piece = make_posed(int(plot.rng.integers(1 << 16)), "seated")
    side = 1.0 if plot.rng.random() < 0.5 else -1.0
    for bench in [i for i in plot.instances if i.category == "bench"]:
        if plot.seat(piece, bench, 0.36 * side, 0.02) is not None:
            return
