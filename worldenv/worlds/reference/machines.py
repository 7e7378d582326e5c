"""Machines of a workshop: lathe, drill press, band saw, compressor, forklift, fan, anvil.

Makers as in ``furniture``.
"""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import Size, maker, wood
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder, forth, lying, placed
from worldenv.worlds.reference.textures import Kit

COATS = ["#3f6f5a", "#5a6f7a", "#2f5f8a", "#8a8f86", "#b8862f", "#7a3a33", "#c9c4b4", "#44525c"]
"""Paint of machines."""
STEEL = "#9aa0a4"
DARK = "#2a2d30"
SIGNAL = ["#c0392f", "#d9a02f", "#2f7a4a", "#e8e4da"]


def _knob(b: Builder, x: float, y: float, z: float, radius: float, material: Material) -> None:
    b.cylinder(radius, 0.0, 0.03, material, sides=10, pose=forth(x, y, z))


def _wheel(b: Builder, x: float, y: float, z: float, radius: float, material: Material) -> None:
    """Add a hand wheel that faces +z."""
    angle = np.linspace(0, 2 * np.pi, 17)
    rim = np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle), 0 * angle + z], axis=1)
    b.tube(rim, 0.012, material, sides=6)
    for a in (0.0, 2.1, 4.2):
        tip = (x + radius * np.cos(a), y + radius * np.sin(a), z)
        b.tube([(x, y, z), tip], 0.008, material, sides=5)
    b.cylinder(0.025, -0.03, 0.02, material, sides=8, pose=forth(x, y, z))


@maker("lathe")
def lathe(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Engine lathe: two pedestals, bed, head with chuck, carriage, tailstock."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(COATS))
    steel, dark = kit.material("metal", STEEL), kit.material("metal", DARK)
    bed = 0.6 * h
    for x0, x1 in ((-w / 2, -w / 2 + 0.3 * w), (w / 2 - 0.22 * w, w / 2)):
        b.box((x0, 0, -d / 2), (x1, bed - 0.12, d / 2 - 0.04), coat, bevel=0.015)
    b.box((-w / 2, bed - 0.12, -d * 0.36), (w / 2, bed - 0.04, d * 0.36), coat, bevel=0.01)
    b.box((-w / 2 + 0.26 * w, bed - 0.04, -d * 0.25), (w / 2, bed, -d * 0.12), steel)
    b.box((-w / 2 + 0.26 * w, bed - 0.04, d * 0.12), (w / 2, bed, d * 0.25), steel)
    b.box((-w / 2, bed - 0.04, -d * 0.4), (-w / 2 + 0.27 * w, h, d * 0.34), coat, bevel=0.03)
    axis = bed + 0.48 * (h - bed)
    face = -w / 2 + 0.27 * w
    b.cylinder(0.3 * (h - bed), 0.0, 0.09, steel, sides=18, pose=lying(face, axis, 0))
    b.cylinder(0.05, 0.09, 0.09 + 0.22 * w, steel, sides=12, pose=lying(face, axis, 0))
    carriage = -w / 2 + kit.uniform(0.48, 0.6) * w
    b.box((carriage, bed, -d * 0.34), (carriage + 0.16 * w, bed + 0.06, d * 0.42), steel)
    b.box((carriage, bed - 0.2, d * 0.36), (carriage + 0.16 * w, bed + 0.04, d * 0.46), coat)
    b.box((carriage + 0.05 * w, bed + 0.06, -0.05), (carriage + 0.11 * w, bed + 0.16, 0.06), dark)
    _wheel(b, carriage + 0.05 * w, bed - 0.09, d * 0.48, 0.07, steel)
    tail = w / 2 - 0.17 * w
    b.box((tail, bed, -d * 0.2), (w / 2 - 0.02, axis + 0.08, d * 0.2), coat, bevel=0.03)
    b.cylinder(0.03, 0.0, 0.14, steel, top=0.008, sides=10, pose=lying(tail - 0.14, axis, 0))
    for i in range(3):
        paint = kit.material("plain", SIGNAL[i])
        _knob(b, -w / 2 + (0.07 + 0.065 * i) * w, h - 0.12, d * 0.34, 0.025, paint)
    b.box((-w / 2 + 0.02, 0.02, d / 2 - 0.04), (w / 2 - 0.02, 0.06, d / 2), dark)
    return b.mesh()


@maker("drill press")
def drill_press(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Pillar drill with base, column, table, belt housing and spoked feed handle."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(COATS))
    steel, dark = kit.material("metal", STEEL), kit.material("metal", DARK)
    back = -d * 0.28
    b.box((-w / 2, 0, -d / 2), (w / 2, 0.07, d / 2), dark, bevel=0.012)
    b.cylinder(0.055, 0.07, h - 0.2, steel, sides=14, pose=placed(0, 0, back))
    table = kit.uniform(0.48, 0.56) * h
    b.box((-0.07, table - 0.1, back - 0.07), (0.07, table + 0.02, back + 0.1), coat, bevel=0.01)
    b.box((-w * 0.42, table, back + 0.08), (w * 0.42, table + 0.04, d / 2), steel, bevel=0.008)
    head = 0.72 * h
    b.box((-w * 0.3, head, -d * 0.42), (w * 0.3, h - 0.16, d * 0.36), coat, bevel=0.03)
    # Its lower corners stay outside the head, within which they would get no light.
    b.box((-w * 0.36, h - 0.16, -d / 2), (w * 0.36, h, d * 0.42), coat, bevel=0.02)
    b.cylinder(0.05, head - 0.12, head, steel, sides=12, pose=placed(0, 0, d * 0.16))
    b.cylinder(0.012, head - 0.3, head - 0.12, dark, top=0.02, sides=8, pose=placed(0, 0, d * 0.16))
    hub = (w * 0.32, head + 0.08, d * 0.16)
    for a in np.radians([40, 160, 280]) + kit.uniform(0, 1):
        tip = (hub[0] + 0.03, hub[1] + 0.2 * np.sin(a), hub[2] + 0.2 * np.cos(a))
        b.tube([hub, tip], 0.009, steel, sides=6)
        b.ball(tip, (0.024,) * 3, dark, sides=8, rings=6)
    b.box((-w * 0.12, h - 0.12, d * 0.42), (w * 0.12, h - 0.05, d * 0.43), dark, bevel=0)
    _knob(b, -w * 0.16, head + 0.1, d * 0.36, 0.022, kit.material("plain", "#c0392f"))
    _knob(b, -w * 0.16, head + 0.17, d * 0.36, 0.022, kit.material("plain", "#2f7a4a"))
    return b.mesh()


@maker("band saw")
def band_saw(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Floor band saw: two round wheel housings on a column, a tilted table, a foot cabinet."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(COATS))
    steel, dark = kit.material("metal", STEEL), kit.material("metal", DARK)
    r = min(w * 0.46, 0.2 * h)
    low, high = 0.1 + r, h - r
    b.box((-w * 0.46, 0, -d * 0.4), (w * 0.46, 0.12, d * 0.4), dark, bevel=0.01)
    for y in (low, high):
        for z0, z1, s in ((-d * 0.16, d * 0.18, 1.0), (d * 0.18, d * 0.2, 0.94)):
            part = coat if s == 1.0 else kit.material("enamel", "#d8d4c8", seed=3)
            b.cylinder(s * r, z0, z1, part, sides=28, pose=forth(0, y, 0))
        _knob(b, r * 0.7, y, d * 0.2, 0.024, dark)
    b.box((-w * 0.46, low, -d * 0.16), (-w * 0.16, high, d * 0.12), coat, bevel=0.02)
    table = 0.5 * (low + high) - 0.02
    b.box((-w * 0.14, table, -d * 0.42), (w / 2, table + 0.035, d / 2), steel, bevel=0.006)
    b.box((w * 0.02, table - 0.14, -d * 0.1), (w * 0.24, table, d * 0.12), dark)
    b.box((w * 0.13, table + 0.035, -0.012), (w * 0.15, high - 0.6 * r, 0.0), steel, bevel=0)
    b.box((w * 0.09, table + 0.2, -0.05), (w * 0.21, table + 0.3, 0.05), coat, bevel=0.01)
    return b.mesh()


@maker("compressor")
def compressor(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Air compressor: lying tank on wheels and a foot, motor, pump with fins, gauge, hose."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(["#c0392f", "#2f5f8a", "#d9902f", "#3f7a4a", "#8a8f86"]))
    dark, steel = kit.material("metal", DARK), kit.material("metal", STEEL)
    r = min(0.29 * h, 0.42 * d)
    middle = 0.16 + r
    ends = [(0, 0), (0.6 * r, 0.01), (0.9 * r, 0.05), (r, 0.12)]
    turned = [(x, w - y) for x, y in reversed(ends)]
    b.lathe([*ends, *turned], coat, sides=24, repeat=0.9, pose=lying(-w / 2, middle, 0))
    for z in (-d * 0.36, d * 0.36):
        b.cylinder(0.13, -0.025, 0.025, dark, sides=18, pose=forth(-w * 0.32, 0.13, z))
        b.cylinder(0.05, -0.03, 0.03, steel, sides=10, pose=forth(-w * 0.32, 0.13, z))
    b.box((w * 0.3, 0, -d * 0.3), (w * 0.36, middle - 0.8 * r, d * 0.3), dark)
    top = middle + r - 0.02
    b.box((-w * 0.4, top, -d * 0.3), (w * 0.3, top + 0.03, d * 0.3), dark)
    b.cylinder(0.1, 0.0, 0.3 * w, steel, sides=18, pose=lying(-w * 0.36, top + 0.14, 0))
    for i in range(6):
        y = top + 0.05 + 0.028 * i
        b.box((0.04, y, -0.1), (0.04 + 0.16, y + 0.014, 0.1), dark, bevel=0)
    b.cylinder(0.05, 0, h - top - 0.02, steel, sides=12, pose=placed(0.12, top, 0))
    dial = kit.material("plain", "#f3f0e6")
    b.cylinder(0.045, 0, 0.03, dark, sides=14, pose=forth(w * 0.26, top + 0.1, d * 0.2))
    b.cylinder(0.038, 0.03, 0.032, dial, sides=14, pose=forth(w * 0.26, top + 0.1, d * 0.2))
    bow = [(w / 2 - 0.1, middle, 0), (w / 2 - 0.01, middle + 0.6 * r, 0), (w * 0.4, h - 0.05, 0)]
    b.tube(bow, 0.014, dark, sides=6)
    return b.mesh()


@maker("forklift")
def forklift(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Counterbalance truck: body, four wheels, mast with two forks to +z, cage, seat, wheel."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(["#d9a02f", "#c0592f", "#2f5f8a", "#3f7a4a", "#c9c4b4"]))
    dark, steel = kit.material("metal", DARK), kit.material("metal", "#6a6f73")
    seat = kit.material("leather", "#26262a")
    back, front = -d / 2, d / 2 - 0.34 * d
    b.box((-w / 2, 0.16, back), (w / 2, 0.46 * h, back + 0.3 * d), coat, bevel=0.07)
    b.box((-w / 2, 0.16, back + 0.3 * d), (w / 2, 0.26 * h, front - 0.04), coat, bevel=0.02)
    b.box((-w * 0.42, 0.26 * h, front - 0.2), (w * 0.42, 0.42 * h, front - 0.06), coat, bevel=0.03)
    for x in (-w / 2, w / 2 - 0.16):
        for z, r in ((back + 0.18 * d, 0.19), (front - 0.16, 0.24)):
            b.cylinder(r, 0.0, 0.16, dark, sides=20, pose=lying(x, r, z))
            b.cylinder(0.5 * r, -0.01, 0.17, coat, sides=12, pose=lying(x, r, z))
    b.box((-w * 0.24, 0.46 * h, back + 0.1 * d), (w * 0.24, 0.52 * h, back + 0.3 * d), seat)
    b.box((-w * 0.24, 0.5 * h, back + 0.05 * d), (w * 0.24, 0.74 * h, back + 0.1 * d), seat)
    hub = np.array([0.0, 0.52 * h, front - 0.24])
    b.tube([(0, 0.4 * h, front - 0.14), tuple(hub)], 0.02, dark, sides=6)
    angle = np.linspace(0, 2 * np.pi, 15)
    ring = hub + 0.15 * np.stack([np.cos(angle), 0.5 * np.sin(angle), -0.8 * np.sin(angle)], axis=1)
    b.tube(ring, 0.014, dark, sides=6)
    for x in (-w * 0.46, w * 0.46):
        for z in (back + 0.12 * d, front - 0.1):
            b.tube([(x, 0.3 * h, z), (x * 0.92, h - 0.03, z)], 0.024, dark, sides=6)
    b.box((-w * 0.46, h - 0.05, back + 0.08 * d), (w * 0.46, h, front - 0.06), dark, bevel=0.01)
    for x in (-w * 0.3, w * 0.3 - 0.07):
        b.box((x, 0.06, front - 0.04), (x + 0.07, h, front + 0.05), steel)
    for y in (0.35 * h, 0.7 * h, h - 0.08):
        b.box((-w * 0.3, y, front - 0.02), (w * 0.3, y + 0.06, front + 0.03), steel)
    lift = kit.uniform(0.06, 0.22)
    b.box((-w * 0.36, lift, front + 0.05), (w * 0.36, lift + 0.34, front + 0.09), steel)
    for x in (-w * 0.26, w * 0.26 - 0.1):
        b.box((x, lift, front + 0.09), (x + 0.1, lift + 0.045, d / 2), steel)
    return b.mesh()


@maker("fan")
def fan(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Drum fan on a stand: a short pipe with blades behind a guard of rings."""
    w, h, d = size
    coat = kit.material("enamel", kit.pick(COATS + SIGNAL[:3]))
    dark = kit.material("metal", DARK)
    blade = kit.material("metal", kit.pick(["#9aa0a4", "#c9a055", "#d8d4c8"]))
    r = min(w / 2 - 0.03, (h - 0.14) / 2)
    y = h - r
    angle = np.linspace(0, 2 * np.pi, 29)
    b.lathe([(r, -d * 0.3), (r, d * 0.3)], coat, sides=28, pose=forth(0, y, 0))
    b.lathe([(0.97 * r, d * 0.3), (0.97 * r, -d * 0.3)], dark, sides=28, pose=forth(0, y, 0))
    for z in (-d * 0.3, d * 0.3):
        for s in (1.0, 0.72, 0.44) if not b.coarse else (1.0,):
            ring = np.stack([s * r * np.cos(angle), y + s * r * np.sin(angle), 0 * angle + z], 1)
            b.tube(ring, 0.007, dark, sides=5)
        for a in np.linspace(0, np.pi, 5)[:-1]:
            x0, y0 = r * np.cos(a), r * np.sin(a)
            b.tube([(-x0, y - y0, z), (x0, y + y0, z)], 0.005, dark, sides=5)
    b.cylinder(0.16 * r, -0.06, 0.06, dark, sides=12, pose=forth(0, y, 0))
    for k in range(4):
        a = k * np.pi / 2 + 0.4
        turn = np.eye(4)
        turn[:2, :2] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
        turn[1, 3] = y
        tilt = placed(0, 0, 0, 32)
        low, high = (-0.16 * r, 0.14 * r, -0.008), (0.16 * r, 0.9 * r, 0.008)
        b.box(low, high, blade, pose=turn @ tilt)
    for x in (-0.7 * r, 0.7 * r):
        line = [(x, 0.02, -d * 0.42), (x, 0.02, d * 0.42)]
        b.tube(line, 0.018, dark, sides=6)
        b.tube([(x, 0.02, 0), (x * 1.1, y - 0.6 * r, 0)], 0.018, dark, sides=6)
    return b.mesh()


@maker("anvil")
def anvil(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Anvil with horn, on a block of wood."""
    w, h, d = size
    iron = kit.material("metal", kit.pick(["#3a3d40", "#50565c", "#4a3f38"]))
    block = kit.material("panelling", kit.pick(["#8a5a33", "#6e4a36", "#a4713f"]))
    foot = 0.6 * h
    b.cylinder(0.46 * d, 0, foot, block, sides=18, repeat=0.5)
    b.lathe([(0.47 * d, 0.8 * foot), (0.47 * d, 0.9 * foot)], iron, sides=18)
    b.box((-0.24 * w, foot, -0.3 * d), (0.24 * w, foot + 0.2 * (h - foot), 0.3 * d), iron)
    b.box((-0.14 * w, foot + 0.2 * (h - foot), -0.16 * d), (0.14 * w, 0.9 * h, 0.16 * d), iron)
    b.box((-0.42 * w, h - 0.4 * (h - foot), -0.22 * d), (0.2 * w, h, 0.22 * d), iron, bevel=0.008)
    height = h - 0.2 * (h - foot)
    horn = [(0.0, 0.0), (0.19 * d, 0.0), (0.16 * d, 0.12 * w), (0.08 * d, 0.24 * w), (0, 0.3 * w)]
    b.lathe(horn, iron, sides=14, pose=lying(0.2 * w, height, 0))
    if kit.rng.random() < 0.6:
        grip = wood(kit)
        b.tube([(-0.3 * w, h + 0.02, -0.1), (0.05 * w, h + 0.02, 0.12)], 0.014, grip, sides=6)
        b.box((-0.36 * w, h, -0.16), (-0.26 * w, h + 0.05, -0.04), iron)
    return b.mesh()
