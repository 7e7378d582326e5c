"""What people put in parks: benches, lamps, bins, tables, parasols, bicycles, signs, kiosks."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import PALE, Size
from worldenv.worlds.reference.park_things import BRIGHTS, IRONS, STONES, TIMBERS, thing
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit


def _timber(kit: Kit) -> Material:
    return kit.material("wood", kit.pick(TIMBERS))


def _iron(kit: Kit) -> Material:
    return kit.material("metal", kit.pick(IRONS))


def ring(
    radius: float, y: float, *, count: int = 17, upright: bool = False
) -> list[tuple[float, float, float]]:
    """Return points of a circle about y, or of one that stands in the x-y plane."""
    a = np.linspace(0, 2 * np.pi, count)
    if upright:
        return [(radius * float(np.cos(t)), y + radius * float(np.sin(t)), 0.0) for t in a]
    return [(radius * float(np.sin(t)), y, radius * float(np.cos(t))) for t in a]


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
    timber, iron = _timber(kit), _iron(kit)
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
    iron = _iron(kit)
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
    iron, paint = _iron(kit), kit.material("metal", kit.pick([*BRIGHTS, *IRONS]))
    style = kit.pick(["slats", "drum", "dome"])
    if style == "slats":
        timber = _timber(kit)
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
    timber = _timber(kit)
    if kit.rng.random() < 0.35:
        r = 0.32 * min(w, d)
        b.cylinder(r, h - 0.05, h, timber, sides=18)
        b.cylinder(0.06, 0, h - 0.05, _iron(kit), sides=8)
        for k in range(4):
            a = placed(turn=90 * k + 45)
            b.cylinder(0.18, 0.42, 0.46, timber, sides=12, pose=a @ placed(0, 0, 0.42 * min(w, d)))
            b.tube(
                [(0, 0.12, 0.03), (0, 0.12, 0.36 * min(w, d)), (0, 0.42, 0.42 * min(w, d))],
                0.025,
                _iron(kit) if k == 0 else kit.material("metal", "#3d4a58", seed=1),
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
    pole = kit.material("metal", kit.pick(["#e4e2da", "#8b8f94", "#6b4d33"]))
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
    timber = _timber(kit)
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


@thing("bicycle")
def bicycle(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Bicycle on its stand: city, sports or with a basket; the front wheel at +x."""
    w, h, d = size
    paint = kit.material("metal", kit.pick(BRIGHTS))
    black = kit.material("plain", "#22242a")
    chrome = kit.material("metal", "#b8bcc0")
    r = kit.uniform(0.31, 0.35)
    base = w / 2 - r
    style = kit.pick(["city", "sport", "basket"])
    tyre = kit.material("plain", kit.pick(["#1c1e22", "#1c1e22", "#c9b48a"]))
    for x in (-base, base):
        place = placed(x, 0, 0)
        b.tube(ring(r - 0.02, r, count=21, upright=True), 0.022, tyre, sides=6, pose=place)
        b.tube(ring(r - 0.05, r, count=17, upright=True), 0.009, chrome, sides=4, pose=place)
        for k in range(8):
            t = np.pi / 4 * k + 0.2
            b.tube(
                [(0, r, 0), ((r - 0.04) * np.cos(t), r + (r - 0.04) * np.sin(t), 0)],
                0.0035,
                chrome,
                sides=3,
                pose=place,
            )
        b.cylinder(0.03, -0.04, 0.04, chrome, sides=8, pose=place @ _on_side(r))
    crank, seat = (-0.06, r - 0.03, 0), (-0.2, 0.82, 0)
    head, fork = (base - 0.2, 0.84, 0), (base - 0.14, 0.66, 0)
    b.tube([crank, seat], 0.017, paint, sides=6)
    b.tube([crank, fork], 0.019, paint, sides=6)
    if style == "city" or style == "basket":
        b.tube([(-0.1, 0.48, 0), (0.15, 0.5, 0), head], 0.017, paint, sides=6)
    else:
        b.tube([(-0.18, 0.74, 0), head], 0.017, paint, sides=6)
    for z in (-0.045, 0.045):
        b.tube([(-base, r, z), crank], 0.01, paint, sides=5)
        b.tube([(-base, r, z), (-0.18, 0.7, z * 0.3)], 0.009, paint, sides=5)
        b.tube([(base, r, z), fork], 0.012, paint, sides=5)
    b.tube([fork, head, (head[0] - 0.02, h - 0.1, 0)], 0.018, paint, sides=6)
    wide = min(0.28, d / 2)
    back = -0.16 if style != "sport" else 0.1
    b.tube(
        [
            (head[0] + back, h - 0.02, -wide),
            (head[0], h - 0.06, -0.1),
            (head[0] - 0.02, h - 0.08, 0),
            (head[0], h - 0.06, 0.1),
            (head[0] + back, h - 0.02, wide),
        ],
        0.013,
        chrome,
        sides=6,
    )
    b.cushion((-0.34, 0.86, -0.085), (-0.06, 0.93, 0.085), black, radius=0.03)
    b.tube([seat, (-0.21, 0.88, 0)], 0.013, chrome, sides=6)
    b.cylinder(
        0.08, -0.01, 0.01, chrome, sides=12, pose=placed(crank[0], 0, 0.03) @ _on_side(crank[1])
    )
    b.tube(
        [(crank[0], crank[1], 0.05), (crank[0] + 0.1, crank[1] - 0.13, 0.05)],
        0.009,
        chrome,
        sides=4,
    )
    b.box(
        (crank[0] + 0.06, crank[1] - 0.145, 0.06),
        (crank[0] + 0.15, crank[1] - 0.125, 0.15),
        black,
        bevel=0,
    )
    b.tube([(crank[0], crank[1] - 0.02, -0.03), (-0.2, 0.0, -0.2)], 0.011, chrome, sides=4)
    if style != "sport":
        for x in (-base, base):
            a = np.linspace(0.25, 2.5, 8)
            line = np.stack([(r + 0.03) * np.cos(a) + x, r + (r + 0.03) * np.sin(a), 0 * a], 1)
            b.tube(line, 0.018, paint, sides=5)
    if style == "basket":
        wicker = kit.material("fabric", "#b08a58", "#8a6438", "check")
        b.box(
            (base - 0.12, h - 0.32, -0.15),
            (base + 0.16, h - 0.1, 0.15),
            wicker,
            bevel=0,
            skip="Y",
            repeat=0.3,
        )
        b.patch((base - 0.11, h - 0.29, 0.14), (0.26, 0, 0), (0, 0, -0.28), wicker, repeat=0.3)
    return b.mesh()


def _on_side(y: float) -> np.ndarray:
    """Return a pose that lays the y axis along z, at height y."""
    pose = np.eye(4)
    pose[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    pose[1, 3] = y
    return pose


@thing("signpost")
def signpost(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Pointing boards on a post, or a notice board."""
    w, h, _ = size
    timber, iron = _timber(kit), _iron(kit)
    if kit.rng.random() < 0.4:
        for x in (-0.42 * w, 0.42 * w):
            b.box((x - 0.045, 0, -0.045), (x + 0.045, h - 0.1, 0.045), timber)
        b.box((-0.42 * w, 0.75, -0.03), (0.42 * w, h - 0.2, 0.03), timber, bevel=0)
        sheet = kit.material("landscape")
        b.patch((-0.36 * w, 0.82, 0.034), (0.72 * w, 0, 0), (0, h - 1.1, 0), sheet)
        for s, turn in ((-1, 25), (1, -25)):
            b.box(
                (-w / 2 - 0.02, -0.015, -0.15 if s < 0 else 0.0),
                (w / 2 + 0.02, 0.015, 0.0 if s < 0 else 0.15),
                timber,
                pose=placed(0, h - 0.06, 0, 0, -turn),
                bevel=0,
            )
        return b.mesh()
    post = timber if kit.rng.random() < 0.5 else iron
    b.box((-0.05, 0, -0.05), (0.05, h, 0.05), post)
    b.lathe([(0.075, h), (0.0, h + 0.0)], post, sides=4)
    ground = kit.pick(["#e8e0c8", "#2f5f45", "#2f4f7a", "#6b4028", "#d8d4c8"])
    mark = "#f2efe6" if ground != "#e8e0c8" and ground != "#d8d4c8" else "#3a2c22"
    count = 2 + int(kit.rng.integers(3))
    for k in range(count):
        y = h - 0.2 - 0.24 * k
        side = 1 if (k + int(kit.rng.integers(2))) % 2 else -1
        long = w * kit.uniform(0.4, 0.5)
        board = kit.material("plate", ground, mark, seed=int(kit.rng.integers(64)))
        outline = np.array(
            [(-0.1, -0.08), (long - 0.1, -0.08), (long, 0), (long - 0.1, 0.08), (-0.1, 0.08)]
        )
        place = placed(0, y, 0.055, kit.uniform(-12, 12))
        for z, order in ((0.02, 1), (-0.005, -1)):
            points = np.column_stack([side * outline[:, 0], outline[:, 1], np.full(5, z)])
            uv = np.column_stack([(outline[:, 0] + 0.1) / (long + 0.1), 0.5 - outline[:, 1] / 0.16])
            if side < 0:
                uv[:, 0] = 1 - uv[:, 0]
            faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4]])[:, :: order * side]
            b.add(points, uv, faces, board, place)
        b.box(
            (min(-0.1 * side, side * (long - 0.1)), -0.08, -0.003),
            (max(-0.1 * side, side * (long - 0.1)), 0.08, 0.018),
            post,
            bevel=0,
            skip="zZ",
            pose=place,
        )
    return b.mesh()


@thing("kiosk", smooth=True)
def kiosk(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Kiosk or hut: board walls, a hatch with a counter and an awning, a pitched or flat roof."""
    w, h, d = size
    wall = kit.material(
        "panelling", kit.pick(["#7d9a86", "#c8b48a", "#8a4a3a", "#3f5f7a", "#d8d2c0", "#5a6b4a"])
    )
    trim = kit.material("plain", kit.pick(["#f0ece0", "#3a2c22", "#2f4858"]))
    dark = kit.material("plain", "#2c2a28")
    x, z, top = w / 2 - 0.15, d / 2 - 0.15, h * 0.76
    low, high = 1.0, min(2.0, top - 0.15)
    b.box((-x, 0, -z), (x, 0.12, z), kit.material("concrete", "#8f9090"), bevel=0.01)
    half = 0.62 * x
    b.box((-x, 0.12, -z), (x, top, z - 0.02), wall, bevel=0, repeat=1.7, skip="Z")
    b.box((-x, 0.12, z - 0.08), (x, low, z), wall, bevel=0, repeat=1.7)
    for s0, s1 in ((-x, -half), (half, x)):
        b.box((s0, low, z - 0.08), (s1, high, z), wall, bevel=0, repeat=1.7)
    b.box((-x, high, z - 0.08), (x, top, z), wall, bevel=0, repeat=1.7)
    b.patch((-x + 0.05, 0.2, z - 0.7), (2 * x - 0.1, 0, 0), (0, top - 0.3, 0), dark)
    for k in range(5):
        tone = kit.material("plain", kit.pick(BRIGHTS))
        at = -half + 0.1 + (2 * half - 0.3) * k / 5
        tall = kit.uniform(0.12, 0.3)
        b.box((at, low + 0.02, z - 0.5), (at + 0.2, low + tall, z - 0.36), tone, bevel=0)
    b.box(
        (-half - 0.05, low - 0.04, z - 0.55), (half + 0.05, low + 0.02, z + 0.24), trim, bevel=0.006
    )
    for s in (-x, x):
        b.box((s - 0.04, 0.12, z - 0.04), (s + 0.04, top, z + 0.03), trim)
    stripe = kit.pick(BRIGHTS)
    awning = kit.material("fabric", stripe, kit.pick(PALE), "stripes")
    steep = kit.uniform(0.28, 0.4)
    p = np.array(
        [
            (-half - 0.1, high + 0.22, z),
            (half + 0.1, high + 0.22, z),
            (half + 0.1, high + 0.22 - steep, z + 0.62),
            (-half - 0.1, high + 0.22 - steep, z + 0.62),
        ]
    )
    fall = np.array(
        [(-half - 0.1, high + 0.1 - steep, z + 0.62), (half + 0.1, high + 0.1 - steep, z + 0.62)]
    )
    points = np.concatenate([p, fall])
    uv = np.array([(0, 0), (0, 3), (0.6, 3), (0.6, 0), (0.72, 0), (0.72, 3)])
    faces = np.array([[0, 3, 2], [0, 2, 1], [3, 4, 5], [3, 5, 2]])
    b.add(points, uv, faces, awning)
    b.add(points - [0, 0.012, 0.008], uv, faces[:, ::-1], awning)
    roof = (
        kit.material("rooftiles", kit.pick(["#a4533a", "#5a5f66", "#6b4a38"]))
        if kit.rng.random() < 0.6
        else kit.material("metal", kit.pick(["#5a6b60", "#70757a"]))
    )
    over = 0.15
    if kit.rng.random() < 0.6:
        r0, r1 = (x + over, z + over), h
        tip = 0.35 * x
        corners = np.array(
            [
                (-r0[0], top, r0[1]),
                (r0[0], top, r0[1]),
                (r0[0], top, -r0[1]),
                (-r0[0], top, -r0[1]),
                (-tip, r1, 0),
                (tip, r1, 0),
            ]
        )
        for face, uvs in (
            ([0, 1, 5, 4], [(0, 1), (2, 1), (1.4, 0), (0.6, 0)]),
            ([2, 3, 4, 5], [(0, 1), (2, 1), (1.4, 0), (0.6, 0)]),
            ([1, 2, 5], [(0, 1), (1.6, 1), (0.8, 0)]),
            ([3, 0, 4], [(0, 1), (1.6, 1), (0.8, 0)]),
        ):
            b.add(corners[face], uvs, [[0, i, i + 1] for i in range(1, len(face) - 1)], roof)
        b.box((-r0[0], top - 0.05, -r0[1]), (r0[0], top, r0[1]), trim, bevel=0)
    else:
        b.box((-x - over, top, -z - over), (x + over, top + 0.12, z + over), trim, bevel=0.01)
        board = kit.material("plate", kit.pick(["#c8423a", "#2f5f45", "#2f4f7a"]), "#f2efe6")
        b.box((-0.7 * x, top + 0.12, z - 0.02), (0.7 * x, h, z + 0.02), trim, bevel=0)
        b.patch((-0.68 * x, top + 0.14, z + 0.025), (1.36 * x, 0, 0), (0, h - top - 0.16, 0), board)
    return b.mesh()
