"""What stands on pavements: bollards, boxes, hydrants, signs, meters, shelters, columns."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.outdoor_things import BRIGHTS, draw_iron, draw_rock, thing
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.street_vehicles import STREET_MAKERS
from worldenv.worlds.reference.textures import Kit

FIGURES = ["cup", "loaf", "scissors", "key", "shoe", "fish", "leaf", "book", "glasses"]
"""What pictograms show."""
GROUNDS = ["#2f4f7a", "#7a2f35", "#2f5f45", "#23282d", "#c8a03a", "#e8e4da", "#8a4a2f", "#4a3a5a"]


def draw_pictogram(kit: Kit) -> tuple[str, str, str]:
    """Return the words of some pictogram: ground, mark, figure."""
    ground = kit.pick(GROUNDS)
    mark = "#23282d" if ground in ("#c8a03a", "#e8e4da") else kit.pick(["#f2efe6", "#e8c860"])
    return ground, mark, kit.pick(FIGURES)


@thing("bollard", makers=STREET_MAKERS)
def bollard(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Iron post with a ball, steel tube with bands, stone or concrete stump."""
    w, h, d = size
    r = min(w, d) / 2
    style = kit.pick(["iron", "tube", "stone", "ball"])
    if style == "tube":
        paint = kit.material("metal", kit.pick(["#c8423a", "#b8bcc0", "#24292c", "#e0b02f"]))
        band = kit.material("plain", kit.pick(["#f2efe6", "#f0d040"]))
        b.cylinder(0.55 * r, 0, 0.72 * h, paint, sides=14)
        b.cylinder(0.57 * r, 0.72 * h, 0.86 * h, band, sides=14)
        b.cylinder(0.55 * r, 0.86 * h, h, paint, sides=14)
    elif style == "stone":
        rock = draw_rock(kit)
        b.lathe(
            [(r, 0), (r * 0.96, 0.1 * h), (r * 0.7, 0.9 * h), (r * 0.5, 0.98 * h), (0, h)],
            rock,
            sides=8,
            repeat=0.6,
        )
    elif style == "ball":
        rock = kit.material("concrete", kit.pick(["#b0aca2", "#c9b79a", "#8f8d88"]))
        b.cylinder(0.7 * r, 0, 0.12 * h, rock, sides=14)
        b.ball((0, 0.5 * h, 0), (r, 0.5 * h, r), rock, sides=16, rings=12, repeat=0.5)
    else:
        iron = draw_iron(kit)
        gold = kit.material("metal", kit.pick(["#c9a545", "#e8e4da", "#b8442f"]))
        b.lathe(
            [
                (r, 0),
                (r, 0.06 * h),
                (0.7 * r, 0.12 * h),
                (0.62 * r, 0.7 * h),
                (0.85 * r, 0.72 * h),
                (0.85 * r, 0.77 * h),
                (0.45 * r, 0.8 * h),
            ],
            iron,
            sides=12,
        )
        b.lathe([(0.64 * r, 0.6 * h), (0.64 * r, 0.66 * h)], gold, sides=12)
        b.ball((0, 0.89 * h, 0), (0.6 * r, 0.11 * h, 0.6 * r), iron, sides=12, rings=8)
    return b.mesh()


@thing("letter box", makers=STREET_MAKERS)
def letter_box(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round pillar, box on a post, or a pair of bins with arched lids."""
    w, h, d = size
    tone = kit.pick(["#c42a2a", "#e8c02f", "#2458a8", "#3f7a4a"])
    paint = kit.material("plain", tone)
    dark = kit.material("plain", "#1c1e20")
    white = kit.material("plain", "#f0ece2")
    style = kit.pick(["pillar", "post", "arched"])
    if style == "pillar":
        r = 0.46 * min(w, d)
        b.cylinder(1.06 * r, 0, 0.1, dark, sides=20)
        b.lathe([(r, 0.1), (r, h - 0.2)], paint, sides=22)
        b.lathe(
            [(r, h - 0.2), (1.12 * r, h - 0.18), (1.12 * r, h - 0.1), (0.7 * r, h - 0.02), (0, h)],
            paint,
            sides=22,
        )
        b.box((-0.6 * r, h - 0.4, 0.6 * r), (0.6 * r, h - 0.36, 1.03 * r), dark, bevel=0)
        b.box((-0.55 * r, h - 0.78, 0.6 * r), (0.55 * r, h - 0.5, 0.98 * r), white, bevel=0.004)
        return b.mesh()
    half, back = w / 2, d / 2
    low = 0.55 if style == "post" else 0.14
    if style == "post":
        b.box((-0.05, 0, -0.05), (0.05, low, 0.05), kit.material("metal", "#70757a"))
        b.box((-0.15, 0, -0.12), (0.15, 0.02, 0.12), dark, bevel=0)
    else:
        for x in (-half + 0.06, half - 0.06):
            b.box((x - 0.03, 0, -back + 0.04), (x + 0.03, low, back - 0.04), dark)
    b.box((-half, low, -back), (half, h - 0.14, back), paint, bevel=0.02)
    turn = np.linspace(0, np.pi, 9)
    arc = np.stack([0 * turn, h - 0.14 + 0.14 * np.sin(turn), back * np.cos(turn)], 1)
    for x0, x1 in ((-half, half),):
        left, right = arc + [x0, 0, 0], arc + [x1, 0, 0]
        k = np.arange(8)
        faces = np.concatenate(
            [np.stack([k, k + 9, k + 10], 1), np.stack([k, k + 10, k + 1], 1)]
        )
        b.add(np.concatenate([left, right]), np.zeros((18, 2)), faces, paint)
        fan = np.array([[0, i, i + 1] for i in range(1, 8)])
        b.add(left, np.zeros((9, 2)), fan, paint)
        b.add(right, np.zeros((9, 2)), fan[:, ::-1], paint)
    b.box((-0.38 * w, h - 0.27, back - 0.02), (0.38 * w, h - 0.22, back + 0.012), dark, bevel=0)
    b.box((-0.34 * w, h - 0.6, back - 0.02), (0.34 * w, h - 0.4, back + 0.008), white, bevel=0)
    return b.mesh()


@thing("fire hydrant", makers=STREET_MAKERS)
def fire_hydrant(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Hydrant with two side outlets, a front outlet and a bonnet."""
    w, h, _ = size
    r = 0.32 * w
    paint = kit.material("plain", kit.pick(["#c42a2a", "#e0b02f", "#2f6fb0", "#d0702f"]))
    cap = kit.material("plain", kit.pick(["#e8e4da", "#c42a2a", "#3f8f5a", "#24292c"]))
    b.cylinder(1.5 * r, 0, 0.05, paint, sides=16)
    b.lathe([(r * 1.1, 0.05), (r, 0.12), (r, 0.62 * h), (1.2 * r, 0.64 * h)], paint, sides=16)
    b.lathe(
        [(1.2 * r, 0.64 * h), (1.2 * r, 0.68 * h), (r, 0.7 * h), (0.8 * r, 0.86 * h), (0, 0.92 * h)],
        cap if kit.rng.random() < 0.5 else paint,
        sides=16,
    )
    b.cylinder(0.3 * r, 0.9 * h, h, cap, sides=5)
    for k, wide in ((0, 0.55), (90, 0.42), (-90, 0.42)):
        at = placed(0, 0.5 * h, 0, k, 90)
        b.cylinder(wide * r, 0.6 * r, 1.28 * r, paint, sides=12, pose=at)
        b.cylinder(wide * 1.2 * r, 1.28 * r, 1.5 * r, cap, sides=6, pose=at)
    return b.mesh()


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
    uv = np.stack([0.5 + points[:, 0] / (2.08 * r * scale), 0.5 - points[:, 1] / (2.08 * r * scale)], 1)
    front = np.column_stack([points[:, 0], points[:, 1] + y, np.full(n, 0.05)])
    back = front - [0, 0, 0.014]
    b.add(front, uv, fan, face)
    b.add(back, uv, fan[:, ::-1], steel)
    k = np.arange(n)
    rim = np.concatenate([np.stack([k, k + n, (k + 1) % n + n], 1), np.stack([k, (k + 1) % n + n, (k + 1) % n], 1)])
    b.add(np.concatenate([front, back]), np.zeros((2 * n, 2)), rim, steel)
    for dy in (-0.3 * r, 0.3 * r):
        b.box((-0.045, y + dy - 0.02, -0.035), (0.045, y + dy + 0.02, 0.036), steel, bevel=0)
    if kit.rng.random() < 0.5:
        plate = kit.material("pictogram", "#f0efea", "#1e2022", kit.pick(["key", "fish", "leaf", "cup"]))
        b.box((-0.2, y - r - 0.42, 0.03), (0.2, y - r - 0.06, 0.046), steel, bevel=0)
        b.patch((-0.19, y - r - 0.41, 0.05), (0.38, 0, 0), (0, 0.34, 0), plate)
    return b.mesh()


@thing("traffic light", makers=STREET_MAKERS)
def traffic_light(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Signal head of three lamps on a pole, one of them lit, and a button box."""
    w, h, _ = size
    pole = kit.material("metal", kit.pick(["#4a4f54", "#8f9498", "#2f4a3c", "#c8b04a"]))
    head = kit.material("plain", kit.pick(["#23272a", "#2f4a3c", "#c8a83a"]))
    b.cylinder(0.055, 0, h, pole, sides=10)
    b.cylinder(0.1, 0, 0.25, pole, sides=10)
    low = h - 1.02
    b.cushion((-0.16, low, 0.05), (0.16, h, 0.25), head, radius=0.03)
    lit = int(kit.rng.integers(3))
    for k, (off, on) in enumerate((("#3f7a4f", "#4fe88a"), ("#8a6a2a", "#f8c03a"), ("#7a2a28", "#ff4a3a"))):
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
    assert w > 0
    return b.mesh()


@thing("parking meter", makers=STREET_MAKERS)
def parking_meter(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Coin meter on a post, one head or two, or a ticket machine."""
    w, h, d = size
    steel = kit.material("metal", kit.pick(["#8b8f94", "#4a5560", "#3f5a4a", "#5a4a6a"]))
    face = kit.material("plain", "#c8d4d8")
    dark = kit.material("plain", "#1c1e20")
    if kit.rng.random() < 0.4:
        paint = kit.material("plain", kit.pick(["#2458a8", "#3f6b5a", "#4a4f58", "#8a3a32"]))
        b.cushion((-w / 2, 0, -d / 2), (w / 2, h, d / 2), paint, radius=0.04)
        b.box((-0.36 * w, 0.72 * h, d / 2 - 0.01), (0.36 * w, 0.88 * h, d / 2 + 0.012), face, bevel=0)
        b.box((-0.3 * w, 0.56 * h, d / 2 - 0.01), (0.05 * w, 0.64 * h, d / 2 + 0.012), dark, bevel=0)
        b.box((-0.3 * w, 0.32 * h, d / 2 - 0.01), (0.3 * w, 0.4 * h, d / 2 + 0.02), dark, bevel=0)
        b.cylinder(0.03, 0, 0.02, kit.material("plain", "#3f8f5a"), sides=10, pose=placed(0.24 * w, 0.6 * h, d / 2, 0, 90))
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
        for z, order in ((0.055, 1), (-0.055, -1)):
            half = np.stack([0.08 * np.cos(turn), 0.11 * np.sin(turn), 0 * turn + z], 1)
            fan = np.array([[0, k, k + 1] for k in range(1, 8)])[:, ::order]
            b.add(half, np.zeros((9, 2)), fan, face, at)
        shell = [np.stack([0.082 * np.cos(turn), 0.112 * np.sin(turn), 0 * turn + z], 1) for z in (-0.056, 0.056)]
        j = np.arange(8)
        quads = np.concatenate([np.stack([j, j + 1, j + 10], 1), np.stack([j, j + 10, j + 9], 1)])
        b.add(np.concatenate(shell), np.zeros((18, 2)), quads[:, ::-1], steel, at)
        b.box((x - 0.012, h - 0.28, 0.055), (x + 0.012, h - 0.2, 0.068), dark, bevel=0)
    return b.mesh()


@thing("phone box", makers=STREET_MAKERS)
def phone_box(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Telephone box: red with small panes, or a grey or yellow modern one."""
    w, h, d = size
    x, z = w / 2, d / 2
    classic = kit.rng.random() < 0.6
    tone = kit.pick(["#b8282a", "#b8282a", "#2f5f45"]) if classic else kit.pick(["#e0b02f", "#6a7078", "#b83a78"])
    paint = kit.material("plain", tone)
    glass = kit.material("pane", tone, "grid" if classic else "sash", "room")
    b.box((-x, 0, -z), (x, 0.1, z), kit.material("concrete", "#6a6c6c"), bevel=0.01)
    t = 0.07
    for sx in (-1, 1):
        for sz in (-1, 1):
            b.box(
                (sx * x - (t if sx > 0 else 0), 0.1, sz * z - (t if sz > 0 else 0)),
                (sx * x + (t if sx < 0 else 0), h - 0.3, sz * z + (t if sz < 0 else 0)),
                paint,
                bevel=0.008,
            )
    for turn, wide, deep in ((0, x, z), (90, z, x), (180, x, z), (270, z, x)):
        pose = placed(turn=turn)
        b.box((-wide + t, 0.1, deep - 0.05), (wide - t, 0.42, deep - 0.02), paint, bevel=0, pose=pose)
        b.patch((-wide + t, 0.42, deep - 0.035), (2 * (wide - t), 0, 0), (0, h - 0.78, 0), glass, pose=pose)
        b.box((-wide + t, h - 0.37, deep - 0.05), (wide - t, h - 0.3, deep - 0.02), paint, bevel=0, pose=pose)
        white = kit.material("plain", "#f2efe6")
        b.box((-0.7 * wide, h - 0.27, deep - 0.02), (0.7 * wide, h - 0.17, deep + 0.006), white, bevel=0, pose=pose)
    b.box((-x, h - 0.3, -z), (x, h - 0.13, z), paint, bevel=0.01)
    if classic:
        b.lathe([(1.2 * x, h - 0.13), (1.0 * x, h - 0.05), (0.0, h)], paint, sides=18)
    else:
        b.box((-x - 0.03, h - 0.13, -z - 0.03), (x + 0.03, h, z + 0.03), paint, bevel=0.02)
    return b.mesh()


@thing("advertising column", makers=STREET_MAKERS)
def advertising_column(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round column of posters under a crown."""
    w, h, _ = size
    r = w / 2 - 0.08
    base = kit.material("plain", kit.pick(["#2f4a3c", "#6a6c6e", "#3d4a58", "#5a2f2c"]))
    low, high = 0.42, h - 0.5
    b.lathe([(r + 0.08, 0), (r + 0.08, 0.12), (r + 0.02, 0.18), (r + 0.02, low)], base, sides=24)
    count = 4 + int(kit.rng.integers(2))
    sheets = [
        kit.material("poster", kit.pick([*BRIGHTS, "#f0e6c8"]), kit.pick(["#2f4f7a", "#7a2f35", "#23282d", "#3f8f5a"]))
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


@thing("bus shelter", makers=STREET_MAKERS)
def bus_shelter(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Glass shelter with a seat, a roof and a lit poster at one end."""
    w, h, d = size
    x, z = w / 2, d / 2
    steel = kit.material("metal", kit.pick(["#3a3f44", "#8b8f94", "#2f4f7a", "#7a2f35", "#3f5a4a"]))
    for px in (-x + 0.05, 0.0, x - 0.05):
        b.box((px - 0.035, 0, -z + 0.04), (px + 0.035, h - 0.12, -z + 0.11), steel)
    panes = [kit.material("pane", "#4a4f54", "sash", "none") for _ in range(2)]
    for k, px in enumerate((-x + 0.09, 0.04)):
        for back in (0, 1):
            corner = (px, 0.25, -z + 0.08) if not back else (px + x - 0.14, 0.25, -z + 0.07)
            edge = (x - 0.14, 0, 0) if not back else (-(x - 0.14), 0, 0)
            b.patch(corner, edge, (0, h - 0.5, 0), panes[k])
    seat = kit.material("plain", kit.pick(BRIGHTS))
    b.box((-x + 0.25, 0.43, -z + 0.16), (x - 0.6, 0.47, -z + 0.5), seat, bevel=0.01)
    for px in (-x + 0.5, x - 0.9):
        b.box((px - 0.03, 0, -z + 0.28), (px + 0.03, 0.43, -z + 0.36), steel)
    poster = kit.material("poster", kit.pick(BRIGHTS), kit.pick(["#2f4f7a", "#23282d", "#7a2f35"]))
    b.box((x - 0.16, 0.12, -z + 0.1), (x - 0.04, h - 0.2, z - 0.06), steel, bevel=0.01)
    for turn in (90, -90):
        s = 1 if turn > 0 else -1
        px = x - 0.036 if s > 0 else x - 0.164
        b.patch(
            (px, 0.32, s * (z - 0.14) - 0.0 if s > 0 else -(z - 0.18)),
            (0, 0, -s * (2 * z - 0.32)),
            (0, h - 0.7, 0),
            poster,
        )
    b.box((-x, h - 0.12, -z), (x, h, z), steel, bevel=0.02)
    return b.mesh()


@thing("wheelie bin", makers=STREET_MAKERS)
def wheelie_bin(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Dustbin on two wheels with a lid of its own colour."""
    w, h, d = size
    body = kit.material("plain", kit.pick(["#3a4044", "#2f4f3f", "#6a4a2f", "#2f4a7a", "#4a4a4c"]))
    lid = kit.material("plain", kit.pick(["#e0b02f", "#2f6fb0", "#3f8f5a", "#6a4a2f", "#3a4044", "#c8423a"]))
    top = h - 0.1
    corner = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    low = corner * [0.4 * w, 0.34 * d]
    high = corner * [0.48 * w, 0.47 * d]
    points = np.concatenate(
        [np.column_stack([low[:, 0], np.full(4, 0.08), low[:, 1]]), np.column_stack([high[:, 0], np.full(4, top), high[:, 1]])]
    )
    for k in range(4):
        m = (k + 1) % 4
        b.add(points[[k, m, m + 4, k + 4]], [(0, 1), (1, 1), (1, 0), (0, 0)], [[0, 2, 1], [0, 3, 2]], body)
    b.box((-0.5 * w, top - 0.05, -0.49 * d), (0.5 * w, top, 0.5 * d), body, bevel=0.01)
    b.cushion((-0.51 * w, top, -0.5 * d), (0.51 * w, h, 0.52 * d), lid, radius=0.03, puff=0.02)
    b.tube([(-0.4 * w, top - 0.06, -0.54 * d), (0.4 * w, top - 0.06, -0.54 * d)], 0.018, body, sides=6)
    dark = kit.material("plain", "#1c1e20")
    for s in (-1, 1):
        lay = np.eye(4)
        lay[:3, :3] = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
        lay[:3, 3] = s * 0.46 * w, 0.1, -0.36 * d
        b.cylinder(0.1, -0.03, 0.03, dark, sides=14, pose=lay)
    return b.mesh()


