"""Tables, desks, cabinets, bookshelves, a piano, a refrigerator.

Makers as in ``furniture``.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import (
    CLOTHS,
    PAINTS,
    PALE,
    Size,
    finish,
    legs,
    maker,
    metal,
    wood,
)
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit


@maker("table")
def table(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Four-legged, pedestal, trestle or slab table."""
    w, h, d = size
    styles = ["legs", "trestle", "slab"] + (["round", "round"] if abs(w - d) < 0.25 else [])
    style = kit.pick(styles)
    top, base = finish(kit), finish(kit) if kit.rng.random() < 0.7 else metal(kit)
    if style == "round":
        r = min(w, d) / 2
        b.lathe(
            [
                (0, h - 0.04),
                (r - 0.01, h - 0.04),
                (r, h - 0.03),
                (r, h - 0.008),
                (r - 0.008, h),
                (0, h),
            ],
            top,
            sides=32,
            repeat=0.8,
        )
        b.lathe(
            [
                (0.25 * r + 0.12, 0),
                (0.25 * r + 0.1, 0.03),
                (0.06, 0.08),
                (0.045, h * 0.4),
                (0.07, h * 0.7),
                (0.05, h - 0.08),
                (0.2, h - 0.04),
            ],
            base,
            sides=16,
            repeat=0.5,
        )
        return b.mesh()
    b.box((-w / 2, h - 0.045, -d / 2), (w / 2, h, d / 2), top, bevel=0.008)
    if style == "legs":
        legs(b, size, 0.07, base, top=h - 0.045, turned=kit.rng.random() < 0.4)
        for z in (-d / 2 + 0.05, d / 2 - 0.07):
            b.box((-w / 2 + 0.09, h - 0.12, z), (w / 2 - 0.09, h - 0.045, z + 0.02), base)
    elif style == "trestle":
        for x in (-w / 2 + 0.14, w / 2 - 0.2):
            b.box((x, 0, -d / 2 + 0.06), (x + 0.06, 0.06, d / 2 - 0.06), base)
            b.box((x, 0.06, -0.06), (x + 0.06, h - 0.1, 0.06), base)
            b.box((x, h - 0.1, -d / 2 + 0.1), (x + 0.06, h - 0.045, d / 2 - 0.1), base)
        b.box((-w / 2 + 0.2, h * 0.3, -0.02), (w / 2 - 0.2, h * 0.3 + 0.09, 0.02), base)
    else:
        for x in (-w / 2 + 0.02, w / 2 - 0.07):
            b.box((x, 0, -d / 2 + 0.03), (x + 0.05, h - 0.045, d / 2 - 0.03), base)
        b.box((-w / 2 + 0.07, 0.12, -d / 2 + 0.06), (w / 2 - 0.07, 0.15, d / 2 - 0.06), top)
    return b.mesh()


@maker("desk")
def desk(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Desk with drawers on one side or both, legs or a panel on the other; the user sits at +z."""
    w, h, d = size
    top, body, knob = finish(kit), finish(kit), metal(kit)
    b.box((-w / 2, h - 0.035, -d / 2), (w / 2, h, d / 2), top, bevel=0.006)
    sides = {"left": (-1,), "right": (1,), "both": (-1, 1)}[kit.pick(["left", "right", "both"])]
    box = 0.4 if w > 1.3 else 0.34
    for side in (-1, 1):
        x = side * (w / 2 - 0.02)
        if side in sides:
            low, high = sorted((x, x - side * box))
            _drawers(b, (low, 0.06, -d / 2 + 0.03), (high, h - 0.035, d / 2 - 0.03), body, knob, 3)
        else:
            low, high = sorted((x, x - side * 0.05))
            b.box((low, 0, -d / 2 + 0.04), (high, h - 0.035, d / 2 - 0.04), body)
    b.box((-w / 2 + 0.06, h * 0.45, -d / 2 + 0.04), (w / 2 - 0.06, h - 0.035, -d / 2 + 0.06), body)
    for _ in range(int(kit.rng.integers(1, 4))):
        x, width = kit.uniform(-w / 2 + 0.1, w / 2 - 0.35), kit.uniform(0.16, 0.24)
        page = kit.material("plain", kit.pick(["#f3f0e6", "#c7543f", "#3f6f8f", "#d9b24a"]))
        thick = kit.uniform(0.012, 0.05)
        b.box(
            (0, h + 0.001, 0),
            (width, h + thick, 0.26),
            page,
            pose=placed(x, 0, kit.uniform(0.03, d / 2 - 0.28), kit.uniform(-12, 12)),
        )
    return b.mesh()


def _drawers(
    b: Builder,
    low: tuple[float, float, float],
    high: tuple[float, float, float],
    body: Material,
    knob: Material,
    rows: int,
    columns: int = 1,
) -> None:
    """Add a chest: carcass on a plinth, fronts and knobs on its +z side."""
    b.box((low[0], low[1], low[2]), (high[0], high[1], high[2] - 0.02), body)
    b.box((low[0] + 0.02, 0, low[2] + 0.02), (high[0] - 0.02, low[1], high[2] - 0.06), knob)
    height, width = (high[1] - low[1]) / rows, (high[0] - low[0]) / columns
    for r in range(rows):
        for c in range(columns):
            x, y = low[0] + c * width, low[1] + r * height
            b.box(
                (x + 0.008, y + 0.008, high[2] - 0.02),
                (x + width - 0.008, y + height - 0.008, high[2]),
                body,
                bevel=0.006,
            )
            b.box(
                (x + width / 2 - 0.05, y + height * 0.62, high[2]),
                (x + width / 2 + 0.05, y + height * 0.62 + 0.014, high[2] + 0.018),
                knob,
            )


@maker("cabinet")
def cabinet(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Chest of drawers, panelled cupboard or louvred sideboard."""
    w, h, d = size
    body, knob = finish(kit), metal(kit)
    style = kit.pick(["drawers", "panels", "louvres"])
    columns = max(1, round(w / 0.55))
    if style == "drawers":
        _drawers(
            b,
            (-w / 2, 0.08, -d / 2),
            (w / 2, h - 0.025, d / 2 - 0.03),
            body,
            knob,
            max(2, round(h / 0.28)),
            columns,
        )
    else:
        front = finish(kit) if kit.rng.random() < 0.5 else body
        b.box((-w / 2, 0.1, -d / 2), (w / 2, h - 0.025, d / 2 - 0.045), body)
        legs(b, size, 0.05, body, top=0.1, turned=style == "louvres")
        each = w / columns
        for c in range(columns):
            x = -w / 2 + c * each
            low, high = (x + 0.01, 0.12), (x + each - 0.01, h - 0.045)
            b.box((low[0], low[1], d / 2 - 0.045), (high[0], high[1], d / 2 - 0.03), front)
            if style == "panels":
                for half in range(2 if h > 0.9 else 1):
                    span = (high[1] - low[1]) / (2 if h > 0.9 else 1)
                    b.box(
                        (low[0] + 0.06, low[1] + 0.06 + half * span, d / 2 - 0.03),
                        (high[0] - 0.06, low[1] + (half + 1) * span - 0.06, d / 2 - 0.016),
                        front,
                        bevel=0.01,
                    )
            else:
                count = max(3, int((high[1] - low[1]) / 0.09))
                for i in range(count):
                    y = low[1] + 0.03 + i * (high[1] - low[1] - 0.05) / count
                    b.box(
                        (low[0] + 0.04, y, d / 2 - 0.03),
                        (high[0] - 0.04, y + 0.045, d / 2 - 0.016),
                        front,
                        bevel=0.008,
                    )
            side = high[0] - 0.035 if c % 2 == 0 else low[0] + 0.02
            b.box(
                (side, h * 0.5 - 0.05, d / 2 - 0.03),
                (side + 0.015, h * 0.5 + 0.06, d / 2 - 0.008),
                knob,
            )
    b.box((-w / 2, h - 0.025, -d / 2), (w / 2, h, d / 2 - 0.02), body, bevel=0.008)
    return b.mesh()


@maker("bookshelf")
def bookshelf(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Open shelves with books in blocks, gaps and a few ornaments."""
    w, h, d = size
    frame, t = finish(kit), 0.03
    back = frame if kit.rng.random() < 0.6 else kit.material("plain", kit.pick(PAINTS))
    for x in (-w / 2, w / 2 - t):
        b.box((x, 0, -d / 2), (x + t, h, d / 2), frame)
    b.box((-w / 2 + t, 0.05, -d / 2), (w / 2 - t, h, -d / 2 + 0.012), back, bevel=0)
    rows = max(2, round((h - 0.1) / 0.37))
    step = (h - 0.06 - t) / rows
    books = [kit.material("spines") for _ in range(2)]
    for r in range(rows + 1):
        y = 0.06 + r * step
        b.box(
            (-w / 2 + t, y - (0 if r else 0.06), -d / 2 + 0.012),
            (w / 2 - t, y + t, d / 2 - 0.005),
            frame,
        )
        if r == rows:
            break
        x = -w / 2 + t + 0.01
        while x < w / 2 - t - 0.12:
            width = min(kit.uniform(0.12, 0.34), w / 2 - t - 0.01 - x)
            kind = kit.rng.random()
            base = y + t + 0.001
            if kind < 0.78:
                tall, deep = kit.uniform(0.62, 0.9) * (step - t), kit.uniform(0.6, 0.85) * d
                _books(
                    kit,
                    b,
                    books[int(kit.rng.integers(2))],
                    x,
                    base,
                    width,
                    tall,
                    -d / 2 + 0.02,
                    deep,
                )
            elif kind < 0.9:
                pot = kit.material(
                    "ceramic",
                    kit.pick(CLOTHS),
                    kit.pick(PALE),
                    kit.pick(["bands", "waves", "scales"]),
                )
                r0 = min(width, d * 0.7) * 0.42
                top = min(0.7 * (step - t), r0 * 3)
                b.lathe(
                    [
                        (r0 * 0.5, 0),
                        (r0, top * 0.4),
                        (r0 * 0.8, top * 0.7),
                        (r0 * 0.35, top * 0.9),
                        (r0 * 0.5, top),
                    ],
                    pot,
                    sides=12,
                    pose=placed(x + width / 2, base, 0),
                )
            x += width + 0.004
    return b.mesh()


def _books(
    kit: Kit,
    b: Builder,
    material: Material,
    x: float,
    y: float,
    width: float,
    tall: float,
    z: float,
    deep: float,
) -> None:
    """Add a row of books as one block whose front shows a stretch of a row of spines."""
    row, start = int(kit.rng.integers(4)), kit.uniform(0, 0.6)
    stretch = width / 0.9
    corners = np.array(
        [
            [x, y, z + deep],
            [x + width, y, z + deep],
            [x + width, y + tall, z + deep],
            [x, y + tall, z + deep],
        ]
    )
    v0, v1 = (row + 0.99) / 4, (row + 0.02) / 4
    uv = [[start, v0], [start + stretch, v0], [start + stretch, v1], [start, v1]]
    b.add(corners, uv, [[0, 1, 2], [0, 2, 3]], material)
    paper = kit.material("plain", "#d9cfb8", seed=1)
    b.patch((x, y + tall, z + deep), (width, 0, 0), (0, 0, -deep), paper)
    for side, edge in ((x, (0, 0, deep)), (x + width, (0, 0, -deep))):
        at = z if side == x else z + deep
        cover = [[start if side == x else start + stretch, v] for v in (v0, v0, v1, v1)]
        pts = np.array(
            [
                [side, y, at],
                [side, y, at + edge[2]],
                [side, y + tall, at + edge[2]],
                [side, y + tall, at],
            ]
        )
        b.add(pts, cover, [[0, 1, 2], [0, 2, 3]], material)


@maker("piano")
def piano(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Upright piano with keys."""
    w, h, d = size
    body = kit.material("plain", "#1d1c1e") if kit.rng.random() < 0.4 else wood(kit)
    white, black = (
        kit.material("plain", "#efece2", seed=2),
        kit.material("plain", "#1a1a1c", seed=3),
    )
    b.box((-w / 2, 0.03, -d / 2), (w / 2, h - 0.03, -d / 2 + 0.3), body, bevel=0.01)
    b.box((-w / 2, h - 0.03, -d / 2), (w / 2, h, -d / 2 + 0.32), body, bevel=0.01)
    b.box((-w / 2, 0.6, -d / 2 + 0.3), (w / 2, 0.68, d / 2), body)
    for x in (-w / 2, w / 2 - 0.07):
        b.box((x, 0.68, -d / 2 + 0.3), (x + 0.07, 0.78, d / 2), body, bevel=0.02)
        b.box((x, 0, d / 2 - 0.1), (x + 0.07, 0.6, d / 2 - 0.03), body)
    b.box((-w / 2 + 0.07, 0.68, -d / 2 + 0.32), (w / 2 - 0.07, 0.705, d / 2 - 0.02), white)
    keys = 35
    each = (w - 0.16) / keys
    for i in range(keys):
        if i % 7 not in (2, 6):
            x = -w / 2 + 0.08 + (i + 0.7) * each
            b.box((x, 0.705, -d / 2 + 0.32), (x + each * 0.6, 0.72, d / 2 - 0.1), black, bevel=0)
    stand = kit.material("plain", "#f3f0e6", seed=4)
    b.box(
        (-0.2, 0, 0), (0.2, 0.28, 0.012), stand, pose=placed(0, h - 0.35, -d / 2 + 0.312, tilt=-6)
    )
    return b.mesh()


@maker("refrigerator")
def refrigerator(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Two-door refrigerator with notes on it."""
    w, h, d = size
    body = kit.material("enamel", kit.pick(["#e6e6e2", "#a9adb0", "#b5443a", "#7fa8a0", "#e0c878"]))
    grip = metal(kit)
    split = kit.uniform(0.32, 0.68) * h
    b.box((-w / 2, 0.03, -d / 2), (w / 2, h, d / 2 - 0.07), body, bevel=0.015)
    for low, high in ((0.05, split - 0.006), (split + 0.006, h - 0.005)):
        b.box(
            (-w / 2 + 0.002, low, d / 2 - 0.065),
            (w / 2 - 0.002, high, d / 2 - 0.025),
            body,
            bevel=0.012,
        )
        y = high - 0.3 if low < 0.1 else low + 0.06
        b.box((w / 2 - 0.07, y, d / 2 - 0.025), (w / 2 - 0.05, y + 0.24, d / 2), grip)
    for _ in range(4):
        note = kit.material("plain", kit.pick(["#f0e36a", "#e98f7a", "#8fc3e0", "#f3f0e6"]))
        x, y = kit.uniform(-w / 2 + 0.05, w / 2 - 0.25), kit.uniform(split + 0.1, h - 0.25)
        b.patch((x, y, d / 2 - 0.014), (0.09, 0.01, 0), (-0.01, 0.1, 0), note)
    return b.mesh()
