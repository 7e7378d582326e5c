"""What children play on in parks: swings, slides, sand pits."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import Size
from worldenv.worlds.reference.outdoor_things import (
    BRIGHTS,
    TIMBERS,
    blob,
    ring,
    thing,
)
from worldenv.worlds.reference.scene import Mesh
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit


@thing("swing")
def swing(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Two swings on an A-frame of timber or steel."""
    w, h, d = size
    frame = (
        kit.material("wood", kit.pick(TIMBERS))
        if kit.rng.random() < 0.5
        else kit.material("enamel", kit.pick(BRIGHTS))
    )
    chain = kit.material("metal", "#8b8f94")
    thick = 0.055
    for s in (-1, 1):
        for z in (-1, 1):
            b.tube(
                [(s * w / 2 * 0.94, 0, z * d / 2 * 0.92), (s * w / 2 * 0.84, h - 0.05, 0)],
                thick,
                frame,
                sides=8,
            )
        b.tube(
            [(s * w / 2 * 0.9, 0.4 * h, -0.26 * d), (s * w / 2 * 0.9, 0.4 * h, 0.26 * d)],
            0.035,
            frame,
            sides=6,
        )
    b.tube([(-w / 2 * 0.92, h - 0.05, 0), (w / 2 * 0.92, h - 0.05, 0)], thick, frame, sides=8)
    tones = [kit.material("plain", kit.pick(BRIGHTS)) for _ in range(2)]
    tyre = kit.rng.random() < 0.25
    for k, x in enumerate((-0.21 * w, 0.21 * w)):
        sway = kit.uniform(-9, 9)
        pose = placed(x, h - 0.08, 0, 0, sway)
        drop = h - 0.6
        for off in (-0.2, 0.2):
            b.tube([(off, 0, 0), (off, -drop, 0)], 0.01, chain, sides=5, pose=pose)
        if tyre:
            black = kit.material("plain", "#22242a")
            b.tube(ring(0.24, -drop, count=17), 0.07, black, sides=8, pose=pose)
        else:
            b.cushion(
                (-0.24, -drop - 0.04, -0.09), (0.24, -drop + 0.01, 0.09), tones[k], radius=0.02
            )
    return b.mesh()


@thing("slide")
def slide(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Slide with a ladder, a platform and, on some, a roof; it runs down towards +z."""
    w, h, d = size
    frame = (
        kit.material("enamel", kit.pick(BRIGHTS))
        if kit.rng.random() < 0.6
        else kit.material("wood", kit.pick(TIMBERS))
    )
    chute = kit.material("enamel", kit.pick([*BRIGHTS, "#b8bcc0"]))
    roofed = kit.rng.random() < 0.5
    deck = (0.62 if roofed else 0.74) * h
    half = min(0.3, w / 2 - 0.06)
    back, front = -d / 2 + 0.35, -d / 2 + 1.05
    for x in (-half - 0.03, half + 0.03):
        for z in (back, front):
            b.tube([(x, 0, z), (x, h - 0.2 if roofed else deck + 0.6, z)], 0.04, frame, sides=8)
        for y in (deck + 0.3, deck + 0.58):
            b.tube([(x, y, back), (x, y, front)], 0.02, frame, sides=6)
        b.tube([(x, 0, back - 0.3), (x, deck + 0.4, back)], 0.03, frame, sides=6)
    b.box(
        (-half, deck - 0.05, back),
        (half, deck, front),
        kit.material("planks", kit.pick(TIMBERS)),
        bevel=0,
    )
    steps = int(deck / 0.28)
    for k in range(1, steps + 1):
        y = deck * k / (steps + 1)
        z = back - 0.3 * (1 - y / (deck + 0.4))
        b.tube([(-half, y, z), (half, y, z)], 0.022, frame, sides=6)
    t = np.linspace(0, 1, 9)
    run = front + (d / 2 - front) * t
    fall = np.where(t < 0.8, deck * (1 - t / 0.8) + 0.22 * np.minimum(1, t / 0.8), 0.22)
    for k in range(8):
        slope = (0, fall[k + 1] - fall[k], run[k + 1] - run[k])
        length = run[k + 1] - run[k]
        b.patch((-half + 0.02, fall[k], run[k]), slope, (2 * half - 0.04, 0, 0), chute, repeat=0.8)
        b.patch(
            (half - 0.02, fall[k] - 0.015, run[k]),
            slope,
            (-2 * half + 0.04, 0, 0),
            chute,
            repeat=0.8,
        )
        for s in (-1, 1):
            x = s * (half - 0.02)
            rail = np.array(
                [
                    (x, fall[k] - 0.02, run[k]),
                    (x, fall[k + 1] - 0.02, run[k] + length),
                    (x, fall[k + 1] + 0.16, run[k] + length),
                    (x, fall[k] + 0.16, run[k]),
                ]
            )
            uv = np.array([(0, 0), (0.3, 0), (0.3, 0.2), (0, 0.2)])
            b.add(rail, uv, [[0, 1, 2], [0, 2, 3]], chute)
            b.add(rail + np.array([0.012 * s, 0, 0]), uv, [[0, 2, 1], [0, 3, 2]], chute)
    b.tube([(-half, 0, d / 2 - 0.3), (-half, 0.2, d / 2 - 0.3)], 0.03, frame, sides=6)
    b.tube([(half, 0, d / 2 - 0.3), (half, 0.2, d / 2 - 0.3)], 0.03, frame, sides=6)
    if roofed:
        cover = kit.material("plain", kit.pick(BRIGHTS))
        for s in (-1, 1):
            points = np.array(
                [
                    (0, h, back - 0.12),
                    (0, h, front + 0.12),
                    (s * (half + 0.16), h - 0.36, front + 0.12),
                    (s * (half + 0.16), h - 0.36, back - 0.12),
                ]
            )
            uv = np.array([(0, 0), (1, 0), (1, 0.6), (0, 0.6)])
            f = np.array([[0, 1, 2], [0, 2, 3]])
            b.add(points, uv, f if s > 0 else f[:, ::-1], cover)
            b.add(points - [0, 0.015, 0], uv, f[:, ::-1] if s > 0 else f, cover)
    return b.mesh()


@thing("sand pit", smooth=True)
def sand_pit(kit: Kit, b: Builder, size: Size) -> Mesh:
    """Sand pit in a timber frame with buckets and a ball."""
    w, _, d = size
    timber, x, z = kit.material("wood", kit.pick(TIMBERS)), w / 2, d / 2
    for low, high in (
        ((-x, 0, z - 0.16), (x, 0.22, z)),
        ((-x, 0, -z), (x, 0.22, -z + 0.16)),
        ((-x, 0, -z + 0.16), (-x + 0.16, 0.22, z - 0.16)),
        ((x - 0.16, 0, -z + 0.16), (x, 0.22, z - 0.16)),
    ):
        b.box(low, high, timber, bevel=0.01)
    b.patch(
        (-x + 0.16, 0.1, z - 0.16),
        (w - 0.32, 0, 0),
        (0, 0, -d + 0.32),
        kit.material("sand", kit.pick(["#d9c18c", "#e0cda0", "#cdb07a"])),
        repeat=1.5,
        cells=(5, 5),
    )
    for _ in range(3):
        tone = kit.material("plain", kit.pick(BRIGHTS))
        at = placed(
            kit.uniform(-0.3, 0.3) * w, 0.1, kit.uniform(-0.3, 0.3) * d, kit.uniform(0, 360)
        )
        b.lathe(
            [(0.08, 0), (0.12, 0.2), (0.11, 0.2), (0.08, 0.05), (0, 0.05)], tone, sides=12, pose=at
        )
    b.ball(
        (0.2 * w, 0.24, -0.2 * d),
        (0.14, 0.14, 0.14),
        kit.material("ball", kit.pick(BRIGHTS), "#f4f0e6", "gores"),
        sides=16,
        rings=10,
    )
    if kit.rng.random() < 0.5:
        blob(
            b,
            kit.rng,
            (-0.15 * w, 0.08, 0.1 * d),
            (0.4, 0.28, 0.36),
            kit.material("sand", "#d9c18c"),
            sides=12,
            rings=6,
            rough=0.1,
        )
    return b.mesh()
