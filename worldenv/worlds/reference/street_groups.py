"""Groups of things that stand together in streets, where they may stand, and in which streets."""

from __future__ import annotations

from collections.abc import Callable

from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.plot import Plot, beside

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
    p.put("bench", (p.uniform(1.6, 1.9), 0.86, 0.62), x, z, turn)
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
    plant_tree(p, *beside(x, z, turn, 0.3, -0.4))
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


def plant_tree(p: Plot, x: float, z: float) -> None:
    """Plant a tree in its grate."""
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
