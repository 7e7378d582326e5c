"""Which things stand in a street, and where: four kinds of plan, groups of things, people.

Plan (before mirroring): x runs along the street, -z is ahead. As in rooms, a ring of free ground
runs around an island for walks of up to 4 m, a strip along its south for strafes of 7.2 m, and a
corner in the east stays open for a 2 m square. The carriageway lies ahead of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from worldenv.worlds.reference import (
    outdoor_plants,
    outdoor_props,
    outdoor_sights,
    outdoor_stalls,
    street_fixtures,
    street_trade,
)
from worldenv.worlds.reference.furniture import Maker, Piece, Size
from worldenv.worlds.reference.outdoor_things import PARK_MAKERS, make_thing
from worldenv.worlds.reference.plot import Plot, beside
from worldenv.worlds.reference.postures import POSTURES, make_posed
from worldenv.worlds.reference.rooms import MIDDLE, SQUARE
from worldenv.worlds.reference.street_ground import STEP, Lines
from worldenv.worlds.reference.street_vehicles import STREET_MAKERS

assert outdoor_plants and outdoor_props and outdoor_sights and outdoor_stalls
assert street_fixtures and street_trade
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


Group = Callable[[Plot, float, float, float], None]
BIN: Size = (0.46, 0.86, 0.46)
CYCLE: Size = (1.72, 1.05, 0.56)


def _cafe(p: Plot, x: float, z: float, turn: float) -> None:
    seed = p.seed()
    for right in (-1.45, 1.45):
        p.put("cafe table", (1.9, 0.74, 1.9), *beside(x, z, turn, right, 0.2), turn, seed=seed)
    p.put("menu board", (0.62, 1.05, 0.6), *beside(x, z, turn, 0.0, 1.0), turn + p.uniform(-15, 15))
    p.put("planter", (0.6, 0.95, 0.6), *beside(x, z, turn, -2.8, 0.0), turn)


def _shade(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("parasol", (2.1, 2.4, 2.1), x, z, p.uniform(0, 40))
    p.put("cafe table", (1.8, 0.74, 1.8), *beside(x, z, turn, 2.1, -0.1), turn)
    p.put("litter bin", BIN, *beside(x, z, turn, -1.5, -0.5), turn)


def _rest(p: Plot, x: float, z: float, turn: float) -> None:
    bench = p.put("bench", (p.uniform(1.6, 1.9), 0.86, 0.62), x, z, turn)
    del bench
    p.put("litter bin", BIN, *beside(x, z, turn, 1.4, -0.05), turn)
    p.put("planter", (0.66, p.uniform(0.9, 1.15), 0.66), *beside(x, z, turn, -1.45, -0.05), turn)


def _post(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("letter box", (0.56, p.uniform(1.3, 1.5), 0.5), *beside(x, z, turn, -0.9, 0), turn)
    p.put("phone box", (0.95, 2.45, 0.95), *beside(x, z, turn, 0.4, -0.2), turn)
    p.put("wheelie bin", (0.58, 1.06, 0.7), *beside(x, z, turn, 1.6, 0.0), turn)


def _cycles(p: Plot, x: float, z: float, turn: float) -> None:
    for k in range(2):
        p.put("bicycle", CYCLE, *beside(x, z, turn, 0.0, 0.75 * k - 0.3), turn + p.uniform(-6, 6))
    p.put("scooter", (1.75, 1.12, 0.72), *beside(x, z, turn, 2.2, 0.1), turn + p.uniform(-20, 20))


def _stall(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("market stall", (p.uniform(2.3, 2.9), 2.35, 1.7), x, z, turn)
    p.put("menu board", (0.6, 1.0, 0.56), *beside(x, z, turn, 1.9, 0.5), turn + p.uniform(-20, 20))


def _column(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("advertising column", (1.36, p.uniform(3.0, 3.4), 1.36), x, z, p.uniform(0, 360))
    seed = p.seed()
    for right in (-1.5, 1.5):
        p.put("bollard", (0.3, 0.9, 0.3), *beside(x, z, turn, right, 0.5), turn, seed=seed)
    p.put("fire hydrant", (0.46, 0.78, 0.46), *beside(x, z, turn, 1.1, 1.0), turn)


def _stop(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("bus shelter", (3.4, 2.5, 1.5), x, z, turn)
    p.put("traffic sign", (0.62, 2.6, 0.2), *beside(x, z, turn, 2.2, 0.3), turn)
    p.put("litter bin", BIN, *beside(x, z, turn, -2.1, 0.2), turn)


def _bins(p: Plot, x: float, z: float, turn: float) -> None:
    for k in range(3):
        at = beside(x, z, turn, 0.72 * (k - 1), p.uniform(-0.05, 0.05))
        p.put("wheelie bin", (0.58, p.uniform(1.0, 1.12), 0.7), *at, turn + p.uniform(-8, 8))
    p.put("scooter", (1.75, 1.12, 0.72), *beside(x, z, turn, 2.2, 0.1), turn + p.uniform(-15, 15))


def _green(p: Plot, x: float, z: float, turn: float) -> None:
    _tree(p, *beside(x, z, turn, 0.3, -0.4))
    p.put("planter", (0.7, 1.0, 0.7), *beside(x, z, turn, -1.5, 0.5), turn)
    p.put("bicycle", CYCLE, *beside(x, z, turn, 1.9, 0.5), turn + p.uniform(-10, 10))


def _kiosk(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("kiosk", (2.6, 2.9, 2.1), x, z, turn)
    p.put("menu board", (0.62, 1.05, 0.6), *beside(x, z, turn, 1.8, 0.7), turn - 15)
    p.put("litter bin", BIN, *beside(x, z, turn, -1.8, 0.6), turn)


def _monument(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("statue", (1.0, p.uniform(2.6, 3.0), 1.0), x, z, turn)
    for right in (-1.5, 1.5):
        p.put("planter", (0.66, 0.95, 0.66), *beside(x, z, turn, right, 0.4), turn)


def _delivery(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("van", (4.7, 2.1, 1.9), x, z, turn + 90 + p.uniform(-8, 8))


def _parked(p: Plot, x: float, z: float, turn: float) -> None:
    p.put("car", (4.2, 1.46, 1.74), x, z, turn + 90 + p.uniform(-6, 6))


def _tree(p: Plot, x: float, z: float) -> None:
    wide = p.uniform(2.9, 3.8)
    p.put("tree", (wide, wide * p.uniform(1.45, 1.7), wide), x, z, p.uniform(0, 360))


GROUPS: dict[str, Group] = {
    "cafe": _cafe,
    "shade": _shade,
    "rest": _rest,
    "post": _post,
    "cycles": _cycles,
    "stall": _stall,
    "column": _column,
    "stop": _stop,
    "bins": _bins,
    "green": _green,
    "kiosk": _kiosk,
    "monument": _monument,
    "delivery": _delivery,
    "parked": _parked,
}
"""Things that stand together, each looking to its front."""
NORTH, SOUTH, EAST, WEST = 180.0, 0.0, 90.0, -90.0
"""Turns of what looks that way."""
SPOTS: dict[str, list[tuple[float, float, float]]] = {
    "avenue": [
        (-9.6, 5.6, NORTH), (-5.4, 5.7, NORTH), (-1.2, 5.6, NORTH), (3.2, 5.7, NORTH),
        (7.4, 5.6, NORTH), (11.6, 5.7, NORTH), (-6.6, -1.2, SOUTH), (-11.0, -1.0, SOUTH),
        (7.6, -1.2, SOUTH), (-8.6, 2.2, EAST), (8.6, 2.2, WEST), (-5.0, -12.3, SOUTH),
    ],
    "lane": [
        (-9.6, 5.2, NORTH), (-5.4, 5.3, NORTH), (-1.2, 5.2, NORTH), (3.2, 5.3, NORTH),
        (7.4, 5.2, NORTH), (11.6, 5.3, NORTH), (-6.6, -1.3, SOUTH), (-11.0, -1.1, SOUTH),
        (7.6, -1.3, SOUTH), (-8.6, 2.0, EAST), (8.6, 2.0, WEST), (-3.0, -9.5, SOUTH),
    ],
    "market": [
        (-9.2, -5.4, SOUTH), (-5.0, -5.8, SOUTH), (-0.8, -5.4, SOUTH), (3.4, -5.8, SOUTH),
        (7.6, -5.2, SOUTH), (-8.2, -1.4, EAST), (8.2, -1.2, WEST), (8.2, 3.2, WEST),
        (-8.2, 3.4, EAST), (-4.4, 5.6, NORTH), (0.2, 5.5, NORTH), (4.8, 5.6, NORTH),
        (-6.4, -9.6, SOUTH), (4.6, -9.6, SOUTH),
    ],
    "courtyard": [
        (-8.6, -6.4, SOUTH), (-4.4, -6.8, SOUTH), (0.0, -6.6, SOUTH), (4.4, -6.8, SOUTH),
        (8.8, -5.8, SOUTH), (-9.6, -1.2, EAST), (9.4, -1.4, WEST), (9.4, 3.4, WEST),
        (-9.6, 3.6, EAST), (-4.6, 6.2, NORTH), (0.2, 6.2, NORTH), (4.8, 6.2, NORTH),
    ],
}  # fmt: skip
"""Where groups may stand (x, z, turn), by kind of plan."""
THEMES = {
    "avenue": "cafe shade rest post cycles column stop green kiosk rest bins stall".split(),
    "lane": "bins cycles post rest green cafe column bins rest shade stall cycles".split(),
    "market": (
        "stall stall stall kiosk cafe shade delivery post cycles green rest column stall monument"
    ).split(),
    "courtyard": "cycles bins parked green rest cafe shade monument post rest green stall".split(),
}
"""Which groups a kind of plan has."""


def fill(plot: Plot, kind: str) -> None:
    """Furnish a street."""
    left, right = MIDDLE - 2.0, MIDDLE + 2.0
    plot.keep(left - 0.4, left + 7.6, 1.7, 2.5)
    for x in (left, right):
        plot.keep(x - 0.4, x + 0.4, -2.3, 2.5)
    plot.keep(left - 0.4, right + 0.4, -2.3, -1.5)
    plot.keep(SQUARE - 0.4, SQUARE + 2.4, -0.3, 2.5)
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
        "fire hydrant": (0.44, 0.76, 0.44),
    }
    if lines.road is None:
        for category in ("letter box", "fire hydrant", "street lamp", "street lamp"):
            for _ in range(6):
                x, z = plot.uniform(-9, 9), plot.uniform(lines.north + 1.2, lines.south - 1.2)
                if plot.put(category, sizes[category], x, z, SOUTH if z < 0 else NORTH):
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
            _tree(plot, x, plot.uniform(low + 1.0, lines.south - 2.2))


def _people(plot: Plot) -> None:
    """Stand, walk and sit four to eight people about."""
    wanted = 4 + int(plot.rng.integers(4))
    seeds = plot.rng.permutation(64)
    for _ in range(90):
        if not wanted:
            break
        a, out = plot.uniform(0, 2 * np.pi), plot.uniform(2.7, 5.6)
        x, z = MIDDLE * 0.5 + 1.2 * out * np.sin(a), 1.2 + 0.8 * out * np.cos(a)
        posture = POSTURES[int(plot.rng.choice(len(POSTURES), p=[0.55, 0.45]))]
        turn = np.degrees(np.arctan2(-x, 0.8 - z)) + plot.uniform(-35, 35)
        if posture == "walking":
            turn = plot.either("90", "-90")
            turn = float(turn) + plot.uniform(-12, 12)
        piece = make_posed(int(seeds[wanted]), posture)
        put = plot.put("person", (0.6, 1.8, 0.45), x, z, turn, piece=piece)
        wanted -= put is not None
