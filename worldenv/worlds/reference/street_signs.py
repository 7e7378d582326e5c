"""What tells people something in streets: road signs, signals, meters, columns of posters."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference import sign_textures
from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.outdoor_things import BRIGHTS, STREET_MAKERS, thing
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit

assert sign_textures  # Importing it registers its painters.

FIGURES = ["cup", "loaf", "scissors", "key", "shoe", "fish", "leaf", "book", "glasses"]
"""What pictograms show."""
GROUNDS = ["#2f4f7a", "#7a2f35", "#2f5f45", "#23282d", "#c8a03a", "#e8e4da", "#8a4a2f", "#4a3a5a"]


def draw_pictogram(kit: Kit) -> tuple[str, str, str]:
    """Return the words of some pictogram: ground, mark, figure."""
    ground = kit.pick(GROUNDS)
    mark = "#23282d" if ground in ("#c8a03a", "#e8e4da") else kit.pick(["#f2efe6", "#e8c860"])
    return ground, mark, kit.pick(FIGURES)


@thing("traffic sign", makers=STREET_MAKERS)
def traffic_sign(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Road sign on a pole: round, square or triangular, some with a plate below."""
    w, h, _ = size
    steel = kit.material("metal", "#9a9fa4")
    style = kit.pick(["noentry", "parking", "warning", "bike", "limit", "arrow"])
    face = kit.material("trafficsign", style, seed=0)
    b.cylinder(0.03, 0, h - 0.02, steel, sides=10)
    b.cylinder(0.09, 0, 0.03, steel, sides=10)
    r = 0.48 * w
    y = h - r - 0.02
    if style == "parking":
        points = np.array([(-r, -r), (r, -r), (r, r), (-r, r)]) * 0.92
    elif style == "warning":
        points = np.array([(-r, -0.8 * r), (r, -0.8 * r), (0, 0.95 * r)])
    else:
        a = np.linspace(0, 2 * np.pi, 29)[:-1]
        points = np.stack([r * np.cos(a), r * np.sin(a)], 1)
    n = len(points)
    fan = np.array([[0, k, k + 1] for k in range(1, n - 1)])
    scale = 0.92 if style == "parking" else 1.0
    uv = np.stack(
        [0.5 + points[:, 0] / (2.08 * r * scale), 0.5 - points[:, 1] / (2.08 * r * scale)], 1
    )
    front = np.column_stack([points[:, 0], points[:, 1] + y, np.full(n, 0.05)])
    back = front - [0, 0, 0.014]
    b.add(front, uv, fan, face)
    b.add(back, uv, fan[:, ::-1], steel)
    k = np.arange(n)
    rim = np.concatenate(
        [np.stack([k, k + n, (k + 1) % n + n], 1), np.stack([k, (k + 1) % n + n, (k + 1) % n], 1)]
    )
    b.add(np.concatenate([front, back]), np.zeros((2 * n, 2)), rim, steel)
    for dy in (-0.3 * r, 0.3 * r):
        b.box((-0.045, y + dy - 0.02, -0.035), (0.045, y + dy + 0.02, 0.036), steel, bevel=0)
    if kit.rng.random() < 0.5:
        plate = kit.material(
            "pictogram", "#f0efea", "#1e2022", kit.pick(["key", "fish", "leaf", "cup"])
        )
        b.box((-0.2, y - r - 0.42, 0.03), (0.2, y - r - 0.06, 0.046), steel, bevel=0)
        b.patch((-0.19, y - r - 0.41, 0.05), (0.38, 0, 0), (0, 0.34, 0), plate)
    return b.mesh()


@thing("traffic light", makers=STREET_MAKERS)
def traffic_light(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Signal head of three lamps on a pole, one of them lit, and a button box."""
    _, h, _ = size
    pole = kit.material("enamel", kit.pick(["#4a4f54", "#8f9498", "#2f4a3c", "#c8b04a"]))
    head = kit.material("plain", kit.pick(["#23272a", "#2f4a3c", "#c8a83a"]))
    b.cylinder(0.055, 0, h, pole, sides=10)
    b.cylinder(0.1, 0, 0.25, pole, sides=10)
    low = h - 1.02
    b.cushion((-0.16, low, 0.05), (0.16, h, 0.25), head, radius=0.03)
    lit = int(kit.rng.integers(3))
    for k, (off, on) in enumerate(
        (("#3f7a4f", "#4fe88a"), ("#8a6a2a", "#f8c03a"), ("#7a2a28", "#ff4a3a"))
    ):
        y = low + 0.19 + 0.32 * k
        glow = kit.material("plain", on, emission=0.9) if k == lit else kit.material("plain", off)
        out = placed(0, y, 0.24, 0, 90)
        b.lathe([(0.112, 0.0), (0.07, 0.035), (0.0, 0.045)], glow, sides=16, pose=out)
        hood = np.linspace(0.1 * np.pi, 0.9 * np.pi, 8)
        rim = [
            np.stack([0.125 * np.cos(hood), y + 0.125 * np.sin(hood), 0 * hood + z], 1)
            for z in (0.245, 0.39)
        ]
        j = np.arange(7)
        quads = np.concatenate([np.stack([j, j + 1, j + 9], 1), np.stack([j, j + 9, j + 8], 1)])
        b.add(np.concatenate(rim), np.zeros((16, 2)), quads, head)
        b.add(np.concatenate(rim) - [0, 0.006, 0], np.zeros((16, 2)), quads[:, ::-1], head)
    yellow = kit.material("plain", kit.pick(["#e0b02f", "#2f6fb0", "#c8423a"]))
    b.box((-0.07, 1.0, 0.04), (0.07, 1.24, 0.15), yellow, bevel=0.012)
    return b.mesh()


@thing("parking meter", makers=STREET_MAKERS)
def parking_meter(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Coin meter on a post, one head or two, or a ticket machine."""
    w, h, d = size
    steel = kit.material("enamel", kit.pick(["#8b8f94", "#4a5560", "#3f5a4a", "#5a4a6a"]))
    face = kit.material("plain", "#c8d4d8")
    dark = kit.material("plain", "#1c1e20")
    if kit.rng.random() < 0.4:
        paint = kit.material("plain", kit.pick(["#2458a8", "#3f6b5a", "#4a4f58", "#8a3a32"]))
        b.cushion((-w / 2, 0, -d / 2), (w / 2, h, d / 2), paint, radius=0.04)
        b.box(
            (-0.36 * w, 0.72 * h, d / 2 - 0.01), (0.36 * w, 0.88 * h, d / 2 + 0.012), face, bevel=0
        )
        b.box(
            (-0.3 * w, 0.56 * h, d / 2 - 0.01), (0.05 * w, 0.64 * h, d / 2 + 0.012), dark, bevel=0
        )
        b.box((-0.3 * w, 0.32 * h, d / 2 - 0.01), (0.3 * w, 0.4 * h, d / 2 + 0.02), dark, bevel=0)
        b.cylinder(
            0.03,
            0,
            0.02,
            kit.material("plain", "#3f8f5a"),
            sides=10,
            pose=placed(0.24 * w, 0.6 * h, d / 2, 0, 90),
        )
        return b.mesh()
    b.cylinder(0.03, 0, h - 0.36, steel, sides=10)
    b.cylinder(0.08, 0, 0.03, steel, sides=10)
    heads = (-0.1, 0.1) if kit.rng.random() < 0.5 else (0.0,)
    if len(heads) == 2:
        b.box((-0.16, h - 0.4, -0.03), (0.16, h - 0.35, 0.03), steel)
    for x in heads:
        b.cushion((x - 0.085, h - 0.36, -0.06), (x + 0.085, h - 0.12, 0.06), steel, radius=0.03)
        at = placed(x, h - 0.12, 0)
        turn = np.linspace(0, np.pi, 9)
        # Windows and shell share their edges: the dome is closed.
        for z, order in ((0.056, 1), (-0.056, -1)):
            half = np.stack([0.082 * np.cos(turn), 0.112 * np.sin(turn), 0 * turn + z], 1)
            fan = np.array([[0, k, k + 1] for k in range(1, 8)])[:, ::order]
            b.add(half, np.zeros((9, 2)), fan, face, at)
        shell = [
            np.stack([0.082 * np.cos(turn), 0.112 * np.sin(turn), 0 * turn + z], 1)
            for z in (-0.056, 0.056)
        ]
        j = np.arange(8)
        quads = np.concatenate([np.stack([j, j + 1, j + 10], 1), np.stack([j, j + 10, j + 9], 1)])
        b.add(np.concatenate(shell), np.zeros((18, 2)), quads, steel, at)
        b.box((x - 0.012, h - 0.28, 0.055), (x + 0.012, h - 0.2, 0.068), dark, bevel=0)
    return b.mesh()


@thing("advertising column", smooth=True, makers=STREET_MAKERS)
def advertising_column(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round column of posters under a crown."""
    w, h, _ = size
    r = w / 2 - 0.08
    base = kit.material("plain", kit.pick(["#2f4a3c", "#6a6c6e", "#3d4a58", "#5a2f2c"]))
    low, high = 0.42, h - 0.5
    b.lathe([(r + 0.08, 0), (r + 0.08, 0.12), (r + 0.02, 0.18), (r + 0.02, low)], base, sides=24)
    count = 4 + int(kit.rng.integers(2))
    sheets = [
        kit.material(
            "poster",
            kit.pick([*BRIGHTS, "#f0e6c8"]),
            kit.pick(["#2f4f7a", "#7a2f35", "#23282d", "#3f8f5a"]),
        )
        for _ in range(count)
    ]
    for k in range(count):
        a = np.linspace(2 * np.pi * k / count, 2 * np.pi * (k + 1) / count, 8)
        points = np.concatenate(
            [np.stack([r * np.sin(a), 0 * a + y, r * np.cos(a)], 1) for y in (low, high)]
        )
        u = np.linspace(0, 1, 8)
        uv = np.concatenate([np.stack([u, 0 * u + 1], 1), np.stack([u, 0 * u], 1)])
        j = np.arange(7)
        quads = np.concatenate([np.stack([j, j + 1, j + 9], 1), np.stack([j, j + 9, j + 8], 1)])
        b.add(points, uv, quads, sheets[k])
    b.lathe(
        [
            (r, high),
            (r + 0.08, high + 0.04),
            (r + 0.08, high + 0.14),
            (r * 0.7, high + 0.24),
            (r * 0.3, high + 0.4),
            (0.04, h),
        ],
        base,
        sides=24,
    )
    return b.mesh()
