"""What is parked in streets: cars of six bodies, vans of three, scooters. Noses point to +x."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.car_bodies import PAINTS, Body, make_vehicle
from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.outdoor_things import STREET_MAKERS, ring, thing
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit

CARS = {
    "hatchback": Body(
        (0.03, 0.74), (0.14, 0.54), ((0.05, 0.2), (0.24, 0.5), (0.53, 0.92)),
        (0.5, 0.63), 0.64, 0.62, (0.2, 0.8),
    ),
    "saloon": Body(
        (0.13, 0.73), (0.27, 0.56), ((0.14, 0.46), (0.5, 0.93)),
        (0.5, 0.63), 0.65, 0.63, (0.2, 0.81),
    ),
    "estate": Body(
        (0.02, 0.72), (0.07, 0.55), ((0.04, 0.27), (0.3, 0.57), (0.6, 0.94)),
        (0.5, 0.63), 0.64, 0.62, (0.2, 0.81),
    ),
    "offroad": Body(
        (0.02, 0.75), (0.06, 0.62), ((0.04, 0.27), (0.3, 0.58), (0.61, 0.95)),
        (0.56, 0.66), 0.67, 0.66, (0.2, 0.8), 0.84, "tall",
    ),
    "city": Body(
        (0.03, 0.86), (0.12, 0.62), ((0.06, 0.36), (0.4, 0.92)),
        (0.52, 0.62), 0.62, 0.6, (0.17, 0.83), 0.8, "round",
    ),
    "beetle": Body(
        (0.12, 0.7), (0.34, 0.56), ((0.16, 0.4), (0.44, 0.92)),
        (0.42, 0.6), 0.63, 0.5, (0.2, 0.8), 0.74, "round",
    ),
}  # fmt: skip
"""Bodies of cars by name."""
VANS = {
    "panel": Body(
        (0.01, 0.86), (0.02, 0.76), ((0.72, 0.95),),
        (0.4, 0.52), 0.52, 0.52, (0.2, 0.82), 0.88, "tall",
    ),
    "bus": Body(
        (0.01, 0.96), (0.04, 0.88), ((0.04, 0.24), (0.27, 0.47), (0.5, 0.7), (0.73, 0.96)),
        (0.42, 0.52), 0.53, 0.52, (0.2, 0.8), 0.86, "round",
    ),
    "delivery": Body(
        (0.01, 0.88), (0.015, 0.72), ((0.7, 0.94),),
        (0.42, 0.5), 0.5, 0.5, (0.18, 0.82), 0.92, "wide",
    ),
}  # fmt: skip
"""Bodies of vans by name."""


@thing("car", smooth=True, makers=STREET_MAKERS)
def car(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Car of one of six bodies."""
    name = kit.pick(list(CARS))
    length, h, wide = size
    if name == "city":
        length, h = 0.82 * length, 1.02 * h
    elif name == "offroad":
        h *= 1.16
    elif name == "beetle":
        length *= 0.95
    return make_vehicle(
        kit, b, (length, h, wide), CARS[name], name == "city" and kit.rng.random() < 0.5
    )


@thing("van", smooth=True, makers=STREET_MAKERS)
def van(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Panel van, minibus or delivery van."""
    name = kit.pick(list(VANS))
    return make_vehicle(kit, b, size, VANS[name], name == "bus")


@thing("scooter", makers=STREET_MAKERS)
def scooter(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Motor scooter on its stand: rounded or sporty, with or without a top box."""
    w, h, _ = size
    paint = kit.material("plain", kit.pick(PAINTS))
    black = kit.material("plain", "#232528", seed=2)
    chrome = kit.material("metal", "#c0c4c8")
    seat = kit.material("leather", kit.pick(["#2a2624", "#6a4428", "#8a6a48"]))
    face = kit.material("wheel", "#b8bcc0", kit.pick(["5", "cap", "6"]))
    r = 0.21
    base = w / 2 - r
    for x in (-base + 0.06, base):
        pose = placed(x, 0, 0)
        b.tube(ring(r - 0.05, r, count=21, upright=True), 0.05, black, sides=8, pose=pose)
        for s in (1, -1):
            # A little smaller than the tyre's hole: a rim within the tyre would get no light.
            a, rim = np.linspace(0, 2 * np.pi, 19)[:-1], 0.113
            edge = np.stack([x + rim * np.cos(a), r + rim * np.sin(a), np.full(18, s * 0.02)], 1)
            disc = np.concatenate([edge, [[x, r, s * 0.02]]])
            edge_uv = np.stack([0.5 + 0.34 * np.cos(a), 0.5 - 0.34 * np.sin(a)], 1)
            uv = np.concatenate([edge_uv, [[0.5, 0.5]]])
            fan = np.array([[18, k, (k + 1) % 18] for k in range(18)])
            b.add(disc, uv, fan if s > 0 else fan[:, ::-1], face)
    sporty = kit.rng.random() < 0.4
    lean = 0.2
    b.tube([(base, r, 0), (base - lean, h - 0.2, 0)], 0.03, chrome, sides=7)
    b.cushion((base - 0.17, 0.36, -0.09), (base + 0.17, 0.47, 0.09), paint, radius=0.05, steps=2)
    shield = placed(base - 0.2, 0.3, 0, 0, 0)
    b.cushion((-0.03, 0.0, -0.2), (0.05, 0.52, 0.2), paint, radius=0.03, steps=2, pose=shield)
    b.cushion((-0.24 * w, 0.2, -0.13), (base - 0.2, 0.29, 0.13), paint, radius=0.03, steps=2)
    puff = 0.0 if sporty else 0.04
    b.cushion(
        (-w / 2 + 0.06, 0.3, -0.17), (-0.02, 0.66, 0.17), paint, radius=0.09, puff=puff, steps=2
    )
    b.cushion((-w / 2 + 0.08, 0.65, -0.13), (0.04, 0.76, 0.13), seat, radius=0.045, steps=2)
    x, y = base - lean, h - 0.2
    b.cushion((x - 0.08, y - 0.06, -0.1), (x + 0.1, y + 0.1, 0.1), paint, radius=0.05, steps=2)
    lamp = kit.material("plain", "#f4f2e8", emission=0.0)
    b.ball((x + 0.09, y + 0.02, 0), (0.03, 0.065, 0.065), lamp, sides=12, rings=8)
    b.ball(
        (-w / 2 + 0.05, 0.56, 0),
        (0.03, 0.035, 0.08),
        kit.material("plain", "#c42a2a"),
        sides=10,
        rings=6,
    )
    b.tube(
        [
            (x - 0.06, y + 0.08, -0.3),
            (x, y + 0.05, -0.12),
            (x, y + 0.05, 0.12),
            (x - 0.06, y + 0.08, 0.3),
        ],
        0.016,
        black,
        sides=6,
    )
    for s in (-1, 1):
        b.tube([(x, y + 0.06, s * 0.2), (x + 0.02, y + 0.2, s * 0.26)], 0.007, chrome, sides=4)
        b.ball((x + 0.02, y + 0.22, s * 0.27), (0.015, 0.045, 0.06), black, sides=8, rings=6)
    if kit.rng.random() < 0.5:
        b.cushion(
            (-w / 2 - 0.02, 0.74, -0.17),
            (-w / 2 + 0.28, 1.0, 0.17),
            kit.material("plain", kit.pick([*PAINTS, "#232528"])),
            radius=0.04,
        )
    b.tube([(-0.12, 0.22, 0.1), (-0.2, 0.0, 0.2)], 0.014, chrome, sides=5)
    b.tube([(-0.36, 0.24, -0.15), (-w / 2 + 0.02, 0.28, -0.17)], 0.035, chrome, sides=8)
    return b.mesh()
