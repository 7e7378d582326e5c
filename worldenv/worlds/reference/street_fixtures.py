"""What stands on pavements: bollards, letter and phone boxes, hydrants, shelters, dustbins."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference import sign_textures, street_textures
from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.outdoor_things import (
    BRIGHTS,
    STREET_MAKERS,
    draw_iron,
    draw_rock,
    thing,
)
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, lying, placed
from worldenv.worlds.reference.textures import Kit

assert sign_textures and street_textures  # Importing them registers their painters.


@thing("bollard", makers=STREET_MAKERS)
def bollard(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Iron post with a ball, steel tube with bands, stone or concrete stump."""
    w, h, d = size
    r = min(w, d) / 2
    style = kit.pick(["iron", "tube", "stone", "ball"])
    if style == "tube":
        paint = kit.material("enamel", kit.pick(["#c8423a", "#b8bcc0", "#24292c", "#e0b02f"]))
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
        r *= 1.25
        b.lathe([(0.8 * r, 0), (0.7 * r, 0.3 * h), (0.5 * r, 0.36 * h)], rock, sides=14, repeat=0.6)
        b.ball((0, 0.36 * h + 0.9 * r, 0), (r, r, r), rock, sides=16, rings=12, repeat=0.5)
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


@thing("letter box", smooth=True, makers=STREET_MAKERS)
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
        b.box((-0.45 * r, h - 0.4, 0.6 * r), (0.45 * r, h - 0.36, 1.04 * r), dark, bevel=0)
        b.box((-0.36 * r, h - 0.78, 0.6 * r), (0.36 * r, h - 0.5, 1.02 * r), white, bevel=0.004)
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
    left, right = arc + np.array([-half, 0, 0]), arc + np.array([half, 0, 0])
    k = np.arange(8)
    faces = np.concatenate([np.stack([k, k + 9, k + 10], 1), np.stack([k, k + 10, k + 1], 1)])
    b.add(np.concatenate([left, right]), np.zeros((18, 2)), faces, paint)
    fan = np.array([[0, i, i + 1] for i in range(1, 8)])
    b.add(left, np.zeros((9, 2)), fan, paint)
    b.add(right, np.zeros((9, 2)), fan[:, ::-1], paint)
    b.box((-0.38 * w, h - 0.27, back - 0.02), (0.38 * w, h - 0.22, back + 0.012), dark, bevel=0)
    b.box((-0.34 * w, h - 0.6, back - 0.02), (0.34 * w, h - 0.4, back + 0.008), white, bevel=0)
    return b.mesh()


@thing("fire hydrant", smooth=True, makers=STREET_MAKERS)
def fire_hydrant(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Hydrant with two side outlets, a front outlet and a bonnet."""
    w, h, _ = size
    r = 0.32 * w
    paint = kit.material("plain", kit.pick(["#c42a2a", "#e0b02f", "#2f6fb0", "#d0702f"]))
    cap = kit.material("plain", kit.pick(["#e8e4da", "#c42a2a", "#3f8f5a", "#24292c"]))
    b.cylinder(1.5 * r, 0, 0.05, paint, sides=16)
    b.lathe([(r * 1.1, 0.05), (r, 0.12), (r, 0.62 * h), (1.2 * r, 0.64 * h)], paint, sides=16)
    b.lathe(
        [
            (1.2 * r, 0.64 * h),
            (1.2 * r, 0.68 * h),
            (r, 0.7 * h),
            (0.8 * r, 0.86 * h),
            (0, 0.92 * h),
        ],
        cap if kit.rng.random() < 0.5 else paint,
        sides=16,
    )
    b.cylinder(0.3 * r, 0.9 * h, h, cap, sides=5)
    for k, wide in ((0, 0.55), (90, 0.42), (-90, 0.42)):
        at = placed(0, 0.5 * h, 0, k, 90)
        b.cylinder(wide * r, 0.6 * r, 1.28 * r, paint, sides=12, pose=at)
        b.cylinder(wide * 1.2 * r, 1.28 * r, 1.5 * r, cap, sides=6, pose=at)
    return b.mesh()


@thing("phone box", makers=STREET_MAKERS)
def phone_box(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Telephone box: red with small panes, or a grey or yellow modern one."""
    w, h, d = size
    x, z = w / 2, d / 2
    classic = kit.rng.random() < 0.6
    tone = (
        kit.pick(["#b8282a", "#b8282a", "#2f5f45"])
        if classic
        else kit.pick(["#e0b02f", "#6a7078", "#b83a78"])
    )
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
        b.box(
            (-wide + t, 0.1, deep - 0.05), (wide - t, 0.42, deep - 0.02), paint, bevel=0, pose=pose
        )
        b.patch(
            (-wide + t, 0.42, deep - 0.035),
            (2 * (wide - t), 0, 0),
            (0, h - 0.78, 0),
            glass,
            pose=pose,
        )
        b.box(
            (-wide + t, h - 0.37, deep - 0.05),
            (wide - t, h - 0.3, deep - 0.02),
            paint,
            bevel=0,
            pose=pose,
        )
        white = kit.material("plain", "#f2efe6")
        b.box(
            (-0.7 * wide, h - 0.27, deep - 0.02),
            (0.7 * wide, h - 0.17, deep + 0.006),
            white,
            bevel=0,
            pose=pose,
        )
    b.box((-x, h - 0.3, -z), (x, h - 0.13, z), paint, bevel=0.01)
    if classic:
        b.lathe([(1.2 * x, h - 0.13), (1.0 * x, h - 0.05), (0.0, h)], paint, sides=18)
    else:
        b.box((-x - 0.03, h - 0.13, -z - 0.03), (x + 0.03, h, z + 0.03), paint, bevel=0.02)
    return b.mesh()


@thing("bus shelter", makers=STREET_MAKERS)
def bus_shelter(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Glass shelter with a seat, a roof and a lit poster at one end."""
    w, h, d = size
    x, z = w / 2, d / 2
    steel = kit.material(
        "enamel", kit.pick(["#3a3f44", "#8b8f94", "#2f4f7a", "#7a2f35", "#3f5a4a"])
    )
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
    lid = kit.material(
        "plain", kit.pick(["#e0b02f", "#2f6fb0", "#3f8f5a", "#6a4a2f", "#3a4044", "#c8423a"])
    )
    top = h - 0.1
    corner = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    low = corner * [0.4 * w, 0.34 * d]
    high = corner * [0.48 * w, 0.47 * d]
    points = np.concatenate(
        [
            np.column_stack([low[:, 0], np.full(4, 0.08), low[:, 1]]),
            np.column_stack([high[:, 0], np.full(4, top), high[:, 1]]),
        ]
    )
    for k in range(4):
        m = (k + 1) % 4
        b.add(
            points[[k, m, m + 4, k + 4]],
            [(0, 1), (1, 1), (1, 0), (0, 0)],
            [[0, 2, 1], [0, 3, 2]],
            body,
        )
    b.box((-0.5 * w, top - 0.05, -0.49 * d), (0.5 * w, top, 0.5 * d), body, bevel=0.01)
    b.cushion((-0.51 * w, top, -0.5 * d), (0.51 * w, h, 0.52 * d), lid, radius=0.03, puff=0.02)
    b.tube(
        [(-0.4 * w, top - 0.06, -0.54 * d), (0.4 * w, top - 0.06, -0.54 * d)], 0.018, body, sides=6
    )
    dark = kit.material("plain", "#1c1e20")
    for s in (-1, 1):
        wheel = lying(s * 0.46 * w, 0.1, -0.36 * d)
        b.cylinder(0.1, -0.03, 0.03, dark, sides=14, pose=wheel)
    return b.mesh()
