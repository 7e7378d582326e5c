"""The plain scene family: a room of boxes with a ball, small and quick to build."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.scene import (
    Instance,
    Lamp,
    Material,
    Mesh,
    Scene,
    SceneEvent,
    View,
)

__all__ = ["box", "build", "placed", "quad", "reimagine", "sphere"]

_COLOURS = (
    (0.75, 0.22, 0.18),
    (0.20, 0.42, 0.70),
    (0.85, 0.66, 0.20),
    (0.28, 0.55, 0.30),
    (0.55, 0.35, 0.62),
    (0.80, 0.48, 0.30),
)


def placed(x: float, y: float, z: float, degrees: float = 0.0) -> NDArray[np.float64]:
    """Return an instance pose: at (x, y, z) metres, turned about y by ``degrees``."""
    pose = np.eye(4)
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    pose[0, 0], pose[0, 2], pose[2, 0], pose[2, 2] = c, s, -s, c
    pose[:3, 3] = x, y, z
    return pose


def box(w: float, h: float, d: float, material: Material) -> Mesh:
    """Return a box of ``w`` x ``h`` x ``d`` metres that stands on y = 0."""
    corners: list[NDArray[np.float64]] = []
    uv: list[tuple[float, float]] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = np.roll(np.eye(3), 1, axis=0)[axis], np.roll(np.eye(3), 2, axis=0)[axis]
            n = np.eye(3)[axis] * sign
            if np.dot(np.cross(u, v), n) < 0:
                u, v = v, u
            first = len(corners)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corners.append((n + a * u + b * v) * (w / 2, h / 2, d / 2) + (0, h / 2, 0))
                uv.append((a * 0.5 + 0.5, 0.5 - b * 0.5))
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Mesh(
        np.array(corners, np.float32),
        np.array(uv, np.float32),
        np.array(faces, np.int32),
        np.zeros(12, np.int32),
        (material,),
    )


def quad(
    corner: tuple[float, float, float],
    u: tuple[float, float, float],
    v: tuple[float, float, float],
    repeats: tuple[float, float],
    material: Material,
) -> Mesh:
    """Return the rectangle ``corner + [0, 1] u + [0, 1] v``, which faces ``u`` x ``v``."""
    c, a, b = np.array(corner), np.array(u), np.array(v)
    m, n = repeats
    return Mesh(
        np.array([c, c + a, c + a + b, c + b], np.float32),
        np.array([(0, n), (m, n), (m, 0), (0, 0)], np.float32),
        np.array([(0, 1, 2), (0, 2, 3)], np.int32),
        np.zeros(2, np.int32),
        (material,),
    )


def sphere(radius: float, segments: int, material: Material) -> Mesh:
    """Return a sphere that stands on y = 0, of ``segments`` x ``segments // 2`` quads."""
    rings = segments // 2
    theta = np.linspace(0, 2 * np.pi, segments + 1)
    phi = np.linspace(0, np.pi, rings + 1)
    t, p = np.meshgrid(theta, phi, indexing="ij")
    points = np.stack([np.sin(p) * np.cos(t), np.cos(p), np.sin(p) * np.sin(t)], axis=-1)
    i = np.arange((segments + 1) * (rings + 1)).reshape(segments + 1, rings + 1)
    a, b, c, d = i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]
    faces = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    uv = np.stack([t / (2 * np.pi) * 2, p / np.pi], axis=-1)
    return Mesh(
        (points.reshape(-1, 3) * radius + (0, radius, 0)).astype(np.float32),
        uv.reshape(-1, 2).astype(np.float32),
        faces.astype(np.int32),
        np.zeros(len(faces), np.int32),
        (material,),
    )


def _textures(seed: int) -> dict[str, NDArray[np.uint8]]:
    rng = np.random.default_rng([seed, 1])
    y, x = np.mgrid[0:256, 0:256]
    grain = rng.normal(0, 6, (256, 256, 1))
    planks = 150 + 22 * ((y // 32 * 97) % 5 - 2)[..., None] * np.array([1.0, 0.9, 0.7])
    planks = planks * np.array([1.0, 0.78, 0.55]) - 60 * (y % 32 == 0)[..., None]
    shift = (y // 32 % 2) * 32
    mortar = (y % 32 < 4) | ((x + shift) % 64 < 4)
    brick = np.where(mortar[..., None], (190, 182, 172), (158, 84, 66))
    plaster = np.full((256, 256, 3), (206, 196, 176.0))
    checks = np.where(((x // 32 + y // 32) % 2 == 0)[..., None], 235, 170) * np.ones(3)
    stripes = np.where((x // 16 % 4 == 0)[..., None], (225, 60, 45), (238, 230, 215))
    images = {
        "planks": planks,
        "brick": brick,
        "plaster": plaster,
        "checks": checks,
        "stripes": stripes,
    }
    return {k: np.clip(v + grain, 0, 255).astype(np.uint8) for k, v in images.items()}


def _thing(id: int, kind: int, seed: int, pose: NDArray[np.float64]) -> Instance:
    rng = np.random.default_rng([seed, kind, 2])
    variant = int(rng.integers(1_000_000))
    tint = tuple(float(c) for c in np.array(_COLOURS[int(rng.integers(6))]) * rng.uniform(0.8, 1.2))
    w, h, d = (0.45 + 0.35 * rng.random(3)) * (1.0, 1.6, 1.0)
    mesh = box(float(w), float(h), float(d), Material("checks", (tint[0], tint[1], tint[2])))
    return Instance(id, f"box-{kind}", "box", f"box/{variant}", mesh, pose)


def build(seed: int, *, event: str | None = None) -> Scene:
    """Return the room of a seed: 6 x 5 x 2.8 m, four boxes, a ball, two lamps.

    Args:
        seed: Picks sizes, colours and places.
        event: None, or ``ball_rolls_off``.

    Raises:
        ValueError: there is no such event.
    """
    if event not in (None, "ball_rolls_off"):
        raise ValueError(f"unknown event {event!r}; expected ball_rolls_off")
    rng = np.random.default_rng([seed, 0])
    plaster, planks = Material("plaster"), Material("planks")
    brick = Material("brick")
    x, z, h = 3.0, 2.5, 2.8
    surfaces = (
        ("floor", quad((-x, 0, z), (2 * x, 0, 0), (0, 0, -2 * z), (3, 2.5), planks)),
        ("ceiling", quad((-x, h, -z), (2 * x, 0, 0), (0, 0, 2 * z), (3, 2.5), plaster)),
        ("wall", quad((-x, 0, -z), (2 * x, 0, 0), (0, h, 0), (4, 2), brick)),
        ("wall", quad((x, 0, z), (-2 * x, 0, 0), (0, h, 0), (3, 1.4), plaster)),
        ("wall", quad((-x, 0, z), (0, 0, -2 * z), (0, h, 0), (2.5, 1.4), plaster)),
        ("wall", quad((x, 0, -z), (0, 0, 2 * z), (0, h, 0), (2.5, 1.4), plaster)),
    )
    instances = [
        Instance(k + 1, f"{kind}-{k + 1}", kind, f"{kind}/{k}", mesh, np.eye(4), flat=True)
        for k, (kind, mesh) in enumerate(surfaces)
    ]
    for k, (px, pz) in enumerate(((-2.1, -1.7), (0.6, -1.9), (2.2, 0.2), (-2.3, 1.2))):
        pose = placed(
            px + 0.2 * rng.random(), 0.0, pz + 0.2 * rng.random(), float(rng.uniform(0, 90))
        )
        instances.append(_thing(10 + k, k, seed, pose))
    ball = sphere(0.16, 24, Material("stripes"))
    instances.append(
        Instance(20, "ball", "ball", "ball/striped", ball, placed(-0.9, 0, -1.2), moves=bool(event))
    )
    glow = Material("plaster", (1.0, 0.98, 0.94), 2.5)
    lamps = []
    for k, lx in enumerate((-1.4, 1.4)):
        panel = quad((lx - 0.5, h - 0.01, -0.25), (1.0, 0, 0), (0, 0, 0.5), (1, 1), glow)
        instances.append(
            Instance(30 + k, f"lamp-{k}", "lamp", "lamp/panel", panel, np.eye(4), flat=True)
        )
        lamps.append(
            Lamp((lx - 0.5, h - 0.03, -0.25), (1.0, 0, 0), (0, 0, 0.5), (16.0, 15.0, 13.5))
        )
    view = placed(0.0, 1.5, 1.6)
    view[:3, 1:3] *= -1
    return Scene(
        instances=tuple(instances),
        lamps=tuple(lamps),
        ambient=(0.42, 0.44, 0.48),
        background=(0.02, 0.02, 0.03),
        textures=_textures(seed),
        views=(View("middle", view, targets=("box-0", "box-1")),),
        event=None if event is None else _rolling(),
        tags={"family": "plain", "seed": str(seed)},
    )


def _rolling() -> SceneEvent:
    """The ball rolls to the right and stops: 1.8 m in 4 s with constant braking."""
    duration, reach, radius = 4.0, 1.8, 0.16

    def progress(t: float) -> float:
        s = min(max(t / duration, 0.0), 1.0)
        return s * (2.0 - s)

    def pose(t: float) -> NDArray[np.float64]:
        distance = reach * progress(t)
        angle = -distance / radius
        c, s = math.cos(angle), math.sin(angle)
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        centre = np.array([0.0, radius, 0.0])
        result = np.eye(4)
        result[:3, :3] = turn
        result[:3, 3] = np.array([-0.9 + distance, 0, -1.2]) + centre - turn @ centre
        return result

    return SceneEvent("ball_rolls_off", "moving", 20, pose, progress, duration)


def reimagine(
    scene: Scene, instance: Instance, seed: int
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another variant of an instance in the same place, and the textures it needs."""
    rng = np.random.default_rng([seed, instance.id, 3])
    if instance.category == "box":
        other = _thing(instance.id, 0, int(rng.integers(1 << 31)), instance.pose)
        return replace(instance, variant=other.variant, mesh=other.mesh), {}
    tint = rng.uniform(0.35, 1.0, 3)
    materials = tuple(
        m._replace(tint=(float(tint[0]), float(tint[1]), float(tint[2])))
        for m in instance.mesh.materials
    )
    mesh = instance.mesh._replace(materials=materials)
    variant = f"{instance.category}/{int(rng.integers(1_000_000))}"
    return replace(instance, variant=variant, mesh=mesh), {}
