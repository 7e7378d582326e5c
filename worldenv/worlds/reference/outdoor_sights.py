"""Sights of parks: fountains, statues, ponds, boulders, gazebos."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.outdoor_things import (
    TIMBERS,
    blob,
    draw_rock,
    ring,
    season_of,
    thing,
)
from worldenv.worlds.reference.people import make_person
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit

Points = NDArray[np.float64]

CREST = 0.2
"""Where on its way out the water of a jet is highest, as a share of how far it flies."""


@thing("fountain")
def fountain(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round or eight-sided basin with a jet, tiers of bowls or a ball."""
    w, h, d = size
    r = min(w, d) / 2
    rock, water = (
        draw_rock(kit),
        kit.material("ripples", kit.pick(["#4f7482", "#5a8a94", "#466a7a"])),
    )
    foam = kit.material("ripples", "#c4dbe4", "#f4f8fa")._replace(tint=(1.2, 1.22, 1.24))
    sides = int(kit.pick(["8", "24", "24"]))
    rim = 0.48
    b.lathe(
        [
            (r, 0),
            (r, 0.1),
            (r * 0.94, 0.14),
            (r * 0.94, rim - 0.1),
            (r, rim - 0.06),
            (r, rim),
            (r * 0.82, rim),
            (r * 0.82, rim - 0.16),
        ],
        rock,
        sides=sides,
        repeat=0.9,
    )
    b.lathe(
        [(r * 0.83, rim - 0.14), (r * 0.4, rim - 0.13), (0, rim - 0.12)],
        water,
        sides=sides,
        repeat=1.0,
    )
    style = kit.pick(["tiers", "jet", "ball"])
    if style == "ball":
        b.lathe(
            [(0.28 * r, rim - 0.2), (0.22 * r, rim + 0.2), (0.24 * r, rim + 0.3)],
            rock,
            sides=16,
            repeat=0.8,
        )
        b.ball(
            (0, rim + 0.3 + 0.3 * r, 0), (0.32 * r, 0.32 * r, 0.32 * r), rock, sides=20, rings=14
        )
        b.lathe(
            [(0.33 * r, rim + 0.26 + 0.3 * r), (0.35 * r, rim + 0.2), (0.4 * r, rim - 0.1)],
            foam._replace(tint=(0.8, 0.85, 0.9)),
            sides=14,
            repeat=0.4,
        )
        return b.mesh()
    top = rim
    if style == "tiers":
        for k, (wide, y) in enumerate(
            ((0.5, rim + 0.42 * (h - rim)), (0.27, rim + 0.8 * (h - rim)))
        ):
            foot = rim - 0.2 if k == 0 else top
            b.lathe(
                [(0.14 * r, foot), (0.09 * r, (foot + y) / 2), (0.12 * r, y - 0.12)],
                rock,
                sides=12,
                repeat=0.6,
            )
            b.lathe(
                [
                    (0.1 * r, y - 0.12),
                    (wide * r * 0.7, y - 0.08),
                    (wide * r, y),
                    (wide * r * 0.94, y),
                    (wide * r * 0.9, y - 0.03),
                ],
                rock,
                sides=20,
                repeat=0.6,
            )
            b.lathe([(wide * r * 0.92, y - 0.02), (0, y - 0.01)], water, sides=20, repeat=0.6)
            count = 9 if k == 0 else 6
            below = rim - 0.12 if k == 0 else top - 0.01
            for i in range(count):
                a = 2 * np.pi * i / count
                out = np.array([np.sin(a), 0, np.cos(a)])
                fallen = np.linspace(0, 1, 9)[:, None]
                # It leaves the lip level and falls ever steeper.
                line = out * wide * r * (0.98 + 0.18 * np.sqrt(fallen)) + [0, y + 0.01, 0]
                _stream(b, line - [0, y + 0.01 - below, 0] * fallen, 0.016, foam, i, 4)
            level = rim - 0.127 if k == 0 else top - 0.01
            _splash(b, 1.16 * wide * r, level, count, 0.0, foam)
            top = y
    count = 10
    reach = (0.2 if style == "tiers" else 0.5) * r
    fall = top - 0.02 if style == "tiers" else rim - 0.12
    # The column ends as high as the box of the thing, by which views are found, has always been.
    slope = np.hypot(0.375 * reach, 0.15 * (h - fall) - 0.02)
    peak = h + 0.018 * 0.375 * reach / slope
    b.tube(
        [(0, top - 0.1, 0), (0, (top + h) / 2, 0), (0, peak, 0)],
        [0.045, 0.028, 0.012],
        foam,
        sides=6,
        repeat=0.25,
    )
    for i in range(count):
        a = 2 * np.pi * i / count + 0.2
        out = np.array([np.sin(a), 0, np.cos(a)])
        fallen = np.linspace(0, 1, 9)[1:]
        share = np.array([0, CREST / 2, CREST, *(CREST + (1 - CREST) * np.sqrt(fallen))])[:, None]
        # A parabola that is highest a little outside the column.
        drop = ((share - CREST) / (1 - CREST)) ** 2
        line = out * reach * share + [0, h - 0.003, 0] - [0, h - fall, 0] * drop
        _stream(b, line, 0.018, foam, i, 9)
    level = top - 0.01 if style == "tiers" else rim - 0.127
    _splash(b, reach, level, count, 0.2, foam)
    return b.mesh()


def _stream(
    b: Builder, line: Points, radius: float, foam: Material, which: int, drops: int
) -> None:
    """Add water that flies along a line (n, 3): a thinning thread that breaks up into drops."""
    n = len(line)
    if b.coarse:
        b.tube(line[[0, n // 3, n - 1]], 0.6 * radius, foam, sides=3, repeat=0.2)
        return
    unbroken = n - 4
    taper = radius * np.linspace(0.8, 0.22, unbroken)
    b.tube(line[:unbroken], list(taper), foam, sides=3, repeat=0.2)
    # Not at the same height in all streams.
    at = unbroken - 0.75 + 3.6 * np.linspace(0, 1, drops) - 0.35 * ((which * 0.618034) % 1)
    for k, where in enumerate(at):
        i = int(where)
        along = line[i + 1] - line[i]
        middle = line[i] + (where - i) * along
        # Drops stray more the longer they have been falling.
        stray = 0.005 * k * np.array([np.sin(7.0 * k + which), 0.0, np.cos(5.0 * k + which)])
        _drop(b, middle + stray, along, radius * (0.5, 0.36, 0.6)[(k + which) % 3], foam)


def _drop(b: Builder, at: Points, along: Points, size: float, foam: Material) -> None:
    """Add a drop of water, drawn out along the way that it flies."""
    along = along / np.linalg.norm(along)
    side = np.cross(along, (0.6, 0.1, 0.8))
    side /= np.linalg.norm(side)
    up = np.cross(along, side)
    turn = np.array([[0.0], [2.0944], [4.18879]])
    ring = at + size * (np.cos(turn) * side + np.sin(turn) * up)
    points = np.concatenate([ring, [at - 2.6 * size * along, at + 1.6 * size * along]])
    faces = [(0, 1, 4), (1, 2, 4), (2, 0, 4), (1, 0, 3), (2, 1, 3), (0, 2, 3)]
    b.add(points, points[:, :2] / 0.2, faces, foam)


def _splash(b: Builder, reach: float, y: float, count: int, start: float, foam: Material) -> None:
    """Add a broken ring of foam where ``count`` streams fall into water at a height.

    A closed ring would shade the water around it, whose light is coarser than the ring is wide.
    """
    churned = foam._replace(tint=(0.92, 0.96, 1.0))
    for i in range(2 * count):
        a = np.pi * i / count + start
        wide, high = (0.065, 0.034) if i % 2 == 0 else (0.045, 0.012)
        b.lathe(
            [(wide, 0.0), (0.5 * wide, 0.4 * high), (0.0, high)][:: 1 + i % 2],
            churned,
            sides=5,
            pose=placed(reach * float(np.sin(a)), y, reach * float(np.cos(a))),
        )


@thing("statue", smooth=True)
def statue(kit: Kit, b: Builder, size: Size) -> Mesh:
    """A figure of stone or bronze on a plinth, or a column with a ball, or an abstract ring."""
    w, h, d = size
    rock = draw_rock(kit)
    style = kit.pick(["figure", "figure", "figure", "rings"])
    cast = (
        kit.material("metal", kit.pick(["#4f6b5a", "#5f4a34", "#3f4a44"]))
        if kit.rng.random() < 0.55
        else kit.material("stone", kit.pick(["#d9d4c8", "#c4bca8"]), "grain")
    )
    tall = h * (0.42 if style == "figure" else 0.34)
    p = min(w, d) / 2
    n = 1 if b.coarse else 3
    for low, high, half in (
        (0.0, 0.14, p),
        (0.14, tall - 0.1, 0.74 * p),
        (tall - 0.1, tall, 0.86 * p),
    ):
        for turn in range(4):
            b.patch(
                (-half, low, half),
                (2 * half, 0, 0),
                (0, high - low, 0),
                rock,
                repeat=1.0,
                cells=(n, n),
                pose=placed(turn=90 * turn),
            )
        b.patch(
            (-half, high, half), (2 * half, 0, 0), (0, 0, -2 * half), rock, repeat=1.0, cells=(n, n)
        )
    if style == "rings":
        radius0 = min((h - tall) / 2, 0.66 * w)
        for k in range(3):
            radius = radius0 * (1 - 0.24 * k)
            b.tube(
                ring(radius - 0.06, 0.0, count=25, upright=True),
                0.06 - 0.01 * k,
                cast,
                sides=8,
                pose=placed(0, tall + radius0, 0, 55 * k, 20 * k),
            )
        return b.mesh()
    person = make_person(int(kit.rng.integers(1 << 16)))
    figure = person.coarse if b.coarse else person.mesh
    assert figure is not None
    scale = (h - tall) / float(figure.vertices[:, 1].max())
    pose = placed(0, tall, 0) @ np.diag([scale, scale, scale, 1.0])
    # One cast: the clothes' own pattern coordinates would show their seams.
    uv = figure.vertices[:, :2] * 2.0
    b.add(figure.vertices, uv, figure.faces, cast, pose)
    return b.mesh()


@thing("boulder", smooth=True)
def boulder(kit: Kit, b: Builder, size: Size) -> Mesh:
    """One to three rocks, half sunk in the ground."""
    w, h, d = size
    rock = draw_rock(kit)
    count = 1 + int(kit.rng.integers(3))
    for k in range(count):
        share = 1.0 if k == 0 else kit.uniform(0.4, 0.6)
        a = kit.uniform(0, 6.28)
        out = 0.0 if k == 0 else 0.36
        at = (out * w * np.sin(a), 0.22 * h * share, out * d * np.cos(a))
        wide = (0.4 if count > 1 else 0.46) * share
        blob(
            b,
            kit.rng,
            at,
            (wide * w, 0.74 * h * share, wide * d),
            rock,
            sides=16,
            rings=12,
            rough=0.22,
            repeat=1.0,
            even=True,
        )
    return b.mesh()


@thing("pond", smooth=True)
def pond(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Pond with a rim of stones, water lilies and reeds."""
    w, h, d = size
    own = season_of(kit)
    water = kit.material(
        "ripples", kit.pick(["#3f6470", "#4a7464", "#557a8a"]), kit.pick(["#a8c8d8", "#b9d0c8"])
    )
    phase = kit.rng.uniform(0, 6.28, 3)

    def reach(a: np.ndarray) -> np.ndarray:
        return np.asarray(0.86 + 0.08 * np.sin(2 * a + phase[0]) + 0.06 * np.sin(3 * a + phase[1]))

    a = np.linspace(0, 2 * np.pi, 33 if not b.coarse else 17)
    points, uv = [], []
    for share in (0.0, 0.4, 0.8, 1.0):
        x, z = 0.5 * w * share * reach(a) * np.sin(a), 0.5 * d * share * reach(a) * np.cos(a)
        points.append(np.stack([x, np.full_like(x, 0.035), z], 1))
        uv.append(np.stack([x, z], 1) / 1.6)
    n = len(a)
    index = np.arange(4 * n).reshape(4, n)
    p, q, r, s = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    faces = np.concatenate(
        [np.stack([p, s, r], -1).reshape(-1, 3), np.stack([p, r, q], -1)[1:].reshape(-1, 3)]
    )
    b.add(np.concatenate(points), np.concatenate(uv), faces, water)
    rocks = [draw_rock(kit), draw_rock(kit)]
    count = int(2.5 * (w + d))
    for k in range(count):
        t = 2 * np.pi * k / count + kit.uniform(-0.05, 0.05)
        g = float(reach(np.array([t]))[0])
        size_ = kit.uniform(0.14, 0.24)
        at = (0.5 * w * g * np.sin(t), 0.03, 0.5 * d * g * np.cos(t))
        blob(
            b,
            kit.rng,
            at,
            (size_ * 1.25, size_ * kit.uniform(0.6, 1.0), size_),
            rocks[k % 2],
            sides=7,
            rings=5,
            rough=0.2,
            repeat=0.7,
            even=True,
        )
    lily = own.material("foliage", "#3f7a3c", "#6fa858", "none", "broad")
    for k in range(11):
        t, g = kit.uniform(0, 6.28), kit.uniform(0.15, 0.62)
        leaf = placed(0.5 * w * g * np.sin(t), 0.048, 0.5 * d * g * np.cos(t), kit.uniform(0, 360))
        b.lathe([(0.13 + 0.02 * (k % 3), 0.0), (0.0, 0.008)], lily, sides=9, repeat=2.0, pose=leaf)
        if k % 3 == 0:
            petal = own.material("plain", kit.pick(["#f4e8f0", "#f0b0c8", "#f6f0c0"]))
            b.lathe([(0.02, 0.0), (0.07, 0.07), (0.0, 0.03)], petal, sides=8, pose=leaf)
    reed = own.material("wood", kit.pick(["#7f9a42", "#98a858", "#6f8a4a"]))
    head = own.material("plain", "#5a3a22")
    for k in range(5 if b.coarse else 14):
        x = 0.4 * w * np.sin(phase[2]) + 0.13 * kit.rng.normal()
        z = 0.4 * d * np.cos(phase[2]) + 0.13 * kit.rng.normal()
        tall = h * kit.uniform(0.6, 1.0)
        tip = (x + kit.uniform(-0.12, 0.12), tall, z + kit.uniform(-0.12, 0.12))
        b.tube([(x, 0.02, z), (x, 0.5 * tall, z), tip], [0.012, 0.01, 0.004], reed, sides=4)
        if k % 3 == 0:
            b.tube(
                [(tip[0], tall - 0.02, tip[2]), (tip[0], tall + 0.1, tip[2])], 0.02, head, sides=5
            )
    return b.mesh()


@thing("gazebo")
def gazebo(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Six- or eight-sided pavilion with posts, rails and a pointed roof."""
    w, h, d = size
    r = min(w, d) / 2
    paint = kit.material("plain", kit.pick(["#f0ece0", "#5a4636", "#7d9a86", "#3f5a6a"]))
    roof = kit.material("rooftiles", kit.pick(["#a4533a", "#5a5f66", "#4f6b5a", "#6b4a38"]))
    floor = kit.material("planks", kit.pick(TIMBERS))
    sides = int(kit.pick(["6", "8"]))
    top = 0.68 * h
    b.lathe(
        [(0.92 * r, 0), (0.92 * r, 0.14)],
        kit.material("concrete", "#a9a49a"),
        sides=sides,
        repeat=1.0,
    )
    b.lathe([(0.92 * r, 0.14), (0, 0.141)], floor, sides=sides, repeat=1.4)
    at = [
        (0.84 * r * np.sin(2 * np.pi * k / sides), 0.84 * r * np.cos(2 * np.pi * k / sides))
        for k in range(sides)
    ]
    for x, z in at:
        b.cylinder(0.06, 0.14, top, paint, sides=8, pose=placed(x, 0, z))
    for k in range(1, sides - 1):
        (x0, z0), (x1, z1) = at[k], at[k + 1]
        for y in (0.42, 0.95):
            b.tube([(x0, y, z0), (x1, y, z1)], 0.03, paint, sides=4)
        for i in range(1, 5):
            s = i / 5
            b.tube(
                [
                    (x0 + s * (x1 - x0), 0.42, z0 + s * (z1 - z0)),
                    (x0 + s * (x1 - x0), 0.95, z0 + s * (z1 - z0)),
                ],
                0.014,
                paint,
                sides=4,
            )
    b.lathe([(r, top - 0.02), (r, top + 0.06)], paint, sides=sides, repeat=1.0)
    b.lathe(
        [(r, top + 0.06), (0.45 * r, top + 0.62 * (h - top)), (0.05, h - 0.12)],
        roof,
        sides=sides,
        repeat=1.4,
    )
    b.lathe([(0.0, top + 0.1), (r, top - 0.02)], paint, sides=sides, repeat=1.0)
    b.ball((0, h - 0.08, 0), (0.07, 0.08, 0.07), paint, sides=8, rings=6)
    return b.mesh()
