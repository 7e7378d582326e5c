"""What grows in parks: trees of seven habits, bushes, hedges, flower beds, planters."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.outdoor_things import (
    PETALS,
    STONES,
    TIMBERS,
    ParkKit,
    around,
    blob,
    cards,
    season_of,
    thing,
)
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.textures import Kit

HABITS = ("round", "oak", "birch", "conifer", "cypress", "willow", "blossom")
"""How trees grow."""


def _clump(
    b: Builder,
    kit: Kit,
    centre: tuple[float, float, float],
    radii: tuple[float, float, float],
    leaves: tuple[Material, Material],
    count: int,
    size: float,
    *,
    hang: bool = False,
    long: float = 1.0,
    core: float = 0.86,
) -> None:
    """Add a clump of leaves: a dark core under a coat of scraps."""
    outer, inner = leaves
    if core > 0:
        shrunk = (radii[0] * core, radii[1] * core, radii[2] * core)
        blob(b, kit.rng, centre, shrunk, inner, sides=8, rings=4)
    away = around(count)
    away = away[kit.rng.permutation(count)]
    depth = kit.rng.uniform(0.86, 1.06, (count, 1))
    points = np.asarray(centre) + away * radii * depth
    normals = away / np.asarray(radii)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    cards(b, kit.rng, points, normals, size, outer, hang=hang, long=long)


def _trunk(
    b: Builder, kit: Kit, bark: Material, radius: float, height: float, lean: float = 0.12
) -> tuple[float, float]:
    """Add a trunk with a flared foot, a little crooked; return where its top is."""
    x, z = kit.uniform(-lean, lean), kit.uniform(-lean, lean)
    heights = np.array([-0.02, 0.08, 0.3, 0.9, 0.5 * height + 0.4, height])
    bend = np.sin(heights / height * np.pi * 0.5)
    line = np.stack([x * bend, heights, z * bend], axis=1)
    girth = radius * np.array([1.7, 1.35, 1.1, 1.0, 0.85, 0.55])
    b.tube(line, list(girth), bark, sides=9, repeat=0.9)
    return x, z


@thing("tree", smooth=True, leafy=True)
def tree(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Tree of one of seven habits; round crowns are clumps on branches."""
    w, h, d = size
    r = min(w, d) / 2
    own = season_of(kit)
    slim = h > 3.2 * r
    habit = kit.pick(["birch", "cypress", "conifer"] if slim else list(HABITS))
    if habit == "conifer":
        return _conifer(own, b, r, h)
    if habit == "cypress":
        return _cypress(own, b, min(r, 0.16 * h), h)
    if habit == "willow":
        return _willow(own, b, r, h)
    birch = habit == "birch"
    bark = (
        kit.material("bark", kit.pick(["#e4e0d6", "#d8d2c4"]), "birch")
        if birch
        else kit.material(
            "bark",
            kit.pick(["#6e5a45", "#57483a", "#7d6f60", "#8a7a66"]),
            kit.pick(["ridged", "ridged", "smooth"]),
        )
    )
    flower = own.pick(own.season.blossom) if habit == "blossom" else "none"
    leaves = own.leaves("small" if birch or flower != "none" else "broad", flower)
    low = h * kit.uniform(0.3, 0.38)
    x, z = _trunk(b, kit, bark, h * (0.02 if birch else kit.uniform(0.028, 0.04)), h * 0.7)
    clumps = {"birch": 6, "oak": 7, "round": 5, "blossom": 5}[habit]
    middle = (low + h) / 2
    half = (h - low) / 2
    start = kit.uniform(0, 6.28)
    for k in range(clumps):
        a = start + 2.399963 * k
        share = (k + 0.5) / clumps
        if birch:
            at = (
                x + 0.45 * r * np.sin(a),
                low + (h - low) * (0.12 + 0.76 * share),
                z + 0.45 * r * np.cos(a),
            )
            radii = (r * 0.52 * (1.15 - 0.5 * share), half * 0.33, r * 0.52 * (1.15 - 0.5 * share))
            _clump(b, kit, at, radii, leaves, 70, 0.15, hang=True, long=1.7, core=0.72)
            continue
        if k == 0:
            at, radii = (x, middle + 0.3 * half, z), (0.66 * r, 0.7 * half, 0.66 * r)
        else:
            out = r * (0.62 if habit == "oak" else 0.46)
            rise = middle + half * (-0.42 + 0.62 * share + kit.uniform(-0.08, 0.08))
            at = (x + out * np.sin(a), rise, z + out * np.cos(a))
            g = kit.uniform(0.86, 1.12) * (0.42 if habit == "oak" else 0.52)
            radii = (g * r, 0.48 * half if habit == "oak" else 0.56 * half, g * r)
        b.tube(
            [
                (x * 0.8, low * kit.uniform(0.8, 1.0), z * 0.8),
                (0.6 * at[0], 0.5 * (low + at[1]), 0.6 * at[2]),
                at,
            ],
            [0.09, 0.06, 0.03],
            bark,
            sides=5,
        )
        _clump(b, kit, at, radii, leaves, 110 if k == 0 else 85, 0.2 * (0.8 + 0.09 * r))
    return b.mesh()


def _conifer(kit: ParkKit, b: Builder, r: float, h: float) -> Mesh:
    """Fir or spruce: tiers of drooping boughs."""
    bark = kit.material("bark", kit.pick(["#5d4637", "#6b5040"]), "ridged")
    b.cylinder(h * 0.028, 0, h * 0.5, bark, top=h * 0.012, sides=8)
    outer, inner = kit.leaves("needle")
    tiers = int(kit.rng.integers(7, 10))
    low = h * kit.uniform(0.08, 0.16)
    for k in range(tiers):
        share = k / tiers
        y = low + (h - low) * share
        radius = r * (1 - share) ** 0.85 + 0.08
        tall = (h - low) / tiers * 1.9
        b.lathe(
            [(radius * 0.86, y), (radius * 0.2, y + tall * 0.75), (0.0, min(y + tall, h))],
            inner,
            sides=10,
            repeat=1.2,
        )
        count = int(12 + 22 * (1 - share))
        angle = np.arange(count) * 2.399963 + k
        inward = np.tile([1.0, 0.62, 0.84], count // 3 + 1)[:count]
        reach = radius * inward
        points = np.stack(
            [
                reach * np.sin(angle),
                y + tall * 0.55 * (1.02 - inward) + 0.02,
                reach * np.cos(angle),
            ],
            1,
        )
        normals = np.stack([np.sin(angle), np.full(count, 0.75), np.cos(angle)], 1)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        cards(b, kit.rng, points, normals, 0.1 + 0.1 * radius, outer, long=1.9, tilt=0.3, hang=True)
    return b.mesh()


def _cypress(kit: ParkKit, b: Builder, r: float, h: float) -> Mesh:
    """A slim dark column."""
    bark = kit.material("bark", "#6b5a48", "ridged")
    b.cylinder(0.09, 0, h * 0.2, bark, sides=7)
    leaves = kit.leaves("needle")
    pieces = 5
    for k in range(pieces):
        share = (k + 0.5) / pieces
        girth = r * np.sin(np.pi * (0.16 + 0.8 * share)) ** 0.7
        at = (0.05 * np.sin(k * 2.0), h * (0.07 + 0.92 * share), 0.05 * np.cos(k * 2.0))
        tall = h / pieces * (0.85 if k < pieces - 1 else 0.52)
        _clump(b, kit, at, (girth, tall, girth), leaves, 75, 0.13, hang=True, long=2.2)
    return b.mesh()


def _willow(kit: ParkKit, b: Builder, r: float, h: float) -> Mesh:
    """A dome with curtains of hanging shoots."""
    bark = kit.material("bark", kit.pick(["#7a6a52", "#6a5c48"]), "ridged")
    x, z = _trunk(b, kit, bark, h * 0.045, h * 0.62, 0.25)
    leaves = kit.leaves("small")
    _clump(
        b,
        kit,
        (x, h * 0.72, z),
        (0.72 * r, 0.27 * h, 0.72 * r),
        leaves,
        120,
        0.2,
        hang=True,
        long=1.6,
    )
    for k in range(4):
        a = 1.57 * k + 0.4
        b.tube(
            [
                (x * 0.7, h * 0.42, z * 0.7),
                (x + 0.4 * r * np.sin(a), h * 0.7, z + 0.4 * r * np.cos(a)),
            ],
            [0.1, 0.05],
            bark,
            sides=5,
        )
    count = 190
    angle = np.arange(count) * 2.399963
    reach = r * np.sqrt(kit.rng.uniform(0.42, 0.98, count))
    drop = kit.rng.uniform(0.3, 0.74, count) * (reach / r)
    points = np.stack(
        [x + reach * np.sin(angle), h * (0.82 - 0.62 * drop), z + reach * np.cos(angle)], 1
    )
    normals = np.stack([np.sin(angle), np.full(count, 0.1), np.cos(angle)], 1)
    cards(b, kit.rng, points, normals, 0.17, leaves[0], long=3.4, tilt=0.4, hang=True)
    return b.mesh()


@thing("bush", smooth=True, leafy=True)
def bush(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Shrub: loose, flowering, grassy, or clipped to a ball or a cone."""
    w, h, d = size
    own = season_of(kit)
    style = kit.pick(["loose", "flowering", "flowering", "ball", "cone", "reeds"])
    if style == "reeds":
        dark, light = own.pick(["#6f8a3a #b8b868", "#5f7f4a #a8c080", "#a08a4a #d9c890"]).split()
        blades = own.material("foliage", dark, light, "none", "needle")
        count = 70
        angle = np.arange(count) * 2.399963
        reach = np.sqrt(kit.rng.random(count))
        tall = kit.rng.uniform(0.5, 0.95, count) * h * (1.05 - 0.35 * reach)
        points = np.stack(
            [0.36 * w * reach * np.sin(angle), 0.5 * tall, 0.36 * d * reach * np.cos(angle)], 1
        )
        lean = np.stack([np.sin(angle), np.full(count, 0.25), np.cos(angle)], 1)
        blades = blades._replace(tint=(2.2, 2.2, 2.0))
        cards(b, kit.rng, points, lean, 0.06, blades, long=h * 5.0, tilt=0.25, hang=True)
        cards(
            b, kit.rng, points[::-1] * [0.7, 0.8, 0.7], lean, 0.05, blades, long=h * 5.0, hang=True
        )
        blob(b, kit.rng, (0, 0.1 * h, 0), (0.3 * w, 0.3 * h, 0.3 * d), blades, rough=0.2)
        return b.mesh()
    flower = own.pick(PETALS) if style == "flowering" else "none"
    leaves = own.leaves("small" if style != "loose" else "broad", flower)
    if style == "ball":
        radius = min(w, d) / 2
        _clump(b, kit, (0, h * 0.5, 0), (radius, h * 0.5, radius), leaves, 150, 0.09, core=0.95)
    elif style == "cone":
        radius = min(w, d) / 2
        b.lathe(
            [(radius * 0.8, 0), (radius * 0.9, 0.15 * h), (0.02, h * 0.97)],
            leaves[1],
            sides=12,
            repeat=0.8,
        )
        count = 170
        share = 1 - np.sqrt((np.arange(count) + 0.5) / count)
        angle = np.arange(count) * 2.399963
        reach = radius * (0.97 - 0.93 * share)
        points = np.stack(
            [reach * np.sin(angle), h * (0.04 + 0.95 * share), reach * np.cos(angle)], 1
        )
        normals = np.stack([np.sin(angle), np.full(count, 0.4), np.cos(angle)], 1) * 0.93
        cards(b, kit.rng, points, normals, 0.085, leaves[0], tilt=0.5)
    else:
        for k in range(4):
            a = 1.6 * k + kit.uniform(-0.3, 0.3)
            g = kit.uniform(0.6, 0.85) * (1.1 if k == 3 else 0.9)
            out = 0.0 if k == 3 else 0.26
            high = h * (0.5 if k == 3 else kit.uniform(0.34, 0.44))
            at = (out * w * np.sin(a), high * 0.92, out * d * np.cos(a))
            _clump(b, kit, at, (0.3 * w * g * 1.15, high, 0.3 * d * g * 1.15), leaves, 60, 0.12)
    return b.mesh()


@thing("hedge", smooth=True, leafy=True)
def hedge(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Clipped hedge, with a few shoots that stand out."""
    w, h, d = size
    own = season_of(kit)
    leaves = own.leaves(
        kit.pick(["small", "small", "needle"]), kit.pick(["none", "none", "none", *PETALS[2:5]])
    )
    x, z = w / 2, d / 2
    e = min(0.07, 0.2 * d)
    outer = leaves[0]._replace(tint=(1.5, 1.52, 1.48))
    nx, ny, nz = max(2, round(w / 0.9)), max(2, round(h / 0.6)), max(1, round(d / 0.6))
    b.patch((-x, 0, z), (w, 0, 0), (0, h - e, -0.3 * e), outer, repeat=1.3, cells=(nx, ny))
    b.patch((x, 0, -z), (-w, 0, 0), (0, h - e, 0.3 * e), outer, repeat=1.3, cells=(nx, ny))
    b.patch((x, 0, z), (0, 0, -d), (0, h - e, 0), outer, repeat=1.3, cells=(nz, ny))
    b.patch((-x, 0, -z), (0, 0, d), (0, h - e, 0), outer, repeat=1.3, cells=(nz, ny))
    b.patch((-x, h - e, z), (w, 0, 0), (0, 0, -d), outer, repeat=1.3, cells=(nx, nz))
    count = int(np.clip(26 * (w * d + h * (w + d) * 1.2), 40, 420))
    u = kit.rng.random((count, 2))
    face = kit.rng.random(count) * (w * d + 2 * w * h + 2 * d * h)
    points, normals = np.zeros((count, 3)), np.zeros((count, 3))
    for k in range(count):
        if face[k] < w * d:
            points[k], normals[k] = ((u[k, 0] - 0.5) * w, h - e, (u[k, 1] - 0.5) * d), (0, 1, 0)
        elif face[k] < w * d + 2 * w * h:
            s = 1 if face[k] < w * d + w * h else -1
            points[k], normals[k] = ((u[k, 0] - 0.5) * w, u[k, 1] * h, s * z), (0, 0, s)
        else:
            s = 1 if face[k] < w * d + 2 * w * h + d * h else -1
            points[k], normals[k] = (s * x, u[k, 1] * h, (u[k, 0] - 0.5) * d), (s, 0, 0)
    cards(b, kit.rng, points * [0.99, 0.98, 0.97], normals, 0.085, leaves[0], tilt=0.6)
    return b.mesh()


@thing("flower bed", smooth=True, leafy=True)
def flower_bed(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Round or long bed with an edging, earth, leaves and rows of flowers."""
    w, h, d = size
    own = season_of(kit)
    edge = (
        kit.material("stone", kit.pick(STONES))
        if kit.rng.random() < 0.6
        else kit.material("slabs", kit.pick(["#a4604a", "#8f8d88"]), "square")
    )
    earth = kit.material("plain", "#46331f", seed=5)
    round_ = abs(w - d) < 0.2 * w
    rim = min(0.16, 0.4 * h)
    colours = [own.pick(PETALS) for _ in range(3)]
    blooms = [own.material("blooms", c, own.pick(PETALS), seed=k) for k, c in enumerate(colours)]
    greens = [m._replace(tint=(1.7, 1.7, 1.65)) for m in blooms]
    x, z = w / 2, d / 2
    if round_:
        b.lathe(
            [(x, 0), (x, rim), (x - 0.1, rim), (x - 0.1, rim - 0.06)], edge, sides=20, repeat=0.6
        )
        b.lathe([(x - 0.1, rim - 0.06), (0, rim + 0.02)], earth, sides=20, repeat=0.6)
    else:
        for low, high in (
            ((-x, 0, z - 0.1), (x, rim, z)),
            ((-x, 0, -z), (x, rim, -z + 0.1)),
            ((-x, 0, -z + 0.1), (-x + 0.1, rim, z - 0.1)),
            ((x - 0.1, 0, -z + 0.1), (x, rim, z - 0.1)),
        ):
            b.box(low, high, edge, bevel=0.012)
        b.patch(
            (-x + 0.1, rim - 0.04, z - 0.1),
            (w - 0.2, 0, 0),
            (0, 0, -d + 0.2),
            earth,
            repeat=0.8,
            cells=(4, 2),
        )
    count = int(np.clip(95 * w * d, 60, 330))
    spots = kit.rng.uniform(-1, 1, (3 * count, 2))
    if round_:
        spots = spots[np.hypot(spots[:, 0], spots[:, 1]) < 1]
    spots = spots[:count]
    place = np.hypot(spots[:, 0], spots[:, 1]) if round_ else abs(spots[:, 1])
    for k, material in enumerate(greens):
        mine = spots[(place * 3).astype(int).clip(0, 2) == k]
        if not len(mine):
            continue
        tall = rim + (h - rim) * (0.85 - 0.2 * k) * kit.rng.uniform(0.7, 1.0, len(mine))
        points = np.stack([mine[:, 0] * (x - 0.2), tall, mine[:, 1] * (z - 0.2)], 1)
        up = np.tile([0.0, 1.0, 0.0], (len(mine), 1))
        cards(b, kit.rng, points, up, 0.12, material, tilt=0.55)
        points[:, 1] = rim + 0.4 * (tall - rim)
        cards(b, kit.rng, points, up, 0.13, material._replace(tint=(1.3, 1.3, 1.3)), tilt=1.2)
    blob(
        b,
        kit.rng,
        (0, rim * 0.7, 0),
        ((x - 0.16), (h - rim) * 0.62, (z - 0.16)),
        own.leaves("small")[1],
        sides=14,
        rings=6,
        rough=0.08,
    )
    return b.mesh()


@thing("planter", smooth=True, leafy=True)
def planter(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Urn, tub or trough with flowers or a clipped ball."""
    w, h, d = size
    own = season_of(kit)
    style = kit.pick(["urn", "tub", "box"])
    r = min(w, d) / 2
    low = h * kit.uniform(0.5, 0.6)
    if style == "urn":
        pot = kit.material("stone", kit.pick(STONES), kit.pick(["grain", "marble"]))
        b.box((-0.6 * r, 0, -0.6 * r), (0.6 * r, 0.1 * low, 0.6 * r), pot)
        b.lathe(
            [
                (0.5 * r, 0.1 * low),
                (0.22 * r, 0.3 * low),
                (0.5 * r, 0.42 * low),
                (0.78 * r, 0.75 * low),
                (0.96 * r, low),
                (0.8 * r, low),
                (0.0, low - 0.04),
            ],
            pot,
            sides=12,
            repeat=0.7,
        )
    elif style == "tub":
        pot = kit.material(
            "ceramic",
            kit.pick(["#b5623c", "#3f5f7a", "#e0d8c4", "#4f5a50"]),
            kit.pick(["#e8dcc0", "#7a3a2a", "#2f3f4a"]),
            kit.pick(["bands", "waves", "scales", "plain"]),
        )
        b.lathe(
            [
                (0.62 * r, 0),
                (0.92 * r, low),
                (0.98 * r, low * 0.94),
                (0.98 * r, low),
                (0.84 * r, low),
                (0, low - 0.04),
            ],
            pot,
            sides=18,
        )
    else:
        pot = kit.material("planks", kit.pick(TIMBERS))
        b.box((-0.8 * r, 0.04, -0.8 * r), (0.8 * r, low, 0.8 * r), pot, repeat=0.7)
        for i in (-1, 1):
            for j in (-1, 1):
                b.box(
                    (i * 0.8 * r - 0.04, 0, j * 0.8 * r - 0.04),
                    (i * 0.8 * r + 0.04, low + 0.05, j * 0.8 * r + 0.04),
                    pot,
                )
    flower = own.pick([*PETALS, "none"])
    leaves = own.leaves("small", flower)
    tall = (h - low) / 2
    if flower == "none":
        _clump(b, kit, (0, low + tall, 0), (0.85 * r, tall, 0.85 * r), leaves, 110, 0.08, core=0.95)
    else:
        for k in range(4):
            a = 1.57 * k
            at = (0.36 * r * np.sin(a), low + tall * 0.55, 0.36 * r * np.cos(a))
            radii = (0.56 * r, tall * kit.uniform(0.75, 1.1), 0.56 * r)
            _clump(b, kit, at, radii, leaves, 64, 0.06)
    b.lathe(
        [(0.78 * r, low - 0.03), (0, low + 0.01)],
        kit.material("plain", "#46331f", seed=5),
        sides=10,
    )
    return b.mesh()
