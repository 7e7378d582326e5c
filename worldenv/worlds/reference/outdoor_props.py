"""What people sit at and use in parks: benches, lamps, bins, tables, parasols."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import PALE, Size
from worldenv.worlds.reference.outdoor_things import (
    BRIGHTS,
    IRONS,
    STONES,
    draw_iron,
    draw_timber,
    thing,
)
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit


@thing("bench")
def bench(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Slatted bench on iron or concrete feet, with or without a back, or a stone block."""
    w, h, d = size
    style = kit.pick(["park", "park", "modern", "stone", "rustic"])
    seat = 0.45
    if style == "stone":
        slab = kit.material("stone", kit.pick(STONES), kit.pick(["grain", "lichen", "marble"]))
        for x in (-0.36 * w, 0.36 * w):
            b.box((x - 0.09, 0, -0.36 * d), (x + 0.09, seat - 0.1, 0.36 * d), slab, bevel=0.015)
        b.box((-w / 2, seat - 0.1, -d / 2 + 0.04), (w / 2, seat, d / 2 - 0.04), slab, bevel=0.02)
        return b.mesh()
    timber, iron = draw_timber(kit), draw_iron(kit)
    back = style != "modern" or kit.rng.random() < 0.4
    if style == "rustic":
        for z in (-0.13, 0.1):
            b.box((-w / 2, seat - 0.07, z - 0.1), (w / 2, seat, z + 0.1), timber, bevel=0.02)
        for x in (-0.38 * w, 0.38 * w):
            b.cylinder(
                0.13,
                0,
                seat - 0.07,
                kit.material("bark", "#6e5a45", "ridged"),
                sides=9,
                pose=placed(x, 0, 0),
            )
        b.box(
            (-w / 2, seat + 0.16, -d / 2 + 0.02),
            (w / 2, h - 0.02, -d / 2 + 0.08),
            timber,
            bevel=0.015,
        )
        for x in (-0.38 * w, 0.38 * w):
            b.box((x - 0.04, 0.1, -d / 2 + 0.0), (x + 0.04, h - 0.05, -d / 2 + 0.05), timber)
        return b.mesh()
    slats = 5 if style == "park" else 7
    for k in range(slats):
        z = -0.2 * d + (0.66 * d) * k / (slats - 1)
        wide = 0.62 * d / slats * 0.78
        b.box((-w / 2, seat - 0.035, z - wide / 2), (w / 2, seat, z + wide / 2), timber)
    for x in (-0.42 * w, 0.42 * w) if w < 1.7 else (-0.43 * w, 0.0, 0.43 * w):
        if style == "modern":
            b.box(
                (x - 0.05, 0, -0.24 * d),
                (x + 0.05, seat - 0.035, 0.42 * d),
                kit.material("concrete", "#a9a49a"),
            )
            continue
        b.box((x - 0.025, seat - 0.065, -0.26 * d), (x + 0.025, seat - 0.035, 0.47 * d), iron)
        b.tube(
            [(x, 0, 0.46 * d), (x, 0.2, 0.38 * d), (x, seat - 0.05, 0.42 * d)], 0.022, iron, sides=6
        )
        b.tube(
            [(x, 0, -0.4 * d), (x, 0.2, -0.26 * d), (x, seat - 0.05, -0.24 * d)],
            0.022,
            iron,
            sides=6,
        )
    if back:
        lean = placed(0, seat - 0.02, -0.25 * d, 0, -12)
        tall = h - seat
        for k in range(3 if style == "park" else 4):
            y = 0.12 + (tall - 0.16) * k / (2 if style == "park" else 3)
            b.box((-w / 2, y - 0.035, -0.015), (w / 2, y + 0.045, 0.012), timber, pose=lean)
        for x in (-0.42 * w, 0.42 * w):
            b.box((x - 0.022, -0.02, -0.045), (x + 0.022, tall, -0.016), iron, pose=lean)
        if style == "park":
            for x in (-0.46 * w, 0.46 * w):
                b.tube(
                    [
                        (x, seat, 0.4 * d),
                        (x, seat + 0.2, 0.38 * d),
                        (x, seat + 0.24, 0.1 * d),
                        (x, seat + 0.2, -0.3 * d),
                    ],
                    0.018,
                    iron,
                    sides=6,
                )
    return b.mesh()


@thing("street lamp")
def street_lamp(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Lamp post: lantern, globes or a modern mast."""
    w, h, _ = size
    iron = draw_iron(kit)
    glass = kit.material("plain", kit.pick(["#f6ecd0", "#fbe3b4", "#e8ecea"]), emission=0.72)
    style = kit.pick(["lantern", "globe", "globes", "mast"])
    if style == "mast":
        b.cylinder(0.07, 0, 0.3, iron, sides=10)
        b.cylinder(0.045, 0.3, h - 0.05, iron, sides=8)
        b.box((-0.06, h - 0.1, -0.05), (0.06, h - 0.02, w / 2), iron)
        b.patch((-0.045, h - 0.104, 0.05), (0.09, 0, 0), (0, 0, w / 2 - 0.1), glass)
        return b.mesh()
    b.lathe(
        [(0.16, 0), (0.16, 0.12), (0.1, 0.18), (0.11, 0.7), (0.07, 0.78), (0.05, 0.9)],
        iron,
        sides=10,
    )
    b.cylinder(0.048, 0.9, h - 0.55, iron, top=0.036, sides=8)
    b.lathe([(0.05, h - 0.62), (0.085, h - 0.58), (0.05, h - 0.54)], iron, sides=8)
    if style == "lantern":
        b.lathe([(0.09, h - 0.5), (0.16, h - 0.17)], glass, sides=6)
        b.lathe([(0.04, h - 0.54), (0.1, h - 0.5), (0.09, h - 0.48)], iron, sides=6)
        b.lathe([(0.2, h - 0.18), (0.12, h - 0.08), (0.03, h - 0.04), (0.0, h)], iron, sides=6)
        b.lathe([(0.0, h - 0.19), (0.2, h - 0.18)], iron, sides=6)
        for k in range(6):
            a = np.pi / 3 * k
            b.tube(
                [
                    (0.09 * np.sin(a), h - 0.5, 0.09 * np.cos(a)),
                    (0.163 * np.sin(a), h - 0.17, 0.163 * np.cos(a)),
                ],
                0.008,
                iron,
                sides=4,
            )
    elif style == "globe":
        b.ball((0, h - 0.28, 0), (0.22, 0.24, 0.22), glass, sides=14, rings=10)
        b.cylinder(0.08, h - 0.56, h - 0.5, iron, sides=10)
    else:
        for s in (-1, 1):
            b.tube(
                [(0, h - 0.75, 0), (0.22 * s, h - 0.62, 0), (0.36 * s, h - 0.5, 0)],
                0.02,
                iron,
                sides=6,
            )
            b.ball((0.36 * s, h - 0.33, 0), (0.15, 0.17, 0.15), glass, sides=12, rings=8)
        b.ball((0, h - 0.2, 0), (0.17, 0.19, 0.17), glass, sides=12, rings=8)
        b.cylinder(0.036, h - 0.55, h - 0.38, iron, sides=8)
    return b.mesh()


@thing("litter bin")
def litter_bin(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Bin: slatted, a drum with a lid, or a box on a post."""
    w, h, d = size
    r = min(w, d) / 2
    iron, paint = draw_iron(kit), kit.material("enamel", kit.pick([*BRIGHTS, *IRONS]))
    style = kit.pick(["slats", "drum", "dome"])
    if style == "slats":
        timber = draw_timber(kit)
        b.cylinder(r * 0.82, 0.05, h - 0.05, iron, sides=14)
        for k in range(14):
            b.box(
                (-0.036, 0.08, r - 0.03),
                (0.036, h - 0.06, r),
                timber,
                bevel=0,
                pose=placed(turn=360 / 14 * k),
            )
        b.lathe(
            [(r * 0.7, h - 0.05), (r, h - 0.05), (r, h), (r * 0.72, h), (r * 0.7, h - 0.12)],
            iron,
            sides=16,
        )
        b.cylinder(r * 0.7, h - 0.14, h - 0.12, kit.material("plain", "#1c1e20"), sides=14)
        b.cylinder(r * 0.9, 0, 0.05, iron, sides=14)
        return b.mesh()
    b.lathe([(r * 0.84, 0), (r * 0.84, 0.04), (r * 0.92, 0.05), (r, h * 0.74)], paint, sides=18)
    b.lathe(
        [(r, h * 0.74), (r * 1.03, h * 0.75), (r * 1.03, h * 0.78), (r * 0.9, h * 0.78)],
        iron,
        sides=18,
    )
    if style == "drum":
        b.lathe(
            [(r * 0.9, h * 0.78), (r * 0.88, h * 0.68), (0, h * 0.66)],
            kit.material("plain", "#1c1e20"),
            sides=18,
        )
        for s in (-1, 1):
            b.tube([(s * r * 0.9, h * 0.76, 0), (s * r * 0.9, h * 0.92, 0)], 0.015, iron, sides=6)
        b.lathe(
            [(0.0, h * 0.915), (r * 1.05, h * 0.92), (r * 0.7, h * 0.97), (0, h)], paint, sides=18
        )
    else:
        b.lathe(
            [(r * 0.98, h * 0.78), (r * 0.92, h * 0.88), (r * 0.5, h * 0.97), (0, h)],
            paint,
            sides=18,
        )
        dark = kit.material("plain", "#1c1e20")
        b.lathe([(r * 0.995, h * 0.78), (r * 0.95, h * 0.86)], dark, sides=18)
    return b.mesh()


@thing("picnic table")
def picnic_table(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Table with two fixed benches, on crossed legs, or a round one."""
    w, h, d = size
    timber = draw_timber(kit)
    if kit.rng.random() < 0.35:
        r = 0.32 * min(w, d)
        b.cylinder(r, h - 0.05, h, timber, sides=18)
        b.cylinder(0.06, 0, h - 0.05, draw_iron(kit), sides=8)
        for k in range(4):
            a = placed(turn=90 * k + 45)
            b.cylinder(0.18, 0.42, 0.46, timber, sides=12, pose=a @ placed(0, 0, 0.42 * min(w, d)))
            b.tube(
                [(0, 0.12, 0.03), (0, 0.12, 0.36 * min(w, d)), (0, 0.42, 0.42 * min(w, d))],
                0.025,
                draw_iron(kit) if k == 0 else kit.material("enamel", "#3d4a58", seed=1),
                sides=6,
                pose=a,
            )
        return b.mesh()
    top = 0.42 * d
    for k in range(5):
        z = top * ((k + 0.5) / 5 - 0.5) * 1.1
        b.box(
            (-w / 2, h - 0.04, z - 0.085 * d * 0.5),
            (w / 2, h, z + 0.085 * d * 0.5),
            timber,
            bevel=0.006,
        )
    for s in (-1, 1):
        for k in (0, 1):
            z = s * (d / 2 - 0.07 - 0.14 * k)
            b.box((-w / 2, 0.42, z - 0.06), (w / 2, 0.46, z + 0.06), timber, bevel=0.006)
    for x in (-0.34 * w, 0.34 * w):
        for s in (-1, 1):
            b.tube([(x, 0, s * 0.42 * d), (x, h - 0.04, s * 0.14 * d)], 0.05, timber, sides=4)
        b.box((x - 0.03, 0.34, -d / 2 + 0.03), (x + 0.03, 0.42, d / 2 - 0.03), timber)
        b.box((x - 0.03, h - 0.12, -0.22 * d), (x + 0.03, h - 0.04, 0.22 * d), timber)
    return b.mesh()


@thing("parasol")
def parasol(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Parasol over a small round table with stools."""
    w, h, d = size
    r = min(w, d) / 2
    tone, other = kit.pick(BRIGHTS), kit.pick([*PALE, *BRIGHTS[:4]])
    first = kit.material("fabric", tone, tone, "plain")
    style = kit.pick(["panels", "plain", "stripes"])
    second = first if style == "plain" else kit.material("fabric", other, other, "plain")
    if style == "stripes":
        first = second = kit.material("fabric", tone, other, "stripes")
    pole = kit.material("enamel", kit.pick(["#e4e2da", "#8b8f94", "#6b4d33"]))
    rim, sides = h * 0.8, 8
    a = np.linspace(0, 2 * np.pi, sides + 1)
    for k in range(sides):
        p0, p1 = ((r * np.sin(t), rim, r * np.cos(t)) for t in (a[k], a[k + 1]))
        m0, m1 = (
            (0.5 * r * np.sin(t), rim + 0.6 * (h - 0.06 - rim), 0.5 * r * np.cos(t))
            for t in (a[k], a[k + 1])
        )
        q0, q1 = ((r * np.sin(t), rim - 0.14, r * np.cos(t)) for t in (a[k], a[k + 1]))
        tip = (0, h - 0.06, 0)
        points = [tip, m0, m1, p0, p1, q0, q1]
        uv = [(0.5, 0), (0.3, 0.9), (0.7, 0.9), (0, 1.8), (1, 1.8), (0, 2.1), (1, 2.1)]
        faces = np.array([[0, 1, 2], [1, 3, 4], [1, 4, 2], [3, 5, 6], [3, 6, 4]])
        cloth = (first, second)[k % 2]
        b.add(points, uv, faces, cloth)
        under = [(x * 0.985, y - 0.012, z * 0.985) for x, y, z in points]
        b.add(under, uv, faces[:, ::-1], cloth._replace(tint=(0.9, 0.9, 0.9)))
    b.cylinder(0.025, 0, h - 0.05, pole, sides=8)
    b.ball((0, h - 0.04, 0), (0.035, 0.04, 0.035), pole, sides=8, rings=6)
    b.cylinder(0.26, 0, 0.06, kit.material("concrete", "#8f9090"), sides=14)
    timber = draw_timber(kit)
    b.cylinder(0.42, 0.7, 0.735, timber, sides=20)
    count = 2 + int(kit.rng.integers(2))
    start = kit.uniform(0, 360)
    for k in range(count):
        at = placed(turn=start + 360 / count * k) @ placed(0, 0, 0.72)
        b.cylinder(0.17, 0.42, 0.46, timber, sides=12, pose=at)
        for i in range(3):
            b.tube(
                [(0, 0.42, 0.06), (0, 0, 0.15)],
                0.014,
                pole,
                sides=5,
                pose=at @ placed(turn=120 * i),
            )
    return b.mesh()
