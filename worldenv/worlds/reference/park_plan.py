"""Which things stand in a park, and where: four kinds of plan, stations, trees, people.

Plan (before mirroring): x runs east, z south. As in rooms, a ring of free ground runs around an
island for walks of up to 4 m, a strip along its south for strafes of 7.2 m, and a corner in the
east stays open for a 2 m square. Around these stand stations, and around them trees.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece, Size
from worldenv.worlds.reference.outdoor_things import make_thing
from worldenv.worlds.reference.park_joins import Ways
from worldenv.worlds.reference.plot import Plot, beside
from worldenv.worlds.reference.rooms import MIDDLE
from worldenv.worlds.reference.scene import Instance

LIMIT = 14.0
"""Half the side of the square that may be walked, in metres."""


class Plan(Plot):
    """A park being laid out.

    Attributes:
        ways: The paths; only people and what is said to be stand on them.
    """

    def __init__(self, rng: np.random.Generator, season: str, mirrored: bool) -> None:
        far = LIMIT + 5.0
        super().__init__(rng, season, mirrored, make_thing, (-far, -far, far, far))
        self.ways = Ways((), ())

    def put(
        self,
        category: str,
        size: Size,
        x: float,
        z: float,
        turn: float = 0.0,
        *,
        seed: int | None = None,
        y: float = 0.0,
        piece: Piece | None = None,
        on_path: bool = False,
    ) -> Instance | None:
        """Place a thing, or nothing where it would touch another or stand in the way."""
        seed = self.seed() if seed is None else seed
        if category != "person" and not on_path and self._on_path(self.mirror * x, z):
            return None
        return super().put(category, size, x, z, turn, seed=seed, y=y, piece=piece)

    def _on_path(self, x: float, z: float) -> bool:
        for line, width in self.ways.lines:
            if np.hypot(line[:, 0] - x, line[:, 1] - z).min() < width / 2 + 0.35:
                return True
        return any(np.hypot(x - cx, z - cz) < r + 0.2 for cx, cz, r in self.ways.discs)


Station = Callable[[Plan, float, float, float], None]


def _seat(p: Plan, x: float, z: float, turn: float) -> None:
    seed = p.seed()
    p.put("bench", (p.uniform(1.5, 1.9), 0.86, 0.62), x, z, turn, seed=seed)
    p.put("litter bin", (0.46, 0.86, 0.46), *beside(x, z, turn, 1.35, 0.0), turn)
    p.put("street lamp", (0.9, p.uniform(3.0, 3.6), 0.9), *beside(x, z, turn, -1.5, -0.4), turn)
    p.put("bush", (1.3, p.uniform(0.9, 1.4), 1.1), *beside(x, z, turn, 0.2, -1.2), turn)


def _cafe(p: Plan, x: float, z: float, turn: float) -> None:
    p.put("kiosk", (2.7, 2.9, 2.3), *beside(x, z, turn, 0.0, -1.2), turn)
    for right, out in ((-2.6, 0.8), (2.7, 0.9)):
        p.put("parasol", (2.1, 2.35, 2.1), *beside(x, z, turn, right, out), p.uniform(0, 40))
    p.put("litter bin", (0.46, 0.86, 0.46), *beside(x, z, turn, 1.65, -0.2), turn)


def _play(p: Plan, x: float, z: float, turn: float) -> None:
    kind = p.either("swing", "slide")
    if kind == "swing":
        p.put("swing", (2.9, 2.2, 1.6), x, z, turn)
        p.put("slide", (1.1, 2.5, 3.0), *beside(x, z, turn, 2.8, -0.4), turn + 20)
    else:
        p.put("slide", (1.1, 2.5, 3.0), x, z, turn)
        p.put("swing", (2.9, 2.2, 1.6), *beside(x, z, turn, -2.9, -0.4), turn)
    p.put("sand pit", (2.0, 0.36, 2.0), *beside(x, z, turn, -2.6, 1.2), turn)


def _picnic(p: Plan, x: float, z: float, turn: float) -> None:
    p.put("picnic table", (1.7, 0.76, 1.6), x, z, turn + p.uniform(-20, 20))
    p.put("bicycle", (1.72, 1.05, 0.56), *beside(x, z, turn, 1.9, -0.6), turn + p.uniform(-20, 20))
    p.put("litter bin", (0.46, 0.86, 0.46), *beside(x, z, turn, -1.5, -0.7), turn)


def _garden(p: Plan, x: float, z: float, turn: float) -> None:
    p.put("flower bed", (2.6, 0.62, 1.1), x, z, turn)
    p.put("planter", (0.7, p.uniform(0.9, 1.2), 0.7), *beside(x, z, turn, -1.8, 0.1), turn)
    p.put("planter", (0.7, p.uniform(0.9, 1.2), 0.7), *beside(x, z, turn, 1.8, 0.1), turn)
    p.put("bush", (1.5, p.uniform(1.2, 1.7), 1.4), *beside(x, z, turn, 0.3, -1.5), turn)


def _rocks(p: Plan, x: float, z: float, turn: float) -> None:
    p.put("boulder", (p.uniform(1.2, 1.7), p.uniform(0.7, 1.15), 1.2), x, z, p.uniform(0, 360))
    p.put("signpost", (1.2, 2.3, 0.5), *beside(x, z, turn, -1.4, 0.4), turn)
    p.put("bush", (1.2, 1.0, 1.1), *beside(x, z, turn, 1.6, -0.4), turn)


def _waters(p: Plan, x: float, z: float, turn: float) -> None:
    p.put("pond", (3.4, 0.8, 2.6), x, z, 0.0)
    p.put("boulder", (0.9, 0.6, 0.8), *beside(x, z, turn, -2.3, -0.6), p.uniform(0, 360))
    p.put("bush", (1.2, 1.1, 1.1), *beside(x, z, turn, 2.3, -0.9), turn)


def _pavilion(p: Plan, x: float, z: float, turn: float) -> None:
    p.put("gazebo", (3.2, 3.3, 3.2), *beside(x, z, turn, 0.0, -0.8), turn)
    p.put("planter", (0.7, 1.1, 0.7), *beside(x, z, turn, -2.0, 0.8), turn)
    p.put("bicycle", (1.72, 1.05, 0.56), *beside(x, z, turn, 2.3, 0.6), turn + 70)


def _monument(p: Plan, x: float, z: float, turn: float) -> None:
    p.put("statue", (1.0, p.uniform(2.5, 3.0), 1.0), x, z, turn)
    for s in (-1, 1):
        p.put("flower bed", (1.2, 0.55, 1.2), *beside(x, z, turn, 1.5 * s, 0.3), turn)
    p.put("hedge", (3.6, p.uniform(0.9, 1.3), 0.6), *beside(x, z, turn, 0.0, -1.2), turn)


STATIONS: dict[str, Station] = {
    "seat": _seat,
    "cafe": _cafe,
    "play": _play,
    "picnic": _picnic,
    "garden": _garden,
    "rocks": _rocks,
    "waters": _waters,
    "pavilion": _pavilion,
    "monument": _monument,
}
PLACES = [
    (-5.6, -5.6),
    (-1.6, -5.9),
    (2.8, -5.2),
    (7.6, -4.4),
    (8.6, 1.2),
    (6.2, 6.0),
    (1.6, 6.4),
    (-2.8, 6.2),
    (-7.4, 4.8),
    (-7.9, -0.6),
]
"""Where stations may stand (x, z); each looks at the middle."""

KINDS = ("formal", "meadow", "playground", "avenue")
"""Kinds of plan."""
THEMES: dict[str, list[str]] = {
    "formal": [
        "monument",
        "garden",
        "seat",
        "pavilion",
        "garden",
        "seat",
        "waters",
        "seat",
        "rocks",
        "cafe",
    ],
    "meadow": [
        "waters",
        "rocks",
        "picnic",
        "seat",
        "picnic",
        "garden",
        "play",
        "rocks",
        "seat",
        "monument",
    ],
    "playground": [
        "play",
        "seat",
        "picnic",
        "cafe",
        "seat",
        "garden",
        "play",
        "rocks",
        "picnic",
        "monument",
    ],
    "avenue": [
        "cafe",
        "seat",
        "monument",
        "seat",
        "garden",
        "picnic",
        "seat",
        "pavilion",
        "rocks",
        "play",
    ],
}


def draw_ways(rng: np.random.Generator, kind: str, mirror: float) -> Ways:
    """Return the paths of a kind of plan."""
    t = np.linspace(-24, 24, 97)
    zero = np.zeros_like(t)

    def line(
        x: NDArray[np.float64], z: NDArray[np.float64], width: float
    ) -> tuple[NDArray[np.float64], float]:
        return np.stack([mirror * x, z], axis=1), width

    mid = mirror * MIDDLE
    if kind == "formal":
        return Ways((line(zero + MIDDLE, t, 2.2), line(t, zero + 2.1, 1.9)), ((mid, 0.0, 3.3),))
    if kind == "meadow":
        a, b = rng.uniform(0.2, 0.35, 2)
        wave = 1.6 * np.sin(a * t + rng.uniform(0, 6.28))
        return Ways(
            (
                line(t, 2.1 + wave * np.clip(abs(t) / 6, 0, 1), 1.6),
                line(MIDDLE - 2.4 + 1.4 * np.sin(b * t + rng.uniform(0, 6.28)), t, 1.3),
            ),
            (),
        )
    if kind == "playground":
        a = np.linspace(0, 2 * np.pi, 97)
        loop = np.stack([mirror * (6.4 * np.cos(a)), 0.6 + 4.2 * np.sin(a)], axis=1)
        return Ways(((loop, 1.5), line(t, 2.1 + 0.16 * t, 1.5)), ((mid, 0.0, 2.9),))
    slant = rng.uniform(-0.12, 0.12)
    return Ways((line(t, 0.6 + slant * t, 4.2), line(3.6 + 0.3 * t, t, 1.5)), ())


def fill(plan: Plan, kind: str) -> None:
    """Furnish a park."""
    plan.keep_ways()
    _island(plan, kind)
    names = list(THEMES[kind])
    names = [names[i] for i in plan.rng.permutation(len(names))]
    for name, k in zip(names, plan.rng.permutation(len(PLACES)), strict=True):
        x, z = PLACES[k]
        x, z = x + plan.uniform(-0.4, 0.4), z + plan.uniform(-0.3, 0.3)
        turn = np.degrees(np.arctan2(-x, -z))
        if kind in ("formal", "avenue"):
            turn = round(turn / 90) * 90.0
        STATIONS[name](plan, x, z, turn)
    _people(plan)
    _trees(plan, kind)
    _extras(plan, kind)


def _island(plan: Plan, kind: str) -> None:
    """Put something inside the ring."""
    draw = {
        "formal": ["fountain", "fountain", "statue"],
        "meadow": ["pond", "tree", "boulder"],
        "playground": ["sand pit", "flower bed", "slide"],
        "avenue": ["flower bed", "statue", "fountain"],
    }[kind]
    category = plan.either(*draw)
    size: Size = {
        "fountain": (2.7, plan.uniform(1.7, 2.4), 2.7),
        "statue": (1.15, plan.uniform(2.7, 3.1), 1.15),
        "pond": (2.9, 0.8, 2.6),
        "tree": (2.9, plan.uniform(4.6, 5.6), 2.9),
        "boulder": (1.9, 1.3, 1.7),
        "sand pit": (2.4, 0.36, 2.4),
        "flower bed": (2.4, 0.7, 2.4),
        "slide": (1.1, 2.4, 2.9),
    }[category]
    plan.put(
        category,
        size,
        MIDDLE,
        0.0,
        90.0 * int(plan.rng.integers(4)) if category in ("statue", "slide") else 0.0,
        on_path=True,
    )
    if category in ("statue", "boulder"):
        pot = plan.seed()
        for s in (-1, 1):
            at = MIDDLE + 1.2 * s
            plan.put("planter", (0.62, 0.95, 0.62), at, 0.8, 0.0, seed=pot, on_path=True)


def _trees(plan: Plan, kind: str) -> None:
    """Plant trees around, in rows or scattered, and hedges where the plan is formal."""
    if kind == "avenue":
        slim = plan.rng.random() < 0.5
        seed = plan.seed()
        for x in np.arange(-12.5, 13, 4.2):
            for z in (-8.2, 9.4):
                size: Size = (2.3, 7.0, 2.3) if slim else (3.8, plan.uniform(5.4, 6.2), 3.8)
                plan.put("tree", size, float(x), z + plan.uniform(-0.2, 0.2), 0.0, seed=seed)
    if kind == "formal":
        hedge = plan.seed()
        for x in (-9.5, -5.0, 5.0, 9.5):
            plan.put("hedge", (4.0, 1.25, 0.8), x, -9.2, 0.0, seed=hedge)
            plan.put("hedge", (4.0, 1.25, 0.8), x, 9.6, 180.0, seed=hedge)
        cone = plan.seed()
        for x in (-10.8, 10.8):
            for z in (-6.4, -2.2, 4.0, 7.6):
                plan.put("tree", (1.8, 6.2, 1.8), x, z, 0.0, seed=cone)
    wanted = {"formal": 7, "meadow": 12, "playground": 9, "avenue": 4}[kind]
    for _ in range(90):
        if not wanted:
            break
        a, out = plan.uniform(0, 2 * np.pi), plan.uniform(8.2, 15.0)
        wide = plan.uniform(3.2, 5.0)
        size = (wide, wide * plan.uniform(1.3, 1.75), wide)
        if plan.rng.random() < 0.2:
            size = (2.2, plan.uniform(6.5, 8.0), 2.2)
        x, z = out * np.sin(a), out * np.cos(a)
        wanted -= plan.put("tree", size, x, z, plan.uniform(0, 360)) is not None


def _extras(plan: Plan, kind: str) -> None:
    """Scatter smaller things where room is left."""
    sizes: dict[str, Size] = {
        "bush": (1.3, 1.2, 1.2),
        "boulder": (0.9, 0.6, 0.8),
        "street lamp": (0.9, 3.3, 0.9),
        "planter": (0.7, 1.0, 0.7),
        "bicycle": (1.72, 1.05, 0.56),
        "signpost": (1.2, 2.3, 0.5),
    }
    if kind != "avenue":
        plan.put("signpost", sizes["signpost"], 5.2, 3.4, -30.0)
    left = 7
    for _ in range(40):
        if not left:
            break
        category = plan.either("bush", *sizes)
        a, out = plan.uniform(0, 2 * np.pi), plan.uniform(4.5, 12.0)
        left -= (
            plan.put(
                category, sizes[category], out * np.sin(a), out * np.cos(a), plan.uniform(0, 360)
            )
            is not None
        )


def _people(plan: Plan) -> None:
    """Stand three to five people about, turned roughly to the middle."""
    wanted = 3 + int(plan.rng.integers(3))
    seeds = plan.rng.permutation(64)
    for _ in range(60):
        if not wanted:
            break
        a, out = plan.uniform(0, 2 * np.pi), plan.uniform(2.7, 5.6)
        x, z = MIDDLE * 0.5 + 1.15 * out * np.sin(a), 0.4 + out * np.cos(a)
        turn = np.degrees(np.arctan2(-x, 0.6 - z)) + plan.uniform(-35, 35)
        put = plan.put("person", (0.6, 1.8, 0.45), x, z, turn, seed=int(seeds[wanted]))
        wanted -= put is not None
