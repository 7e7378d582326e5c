"""Which things furnish an interior, and where: wall bays, islands, a door, a ball, people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from worldenv.worlds.reference.furniture import Piece, make
from worldenv.worlds.reference.layout import Layout
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit

Bay = Callable[[Layout, str, float], None]

BALL = 0.3
"""Radius of the ball in metres."""
BALL_START, BALL_END, BALL_LANE = 4.15, 1.95, -0.9
"""Where the ball lies and how far it rolls (x), and the z of its lane."""
MIDDLE = -1.6
"""The x of the middle of the island, and of the 4 m square that runs around it."""
SQUARE = 2.2
"""The x at which a 2 m square to the right has room."""
LEAF = (0.86, 2.02, 0.04)
"""Size of the door leaf."""
BESIDE = 0.62
"""How far the floor before a door is kept to either side of its middle, in metres."""
RUG = 0.012
"""Thickness of rugs; what stands on them starts a hair higher."""


def fill(layout: Layout) -> None:
    """Furnish the room."""
    width, _, depth = layout.room
    keep_ways(layout)
    door = hang_door(layout)
    layout.put("ball", (2 * BALL,) * 3, BALL_START, BALL_LANE, 0.0, keep=False)

    edge = width / 2 - 0.06
    north = layout.shuffled(["couch", "books", "light", layout.either("media", "dresser")])
    bays(layout, "north", -edge, edge, ["corner", *north, "corner", "stand"])
    south = layout.shuffled(
        [
            "music",
            "dresser",
            "light",
            layout.either("books", "cold"),
            layout.either("art", "pile"),
        ],
    )
    bays(layout, "south", -edge, edge, ["corner", *south, "corner"])
    end = depth / 2 - 1.0
    west = layout.shuffled(["work", "rest", layout.either("books", "art")])
    bays(layout, "west", -end, end, west)
    east = layout.shuffled(["books", layout.either("dresser", "art", "pile")])
    bays(layout, "east", -end, door - BESIDE, east)
    bays(layout, "east", door + BESIDE, end, ["light"])
    ISLANDS[int(layout.rng.integers(len(ISLANDS)))](layout)
    CORNERS[int(layout.rng.integers(len(CORNERS)))](layout)
    stand_people(layout)
    _extras(layout)
    _skirting(layout, door)


def ways(margin: float) -> list[tuple[float, float, float, float]]:
    """Return rectangles (x0, x1, z0, z1) of where walks and squares go, a margin around them."""
    left, right = MIDDLE - 2.0, MIDDLE + 2.0
    lines = (
        (left, left + 7.2, 2.1, 2.1),
        (left, left, -1.9, 2.1),
        (right, right, -1.9, 2.1),
        (left, right, -1.9, -1.9),
        (SQUARE, SQUARE + 2.0, 0.1, 2.1),
    )
    return [(x0 - margin, x1 + margin, z0 - margin, z1 + margin) for x0, x1, z0, z1 in lines]


def keep_ways(layout: Layout) -> None:
    """Keep the floor free that walks, squares and the ball's lane need."""
    for way in ways(0.35):
        layout.keep(*way)
    layout.keep(BALL_END - 0.4, BALL_START + BALL + 0.1, BALL_LANE - 0.34, BALL_LANE + 0.5)


def bays(
    layout: Layout,
    wall: str,
    start: float,
    stop: float,
    names: list[str],
    known: Mapping[str, tuple[float, Bay]] | None = None,
) -> None:
    """Line up bays along a wall, leaving out what does not fit, with the slack between them.

    Args:
        layout: The room.
        wall: Which wall.
        start: Where along it to begin, metres.
        stop: Where to end.
        names: Bays in order.
        known: Name -> (width, what furnishes it); None for those of an interior.
    """
    known = BAYS if known is None else known
    chosen: list[str] = []
    length = 0.0
    for name in names:
        if length + known[name][0] <= stop - start:
            chosen.append(name)
            length += known[name][0]
    slack = (stop - start - length) / max(len(chosen), 1)
    cursor = start
    for name in chosen:
        width, furnish = known[name]
        furnish(layout, wall, cursor + width / 2 + slack / 2)
        cursor += width + slack


def _pictures(layout: Layout, wall: str, at: float, y: float, width: float, height: float) -> None:
    """Hang one wide picture, two narrow ones, or three small ones."""
    kind = int(layout.rng.integers(3))
    if kind == 0:
        layout.hang(wall, "painting", (width, height, 0.035), at, y)
        return
    count = kind + 1
    each = width / count
    for i in range(count):
        tall = height * layout.uniform(0.75, 1.0)
        layout.hang(
            wall, "painting", (each - 0.08, tall, 0.035), at + (i + 0.5) * each - width / 2, y
        )


def _books(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "bookshelf", (1.25, layout.uniform(1.8, 2.2), 0.34), at)


def _media(layout: Layout, wall: str, at: float) -> None:
    low = layout.by(wall, "cabinet", (1.7, 0.52, 0.42), at)
    if low:
        layout.on(low, "television", (1.25, 0.78, 0.24))
    _pictures(layout, wall, at, 1.55, 1.5, 0.7)


def _couch(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "sofa", (layout.uniform(1.95, 2.2), 0.84, 0.9), at, out=0.06)
    _pictures(layout, wall, at, 1.25, 1.9, layout.uniform(0.7, 0.95))


def _light(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "radiator", (1.1, 0.62, 0.14), at)
    tall = min(1.55, layout.room[1] - 1.05)
    layout.hang(wall, "window", (1.75, tall, 0.16), at, 0.86)


def _dresser(layout: Layout, wall: str, at: float) -> None:
    low = layout.by(wall, "cabinet", (1.2, layout.uniform(0.78, 1.0), 0.45), at)
    if low:
        layout.on(low, "vase", (0.22, layout.uniform(0.34, 0.55), 0.22), 0.36)
        layout.on(low, "lamp", (0.28, layout.uniform(0.42, 0.55), 0.28), -0.34)
    if layout.rng.random() < 0.5:
        layout.hang(wall, "clock", (0.44, 0.44, 0.05), at, 1.72)
    else:
        _pictures(layout, wall, at, 1.62, 1.15, 0.75)


def _work(layout: Layout, wall: str, at: float) -> None:
    desk = layout.by(wall, "desk", (1.45, 0.74, 0.68), at)
    if desk:
        layout.on(desk, "monitor", (0.62, 0.5, 0.2), 0.1, -0.16)
        layout.on(desk, "lamp", (0.24, 0.46, 0.24), -0.52, -0.18)
    x, z, turn = layout.wall_place(wall, at + layout.uniform(-0.2, 0.2), 1.08)
    layout.put("chair", (0.48, 0.95, 0.52), x, z, turn + 180)
    layout.hang(wall, "shelf", (1.1, 0.46, 0.22), at, 1.55)


def _music(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "piano", (1.42, 1.22, 0.62), at)
    x, z, turn = layout.wall_place(wall, at, 0.98)
    layout.put("stool", (0.42, 0.5, 0.38), x, z, turn)
    _pictures(layout, wall, at, 1.5, 1.3, 0.8)


def _cold(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "refrigerator", (0.72, layout.uniform(1.65, 1.95), 0.68), at)


def _pile(layout: Layout, wall: str, at: float) -> None:
    first = layout.by(wall, "crate", (0.62, 0.52, 0.5), at - 0.33)
    if first:
        layout.on(first, "crate", (0.44, 0.36, 0.4), 0.03, 0.0, layout.uniform(-14, 14))
    layout.by(wall, "barrel", (0.58, 0.88, 0.58), at + 0.34)
    _pictures(layout, wall, at, 1.5, 1.1, 0.7)


def _art(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "armchair", (0.9, 0.84, 0.86), at, out=0.05)
    _pictures(layout, wall, at, 1.3, 1.3, 0.9)


def _rest(layout: Layout, wall: str, at: float) -> None:
    bed = layout.by(wall, "bed", (1.6, 1.1, 1.88), at)
    if bed is None:
        layout.by(wall, "sofa", (1.7, 0.84, 0.88), at)
    _pictures(layout, wall, at, 1.45, 1.4, 0.8)


def _corner(layout: Layout, wall: str, at: float) -> None:
    kind = layout.either("plant", "plant", "lamp", "barrel")
    if kind == "plant":
        layout.by(wall, "plant", (0.82, layout.uniform(1.1, 1.9), 0.82), at, out=0.05)
    elif kind == "lamp":
        layout.by(wall, "lamp", (0.46, layout.uniform(1.5, 1.8), 0.46), at, out=0.2)
    else:
        layout.by(wall, "barrel", (0.58, 0.88, 0.58), at, out=0.12)


def _stand(layout: Layout, wall: str, at: float) -> None:
    layout.by(wall, "lamp", (0.44, layout.uniform(1.45, 1.7), 0.44), at, out=0.15)


BAYS: dict[str, tuple[float, Bay]] = {
    "books": (1.4, _books),
    "media": (1.95, _media),
    "couch": (2.4, _couch),
    "light": (1.95, _light),
    "dresser": (1.4, _dresser),
    "work": (1.6, _work),
    "music": (1.6, _music),
    "cold": (0.9, _cold),
    "pile": (1.4, _pile),
    "art": (1.5, _art),
    "rest": (1.9, _rest),
    "corner": (0.95, _corner),
    "stand": (0.6, _stand),
}


def _dining(layout: Layout) -> None:
    """A table with chairs on a rug."""
    layout.put("rug", (2.7, RUG, 2.4), MIDDLE, 0.08)
    round_ = layout.rng.random() < 0.5
    size = (1.2, 0.75, 1.2) if round_ else (1.5, 0.75, 0.86)
    table = layout.put("table", size, MIDDLE, 0.08, 0.0, y=RUG + 0.001)
    seed = int(layout.rng.integers(1 << 16))
    places = [
        (0.0, size[2] / 2 + 0.36, 180.0),
        (0.0, -size[2] / 2 - 0.36, 0.0),
        (size[0] / 2 + 0.36, 0.0, -90.0),
        (-size[0] / 2 - 0.36, 0.0, 90.0),
    ]
    if not round_:
        places = [(x, z, t) for x in (-0.36, 0.36) for _, z, t in places[:2]] + places[2:3]
    for x, z, turn in places[: int(layout.rng.integers(3, len(places) + 1))]:
        layout.put("chair", (0.46, 0.94, 0.5), MIDDLE + x, 0.08 + z, turn, y=RUG + 0.001, seed=seed)
    if table:
        layout.on(
            table, "vase", (0.24, layout.uniform(0.36, 0.6), 0.24), layout.uniform(-0.15, 0.15)
        )


def _lounge(layout: Layout) -> None:
    """Armchairs or a sofa about a low table on a rug."""
    layout.put("rug", (2.8, RUG, 2.3), MIDDLE, 0.05)
    y = RUG + 0.001
    low = layout.put("table", (1.0, 0.42, 0.62), MIDDLE, 0.0, 0.0, y=y)
    seed = int(layout.rng.integers(1 << 16))
    layout.put("armchair", (0.86, 0.82, 0.84), MIDDLE - 1.02, 0.0, 90, y=y, seed=seed)
    layout.put("armchair", (0.86, 0.82, 0.84), MIDDLE + 1.02, 0.0, -90, y=y, seed=seed)
    if layout.rng.random() < 0.6:
        layout.put("sofa", (1.6, 0.8, 0.84), MIDDLE, 1.0, 180, y=y)
    else:
        layout.put("stool", (0.42, 0.46, 0.42), MIDDLE + 0.3, 0.75, 20, y=y)
    if low:
        layout.on(low, "vase", (0.2, 0.32, 0.2), 0.25)


def _divide(layout: Layout) -> None:
    """A low bookshelf with things on it, a plant and a bench of crates."""
    shelf = layout.put("bookshelf", (1.7, 1.12, 0.36), MIDDLE, -0.4, 0.0)
    if shelf:
        layout.on(shelf, "vase", (0.24, 0.5, 0.24), 0.5)
        layout.on(shelf, "television", (0.9, 0.58, 0.2), -0.2)
    layout.put("armchair", (0.88, 0.84, 0.86), MIDDLE + 0.65, 0.85, 160)
    layout.put("table", (0.6, 0.5, 0.6), MIDDLE - 0.2, 0.95, 0.0)
    layout.put("plant", (0.8, 1.35, 0.8), MIDDLE - 1.1, 0.4, 0.0)


ISLANDS = (_dining, _lounge, _divide)


def _reading(layout: Layout) -> None:
    """A chair, a lamp and a small rug on the open side."""
    layout.put("rug", (1.7, RUG, 1.1), 2.6, -1.95)
    layout.put("armchair", (0.86, 0.84, 0.84), 2.6, -1.95, layout.uniform(-25, 25), y=RUG + 0.001)
    layout.put("lamp", (0.42, 1.6, 0.42), 1.65, -2.1)
    layout.put("plant", (0.7, 1.1, 0.7), 3.65, -1.95)


def _store(layout: Layout) -> None:
    """Crates and barrels on the open side."""
    first = layout.put("crate", (0.7, 0.55, 0.55), 2.3, -1.9, layout.uniform(-10, 10))
    if first:
        layout.on(first, "crate", (0.45, 0.4, 0.4), 0.0, 0.0, layout.uniform(-30, 30))
    layout.put("barrel", (0.58, 0.9, 0.58), 3.1, -2.0)
    layout.put("barrel", (0.56, 0.86, 0.56), 3.85, -1.8)
    layout.put("plant", (0.76, 1.5, 0.76), 1.4, -2.0)


def _tea(layout: Layout) -> None:
    """A small table with two chairs on the open side."""
    table = layout.put("table", (0.75, 0.74, 0.75), 2.6, -1.95, 0.0)
    seed = int(layout.rng.integers(1 << 16))
    layout.put("chair", (0.46, 0.92, 0.48), 1.85, -1.95, 90, seed=seed)
    layout.put("chair", (0.46, 0.92, 0.48), 3.35, -1.95, -90, seed=seed)
    if table:
        layout.on(table, "vase", (0.2, 0.45, 0.2))


CORNERS = (_reading, _store, _tea)


def hang_door(layout: Layout) -> float:
    """Hang a door in its frame on the east wall, keep the floor before it, return its place (z)."""
    at, wall = layout.uniform(0.2, 0.9), layout.room[0] / 2
    layout.keep(wall - 1.0, wall, at - BESIDE, at + BESIDE)
    frame = layout.hang("east", "doorway", (1.04, 2.12, 0.1), at, 0.0)
    assert frame is not None
    seed = int(layout.rng.integers(1 << 16))
    pose = frame.pose @ placed(-LEAF[0] / 2, 0.0, 0.075)
    layout.add(make("door", seed, LEAF), "door", pose, LEAF)
    return at


def stand_people(layout: Layout) -> None:
    """Stand two to four people where there is room, turned roughly towards open floor."""
    spots = [
        (-2.85, -1.2, -60.0),
        (-0.3, -1.15, 50.0),
        (-0.3, 1.35, 40.0),
        (-2.9, 1.35, -30.0),
        (-1.4, -2.7, 0.0),
        (1.1, -2.5, 10.0),
        (4.3, -1.75, -20.0),
        (1.25, -0.9, 0.0),
        (1.2, 0.6, -30.0),
        (-4.45, -0.6, 70.0),
        (-4.4, 1.2, 100.0),
        (3.0, 2.85, 180.0),
        (-0.6, 2.95, 185.0),
        (-3.4, -2.7, 10.0),
        (4.4, -0.2, -60.0),
    ]
    wanted = 2 + int(layout.rng.integers(3))
    seeds = layout.rng.permutation(64)
    found = 0
    for i in layout.rng.permutation(len(spots)):
        x, z, turn = spots[i]
        turn += layout.uniform(-20, 20)
        if found < wanted:
            person = layout.put("person", (0.6, 1.8, 0.45), x, z, turn, seed=int(seeds[found]))
            found += person is not None


def _extras(layout: Layout) -> None:
    """Scatter a few small things where room is left."""
    sizes = {
        "stool": (0.4, 0.48, 0.4),
        "crate": (0.5, 0.42, 0.42),
        "plant": (0.6, 0.95, 0.6),
        "vase": (0.34, 0.75, 0.34),
    }
    layout.scatter(sizes, 0.4, ("stool", "crate"))


def _skirting(layout: Layout, door: float) -> None:
    """Run a board along the foot of each wall, with a gap at the door."""
    kit = Kit(int(layout.rng.integers(1 << 16)))
    board = kit.material("plain", kit.pick(["#ece8de", "#5b3a22", "#d8d4c8", "#3d2a20"]))
    for wall in ("north", "east", "south", "west"):
        length = layout.room[0] if wall in ("north", "south") else layout.room[2]
        ends = [-length / 2 + 0.02, length / 2 - 0.02]
        if wall == "east":
            middle = door * layout.mirror
            ends[1:1] = [middle - 0.53, middle + 0.53]
        b = Builder()
        for x0, x1 in zip(ends[::2], ends[1::2], strict=True):
            b.box((x0, 0, 0.002), (x1, 0.09, 0.016), board, bevel=0, skip="yz")
        x, z, turn = layout.wall_place(wall, 0.0, 0.0)
        piece = Piece(b.mesh(), None, f"skirting/{wall}", dict(kit.textures))
        layout.add(piece, "skirting", layout.pose(x, 0, z, turn), (length, 0.09, 0.016))
