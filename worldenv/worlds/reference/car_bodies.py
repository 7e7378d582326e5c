"""Bodies of cars and vans: proportions, and the mesh that follows from them. Noses point to +x."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import car_textures
from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, mesh_grid
from worldenv.worlds.reference.textures import Kit

assert car_textures  # Importing it registers its painters.

PAINTS = [
    "#a8322c",
    "#2f5a94",
    "#d8d8d4",
    "#34383c",
    "#8b9096",
    "#3f6b4a",
    "#c9a23a",
    "#6a8fb0",
    "#e4ddc8",
    "#7a2f45",
    "#d0702f",
    "#4a7f84",
]
NOSE = 0.09
"""How far nose and tail bulge, in metres."""
Points = NDArray[np.float64]


class Body(NamedTuple):
    """Proportions of a car; lengths are shares of its length from the tail, heights of its height.

    Attributes:
        base: Where the side windows begin and end along their lower edge, tail first.
        roof: Where the roof begins and ends.
        pillars: Spans of the side windows, in shares of the base.
        bonnet: Height at the nose and before the windscreen.
        belt: Height of the windows' lower edge.
        deck: Height of the boot's lid.
        wheels: Where the axles are.
        narrow: Half width of the roof, as a share of the body's.
        front: Style of nose and tail.
    """

    base: tuple[float, float]
    roof: tuple[float, float]
    pillars: tuple[tuple[float, float], ...]
    bonnet: tuple[float, float]
    belt: float
    deck: float
    wheels: tuple[float, float]
    narrow: float = 0.78
    front: str = "wide"


def _levels(body: Body, s: Points, h: float) -> Points:
    """Return the height of a body's shoulder at shares of its length."""
    back, front = body.base
    at = [0.0, 0.02, back, front, 0.97, 1.0]
    y = [
        body.deck * 0.96,
        body.deck,
        body.belt,
        max(body.belt - 0.01, body.bonnet[1]),
        body.bonnet[0],
        body.bonnet[0] * 0.94,
    ]
    return np.asarray(np.interp(s, np.maximum.accumulate(at), y) * h)


def make_vehicle(kit: Kit, b: Builder, size: Size, body: Body, two_tone: bool) -> Mesh:
    """Return a car or van of that body.

    Args:
        kit: What chooses its colours.
        b: An empty builder.
        size: Length, height and width in metres.
        body: Its proportions.
        two_tone: Whether what is above the windows' lower edge is pale.
    """
    length, h, wide = size
    tone = kit.pick(PAINTS)
    paint = kit.material("plain", tone)
    upper = kit.material("plain", kit.pick(["#f0ece2", "#e4ddc8"])) if two_tone else paint
    radius = min(0.235 * h, 0.34)
    clear = 0.52 * radius
    shoulder = float(body.belt * h)
    doors = [body.base[0] + p[0] * (body.base[1] - body.base[0]) - 0.012 for p in body.pillars]
    if len(body.pillars) > 1 and body.base[0] < 0.1:
        doors = doors[1:]
    seams = ",".join(f"{s:.3f}" for s in [*doors, body.base[1] + 0.005])
    side = kit.material("carside", tone, seams, f"{0.5 * (clear + 0.1) / shoulder:.2f}")
    ends = (kit.material("carback", tone, body.front), kit.material("carfront", tone, body.front))
    _shell(b, body, size, paint, side, ends, radius, clear)
    _cabin(b, kit, body, size, upper)
    _wheels(b, kit, body, size, radius)
    trim = kit.material("plain", "#24272a")
    x = (body.base[1] - 0.5) * (length - 2 * NOSE) - 0.12 * h
    for s in (-1, 1):
        z0, z1 = sorted((s * 0.86 * wide / 2, s * (wide / 2 + 0.07)))
        b.cushion(
            (x - 0.05, shoulder + 0.01, z0),
            (x + 0.06, shoulder + 0.13, z1),
            paint if not two_tone else trim,
            radius=0.03,
        )
    return b.mesh()


def _shell(
    b: Builder,
    body: Body,
    size: Size,
    paint: Material,
    side: Material,
    caps: tuple[Material, Material],
    radius: float,
    clear: float,
) -> None:
    """Add the lower body: flanks with wheel arches, bonnet, boot, and a dark floor."""
    length, h, wide = size
    arch = radius * 1.16
    steps = 5 if b.coarse else 9
    stations = [0.0, 0.012, 0.05, *np.linspace(0.1, 0.9, 5 if b.coarse else 9), 0.95, 0.988, 1.0]
    stations += [*body.base, body.base[0] - 0.008, body.base[1] + 0.012]
    for axle in body.wheels:
        stations += list(axle + arch / (length - 2 * NOSE) * np.cos(np.linspace(0, np.pi, steps)))
    s = np.unique(np.round(stations, 4))
    x = (s - 0.5) * (length - 2 * NOSE)
    top = _levels(body, s, h)
    ends = np.minimum(s, 1 - s)
    half = wide / 2 * np.interp(ends, [0, 0.012, 0.05, 0.16, 0.4], [0.86, 0.92, 0.965, 0.99, 1.0])
    bottom = np.full_like(s, clear) + 0.05 * np.clip(1 - ends / 0.08, 0, 1)
    for axle in body.wheels:
        off = (s - axle) * (length - 2 * NOSE)
        rise = radius + np.sqrt(np.maximum(arch**2 - off**2, 0))
        bottom = np.where(abs(off) < arch - 1e-3, np.maximum(bottom, rise), bottom)
    knee = np.maximum(0.62 * top, bottom + 0.03)
    rows = [
        (bottom, half * 0.975),
        (np.maximum(0.42 * top, bottom + 0.01), half),
        (knee, half * 0.995),
        (np.maximum(0.93 * top, knee + 0.02), half * 0.955),
        (top, half * 0.88),
    ]
    n = len(s)
    i = np.arange(n - 1)
    for sign in (1, -1):
        points = np.concatenate([np.stack([x, y, sign * w], axis=1) for y, w in rows])
        uv = np.concatenate([np.stack([s, 1 - y / (body.belt * h)], axis=1) for y, _ in rows])
        faces = []
        for k in range(len(rows) - 1):
            a, c = i + k * n, i + (k + 1) * n
            faces += [np.stack([a, a + 1, c + 1], 1), np.stack([a, c + 1, c], 1)]
        quads = np.concatenate(faces)
        b.add(points, np.clip(uv, 0.004, 0.996), quads if sign > 0 else quads[:, ::-1], side)
    # Bonnet and boot lid with a crown; nothing lies under the cabin, whose shade would show.
    crown = 0.018 * h * np.clip(ends / 0.05, 0, 1)
    sheet = [(top, half * 0.88), (top + crown, half * 0.45), (top + crown, -half * 0.45)]
    sheet.append((top, -half * 0.88))
    points = np.concatenate([np.stack([x, y, w], axis=1) for y, w in sheet])
    bare = i[(s[1:] <= body.base[0] + 1e-4) | (s[:-1] >= body.base[1] - 1e-4)]
    faces = []
    for k in range(3):
        a, c = bare + k * n, bare + (k + 1) * n
        faces += [np.stack([a, a + 1, c + 1], 1), np.stack([a, c + 1, c], 1)]
    b.add(points, points[:, [0, 2]], np.concatenate(faces), paint)
    for end, k, skin in ((-1, 0, caps[0]), (1, n - 1, caps[1])):
        outline = np.array([(y[k], w[k]) for y, w in rows])
        _cap(b, end, float(x[k]), outline, skin)
    dark = Material(paint.texture, (0.035, 0.035, 0.04))
    for axle in body.wheels:
        middle = (axle - 0.5) * (length - 2 * NOSE)
        turn = np.linspace(0, np.pi, steps)
        for sign in (1, -1):
            rim = [
                np.stack(
                    [middle + arch * np.cos(turn), radius + arch * np.sin(turn), 0 * turn + z], 1
                )
                for z in (sign * 0.478 * wide, sign * 0.3 * wide)
            ]
            j = np.arange(steps - 1)
            quads = np.concatenate(
                [np.stack([j, j + 1, j + steps + 1], 1), np.stack([j, j + steps + 1, j + steps], 1)]
            )
            b.add(
                np.concatenate(rim),
                np.zeros((2 * steps, 2)),
                quads if sign > 0 else quads[:, ::-1],
                dark,
            )
    b.box(
        (-0.44 * length, clear + 0.02, -0.4 * wide),
        (0.44 * length, 0.56 * float(top.min()), 0.4 * wide),
        dark,
        bevel=0,
        cell=2.0,
    )
    for axle in body.wheels:
        at = (axle - 0.5) * (length - 2 * NOSE)
        b.box(
            (at - arch, 0.1, -0.32 * wide),
            (at + arch, radius + arch, 0.32 * wide),
            dark,
            bevel=0,
            cell=2.0,
        )


def _cap(b: Builder, end: int, x: float, outline: Points, skin: Material) -> None:
    """Close the body at its nose (end 1) or tail (-1) along an outline of (y, z) rows."""
    across = np.array([-1.0, -0.86, -0.5, 0.0, 0.5, 0.86, 1.0])
    out = NOSE * (1 - across**4)
    share = np.array([0.72, 1.0, 1.0, 0.72, 0.0])
    low, high = outline[0, 0], outline[-1, 0]
    width = outline[:, 1].max()
    points, uv = [], []
    for (y, w), bulge in zip(outline, share, strict=True):
        z = across * w
        points.append(np.stack([x + end * out * bulge, np.full(7, y), z], axis=1))
        uv.append(np.stack([0.5 - end * z / (2 * width), np.full(7, (high - y) / (high - low))], 1))
    faces = mesh_grid(6, 4)
    b.add(
        np.concatenate(points),
        np.clip(np.concatenate(uv), 0.004, 0.996),
        faces if end < 0 else faces[:, ::-1],
        skin,
    )


def _cabin(b: Builder, kit: Kit, body: Body, size: Size, paint: Material) -> None:
    """Add the windows and the roof over the body."""
    length, h, wide = size
    y0, y1 = body.belt * h - 0.005, h - 0.02
    base = [(e - 0.5) * (length - 2 * NOSE) for e in body.base]
    roof = [(e - 0.5) * (length - 2 * NOSE) for e in body.roof]
    z0, z1 = 0.88 * wide / 2, body.narrow * wide / 2
    glass, screen = kit.material("carglass", "side"), kit.material("carglass", "screen")
    trim = kit.material("plain", "#24272a")

    def sheet(
        corners: Points,
        across: list[float],
        up: list[float],
        clear: tuple[tuple[float, float], ...],
        pane: Material,
    ) -> None:
        """Add a panel of paint with panes in its middle row where ``clear`` says."""
        for lo, hi in itertools.pairwise(across):
            middle = (lo + hi) / 2
            for k, (d, e) in enumerate(itertools.pairwise(up)):
                st = np.array([(lo, d), (hi, d), (hi, e), (lo, e)])
                s, t = st[:, :1], st[:, 1:]
                points = (
                    corners[0] * (1 - s) * (1 - t)
                    + corners[1] * s * (1 - t)
                    + corners[2] * s * t
                    + corners[3] * (1 - s) * t
                )
                open_ = k == 1 and any(c0 < middle < c1 for c0, c1 in clear)
                uv = np.array([(0.02, 0.98), (0.98, 0.98), (0.98, 0.02), (0.02, 0.02)])
                seal = k == 1 and not open_ and clear[0][0] < middle < clear[-1][1]
                b.add(
                    points, uv, [[0, 1, 2], [0, 2, 3]], pane if open_ else trim if seal else paint
                )

    cuts = sorted({0.0, 1.0, *(e for span in body.pillars for e in span)})
    for s in (1, -1):
        corners = np.array(
            [
                (base[0], y0, s * z0),
                (base[1], y0, s * z0),
                (roof[1], y1, s * z1),
                (roof[0], y1, s * z1),
            ]
        )
        if s < 0:
            corners = corners[[1, 0, 3, 2]]
        line = cuts if s > 0 else [1 - c for c in reversed(cuts)]
        spans = body.pillars if s > 0 else tuple((1 - e, 1 - a) for a, e in reversed(body.pillars))
        sheet(corners, line, [0.0, 0.07, 0.88, 1.0], spans, glass)
    rear = np.array([(base[0], y0, -z0), (base[0], y0, z0), (roof[0], y1, z1), (roof[0], y1, -z1)])
    front = np.array([(base[1], y0, z0), (base[1], y0, -z0), (roof[1], y1, -z1), (roof[1], y1, z1)])
    sheet(front, [0.0, 0.05, 0.95, 1.0], [0.0, 0.05, 0.93, 1.0], ((0.05, 0.95),), screen)
    sheet(rear, [0.0, 0.09, 0.91, 1.0], [0.0, 0.16, 0.88, 1.0], ((0.09, 0.91),), screen)
    # The roof is a crowned sheet; its edge meets the windows.
    xs = np.array([roof[0], roof[0] + 0.12 * (roof[1] - roof[0]), roof[1] - 0.1 * h, roof[1]])
    zs = np.array([-1, -0.8, 0.0, 0.8, 1.0])
    u, v = np.meshgrid(xs, zs)
    lift = np.array([0.0, 0.014, 0.02, 0.014, 0.0])[:, None] * np.array([0.0, 1.0, 1.0, 0.0])
    points = np.stack([u, y1 + lift, v * z1], axis=-1).reshape(-1, 3)
    index = np.arange(points.shape[0]).reshape(5, 4)
    p, q, r, t = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    faces = np.concatenate(
        [np.stack([p, t, r], -1).reshape(-1, 3), np.stack([p, r, q], -1).reshape(-1, 3)]
    )
    b.add(points, points[:, [0, 2]], faces, paint)


def _wheels(b: Builder, kit: Kit, body: Body, size: Size, radius: float) -> None:
    length, _, wide = size
    rubber = kit.material("plain", "#202224", seed=1)
    face = kit.material(
        "wheel",
        kit.pick(["#c0c4c8", "#9a9fa4", "#d8d8d4", "#6a6e72"]),
        kit.pick(["5", "6", "7", "10", "cap"]),
    )
    a = np.linspace(0, 2 * np.pi, 13 if b.coarse else 25)[:-1]
    for axle in body.wheels:
        x = (axle - 0.5) * (length - 2 * NOSE)
        for s in (1, -1):
            lay = np.eye(4)
            lay[:3, :3] = [[1, 0, 0], [0, 0, -s], [0, s, 0]]
            lay[:3, 3] = x, radius, s * (wide / 2 - 0.2)
            b.lathe(
                [(radius * 0.9, 0.0), (radius, 0.025), (radius, 0.165), (radius * 0.95, 0.185)],
                rubber,
                sides=24,
                pose=lay,
            )
            rim = np.stack([radius * 0.95 * np.cos(a), radius + radius * 0.95 * np.sin(a)], 1)
            disc = np.column_stack(
                [rim[:, 0] + x, rim[:, 1], np.full(len(a), s * (wide / 2 - 0.015))]
            )
            hub = [[x, radius, s * (wide / 2 - 0.03)]]
            uv = np.concatenate(
                [[(0.5, 0.5)], np.stack([0.5 + 0.48 * np.cos(a), 0.5 - 0.48 * np.sin(a)], 1)]
            )
            k = np.arange(len(a))
            fan = np.stack([0 * k, 1 + k, 1 + (k + 1) % len(a)], 1)
            b.add(np.concatenate([hub, disc]), uv, fan if s > 0 else fan[:, ::-1], face)
