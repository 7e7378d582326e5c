"""What people sit or lie on: chairs, stools, armchairs, sofas, beds.

Makers as in ``furniture``.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import (
    Size,
    cloth,
    finish,
    legs,
    maker,
    metal,
)
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit


@maker("chair")
def chair(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Slatted, upholstered, metal or spindle chair."""
    w, h, d = size
    seat = 0.46
    style = kit.pick(["slats", "soft", "metal", "spindles"])
    frame = metal(kit) if style == "metal" else finish(kit)
    t = 0.028 if style == "metal" else 0.045
    x, z = w / 2 - t / 2, d / 2 - t / 2
    for side in (-x, x):
        b.box((side - t / 2, 0, z - t / 2), (side + t / 2, seat - 0.02, z + t / 2), frame)
        b.box((side - t / 2, 0, -z - t / 2), (side + t / 2, h, -z + t / 2), frame)
        b.box((side - t / 3, 0.2, -z + t / 2), (side + t / 3, 0.225, z - t / 2), frame)
    b.box((-w / 2, seat - 0.03, -d / 2 + t), (w / 2, seat, d / 2), frame, bevel=0.008)
    if style in ("soft", "metal"):
        skin = cloth(kit)
        b.cushion(
            (-w / 2 + 0.01, seat, -d / 2 + t),
            (w / 2 - 0.01, seat + 0.05, d / 2),
            skin,
            radius=0.025,
        )
        b.cushion(
            (-w / 2 + t, seat + 0.14, -d / 2 + 0.005),
            (w / 2 - t, h, -d / 2 + t + 0.03),
            skin,
            radius=0.025,
        )
    elif style == "slats":
        for i in range(3):
            y = seat + 0.14 + i * (h - seat - 0.2) / 2.4
            b.box((-x, y, -z - 0.01), (x, y + 0.06, -z + 0.01), frame)
    else:
        b.box((-x, h - 0.07, -z - 0.014), (x, h - 0.01, -z + 0.014), frame)
        for i in range(5):
            at = -x + (i + 1) * 2 * x / 6
            b.cylinder(0.009, seat, h - 0.06, frame, sides=6, pose=placed(at, 0, -z))
    return b.mesh()


@maker("stool")
def stool(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round or square stool."""
    w, h, d = size
    frame, r = finish(kit), min(w, d) / 2
    if kit.rng.random() < 0.5:
        b.cylinder(r, h - 0.05, h, cloth(kit), sides=18)
        for i in range(3):
            a = 2.094 * i
            foot, head = (r * 0.9 * np.sin(a), 0, r * 0.9 * np.cos(a)), r * 0.5
            b.tube([foot, (head * np.sin(a), h - 0.05, head * np.cos(a))], 0.018, frame, sides=7)
    else:
        b.cushion((-w / 2, h - 0.09, -d / 2), (w / 2, h, d / 2), cloth(kit), radius=0.04)
        legs(b, size, 0.04, frame, top=h - 0.09)
    return b.mesh()


@maker("armchair")
def armchair(kit: Kit, b: Builder, size: Size) -> Mesh:
    """A sofa for one."""
    return _seat(kit, b, size, 1)


@maker("sofa")
def sofa(kit: Kit, b: Builder, size: Size) -> Mesh:
    """A sofa for two or three."""
    return _seat(kit, b, size, 3 if size[0] > 1.85 else 2)


def _seat(kit: Kit, b: Builder, size: Size, places: int) -> Mesh:
    w, h, d = size
    style = kit.pick(["block", "rolled", "frame", "low"])
    skin, second, frame = cloth(kit), cloth(kit), finish(kit)
    arm = {"block": 0.2, "rolled": 0.2, "frame": 0.07, "low": 0.13}[style]
    arm_top = {"block": 0.58, "rolled": 0.62, "frame": 0.6, "low": 0.46}[style]
    foot, seat, back = 0.1, 0.44, 0.24
    legs(b, size, 0.06, frame, top=foot + 0.01, turned=style == "rolled", inset=0.05)
    inner = w / 2 - arm
    if style == "frame":
        for x in (-w / 2, w / 2 - arm):
            b.box((x, arm_top - 0.05, -d / 2), (x + arm, arm_top, d / 2), frame, bevel=0.01)
            b.box((x, 0, d / 2 - 0.07), (x + arm, arm_top - 0.05, d / 2), frame)
            b.box((x, 0, -d / 2), (x + arm, arm_top - 0.05, -d / 2 + 0.07), frame)
        b.box((-inner, 0.22, -d / 2 + 0.02), (inner, 0.29, d / 2 - 0.02), frame)
        b.box((-inner, 0.3, -d / 2), (inner, h - 0.08, -d / 2 + 0.04), frame)
    else:
        b.box((-inner, foot, -d / 2 + 0.02), (inner, 0.29, d / 2 - 0.03), skin, repeat=0.4)
        for x in (-w / 2, inner):
            b.cushion(
                (x, foot, -d / 2),
                (x + arm, arm_top, d / 2),
                skin,
                radius=0.095 if style == "rolled" else 0.04,
                steps=2 if style == "rolled" else 1,
            )
        b.cushion(
            (-inner - 0.02, foot, -d / 2),
            (inner + 0.02, h - 0.06, -d / 2 + back - 0.06),
            skin,
            radius=0.07,
        )
    each = 2 * inner / places
    for i in range(places):
        x = -inner + i * each
        b.cushion(
            (x + 0.005, 0.29, -d / 2 + 0.12),
            (x + each - 0.005, seat, d / 2),
            skin,
            radius=0.045,
            puff=0.012,
        )
        tilt = placed(x + each / 2, seat, -d / 2 + 0.15, tilt=-9)
        b.cushion(
            (-each / 2 + 0.01, -0.02, -0.02),
            (each / 2 - 0.01, h - seat - 0.02, 0.14),
            skin,
            radius=0.06,
            puff=0.02,
            pose=tilt,
        )
    for x in ((-0.6 * inner,), (-0.7 * inner, 0.7 * inner))[places > 1][: int(kit.rng.integers(3))]:
        lean = placed(x, seat + 0.01, -d / 2 + 0.36, tilt=-22, turn=kit.uniform(-14, 14))
        b.cushion(
            (-0.2, 0.0, -0.05),
            (0.2, 0.36, 0.06),
            second,
            radius=0.05,
            puff=0.03,
            pose=lean,
            repeat=0.3,
        )
    return b.mesh()


@maker("bed")
def bed(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Bed with headboard at -z, blanket and pillows."""
    w, h, d = size
    frame, sheet = finish(kit), kit.material("fabric", "#e9e4d8", "#d6dde0", "plain")
    cover = cloth(kit, plain=0.2)
    b.box((-w / 2, 0.1, -d / 2 + 0.06), (w / 2, 0.3, d / 2), frame, bevel=0.01)
    legs(b, size, 0.07, frame, top=0.1)
    if kit.rng.random() < 0.5:
        b.box((-w / 2, 0, -d / 2), (w / 2, h, -d / 2 + 0.06), frame, bevel=0.012)
    else:
        b.cushion(
            (-w / 2, 0.1, -d / 2), (w / 2, h, -d / 2 + 0.12), cloth(kit), radius=0.05, steps=2
        )
    b.cushion(
        (-w / 2 + 0.03, 0.3, -d / 2 + 0.13),
        (w / 2 - 0.03, 0.5, d / 2 - 0.03),
        sheet,
        radius=0.06,
        steps=2,
    )
    b.cushion(
        (-w / 2 + 0.005, 0.24, -d * 0.12),
        (w / 2 - 0.005, 0.535, d / 2 - 0.005),
        cover,
        radius=0.07,
        steps=2,
        repeat=0.5,
    )
    count = 2 if w > 1.2 else 1
    for i in range(count):
        x = (i - (count - 1) / 2) * w / 2
        b.cushion(
            (x - 0.3, 0.48, -d / 2 + 0.16),
            (x + 0.3, 0.64, -d / 2 + 0.56),
            sheet,
            radius=0.07,
            puff=0.02,
            steps=2,
        )
    return b.mesh()
